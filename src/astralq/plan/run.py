"""A run as its plan sees it: the start t0, what it observes, how it is cut into buckets, and what it keeps.

A batch run observes all of its sources; an epoch of a continuous run (`epoch_run.py`) goes on where the one before it
ended. Both are values: they come from facts, and nothing is asked of the data while a plan is made.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from astralq.algebra.base import Operator
from astralq.algebra.bounds import WindowBounds
from astralq.algebra.domain import Domain, LastBatchOf
from astralq.algebra.observation import check_ends, first_observed
from astralq.algebra.ordering import Limit, OrderBy
from astralq.algebra.relational import (
    Distinct,
    GroupBy,
    Join,
    Product,
    Project,
    Rename,
    Select,
    SetOperation,
    ValueSetOperation,
)
from astralq.algebra.set_aside import SetAside, before_start, sources_with_start, unmatched
from astralq.algebra.sources import SensedSource, Source, StreamSource
from astralq.algebra.stream_ops import BandJoin
from astralq.algebra.streamers import DStream, IStream, RStream
from astralq.algebra.ticks import Tick
from astralq.algebra.windows import Window
from astralq.laws.lower import lower
from astralq.plan.columns import Column
from astralq.plan.encoding.batches import NEVER
from astralq.plan.encoding.scan import Cut
from astralq.plan.encoding.tables import StreamTable
from astralq.plan.facts import FEW_PAIRS, Facts, Row, Times, timed_sources
from astralq.plan.sources.rows import scanned
from astralq.plan.state.store import StateTables
from astralq.plan.table import Materialize, Table, expanded_size, is_at_hand
from astralq.timeline import EPOCH, LAST_INDEX, BatchId, Instant

MANY_ROWS = 2**40
"""How many rows a run is prepared for of which nothing is known, and a continuous one."""

_SMALL_TABLE = 8
"""Up to how many plan nodes are computed twice in one partition, not materialized: Spark plans them twice, too."""


@dataclass
class Choices:
    """What was chosen while a plan was made: tables that are shared, and what has to be measured first."""

    numbered: dict[StreamTable, StreamTable] = field(default_factory=dict)
    missing: dict[str, Table] = field(default_factory=dict)  # by digest
    asks_times: bool = False  # whether the plan depends on times of sources that were not asked for
    reasons: list[tuple[str, str, str]] = field(default_factory=list)  # operator, strategy, reason

    def note(self, operator: str, strategy: str, reason: str) -> None:
        if (operator, strategy, reason) not in self.reasons:
            self.reasons.append((operator, strategy, reason))


@dataclass(frozen=True)
class Run:
    """A query (Q, t0) over its sources, observed in the closed interval [start, end]; the same rules as the model's.

    `BatchRun` observes all of its sources, `EpochRun` what has come since the epoch before.
    """

    query: Operator  # in core operators
    facts: Facts
    t0_or_none: Instant | None = None
    until: Instant | None = None
    scope: str = ""  # of a query inside another, what its state is named by
    outside: Instant | None = None  # of a query inside another, from where on that one looks at it
    choices: Choices = field(default_factory=Choices)

    def __post_init__(self) -> None:
        object.__setattr__(self, "query", lower(self.query))

    # How it is computed

    @property
    def one_partition(self) -> bool:
        """Whether few rows are read: then all of it takes one task, and nothing is shuffled."""
        raise NotImplementedError

    @property
    def rows(self) -> int:
        """At most how many rows all sources have together; without facts, many."""
        raise NotImplementedError

    @property
    def expected_rows(self) -> int:
        """About how many, to choose by: of an earlier run, where nothing was asked in this one."""
        return self.rows

    @property
    def compares_all_pairs(self) -> bool:
        """Whether so few rows are read that each can be compared with every other one."""
        return self.one_partition and self.expected_rows <= FEW_PAIRS

    @property
    def numbered(self) -> dict[StreamTable, StreamTable]:
        return self.choices.numbered

    def materialized(self, table: Table) -> Table:
        """A table that is read more than once, computed once. Of few rows a small plan is computed twice instead."""
        if is_at_hand(table) or (self.one_partition and expanded_size(table) <= _SMALL_TABLE):
            return table
        return Materialize(table)

    def measure(self, table: Table, *, guarded: bool = False) -> list[Row] | None:
        """The rows of a small table, such as the range of a column; None if it has to be measured first. `guarded`:
        the plan fails where they are others by now, so that what an earlier run has measured will do."""
        rows = self.facts.measured.get(table.digest)
        if guarded and rows is not None:
            self.facts.learnt[table.digest] = rows
        if guarded and self.is_learnt(table):
            rows = self.facts.learnt[table.digest]
        if rows is None:
            self.choices.missing[table.digest] = table
        return rows

    def is_learnt(self, table: Table) -> bool:
        """Whether an earlier run has measured a table, and this one asks its sources for nothing."""
        return table.digest in self.facts.learnt and table.digest not in self.facts.measured and not self.facts.times

    def scan(self, source: Source) -> Table:
        return scanned(source, self.facts.stamp(source))

    # What it keeps

    @property
    def state(self) -> StateTables | None:
        """The state tables of an epoch; a batch run has none."""
        return None

    @property
    def since(self) -> Instant | None:
        """Where the epoch before ended; None in the first one, and in a batch run."""
        return None

    @property
    def new_rows(self) -> int | None:
        """How many rows an epoch's sources have together, if that is known."""
        return None

    def inside(self, query: Operator, t0: Instant | None) -> Run:
        """The run of a query inside this one: it keeps its own start, and ends with the outer one."""
        raise NotImplementedError

    # What it observes

    @property
    def t0(self) -> Instant:
        return EPOCH if self.t0_or_none is None else self.t0_or_none

    @cached_property
    def start(self) -> BatchId:
        """The first observed batch identifier; of an epoch before it, something after its end."""
        raise NotImplementedError

    @cached_property
    def seen_from(self) -> BatchId:
        """Where observation begins, as far as anybody can tell."""
        raise NotImplementedError

    @property
    def continues(self) -> bool:
        """Whether observation began in an epoch before: what holds already has been reported then."""
        return False

    @property
    def emits_one_batch(self) -> bool:
        """Whether what is reported at the start has i = 0 there."""
        return self.seen_from.i == 0

    @property
    def has_started(self) -> bool:
        return self.start.t < NEVER

    @cached_property
    def end(self) -> Instant:
        """The last observed instant, with all its batches."""
        raise NotImplementedError

    @property
    def last(self) -> BatchId:
        return BatchId(self.end, LAST_INDEX)

    @property
    def start_instant(self) -> Instant:
        """What START means: t0 if it was given, else the first observed instant."""
        return self.start.t if self.t0_or_none is None else self.t0_or_none

    @property
    def first_instant(self) -> Instant:
        """An instant at or before all that this run, or this epoch, looks at."""
        if self.since is not None:
            return self.since
        return self.start.t if self.has_started else self.end

    @property
    def looked_from(self) -> Instant:
        """From where on somebody looks at states: this run, or that of a query outside."""
        return min(self.start.t, self.end, self.end if self.outside is None else self.outside)

    @property
    def first_possible(self) -> Instant:
        """An instant before which no tuple of any stream is: t0, or the beginning of its tick, of that one's tick, …"""
        first = self.t0
        for tick in reversed([op for op in self.query.walk() if isinstance(op, Tick)]):
            first = Instant(first - first % tick.period)
        return first

    def ticks(self, every: int, first: int) -> tuple[int, int]:
        """The first and the last k ≥ 0 with t0 + k·every in the closed interval [first, end]."""
        return max(0, -((self.t0 - first) // every)), (self.end - self.t0) // every

    def observed(self, t: Column) -> Column:
        """Whether an instant is one that this run, or this epoch, observes."""
        after = t >= self.start.t if self.since is None else (t >= self.start.t) & (t > self.since)
        return after & (t <= self.end)

    def _times(self, *, sensed: bool = False) -> list[Times]:
        """What is known of the sources' timestamps from t0 on; of a plan without facts, nothing."""
        sources = timed_sources(self.query, sensed=sensed)
        found = [t for s in sources if (t := self.facts.times.get((s.name, self.t0))) is not None]
        self.choices.asks_times |= len(found) < len(sources)
        return found

    # How it is cut into buckets

    @cached_property
    def expected_interval(self) -> tuple[Instant, Instant]:
        """About from where to where it looks at tuples, closed: what lies outside is put into the first or the last
        bucket."""
        return self.first_instant, max(self.end, self.first_instant)

    @cached_property
    def time_cut(self) -> Cut:
        return Cut.of(*self.expected_interval)

    @cached_property
    def position_cut(self) -> Cut:
        return Cut.of(0, max(1, self.expected_rows))


@dataclass(frozen=True)
class BatchRun(Run):
    """A run over all that its sources have."""

    def inside(self, query: Operator, t0: Instant | None) -> BatchRun:
        return replace(self, query=query, t0_or_none=t0, until=self.end, outside=self.looked_from)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ends(self.query, self.t0_or_none, self.until)

    @cached_property
    def rows(self) -> int:
        times = self._times()
        if len(times) < len(timed_sources(self.query, sensed=False)):
            return MANY_ROWS
        return sum(t.rows + t.before for t in times) + self._sensed_rows

    @property
    def expected_rows(self) -> int:
        sizes, sources = self.facts.rows, timed_sources(self.query, sensed=False)
        if any(s.name not in sizes for s in sources):
            return MANY_ROWS
        return sum(sizes[s.name] for s in sources) + self._sensed_rows

    @property
    def _sensed_rows(self) -> int:
        """How many measurements sensors give: one of each site at each tick from t0 to the end."""
        sensors = [op for op in self.query.walk() if isinstance(op, SensedSource)]
        return sum(((self.end - self.t0) // s.every + 1) * s.size for s in sensors)

    @cached_property
    def expected_interval(self) -> tuple[Instant, Instant]:
        sources = {s.name for s in timed_sources(self.query, sensed=False)}
        earlier = [t for (name, start), t in self.facts.earlier.items() if name in sources and start == self.t0]
        firsts = [t.first.t for t in earlier if t.first is not None]
        if self.knows_times or not firsts:
            return super().expected_interval
        first = min(firsts) if self.t0_or_none is None else self.t0
        last = max(t.last for t in earlier if t.last is not None) if self.until is None else self.until
        return first, max(first, last)

    @property
    def knows_times(self) -> bool:
        """Whether all sources have said in this run when they begin and end."""
        return all((s.name, self.t0) in self.facts.times for s in timed_sources(self.query, sensed=False))

    @property
    def one_partition(self) -> bool:
        return self.expected_rows <= self.facts.few_rows

    @cached_property
    def start(self) -> BatchId:
        batches = [t.first for t in self._times() if t.first is not None] if self.t0_or_none is None else []
        return first_observed(self.query, batches, self.t0_or_none)

    @cached_property
    def end(self) -> Instant:
        if self.until is not None:
            return self.until
        return max((t.last for t in self._times() if t.last is not None), default=self.start.t)

    @cached_property
    def seen_from(self) -> BatchId:
        # t0 will do where nothing is before the first tuple.
        return BatchId(self.t0, 0) if self._begins_with_tuples else self.start

    @property
    def _begins_with_tuples(self) -> bool:
        """Whether all that a query shows comes from tuples of streams, so that it is empty before the first one."""
        plain = (
            *(StreamSource, Select, Project, Rename, Distinct, OrderBy, Limit, WindowBounds),
            *(Window, IStream, DStream, RStream, Join, Product, SetOperation, ValueSetOperation, BandJoin),
        )
        for op in self.query.walk():
            grouped = isinstance(op, GroupBy) and (bool(op.keys) or not op.empty_row)
            looked_up = isinstance(op, Domain) and isinstance(op.transform_, LastBatchOf) and op.during is None
            if not grouped and not looked_up and not isinstance(op, plain):
                return False
        return True

    def set_aside(self, query: Operator | None = None) -> list[SetAside]:
        """What of the sources' rows a batch run cannot use, by the starts of its query or of another form."""
        left_out = {}
        for source, t0 in sources_with_start(query or self.query, self.t0_or_none):
            times = self.facts.times.get((source.name, t0), Times())
            if isinstance(source, SensedSource):
                continue
            if times.before and isinstance(source, StreamSource):
                left_out[source.name, t0] = before_start(source.name, times.before, t0)
            if times.unmatched:
                left_out[source.name, EPOCH] = unmatched(source.name, times.unmatched)
        return list(left_out.values())
