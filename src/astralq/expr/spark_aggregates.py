"""Spark's other aggregate functions: over the tuples of a group one after the other in φ order, so that what depends on
order, as collect_list does, or on roundings, as corr does, is the same in every run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from astralq.errors import ExpressionError, TypeMismatchError
from astralq.expr.functions import ALIASES, TABLE, not_in_model, refusal, taken
from astralq.expr.nodes import Aggregate, Expr
from astralq.expr.order import order_key
from astralq.expr.spark_functions import catalogue, result_type
from astralq.schema import Value

_APPROXIMATE = "keeps random samples, so that two runs may give different answers"
REFUSED_AGGREGATES = {
    **dict.fromkeys(("kll_sketch_agg_bigint", "kll_sketch_agg_double", "kll_sketch_agg_float"), _APPROXIMATE),
    **dict.fromkeys(("kll_merge_agg_bigint", "kll_merge_agg_double", "kll_merge_agg_float"), _APPROXIMATE),
}
"""Aggregates of Spark's that the language has not, and why."""

UNORDERED = ("bool_and", "every", "bool_or", "any", "some", "count_if", "bit_and", "bit_or", "bit_xor", "regr_count")
"""Those that depend on the bag of values only."""

_COUNTS = ("count", "count_if", "regr_count", "approx_count_distinct")
_LISTS = ("collect_list", "array_agg", "collect_set")


def is_spark_aggregate(name: str) -> bool:
    """Whether it is an aggregate of Spark's, and no function of ours."""
    key = name.lower()
    if key in TABLE or key in ALIASES:
        return False
    found = catalogue().get(key)
    return found is not None and found.is_aggregate


def spark_aggregate(name: str, args: tuple[Expr, ...], *, distinct: bool) -> Aggregate:
    """An aggregate of Spark's applied to arguments."""
    key = name.lower()
    function = catalogue()[key]
    if key in REFUSED_AGGREGATES or not function.rules:
        raise ExpressionError(
            f"the aggregate {name!r} is refused: it {REFUSED_AGGREGATES.get(key) or refusal(function)}"
        )
    if distinct and len([a for a in args if a.columns]) != 1:
        raise ExpressionError(f"{name}(DISTINCT …) takes one attribute", hint="make the rows distinct in a subquery")
    type_ = result_type(key, args)
    if type_ is None:
        given = ", ".join(str(a.type) for a in args)
        raise TypeMismatchError(f"{name} does not take ({given})", hint=f"Spark's {name} takes {taken(function)}")
    return Aggregate(type_, key, args, distinct)


def over_nothing(function: str) -> Value:
    """What an aggregate gives over no tuples: counts 0, lists nothing, all others NULL."""
    return 0 if function in _COUNTS else () if function in _LISTS else None


def computed(a: Aggregate) -> Callable[[Sequence[Sequence[Value]]], Value]:
    """A function from the arguments' values of a group's tuples, in φ order, to the aggregate's value."""
    if a.function not in COMPUTED:
        raise not_in_model(a.function)
    return COMPUTED[a.function]


def _of_first(f: Callable[[list[Any]], Value], empty: Value = None) -> Callable[[Sequence[Sequence[Value]]], Value]:
    """A function of the first argument's values that are not NULL."""

    def apply(rows: Sequence[Sequence[Value]]) -> Value:
        known = [r[0] for r in rows if r[0] is not None]
        return f(known) if known else empty

    return apply


def _by(sign: int) -> Callable[[Sequence[Sequence[Value]]], Value]:
    """max_by and min_by: of several extremes the last counts, as in Spark."""

    def apply(rows: Sequence[Sequence[Value]]) -> Value:
        best: Sequence[Value] | None = None
        for row in rows:
            if row[1] is None:
                continue
            here, there = order_key(row[1]), None if best is None else order_key(best[1])
            if there is None or (here >= there if sign > 0 else here <= there):
                best = row
        return None if best is None else best[0]

    return apply


COMPUTED: dict[str, Callable[[Sequence[Sequence[Value]]], Value]] = {
    **dict.fromkeys(("bool_and", "every"), _of_first(all)),
    **dict.fromkeys(("bool_or", "any", "some"), _of_first(any)),
    **dict.fromkeys(("collect_list", "array_agg"), _of_first(tuple, ())),
    "count_if": lambda rows: sum(r[0] is True for r in rows),
    "regr_count": lambda rows: sum(None not in r[:2] for r in rows),
    "bit_and": _of_first(lambda v: reduce(lambda a, b: a & b, v)),
    "bit_or": _of_first(lambda v: reduce(lambda a, b: a | b, v)),
    "bit_xor": _of_first(lambda v: reduce(lambda a, b: a ^ b, v)),
    "max_by": _by(1),
    "min_by": _by(-1),
}
"""Those that the model computes."""
