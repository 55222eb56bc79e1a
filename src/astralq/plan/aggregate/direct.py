"""Aggregates of groups of rows, every function of the model: for single states, and for SNEEql's windows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal

from astralq.expr.nodes import SPATIAL_AGGREGATES, Aggregate, Literal
from astralq.expr.safety import mergeable
from astralq.expr.spark_aggregates import over_nothing
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.aggregate.limbs import Layout
from astralq.plan.aggregate.partials import Plan, plan, with_steps
from astralq.plan.columns import Column, Window, col, columns, lit
from astralq.plan.encoding.tables import in_order
from astralq.plan.operators.expressions import function_name, raised_if_wrong
from astralq.plan.sql_types import restored, spark_type, stored
from astralq.plan.table import Table
from astralq.plan.windows.odometer import leg


def aggregated(
    rows: Table,
    by: Sequence[str],
    aggregates: Sequence[Aggregate],
    order: Sequence[str],
    layouts: Mapping[int, Layout],
    *,
    planar: bool,
) -> Table:
    """For each group its aggregates as a0, a1, …; arguments are in v0, v1, …, locations in x…, y…, times in s…"""
    parts: list[Column] = []
    finals: list[Column] = []
    plans: list[Plan] = []
    for k, a in enumerate(aggregates):
        value = col(f"v{k}")
        if a.function in SPATIAL_AGGREGATES:
            rows = _with_legs(rows, k, by, order, planar=planar)
            parts += _spatial_parts(k, a, order)
            finals.append(_spatial(k, a))
        elif a.python is not None:
            ordered = F.struct(*(col(c).alias(f"o{j}") for j, c in enumerate(order)), value.alias("given"))
            # What a FILTER leaves out is NULL, which lists pass over; of nothing the aggregate is NULL.
            parts.append(F.array_sort(F.collect_list(F.when(value.is_not_null(), ordered))).alias(f"a{k}"))
            args = ", ".join(f"transform(a{k}, one_ -> one_.given.x{x})" for x in range(len(a.args)))
            finals.append(F.when(F.size(f"a{k}") > 0, F.expr(raised_if_wrong(f"{function_name(a.python)}({args})"))))
        elif a.of_spark:
            rows = rows.with_column(f"u{k}", _one_by_one(k, a, by, order))
            parts.append(F.first(f"u{k}").alias(f"a{k}"))
            finals.append(F.expr(stored(f"a{k}", a.type)))
        elif a.function in ("median", "percentile"):
            fraction = a.args[1].value if len(a.args) > 1 and isinstance(a.args[1], Literal) else 0.5
            assert isinstance(fraction, int | float | Decimal)
            parts.append(F.array_sort(F.collect_list(value.cast("double"))).alias(f"a{k}"))
            finals.append(_percentile(col(f"a{k}"), float(fraction)))
        elif a.function == "count" and a.distinct:
            parts.append(F.count_distinct(value).alias(f"n{k}"))
            finals.append(col(f"n{k}"))
        else:
            if a.distinct and not mergeable(a):
                # The first of equal values counts, the others are as if they were not there.
                turn = F.row_number().over(Window.partition_by(*columns(by), value).order_by(lit(0)))
                rows = rows.with_column(f"v{k}", F.when(turn == 1, value))
            made = plan(k, a, layouts.get(k), order)
            rows = rows.with_columns(made.before).with_columns({p.name: p.value for p in made.partials})
            parts += [p.merged() for p in made.partials]
            plans.append(made)
            finals.append(made.final)
    if not parts:
        return rows.select(*columns(by)).distinct()
    merged = with_steps(rows.group_by(*columns(by)).agg(*parts), plans)
    return merged.select(*columns(by), *(f.alias(f"a{k}") for k, f in enumerate(finals)))


def empty_value(a: Aggregate) -> Column | None:
    """What the aggregate gives over nothing, as a column; None for NULL."""
    value = over_nothing(a.function)
    if value is None:
        return None
    return lit(0) if value == 0 else F.expr(f"CAST(array() AS {spark_type(a.type)})")


def _one_by_one(k: int, a: Aggregate, by: Sequence[str], order: Sequence[str]) -> Column:
    """A function of Spark's over a group's rows, in φ order and not merged from parts, as a window function is."""
    rows = Window.partition_by(*columns(by)).order_by(*in_order(order))
    given = [f"v{k}", *(f"v{k}_{n}" if e.columns else str(e) for n, e in enumerate(a.args[1:], 1))]
    values = [restored(text, e.type) for text, e in zip(given, a.args, strict=True)]
    if a.distinct:
        # The first of equal values counts, the others are as if they were not there.
        turn = F.row_number().over(Window.partition_by(*columns(by), f"v{k}").order_by(*in_order(order)))
        values[0] = F.when(turn == 1, F.expr(values[0])).text
    return F.expr(f"{a.function}({', '.join(values)})").over(rows.rows(None, None))


def _percentile(values: Column, fraction: float) -> Column:
    """Of sorted values: between the two nearest ranks in proportion, as Spark does since 4.3. Those before it round in
    another way."""
    place = (F.size(values) - 1).cast("double") * lit(fraction)
    low, high = (F.element_at(values, (to(place) + 1).cast("int")) for to in (F.floor, F.ceil))
    between = low + (place - F.floor(place).cast("double")) * (high - low)
    return F.when(F.size(values) > 0, F.when(low == high, low).otherwise(between))


# Paths


def _with_legs(rows: Table, k: int, by: Sequence[str], order: Sequence[str], *, planar: bool) -> Table:
    x, y = col(f"x{k}"), col(f"y{k}")
    finite = (F.abs(x) < lit(math.inf)) & (F.abs(y) < lit(math.inf))
    rows = rows.with_column(f"point{k}", F.when(finite, F.struct(x.alias("x"), y.alias("y"))))
    window = Window.partition_by(*columns(by)).order_by(*in_order(order))
    before = window.rows(None, -1)
    rows = rows.with_column(f"from{k}", F.last(f"point{k}", ignorenulls=True).over(before))
    start, end = ((col(f"{name}{k}")["x"], col(f"{name}{k}")["y"]) for name in ("from", "point"))
    return rows.with_column(f"leg{k}", leg(start, end, planar=planar))


def _spatial_parts(k: int, a: Aggregate, order: Sequence[str]) -> list[Column]:
    known = col(f"point{k}").is_not_null()
    parts = [F.count(f"point{k}").alias(f"n{k}"), F.coalesce(F.sum(f"leg{k}"), lit(0)).alias(f"path{k}")]
    if a.function == "average_speed":
        place = F.when(known, F.struct(*(col(c).alias(f"o{j}") for j, c in enumerate(order))))
        parts += [F.min_by(f"s{k}", place).alias(f"first{k}"), F.max_by(f"s{k}", place).alias(f"last{k}")]
    return parts


def _spatial(k: int, a: Aggregate) -> Column:
    n, length = col(f"n{k}"), col(f"path{k}")
    if a.function == "path_length":
        return F.when(n > 0, length.cast("double") / 1000.0)
    took = col(f"last{k}") - col(f"first{k}")
    # mm / 10^6 = km and µs / (3600 · 10^6) = h, so km/h = mm · 3600 / µs
    return F.when((n > 1) & (took != 0), (length * 3600).cast("double") / F.when(took != 0, took).cast("double"))
