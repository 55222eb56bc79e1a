"""Windows that count rows, or measure distance: by positions in each part, and lookups of other positions."""

from __future__ import annotations

from dataclasses import replace

from astralq.algebra.retention import is_landmark
from astralq.algebra.schedules import Measure, Periodic
from astralq.algebra.scopes import BatchStart, Linear, OfInstant, fixed_width
from astralq.algebra.windows import WindowSpec
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import col, lit
from astralq.plan.encoding.batches import NEVER, at, choose, greatest
from astralq.plan.encoding.tables import RelationTable, StreamTable
from astralq.plan.run import Run
from astralq.plan.state.epochs import MANY, last_of_steps
from astralq.plan.windows.arithmetic import at_least_zero
from astralq.plan.windows.evaluations import Evaluations
from astralq.plan.windows.events import Events, is_direct
from astralq.plan.windows.positions import Positions
from astralq.plan.windows.result import WindowOf
from astralq.plan.windows.steps import moves_in_steps


def by_position(window: WindowOf, stream: StreamTable, positions: Positions) -> RelationTable:
    """A window whose schedule or scope is on positions or on the odometer."""
    spec, run = window.spec, window.run
    scope = spec.scope
    if Measure.DISTANCE in spec.measures:
        positions = positions.with_odometer()
    in_steps = moves_in_steps(window)
    if _needs_batches(spec) and not in_steps:
        positions = positions.with_batches()
    if not (is_direct(spec) and spec.partition):
        positions = positions.settled()
    if spec.schedule.measure is Measure.TIME and isinstance(scope.hi, OfInstant):
        return _by_instant(window, stream, positions)
    events = Events(window)
    positions, enter = events.event(positions, "enter")
    positions, leave = events.event(positions, "leave")
    # What is not needed any more will be looked for in it too.
    rows = run.materialized(positions.rows) if window.name and _many_come(run) else positions.rows
    if scope.measure is not Measure.POSITION:
        enter = greatest(enter, positions.batch)
    elif isinstance(scope.lo, Linear) and scope.lo.slope == 0:
        inside = col("p") >= scope.lo.offset
        enter, leave = choose(inside, enter, at(NEVER)), choose(inside, leave, at(-NEVER))
    return window.relation(
        stream,
        rows,
        enter,
        leave,
        append_only=is_landmark(scope.lo),
        pane_aligned=in_steps or (run.state is None and _evaluated_by_distance(spec)),
        steps=run.expected_rows // spec.schedule.every if in_steps and isinstance(spec.schedule, Periodic) else None,
    )


def _evaluated_by_distance(spec: WindowSpec) -> bool:
    """Whether all that comes between two evaluations enters together: every so far, over what was travelled."""
    return spec.measures == {Measure.DISTANCE} and isinstance(spec.schedule, Periodic)


def _needs_batches(spec: WindowSpec) -> bool:
    """Whether the ends of batches decide; where one row's evaluation is its own batch they do not."""
    scope = spec.scope
    if isinstance(scope.lo, BatchStart) or isinstance(scope.hi, OfInstant):
        return True
    if scope.measure is Measure.DISTANCE:
        return spec.schedule.measure is Measure.POSITION
    return scope.measure is Measure.POSITION and not is_direct(spec)


def _many_come(run: Run) -> bool:
    return run.new_rows is not None and run.new_rows >= MANY


def worth_keeping(window: WindowOf, stream: StreamTable) -> StreamTable:
    """Without new tuples that come and go between two evaluations, where there are many of them."""
    spec, schedule = window.spec, window.spec.schedule
    width = fixed_width(schedule, spec.scope)
    if not (_many_come(window.run) and spec.partition and is_direct(spec) and stream.one_batch) or width is None:
        return stream
    if not (isinstance(schedule, Periodic) and schedule.measure is Measure.TIME):
        return stream
    step = at_least_zero(col("t"), -schedule.origin(window.run.t0), schedule.every)
    return last_of_steps(stream, spec.partition, width, step)


def _by_instant(window: WindowOf, stream: StreamTable, positions: Positions) -> RelationTable:
    """Aperiodic windows whose bounds in positions or distance are functions of the instant (000 D12)."""
    spec = window.spec
    table = Evaluations.of(spec, window.run, stream.rows)
    in_positions = spec.scope.measure is Measure.POSITION
    table.check_reached(positions)
    cut = window.run.position_cut
    width = fixed_width(spec.schedule, spec.scope)
    rows = positions.rows
    rows = table.entering(rows.with_column("_v", col("b0" if in_positions else "d")), cut, "enter")
    if in_positions and width is not None:
        positions = replace(positions, rows=rows)
        positions = positions.batch_at(col("p") + (width + 1), "other", ["b0"])
        moved = positions.rows.with_column("_v", F.coalesce(col("other_b0"), lit(NEVER)))
        rows = table.entering(moved, cut, "leave")
    else:
        rows = table.leaving(rows.with_column("_v", col("p" if in_positions else "d")), cut, "leave")
    start = greatest(at(F.coalesce(col("enter"), lit(NEVER))), positions.batch)
    return window.relation(stream, rows, start, at(F.coalesce(col("leave"), lit(NEVER))))
