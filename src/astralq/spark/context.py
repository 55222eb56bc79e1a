"""A run on Spark: its start t0, what it observes, and how it is cut into buckets; learnt from the data when needed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from astralq.algebra.base import Operator
from astralq.algebra.observation import check_ends, first_observed
from astralq.algebra.relational import Distinct, GroupBy, Join, Product, Project, Rename, Select
from astralq.algebra.sources import RelationSource, StreamSource
from astralq.algebra.streamers import DStream, IStream, RStream
from astralq.algebra.ticks import Tick
from astralq.algebra.windows import Window
from astralq.spark.frames import StreamFrame
from astralq.spark.scan import Cut
from astralq.spark.sources import Sources, Times
from astralq.timeline import EPOCH, LAST_INDEX, BatchId, Instant


@dataclass(frozen=True)
class Run:
    """A query (Q, t0) over its sources, observed in the closed interval [start, end]; the same rules as the model's.

    The first and last timestamps are asked of the data only where an operator needs them.
    """

    query: Operator
    sources: Sources
    t0_or_none: Instant | None = None
    until: Instant | None = None
    materialised: list[DataFrame] = field(default_factory=list, compare=False, repr=False)
    numbered: dict[StreamFrame, StreamFrame] = field(default_factory=dict, compare=False, repr=False)

    def shared(self, df: DataFrame) -> DataFrame:
        """A table that is read more than once, computed once: its rows are kept on the executors, twice, so that one
        of them can be lost. Plans that use it begin there, and do not grow with everything below it.

        Where the session has a checkpoint directory the rows are kept in it instead.
        """
        self.materialised.append(df)
        if df.sparkSession.sparkContext.getCheckpointDir() is not None:
            return df.checkpoint(eager=False)
        return df.localCheckpoint(eager=False, storageLevel=StorageLevel.MEMORY_AND_DISK_2)

    @property
    def t0(self) -> Instant:
        return EPOCH if self.t0_or_none is None else self.t0_or_none

    @cached_property
    def _times(self) -> list[Times]:
        check_ends(self.query, self.t0_or_none, self.until)
        found = [op for op in self.query.walk() if isinstance(op, StreamSource | RelationSource)]
        return self.sources.times(found, self.t0)

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
        return BatchId(self.t0, 0) if self._begins_with_tuples else self.start

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
        """The first observed batch identifier."""
        batches = [t.first for t in self._times if t.first is not None] if self.t0_or_none is None else []
        return first_observed(self.query, batches, self.t0_or_none)

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

    @property
    def first_instant(self) -> Instant:
        return self.start.t

    @property
    def start_instant(self) -> Instant:
        """What START means: t0 if it was given, else the first observed instant."""
        return self.start.t if self.t0_or_none is None else self.t0_or_none

    @cached_property
    def rows(self) -> int:
        """How many rows all sources have together."""
        return sum(t.rows for t in self._times)

    @cached_property
    def time_cut(self) -> Cut:
        return Cut.of(self.first_instant, max(self.end, self.first_instant))

    @cached_property
    def position_cut(self) -> Cut:
        return Cut.of(0, max(1, self.rows))
