"""One epoch of a continuous query on Spark: its facts, its plan, its answer, and the state that it leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from astralq.algebra.base import Operator
from astralq.algebra.sources import StartedAt, StreamSource
from astralq.laws.lower import lower
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.answer import Plan, plan_epoch
from astralq.plan.facts import Asked, Facts, Times, learn, measured_times, started_sources
from astralq.plan.run import EpochRun
from astralq.plan.sources.rows import moments, scanned
from astralq.plan.state.store import Metadata, StateTables
from astralq.plan.table import Keep, Table
from astralq.spark.batch import complete
from astralq.spark.execute import Execution, StateStore
from astralq.spark.sources.given import Given
from astralq.timeline import BatchId, Instant


class EpochStore(StateStore, Protocol):
    """The state tables of a query in one epoch."""

    @property
    def columns(self) -> Mapping[str, tuple[str, ...]]:
        """The columns of each table as the epoch before left it."""

    def greatest(self, name: str, column: str) -> int | None:
        """The greatest value of a column in what this epoch has written, if that is known without reading it."""

    def compact(self, name: str, needed: DataFrame) -> None:
        """Writes a table anew with the rows that are needed."""

    def is_worth_compacting(self, name: str) -> bool: ...


@dataclass
class Epoch:
    """A query over the new rows of its sources, those of the half-open interval (since, until]."""

    query: Operator
    frames: Mapping[str, DataFrame]
    session: SparkSession
    store: EpochStore
    metadata: Metadata
    t0: Instant | None
    since: Instant | None
    until: Instant
    closing: bool = False
    new_rows: int | None = None
    one_partition: bool = False
    firsts: Mapping[str, Instant] = field(default_factory=dict)  # first timestamps of sources, where they are known
    facts: Facts = field(default_factory=Facts)

    def __post_init__(self) -> None:
        self.given = Given(self.frames)
        self.execution = Execution(self.given, self.session, self.one_partition, self.store)

    def plan(self, first: int, *, small: bool) -> Plan:
        """The plan of what is added to an answer that has `first` rows; what it has to know is measured first."""
        self.facts.stamps = self.given.prepare(lower(self.query))
        self._ask_where_it_starts()
        return complete(lambda: plan_epoch(self._run(), first, small=small), self.facts, self.execution)

    def _run(self) -> EpochRun:
        state = StateTables(self.metadata, self.store.columns)
        return EpochRun(
            self.query,
            self.facts,
            self.t0,
            self.until,
            tables=state,
            after=self.since,
            closing=self.closing,
            coming=self.new_rows,
            few=self.one_partition,
        )

    def _ask_where_it_starts(self) -> None:
        """The first batch of each source, until the query and the views in it have started."""
        query = lower(self.query)
        views = sum(isinstance(op, StartedAt) for op in query.walk())
        if sum(name.startswith("start") for name in self.metadata) > views:
            return
        asked: dict[tuple[str, Instant], Asked] = {}
        for source, start in started_sources(query, self.t0, sensed=True):
            key = (source.name, start)
            first = self.firsts.get(source.name)
            batched = isinstance(source, StreamSource) and source.batch_by is not None
            if first is not None and first >= start and not batched:
                self.facts.times[key] = Times(BatchId(first, 0))
            elif (table := moments(source, scanned(source, self.facts.stamp(source)))) is not None:
                asked[key] = Asked(source.name, (start,), measured_times(table, (start,)))
        asking = Execution(self.given, self.session)
        measured = asking.measure([a.table for a in asked.values()])
        for one, rows in zip(asked.values(), measured, strict=True):
            learn(self.facts, one, rows[0])

    def answer(self, plan: Plan) -> DataFrame | None:
        """What is added to the answer; the state that it needs is written."""
        return None if plan.answer is None else self.execution.frame(plan.answer)

    def unmatched(self, plan: Plan) -> dict[str, DataFrame]:
        """Of each change log, the deletions of this epoch that found no row."""
        assert plan.state is not None
        return {source: self.execution.frame(rows) for source, rows in plan.state.unmatched.items()}

    def finish(self, plan: Plan) -> Metadata:
        """Writes the state that is not written yet, compacts tables where that is worth it; the metadata after it."""
        state = plan.state
        assert state is not None
        for keep in state.kept.values():
            self.execution.frame(keep)
        counts = self._counts(state.counted)
        for name, needed in state.compacted.items():
            if self.store.is_worth_compacting(name):
                self.store.compact(name, self.execution.frame(needed))
        return dict(self.metadata) | state.changed | counts

    def _counts(self, counted: Mapping[str, Table]) -> dict[str, int]:
        """How many tuples each numbered stream has had up to now: from what was written, or one job for the rest."""
        greatest: dict[str, int | None] = {}
        asked: dict[str, Table] = {}
        for name, table in counted.items():
            known = self.store.greatest(table.state, "n") if isinstance(table, Keep) else None
            if known is not None:
                greatest[name] = known
            else:
                asked[name] = table.agg(F.max("n").alias("greatest"))
        for name, rows in zip(asked, self.execution.measure(list(asked.values())), strict=True):
            greatest[name] = rows[0]["greatest"]
        before = {name: self.metadata.get(name, 0) for name in counted}
        return {name: before[name] if n is None else max(before[name], n + 1) for name, n in greatest.items()}
