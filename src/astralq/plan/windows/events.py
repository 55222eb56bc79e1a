"""When tuples enter and leave a window that counts rows or distance: the batch of another position, or of a value.

In positions these are the batches of other positions; for mixed measures, those of the first position
that reaches a value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from astralq.algebra.schedules import Continuous, Measure, Periodic
from astralq.algebra.scopes import Back, BatchStart, Linear, OfInstant, fixed_width
from astralq.algebra.windows import WindowSpec
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, col, lit, long
from astralq.plan.encoding.batches import NEVER, Id, at, choose, greatest
from astralq.plan.windows.arithmetic import at_least_zero, evaluation, first_at_least, first_beyond
from astralq.plan.windows.evaluations import Evaluations
from astralq.plan.windows.positions import Positions
from astralq.plan.windows.result import WindowOf
from astralq.plan.windows.steps import Steps, moves_in_steps


def is_direct(spec: WindowSpec) -> bool:
    """Evaluated as tuples come, or on time, with the last tuples up to now: no batch but the tuple's own counts."""
    scope, schedule = spec.scope, spec.schedule
    if scope.measure is not Measure.POSITION or scope.hi != Back(0) or isinstance(scope.lo, BatchStart | OfInstant):
        return False
    if schedule.measure is Measure.TIME:
        return True
    return schedule == Periodic(Measure.POSITION, 0, 1) and spec.delay == 0


@dataclass(frozen=True)
class Events:
    """The entries and exits of a window's tuples."""

    window: WindowOf

    def event(self, positions: Positions, which: str) -> tuple[Positions, Id]:
        """The batch identifier at which each tuple enters or leaves."""
        match self.window.spec.scope.measure:
            case Measure.POSITION:
                return self._in_positions(positions, which)
            case Measure.TIME:
                return self._in_time(positions, which)
        return self._in_distance(positions, which)

    def _never(self, positions: Positions) -> tuple[Positions, Id]:
        return positions, at(NEVER)

    def _in_positions(self, positions: Positions, which: str) -> tuple[Positions, Id]:
        """A scope in positions: it enters with hi at the beginning of its batch, and leaves with hi at the beginning
        of the batch that holds the position width + 1 further on (D28's most recent by φ)."""
        scope, schedule = self.window.spec.scope, self.window.spec.schedule
        width = fixed_width(schedule, scope)
        if which == "leave" and width is None and isinstance(scope.lo, Linear):
            if scope.lo.slope == 0:
                return self._never(positions)
            return self._evaluated(positions, first_beyond(self.window.linear(scope.lo), col("p")), which)
        if is_direct(self.window.spec):
            if which == "enter":
                return self._next_evaluation(positions, positions.batch, which)
            assert width is not None
            positions = positions.batch_later(width + 1, "later")
            return self._next_evaluation(positions, positions.looked_up("later"), which)
        if moves_in_steps(self.window):
            assert width is not None
            sought = col("p") if which == "enter" else col("p") + (width + 1)
            positions = Steps.of(self.window, positions).reaching(positions, sought, which)
            return positions, positions.looked_up(which)
        # The position that hi has to reach
        if which == "enter":
            target: Column = col("b0")
        elif isinstance(scope.lo, BatchStart):
            target = col("b1") + 1
        else:
            assert width is not None
            positions = positions.batch_at(col("p") + (width + 1), "other", ["b0"])
            target = col("other_b0")
        positions = positions.with_columns(**{f"{which}_at": target})
        return self._when_reached(positions, col(f"{which}_at"), which)

    def _when_reached(self, positions: Positions, target: Column, which: str) -> tuple[Positions, Id]:
        """The evaluation at which hi, counted in positions, has reached a position."""
        scope, schedule = self.window.spec.scope, self.window.spec.schedule
        if schedule.measure is Measure.POSITION:
            return self._evaluated(positions, first_at_least(self.window.linear(scope.hi), target), which)
        assert isinstance(scope.hi, Back)
        target = target + lit(scope.hi.amount)
        if schedule.measure is Measure.TIME:
            positions = positions.batch_at(target, f"{which}_b")
            return self._next_evaluation(positions, positions.looked_up(f"{which}_b"), which)
        return self._travelled_to(positions, target, which)

    def _travelled_to(self, positions: Positions, target: Column, which: str) -> tuple[Positions, Id]:
        """The first evaluation every so far that is reached at or after a position: o + j·r > d of the one before."""
        schedule = self.window.spec.schedule
        assert isinstance(schedule, Periodic)
        positions = positions.with_columns(**{f"{which}_target": target})
        here = col(f"{which}_target")
        positions = positions.batch_at(here, f"{which}_x", ["p"])  # whether there is such a position at all
        positions = positions.batch_at(here - 1, f"{which}_y", ["d"])
        j = first_beyond(Linear(schedule.every, schedule.first), col(f"{which}_y_d"))
        j = F.when(here <= 0, long(0)).otherwise(j)
        return self._evaluated(positions, F.when(col(f"{which}_x_p").is_not_null(), j), which)

    def _evaluated(self, positions: Positions, j: Column, which: str) -> tuple[Positions, Id]:
        """The batch of evaluation j of a schedule on positions or distance; NULL: never."""
        schedule = self.window.spec.schedule
        assert isinstance(schedule, Periodic)
        value = f"{which}_e"
        positions = positions.with_columns(
            **{value: j * lit(schedule.every) + lit(schedule.first + self.window.spec.delay)}
        )
        if schedule.measure is Measure.POSITION:
            positions = positions.batch_at(col(value), f"{which}_batch")
            return positions, positions.looked_up(f"{which}_batch")
        positions = positions.first_reaching("d", F.coalesce(col(value), lit(NEVER)), f"{which}_batch")
        return positions, positions.looked_up(f"{which}_batch")

    def _next_evaluation(self, positions: Positions, batch: Id, which: str) -> tuple[Positions, Id]:
        """The first evaluation at or after a batch, on a schedule of instants; every batch at one is itself one."""
        schedule = self.window.spec.schedule
        if schedule.measure is not Measure.TIME or isinstance(schedule, Continuous):
            return positions, batch
        if isinstance(schedule, Periodic):
            every, origin = schedule.every, schedule.origin(self.window.run.t0)
            j = at_least_zero(batch.t, -origin, every)
            e = F.when(batch.t == NEVER, lit(NEVER)).otherwise(evaluation(j, every, origin))
            return positions, choose(e == batch.t, batch, at(e))
        table = Evaluations.of(self.window.spec, self.window.run, positions.table)
        rows = table.following(positions.rows.with_column("_v", batch.t), self.window.run.time_cut, f"{which}_next")
        e = F.coalesce(col(f"{which}_next"), lit(NEVER))
        return replace(positions, rows=rows), choose(e == batch.t, batch, at(e))

    def _in_time(self, positions: Positions, which: str) -> tuple[Positions, Id]:
        """A scope in time with a rate in rows or distance: e is the reaching tuple's instant."""
        scope, schedule = self.window.spec.scope, self.window.spec.schedule
        bound = scope.hi if which == "enter" else scope.lo
        if isinstance(bound, Linear):
            # A landmark: tuples before it are never in, the others stay.
            value = bound.value(0, self.window.run.t0, Measure.TIME)
            return positions, at(F.when(col("t") >= value, lit(NEVER)).otherwise(lit(-NEVER)))
        assert isinstance(bound, Back)
        positions = positions.first_reaching("t", col("t") + lit(bound.amount), f"{which}_r", strict=which == "leave")
        reached = col(f"{which}_r_p")
        if schedule.measure is Measure.POSITION:
            assert isinstance(schedule, Periodic)
            j = first_at_least(Linear(schedule.every, schedule.first), reached)
            return self._evaluated(positions, j, which)
        return self._travelled_to(positions, reached, which)

    def _in_distance(self, positions: Positions, which: str) -> tuple[Positions, Id]:
        """A scope in distance: on its own rate linear in j, else counted back from where the evaluation finds it."""
        scope, schedule = self.window.spec.scope, self.window.spec.schedule
        bound = scope.hi if which == "enter" else scope.lo
        travelled = col("d")
        if schedule.measure is Measure.DISTANCE:
            first = first_at_least if which == "enter" else first_beyond
            return self._evaluated(positions, first(self.window.linear(bound), travelled), which)
        if isinstance(bound, Linear):
            return positions, at(F.when(travelled >= bound.offset, lit(NEVER)).otherwise(lit(-NEVER)))
        assert isinstance(bound, Back)
        extra = ["b0"] if schedule.measure is Measure.POSITION else []
        positions = positions.first_reaching(
            "d", travelled + lit(bound.amount), f"{which}_r", strict=which == "leave", extra=extra
        )
        if schedule.measure is Measure.POSITION:
            assert isinstance(schedule, Periodic)
            target = col(f"{which}_r_b0")
            if which == "enter":
                target = F.when(target.is_not_null(), F.greatest(target, col("b0")))
            return self._evaluated(positions, first_at_least(Linear(schedule.every, schedule.first), target), which)
        reached = positions.looked_up(f"{which}_r")
        if which == "enter":
            reached = greatest(reached, positions.batch)
        return self._next_evaluation(positions, reached, which)
