"""Scopes: what the j-th window of a sequence holds, lo(j) ≤ m(s) ≤ hi(j), both ends closed (000 D8, 001 D26)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice

from astralq.algebra.schedules import (
    Anchor,
    AtInstants,
    Continuous,
    Measure,
    Periodic,
    Schedule,
    Sessions,
    TimeSchedule,
    format_measure,
)
from astralq.errors import WindowError
from astralq.timeline import MAX_INSTANT, MIN_INSTANT, Instant, format_instant


@dataclass(frozen=True)
class Linear:
    """slope·j + offset: times from the anchor, positions and distances from 0.

    It is the linear form before clipping (docs/decisions.md): a bound below the beginning finds nothing there.
    """

    slope: int
    offset: int
    anchor: Anchor = Anchor.T0

    def __call__(self, j: int) -> int:
        return self.slope * j + self.offset

    def value(self, j: int, t0: Instant, measure: Measure) -> int:
        moved = measure is Measure.TIME and self.anchor is Anchor.T0
        return self(j) + (t0 if moved else 0)


@dataclass(frozen=True)
class Back:
    """e − amount: counted back from the evaluation, in the scope's own measure."""

    amount: int


@dataclass(frozen=True)
class BatchStart:
    """The first position of the batch that holds the upper bound: the lower bound of [B] (001 table 1)."""


@dataclass(frozen=True)
class OfInstant:
    """Any function of the evaluation's instant, for aperiodic windows (000 D12).

    Bounds are equal if their functions are; `named`: the text is the function's name, by which it is known again.
    """

    text: str = field(compare=False)
    function: Callable[[Instant], int] = field(repr=False)
    named: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True)
class OfSession:
    """The instant of a session's first tuple, or of its last one."""

    last: bool


Bound = Linear | Back | BatchStart | OfInstant | OfSession


@dataclass(frozen=True)
class Scope:
    """The tuples s with lo(j) ≤ m(s) ≤ hi(j) on a measure m; both bounds are closed."""

    measure: Measure
    lo: Bound
    hi: Bound


def fixed_width(schedule: Schedule, scope: Scope) -> int | None:
    """hi − lo if it is the same for all j.

    Rules are functions, so it is what their first windows have: all of them for a list of instants.
    """
    if isinstance(scope.lo, BatchStart | OfSession):
        return None
    if isinstance(scope.lo, OfInstant) != isinstance(scope.hi, OfInstant):
        return None
    if isinstance(scope.lo, OfInstant) and isinstance(scope.hi, OfInstant):
        assert isinstance(schedule, TimeSchedule)
        lo, hi = scope.lo.function, scope.hi.function
        widths = {hi(e) - lo(e) for e in islice(schedule.absolute(), CHECKED_RULES)}
        return widths.pop() if len(widths) == 1 else None
    a, b = (_as_linear(bound, schedule, scope) for bound in (scope.lo, scope.hi))
    if a is None or b is None or a.slope != b.slope or a.anchor is not b.anchor:
        return None
    return b.offset - a.offset


CHECKED_RULES = 1000
"""How many windows of an aperiodic sequence are checked when it is built."""


def check_window(schedule: Schedule, scope: Scope, delay: int = 0, t0: Instant | None = None) -> None:
    """Raises unless bounds never decrease, lo(j) ≤ hi(j), and hi(j) can be reached at E_j, for all j.

    What depends on t0, because some times are absolute and others relative to it, is checked once it is given.
    """
    if delay < 0:
        raise WindowError(f"the delay is {format_measure(schedule.measure, delay)}", hint="a window cannot be early")
    _check_kinds(schedule, scope)
    if isinstance(schedule, Sessions):
        return
    if isinstance(scope.lo, OfInstant) or isinstance(scope.hi, OfInstant):
        _check_rules(schedule, scope)
        return
    hi = _as_linear(scope.hi, schedule, scope, t0)
    lo = hi if isinstance(scope.lo, BatchStart) else _as_linear(scope.lo, schedule, scope, t0)
    end = _as_linear(Back(0), schedule, scope, t0)
    assert lo is not None
    assert hi is not None
    for name, bound in (("lower", lo), ("upper", hi)):
        if bound.slope < 0:
            raise WindowError(
                f"the {name} bound decreases: window 1 has it at {_at(scope, bound(1), bound)}, "
                f"window 0 at {_at(scope, bound(0), bound)}",
                hint="bounds never move back; use a factor of j that is not negative",
            )
    if lo.anchor is hi.anchor:
        _check_order(scope, lo, hi)
    if isinstance(schedule, AtInstants) and hi.anchor is Anchor.ABSOLUTE:
        end = Linear(0, schedule.instants[0], Anchor.ABSOLUTE)
    if end is not None and hi.anchor is end.anchor:
        _check_reachable(scope, hi, end)


def _check_kinds(schedule: Schedule, scope: Scope) -> None:
    """Whether these kinds of bounds have a meaning on this scope and schedule."""
    if isinstance(scope.hi, BatchStart) or (isinstance(scope.lo, BatchStart) and scope.measure is not Measure.POSITION):
        raise WindowError("the start of a batch is a lower bound in positions")
    if isinstance(schedule, Continuous) and not (isinstance(scope.lo, Back) and isinstance(scope.hi, Back)):
        raise WindowError(
            "a window that is evaluated at every instant counts its bounds back from it", hint="give it a slide"
        )
    of_session = Scope(Measure.TIME, OfSession(last=False), OfSession(last=True))
    if isinstance(schedule, Sessions) != (scope == of_session):
        raise WindowError("a session is held from its first tuple to its last, when it is over", hint="use session(…)")
    for is_lower, bound in ((True, scope.lo), (False, scope.hi)):
        if isinstance(bound, OfInstant) and schedule.measure is not Measure.TIME:
            raise WindowError(
                f"the bound {bound.text} is a function of instants, but the schedule is on {schedule.measure.value}",
                hint="give a schedule of instants",
            )
        if isinstance(bound, Linear) and not _linear_allowed(bound, schedule, scope, is_lower=is_lower):
            raise WindowError(
                f"a {scope.measure.value} bound counted in windows needs a rate in {scope.measure.value}: whether "
                "it can be reached would depend on the data",
                hint="count back from the evaluation instead, as RANGE and ROWS do",
            )


def _linear_allowed(bound: Linear, schedule: Schedule, scope: Scope, *, is_lower: bool) -> bool:
    if bound.slope == 0 and is_lower:
        return True  # a landmark: nothing to reach
    return schedule.measure is scope.measure and (bound.slope == 0 or isinstance(schedule, Periodic))


def _as_linear(bound: Bound, schedule: Schedule, scope: Scope, t0: Instant | None = None) -> Linear | None:
    """The bound as slope·j + offset; one counted back across measures is taken relative to the evaluation.

    With t0 all times are absolute.
    """
    if isinstance(bound, Linear):
        moved = t0 is not None and scope.measure is Measure.TIME and bound.anchor is Anchor.T0
        return Linear(bound.slope, bound.offset + (t0 or 0), Anchor.ABSOLUTE) if moved else bound
    back = bound.amount if isinstance(bound, Back) else 0
    if isinstance(schedule, Periodic) and schedule.measure is scope.measure:
        if scope.measure is not Measure.TIME:
            return Linear(schedule.every, schedule.first - back)
        if t0 is not None:
            return Linear(schedule.every, schedule.origin(t0) - back, Anchor.ABSOLUTE)
        return Linear(schedule.every, schedule.first - back, schedule.anchor)
    # Aperiodic or cross-domain: only the distance from the evaluation counts, whatever j.
    return Linear(0, -back, Anchor.ALIGNED)


def _check_order(scope: Scope, lo: Linear, hi: Linear) -> None:
    """lo(j) ≤ hi(j) for all j ≥ 0, else an error that names the first j."""
    if lo(0) > hi(0):
        j = 0
    elif lo.slope > hi.slope:
        j = (hi.offset - lo.offset) // (lo.slope - hi.slope) + 1
    else:
        return
    raise WindowError(
        f"window {j} begins at {_at(scope, lo(j), lo)}, after its end at {_at(scope, hi(j), hi)}",
        hint="the lower bound is at or before the upper one in every window",
    )


def _check_reachable(scope: Scope, hi: Linear, end: Linear) -> None:
    """hi(j) ≤ E_j for all j ≥ 0, else an error that names the first j."""
    if hi(0) > end(0):
        j = 0
    elif hi.slope > end.slope:
        j = (end.offset - hi.offset) // (hi.slope - end.slope) + 1
    else:
        return
    raise WindowError(
        f"window {j} ends at {_at(scope, hi(j), hi)} but is evaluated at {_at(scope, end(j), end)}, before its end",
        hint="the end moves by at most the rate, so that it can be reached",
    )


def _check_rules(schedule: Schedule, scope: Scope) -> None:
    assert isinstance(schedule, TimeSchedule)
    check_rules(scope, islice(schedule.absolute(), CHECKED_RULES))


def check_rules(scope: Scope, evaluations: Iterable[Instant]) -> None:
    """Checks the windows evaluated at these instants, the first ones of a schedule, one after the other."""
    before: tuple[int | None, int | None] = (None, None)
    for j, e in enumerate(evaluations):
        before = _check_rule_window(scope, j, e, before)


Bounds = tuple[int | None, int | None]


def _check_rule_window(scope: Scope, j: int, e: Instant, before: Bounds) -> Bounds:
    """The bounds of the window evaluated at e, checked against those of the window before it."""

    def value(bound: Bound) -> int | None:
        """None where it depends on the data: positions and distances counted back from the evaluation."""
        found: int | None
        match bound:
            case OfInstant():
                found = bound.function(e)
                if not isinstance(found, int) or isinstance(found, bool):
                    raise WindowError(f"{here} has the bound {bound.text} = {found!r}, which is not a whole number")
                return found
            case Back() if scope.measure is Measure.TIME:
                return e - bound.amount
            case Linear(0, offset, anchor) if scope.measure is not Measure.TIME or anchor is Anchor.ABSOLUTE:
                return offset
        return None

    here = f"window {j}, evaluated at {format_instant(e)},"
    lo, hi = value(scope.lo), value(scope.hi)
    if lo is not None and hi is not None and lo > hi:
        raise WindowError(f"{here} begins at {_shown(scope, lo)}, after its end at {_shown(scope, hi)}")
    if scope.measure is Measure.TIME and hi is not None and hi > e:
        raise WindowError(f"{here} ends at {_shown(scope, hi)}, before which it cannot be known")
    for what, now, then in (("lower", lo, before[0]), ("upper", hi, before[1])):
        if now is not None and then is not None and now < then:
            raise WindowError(f"{here} has its {what} bound before that of the window before it")
    return lo, hi


def _shown(scope: Scope, value: int) -> str:
    if scope.measure is Measure.TIME and not MIN_INSTANT <= value <= MAX_INSTANT:
        return "a time out of range"
    return format_instant(Instant(value)) if scope.measure is Measure.TIME else format_measure(scope.measure, value)


def _at(scope: Scope, value: int, bound: Linear) -> str:
    """A bound's value as a person writes it."""
    if scope.measure is Measure.TIME and bound.anchor is Anchor.ABSOLUTE:
        return format_instant(Instant(value))
    if scope.measure is Measure.POSITION:
        return f"position {value}" if bound.anchor is not Anchor.ALIGNED else f"{value} rows from it"
    text = format_measure(scope.measure, value)
    if scope.measure is Measure.DISTANCE:
        return text
    return f"t0 + {text}" if bound.anchor is Anchor.T0 else f"{text} from it"
