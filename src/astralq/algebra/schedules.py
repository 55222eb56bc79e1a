"""Schedules: when the windows of a sequence are evaluated (000 D9 and D12, 001 D27).

A schedule is on one measure. On time it is a list of instants E_0 < E_1 < …; on positions and on the odometer it
is the values that the stream's highest position, or its distance travelled, has to reach.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from enum import Enum
from itertools import pairwise
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from astralq.errors import WindowError
from astralq.space import Millimetres, format_distance
from astralq.timeline import (
    MAX_INSTANT,
    MIN_INSTANT,
    Duration,
    Instant,
    format_duration,
    format_instant,
    instant,
    to_datetime,
)


class Measure(Enum):
    """What never decreases along a stream, and so can carry schedules and scopes (docs/decisions.md)."""

    TIME = "time"
    POSITION = "position"
    DISTANCE = "distance"


def format_measure(measure: Measure, amount: int) -> str:
    """An amount of a measure with its unit.

    >>> format_measure(Measure.POSITION, 1), format_measure(Measure.DISTANCE, 10_000_000)
    ('1 ROW', '10 km')
    """
    if measure is Measure.TIME:
        return format_duration(Duration(amount))
    if measure is Measure.POSITION:
        return f"{amount} ROW{'' if abs(amount) == 1 else 'S'}"
    return format_distance(Millimetres(amount))


class Anchor(Enum):
    """What the offsets of a time are counted from; positions and distances are counted from 0."""

    T0 = "t0"
    ABSOLUTE = "absolute"
    ALIGNED = "aligned"  # on the grid of absolute times, from the first one at or after t0


@dataclass(frozen=True)
class Schedule:
    """When windows are evaluated, on one measure."""

    @property
    def measure(self) -> Measure:
        return Measure.TIME


@dataclass(frozen=True)
class TimeSchedule(Schedule):
    """A schedule on time: an increasing list of instants, finite or not."""

    def last(self, t0: Instant, t: Instant) -> Instant | None:
        """The last evaluation at or before t, None before the first."""
        raise NotImplementedError

    def between(self, t0: Instant, first: Instant, last: Instant) -> Iterator[Instant]:
        """The evaluations in the closed interval [first, last], in order."""
        raise NotImplementedError

    def absolute(self) -> Iterator[Instant]:
        """All evaluations from the first one, if they do not depend on t0; else none."""
        return iter(())


def _check_rate(every: int, measure: Measure) -> None:
    if every <= 0:
        raise WindowError(
            f"the rate is {format_measure(measure, every)}", hint="windows move on at a rate greater than 0"
        )


@dataclass(frozen=True)
class Periodic(TimeSchedule):
    """Evaluated at o + j·r: o = first, counted from the anchor on time, from 0 on the other measures."""

    on: Measure
    first: int
    every: int
    anchor: Anchor = Anchor.T0

    def __post_init__(self) -> None:
        _check_rate(self.every, self.on)
        if self.on is not Measure.TIME and self.first < 0:
            raise WindowError(
                f"the first evaluation is at {format_measure(self.on, self.first)}",
                hint="positions and distances begin at 0",
            )

    @property
    def measure(self) -> Measure:
        return self.on

    def origin(self, t0: Instant) -> int:
        """o, the first evaluation, for a query that starts at t0."""
        if self.on is not Measure.TIME or self.anchor is Anchor.ABSOLUTE:
            return self.first
        if self.anchor is Anchor.T0:
            return t0 + self.first
        return t0 + (self.first - t0) % self.every

    def rank(self, t0: Instant, value: int) -> int:
        """γ: the j of the last evaluation that the value has reached, negative before the first."""
        return (value - self.origin(t0)) // self.every

    def last(self, t0: Instant, t: Instant) -> Instant | None:
        j = self.rank(t0, t)
        return Instant(self.origin(t0) + j * self.every) if j >= 0 else None

    def between(self, t0: Instant, first: Instant, last: Instant) -> Iterator[Instant]:
        origin = self.origin(t0)
        j = max(0, -((origin - first) // self.every))
        while (e := origin + j * self.every) <= last:
            yield Instant(e)
            j += 1


@dataclass(frozen=True)
class Continuous(TimeSchedule):
    """Evaluated at every instant, which shows at the entries and exits only: RANGE x = RANGE x SLIDE ε
    (000 §6.1.2)."""

    def last(self, t0: Instant, t: Instant) -> Instant | None:
        return t if t >= t0 else None


@dataclass(frozen=True)
class Sessions(Schedule):
    """Evaluated when a session is over, a gap after its last tuple: the data say when (docs/decisions.md).

    A session is a maximal run of tuples each less than the gap after the one before.
    """

    gap: Duration

    def __post_init__(self) -> None:
        if self.gap <= 0:
            raise WindowError(
                f"the gap between sessions is {format_duration(self.gap)}", hint="give a duration greater than 0"
            )


@dataclass(frozen=True)
class AtInstants(TimeSchedule):
    """Evaluated at each of a list of instants; the last window stays (000 D12)."""

    instants: tuple[Instant, ...]

    def __post_init__(self) -> None:
        if not self.instants:
            raise WindowError("the schedule has no evaluation", hint="give at least one instant")
        for j, (a, b) in enumerate(pairwise(self.instants), start=1):
            if b <= a:
                raise WindowError(
                    f"evaluation {j} at {format_instant(b)} is not after evaluation {j - 1} at {format_instant(a)}",
                    hint="a schedule is an increasing list of instants",
                )

    def last(self, t0: Instant, t: Instant) -> Instant | None:
        k = bisect_right(self.instants, t)
        return self.instants[k - 1] if k else None

    def between(self, t0: Instant, first: Instant, last: Instant) -> Iterator[Instant]:
        return (e for e in self.instants if first <= e <= last)

    def absolute(self) -> Iterator[Instant]:
        return iter(self.instants)


@dataclass(frozen=True)
class Loop(TimeSchedule):
    """000 §6.1.4: for (t = init; condition(t); t = evolution(t)), as in C, over absolute instants.

    Only values that satisfy the condition are evaluations; the last window stays. Loops are equal if their functions
    are; `named`: the text is their name, by which they are known again.
    """

    text: str = field(compare=False)
    init: Instant
    condition: Callable[[Instant], bool] = field(repr=False)
    evolution: Callable[[Instant], Instant] = field(repr=False)
    named: bool = field(default=False, compare=False, repr=False)

    def absolute(self) -> Iterator[Instant]:
        t = self.init
        while self.condition(t):
            yield t
            following = self.evolution(t)
            if not MIN_INSTANT <= following <= MAX_INSTANT:
                raise WindowError(
                    f"the loop {self.text} steps from {format_instant(t)} to a time out of range",
                    hint="let its condition end it before the year 9999",
                )
            if following <= t:
                raise WindowError(
                    f"the loop {self.text} steps from {format_instant(t)} to {format_instant(following)}",
                    hint="each value of the loop has to be later than the one before",
                )
            t = following

    def __post_init__(self) -> None:
        values = self.absolute()
        if next(values, None) is None:
            raise WindowError(f"the loop {self.text} has no value", hint="its condition is false at the beginning")
        next(values, None)  # a first step that goes back is an error now, not at the first evaluation

    def last(self, t0: Instant, t: Instant) -> Instant | None:
        found = None
        for e in self.absolute():
            if e > t:
                break
            found = e
        return found

    def between(self, t0: Instant, first: Instant, last: Instant) -> Iterator[Instant]:
        for e in self.absolute():
            if e > last:
                return
            if e >= first:
                yield e


_DAY = timedelta(days=1)
_DAY_MICROS = 86_400_000_000
_HOUR_MICROS = 3_600_000_000


def _offset(zone: ZoneInfo, t: Instant) -> timedelta | None:
    return to_datetime(t).astimezone(zone).utcoffset()


def _clock_change(zone: ZoneInfo, before: Instant, after: Instant) -> Instant:
    """The first instant in (before, after] with the offset that the zone has at `after`."""
    while after - before > 1:
        middle = Instant((before + after) // 2)
        if _offset(zone, middle) == _offset(zone, after):
            after = middle
        else:
            before = middle
    return after


@dataclass(frozen=True)
class TimeOfDay(TimeSchedule):
    """Two rates (000 example 5): t0 + k·inside in [start, end) of each day, t0 + k·outside in the rest."""

    start: time
    end: time
    inside: Duration
    outside: Duration
    zone: str = "UTC"

    def __post_init__(self) -> None:
        _check_rate(self.inside, Measure.TIME)
        _check_rate(self.outside, Measure.TIME)
        if self.start == self.end:
            raise WindowError(
                f"the time of day from {self.start:%H:%M} to {self.end:%H:%M} is empty",
                hint="give a beginning and another end",
            )
        if self.start.tzinfo is not None or self.end.tzinfo is not None:
            raise WindowError("a time of day has no offset", hint="give the time zone besides: AT TIME ZONE '…'")
        try:
            ZoneInfo(self.zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise WindowError(f"unknown time zone {self.zone!r}", hint="give a name such as 'Europe/Paris'") from None

    def is_inside(self, t: Instant) -> bool:
        """Whether the local time is in [start, end); a start after the end goes over midnight."""
        local = to_datetime(t).astimezone(ZoneInfo(self.zone)).time()
        if self.start < self.end:
            return self.start <= local < self.end
        return local >= self.start or local < self.end

    def last(self, t0: Instant, t: Instant) -> Instant | None:
        found = [self._last_of(rate, inside, t0, t) for rate, inside in self._rates()]
        return max((e for e in found if e is not None), default=None)

    def _rates(self) -> tuple[tuple[Duration, bool], tuple[Duration, bool]]:
        return (self.inside, True), (self.outside, False)

    def _last_of(self, rate: Duration, inside: bool, t0: Instant, t: Instant) -> Instant | None:
        """The last point of one grid, in its part of the day, at or before t."""
        while t >= t0:
            e = Instant(t0 + (t - t0) // rate * rate)
            if self.is_inside(e) is inside:
                return e
            t = self._last_moment(inside, e)
        return None

    def _last_moment(self, inside: bool, t: Instant) -> Instant:
        """The last microsecond before t that is in the wanted part of the day."""
        while True:
            for flip in self._flips(t):
                if self.is_inside(Instant(flip - 1)) is inside:
                    return Instant(flip - 1)
            t = Instant(t - 2 * _DAY_MICROS)

    def _flips(self, t: Instant) -> list[Instant]:
        """Where the part of the day can change in the two days up to t, latest first: at its boundaries, which a
        change of the clocks can double, and at changes of the clocks, which can leap over them."""
        zone = ZoneInfo(self.zone)
        day = to_datetime(t).astimezone(zone).date()
        found = {
            instant(datetime.combine(day - days * _DAY, boundary, zone).replace(fold=fold))
            for days in range(-1, 4)
            for boundary in (self.start, self.end)
            for fold in (0, 1)
        }
        hours = [Instant(t - k * _HOUR_MICROS) for k in range(50)]
        found |= {_clock_change(zone, b, a) for a, b in pairwise(hours) if _offset(zone, a) != _offset(zone, b)}
        return sorted((f for f in found if f <= t), reverse=True)

    def between(self, t0: Instant, first: Instant, last: Instant) -> Iterator[Instant]:
        points: set[Instant] = set()
        for rate, inside in self._rates():
            grid = Periodic(Measure.TIME, 0, rate).between(t0, max(first, t0), last)
            points |= {e for e in grid if self.is_inside(e) is inside}
        return iter(sorted(points))
