"""What rules share: conditions divided into what moves and what stays, projections, and who reads a stamp."""

from __future__ import annotations

from collections.abc import Callable, Collection

from astralq.algebra.base import PSEUDO, Kind, Operator
from astralq.algebra.properties import expressions
from astralq.algebra.relational import GroupBy, Named, Project, Rename, Select
from astralq.expr.conditions import conjunction, conjuncts
from astralq.expr.nodes import Column, Expr
from astralq.expr.safety import can_fail, movable
from astralq.laws.rule import Site
from astralq.schema import Schema

CANNOT_FAIL = "cannot fail"
"""The side condition that most rules have: an expression that can fail, or that tells equal values apart, is computed
on the same rows as before."""


def expressions_below(op: Operator) -> list[Expr]:
    """All expressions of an operator and of those below it, aggregates with their arguments."""
    found: list[Expr] = []
    for o in op.walk():
        found += [*expressions(o), *(a for _, a in o.aggregates)] if isinstance(o, GroupBy) else expressions(o)
    return found


def names(schema: Schema) -> set[str]:
    """The names of attributes, in lower case."""
    return {n.lower() for n in schema.names}


def stamps_read(expr: Expr, schema: Schema) -> frozenset[str]:
    """The pseudo-columns that an expression reads, where no attribute hides them."""
    return (expr.columns & PSEUDO) - names(schema)


def items_of(op: Project | Rename) -> tuple[Named, ...]:
    """What each attribute of a projection or renaming is, in terms of its child."""
    if isinstance(op, Project):
        return op.items
    old = op.child.schema
    return tuple((a.name, Column(b.type, b.name)) for a, b in zip(op.schema, old, strict=True))


def columns(schema: Schema, wanted: Collection[str] | None = None) -> tuple[Named, ...]:
    """Attributes as the items of a projection: all of them, or those with the given names in lower case."""
    return tuple((a.name, Column(a.type, a.name)) for a in schema if wanted is None or a.name.lower() in wanted)


def narrowed(op: Operator, wanted: Collection[str]) -> Operator:
    """An operator without the attributes that nobody wants; one stays where nobody wants any."""
    items = columns(op.schema, wanted) or columns(op.schema)[:1]
    return op if len(items) == len(op.schema) else Project(op, items)


def selected(op: Operator, conditions: list[Expr]) -> Operator:
    """σ of all conditions; the operator itself where there is none."""
    return Select(op, conjunction(conditions)) if conditions else op


def divided(
    op: Select, site: Site, fits: Callable[[Expr], bool], *, renumbers: bool = False
) -> tuple[list[Expr], list[Expr]]:
    """The conditions of a selection that move, and those that stay above.

    None moves where one of them can fail: a condition is computed also where the one before it is NULL, so that it
    would be computed on other rows. Where tuples are numbered anew below, none moves past one that reads positions.
    """
    moved = [c for c in conjuncts(op.condition) if fits(c)]
    kept = [c for c in conjuncts(op.condition) if c not in moved]
    failing = next((c for c in (*moved, *kept) if not movable(c)), None)
    why = f"{failing} can fail, and would be computed on other rows"
    if failing is not None and not can_fail(failing):
        why = f"{failing} tells equal values apart, as 0.0 and -0.0"
    if not moved or not site.require(CANNOT_FAIL, failing is None, why, op.label):
        return [], moved + kept
    positions = renumbers and any("_n" in stamps_read(c, op.child.schema) for c in kept)
    if not site.require(POSITIONS, not positions, "a condition that stays reads positions", op.label):
        return [], moved + kept
    return moved, kept


POSITIONS = "no positions above"
"""The side condition of rules that number tuples anew: what stays above does not read their positions."""


def is_stream(op: Operator) -> bool:
    return op.kind is Kind.STREAM
