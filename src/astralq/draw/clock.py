"""Times for people: where the ticks of a time axis are, and how instants are written beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from astralq.timeline import Duration, Instant, instant, to_datetime

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
_STEPS = (
    *(m * 10**k for k in range(6) for m in (1, 2, 5)),
    *(SECOND * k for k in (1, 2, 5, 10, 15, 30)),
    *(MINUTE * k for k in (1, 2, 5, 10, 15, 30)),
    *(HOUR * k for k in (1, 2, 3, 6, 12)),
    *(DAY * k for k in (1, 2, 7, 14)),
)
_DECIMAL_STEPS = tuple(m * 10**k for k in range(13) for m in (1, 2, 5))
_MONTHS = (1, 2, 3, 6, *(12 * m * 10**k for k in range(4) for m in (1, 2, 5)))
"""Calendar steps in months, for what is longer than weeks."""

_SMALL = Instant(1_000_000 * SECOND)
"""Times before this are taken for plain seconds: nobody measured in the first days of 1970."""


def round_step(least: int) -> Duration:
    """The least round length of time that is not shorter.

    >>> round_step(50 * MINUTE) == HOUR
    True
    """
    return Duration(next((s for s in _STEPS if s >= least), -(-least // DAY) * DAY))


@dataclass(frozen=True)
class Clock:
    """The times from start to end, both inclusive, and at most so many ticks.

    >>> clock = Clock(instant("2026-03-01T12:00:05Z"), instant("2026-03-01T12:03:00Z"))
    >>> clock.text(instant("2026-03-01T12:01:00Z")), clock.title
    ('12:01:00', 'UTC, 2026-03-01')
    >>> Clock(Instant(0), Instant(7_500_000)).text(Instant(2_500_000))
    '2.5'
    """

    start: Instant
    end: Instant
    most: int = 9

    @property
    def in_seconds(self) -> bool:
        """Small numbers of seconds since the epoch are written as numbers."""
        return self.start >= 0 and self.end < _SMALL

    @cached_property
    def _days(self) -> set[str]:
        return {to_datetime(t).date().isoformat() for t in (self.start, self.end)}

    @property
    def title(self) -> str:
        """What stands below the axis."""
        if self.in_seconds:
            return "seconds"
        return f"UTC, {min(self._days)}" if len(self._days) == 1 else "UTC"

    def text(self, t: Instant) -> str:
        """An instant as briefly as the axis allows; one outside its day has its date."""
        if self.in_seconds and 0 <= t < _SMALL:
            return _number(t)
        moment = to_datetime(t)
        day = moment.date().isoformat()
        time = _time_of_day(moment, MINUTE if self.end - self.start >= 10 * MINUTE else SECOND)
        if len(self._days) == 1 and day in self._days:
            return time
        return day if t % DAY == 0 else f"{day} {time}"

    def ticks(self) -> list[tuple[Instant, str]]:
        """Round instants from start to end, each with its text; the date stands below the first time of a day."""
        span = self.end - self.start
        if self.in_seconds:
            step = next(s for s in _DECIMAL_STEPS if span // s <= self.most)
            return [(t, _number(t)) for t in self._grid(step)]
        found = next((s for s in _STEPS if span // s <= self.most), None)
        if found is None:
            return self._months(span)
        if found >= DAY:
            return [(t, to_datetime(t).date().isoformat()) for t in self._grid(found)]
        ticks = []
        before = ""
        for t in self._grid(found):
            moment = to_datetime(t)
            day = moment.date().isoformat()
            dated = len(self._days) > 1 and day != before
            ticks.append((t, _time_of_day(moment, found) + (f"\n{day}" if dated else "")))
            before = day
        return ticks

    def _grid(self, step: int) -> Iterator[Instant]:
        t = -(-self.start // step) * step
        while t <= self.end:
            yield Instant(t)
            t += step

    def _months(self, span: int) -> list[tuple[Instant, str]]:
        months = next(m for m in _MONTHS if span // (m * 30 * DAY) <= self.most)
        first = to_datetime(self.start)
        count = (first.year * 12 + first.month - 1) // months * months
        ticks = []
        while (year := count // 12) <= to_datetime(self.end).year:
            t = instant(datetime(max(year, 1), count % 12 + 1, 1))
            if self.start <= t <= self.end:
                ticks.append((t, f"{year:04}" if months % 12 == 0 else f"{year:04}-{count % 12 + 1:02}"))
            count += months
        return ticks


def _number(micros: int) -> str:
    whole, rest = divmod(micros, SECOND)
    return f"{whole}" + (f".{rest:06}".rstrip("0") if rest else "")


def _time_of_day(moment: datetime, step: int) -> str:
    """Hours and minutes, and as much of the rest as the step or the moment itself has."""
    if moment.microsecond or step % SECOND:
        return moment.strftime("%H:%M:%S.%f").rstrip("0").rstrip(".")
    return moment.strftime("%H:%M:%S" if moment.second or step % MINUTE else "%H:%M")
