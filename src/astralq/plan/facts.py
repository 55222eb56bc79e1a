"""Facts: what a plan is chosen by besides the operators: rows, first and last instants, ranges of doubles.

They come from manifests and files where these have them, else from one Spark job for all sources of a query. What only
the data of a plan's own tables can tell (how sums over joins are cut) is measured on the way, one job a level.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from astralq.algebra.base import Operator
from astralq.algebra.properties import properties
from astralq.algebra.relational import GroupBy
from astralq.algebra.sources import RelationSource, SensedSource, Source, StartedAt, StreamSource
from astralq.expr.nodes import VARIANCES
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.aggregate.limbs import Range, range_columns, range_of
from astralq.plan.columns import Column, col, lit, long
from astralq.plan.sources.provenance import source_column
from astralq.plan.sources.rows import moments, scanned
from astralq.plan.table import Table
from astralq.timeline import EPOCH, BatchId, Instant

FEW_ROWS = 20_000
"""Up to how many rows of all sources together a run is planned for one partition: on two cores that is faster up to
about 50,000, and from 200,000 on joins are slower."""

FEW_PAIRS = 2_000
"""Up to how many rows each is compared with every other one, where a join has no keys."""

SUMMED = ("sum", "avg", *VARIANCES)
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
    earlier: dict[tuple[str, Instant], Times] = field(default_factory=dict)  # the same in an earlier run
    ranges: dict[tuple[str, int], Range] = field(default_factory=dict)  # by source and place of the attribute
    measured: dict[str, list[Row]] = field(default_factory=dict)  # by digest of the table that was measured
    learnt: dict[str, list[Row]] = field(
        default_factory=dict
    )  # the same in an earlier run, where plans fail if changed
    few_rows: int = FEW_ROWS

    @property
    def rows(self) -> dict[str, int]:
        """How many rows sources have, or had in an earlier run, of those of which it is known."""
        return {name: t.rows + t.before for (name, _), t in {**self.earlier, **self.times}.items()}

    def forget(self, source: str) -> None:
        """What was learnt of a source does not hold any more: another one has its name."""
        self.ranges = {key: r for key, r in self.ranges.items() if key[0] != source}
        self.earlier = {key: t for key, t in self.earlier.items() if key[0] != source}
        self.learnt = {}

    def is_learnt(self, source: Source, start: Instant) -> bool:
        """Whether an earlier run has found no row of a stream before the start, so that nothing need be asked of it."""
        return (source.name, start) not in self.times and self.is_guarded(source, start)

    def is_guarded(self, source: Source, start: Instant) -> bool:
        """Whether no row of a stream was before the start, in this run or an earlier one: a plan fails should that have
        changed, so that no row is ever left out without a word."""
        known = self.times.get((source.name, start)) or self.earlier.get((source.name, start))
        return isinstance(source, StreamSource) and known is not None and not known.before

    def stamp(self, source: Source) -> Collection[str]:
        """The columns of a stamp that a source's rows bring; as long as nobody knows, those that it needs."""
        if source.name in self.stamps or isinstance(source, RelationSource):
            return self.stamps.get(source.name, frozenset())
        needs = isinstance(source, SensedSource) or source.timestamp is None
        marked = {"_heartbeat"} if isinstance(source, StreamSource) and source.has_heartbeats else set()
        return frozenset({"_t", "_i", "_n"} | marked) if needs else frozenset(marked)


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


@dataclass(frozen=True)
class Asked:
    """What a source is asked for in one row: its times from each of some starts on, and ranges of its doubles."""

    source: str
    starts: tuple[Instant, ...]
    table: Table


def measures(queries: Sequence[tuple[Operator, Instant | None]], facts: Facts) -> list[Asked]:
    """What has to be asked of each source that is not known yet, all of them in one job; queries with their starts."""
    summed = {(source.name, place) for query, _ in queries for source, place in summed_columns(query)}
    starts: dict[Source, dict[Instant, None]] = {}
    for source, start in (found for query, t0 in queries for found in started_sources(query, t0)):
        known = starts.setdefault(source, {})
        if (source.name, start) not in facts.times:
            known[start] = None
    asked = []
    for source, unknown in starts.items():
        places = sorted(k for name, k in summed if name == source.name and (name, k) not in facts.ranges)
        if unknown or places:
            rows = scanned(source, facts.stamp(source))
            table = moments(source, rows)
            wanted = tuple(unknown)
            if table is None:
                one = measured_rows(rows, wanted)
            else:
                one = measured_times(table, wanted, places, one_batch=properties(source).one_batch_per_instant)
            asked.append(Asked(source.name, wanted, one))
    return asked


def measured_times(
    moments_: Table, starts: Sequence[Instant], places: Collection[int] = (), *, one_batch: bool = False
) -> Table:
    """The times of a source from each start on, and the ranges of some of its doubles."""
    made: list[Column] = []
    for n, t0 in enumerate(starts):
        seen, early = col("t") >= t0, col("t") < t0
        # Spark compiles minima of numbers, not of structs; before 4.1 it does not tell structs that it observes.
        if one_batch:
            made.append(F.min(F.when(seen, col("t"))).alias(f"first{n}"))
        else:
            first = F.min(F.when(seen, F.struct("t", "i")))
            made += [first["t"].alias(f"first{n}"), first["i"].alias(f"index{n}")]
        a_tuple = ~col("heartbeat") if "heartbeat" in moments_.columns else lit(True)
        made += [
            F.max(F.when(seen, col("t"))).alias(f"last{n}"),
            F.count(F.when(seen & a_tuple, 1)).alias(f"rows{n}"),
            F.count(F.when(early & a_tuple, 1)).alias(f"before{n}"),
        ]
    made.append(F.count(F.when(col("unmatched"), 1)).alias("unmatched"))
    for k in places:
        made += range_columns(col(f"c{k}"), f"range{k}_")
    return moments_.agg(*made)


def measured_rows(rows: Table, starts: Sequence[Instant]) -> Table:
    """How many rows a relation has that does not change."""
    made: list[Column] = []
    for n, _ in enumerate(starts):
        made += [
            F.min(long(None)).alias(f"first{n}"),
            F.max(long(None)).alias(f"last{n}"),
            F.count(lit(1)).alias(f"rows{n}"),
            F.count(lit(None)).alias(f"before{n}"),
        ]
    return rows.agg(*made, F.count(lit(None)).alias("unmatched"))


def learn(facts: Facts, asked: Asked, row: Row) -> None:
    """Takes what a source was asked for into the facts."""
    for n, start in enumerate(asked.starts):
        first, last = row[f"first{n}"], row[f"last{n}"]
        facts.times[asked.source, start] = Times(
            None if first is None else BatchId(Instant(first), row.get(f"index{n}") or 0),
            None if last is None else Instant(last),
            row[f"rows{n}"],
            row[f"before{n}"],
            row["unmatched"],
        )
    for name in row:
        if name.startswith("range") and name.endswith("_rows"):
            place = int(name.removeprefix("range").removesuffix("_rows"))
            facts.ranges[asked.source, place] = range_of(row, f"range{place}_")


def timed_sources(query: Operator, *, sensed: bool) -> list[Source]:
    """The sources whose timestamps say what a run observes; a sensor has some when it has been asked."""
    kinds = StreamSource | RelationSource | SensedSource if sensed else StreamSource | RelationSource
    return [op for op in query.walk() if isinstance(op, kinds)]
