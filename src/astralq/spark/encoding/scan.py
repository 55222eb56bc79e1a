"""What is sequential: positions, running values, and the nearest row of another table, none of it on a single core.

Positions come from a distributed sort. Everything else uses window functions over (key, bucket): where there is no
key, one summary row per bucket carries what goes over its borders, and a prefix over the summaries is joined back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from astralq.spark.encoding.columns import col, lit
from astralq.spark.encoding.frames import StreamFrame, attributes, columns
from astralq.spark.state.store import Memory


class Shares(Protocol):
    """What can keep a table that is read more than once, and the streams that have their positions."""

    @property
    def numbered(self) -> dict[StreamFrame, StreamFrame]: ...

    @property
    def memory(self) -> Memory | None: ...

    @property
    def has_few_rows(self) -> bool: ...

    def shared(self, df: DataFrame) -> DataFrame: ...


BUCKETS = 64
"""Into how many parts a run is cut where there is no key: enough for every core, few enough for one summary."""


def indexed(df: DataFrame, by: Sequence[str], name: str, run: Shares) -> DataFrame:
    """The rows numbered 0, 1, 2, … in an order that tells them apart: by a distributed sort; by one task if few are
    read, for the sort would be jobs of its own."""
    if run.has_few_rows:
        window = Window.partitionBy(lit(0)).orderBy(*columns(by))
        return df.coalesce(1).withColumn(name, (F.row_number().over(window) - 1).cast("bigint"))
    return df.sort(*columns(by)).zipWithIndex(name)


def numbered(stream: StreamFrame, run: Shares) -> StreamFrame:
    """The stream with its positions n = 0, 1, 2, …

    The sort ends with all attributes: rows that are still equal are the same tuple, so that any partitioning gives
    the same positions.
    """
    if stream.numbered:
        return stream
    if stream in run.numbered:
        return run.numbered[stream]
    by = dict.fromkeys([*stream.sort_columns, *attributes(stream.schema)])
    kept = [*stream.stamp_columns, *attributes(stream.schema)]
    df = indexed(stream.df, list(by), "n", run).select(*columns(kept), "n")
    if run.memory is not None:
        # In an epoch these are the new tuples, and the positions go on where the last epoch's ended.
        before = run.memory.facts.get(f"count {stream.name}", 0)
        df = run.shared(df.withColumn("n", col("n") + lit(before)))
        run.memory.count(f"count {stream.name}", df)
    run.numbered[stream] = replace(stream, df=run.shared(df) if run.memory is None else df, order=("n",))
    return run.numbered[stream]


@dataclass(frozen=True)
class Cut:
    """How the values of a column that never NULLs are cut into buckets: value ↦ (value − first) div width."""

    first: int
    width: int
    count: int = BUCKETS

    @staticmethod
    def of(first: int, last: int, count: int = BUCKETS) -> Cut:
        """The closed interval [first, last] in equal parts."""
        return Cut(first, max(1, -(-(last - first + 1) // count)), count)

    def bucket(self, value: Column) -> Column:
        """The bucket of a value; what lies outside the interval is in the first or the last one."""
        inside = F.greatest(F.least(value, lit(self.first + self.width * self.count)), lit(self.first - 1))
        return F.floor((inside - lit(self.first)) / lit(self.width)).cast("bigint")


MERGES: dict[str, Callable[..., Column]] = {"sum": F.sum, "min": F.min, "max": F.max}
"""How partial values of several rows become one."""


def combined(merge: str, a: Column, b: Column) -> Column:
    """Two merged values, either of which may be NULL for nothing."""
    if merge == "sum":
        return F.coalesce(a, lit(0)) + F.coalesce(b, lit(0))
    return F.least(a, b) if merge == "min" else F.greatest(a, b)


def equal(a: Sequence[Column], b: Sequence[Column]) -> Column:
    """Whether all columns are equal, where NULL is equal to NULL."""
    condition = lit(True)
    for x, y in zip(a, b, strict=True):
        condition = condition & x.eqNullSafe(y)
    return condition


@dataclass(frozen=True)
class Sequenced:
    """A table whose rows are looked at one after the other: within keys if there are any, else within buckets."""

    df: DataFrame
    keys: tuple[str, ...]
    order: tuple[str, ...]  # ascending, NULLs first; rows that are equal in it are in any order
    cut: Cut | None = None  # of the first order column; needed without keys

    def with_bucket(self) -> DataFrame:
        if self.keys:
            return self.df
        assert self.cut is not None
        return self.df.withColumn("_bucket", self.cut.bucket(col(self.order[0])))

    @property
    def parts(self) -> list[str]:
        return list(self.keys) or ["_bucket"]

    def running(self, merges: Mapping[str, str], following: Sequence[str]) -> DataFrame:
        """Each row with columns merged (by sum, min or max) up to and including it, under their own names, and the
        values of some columns in the next row as next_…, NULL in the last one."""
        df = self.with_bucket()
        window = Window.partitionBy(*self.parts).orderBy(*columns(self.order))
        upto = window.rowsBetween(Window.unboundedPreceding, Window.currentRow)
        others = [c for c in df.columns if c not in merges]
        found = df.select(
            *columns(others),
            *(MERGES[m](col(c)).over(upto).alias(c) for c, m in merges.items()),
            *(F.lead(col(c)).over(window).alias(f"next_{c}") for c in following),
        )
        if self.keys:
            return found
        first = F.min(F.struct(*columns(dict.fromkeys([*self.order, *following]))))
        summary = df.groupBy("_bucket").agg(
            *(MERGES[m](col(c)).alias(f"_all_{c}") for c, m in merges.items()), first.alias("_first")
        )
        buckets = Window.orderBy("_bucket")
        before = buckets.rowsBetween(Window.unboundedPreceding, -1)
        carried = summary.select(
            col("_bucket").alias("_b"),
            *(MERGES[m](f"_all_{c}").over(before).alias(f"_before_{c}") for c, m in merges.items()),
            F.lead("_first").over(buckets).alias("_next"),
        )
        joined = found.join(F.broadcast(carried), col("_bucket") == col("_b"))
        return joined.select(
            *columns(c for c in others if c != "_bucket"),
            *(combined(m, col(c), col(f"_before_{c}")).alias(c) for c, m in merges.items()),
            *(F.coalesce(col(f"next_{c}"), col(f"_next.{c}")).alias(f"next_{c}") for c in following),
        )

    def neighbours(self, before: Sequence[str], after: Sequence[str]) -> DataFrame:
        """Each row with the values of some columns in the row before it as last_…, and of others in the row after it
        as next_…; NULL where there is none."""
        df = self.with_bucket()
        window = Window.partitionBy(*self.parts).orderBy(*columns(self.order))
        packed = {"_last": F.struct(*columns(before)), "_next": F.struct(*columns(after))}
        found = df.withColumns(
            {"_last": F.lag(packed["_last"]).over(window), "_next": F.lead(packed["_next"]).over(window)}
        )
        if not self.keys:
            place = F.struct(*columns(self.order))
            summary = df.groupBy("_bucket").agg(
                F.max_by(packed["_last"], place).alias("_final"), F.min_by(packed["_next"], place).alias("_first")
            )
            buckets = Window.orderBy("_bucket")
            carried = summary.select(
                col("_bucket").alias("_b"),
                F.lag("_final").over(buckets).alias("_earlier"),
                F.lead("_first").over(buckets).alias("_later"),
            )
            found = found.join(F.broadcast(carried), col("_bucket") == col("_b")).withColumns(
                {"_last": F.coalesce("_last", "_earlier"), "_next": F.coalesce("_next", "_later")}
            )
        return found.select(
            *columns(self.df.columns),
            *(col(f"_last.{c}").alias(f"last_{c}") for c in before),
            *(col(f"_next.{c}").alias(f"next_{c}") for c in after),
        )

    def last_known(self, column: str, name: str) -> DataFrame:
        """Each row with the last value of a column that is not NULL in the rows before it; only without keys."""
        df = self.with_bucket()
        before = Window.partitionBy("_bucket").orderBy(*columns(self.order)).rowsBetween(Window.unboundedPreceding, -1)
        place = F.when(col(column).isNotNull(), F.struct(*columns(self.order)))
        summary = df.groupBy("_bucket").agg(F.max_by(column, place).alias("_final"))
        earlier = Window.orderBy("_bucket").rowsBetween(Window.unboundedPreceding, -1)
        carried = summary.select(
            col("_bucket").alias("_b"), F.last("_final", ignorenulls=True).over(earlier).alias("_carried")
        )
        inner = df.withColumn(name, F.last(column, ignorenulls=True).over(before))
        joined = inner.join(F.broadcast(carried), col("_bucket") == col("_b"))
        return joined.select(*columns(self.df.columns), F.coalesce(name, "_carried").alias(name))


def first_from(
    probes: DataFrame,
    table: DataFrame,
    *,
    keys: Sequence[str],
    at: Sequence[str],
    payload: str,
    cut: Cut | None,
    run: Shares,
    strict: bool = False,
) -> DataFrame:
    """Each probe with the payload of the first row of the table at or after it (strict: after it), else NULL.

    Probes and table both have the keys and the columns `at`, compared lexicographically; among equal rows of the
    table the one with the least payload is taken.
    """
    side = lit(1).cast("int")
    mine = probes.select(
        *columns([*keys, *at]), F.struct(*columns(probes.columns)).alias("_probe"), side.alias("_side")
    )
    other = lit(2 if strict else 0).cast("int")
    # Descending: what has been seen last is the nearest one after. A table's row at the probe's own place has to be
    # seen before the probe if it counts, after it if it does not.
    theirs = table.select(*columns([*keys, *at]), col(payload).alias("_found"), other.alias("_side"))
    both = mine.unionByName(theirs, allowMissingColumns=True)
    parts = list(keys)
    if not keys:
        assert cut is not None
        both = run.shared(both.withColumn("_bucket", cut.bucket(col(at[0]))))
        parts = ["_bucket"]
    down = [F.desc_nulls_last(c) for c in at]
    window = Window.partitionBy(*parts).orderBy(*down, "_side", F.desc_nulls_last("_found"))
    seen = window.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    found = both.withColumn("_nearest", F.last("_found", ignorenulls=True).over(seen))
    if not keys:
        place = F.struct(*columns(at), col("_found"))
        least = F.min(F.when(col("_side") != 1, place))
        summary = both.groupBy("_bucket").agg(least.alias("_least"))
        later = Window.orderBy(F.desc("_bucket")).rowsBetween(Window.unboundedPreceding, -1)
        carried = summary.select(
            col("_bucket").alias("_b"), F.last("_least._found", ignorenulls=True).over(later).alias("_later")
        )
        found = found.join(F.broadcast(carried), col("_bucket") == col("_b")).withColumn(
            "_nearest", F.coalesce("_nearest", "_later")
        )
    return found.where(col("_side") == 1).select("_probe.*", col("_nearest").alias(f"{payload}_found"))
