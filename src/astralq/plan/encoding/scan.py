"""What is sequential: running values, neighbours, and the nearest row of another table.

There are two executions. Over many rows nothing runs on a single core: all of it uses window functions over (key,
bucket): where there is no key, one summary row per bucket carries what goes over its borders, and a prefix over the
summaries is joined back. Few rows are in one partition, and need no buckets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, Window, col, columns, lit, long
from astralq.plan.table import Table
from astralq.plan.windows.arithmetic import quotient_down


class Sequential(Protocol):
    """What decides how sequential work is done."""

    @property
    def one_partition(self) -> bool: ...

    def materialized(self, table: Table) -> Table: ...


BUCKETS = 64
"""Into how many parts a run is cut where there is no key: enough for every core, few enough for one summary."""


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
        return quotient_down(inside - lit(self.first), self.width)


NO_CUT = Cut(0, 1, 1)
"""Where nothing is cut into buckets."""

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
        condition = condition & x.same_as(y)
    return condition


def presorted(rows: Table, keys: Sequence[str], at: str) -> Table:
    """Rows that are partitioned by keys, nearly in the order of keys and instants, by a number: some bits of the keys'
    hash, and of the instant about milliseconds. Keys with equal bits, and what is closer together, are left to the
    sort that follows."""
    key = F.call("shiftleft", F.call("xxhash64", *keys).bits_and(long(2**22 - 1)), lit(40))
    return rows.presorted(key + F.shiftright(col(at), 10).bits_and(long(2**40 - 1)))


@dataclass(frozen=True)
class Sequenced:
    """A table whose rows are looked at one after the other: within keys if there are any, else within buckets, or in
    one partition (without a cut)."""

    table: Table
    keys: tuple[str, ...]
    order: tuple[str, ...]  # ascending, NULLs first; rows that are equal in it are in any order
    cut: Cut | None = None  # of the first order column

    @staticmethod
    def of(
        table: Table, keys: Sequence[str], order: Sequence[str], run: Sequential, cut: Cut, *, few: bool = False
    ) -> Sequenced:
        """Buckets only where there is neither a key nor one partition, nor few rows; what is bucketed is read more than
        once."""
        if keys or run.one_partition or few:
            return Sequenced(table, tuple(keys), tuple(order))
        return Sequenced(run.materialized(table), (), tuple(order), cut)

    @property
    def _bucketed(self) -> Table:
        if self.cut is None:
            return self.table
        return self.table.with_column("_bucket", self.cut.bucket(col(self.order[0])))

    @property
    def _parts(self) -> list[str]:
        return list(self.keys) if self.cut is None else ["_bucket"]

    def running(
        self, merges: Mapping[str, str], following: Sequence[str], before: Mapping[str, str] | None = None
    ) -> Table:
        """Each row with columns merged (by sum, min or max) up to and including it, under their own names, and the
        values of some columns in the next row as next_…, NULL in the last one.

        `before` names merged columns as they are over all rows that are earlier in the one order column, NULL where
        there are none; not across buckets.
        """
        table = self._bucketed
        window = Window.partition_by(*self._parts).order_by(*self.order)
        upto = window.rows(None, 0)
        others = [c for c in table.columns if c not in merges]
        running = table.select(
            *columns(others),
            *(MERGES[m](col(c)).over(upto).alias(c) for c, m in merges.items()),
            *(F.lead(col(c)).over(window).alias(f"next_{c}") for c in following),
            *(MERGES[merges[c]](col(c)).over(window.range(None, -1)).alias(n) for c, n in (before or {}).items()),
        )
        if self.cut is None:
            return running
        assert not before
        first = F.min(F.struct(*dict.fromkeys([*self.order, *following])))
        summary = table.group_by("_bucket").agg(
            *(MERGES[m](col(c)).alias(f"_all_{c}") for c, m in merges.items()), first.alias("_first")
        )
        buckets = Window().order_by("_bucket")
        earlier = buckets.rows(None, -1)
        carried = summary.select(
            col("_bucket").alias("_b"),
            *(MERGES[m](f"_all_{c}").over(earlier).alias(f"_before_{c}") for c, m in merges.items()),
            F.lead("_first").over(buckets).alias("_next"),
        )
        joined = running.join(carried, col("_bucket") == col("_b"), broadcast=True)
        return joined.select(
            *columns(c for c in others if c != "_bucket"),
            *(combined(m, col(c), col(f"_before_{c}")).alias(c) for c, m in merges.items()),
            *(F.coalesce(col(f"next_{c}"), col(f"_next.{c}")).alias(f"next_{c}") for c in following),
        )

    def neighbours(self, before: Sequence[str], after: Sequence[str]) -> Table:
        """Each row with the values of some columns in the row before it as last_…, and of others in the row after it
        as next_…; NULL where there is none."""
        window = Window.partition_by(*self._parts).order_by(*self.order)
        if self.cut is None:
            beside = {f"last_{c}": F.lag(col(c)).over(window) for c in before}
            return self.table.with_columns(beside | {f"next_{c}": F.lead(col(c)).over(window) for c in after})
        table = self._bucketed
        packed = {"_last": F.struct(*before), "_next": F.struct(*after)}
        place = F.struct(*self.order)
        summary = table.group_by("_bucket").agg(
            F.max_by(packed["_last"], place).alias("_final"), F.min_by(packed["_next"], place).alias("_first")
        )
        buckets = Window().order_by("_bucket")
        carried = summary.select(
            col("_bucket").alias("_b"),
            F.lag("_final").over(buckets).alias("_earlier"),
            F.lead("_first").over(buckets).alias("_later"),
        )
        inner = table.with_columns(
            {"_last": F.lag(packed["_last"]).over(window), "_next": F.lead(packed["_next"]).over(window)}
        )
        joined = inner.join(carried, col("_bucket") == col("_b"), broadcast=True).with_columns(
            {"_last": F.coalesce("_last", "_earlier"), "_next": F.coalesce("_next", "_later")}
        )
        return joined.select(
            *columns(self.table.columns),
            *(col(f"_last.{c}").alias(f"last_{c}") for c in before),
            *(col(f"_next.{c}").alias(f"next_{c}") for c in after),
        )

    def last_known(self, names: Mapping[str, str]) -> Table:
        """Each row with the last values of columns in the rows before it, under other names; the columns are NULL
        together, and such rows do not count."""
        table = self._bucketed
        window = Window.partition_by(*self._parts).order_by(*self.order)
        inner = table.with_columns({name: F.expr(f"lag({c}) IGNORE NULLS").over(window) for c, name in names.items()})
        if self.cut is None:
            return inner
        place = F.when(col(next(iter(names))).is_not_null(), F.struct(*self.order))
        summary = table.group_by("_bucket").agg(*(F.max_by(c, place).alias(f"_all_{c}") for c in names))
        earlier = Window().order_by("_bucket").rows(None, -1)
        carried = summary.select(
            col("_bucket").alias("_b"),
            *(F.last(f"_all_{c}", ignorenulls=True).over(earlier).alias(f"_before_{c}") for c in names),
        )
        joined = inner.join(carried, col("_bucket") == col("_b"), broadcast=True)
        found = (F.coalesce(name, f"_before_{c}").alias(name) for c, name in names.items())
        return joined.select(*columns(self.table.columns), *found)


def asof_forward(
    probes: Table,
    table: Table,
    *,
    keys: Sequence[str],
    at: Sequence[str],
    payload: str,
    cut: Cut,
    run: Sequential,
    strict: bool = False,
) -> Table:
    """Each probe with the payload of the first row of the table at or after it (strict: after it), else NULL, as
    payload_found.

    Probes and table both have the keys and the columns `at`, compared lexicographically; among equal rows of the
    table the one with the least payload is taken. One pass over both together, in descending order: what has been
    seen last is the nearest one after.
    """
    both = _probes_and_table(probes, table, keys, at, payload, strict=strict)
    bucketed = not keys and not run.one_partition
    if bucketed:
        both = run.materialized(both.with_column("_bucket", cut.bucket(col(at[0]))))
    parts = ["_bucket"] if bucketed else list(keys)
    window = Window.partition_by(*parts).order_by(*(F.desc(c) for c in at), "_side", F.desc("_payload"))
    nearest: Table = both.with_column("_nearest", F.last("_payload", ignorenulls=True).over(window.rows(None, 0)))
    if bucketed:
        nearest = nearest.join(_first_of_later_buckets(both, at), col("_bucket") == col("_b"), broadcast=True)
        nearest = nearest.with_column("_nearest", F.coalesce("_nearest", "_later"))
    answered = nearest.where(col("_side") == 1)
    return answered.select(
        *(col(f"_probe.{c}").alias(c) for c in probes.columns), col("_nearest").alias(f"{payload}_found")
    )


def _probes_and_table(
    probes: Table, table: Table, keys: Sequence[str], at: Sequence[str], payload: str, *, strict: bool
) -> Table:
    """One table: a row of the table at a probe's own place has to be seen before the probe if it counts (side 0), and
    after it if it does not (side 2)."""
    mine = probes.select(*keys, *at, F.struct(*probes.columns).alias("_probe"), lit(1).alias("_side"))
    theirs = table.select(*keys, *at, col(payload).alias("_payload"), lit(2 if strict else 0).alias("_side"))
    return mine.union(theirs, missing=True)


def _first_of_later_buckets(both: Table, at: Sequence[str]) -> Table:
    """For each bucket the payload of the table's first row in a later one."""
    place = F.struct(*at, "_payload")
    least = F.min(F.when(col("_side") != 1, place))
    summary = both.group_by("_bucket").agg(least.alias("_least"))
    later = Window().order_by(F.desc("_bucket")).rows(None, -1)
    return summary.select(
        col("_bucket").alias("_b"), F.last("_least._payload", ignorenulls=True).over(later).alias("_later")
    )
