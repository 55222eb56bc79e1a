"""Estimates: about how many rows an operator's table has, by the sizes of its sources and usual selectivities.

They choose between plans that give the same answer, and `explain` shows them; no answer depends on them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from astralq.algebra.base import Operator
from astralq.algebra.constants import Constants
from astralq.algebra.ordering import Limit
from astralq.algebra.relational import (
    Distinct,
    GroupBy,
    Join,
    JoinKind,
    Product,
    Select,
    SetKind,
    SetOperation,
    ValueSetOperation,
)
from astralq.algebra.sources import RelationSource, SensedSource, StreamSource
from astralq.expr.conditions import conjuncts
from astralq.expr.nodes import Call, Column, Expr, Literal

STREAM_ROWS, RELATION_ROWS = 1_000_000, 1_000
"""How many rows a stream and a relation are taken to have where nothing is known of them."""

_SELECTIVITY = {"=": 0.1, "<=>": 0.1, "<>": 0.9, "isnull": 0.1, "isnotnull": 0.9, "between": 0.25, "like": 0.25}
_RANGE, _OTHER = 1 / 3, 0.5


def selectivity(condition: Expr) -> float:
    """About which part of the rows satisfies a condition.

    >>> from astralq.expr.parse import expression
    >>> from astralq.schema import Schema
    >>> s = Schema.parse("k INT, v INT")
    >>> selectivity(expression("k = 1", s)), selectivity(expression("k = 1 AND v <> 2", s))
    (0.1, 0.09000000000000001)
    """
    if isinstance(condition, Literal):
        return 1.0 if condition.value is True else 0.0
    if not isinstance(condition, Call):
        return _OTHER
    match condition.function:
        case "and":
            return selectivity(condition.args[0]) * selectivity(condition.args[1])
        case "or":
            a, b = (selectivity(c) for c in condition.args)
            return a + b - a * b
        case "not":
            return 1 - selectivity(condition.args[0])
        case "in":
            return min(0.5, 0.1 * (len(condition.args) - 1))
        case "<" | "<=" | ">" | ">=":
            return _RANGE
    return _SELECTIVITY.get(condition.function, _OTHER)


def estimated_rows(op: Operator, known: Mapping[str, int]) -> float:
    """About how many rows an operator's table has; `known` has those of sources.

    >>> from astralq import range_, stream
    >>> s = stream("S", "k INT, v INT")
    >>> estimated_rows(s[range_("1 min")].where("k = 1").operator, {"S": 500})
    50.0
    """
    match op:
        case StreamSource() | SensedSource():
            return known.get(op.name, STREAM_ROWS)
        case RelationSource():
            return known.get(op.name, RELATION_ROWS)
        case Constants():
            return float(len(op.rows))
        case Select():
            return estimated_rows(op.child, known) * selectivity(op.condition)
        case GroupBy(keys=()):
            return max(1.0, estimated_rows(op.child, known))
        case Distinct():
            return estimated_rows(op.child, known) / 2
        case Limit(count=int(), per=()):
            return estimated_rows(op.child, known) * _RANGE
        case Limit(count=int()):
            return estimated_rows(op.child, known) * _OTHER
    sizes = [estimated_rows(c, known) for c in op.children]
    match op:
        case Product():
            return sizes[0] * sizes[1]
        case Join():
            return _joined(op, *sizes)
        case SetOperation(how=SetKind.UNION) | ValueSetOperation(how=SetKind.UNION):
            return sizes[0] + sizes[1]
    return sizes[0] if sizes else 0.0


def _joined(op: Join, left: float, right: float) -> float:
    if op.how in (JoinKind.SEMI, JoinKind.ANTI):
        return left / 2
    if op.how is JoinKind.SINGLE:
        return left
    pairs = joined_rows(left, right, conjuncts(op.condition))
    match op.how:
        case JoinKind.LEFT:
            return max(pairs, left)
        case JoinKind.RIGHT:
            return max(pairs, right)
        case JoinKind.FULL:
            return max(pairs, left + right)
    return pairs


def joined_rows(left: float, right: float, conditions: list[Expr]) -> float:
    """About how many pairs of two sides satisfy all conditions."""
    pairs = left * right
    keyed = False
    for c in conditions:
        if _is_key(c):
            pairs = pairs * selectivity(c) if keyed else pairs / key_values(left, right)
            keyed = True
        else:
            pairs *= selectivity(c)
    return pairs


def key_values(left: float, right: float) -> float:
    """About how many different values a key has that two sides are joined by: as many as the smaller side has rows, as
    where one of them lists the keys; but not only a handful where the other one is large."""
    return max(min(left, right), math.sqrt(max(left, right)), 1.0)


def _is_key(condition: Expr) -> bool:
    return (
        isinstance(condition, Call)
        and condition.function in ("=", "<=>")
        and all(isinstance(a, Column) for a in condition.args)
    )
