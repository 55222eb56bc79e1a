"""Windows by time: schedule and scope both on time, so that a tuple's own stamp says when it enters and leaves.

It enters at the first evaluation whose upper bound has reached it, and leaves at the first whose lower bound has passed
it: closed forms where the schedule is periodic or continuous, a lookup in the list of evaluations where it is not.
"""

from __future__ import annotations

from dataclasses import dataclass

from astralq.algebra.calendar import Calendar
from astralq.algebra.retention import holds_all_at_once, is_landmark
from astralq.algebra.schedules import Continuous, Periodic, Sessions
from astralq.algebra.scopes import Back
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, col, lit
from astralq.plan.encoding.batches import NEVER, at, greatest
from astralq.plan.encoding.tables import RelationTable, StreamTable
from astralq.plan.table import Table
from astralq.plan.windows.arithmetic import evaluation, first_at_least, first_beyond
from astralq.plan.windows.evaluations import Evaluations
from astralq.plan.windows.result import WindowOf
from astralq.plan.windows.sessions import in_sessions
from astralq.timeline import Instant


@dataclass(frozen=True)
class _Stay:
    """When each tuple enters and leaves, NULL for never; `lifetime` if that is equally long for all of them."""

    rows: Table
    enter: Column
    leave: Column
    lifetime: int | None = None
    within: tuple[Instant, Instant] | None = None  # the closed interval in which all of them enter, if that is known


def by_time(window: WindowOf, stream: StreamTable) -> RelationTable:
    """A window whose schedule and scope are both on time."""
    spec = window.spec
    if holds_all_at_once(spec):
        return window.relation(stream, stream.rows, stream.batch, at(NEVER), append_only=True)
    match spec.schedule:
        case Sessions():
            stay = _Stay(in_sessions(window, stream), col("enter"), col("leave"))
        case Continuous():
            stay = _at_entries_and_exits(window, stream)
        case Periodic():
            stay = _in_steps(window, stream)
        case _:
            stay = _at_instants(window, stream)
    enter, leave = stay.enter, stay.leave
    if stay.lifetime is None:
        enter, leave = (F.coalesce(e, lit(NEVER)) for e in (enter, leave))
    # An evaluation that has reached a tuple is not before it; batches of its own instant can be.
    at_once = stream.one_batch or isinstance(spec.schedule, Sessions)
    start = at(enter) if at_once else greatest(at(enter), stream.batch)
    return window.relation(
        stream,
        stay.rows,
        start,
        at(leave),
        lifetime=stay.lifetime,
        append_only=is_landmark(spec.scope.lo),
        pane_aligned=not isinstance(spec.schedule, Continuous),
        steps=_steps(window) if stream.one_batch else None,
        separate_by=_separate_by(window, stream),
        within=stay.within,
    )


def _separate_by(window: WindowOf, stream: StreamTable) -> tuple[str, ...] | None:
    """The columns whose parts have windows that do not overlap: of sessions those of the partition, of TUMBLE none."""
    match window.spec.schedule:
        case Sessions():
            return tuple(f"c{stream.schema.index(n)}" for n in window.spec.partition)
        case Calendar(windows) if windows.size == windows.step:
            return ()
    return None


def _steps(window: WindowOf) -> int | None:
    """About how many evaluations of a periodic schedule are in what a run looks at."""
    schedule, (first, last) = window.spec.schedule, window.run.expected_interval
    return (last - first) // schedule.every + 2 if isinstance(schedule, Periodic) else None


def _width(lo: Back, hi: Back) -> int:
    return lo.amount + 1 - hi.amount


def _at_entries_and_exits(window: WindowOf, stream: StreamTable) -> _Stay:
    """RANGE x without a slide: in from its own instant, out one microsecond after x."""
    lo, hi = window.spec.scope.lo, window.spec.scope.hi
    assert isinstance(lo, Back)
    assert isinstance(hi, Back)
    lifetime = _width(lo, hi) if stream.one_batch else None
    return _Stay(stream.rows, col("t") + lit(hi.amount), col("t") + lit(lo.amount + 1), lifetime)


def _in_steps(window: WindowOf, stream: StreamTable) -> _Stay:
    """RANGE x SLIDE y and its like: from one evaluation to another."""
    schedule, lo, hi = window.spec.schedule, window.spec.scope.lo, window.spec.scope.hi
    assert isinstance(schedule, Periodic)
    every, origin, first = schedule.every, schedule.origin(window.run.t0), window.run.first_possible
    enter = evaluation(first_at_least(window.linear(hi), col("t"), first), every, origin)
    if isinstance(lo, Back) and isinstance(hi, Back) and _width(lo, hi) % every == 0:
        # Before the first evaluation all tuples wait for it, so that some stay for a shorter time.
        waits = first + hi.amount < origin
        if not waits:
            rows, within = _entering(window, stream, hi)
            return _Stay(rows, enter, enter + lit(_width(lo, hi)), _width(lo, hi), within)
    return _Stay(stream.rows, enter, evaluation(first_beyond(window.linear(lo), col("t")), every, origin))


def _entering(window: WindowOf, stream: StreamTable, hi: Back) -> tuple[Table, tuple[Instant, Instant] | None]:
    """The tuples that enter up to the end of a run, where that is given, and the closed interval in which they do: to
    compare their timestamps costs less than to compute evaluations first."""
    run, schedule = window.run, window.spec.schedule
    assert isinstance(schedule, Periodic)
    if run.until is None or run.state is not None or not stream.one_batch or hi.amount < 0:
        return stream.rows, None
    last = (run.until - window.spec.delay - schedule.origin(run.t0)) // schedule.every
    if last < 0:
        return stream.rows, None
    latest = window.linear(hi)(last)
    return stream.rows.where(col("t") <= lit(latest)), (run.first_possible, run.until)


def _at_instants(window: WindowOf, stream: StreamTable) -> _Stay:
    """An aperiodic schedule (000 D12): entry and exit are looked up in the list of evaluations."""
    table = Evaluations.of(window.spec, window.run, stream.rows, kept=bool(window.name))
    cut = window.run.time_cut
    rows = table.entering(stream.rows.with_column("_v", col("t")), cut, "enter")
    return _Stay(table.leaving(rows, cut, "leave"), col("enter"), col("leave"))
