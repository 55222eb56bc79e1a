"""Watermarks: up to which instant a source is complete, and how far a query may advance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import lcm

from astralq.timeline import Duration, Instant

MAX_WATERMARK = Instant(2**62)
"""The watermark of a source that does not hold the query's watermark back."""


@dataclass(frozen=True)
class SourceProgress:
    """What is known of a source: its greatest timestamp, and when its last tuples arrived."""

    greatest: Instant | None
    arrived: Instant | None  # by the clock of this machine
    lateness: Duration
    idle: Duration | None = None  # idle after so long without tuples; None: never
    waits: bool = True  # False for a change log that has been read to its end: it does not hold the watermark back
    heartbeat: Instant | None = None  # the source has no more tuples at or before it

    def watermark(self, now: Instant, began: Instant) -> Instant | None:
        """The instant up to which the source is complete, inclusive; None if that is not known.

        It is the greatest timestamp less the lateness less a microsecond: more tuples with that timestamp may still
        come. The event time of an idle source advances with the clock. An idle source that never had a tuple does not
        hold the watermark back. `began` is when the run started its sources.
        """
        mark = None if self.greatest is None else Instant(self.greatest - self.lateness - 1)
        if not self.waits:
            return MAX_WATERMARK
        if self.idle is not None:
            idle_for = now - max(began, self.arrived if self.arrived is not None else began)
            if idle_for >= self.idle:
                if self.greatest is None:
                    return MAX_WATERMARK
                mark = Instant(self.greatest + idle_for - self.lateness - 1)
        if self.heartbeat is not None:
            mark = self.heartbeat if mark is None else max(mark, self.heartbeat)
        return mark


def watermark(sources: Iterable[Instant | None], before: Instant | None, ticks: Iterable[Duration]) -> Instant | None:
    """A query's watermark, inclusive: the least of its sources', at the end of a tick, and never less than before.

    >>> watermark([Instant(11), Instant(25)], None, [])
    11
    >>> watermark([Instant(25)], Instant(9), [Duration(10)])
    19
    """
    marks = list(sources)
    if not marks or None in marks or all(w == MAX_WATERMARK for w in marks):
        return before
    least = min(w for w in marks if w is not None)
    whole = lcm(*ticks) if ticks else 1
    least = Instant((least + 1) // whole * whole - 1)
    return least if before is None else max(least, before)


def after_closing(last: Instant, ticks: Iterable[Duration]) -> Instant:
    """From where a run resumes that was closed at an instant: the end of that tick, which has been answered."""
    whole = lcm(*ticks)
    return Instant(-(-(last + 1) // whole) * whole - 1)
