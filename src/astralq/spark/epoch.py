"""One epoch of a continuous query on Spark: its facts, its plan, its answer, and the state that it leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from astralq.algebra.base import Operator
from astralq.algebra.sources import StartedAt, StreamSource
from astralq.laws.lower import lower
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.answer import Plan, plan_epoch
from astralq.plan.epoch_run import EpochRun
from astralq.plan.facts import Asked, Facts, Times, learn, measured_times, started_sources
from astralq.plan.several import Root, several
from astralq.plan.sources.rows import moments, scanned
from astralq.plan.state.store import Metadata, StateTables, scope_of
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

    def expire(self, name: str, until: int) -> None:
        """Forgets rows whose tt is at an instant or before it, as far as that is cheap."""


@dataclass
class EpochQuery:
    """A query in an epoch: where it started, how far it has come, and how many rows its answer has."""

    query: Operator
    t0: Instant | None = None
    since: Instant | None = None
    rows: int = 0
    namespace: str = ""  # of its state: the same for queries that keep state together
    small: bool = True  # whether what the epoch adds to its answer is sorted by one task
    tables: frozenset[str] = frozenset()  # what its state is named by, once it is planned


@dataclass
class Epoch:
    """Queries over the new rows of their sources, those of the half-open interval (since, until]; they share state."""

    queries: Sequence[EpochQuery]
    frames: Mapping[str, DataFrame]
    session: SparkSession
    store: EpochStore
    metadata: Metadata
    until: Instant
    closing: bool = False
    new_rows: int | None = None
    one_partition: bool = False
    firsts: Mapping[str, Instant] = field(default_factory=dict)  # first timestamps of sources, where they are known
    first_heartbeats: Mapping[str, BatchId] = field(default_factory=dict)  # of sources, where they have any
    facts: Facts = field(default_factory=Facts)

    def __post_init__(self) -> None:
        self.given = Given(self.frames)
        self.execution = Execution(self.given, self.session, self.one_partition, self.store)
        self.state = StateTables(self.metadata, self.store.columns)

    def plan(self) -> list[Plan]:
        """The plans of what is added to each answer; what they have to know is measured first, for all at once."""
        stamps: dict[str, frozenset[str]] = {}
        for q in self.queries:
            stamps |= self.given.prepare(lower(q.query))
        self.facts.stamps = stamps
        self._ask_where_they_start()
        return complete(self._plans, self.facts, self.execution)

    def _plans(self) -> list[Plan]:
        self.state = StateTables(self.metadata, self.store.columns)
        return [self._planned(q) for q in self.queries]

    def _planned(self, q: EpochQuery) -> Plan:
        self.state.used = set()
        plan = plan_epoch(self._run(q), q.rows, small=q.small)
        q.tables = frozenset(self.state.used)
        return plan

    def _run(self, q: EpochQuery) -> EpochRun:
        return EpochRun(
            q.query,
            self.facts,
            q.t0,
            self.until,
            tables=self.state,
            after=q.since,
            closing=self.closing,
            coming=self.new_rows,
            few=self.one_partition,
            namespace=q.namespace,
        )

    def _ask_where_they_start(self) -> None:
        """The first batch of each source, until the queries and the views in them have started."""
        asked: dict[tuple[str, Instant], Asked] = {}
        for q in self.queries:
            query = lower(q.query)
            starts = [(query, q.t0), *((op.child, op.t0) for op in query.walk() if isinstance(op, StartedAt))]
            if all(f"start {scope_of(one, t0, q.namespace)}" in self.metadata for one, t0 in starts):
                continue
            for source, start in started_sources(query, q.t0, sensed=True):
                key = (source.name, start)
                first = self.firsts.get(source.name)
                batched = isinstance(source, StreamSource) and (source.batch_by is not None or source.progress)
                if first is not None and first >= start and not batched:
                    self.facts.times[key] = Times(BatchId(first, 0))
                elif (table := moments(source, scanned(source, self.facts.stamp(source)))) is not None:
                    asked[key] = Asked(source.name, (start,), measured_times(table, (start,)))
        measured = Execution(self.given, self.session).measure([a.table for a in asked.values()])
        for one, rows in zip(asked.values(), measured, strict=True):
            learn(self.facts, one, rows[0])
        for (name, start), times in list(self.facts.times.items()):
            heartbeat = self.first_heartbeats.get(name)
            if heartbeat is not None and start <= heartbeat.t <= self.until:
                began = heartbeat if times.first is None else min(times.first, heartbeat)
                self.facts.times[name, start] = replace(times, first=began)

    def answer(self, plan: Plan) -> DataFrame | None:
        """What is added to an answer; the state that it needs is written."""
        return None if plan.answer is None else self.execution.frame(plan.answer)

    def roots(self, plans: Sequence[Plan], rows: int) -> list[Root | None]:
        """The answers as roots of one plan; None where it is known that there is none."""
        places = [k for k, p in enumerate(plans) if p.answer is not None]
        answers = [p.answer for p in plans if p.answer is not None]
        found = dict(zip(places, several(answers, [rows] * len(answers)), strict=True))
        return [found.get(k) for k in range(len(plans))]

    def write_state(self, name: str) -> None:
        """Writes a state table, unless an answer has had it written."""
        if name in self.state.kept:
            self.execution.write(self.state.kept[name])

    def unmatched(self) -> dict[str, DataFrame]:
        """Of each change log, the deletions of this epoch that found no row."""
        return {source: self.execution.frame(rows) for source, rows in self.state.unmatched.items()}

    def finish(self) -> Metadata:
        """Writes the state that is not written yet, compacts tables where that is worth it; what of the metadata has
        changed."""
        state = self.state
        for name in state.kept:
            self.write_state(name)
        counts = self._counts(state.counted)
        for name, until in state.expired.items():
            self.store.expire(name, until)
        for name, needed in state.compacted.items():
            if self.store.is_worth_compacting(name):
                self.store.compact(name, self.execution.frame(needed))
        return state.changed | counts

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
