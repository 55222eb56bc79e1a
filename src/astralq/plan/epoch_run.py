"""An epoch of a continuous run as its plan sees it: it goes on where the one before ended, and keeps state tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from astralq.algebra.base import Operator
from astralq.algebra.observation import first_observed
from astralq.plan.aggregate.limbs import Range
from astralq.plan.encoding.batches import NEVER
from astralq.plan.run import MANY_ROWS, Run
from astralq.plan.state.store import StateTables, scope_of
from astralq.timeline import LAST_INDEX, BatchId, Instant

OUTGROWN = 2**24
"""From how many values on it is measured how many there are still: the more there are, the more limbs their sum has."""


@dataclass(frozen=True)
class EpochRun(Run):
    """An epoch of a continuous run: its sources have the tuples of the half-open interval (since, until] only, and it
    observes that interval; `since` is None in the first one.

    What holds after the last batch of `since` is seen from (since, 0) on by all operators, and reported by none. The
    last epoch is closing: nothing will come any more, so that a run without any data begins and ends there.
    """

    tables: StateTables = field(default_factory=StateTables)
    after: Instant | None = None
    closing: bool = False
    coming: int | None = None
    few: bool = False  # whether all that it reads is few
    namespace: str = ""  # of its state: the same for queries that keep state together

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.scope:
            object.__setattr__(self, "scope", scope_of(self.query, self.t0_or_none, self.namespace))
        assert self.until is not None
        self.tables.put(f"since {self.scope}", self.until)

    def inside(self, query: Operator, t0: Instant | None) -> EpochRun:
        """The run of a query inside this one with its own start: it goes on where it was, which may be further than the
        outer one, if others have kept it."""
        scope = scope_of(query, t0, self.namespace)
        since = self.tables.metadata.get(f"since {scope}")
        after = None if since is None else Instant(since)
        return replace(
            self, query=query, t0_or_none=t0, until=self.end, scope=scope, outside=self.looked_from, after=after
        )

    @property
    def state(self) -> StateTables:
        return self.tables

    @property
    def since(self) -> Instant | None:
        return self.after

    @property
    def new_rows(self) -> int | None:
        return self.coming

    @property
    def one_partition(self) -> bool:
        return self.few

    @property
    def rows(self) -> int:
        return MANY_ROWS

    @property
    def continues(self) -> bool:
        return f"start {self.scope}" in self.tables.metadata

    @cached_property
    def start(self) -> BatchId:
        name = f"start {self.scope}"
        start = BatchId(Instant(NEVER), 0)
        if name in self.tables.metadata:
            start = BatchId(*self.tables.metadata[name])
        elif self.t0_or_none is not None:
            start = first_observed(self.query, [], self.t0_or_none)
        elif batches := [t.first for t in self._times(sensed=True) if t.first is not None]:
            start = first_observed(self.query, batches, None)
        elif self.closing:
            start = first_observed(self.query, [], None)
        if start.t > self.end:
            return BatchId(Instant(NEVER), 0)
        self.tables.put(name, [start.t, start.i])
        return start

    @cached_property
    def end(self) -> Instant:
        assert self.until is not None
        return self.until

    @cached_property
    def seen_from(self) -> BatchId:
        if not self.continues:
            return self.start
        assert self.after is not None
        return BatchId(self.after, LAST_INDEX)

    @property
    def emits_one_batch(self) -> bool:
        # The same in all epochs, so that tables fit.
        return self.start.i == 0

    def known_range(self, name: str, new: Range, *, afresh: bool = False) -> Range:
        """What is known of values of all epochs up to now; `afresh`: of all that are still kept."""
        name = f"values {self.scope} {name}"
        before = None if afresh else self.tables.metadata.get(name)
        both = new if before is None else Range(*before).with_(new)
        self.tables.put(name, [both.rows, both.greatest, both.low, both.special])
        # NULLs may come with any epoch, and its tables are those of the epochs before.
        return replace(both, nulls=True)

    def knows_ranges(self, name: str, places: Iterable[int]) -> bool:
        """Whether every epoch up to this one has put its new values into the ranges of a grouping, and not too many of
        them: one in which nothing is evaluated does not."""
        if self.tables.metadata.get(f"ranged {self.scope} {name}") != self.since:
            return False
        before = (self.tables.metadata.get(f"values {self.scope} {name} {k}") for k in places)
        return all(range_ is None or range_[0] <= OUTGROWN for range_ in before)

    def put_known_ranges(self, name: str) -> None:
        self.tables.put(f"ranged {self.scope} {name}", self.end)
