"""Aggregate functions: their types, and their value over the tuples of a group in φ order.

Sums, averages and variances depend on the bag of values only, never on order or partitioning. Sums and averages are
computed exactly and rounded once, to the nearest double: the range is all finite doubles, and there is no grid; an
infinity or NaN among the values gives what IEEE addition gives. Variances have a grid, see below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import Any

from astralq.callables import PythonFunction, to_python
from astralq.errors import EvaluationError, ExpressionError, PlanError, TypeMismatchError, nearest
from astralq.expr.casts import WIDE, coerce, to_scale
from astralq.expr.evaluate import Compiled, Row, evaluator
from astralq.expr.nodes import AGGREGATES, SPATIAL_AGGREGATES, VARIANCES, Aggregate, Column, Expr, Literal
from astralq.expr.order import order_key
from astralq.expr.spark_aggregates import computed, is_spark_aggregate, spark_aggregate
from astralq.schema import BIGINT, DOUBLE, INT, NULL, TIMESTAMP, Schema, Type, Value, decimal, fits
from astralq.space import leg, located

_ALIASES = {
    "mean": "avg",
    "stddev_samp": "stddev",
    "std": "stddev",
    "var_samp": "variance",
    "first_value": "first",
    "last_value": "last",
    "avgspd": "average_speed",
    "any_value": "first",
}


def is_aggregate(name: str) -> bool:
    return _ALIASES.get(name.lower(), name.lower()) in AGGREGATES or is_spark_aggregate(name)


def aggregate(name: str, args: tuple[Expr, ...], schema: Schema, *, distinct: bool = False) -> Aggregate:
    """The aggregate function applied to arguments; count of nothing is count(*).

    path_length() and average_speed() read the location of the schema, and average_speed the time _t.
    """
    f = _ALIASES.get(name.lower(), name.lower())
    if f not in AGGREGATES and not is_spark_aggregate(f):
        raise ExpressionError(f"unknown aggregate {name!r}", hint=nearest(f, [*AGGREGATES, *_ALIASES]))
    if any(isinstance(e, Aggregate) for a in args for e in a.walk()):
        raise ExpressionError(f"{name} of an aggregate", hint="aggregate again in an outer query")
    if f in SPATIAL_AGGREGATES:
        return _spatial(f, args, schema)
    if f not in AGGREGATES:
        return spark_aggregate(f, args, distinct=distinct)
    wanted = (0, 1) if f == "count" else (2,) if f == "percentile" else (1,)
    if len(args) not in wanted:
        raise ExpressionError(f"{name} takes {wanted[-1]} arguments, not {len(args)}")
    if f == "count_distinct" or (f == "count" and distinct):
        if not args:
            raise ExpressionError(f"{name} of which attribute?", hint="write count(DISTINCT a)")
        f, distinct = "count", True
    if f == "percentile":
        fraction = args[1].value if isinstance(args[1], Literal) else None
        if not isinstance(fraction, float | int | Decimal) or not 0 <= fraction <= 1:
            raise ExpressionError(f"the fraction {args[1]} of percentile is not a constant from 0 to 1")
    if f in ("sum", "avg", "percentile", "median", *VARIANCES):
        args = tuple(_summed(a) for a in args[:1]) + args[1:]
    return Aggregate(_result(f, args[0].type if args else NULL, name), f, args, distinct)


def _summed(arg: Expr) -> Expr:
    """What is summed: narrow numbers as the wider ones of their kind, as Spark sums them."""
    wide = {"TINYINT": INT, "SMALLINT": INT, "FLOAT": DOUBLE}.get(arg.type.name)
    return arg if wide is None else coerce(arg, wide)


def _spatial(f: str, args: tuple[Expr, ...], schema: Schema) -> Aggregate:
    if args:
        raise ExpressionError(f"{f} takes no arguments: it reads the location of the window's stream")
    if schema.location is None:
        raise PlanError(
            f"{f}() needs to know where a tuple is",
            hint="declare LOCATION BY (lon, lat) on the stream, and keep both attributes",
        )
    at = [Column(schema[n].type, n) for n in (schema.location.x, schema.location.y)]
    if f == "average_speed":
        if "_t" not in schema:
            raise PlanError(
                f"{f}() needs the time of each tuple, and these tuples have none",
                hint="use it over a window of a stream, before any join or aggregation",
            )
        at.append(Column(TIMESTAMP, "_t"))
    return Aggregate(DOUBLE, f, tuple(at))


def _result(f: str, type_: Type, name: str) -> Type:
    if f == "count":
        return BIGINT
    if f in ("min", "max") and type_.holds("MAP"):
        raise TypeMismatchError(f"in {name}: the argument is {type_}, and a MAP has no order", hint="use map_entries")
    if f in ("min", "max", "first", "last"):
        return type_
    if not type_.is_numeric and type_ != NULL:
        raise TypeMismatchError(f"in {name}: the argument is {type_}, not a number")
    if type_.name == "DECIMAL" and f == "sum":
        return decimal(min(38, type_.precision + 10), type_.scale)
    if type_.name == "DECIMAL" and f == "avg":
        scale = min(type_.scale + 4, 38)
        return decimal(min(38, type_.precision + 4), min(scale, 38 - max(0, type_.precision - type_.scale - 0)))
    return BIGINT if f == "sum" and type_.is_integral else DOUBLE


def aggregator(agg: Aggregate, schema: Schema) -> Callable[[Sequence[Row]], Value]:
    """A function from the tuples of a group, in φ order, to the aggregate's value."""
    args = [evaluator(a, schema) for a in agg.args]
    if agg.function in SPATIAL_AGGREGATES:
        planar = schema.location is not None and schema.location.planar
        return lambda rows: _path(agg.function, [tuple(a(r) for a in args) for r in rows], planar)
    if agg.of_spark:
        return _one_by_one(agg, args)
    if not args and agg.python is None:
        return len
    where = None if agg.where is None else evaluator(agg.where, schema)
    if agg.python is not None:
        return _python(agg.python, agg, args, where)
    value_of, source = args[0], (agg.args[0].type if agg.args else NULL)

    def compute(rows: Sequence[Row]) -> Value:
        if where is not None:
            rows = [r for r in rows if where(r) is True]
        values = [v for v in (value_of(r) for r in rows) if v is not None]
        if agg.distinct:
            values = list({order_key(v): v for v in values}.values())
        if agg.function == "count":
            return len(values)
        if agg.function in ("first", "last"):
            # As Spark's first and last without IGNORE NULLS: a NULL counts.
            return value_of(rows[0 if agg.function == "first" else -1]) if rows else None
        fraction = float(agg.args[1].value) if agg.function == "percentile" else 0.5  # type: ignore[attr-defined]
        return _of_values(agg.function, values, source, agg.type, fraction) if values else None

    return compute


def _python(
    function: PythonFunction, agg: Aggregate, args: Sequence[Compiled], where: Compiled | None
) -> Callable[[Sequence[Row]], Value]:
    """The callable sees the values of each argument as a list, in the order of φ and with None for NULL; of no tuples
    the aggregate is NULL."""
    compute, types = function.prepared(), [a.type for a in agg.args]

    def aggregated(rows: Sequence[Row]) -> Value:
        rows = rows if where is None else [r for r in rows if where(r) is True]
        columns = [[to_python(value(r), t) for r in rows] for value, t in zip(args, types, strict=True)]
        return compute(columns) if rows else None

    return aggregated


def _one_by_one(agg: Aggregate, args: list[Callable[[Row], Value]]) -> Callable[[Sequence[Row]], Value]:
    """One of Spark's other aggregates, where the model computes it."""
    f = computed(agg)

    def compute(rows: Sequence[Row]) -> Value:
        given = [[a(r) for a in args] for r in rows]
        if agg.distinct:
            given = list({order_key(v[0]): v for v in reversed(given)}.values())[::-1]
        return f(given)

    return compute


def _of_values(f: str, values: list[Any], source: Type, result: Type, fraction: float) -> Value:
    match f:
        case "min":
            return min(values, key=order_key)  # type: ignore[no-any-return]
        case "max":
            return max(values, key=order_key)  # type: ignore[no-any-return]
        case "sum":
            return _sum(values, source, result)
        case "avg":
            return _average(values, source, result)
        case "median" | "percentile":
            return _percentile(sorted((float(v) for v in values), key=order_key), fraction)
        case "stddev" | "stddev_pop" | "variance" | "var_pop":
            return _variance(f, values)
    raise AssertionError(f)


def _sum(values: list[Any], source: Type, result: Type) -> Value:
    if source == DOUBLE:
        return exact_sum(values)
    if source.name == "DECIMAL":
        return to_scale(_decimal_sum(values), result)
    total = sum(values)
    if not fits(total, result):
        raise EvaluationError(f"the sum {total} is out of range for {result}", hint="sum a DECIMAL instead")
    return int(total)


def _decimal_sum(values: list[Any]) -> Decimal:
    return reduce(WIDE.add, values, Decimal(0))


def exact_sum(values: Sequence[float]) -> float:
    """The exact sum of doubles, rounded once; the same for every order of the values.

    >>> exact_sum([0.1] * 10)
    1.0
    """
    special = [v for v in values if not math.isfinite(v)]
    return sum(special) if special else as_double(sum(map(Fraction, values), Fraction(0)))


def as_double(exact: Fraction) -> float:
    """The nearest double, infinite beyond their range."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _average(values: list[Any], source: Type, result: Type) -> Value:
    if source.name == "DECIMAL":
        return to_scale(WIDE.divide(_decimal_sum(values), Decimal(len(values))), result)
    if not all(math.isfinite(v) for v in values):
        return exact_sum(values)
    return as_double(sum(map(Fraction, values), Fraction(0)) / len(values))


GRID, REACH = Fraction(1, 2**240), 2.0**256
"""What variances are computed on: about 5.7e-73, and 1.2e77. Squares of more would need more than a plan can carry."""


def _variance(f: str, values: list[Any]) -> Value:
    """The mean of the squared distances from the mean; NULL for a sample of one.

    It depends on the bag of values only, which are doubles: n·Σx² − (Σx)² is exact and rounded once, then divided by
    n·n, or n·(n − 1) of a sample, and for a deviation the root is taken. It is 0 exactly where all are equal. What is
    finer than GRID is cut off; beyond REACH, as of infinities, the answer is NaN.
    """
    floats = [float(v) for v in values]
    n = len(floats)
    divisor = n if f.endswith("_pop") else n - 1
    if divisor == 0:
        return None
    if not all(abs(v) < REACH for v in floats):
        return math.nan
    exact = [Fraction(math.trunc(Fraction(v) / GRID)) * GRID for v in floats]
    apart = n * sum((v * v for v in exact), Fraction(0)) - sum(exact, Fraction(0)) ** 2
    if not apart:
        return 0.0
    # Doubles of any exponent: apart = scaled · 4^half.
    half = (apart.numerator.bit_length() - apart.denominator.bit_length() - 53) // 2
    spread = float(apart / Fraction(4) ** half) / (float(n) * float(divisor))
    if f.startswith("stddev"):
        return _scaled(math.sqrt(spread), half)
    return _scaled(spread, 2 * half)


def _scaled(value: float, exponent: int) -> float:
    """value · 2^exponent of a value that is not negative, infinite beyond the range of doubles."""
    try:
        return math.ldexp(value, exponent)
    except OverflowError:
        return math.inf


def _percentile(values: list[float], fraction: float) -> float:
    """Linear interpolation between the two nearest ranks, as Spark's percentile."""
    place = (len(values) - 1) * fraction
    low, high = math.floor(place), math.ceil(place)
    if low == high or values[low] == values[high]:
        return values[low]
    return values[low] + (place - low) * (values[high] - values[low])


def _path(f: str, points: list[tuple[Any, ...]], planar: bool) -> Value:
    """004's AvgSpd and the path below it: legs between consecutive tuples that have a location."""
    known = [p for p in points if located(*p[:2])]
    path = sum(leg(float(a[0]), float(a[1]), float(b[0]), float(b[1]), planar=planar) for a, b in pairwise(known))
    if f == "path_length":
        return path / 1000 if known else None
    if len(known) < 2 or known[-1][2] == known[0][2]:
        return None
    # mm / 10^6 = km, µs / (3600 · 10^6) = h, so km/h = mm · 3600 / µs
    return float(path * 3600) / float(known[-1][2] - known[0][2])
