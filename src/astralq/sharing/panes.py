"""Common panes: stretches of time whose tuples several windows take in and let go together (factor windows).

A window on time takes a tuple in with the first evaluation whose upper bound reaches it, and lets it go with the first
whose lower bound has passed it. So tuples between two neighbouring bounds behave alike, whatever the window's size and
slide; and what behaves alike in all windows can be aggregated once for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd

from astralq.algebra.panes import PaneGrid
from astralq.algebra.schedules import Measure, Periodic, format_measure
from astralq.algebra.scopes import Back, Bound, Linear
from astralq.algebra.windows import WindowSpec
from astralq.timeline import Instant


def pane_grid(windows: Sequence[tuple[WindowSpec, Instant]]) -> PaneGrid | str:
    """The coarsest grid that these windows have in common, each from its query's start; or why there is none."""
    bounds: list[Linear] = []
    for spec, t0 in windows:
        found = _bounds(spec, t0)
        if isinstance(found, str):
            return found
        bounds += found
    step = gcd(*(b.slope for b in bounds))
    cuts = {b.offset % step for b in bounds} | {(t0 - 1) % step for _, t0 in windows}
    return PaneGrid(step, tuple(sorted(cuts)))


def needed_for(spec: WindowSpec, t0: Instant) -> int:
    """How long after its instant a tuple can be in a window that moves: evaluations begin less than so much later."""
    schedule = spec.schedule
    assert isinstance(schedule, Periodic)
    lo = _linear(spec.scope.lo, schedule, t0)
    assert lo is not None
    return max(0, schedule.origin(t0) + spec.delay - lo.offset) + schedule.every


def lets_go(spec: WindowSpec) -> bool:
    """Whether a window's lower bound moves with its evaluations, so that each tuple leaves."""
    schedule, lo = spec.schedule, spec.scope.lo
    return isinstance(lo, Back) or (isinstance(lo, Linear) and lo.slope == getattr(schedule, "every", None))


def _bounds(spec: WindowSpec, t0: Instant) -> list[Linear] | str:
    """After which instants a window tells tuples apart: its upper bounds, and those right before its lower bounds."""
    schedule = spec.schedule
    if spec.measures != {Measure.TIME}:
        return f"{spec} does not go by time alone"
    if not isinstance(schedule, Periodic):
        return f"{spec} is not evaluated in steps"
    lo, hi = (_linear(b, schedule, t0) for b in (spec.scope.lo, spec.scope.hi))
    if hi is None or hi.slope == 0 or lo is None:
        return f"{spec} is not bounded in steps"
    if lo.slope == 0 and lo.offset > t0:
        return f"{spec} begins after its query"
    return [hi] if lo.slope == 0 else [hi, Linear(lo.slope, lo.offset - 1)]


def _linear(bound: Bound, schedule: Periodic, t0: Instant) -> Linear | None:
    """slope·j + offset, as instants."""
    match bound:
        case Linear():
            return Linear(bound.slope, bound.value(0, t0, Measure.TIME))
        case Back(amount):
            return Linear(schedule.every, schedule.origin(t0) - amount)
    return None


def fits_grid(spec: WindowSpec, t0: Instant, grid: PaneGrid) -> bool:
    """Whether the panes of a grid do not cross a bound of a window, nor the start of its query."""
    mine = pane_grid([(spec, t0)])
    if isinstance(mine, str) or mine.step % grid.step:
        return False
    return {c % grid.step for c in mine.after} <= set(grid.after)


def panes_pay(grid: PaneGrid, queries: int, alone: float, rows: int, span: int, groups: int) -> bool:
    """Whether common panes are cheaper: rows are aggregated once, and each query reads panes instead of rows; `alone`
    is how often all rows would be aggregated without."""
    panes = min(rows, groups * grid.panes_in(span))
    return rows + queries * panes < alone * rows


def panes_are_fewer(grid: PaneGrid, windows: Sequence[tuple[WindowSpec, Instant]]) -> bool:
    """Whether common panes are not more than those that each window would have, where rows are not known."""
    each = Fraction(0)
    for window in windows:
        mine = pane_grid([window])
        assert not isinstance(mine, str)
        each += Fraction(len(mine.after), mine.step)
    return Fraction(len(grid.after), grid.step) <= each


def too_fine(grid: PaneGrid, windows: Sequence[tuple[WindowSpec, Instant]]) -> str:
    """Why panes do not pay, for a person."""
    texts = " and ".join(dict.fromkeys(str(spec) for spec, _ in windows))
    step = format_measure(Measure.TIME, grid.step)
    return f"{texts} have only panes of {step} in common, which are not much fewer than rows"
