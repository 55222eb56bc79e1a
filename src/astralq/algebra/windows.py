"""The one window operator, schedule × scope (000 D8 to D12, 001 D26 to D29), and its named forms.

Every window of the papers is a `WindowSpec`; the functions below build them under the names people use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import time, timedelta
from functools import cached_property

from astralq.algebra.base import STREAM_HINT, Kind, Operator, expect
from astralq.algebra.calendar import Calendar, CalendarStart, has_months, span
from astralq.algebra.calendar import Windows as CalendarWindows
from astralq.algebra.schedules import (
    Anchor,
    AtInstants,
    Continuous,
    Loop,
    Measure,
    Periodic,
    Schedule,
    Sessions,
    TimeOfDay,
)
from astralq.algebra.scopes import Back, BatchStart, Linear, OfInstant, OfSession, Scope, check_window
from astralq.errors import PlanError, WindowError
from astralq.schema import Schema
from astralq.space import distance, is_distance
from astralq.timeline import Duration, Instant, duration, instant, readable


@dataclass(frozen=True)
class WindowSpec:
    """A schedule, a scope, and optionally a delay in the schedule's measure and a partition.

    >>> str(range_("10 min", slide="5 min").by("id").delayed("1 min"))
    '[PARTITION BY id RANGE 10 MINUTES SLIDE 5 MINUTES DELAY 1 MINUTE]'
    """

    schedule: Schedule
    scope: Scope
    delay: int = 0
    partition: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_window(self.schedule, self.scope, self.delay)

    def delayed(self, by: str | int) -> WindowSpec:
        """The same windows, each evaluated later by a delay (000 §6.1.1); the scope does not move.

        The delay is in the schedule's measure: a duration, a number of rows, or a distance.
        """
        return replace(self, delay=_amount(by, self.schedule.measure))

    def by(self, *attributes: str) -> WindowSpec:
        """The same windows in each part of the stream (000 D11, 001 D29).

        >>> str(rows(1).by("id"))
        '[PARTITION BY id ROWS 1]'
        """
        return replace(self, partition=attributes)

    @property
    def measures(self) -> set[Measure]:
        return {self.schedule.measure, self.scope.measure}

    def __str__(self) -> str:
        from astralq.algebra.window_text import window_text

        return f"[{readable(window_text(self))}]"


@dataclass(frozen=True, repr=False)
class Window(Operator):
    """S[α, β, r]: the temporal relation of a sequence of windows over a stream (001 D28, 000 D10)."""

    child: Operator
    spec: WindowSpec

    @property
    def kind(self) -> Kind:
        return Kind.RELATION

    @cached_property
    def schema(self) -> Schema:
        return self.child.schema

    @property
    def stamped(self) -> bool:
        return True

    def __post_init__(self) -> None:
        expect(self.child, Kind.STREAM, "a window", STREAM_HINT)
        # One form for one partition: with the attributes' own spelling, each once.
        schema = self.child.schema
        partition = tuple(dict.fromkeys(schema[name].name for name in self.spec.partition))
        object.__setattr__(self, "spec", replace(self.spec, partition=partition))
        super().__post_init__()

    def check(self) -> None:
        if Measure.DISTANCE in self.spec.measures and self.child.schema.location is None:
            raise PlanError(
                f"{self.spec} measures distance, but the stream has no location",
                hint="declare LOCATION BY (lon, lat) on the stream",
            )

    @property
    def label(self) -> str:
        return f"WINDOW {self.spec}"


Amount = str | int | Duration | timedelta
"""A number of rows; or a duration or a distance, as text or, for a duration, as a timedelta."""


def _amount(value: Amount, measure: Measure) -> int:
    """A rate, delay or width in the measure's unit: a duration, a distance, or a number of rows."""
    if measure is Measure.POSITION:
        if not isinstance(value, str) and type(value) is not int:
            raise WindowError(f"{value!r} is not a whole number of rows", hint="give an integer")
        if isinstance(value, str):
            number, _, unit = value.strip().partition(" ")
            if not number.isdigit() or unit.strip().lower() not in ("row", "rows"):
                raise WindowError(f"{value!r} is not a number of rows", hint="give an integer, or '5 rows'")
            return int(number)
        return value
    if isinstance(value, Duration | timedelta) and measure is Measure.TIME:
        return duration(value)
    if not isinstance(value, str):
        raise WindowError(
            f"{value!r} has no unit",
            hint="write for example '30 seconds'" + " or '10 km'" * (measure is not Measure.TIME),
        )
    return duration(value) if measure is Measure.TIME else distance(value)


def _measure(value: Amount) -> Measure:
    """The measure that an amount is on: an integer or 'n rows', a duration (a timedelta, too), or a distance."""
    if isinstance(value, Duration | timedelta):
        return Measure.TIME
    if not isinstance(value, int | str):
        raise WindowError(f"{value!r} is not an amount", hint="give a number of rows, or text such as '30 seconds'")
    if isinstance(value, int) or value.strip().lower().endswith(("row", "rows")):
        return Measure.POSITION
    return Measure.DISTANCE if is_distance(value) else Measure.TIME


def _schedule(slide: Amount) -> Periodic:
    """Evaluations at every slide; the first at t0, at position slide − 1, or at distance 0."""
    measure = _measure(slide)
    every = _amount(slide, measure)
    return Periodic(measure, every - 1 if measure is Measure.POSITION and every > 0 else 0, every)


def range_(width: str | Duration | timedelta, slide: Amount | None = None) -> WindowSpec:
    """RANGE width [SLIDE slide]: the tuples in [e − width, e] (000 §6.1.1 and §6.1.2).

    Without a slide it is evaluated at every entry and exit. The slide is a duration, or a number of rows
    or a distance, which makes the window cross-domain.

    >>> str(range_("30 min", slide="10 min"))
    '[RANGE 30 MINUTES SLIDE 10 MINUTES]'
    >>> str(range_("3 s", slide=5))
    '[RANGE 3 SECONDS SLIDE 5 ROWS]'
    """
    back = duration(width)
    if back < 0:
        raise WindowError(f"the range {width!r} is negative", hint="give a duration of at least 0")
    schedule = Continuous() if slide is None else _schedule(slide)
    return WindowSpec(schedule, Scope(Measure.TIME, Back(back), Back(0)))


def range_of(spec: WindowSpec) -> Duration | None:
    """How much time each window covers, if that is the same for all of them.

    >>> range_of(hop("1 h", "10 min")) == range_of(range_("1 h")) == duration("1 h")
    True
    """
    lo, hi = spec.scope.lo, spec.scope.hi
    if spec.scope.measure is not Measure.TIME or not (isinstance(lo, Back) and isinstance(hi, Back)):
        return None
    half_open = isinstance(spec.schedule, Periodic) and spec.schedule.anchor is Anchor.ALIGNED
    return Duration(lo.amount - (0 if half_open else hi.amount))


def now() -> WindowSpec:
    """NOW = RANGE 0: a tuple is in from its batch until its timestamp, out a chronon later.

    >>> str(now())
    '[NOW]'
    """
    return range_("0 s")


def rows(count: int, slide: Amount = 1) -> WindowSpec:
    """ROWS count [SLIDE slide]: the last tuples, every slide rows, or every duration or distance.

    >>> str(rows(30, slide="1 min"))
    '[ROWS 30 SLIDE 1 MINUTE]'
    """
    if type(count) is not int or count < 1:
        raise WindowError(f"ROWS {count} holds nothing", hint="give a number of at least 1")
    return WindowSpec(_schedule(slide), Scope(Measure.POSITION, Back(count - 1), Back(0)))


def last_row() -> WindowSpec:
    """[L] = [i, i, 1n]: the last tuple (001 table 1).

    >>> str(last_row().by("sensor"))  # the last tuple of each sensor
    '[PARTITION BY sensor ROWS 1]'
    """
    return rows(1)


def last_batch() -> WindowSpec:
    """[B] = [τ⁻¹(τ(i)⁻)+1, i, 1n]: the last batch (001 table 1).

    >>> str(last_batch())
    '[LAST BATCH]'
    """
    return WindowSpec(_schedule(1), Scope(Measure.POSITION, BatchStart(), Back(0)))


def unbounded(slide: Amount = 1) -> WindowSpec:
    """[∞] = [0, i, 1n]: all that has come so far (001 table 1), at every batch, or at a slide.

    >>> str(unbounded()), str(unbounded("10 min"))
    ('[UNBOUNDED]', '[UNBOUNDED SLIDE 10 MINUTES]')
    """
    return WindowSpec(_schedule(slide), Scope(Measure.POSITION, Linear(0, 0), Back(0)))


def fixed(start: str | Instant, end: str | Instant) -> WindowSpec:
    """FIXED FROM start TO end: [start, end], both ends closed, evaluated once, at its end.

    >>> str(fixed("2026-03-01", "2026-03-02"))
    "[FIXED FROM TIMESTAMP '2026-03-01T00:00:00Z' TO TIMESTAMP '2026-03-02T00:00:00Z']"
    """
    ts, te = instant(start), instant(end)
    scope = Scope(Measure.TIME, Linear(0, ts, Anchor.ABSOLUTE), Linear(0, te, Anchor.ABSOLUTE))
    return WindowSpec(AtInstants((te,)), scope)


def landmark(start: str | Instant, slide: str) -> WindowSpec:
    """LANDMARK start SLIDE slide: [start, e], both ends closed, evaluated at start + j·slide.

    >>> str(landmark("2026-03-01", "1 h"))
    "[LANDMARK TIMESTAMP '2026-03-01T00:00:00Z' SLIDE 1 HOUR]"
    """
    ts = instant(start)
    schedule = Periodic(Measure.TIME, ts, duration(slide), Anchor.ABSOLUTE)
    return WindowSpec(schedule, Scope(Measure.TIME, Linear(0, ts, Anchor.ABSOLUTE), Back(0)))


def hop(size: str, every: str, offset: str = "0 s", zone: str = "UTC") -> WindowSpec:
    """HOP size EVERY every: half-open [k·every, k·every + size), aligned on the epoch, as other systems do.

    With an offset each of them is later by it; one that is a multiple of `every` changes nothing. Days, weeks, months,
    quarters and years are those of the zone: they begin at its midnights, from 1970-01-01 on.

    >>> str(hop("1 h", "1 min"))
    '[HOP 1 HOUR EVERY 1 MINUTE]'
    >>> str(hop("1 month", "1 day", zone="Europe/Paris"))
    "[HOP 1 MONTH EVERY 1 DAY AT TIME ZONE 'Europe/Paris']"
    """
    if zone != "UTC" or has_months(size, every):
        windows = CalendarWindows(span(every), span(size), duration(offset), zone)
        return WindowSpec(
            Calendar(windows), Scope(Measure.TIME, OfInstant("start(t)", CalendarStart(windows)), Back(1))
        )
    x, y, o = duration(size), duration(every), duration(offset)
    if x <= 0:
        raise WindowError(f"the size {size!r} is not positive", hint="give a duration greater than 0")
    schedule = Periodic(Measure.TIME, (x + o) % y if y > 0 else 0, y, Anchor.ALIGNED)
    return WindowSpec(schedule, Scope(Measure.TIME, Back(x), Back(1)))


def tumble(size: str, offset: str = "0 s", zone: str = "UTC") -> WindowSpec:
    """TUMBLE size: half-open [k·size, (k+1)·size), aligned on the epoch, or later than that by an offset.

    Days, weeks, months, quarters and years are those of the zone.

    >>> str(tumble("10 min"))
    '[TUMBLE 10 MINUTES]'
    >>> str(tumble("1 day", offset="6 h"))  # from 06:00 to 06:00
    '[TUMBLE 1 DAY OFFSET 6 HOURS]'
    """
    return hop(size, size, offset, zone)


def session(gap: str | Duration | timedelta) -> WindowSpec:
    """SESSION gap: the last session that is over, a maximal run of tuples each less than a gap after the one before.

    It is evaluated a gap after its last tuple, and stays until the next one is over.

    >>> str(session("20 min").by("user"))
    '[PARTITION BY user SESSION 20 MINUTES]'
    """
    return WindowSpec(Sessions(duration(gap)), Scope(Measure.TIME, OfSession(last=False), OfSession(last=True)))


def from_to(start: str | int, end: str | int, slide: str | int) -> WindowSpec:
    """FROM NOW-start TO NOW-end SLIDE slide: SNEEql's scopes, both ends closed, in the slide's measure (003 §4).

    >>> str(from_to("10 min", "0 s", slide="1 min"))
    '[RANGE 10 MINUTES SLIDE 1 MINUTE]'
    >>> str(from_to("10 min", "5 min", slide="1 min"))
    '[FROM NOW - 10 MINUTES TO NOW - 5 MINUTES SLIDE 1 MINUTE]'
    """
    schedule = _schedule(slide)
    back = [_amount(v, schedule.measure) for v in (start, end)]
    return WindowSpec(schedule, Scope(schedule.measure, Back(back[0]), Back(back[1])))


def general(alpha: tuple[Amount, Amount], beta: tuple[Amount, Amount], rate: Amount) -> WindowSpec:
    """The general (α, β, r) with α(j) = a·j + b and β(j) = c·j + d, first evaluated at β(0) (001 D26).

    Times are relative to t0, positions count from 0. (start, end, rate, start_adv, end_adv) of 000 §6.1.3 is
    general((start_adv, start), (end_adv, end), rate).

    >>> str(general((100, 91), (100, 100), rate=100))
    '[ALPHA 100*j + 91 BETA 100*j + 100 RATE 100 ROWS]'
    >>> str(general((duration("2 s"), "0 s"), ("2 s", "3 s"), rate=duration("2 s")))
    '[ALPHA 2 SECONDS*j BETA 2 SECONDS*j + 3 SECONDS RATE 2 SECONDS]'
    """
    measure = _measure(rate)
    if len(alpha) != 2 or len(beta) != 2:
        raise WindowError("a linear bound is a pair (factor of j, offset)", hint="write for example (100, 91)")
    (a, b), (c, d) = (tuple(_amount(v, measure) for v in bound) for bound in (alpha, beta))
    schedule = Periodic(measure, d, _amount(rate, measure))
    return WindowSpec(schedule, Scope(measure, Linear(a, b), Linear(c, d)))


def at_instants(
    instants: Sequence[str | Instant],
    lo: Callable[[Instant], int],
    hi: Callable[[Instant], int],
    *,
    measure: Measure = Measure.TIME,
    text: tuple[str, str] | None = None,
) -> WindowSpec:
    """An aperiodic window (000 D12): evaluated at the given instants, with closed bounds as functions of the instant.

    `text` names the two functions: a continuous run knows them again by it.

    >>> w = at_instants(["2026-03-01", "2026-03-05"], lambda t: t - duration("1 h"), lambda t: t, text=("t - 1 h", "t"))
    >>> str(w)
    "[AT TIMESTAMP '2026-03-01T00:00:00Z', TIMESTAMP '2026-03-05T00:00:00Z' FROM t - 1 h TO t]"
    """
    shown = ("lo(t)", "hi(t)") if text is None else text
    scope = Scope(measure, *(OfInstant(n, f, text is not None) for n, f in zip(shown, (lo, hi), strict=True)))
    return WindowSpec(AtInstants(tuple(instant(t) for t in instants)), scope)


def for_loop(
    init: str | Instant,
    condition: Callable[[Instant], bool],
    evolution: Callable[[Instant], Instant],
    begin: Callable[[Instant], int],
    end: Callable[[Instant], int],
    *,
    measure: Measure = Measure.TIME,
    text: tuple[str, str, str] | None = None,
) -> WindowSpec:
    """FOR (t = init; condition; t = evolution) FROM begin TO end: TelegraphCQ's windows, closed (000 §6.1.4).

    `text` names the loop and the two bounds: a continuous run knows them again by it.

    >>> day = duration("1 day")
    >>> w = for_loop("2026-03-01", lambda t: t < instant("2026-04-01"), lambda t: Instant(t + day),
    ...              lambda t: t - day, lambda t: t, text=("(t = …; t < …; t = t + 1 day)", "t - 1 day", "t"))
    >>> str(w)
    '[FOR (t = …; t < …; t = t + 1 day) FROM t - 1 day TO t]'
    """
    loop, *shown = ("(t = …; …; …)", "begin(t)", "end(t)") if text is None else text
    scope = Scope(measure, *(OfInstant(n, f, text is not None) for n, f in zip(shown, (begin, end), strict=True)))
    return WindowSpec(Loop(loop, instant(init), condition, evolution, text is not None), scope)


def two_rates(width: str | int, slide: str, between: tuple[str, str], otherwise: str, zone: str = "UTC") -> WindowSpec:
    """RANGE or ROWS with one rate between two times of day and another one outside (000 example 5).

    >>> str(two_rates("1 h", "1 min", ("07:00", "20:00"), "30 min"))
    "[RANGE 1 HOUR SLIDE 1 MINUTE BETWEEN '07:00' AND '20:00' ELSE SLIDE 30 MINUTES]"
    """
    try:
        start, end = (time.fromisoformat(t) for t in between)
    except ValueError:
        raise WindowError(f"{between} are not times of day", hint="write for example ('07:00', '20:00')") from None
    schedule = TimeOfDay(start, end, duration(slide), duration(otherwise), zone)
    base = rows(width) if isinstance(width, int) else range_(width)
    return WindowSpec(schedule, base.scope)


def moving(width: str, slide: str) -> WindowSpec:
    """RANGE BY width SLIDE BY slide, either of them a distance or a duration (004 §3.2.2).

    >>> str(moving("50 km", "10 km"))
    "[RANGE BY '50 km' RATTR SPACE SLIDE BY '10 km' SATTR SPACE]"
    """
    measure = _measure(width)
    if measure is Measure.POSITION or _measure(slide) is Measure.POSITION:
        raise WindowError("RANGE BY and SLIDE BY are distances or durations", hint="use rows(n, slide='10 km')")
    return WindowSpec(_schedule(slide), Scope(measure, Back(_amount(width, measure)), Back(0)))
