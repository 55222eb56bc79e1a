"""Joins of a FROM: their kinds and conditions, what * shows of them, and what subqueries give beside a tuple."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from astralq.algebra.asof import AsofJoin
from astralq.algebra.base import Kind, Operator
from astralq.algebra.grouping import Beside, put_beside, unique
from astralq.algebra.relational import Join, JoinKind, Named, Product, Project
from astralq.algebra.sources import RelationSource
from astralq.algebra.stream_ops import BandJoin, LookupJoin, StreamJoin, StreamProduct, timestamp_attribute
from astralq.algebra.streamers import IStream
from astralq.algebra.windows import Window, last_batch
from astralq.errors import ExpressionError, PlanError
from astralq.expr.functions import call
from astralq.expr.nodes import Column, Expr
from astralq.language.declarations import amount
from astralq.language.scope import Entry, Scope, ScopeBinder
from astralq.language.syntax import Name

_SIDES = {
    "LEFT": JoinKind.LEFT,
    "RIGHT": JoinKind.RIGHT,
    "FULL": JoinKind.FULL,
    "SEMI": JoinKind.SEMI,
    "ANTI": JoinKind.ANTI,
    "SINGLE": JoinKind.SINGLE,
}


AS_OF = "write s JOIN r FOR SYSTEM_TIME AS OF s.ts ON …, or s LOOKUP JOIN r ON …; a past state is r AT TIMESTAMP '…'"


def check_as_of(left: Scope, node: exp.Expression, binder: ScopeBinder) -> None:
    """FOR SYSTEM_TIME AS OF has to name the time of the left side's tuples: then it reads as LOOKUP JOIN (001 D33)."""
    if left.operator.kind is not Kind.STREAM:
        raise PlanError("FOR SYSTEM_TIME AS OF follows a stream, and this is a relation", hint=AS_OF)
    if isinstance(node, exp.Anonymous) and str(node.this).lower() == "proctime":
        raise ExpressionError(
            "PROCTIME() is no time of the left side's tuples",
            hint="LOOKUP JOIN goes by the time of a tuple; TIMESTAMP ON ARRIVAL makes that the time when it arrives",
        )
    own = timestamp_attribute(left.operator)
    named = binder.bind(node)
    if not isinstance(named, Column) or (named.name.lower() != "_t" and named.name != own):
        time = "_t" if own is None else next((n for e in left.entries for n, a in e.columns if a == own), own)
        raise ExpressionError(
            f"FOR SYSTEM_TIME AS OF {node.sql('spark')}: the time of the left side's tuples is {time}",
            hint="a lookup is as of the time of a tuple; for another one delay the relation: r DELAYED BY 1 HOUR",
        )


def attached(operator: Operator, beside: Sequence[Beside]) -> Operator:
    """The operator with what its subqueries give beside each tuple."""
    if beside and operator.kind is Kind.WINDOWS:
        raise PlanError("a subquery over a stream of windows is not part of SNEEql", hint="join them instead")
    for b in beside:
        if operator.kind is Kind.STREAM:
            operator = LookupJoin(operator, b.relation, b.condition, JoinKind.LEFT)
        else:
            operator = put_beside(operator, b)
    return operator


def common_attributes(left: Scope, right: Scope, band: bool) -> list[str]:
    """The common attributes, in the left side's order; in a band join without the two timestamps (001 D34)."""
    there = {n.lower(): a for n, a in right.columns}
    common = [(n, a, there[n.lower()]) for n, a in left.columns if n.lower() in there]
    if not band:
        return [n for n, _, _ in common]
    stamps = tuple(timestamp_attribute(s.operator) for s in (left, right))
    return [n for n, a, b in common if (a, b) != stamps]


def star(left: Scope, right: Scope | None, using: list[str]) -> list[tuple[str, str]]:
    """What * shows: the attributes of USING or NATURAL first, as in Spark, then the left side's, then the right's."""
    first = [c for n in using for c in left.columns if c[0].lower() == n]
    others = [c for c in (right.columns if right is not None else []) if c[0].lower() not in using]
    return [*first, *(c for c in left.columns if c not in first), *others]


def coalesced(
    operator: Operator, left: Scope, right: Scope, kept: list[Entry]
) -> tuple[Operator, list[Entry], dict[str, str]]:
    """USING in a right or full join: a common attribute has the value of the side that is there."""
    visible = {n.lower() for e in kept for n, _ in e.columns}
    common = [n for e in right.entries for n, _ in e.columns if n.lower() not in visible]
    taken = {n.lower() for n in operator.schema.names}
    items: list[Named] = [(a.name, Column(a.type, a.name)) for a in operator.schema]
    entries = [Entry(e.alias, list(e.columns), dict(e.hidden)) for e in left.entries]
    moved: dict[str, str] = {}
    for name in common:
        sides = [Column(s.operator.schema[a].type, a) for s in (left, right) if (a := s.resolve(name, None))]
        both = unique(f"{name}_both", taken)
        items.append((both, call("coalesce", *sides)))
        moved |= {a: both for e in entries for n, a in e.columns if n.lower() == name.lower()}
        for e in entries:
            e.hidden |= {n.lower(): a for n, a in e.columns if n.lower() == name.lower()}
            e.columns = [(n, both if n.lower() == name.lower() else a) for n, a in e.columns]
    return Project(operator, tuple(items)), [*entries, *kept], moved


def placeholder(left: Scope, right: Scope) -> Operator:
    """An operator with the attributes of both sides, for resolving names."""
    return RelationSource("both", left.operator.schema.concat(right.operator.schema))


def kind_of(join: exp.Join) -> JoinKind:
    words = [str(join.args.get(k) or "").upper() for k in ("side", "kind")]
    for word in ("SEMI", "ANTI", "SINGLE", "LEFT", "RIGHT", "FULL"):
        if word in words:
            return _SIDES[word]
    return JoinKind.INNER


def asof(a: Operator, b: Operator, condition: Expr, how: JoinKind, *, pending: bool, plain: bool) -> AsofJoin:
    if not plain:
        raise PlanError("an ASOF JOIN is no LOOKUP JOIN, and has no WITHIN", hint="choose one")
    if pending:
        raise PlanError("a stream is joined before ASOF JOIN", hint="give the stream a window")
    return AsofJoin(a, b, condition, how)


def band(left: Operator, right: Operator, condition: Expr, within: Name, how: JoinKind) -> BandJoin:
    if within.text == "UNBOUNDED":
        return BandJoin(left, right, condition, how=how)
    number, _, unit = within.text.strip().partition(" ")
    if unit.strip().lower() in ("row", "rows"):
        return BandJoin(left, right, condition, None, int(number), how)
    return BandJoin(left, right, condition, amount(within), how=how)


def simplest(streamed: IStream) -> Operator:
    """S ⋈ R and S × R under their own names (001 D31, D32)."""
    match streamed.child:
        case Product(Window(s, spec), r) if spec == last_batch() and r.kind is Kind.RELATION:
            return StreamProduct(s, r)
        case Join(Window(s, spec), r, condition, how) if spec == last_batch() and how not in (
            JoinKind.RIGHT,
            JoinKind.FULL,
        ):
            return StreamJoin(s, r, condition, how)
    return streamed
