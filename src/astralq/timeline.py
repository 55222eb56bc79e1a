"""The timeline: exact instants, durations, batch identifiers and positions, each a type of its own.

001 D10 takes time as the reals; here it is the integers in microseconds since 1970-01-01T00:00:00Z
(docs/decisions.md), so that every comparison is exact and Spark's TIMESTAMP holds every instant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import NewType

from astralq.errors import TimeError, nearest

Instant = NewType("Instant", int)
"""A point of the timeline, in microseconds since the epoch (000 D1, 001 D10, 002 D4)."""


class Duration(int):
    """A length of time in microseconds; a type of its own, so that it is not taken for a number of rows.

    >>> isinstance(Duration(5), int), Duration(5) + 1
    (True, 6)
    """


Position = NewType("Position", int)
"""The place of a tuple in its stream: 0, 1, 2, …; -1 stands before the first."""

EPOCH = Instant(0)
CHRONON = Duration(1)
"""ε, the smallest difference between two instants."""

_BEFORE = datetime(1970, 1, 1, tzinfo=UTC)
MIN_INSTANT = Instant(-62_135_596_800_000_000)  # 0001-01-01T00:00:00Z
MAX_INSTANT = Instant(253_402_300_799_999_999)  # 9999-12-31T23:59:59.999999Z

LAST_INDEX = 2**63 - 1
"""Stands for "after every batch of the instant" in the i of a batch identifier."""


@dataclass(frozen=True, order=True, slots=True)
class BatchId:
    """A batch identifier (t, i), ordered lexicographically (000 D2, 001 D11, 002 D5).

    >>> BatchId(Instant(5), 1) < BatchId(Instant(5), 2) < BatchId(Instant(6), 0)
    True
    """

    t: Instant
    i: int = 0

    def __post_init__(self) -> None:
        if self.i < 0:
            raise TimeError(f"a batch index is 0, 1, 2, …, not {self.i}")

    def __str__(self) -> str:
        return f"({format_instant(self.t)}, {'∞' if self.i == LAST_INDEX else self.i})"

    def end_of_instant(self) -> BatchId:
        """The identifier behind all batches of the same instant."""
        return BatchId(self.t, LAST_INDEX)


_UNITS: dict[str, int] = {
    name: micros
    for names, micros in (
        ("us µs usec microsecond microseconds", 1),
        ("ms msec millisecond milliseconds", 1_000),
        ("s sec secs second seconds", 1_000_000),
        ("min mins minute minutes", 60_000_000),
        ("h hr hrs hour hours", 3_600_000_000),
        ("d day days", 86_400_000_000),
        ("w week weeks", 604_800_000_000),
    )
    for name in names.split()
}
_PRINTED = [
    (604_800_000_000, "WEEK"),
    (86_400_000_000, "DAY"),
    (3_600_000_000, "HOUR"),
    (60_000_000, "MINUTE"),
    (1_000_000, "SECOND"),
    (1_000, "MILLISECOND"),
    (1, "MICROSECOND"),
]
_QUANTITY = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([A-Za-zµ]+)\s*")


def duration(value: str | timedelta | Duration) -> Duration:
    """Reads a duration; whatever is not a whole number of microseconds is an error.

    >>> duration("30 min")
    1800000000
    >>> duration("1 hour 30 minutes") == duration("90 min") == duration("1.5 h")
    True
    """
    if isinstance(value, Duration):
        return value
    if isinstance(value, timedelta):
        return Duration(value // timedelta(microseconds=1))
    if not isinstance(value, str):
        raise TimeError(
            f"a duration is written with its unit, not as {value!r}",
            hint="write for example '30 seconds', or give a datetime.timedelta",
        )
    total, end = Fraction(0), 0
    for match in _QUANTITY.finditer(value):
        if match.start() != end:
            break
        unit = match[2].lower()
        if unit not in _UNITS:
            raise TimeError(f"unknown unit of time {match[2]!r} in {value!r}", hint=_unit_hint(unit))
        total += Fraction(match[1]) * _UNITS[unit]
        end = match.end()
    if end == 0 or end != len(value):
        raise TimeError(f"cannot read {value!r} as a duration", hint="write for example '30 seconds'")
    if total.denominator != 1:
        raise TimeError(
            f"{value!r} is not a whole number of microseconds",
            hint="time is exact to the microsecond; round the duration",
        )
    return Duration(int(total))


def _unit_hint(unit: str) -> str:
    if unit == "m":
        return "write 'min' for minutes; 'm' is metres"
    if unit.rstrip("s") in ("month", "year", "quarter"):
        return "months and years have no fixed length; use days"
    return nearest(unit, _UNITS) or "use weeks, days, hours, minutes, seconds, ms or us"


_FRACTION = re.compile(r"\.\d{7,}")


def instant(value: str | datetime | int) -> Instant:
    """Reads an instant: ISO 8601 text, a datetime, or a whole number of microseconds since the epoch.

    Without an offset it is UTC.

    >>> instant("1970-01-01T00:00:05Z")
    5000000
    >>> instant("1970-01-01 01:00:00+01:00")
    0
    """
    if isinstance(value, bool) or not isinstance(value, str | datetime | int):
        raise TimeError(
            f"{value!r} is not an exact time",
            hint="give ISO 8601 text, a datetime, or a whole number of microseconds since 1970",
        )
    if isinstance(value, int):
        micros = value
    else:
        micros = _micros(_read_iso(value) if isinstance(value, str) else value)
    if not MIN_INSTANT <= micros <= MAX_INSTANT:
        raise TimeError(
            f"the time {value} is out of range",
            hint="the timeline goes from 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999999Z",
        )
    return Instant(micros)


def _read_iso(text: str) -> datetime:
    if _FRACTION.search(text):
        raise TimeError(
            f"{text!r} is not a whole number of microseconds",
            hint="time is exact to the microsecond; give at most six decimals",
        )
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError as e:
        raise TimeError(
            f"cannot read {text!r} as a time ({e})", hint="write for example '2024-05-01T12:00:00Z'"
        ) from None


def _micros(moment: datetime) -> int:
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    try:
        return (aware - _BEFORE) // timedelta(microseconds=1)
    except OverflowError:
        raise TimeError(f"the time {moment} is out of range") from None


def to_datetime(t: Instant) -> datetime:
    """The instant as an aware datetime in UTC."""
    return _BEFORE + timedelta(microseconds=t)


def format_instant(t: Instant) -> str:
    """ISO 8601 in UTC, with a fraction only where there is one.

    >>> format_instant(Instant(5_500_000))
    '1970-01-01T00:00:05.5Z'
    """
    text = to_datetime(t).replace(tzinfo=None).isoformat(timespec="microseconds")
    return text.rstrip("0").rstrip(".") + "Z"


def format_duration(d: Duration) -> str:
    """The duration in the largest unit that divides it.

    >>> format_duration(duration("90 min"))
    '90 MINUTES'
    >>> format_duration(duration("1 s"))
    '1 SECOND'
    """
    if d == 0:
        return "0 SECONDS"
    size, unit = next((size, unit) for size, unit in _PRINTED if d % size == 0)
    count = d // size
    return f"{count} {unit}{'' if abs(count) == 1 else 'S'}"


def readable(text: str) -> str:
    """A text for people: durations that are ε longer than whole seconds, as operators make them, are sums.

    >>> readable("RANGE 360000001 MICROSECONDS, 1500000 MICROSECONDS, 1 MICROSECOND")
    'RANGE 6 MINUTES + 1 MICROSECOND, 1500000 MICROSECONDS, 1 MICROSECOND'
    """

    def summed(found: re.Match[str]) -> str:
        whole, rest = divmod(int(found[1]), 1_000_000)
        return f"{format_duration(Duration(whole * 1_000_000))} + 1 MICROSECOND" if rest == 1 else found[0]

    return re.sub(r"\b(\d{7,}) MICROSECONDS\b", summed, text)
