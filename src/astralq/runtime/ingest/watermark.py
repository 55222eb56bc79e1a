"""Up to where a query may go on: how far each of its sources has certainly come."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import lcm

from astralq.timeline import Duration, Instant

MAX_WATERMARK = Instant(2**62)
"""A source that holds nobody back has come this far."""


@dataclass(frozen=True)
class SourceProgress:
    """How far a source has come: the greatest timestamp that was seen, and when its last tuples arrived."""

    greatest: Instant | None
    arrived: Instant | None  # by the clock of this machine
    lateness: Duration
    idle: Duration | None = None  # after so long without tuples it holds nobody back
    waits: bool = True  # a log of changes that has been read to its end holds nobody back
    heartbeat: Instant | None = None  # nothing at or before it will come any more

    def watermark(self, now: Instant, began: Instant) -> Instant | None:
        """The instant up to which everything has come, inclusive; None if nothing is known.

        That is a microsecond before the greatest timestamp less the lateness: more tuples of that very instant may
        still come. A source that is idle is taken to go on at the pace of the clock; one that never gave any tuple
        holds nobody back then. `began` is when the run began to listen.
        """
        found = None if self.greatest is None else Instant(self.greatest - self.lateness - 1)
        if not self.waits:
            return MAX_WATERMARK
        if self.idle is not None:
            idle_for = now - max(began, self.arrived if self.arrived is not None else began)
            if idle_for >= self.idle:
                if self.greatest is None:
                    return MAX_WATERMARK
                found = Instant(self.greatest + idle_for - self.lateness - 1)
        if self.heartbeat is not None:
            found = self.heartbeat if found is None else max(found, self.heartbeat)
        return found


def watermark(sources: Iterable[Instant | None], before: Instant | None, ticks: Iterable[Duration]) -> Instant | None:
    """A query's watermark, inclusive: the least of its sources', never less than it was, and at the end of a tick.

    >>> watermark([Instant(11), Instant(25)], None, [])
    11
    >>> watermark([Instant(25)], Instant(9), [Duration(10)])
    19
    """
    found = list(sources)
    if not found or None in found or all(w == MAX_WATERMARK for w in found):
        return before
    least = min(w for w in found if w is not None)
    whole = lcm(*ticks) if ticks else 1
    least = Instant((least + 1) // whole * whole - 1)
    return least if before is None else max(least, before)


def after_closing(last: Instant, ticks: Iterable[Duration]) -> Instant:
    """Where a run goes on that was closed at an instant: behind the tick that it is in, which has been answered."""
    whole = lcm(*ticks)
    return Instant(-(-(last + 1) // whole) * whole - 1)
