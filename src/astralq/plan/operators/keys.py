"""The keys of a join: what its condition says has to be equal on both sides, attributes or expressions of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from astralq.algebra.relational import Join
from astralq.expr.conditions import conjuncts
from astralq.expr.nodes import Call, Cast, Column, Expr
from astralq.expr.safety import can_fail
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column as SqlColumn
from astralq.plan.encoding.tables import attributes
from astralq.plan.operators.expressions import Names, Raw, rewritten
from astralq.schema import BIGINT, DOUBLE, INT, Schema

KeyPair = tuple[str, str, bool]
"""A column of the left side, one of the right, and whether NULL is equal to NULL."""

_TRIED = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}
_WHOLE = "9.2233720368547748E18D"
"""The greatest double that surely fits a BIGINT."""


@dataclass(frozen=True)
class ComputedKey:
    """Expressions of either side that have to be equal, as columns over c0, c1, … of that side.

    Where they could fail they are NULL instead: such rows are compared with all others (`unsure`), so that they fail
    where, and only where, the condition is computed.
    """

    text: str
    left: SqlColumn
    right: SqlColumn
    unsure: bool  # whether rows may satisfy the condition, or fail, where one of these is NULL


def column_keys(op: Join) -> list[KeyPair]:
    """The comparisons of an attribute of the left side with one of the right."""
    found = [(_columns(part, op.both, len(op.left.schema)), null_counts) for part, null_counts in _equalities(op)]
    return [key for key, null_counts in found if key is not None and not null_counts]


def computed_keys(op: Join) -> list[ComputedKey]:
    """The comparisons of expressions, each of one side's attributes only."""
    width = len(op.left.schema)
    names = Names(op.both, [*attributes(op.left.schema), *attributes(op.right.schema)])
    found = []
    for part, null_counts in _equalities(op):
        sides = [_side(a, op.both, width) for a in part.args]
        if None in sides or sides[0] == sides[1] or (_columns(part, op.both, width) and not null_counts):
            continue
        first, second = part.args if sides[0] == 0 else reversed(part.args)
        left, right = (_tried(rewritten(e, names)) for e in (first, second))
        if left is not None and right is not None:
            unsure = null_counts or part.function == "<=>" or can_fail(first) or can_fail(second)
            found.append(ComputedKey(str(part), F.expr(f"({left})"), F.expr(f"({right})"), unsure))
    return found


def _equalities(op: Join) -> Iterator[tuple[Call, bool]]:
    """The equalities of a condition that may be keys, and with each whether pairs for which it is NULL count as well.

    A condition is computed from left to right until one part is false. After a part that can fail there is no key: it
    has to fail for other pairs, too. Before one, pairs whose key is NULL come as far as that part.
    """
    parts = conjuncts(op.condition)
    for k, part in enumerate(parts):
        if isinstance(part, Call) and part.function in ("=", "<=>"):
            yield part, any(can_fail(later) for later in parts[k + 1 :])
        if can_fail(part):
            return


def key_texts(op: Join, *, sure: bool = False) -> list[str]:
    """What has to be equal, in words; `sure`: only what says by itself which pairs there are."""
    width = len(op.left.schema)
    plain = [str(p) for p, null_counts in _equalities(op) if _columns(p, op.both, width) and not null_counts]
    return [*plain, *(k.text for k in computed_keys(op) if not (sure and k.unsure))]


def _columns(part: Expr, both: Schema, width: int) -> KeyPair | None:
    if not isinstance(part, Call) or part.function not in ("=", "<=>"):
        return None
    places = [both.find(c.name) if isinstance(c := _uncast(a), Column) else None for a in part.args]
    if places[0] is None or places[1] is None or (places[0] < width) == (places[1] < width):
        return None
    left, right = sorted(p for p in places if p is not None)
    return f"c{left}", f"c{right - width}", part.function == "<=>"


def _uncast(e: Expr) -> Expr:
    while isinstance(e, Cast) and e.implicit and e.type.is_numeric and e.operand.type.is_numeric:
        e = e.operand
    return e


def _side(e: Expr, both: Schema, width: int) -> int | None:
    """0 if an expression reads attributes of the left side only, 1 if of the right; None if of both, or none."""
    places = [both.find(name) for name in e.columns]
    if not places or None in places:
        return None
    sides = {int(p >= width) for p in places if p is not None}
    return sides.pop() if len(sides) == 1 else None


def _tried(e: Expr) -> Expr | None:
    """The expression with NULL wherever it could fail; None where there is no such form."""
    if not can_fail(e):
        return e
    below = [_tried(c) for c in e.children]
    if any(c is None for c in below):
        return None
    e = e.rebuilt(tuple(c for c in below if c is not None))
    match e:
        case Cast() if not e.implicit:
            return replace(e, safe=True)
        case Call(function="floor" | "ceil" | "ceiling", args=(x,)) if x.type == DOUBLE:
            return Raw(e.type, f"CASE WHEN abs({x}) <= {_WHOLE} THEN {e} END")
        case Call(function=function, args=(x, y)) if function in _TRIED and e.type in (INT, BIGINT):
            return Raw(e.type, f"{_TRIED[function]}({x}, {y})")
    return None
