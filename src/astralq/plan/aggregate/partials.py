"""Aggregate functions as partial values that merge, and what is made of them at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from astralq.algebra.relational import GroupBy
from astralq.expr.aggregates import REACH
from astralq.expr.nodes import SPATIAL_AGGREGATES, VARIANCES, Aggregate, Expr
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.aggregate.limbs import Layout
from astralq.plan.aggregate.moments import Moments, moment_limbs, square_limbs
from astralq.plan.columns import Column, col, lit
from astralq.plan.encoding.scan import MERGES
from astralq.plan.operators.expressions import Names, compiled
from astralq.plan.sql_types import spark_type
from astralq.plan.table import Table


@dataclass(frozen=True)
class Partial:
    """A column of a row, 0 or NULL where the row adds nothing, and how those of several rows merge."""

    name: str
    value: Column
    merge: str  # sum, min or max

    def merged(self) -> Column:
        return MERGES[self.merge](col(self.name)).alias(self.name)


@dataclass(frozen=True)
class Plan:
    """An aggregate: its partial columns, and its value over merged ones."""

    partials: tuple[Partial, ...]
    final: Column
    layout: Layout | None = None  # how its sums are cut, if they are
    before: Mapping[str, Column] = field(default_factory=dict)  # columns that partial ones are made of
    steps: tuple[Mapping[str, Column], ...] = ()  # columns over merged ones that `final` is made of, step by step

    @property
    def invertible(self) -> bool:
        """Whether what leaves can be taken off again."""
        return all(p.merge == "sum" for p in self.partials)


def plan(k: int, a: Aggregate, layout: Layout | None, order: Sequence[str], there: str | None = None) -> Plan:
    """The plan of the k-th aggregate; its argument is in the column v{k}, if it has one. `there` is the partial value
    that counts rows, where all of them are aggregated: it says how many values there are if none is NULL."""
    value = col(f"v{k}")
    if layout is not None and (there is None or a.where is not None):
        layout = replace(layout, nulls=True)
    match a.function:
        case "count" if there is not None and not a.args and a.where is None:
            return Plan((), col(there))
        case "count":
            one = lit(1) if not a.args else F.when(value.is_not_null(), 1).otherwise(0)
            return Plan((Partial(f"n{k}", one.cast("bigint"), "sum"),), col(f"n{k}"))
        case "min" | "max":
            return Plan((Partial(f"m{k}", value, a.function),), col(f"m{k}"))
        case "first" | "last":
            packed = F.struct(*(col(c).alias(f"o{j}") for j, c in enumerate(order)), value.alias("value"))
            if a.where is not None:
                packed = F.when(col(f"w{k}"), packed)
            return Plan((Partial(f"m{k}", packed, "min" if a.function == "first" else "max"),), col(f"m{k}.value"))
    if a.function in VARIANCES:
        assert layout is not None
        return _variance(k, a, value.cast("double"), layout)
    return _total(k, a, value, layout, there)


def with_steps(merged: Table, plans: Sequence[Plan]) -> Table:
    """Merged partial values with all columns that the aggregates' values are made of."""
    for j in range(max((len(p.steps) for p in plans), default=0)):
        merged = merged.with_columns({name: c for p in plans if j < len(p.steps) for name, c in p.steps[j].items()})
    return merged


def _variance(k: int, a: Aggregate, value: Column, layout: Layout) -> Plan:
    """Variances and deviations: NULL over nothing, NaN where a value is beyond their reach."""
    before = {f"limb{k}_{j}": limb for j, limb in enumerate(moment_limbs(value, layout))}
    limbs = [col(name) for name in before]
    count = Partial(f"n{k}", F.when(value.is_not_null(), 1).otherwise(0).cast("bigint"), "sum")
    sums = [Partial(f"s{k}_{j}", limb, "sum") for j, limb in enumerate(limbs)]
    squares = [Partial(f"q{k}_{j}", square, "sum") for j, square in enumerate(square_limbs(limbs))]
    moments = Moments.of(k, a, layout)
    n = col(count.name)
    divisor = n if a.function.endswith("_pop") else n - 1
    spread = moments.value(n, divisor, *([col(p.name) for p in parts] for parts in (sums, squares)))
    partials = [count, *sums, *squares]
    if layout.special:
        inside = (F.abs(value) < lit(REACH)) | value.is_null()
        partials.append(Partial(f"x{k}_0", F.when(inside, 0).otherwise(1).cast("bigint"), "sum"))
        spread = F.when(col(f"x{k}_0") > 0, lit(float("nan"))).otherwise(spread)
    return Plan(tuple(partials), F.when(divisor > 0, spread), layout, before, tuple(moments.steps))


def _total(k: int, a: Aggregate, value: Column, layout: Layout | None, there: str | None) -> Plan:
    """sum and avg: NULL over nothing."""
    counts = [Partial(f"n{k}", F.when(value.is_not_null(), 1).otherwise(0).cast("bigint"), "sum")]
    n = col(f"n{k}")
    if layout is None:
        source = a.args[0].type
        wide = f"decimal(38,{source.scale})"
        total = Partial(f"s{k}", F.coalesce(value, lit(0)).cast(wide), "sum")
        amount = col(total.name) if a.function == "sum" else _decimal_average(col(total.name), n)
        return Plan((*counts, total), F.when(n > 0, amount.cast(f"decimal({a.type.precision},{a.type.scale})")))
    is_double = a.args[0].type.name == "DOUBLE"
    cut = layout.limbs(value) if is_double else layout.integer_limbs(value)
    if there is not None and not layout.nulls:
        counts, n = [], col(there)
    else:
        cut = [F.coalesce(limb, lit(0)) for limb in cut]
    limbs = [Partial(f"s{k}_{j}", limb, "sum") for j, limb in enumerate(cut)]
    merged, some = [col(p.name) for p in limbs], n > 0
    if a.function == "sum" and not is_double:
        return Plan((*counts, *limbs), F.when(some, layout.whole(merged)), layout)
    amount = layout.total(merged) if a.function == "sum" else layout.average(merged, n)
    if not (is_double and layout.special):
        return Plan((*counts, *limbs), F.when(some, amount), layout)
    # How many of each there are decides, as IEEE addition would.
    kinds = [
        Partial(f"x{k}_{j}", F.when(condition, 1).otherwise(0).cast("bigint"), "sum")
        for j, condition in enumerate((F.isnan(value), value == float("inf"), value == float("-inf")))
    ]
    nan, plus, minus = (col(p.name) > 0 for p in kinds)
    amount = (
        F.when(nan | (plus & minus), lit(float("nan")))
        .when(plus, lit(float("inf")))
        .when(minus, lit(float("-inf")))
        .otherwise(amount)
    )
    return Plan((*counts, *limbs, *kinds), F.when(some, amount), layout)


def _decimal_average(total: Column, count: Column) -> Column:
    return total / F.when(count > 0, count).cast("decimal(20,0)")


def prepared(op: GroupBy, names: Names) -> list[Column]:
    """The keys k0, k1, … of a row, its aggregates' arguments v… and whether they count, w…; locations as x…, y…, and
    their times as s…"""
    made = [compiled(e, names).alias(f"k{j}") for j, (_, e) in enumerate(op.keys)]
    for j, (_, a) in enumerate(op.aggregates):
        if a.python is not None:
            args = F.struct(*(compiled(e, names).cast(spark_type(e.type)).alias(f"x{k}") for k, e in enumerate(a.args)))
            made.append((args if a.where is None else F.when(compiled(a.where, names), args)).alias(f"v{j}"))
            continue
        if a.function not in SPATIAL_AGGREGATES:
            made += [_argument(a, e, names).alias(f"v{j}") for e in a.args[:1]]
            if a.of_spark:
                made += [_argument(a, e, names).alias(f"v{j}_{n}") for n, e in enumerate(a.args[1:], 1) if e.columns]
            made += [] if a.where is None else [compiled(a.where, names).alias(f"w{j}")]
            continue
        made += [compiled(e, names).cast("double").alias(f"{c}{j}") for c, e in zip("xy", a.args, strict=False)]
        if a.function == "average_speed":
            made.append(F.unix_micros(compiled(a.args[2], names)).alias(f"s{j}"))
    return made


def _argument(a: Aggregate, argument: Expr, names: Names) -> Column:
    """An argument, computed for those rows only that a FILTER lets through."""
    value = compiled(argument, names)
    return value if a.where is None else F.when(compiled(a.where, names), value)
