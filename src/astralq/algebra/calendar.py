"""Windows of days, weeks, months, quarters and years of a time zone: [TUMBLE 1 MONTH], [HOP 7 DAYS EVERY 1 DAY AT …].

They begin at local midnights, whatever their length: a day has 23 or 25 hours where the clocks change.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from astralq.algebra.schedules import TimeSchedule
from astralq.errors import TimeError, WindowError
from astralq.timeline import MAX_INSTANT, Duration, Instant, duration, format_duration, instant, to_datetime

_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_DAYS = {"day": 1, "d": 1, "week": 7, "w": 7}
_AMOUNT = re.compile(r"\s*(\d+)\s*([a-z]+?)s?\s*", re.IGNORECASE)
_FIRST = date(1970, 1, 1)
_NEVER = Instant(MAX_INSTANT + 1)


@dataclass(frozen=True)
class Span:
    """A length of time in the calendar: months, days, or an exact duration, one of them."""

    months: int = 0
    days: int = 0
    micros: int = 0

    def __str__(self) -> str:
        if self.micros:
            return format_duration(Duration(self.micros))
        count, unit = (self.months, "MONTH") if self.months else (self.days, "DAY")
        for size, larger in ((12, "YEAR"), (3, "QUARTER")) if self.months else ((7, "WEEK"),):
            if count % size == 0:
                count, unit = count // size, larger
                break
        return f"{count} {unit}{'' if count == 1 else 'S'}"

    def after(self, day: date) -> date:
        """The day so much later; of a month that is too short its last one."""
        if not self.months:
            return day + timedelta(days=self.days)
        year, month = divmod(day.year * 12 + day.month - 1 + self.months, 12)
        return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def span(text: str) -> Span:
    """Reads a length of time: months, quarters and years, days and weeks, or anything that has a fixed length.

    >>> span("1 MONTH"), span("2 weeks"), str(span("12 months"))
    (Span(months=1, days=0, micros=0), Span(months=0, days=14, micros=0), '1 YEAR')
    """
    found = _AMOUNT.fullmatch(text)
    unit = found[2].lower() if found else ""
    if found and unit in _MONTHS:
        return Span(months=int(found[1]) * _MONTHS[unit])
    if found and unit in _DAYS:
        return Span(days=int(found[1]) * _DAYS[unit])
    return Span(micros=duration(text))


def has_months(*texts: str) -> bool:
    """Whether one of these lengths of time is in months, quarters or years, which have no fixed length."""
    return any(found and found[2].lower() in _MONTHS for found in map(_AMOUNT.fullmatch, texts))


@dataclass(frozen=True)
class Windows:
    """The windows [s, s + size) that begin at each step of the calendar, all later by an offset of the local clock."""

    step: Span
    size: Span
    offset: int
    zone: str

    def __post_init__(self) -> None:
        try:
            ZoneInfo(self.zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise WindowError(f"unknown time zone {self.zone!r}", hint="give a name such as 'Europe/Paris'") from None
        if self.step.micros:
            raise WindowError(
                f"windows of a time zone begin at its midnights, not every {self.step}",
                hint="give EVERY in days, weeks, months, quarters or years, or leave out AT TIME ZONE",
            )
        if not (self.step.months or self.step.days) or not (self.size.months or self.size.days or self.size.micros > 0):
            raise WindowError("a window has a size and a step", hint="give lengths of time greater than 0")

    def last_ended(self, t: Instant) -> tuple[Instant, Instant]:
        """The beginning and the end of the last window that ends at an instant or before; of several that end together,
        that which begins last."""
        k = self._guess(t)
        while self._bounds(k + 1)[1] <= t:
            k += 1
        while (found := self._bounds(k))[1] > t or found[0] == found[1]:  # a day that the clocks leave out is empty
            k -= 1
        return found

    def first_begun_after(self, t: Instant) -> tuple[Instant, Instant]:
        """The beginning and the end of the first window that begins after an instant."""
        k = self._guess(t)
        while (found := self._bounds(k))[0] <= t:
            k += 1
        return found

    def _guess(self, t: Instant) -> int:
        """About the number of the window that ends at an instant."""
        day = to_datetime(t).astimezone(ZoneInfo(self.zone)).date()
        if self.step.months:
            months = (day.year - _FIRST.year) * 12 + day.month - 1 - self.size.months
            return months // self.step.months - 1
        days = (day - _FIRST).days - self.size.days - self.size.months * 30
        return days // self.step.days - 1

    def _bounds(self, k: int) -> tuple[Instant, Instant]:
        return _bounds(self, k)

    def first_day(self, k: int) -> date:
        """The day with which the k-th window begins."""
        if self.step.months:
            year, month = divmod(k * self.step.months, 12)
            return date(_FIRST.year + year, month + 1, 1)
        return _FIRST + timedelta(days=k * self.step.days)

    def midnight(self, day: date) -> Instant:
        """The beginning of a local day, later by the offset; a time that the clocks leap over is as much later."""
        local = datetime.combine(day, time()) + timedelta(microseconds=self.offset)
        return instant(local.replace(tzinfo=ZoneInfo(self.zone)))


@lru_cache(maxsize=4096)
def _bounds(windows: Windows, k: int) -> tuple[Instant, Instant]:
    try:
        day = windows.first_day(k)
        start = windows.midnight(day)
        if windows.size.micros:
            return start, Instant(start + windows.size.micros)
        return start, windows.midnight(windows.size.after(day))
    except (OverflowError, ValueError, TimeError):
        return _NEVER, _NEVER  # after the year 9999


@dataclass(frozen=True)
class Calendar(TimeSchedule):
    """Evaluated at the end of each window of the calendar, from t0 on."""

    windows: Windows

    def last(self, t0: Instant, t: Instant) -> Instant | None:
        if t < t0:
            return None
        _, end = self.windows.last_ended(min(t, MAX_INSTANT))
        return end if end >= t0 else None

    def settles(self, t: Instant) -> Instant:
        """The first evaluation at which no tuple up to an instant is held any more."""
        return self.windows.first_begun_after(t)[1]

    def between(self, t0: Instant, first: Instant, last: Instant) -> Iterator[Instant]:
        found: list[Instant] = []
        e = self.last(t0, last)
        while e is not None and e >= first:
            found.append(e)
            e = self.last(t0, Instant(e - 1))
        return iter(reversed(found))


@dataclass(frozen=True)
class CalendarStart:
    """t ↦ the beginning of the window that ends at t."""

    windows: Windows

    def __call__(self, t: Instant) -> int:
        return self.windows.last_ended(t)[0]


def calendar_text(windows: Windows) -> str:
    """TUMBLE or HOP as the language writes it."""
    zone = f" AT TIME ZONE '{windows.zone}'" if windows.zone != "UTC" else ""
    offset = f" OFFSET {format_duration(Duration(windows.offset))}" if windows.offset else ""
    if windows.size == windows.step:
        return f"TUMBLE {windows.size}{zone}{offset}"
    return f"HOP {windows.size} EVERY {windows.step}{zone}{offset}"
