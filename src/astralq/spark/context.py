"""A run on Spark: its start t0, what it observes, and how it is cut into buckets; learnt from the data when needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame

from astralq.algebra.base import Operator
from astralq.algebra.observation import check_ends, first_observed
from astralq.algebra.relational import Distinct, GroupBy, Join, Product, Project, Rename, Select
from astralq.algebra.set_aside import SetAside, before_start, sources_with_start, unmatched
from astralq.algebra.sources import RelationSource, SensedSource, StreamSource
from astralq.algebra.streamers import DStream, IStream, RStream
from astralq.algebra.ticks import Tick
from astralq.algebra.windows import Window
from astralq.laws.lower import lower
from astralq.spark.aggregate.exact import Range
from astralq.spark.encoding.batches import NEVER
from astralq.spark.encoding.frames import StreamFrame
from astralq.spark.encoding.scan import Cut
from astralq.spark.sources.received import Source, Sources, Times
from astralq.spark.state.store import Memory
from astralq.timeline import EPOCH, LAST_INDEX, BatchId, Instant

_ENDLESS = 2**40
"""How many rows a continuous run is prepared for."""

_ROOM = 8
"""For how many epochs like the present one the greatest number of rows of a sum need not be counted again."""


@dataclass(frozen=True)
class Run:
    """A query (Q, t0) over its sources, observed in the closed interval [start, end]; the same rules as the model's.

    The first and last timestamps are asked of the data only where an operator needs them.

    A run can be one epoch of a continuous one: it has a memory then, its sources have the tuples of the half-open
    interval (since, until] only, and it observes that interval; `since` is None in the first epoch. What holds after
    the last batch of `since` is seen from (since, 0) on by all operators, and reported by none. The last epoch is
    closing: nothing will come any more, so that a run without any data begins and ends there.
    """

    query: Operator  # in core operators
    sources: Sources
    t0_or_none: Instant | None = None
    until: Instant | None = None
    materialised: list[DataFrame] = field(default_factory=list, compare=False, repr=False)
    numbered: dict[StreamFrame, StreamFrame] = field(default_factory=dict, compare=False, repr=False)
    since: Instant | None = None
    memory: Memory | None = field(default=None, compare=False, repr=False)
    scope: str = ""
    closing: bool = False
    new_rows: int | None = None  # how many rows an epoch's sources have together, if that is known

    def __post_init__(self) -> None:
        object.__setattr__(self, "query", lower(self.query))

    def shared(self, df: DataFrame) -> DataFrame:
        """A table that is read more than once, computed once: its rows are kept on the executors, twice, so that one
        of them can be lost. Plans that use it begin there, and do not grow with everything below it.

        Where the session has a checkpoint directory the rows are kept in it instead.
        """
        self.materialised.append(df)
        if df.sparkSession.sparkContext.getCheckpointDir() is not None:
            kept = df.checkpoint(eager=False)
        else:
            kept = df.localCheckpoint(eager=False, storageLevel=StorageLevel.MEMORY_AND_DISK_2)
        # Spark does not know any more how its rows are partitioned; of few rows one partition spares shuffles.
        return kept.coalesce(1) if self.has_few_rows else kept

    @property
    def t0(self) -> Instant:
        return EPOCH if self.t0_or_none is None else self.t0_or_none

    @cached_property
    def _times(self) -> list[Times]:
        if self.memory is None:
            check_ends(self.query, self.t0_or_none, self.until)
        return self.sources.times(self._timed, self.t0)

    @property
    def has_few_rows(self) -> bool:
        return self.memory is None and self.rows <= self.sources.few_rows

    def settle(self) -> None:
        """Asks for the timestamps before anything is compiled: how a batch run reads its sources depends on them."""
        if self.memory is None:
            names = [s.name for s in self._timed]
            self.sources.settle(dict(zip(names, self._times, strict=True)))

    def set_aside(self) -> list[SetAside]:
        """What of the sources' rows a batch run cannot use; known from the job that asks for timestamps."""
        _ = self._times
        found = {}
        for source, t0 in sources_with_start(self.query, self.t0_or_none):
            if isinstance(source, SensedSource):
                continue
            (times,) = self.sources.times([source], t0)
            if times.before and isinstance(source, StreamSource):
                found[source.name, t0] = before_start(source.name, times.before, t0)
            if times.unmatched:
                found[source.name, EPOCH] = unmatched(source.name, times.unmatched)
        return list(found.values())

    @property
    def _timed(self) -> list[Source]:
        """The sources whose timestamps are asked for; a sensor has some when it has been asked."""
        kinds = StreamSource | RelationSource if self.memory is None else StreamSource | RelationSource | SensedSource
        return [op for op in self.query.walk() if isinstance(op, kinds)]

    @property
    def first_possible(self) -> Instant:
        """An instant before which no tuple of any stream is: t0, or the beginning of its tick, of that one's tick, …"""
        first = self.t0
        for tick in reversed([op for op in self.query.walk() if isinstance(op, Tick)]):
            first = Instant(first - first % tick.period)
        return first

    @cached_property
    def seen_from(self) -> BatchId:
        """Where observation begins, as far as anybody can tell: t0 will do where nothing is before the first tuple."""
        if self.continues:
            assert self.since is not None
            return BatchId(self.since, LAST_INDEX)
        return BatchId(self.t0, 0) if self._begins_with_tuples and self.memory is None else self.start

    @property
    def continues(self) -> bool:
        """Whether observation began in an epoch before: what holds already has been reported then."""
        return self.memory is not None and f"start{self.scope}" in self.memory.facts

    @property
    def emits_flat(self) -> bool:
        """Whether what is reported at the start has i = 0 there; the same in all epochs, so that tables fit."""
        return (self.seen_from if self.memory is None else self.start).i == 0

    @property
    def _begins_with_tuples(self) -> bool:
        """Whether all that a query shows comes from tuples of streams, so that it is empty before the first one."""
        plain = (StreamSource, Select, Project, Rename, Distinct, Window, IStream, DStream, RStream, Join, Product)
        for op in self.query.walk():
            grouped = isinstance(op, GroupBy) and (bool(op.keys) or not op.empty_row)
            if not grouped and not isinstance(op, plain):
                return False
        return True

    @cached_property
    def start(self) -> BatchId:
        """The first observed batch identifier; of an epoch before it, something after its end."""
        if self.memory is not None:
            return self._start_of_all(self.memory)
        batches = [t.first for t in self._times if t.first is not None] if self.t0_or_none is None else []
        return first_observed(self.query, batches, self.t0_or_none)

    def _start_of_all(self, memory: Memory) -> BatchId:
        name = f"start{self.scope}"
        found = BatchId(Instant(NEVER), 0)
        if name in memory.facts:
            found = BatchId(*memory.facts[name])
        elif self.t0_or_none is not None:
            found = first_observed(self.query, [], self.t0_or_none)
        elif batches := self.sources.first_batches(self._timed, self.t0):
            found = first_observed(self.query, batches, None)
        elif self.closing:
            found = first_observed(self.query, [], None)
        if found.t > self.end:
            return BatchId(Instant(NEVER), 0)
        memory.learn(name, [found.t, found.i])
        return found

    @property
    def has_started(self) -> bool:
        return self.start.t < NEVER

    @cached_property
    def end(self) -> Instant:
        """The last observed instant, with all its batches."""
        if self.until is not None:
            return self.until
        return max((t.last for t in self._times if t.last is not None), default=self.start.t)

    @property
    def last(self) -> BatchId:
        return BatchId(self.end, LAST_INDEX)

    def ticks(self, every: int, first: int) -> tuple[int, int]:
        """The first and the last k ≥ 0 with t0 + k·every in the closed interval [first, end]."""
        return max(0, -((self.t0 - first) // every)), (self.end - self.t0) // every

    def observed(self, t: Column) -> Column:
        """Whether an instant is one that this run, or this epoch, observes."""
        after = t >= self.start.t if self.since is None else (t >= self.start.t) & (t > self.since)
        return after & (t <= self.end)

    @property
    def first_instant(self) -> Instant:
        """An instant at or before all that this run, or this epoch, looks at."""
        if self.since is not None:
            return self.since
        return self.start.t if self.has_started else self.end

    @property
    def start_instant(self) -> Instant:
        """What START means: t0 if it was given, else the first observed instant."""
        return self.start.t if self.t0_or_none is None else self.t0_or_none

    @cached_property
    def rows(self) -> int:
        """How many rows all sources have together."""
        return sum(t.rows for t in self._times) if self.memory is None else _ENDLESS

    def range(self, source: StreamSource, place: int) -> Range:
        """What is known of the values of an attribute: those of all epochs up to now."""
        return self.known_range(f"{source.name} {place}", lambda: self.sources.range(source, place))

    def most(self, name: str, kept: Callable[[], int], coming: int) -> int:
        """At most how many rows one sum has: counted again when it could have become twice as many as it was, but not
        in every epoch."""
        assert self.memory is not None
        name = f"most{self.scope} {name}"
        before, room = self.memory.facts.get(name, (0, 0))
        if coming > room:
            before = kept()
            room = max(before, _ROOM * coming)
        self.memory.learn(name, [before + coming, room - coming])
        return int(before + coming)

    def known_range(self, name: str, new: Callable[[], Range]) -> Range:
        """What is known of values of all epochs up to now."""
        assert self.memory is not None
        name = f"values{self.scope} {name}"
        before = self.memory.facts.get(name)
        found = new() if before is None else Range(*before).with_(new())
        self.memory.learn(name, [found.rows, found.greatest, found.low, found.special])
        return found

    @cached_property
    def time_cut(self) -> Cut:
        return Cut.of(self.first_instant, max(self.end, self.first_instant))

    @cached_property
    def position_cut(self) -> Cut:
        return Cut.of(0, max(1, self.rows))
