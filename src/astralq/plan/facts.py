"""Facts: what a plan is chosen by besides the operators: rows, first and last instants, ranges of doubles.

They come from manifests and files where these have them, else from one Spark job for all sources of a query. What only
the data of a plan's own tables can tell (how sums over joins are cut) is measured on the way, one job a level.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from astralq.algebra.base import Operator
from astralq.algebra.relational import GroupBy
from astralq.algebra.sources import RelationSource, SensedSource, Source, StartedAt, StreamSource
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.aggregate.limbs import Range, range_columns, range_of
from astralq.plan.columns import Column, col, lit, long
from astralq.plan.sources.provenance import source_column
from astralq.plan.sources.rows import STAMP, moments, scanned
from astralq.plan.table import Table
from astralq.timeline import EPOCH, BatchId, Instant

FEW_ROWS = 20_000
"""Up to how many rows of all sources together a run is planned for one partition: on two cores that is faster up to
about 50,000, and from 200,000 on joins are slower."""

FEW_PAIRS = 2_000
"""Up to how many rows each is compared with every other one, where a join has no keys."""

SUMMED = ("sum", "avg", "stddev", "stddev_pop", "variance", "var_pop")
"""Aggregates that add doubles exactly, and so have to know the range of their values."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Times:
    """What the timestamps of a source say of a run: its first batch, its last instant, and how many rows there are.

    Rows before t0 do not count, but they are counted; so are the '-' of a change log that find nothing.
    """

    first: BatchId | None = None
    last: Instant | None = None
    rows: int = 0
    before: int = 0
    unmatched: int = 0


@dataclass
class Facts:
    """What is known before a plan is made, and what was measured while one was made."""

    stamps: Mapping[str, frozenset[str]] = field(default_factory=dict)  # of _t, _i, _n those that a source's rows have
    times: dict[tuple[str, Instant], Times] = field(default_factory=dict)  # by source and start
    ranges: dict[tuple[str, int], Range] = field(default_factory=dict)  # by source and place of the attribute
    measured: dict[str, list[Row]] = field(default_factory=dict)  # by digest of the table that was measured
    few_rows: int = FEW_ROWS

    @property
    def rows(self) -> dict[str, int]:
        """How many rows sources have, of those of which it is known."""
        return {name: t.rows + t.before for (name, _), t in self.times.items()}

    def stamp(self, source: Source) -> Collection[str]:
        """The columns of a stamp that a source's rows bring; as long as nobody knows, those that it needs."""
        if source.name in self.stamps or isinstance(source, RelationSource):
            return self.stamps.get(source.name, frozenset())
        needs = isinstance(source, SensedSource) or source.timestamp is None
        return frozenset(STAMP) if needs else frozenset()


def summed_columns(query: Operator) -> list[tuple[StreamSource, int]]:
    """The attributes of sources whose own doubles are added up exactly somewhere in a query."""
    traced = {
        (source.name, place): (source, place)
        for op in query.walk()
        if isinstance(op, GroupBy)
        for _, a in op.aggregates
        if a.function in SUMMED and a.args and a.args[0].type.name == "DOUBLE"
        for source, place in [source_column(op.child, a.args[0]) or (None, 0)]
        if source is not None
    }
    return list(traced.values())


def started_sources(query: Operator, t0: Instant | None, *, sensed: bool = False) -> Iterator[tuple[Source, Instant]]:
    """The sources of a query with each start from which somebody asks when they begin: a view may have its own."""
    for source in timed_sources(query, sensed=sensed):
        yield source, EPOCH if t0 is None else t0
    for op in query.walk():
        if isinstance(op, StartedAt):
            yield from started_sources(op.child, op.t0, sensed=sensed)


def measures(query: Operator, t0: Instant | None, facts: Facts) -> dict[tuple[str, Instant], Table]:
    """What has to be asked of each source that is not known yet: one row each, all of them in one job."""
    summed = summed_columns(query)
    asked: dict[tuple[str, Instant], Table] = {}
    for source, start in started_sources(query, t0):
        key = (source.name, start)
        places = [k for s, k in summed if s.name == source.name and (s.name, k) not in facts.ranges]
        if key in asked or (key in facts.times and not places):
            continue
        rows = scanned(source, facts.stamp(source))
        table = moments(source, rows)
        asked[key] = measured_rows(rows) if table is None else measured_times(table, start, places)
    return asked


def measured_times(moments_: Table, t0: Instant, places: Collection[int] = ()) -> Table:
    """The times of a source, and the ranges of some of its doubles."""
    seen, early = col("t") >= t0, col("t") < t0
    ranges: list[Column] = []
    for k in places:
        ranges += range_columns(col(f"c{k}"), f"range{k}_")
    return moments_.agg(
        F.min(F.when(seen, F.struct("t", "i"))).alias("first"),
        F.max(F.when(seen, col("t"))).alias("last"),
        F.count(F.when(seen, 1)).alias("rows"),
        F.count(F.when(early, 1)).alias("before"),
        F.count(F.when(col("unmatched"), 1)).alias("unmatched"),
        *ranges,
    )


def measured_rows(rows: Table) -> Table:
    """How many rows a relation has that does not change."""
    nothing = F.struct(long(0).alias("t"), long(0).alias("i"))
    return rows.agg(
        F.min(F.when(lit(False), nothing)).alias("first"),
        F.max(long(None)).alias("last"),
        F.count(lit(1)).alias("rows"),
        F.count(lit(None)).alias("before"),
        F.count(lit(None)).alias("unmatched"),
    )


def learn(facts: Facts, key: tuple[str, Instant], row: Row) -> None:
    """Takes what a source was asked for into the facts."""
    first, last = row["first"], row["last"]
    facts.times[key] = Times(
        None if first is None else BatchId(Instant(first[0]), first[1]),
        None if last is None else Instant(last),
        row["rows"],
        row["before"],
        row["unmatched"],
    )
    for name in row:
        if name.startswith("range") and name.endswith("_rows"):
            place = int(name.removeprefix("range").removesuffix("_rows"))
            facts.ranges[key[0], place] = range_of(row, f"range{place}_")


def timed_sources(query: Operator, *, sensed: bool) -> list[Source]:
    """The sources whose timestamps say what a run observes; a sensor has some when it has been asked."""
    kinds = StreamSource | RelationSource | SensedSource if sensed else StreamSource | RelationSource
    return [op for op in query.walk() if isinstance(op, kinds)]
