"""The text of a window: the query language's own form where there is one, else the general one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astralq.algebra.calendar import Calendar, calendar_text
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
    format_measure,
)
from astralq.algebra.scopes import Back, BatchStart, Bound, Linear, OfInstant, Scope
from astralq.timeline import Duration, Instant, format_duration, format_instant

if TYPE_CHECKING:
    from astralq.algebra.windows import WindowSpec


def window_text(spec: WindowSpec) -> str:
    """The window without its brackets."""
    parts = []
    if spec.partition:
        parts.append(f"PARTITION BY {', '.join(spec.partition)}")
    parts.append(_named(spec.schedule, spec.scope) or _general(spec.schedule, spec.scope))
    if spec.delay:
        parts.append(f"DELAY {format_measure(spec.schedule.measure, spec.delay)}")
    return " ".join(parts)


def _named(schedule: Schedule, scope: Scope) -> str | None:
    match schedule, scope:
        case Calendar(windows), _:
            return calendar_text(windows)
        case Periodic(Measure.POSITION, 0, 1), Scope(Measure.POSITION, BatchStart(), Back(0)):
            return "LAST BATCH"
        case Periodic(Measure.POSITION, 0, 1), Scope(Measure.POSITION, Linear(0, 0), Back(0)):
            return "UNBOUNDED"
        case Periodic(), Scope(Measure.POSITION, Linear(0, 0), Back(0)) if _natural_first(schedule):
            return f"UNBOUNDED SLIDE {format_measure(schedule.measure, schedule.every)}"
        case Sessions(gap), _:
            return f"SESSION {format_duration(gap)}"
        case Continuous(), Scope(Measure.TIME, Back(0), Back(0)):
            return "NOW"
        case AtInstants((te,)), Scope(
            Measure.TIME, Linear(0, ts, Anchor.ABSOLUTE), Linear(0, end, Anchor.ABSOLUTE)
        ) if te == end:
            return f"FIXED FROM {_moment(ts)} TO {_moment(te)}"
        case Periodic(Measure.TIME, ts, every, Anchor.ABSOLUTE), Scope(
            Measure.TIME, Linear(0, start, Anchor.ABSOLUTE), Back(0)
        ) if ts == start:
            return f"LANDMARK {_moment(ts)} SLIDE {format_duration(Duration(every))}"
        case Periodic(Measure.TIME, first, every, Anchor.ALIGNED), Scope(Measure.TIME, Back(size), Back(1)):
            x, y, o = (format_duration(Duration(d)) for d in (size, every, (first - size) % every))
            offset = f" OFFSET {o}" if (first - size) % every else ""
            return f"TUMBLE {x}{offset}" if size == every else f"HOP {x} EVERY {y}{offset}"
        case _, Scope(_, Back(_), Back(_)):
            return _counted_back(schedule, scope)
    return None


def _counted_back(schedule: Schedule, scope: Scope) -> str | None:
    """RANGE and ROWS with a slide, and SNEEql's FROM … TO ….."""
    assert isinstance(scope.lo, Back)
    assert isinstance(scope.hi, Back)
    lo, hi = scope.lo.amount, scope.hi.amount
    if isinstance(schedule, Periodic) and not _natural_first(schedule):
        return None
    if hi != 0:
        if not isinstance(schedule, Periodic) or schedule.measure is not scope.measure:
            return None
        slide = format_measure(schedule.measure, schedule.every)
        ends = " TO ".join(f"NOW - {format_measure(scope.measure, v)}" if v else "NOW" for v in (lo, hi))
        return f"FROM {ends} SLIDE {slide}"
    if Measure.DISTANCE in (schedule.measure, scope.measure):
        return _spatial(schedule, scope, lo)
    held = f"ROWS {lo + 1}" if scope.measure is Measure.POSITION else f"RANGE {format_duration(Duration(lo))}"
    match schedule:
        case Continuous():
            return held if scope.measure is Measure.TIME else None
        case Periodic(Measure.POSITION, _, 1) if scope.measure is Measure.POSITION:
            return held
        case Periodic():
            return f"{held} SLIDE {format_measure(schedule.measure, schedule.every)}"
        case TimeOfDay():
            return f"{held} SLIDE {_two_rates(schedule)}"
        case AtInstants():
            return f"{_instants(schedule)} {held}"
    return None


def _natural_first(schedule: Periodic) -> bool:
    """Whether the first evaluation is where RANGE and ROWS have it."""
    natural = schedule.every - 1 if schedule.measure is Measure.POSITION else 0
    return schedule.anchor is Anchor.T0 and schedule.first == natural


def _spatial(schedule: Schedule, scope: Scope, width: int) -> str | None:
    if not isinstance(schedule, Periodic):
        return None
    if Measure.POSITION in (schedule.measure, scope.measure):
        held = (
            f"ROWS {width + 1}"
            if scope.measure is Measure.POSITION
            else f"RANGE {format_measure(scope.measure, width)}"
        )
        return f"{held} SLIDE {format_measure(schedule.measure, schedule.every)}"
    attr = {Measure.DISTANCE: "SPACE", Measure.TIME: "TIME"}
    held = format_measure(scope.measure, width)
    slide = format_measure(schedule.measure, schedule.every)
    return f"RANGE BY '{held}' RATTR {attr[scope.measure]} SLIDE BY '{slide}' SATTR {attr[schedule.measure]}"


def _instants(schedule: AtInstants) -> str:
    return f"AT {', '.join(map(_moment, schedule.instants))}"


def _two_rates(schedule: TimeOfDay) -> str:
    inside, outside = format_duration(schedule.inside), format_duration(schedule.outside)
    start, end = (
        t.isoformat("auto" if t.second or t.microsecond else "minutes") for t in (schedule.start, schedule.end)
    )
    zone = f" AT TIME ZONE '{schedule.zone}'" if schedule.zone != "UTC" else ""
    return f"{inside} BETWEEN '{start}' AND '{end}' ELSE SLIDE {outside}{zone}"


def _moment(t: int) -> str:
    return f"TIMESTAMP '{format_instant(Instant(t))}'"


def _general(schedule: Schedule, scope: Scope) -> str:
    lo, hi = _bound(scope.lo, scope), _bound(scope.hi, scope)
    match schedule:
        case Periodic():
            rate = format_measure(schedule.measure, schedule.every)
            return f"ALPHA {lo} BETA {hi} RATE {rate}{_first(schedule, scope)}"
        case Loop():
            return f"FOR {schedule.text} FROM {lo} TO {hi}"
        case AtInstants():
            return f"{_instants(schedule)} FROM {lo} TO {hi}"
        case TimeOfDay():
            return f"FROM {lo} TO {hi} SLIDE {_two_rates(schedule)}"
    return f"FROM {lo} TO {hi}"


def _first(schedule: Periodic, scope: Scope) -> str:
    if isinstance(scope.hi, Linear) and scope.hi.offset == schedule.first:
        return ""
    return f" FIRST {format_measure(schedule.measure, schedule.first)}"


def _bound(bound: Bound, scope: Scope) -> str:
    match bound:
        case Linear():
            if scope.measure is Measure.POSITION:
                slope, offset = str(bound.slope), str(bound.offset)
            else:
                slope, offset = (format_measure(scope.measure, v) for v in (bound.slope, bound.offset))
            parts = [f"{slope}*j"] if bound.slope else []
            parts += [offset] if bound.offset or not parts else []
            return " + ".join(parts)
        case Back():
            return f"NOW - {format_measure(scope.measure, bound.amount)}" if bound.amount else "NOW"
        case OfInstant():
            return bound.text
    return "BATCH START"
