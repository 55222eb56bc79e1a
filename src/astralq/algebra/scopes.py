"""Scopes: what the j-th window of a sequence holds, lo(j) ≤ m(s) ≤ hi(j), both ends closed (000 D8, 001 D26)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice

from astralq.algebra.schedules import Anchor, Measure, Periodic, Schedule, TimeSchedule, format_measure
from astralq.errors import WindowError
from astralq.timeline import EPOCH, MAX_INSTANT, Instant, format_instant


@dataclass(frozen=True)
class Linear:
    """slope·j + offset: times from the anchor, positions and distances from 0.

    It is the linear form before clipping (SEMANTICS.md §2): a bound below the beginning finds nothing there.
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
    """Any function of the evaluation's instant, for aperiodic windows (000 D12)."""

    text: str
    function: Callable[[Instant], int] = field(compare=False, repr=False)


Bound = Linear | Back | BatchStart | OfInstant


@dataclass(frozen=True)
class Scope:
    """The tuples s with lo(j) ≤ m(s) ≤ hi(j) on a measure m; both bounds are closed."""

    measure: Measure
    lo: Bound
    hi: Bound

    @property
    def fixed_width(self) -> int | None:
        """hi − lo if it is the same for all j."""
        match self.lo, self.hi:
            case Back(a), Back(b):
                return a - b
            case Linear(a, b, anchor), Linear(c, d, other) if a == c and anchor == other:
                return d - b
        return None


CHECKED_RULES = 1000
"""How many windows of an aperiodic sequence are checked when it is built."""


def check_window(schedule: Schedule, scope: Scope, delay: int) -> None:
    """Raises unless bounds never decrease, lo(j) ≤ hi(j), and hi(j) can be reached at E_j, for all j."""
    if delay < 0:
        raise WindowError(f"the delay is {format_measure(schedule.measure, delay)}", hint="a window cannot be early")
    for bound in (scope.lo, scope.hi):
        _check_kind(bound, schedule, scope)
    if isinstance(scope.lo, OfInstant) or isinstance(scope.hi, OfInstant):
        _check_rules(schedule, scope)
        return
    lo, hi = _as_linear(scope.lo, schedule, scope), _as_linear(scope.hi, schedule, scope)
    if isinstance(scope.lo, BatchStart):
        lo = hi
    assert lo is not None
    assert hi is not None
    for name, bound in (("lower", lo), ("upper", hi)):
        if bound.slope < 0:
            raise WindowError(
                f"the {name} bound decreases: window 1 has it at {_at(scope, bound(1), bound)}, "
                f"window 0 at {_at(scope, bound(0), bound)}",
                hint="bounds never move back; use a factor of j that is not negative",
            )
    if lo.anchor == hi.anchor:
        _check_order(scope, lo, hi)
        end = _as_linear(Back(0), schedule, scope)
        assert end is not None
        if hi.anchor == end.anchor:
            _check_reachable(scope, hi, end)


def _check_kind(bound: Bound, schedule: Schedule, scope: Scope) -> None:
    """Whether this kind of bound has a meaning on this scope and schedule."""
    if isinstance(bound, BatchStart) and (scope.measure is not Measure.POSITION or bound is scope.hi):
        raise WindowError("the start of a batch is a lower bound in positions")
    if isinstance(bound, OfInstant) and schedule.measure is not Measure.TIME:
        raise WindowError(
            f"the bound {bound.text} is a function of instants, but the schedule is on {schedule.measure.value}",
            hint="give a schedule of instants",
        )
    if isinstance(bound, Linear) and not _linear_allowed(bound, schedule, scope):
        raise WindowError(
            f"a {scope.measure.value} bound counted in windows needs a rate in {scope.measure.value}: whether "
            "it can be reached would depend on the data",
            hint="count back from the evaluation instead, as RANGE and ROWS do",
        )


def _linear_allowed(bound: Linear, schedule: Schedule, scope: Scope) -> bool:
    if bound.slope == 0 and bound is scope.lo:
        return True  # a landmark: nothing to reach
    return schedule.measure is scope.measure and (bound.slope == 0 or isinstance(schedule, Periodic))


def _as_linear(bound: Bound, schedule: Schedule, scope: Scope) -> Linear | None:
    """The bound as slope·j + offset; one counted back across measures is taken relative to the evaluation."""
    if isinstance(bound, Linear):
        return bound
    back = bound.amount if isinstance(bound, Back) else 0
    if isinstance(schedule, Periodic) and schedule.measure is scope.measure:
        anchor = schedule.anchor if scope.measure is Measure.TIME else Anchor.T0
        return Linear(schedule.every, schedule.first - back, anchor)
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
    before: tuple[int, int] | None = None
    evaluations = schedule.between(EPOCH, EPOCH, MAX_INSTANT)
    for j, e in enumerate(islice(evaluations, CHECKED_RULES)):
        before = check_rule_window(scope, j, e, before)


def check_rule_window(scope: Scope, j: int, e: Instant, before: tuple[int, int] | None) -> tuple[int, int]:
    """The bounds of the window evaluated at e, checked against those of the window before it."""

    def value(bound: Bound) -> int:
        if isinstance(bound, OfInstant):
            return bound.function(e)
        if isinstance(bound, Back):
            return e - bound.amount
        assert isinstance(bound, Linear)
        return bound(j)

    lo, hi = value(scope.lo), value(scope.hi)
    here = f"window {j}, evaluated at {format_instant(e)},"
    shown = tuple(_shown(scope, v) for v in (lo, hi))
    if lo > hi:
        raise WindowError(f"{here} begins at {shown[0]}, after its end at {shown[1]}")
    if scope.measure is Measure.TIME and hi > e:
        raise WindowError(f"{here} ends at {shown[1]}, before which it cannot be known")
    if before is not None and (lo < before[0] or hi < before[1]):
        what = "lower" if lo < before[0] else "upper"
        raise WindowError(f"{here} has its {what} bound before that of the window before it")
    return lo, hi


def _shown(scope: Scope, value: int) -> str:
    return format_instant(Instant(value)) if scope.measure is Measure.TIME else f"position {value}"


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
