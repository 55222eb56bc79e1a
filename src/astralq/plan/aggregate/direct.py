"""Aggregates of groups of rows, every function of the model: for single states, and for SNEEql's windows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from astralq.expr.nodes import SPATIAL_AGGREGATES, Aggregate, Literal
from astralq.expr.safety import mergeable
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.aggregate.limbs import Layout
from astralq.plan.aggregate.partials import plan
from astralq.plan.columns import Column, Window, col, columns, lit
from astralq.plan.encoding.tables import in_order
from astralq.plan.table import Table
from astralq.plan.windows.odometer import leg

_HALF = 2.0**31


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
    group = Window.partition_by(*columns(by))
    parts: list[Column] = []
    finals: list[Column] = []
    for k, a in enumerate(aggregates):
        value = col(f"v{k}")
        if a.function in SPATIAL_AGGREGATES:
            rows = _with_legs(rows, k, by, order, planar=planar)
            parts += _spatial_parts(k, a, order)
            finals.append(_spatial(k, a))
        elif a.function in ("median", "percentile"):
            fraction = a.args[1].value if len(a.args) > 1 and isinstance(a.args[1], Literal) else 0.5
            assert fraction is not None
            parts.append(F.percentile(value.cast("double"), float(fraction)).alias(f"a{k}"))
            finals.append(col(f"a{k}"))
        elif a.function in ("stddev", "stddev_pop", "variance", "var_pop"):
            rows = _centred(rows, k, group, layouts[k])
            parts += [F.count(value).alias(f"n{k}"), F.max(f"range{k}").alias(f"range{k}")]
            parts += [F.sum(f"high{k}").alias(f"high{k}"), F.sum(f"low{k}").alias(f"low{k}")]
            finals.append(_variance(k, a))
        elif a.function == "count" and a.distinct:
            parts.append(F.count_distinct(value).alias(f"n{k}"))
            finals.append(col(f"n{k}"))
        else:
            if a.distinct and not mergeable(a):
                # The first of equal values counts, the others are as if they were not there.
                turn = F.row_number().over(Window.partition_by(*columns(by), value).order_by(lit(0)))
                rows = rows.with_column(f"v{k}", F.when(turn == 1, value))
            made = plan(k, a, layouts.get(k), order)
            rows = rows.with_columns({p.name: p.value for p in made.partials})
            parts += [p.merged() for p in made.partials]
            finals.append(made.final)
    if not parts:
        return rows.select(*columns(by)).distinct()
    return (
        rows.group_by(*columns(by)).agg(*parts).select(*columns(by), *(f.alias(f"a{k}") for k, f in enumerate(finals)))
    )


# Variances: centred by the mean, scaled by the greatest distance from it, squared, and added as integers.


def _centred(rows: Table, k: int, group: Window, layout: Layout) -> Table:
    value = col(f"v{k}").cast("double")
    rows = rows.with_column(f"v{k}", value)
    limbs = layout.limbs(col(f"v{k}"))
    rows = rows.with_columns({f"limb{k}_{j}": F.coalesce(limb, lit(0)) for j, limb in enumerate(limbs)})
    sums = {f"sum{k}_{j}": F.sum(f"limb{k}_{j}").over(group) for j in range(layout.count)}
    rows = rows.with_columns(sums | {f"count{k}": F.count(f"v{k}").over(group)})
    total = [col(f"sum{k}_{j}") for j in range(layout.count)]
    mean = F.when(col(f"count{k}") > 0, layout.average(total, col(f"count{k}")))
    rows = rows.with_column(f"mean{k}", mean)
    rows = rows.with_column(f"away{k}", col(f"v{k}") - col(f"mean{k}"))
    rows = rows.with_column(f"range{k}", F.max(F.abs(f"away{k}")).over(group))
    usable = (col(f"range{k}") > 0) & (col(f"range{k}") < lit(math.inf))
    share = F.when(usable, col(f"away{k}") / col(f"range{k}")).otherwise(lit(0.0))
    rows = rows.with_column(f"square{k}", share * share * _HALF)
    rows = rows.with_column(f"high{k}", F.coalesce(F.floor(f"square{k}"), lit(0)))
    rest = (col(f"square{k}") - col(f"high{k}").cast("double")) * _HALF
    return rows.with_column(f"low{k}", F.coalesce(F.rint(rest).cast("bigint"), lit(0)))


def _variance(k: int, a: Aggregate) -> Column:
    n, reach = col(f"n{k}"), col(f"range{k}")
    divisor = n if a.function.endswith("_pop") else n - 1
    squares = col(f"high{k}").cast("double") / _HALF + col(f"low{k}").cast("double") / (_HALF * _HALF)
    spread = squares / F.when(divisor > 0, divisor).cast("double") * reach * reach
    value = F.sqrt(spread) if a.function.startswith("stddev") else spread
    infinite = F.isnan(reach) | (reach == lit(math.inf))
    return F.when(divisor > 0, F.when(infinite, lit(math.nan)).otherwise(value))


# Paths


def _with_legs(rows: Table, k: int, by: Sequence[str], order: Sequence[str], *, planar: bool) -> Table:
    x, y = col(f"x{k}"), col(f"y{k}")
    finite = (F.abs(x) < lit(math.inf)) & (F.abs(y) < lit(math.inf))
    rows = rows.with_column(f"point{k}", F.when(finite, F.struct(x.alias("x"), y.alias("y"))))
    window = Window.partition_by(*columns(by)).order_by(*in_order(order))
    before = window.rows(None, -1)
    rows = rows.with_column(f"from{k}", F.last(f"point{k}", ignorenulls=True).over(before))
    return rows.with_column(f"leg{k}", leg(col(f"from{k}"), col(f"point{k}"), planar=planar))


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
