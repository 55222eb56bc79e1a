"""Windows as intervals: each tuple gets the half-open interval of batch identifiers in which a window holds it.

Scopes are monotone, so that a tuple is in consecutive windows only (SEMANTICS.md §2). It enters at the first
evaluation whose upper bound has reached it, and leaves at the first whose lower bound has passed it. On time both are
closed forms; positions and distances look up the batch of another position.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.properties import Grid
from astralq.algebra.retention import Want, holds_all_at_once, is_landmark, keeps_tuples
from astralq.algebra.schedules import Continuous, Measure, Periodic, TimeSchedule
from astralq.algebra.scopes import Back, BatchStart, Bound, Linear, OfInstant, check_rules, check_window, fixed_width
from astralq.algebra.windows import WindowSpec
from astralq.spark.context import Run
from astralq.spark.encoding.batches import NEVER, Id, at, choose, greatest
from astralq.spark.encoding.columns import col, lit, long
from astralq.spark.encoding.frames import Key, RelationFrame, StreamFrame, attributes, columns, holds, interval
from astralq.spark.encoding.scan import numbered
from astralq.spark.state import tables as edges
from astralq.spark.state.tables import current, needed_tuples, remembered
from astralq.spark.windows.evaluations import Evaluations
from astralq.spark.windows.positions import Positions


def window(
    stream: StreamFrame, spec: WindowSpec, run: Run, *, ordered: bool, edge: str = "", want: Want = Want.HELD
) -> RelationFrame:
    """S[α, β, r] (001 D28); partitioned, the union of the parts' windows with φ kept (001 D29).

    In an epoch the stream has the new tuples only; those before that are still wanted are kept at the edge.
    """
    check_window(spec.schedule, spec.scope, spec.delay, run.t0)
    if isinstance(spec.scope.lo, OfInstant) or isinstance(spec.scope.hi, OfInstant):
        assert isinstance(spec.schedule, TimeSchedule)
        check_rules(spec.scope, takewhile(lambda e: e <= run.end, spec.schedule.absolute()))
    measured = spec.measures != {Measure.TIME} and not holds_all_at_once(spec)
    # What is kept of a part has to stay in its order.
    if ordered or (measured and (not spec.partition or run.memory is not None)):
        stream = numbered(stream, run)
    if run.memory is None or not keeps_tuples(spec, want):
        edge = ""
    else:
        stream = remembered(_Windows(spec, run).worth_keeping(stream), edge, run.memory)
    made = _Windows(spec, run, edge, want)
    if not measured:
        found = made.on_time(stream)
    else:
        found = made.on_positions(stream, Positions.of(stream, spec.partition, run))
    return current(found, run, want)


@dataclass(frozen=True)
class _Windows:
    spec: WindowSpec
    run: Run
    edge: str = ""
    want: Want = Want.HELD

    # Indices of evaluations

    def _first_at_least(self, bound: Linear | None, value: Column, least: int | None = None) -> Column:
        """The first j ≥ 0 with bound(j) ≥ value; NULL: never. No value is less than `least`, if that is known."""
        assert bound is not None
        if bound.slope == 0:
            return F.when(lit(bound.offset) >= value, long(0))
        return at_least_zero(value, -bound.offset, bound.slope, least)

    def _first_beyond(self, bound: Linear, value: Column) -> Column:
        """The first j ≥ 0 with bound(j) > value."""
        return self._first_at_least(Linear(bound.slope, bound.offset - 1), value)

    def _linear(self, bound: Bound) -> Linear:
        """A bound on the schedule's own measure as a function of j."""
        schedule = self.spec.schedule
        assert isinstance(schedule, Periodic)
        if isinstance(bound, Linear):
            return Linear(bound.slope, bound.value(0, self.run.t0, self.spec.scope.measure))
        assert isinstance(bound, Back)
        return Linear(schedule.every, schedule.origin(self.run.t0) - bound.amount)

    # Time

    def on_time(self, stream: StreamFrame) -> RelationFrame:
        """Schedule and scope both on time: closed forms, or a list of evaluations."""
        spec = self.spec
        lo, hi = spec.scope.lo, spec.scope.hi
        t = col("t")
        df = stream.df
        lifetime: int | None = None
        if holds_all_at_once(spec):
            return self._frame(stream, df, stream.batch, at(NEVER), endless=True)
        if isinstance(spec.schedule, Continuous):
            assert isinstance(lo, Back)
            assert isinstance(hi, Back)
            enter: Column = t + lit(hi.amount)
            leave: Column = t + lit(lo.amount + 1)
            lifetime = lo.amount + 1 - hi.amount if stream.flat else None
        elif isinstance(spec.schedule, Periodic):
            every, origin = spec.schedule.every, spec.schedule.origin(self.run.t0)
            first = self.run.first_possible
            enter = _evaluation(self._first_at_least(self._linear(hi), t, first), every, origin)
            if isinstance(lo, Back) and isinstance(hi, Back) and (lo.amount + 1 - hi.amount) % every == 0:
                # Before the first evaluation all tuples wait for it, so that some stay for a shorter time.
                waits = first + hi.amount < origin
                lifetime = None if waits else lo.amount + 1 - hi.amount
            leave = (
                enter + lit(lifetime)
                if lifetime is not None
                else _evaluation(self._first_beyond(self._linear(lo), t), every, origin)
            )
        else:
            table = Evaluations.of(spec, self.run, stream.df)
            df = table.entering(df.withColumn("_v", t), self.run.time_cut, "enter")
            df = table.leaving(df, self.run.time_cut, "leave")
            enter, leave = col("enter"), col("leave")
        if lifetime is None:
            enter, leave = (F.coalesce(e, lit(NEVER)) for e in (enter, leave))
        # An evaluation that has reached a tuple is not before it; batches of its own instant can be.
        start = at(enter) if stream.flat else greatest(at(enter), stream.batch)
        end = at(leave)
        return self._frame(
            stream,
            df,
            start,
            end,
            lifetime=lifetime,
            endless=is_landmark(lo),
            shared=not isinstance(spec.schedule, Continuous),
        )

    # Positions and distances

    def worth_keeping(self, stream: StreamFrame) -> StreamFrame:
        """Without new tuples that come and go between two evaluations, where there are many of them."""
        schedule, run = self.spec.schedule, self.run
        width = fixed_width(schedule, self.spec.scope)
        if not (self._many and self.spec.partition and self._direct and stream.flat) or width is None:
            return stream
        if not (isinstance(schedule, Periodic) and schedule.measure is Measure.TIME):
            return stream
        step = at_least_zero(col("t"), -schedule.origin(run.t0), schedule.every)
        return edges.last_of_steps(stream, self.spec.partition, width, step)

    @property
    def _many(self) -> bool:
        return self.run.new_rows is not None and self.run.new_rows >= edges.MANY

    def on_positions(self, stream: StreamFrame, positions: Positions) -> RelationFrame:
        scope, schedule = self.spec.scope, self.spec.schedule
        if Measure.DISTANCE in self.spec.measures:
            positions = positions.with_odometer()
        if self._needs_batches:
            positions = positions.with_batches()
        if not (self._direct and self.spec.partition):
            positions = positions.settled()
        if schedule.measure is Measure.TIME and isinstance(scope.hi, OfInstant):
            return self._by_instant(stream, positions)
        positions, enter = self._event(positions, "enter")
        positions, leave = self._event(positions, "leave")
        # What is not needed any more will be looked for in it too.
        start, df = enter, self.run.shared(positions.df) if self.edge and self._many else positions.df
        if scope.measure is not Measure.POSITION:
            start = greatest(start, positions.batch)
        elif isinstance(scope.lo, Linear) and scope.lo.slope == 0:
            inside = col("p") >= scope.lo.offset
            start, leave = choose(inside, start, at(NEVER)), choose(inside, leave, at(-NEVER))
        return self._frame(stream, df, start, leave, endless=is_landmark(scope.lo))

    @property
    def _needs_batches(self) -> bool:
        """Whether the ends of batches decide; where one row's evaluation is its own batch they do not."""
        scope, schedule = self.spec.scope, self.spec.schedule
        if isinstance(scope.lo, BatchStart) or isinstance(scope.hi, OfInstant):
            return True
        if scope.measure is Measure.DISTANCE:
            return schedule.measure is Measure.POSITION
        return scope.measure is Measure.POSITION and not self._direct

    @property
    def _direct(self) -> bool:
        """Evaluated as tuples come, or on time, with the last tuples up to now: no batch but the tuple's own counts."""
        scope, schedule = self.spec.scope, self.spec.schedule
        if scope.measure is not Measure.POSITION or scope.hi != Back(0) or isinstance(scope.lo, BatchStart | OfInstant):
            return False
        if schedule.measure is Measure.TIME:
            return True
        return schedule == Periodic(Measure.POSITION, 0, 1) and self.spec.delay == 0

    def _event(self, positions: Positions, which: str) -> tuple[Positions, Id]:
        """The batch identifier at which each tuple enters or leaves."""
        match self.spec.scope.measure:
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
        scope, schedule = self.spec.scope, self.spec.schedule
        width = fixed_width(schedule, scope)
        if which == "leave" and width is None and isinstance(scope.lo, Linear):
            if scope.lo.slope == 0:
                return self._never(positions)
            return self._evaluated(positions, self._first_beyond(self._linear(scope.lo), col("p")), which)
        if self._direct:
            if which == "enter":
                return self._next_evaluation(positions, positions.batch, which)
            assert width is not None
            positions = positions.batch_later(width + 1, "later")
            return self._next_evaluation(positions, positions.found("later"), which)
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
        scope, schedule = self.spec.scope, self.spec.schedule
        if schedule.measure is Measure.POSITION:
            return self._evaluated(positions, self._first_at_least(self._linear(scope.hi), target), which)
        assert isinstance(scope.hi, Back)
        target = target + lit(scope.hi.amount)
        if schedule.measure is Measure.TIME:
            positions = positions.batch_at(target, f"{which}_b")
            return self._next_evaluation(positions, positions.found(f"{which}_b"), which)
        return self._travelled_to(positions, target, which)

    def _travelled_to(self, positions: Positions, target: Column, which: str) -> tuple[Positions, Id]:
        """The first evaluation every so far that is reached at or after a position: o + j·r > d of the one before."""
        schedule = self.spec.schedule
        assert isinstance(schedule, Periodic)
        positions = positions.with_columns(**{f"{which}_target": target})
        here = col(f"{which}_target")
        positions = positions.batch_at(here, f"{which}_x", ["p"])  # whether there is such a position at all
        positions = positions.batch_at(here - 1, f"{which}_y", ["d"])
        j = self._first_beyond(Linear(schedule.every, schedule.first), col(f"{which}_y_d"))
        j = F.when(here <= 0, long(0)).otherwise(j)
        return self._evaluated(positions, F.when(col(f"{which}_x_p").isNotNull(), j), which)

    def _evaluated(self, positions: Positions, j: Column, which: str) -> tuple[Positions, Id]:
        """The batch of evaluation j of a schedule on positions or distance; NULL: never."""
        schedule = self.spec.schedule
        assert isinstance(schedule, Periodic)
        value = f"{which}_e"
        positions = positions.with_columns(**{value: j * lit(schedule.every) + lit(schedule.first + self.spec.delay)})
        if schedule.measure is Measure.POSITION:
            positions = positions.batch_at(col(value), f"{which}_batch")
            return positions, positions.found(f"{which}_batch")
        positions = positions.first_reaching("d", F.coalesce(col(value), lit(NEVER)), f"{which}_batch")
        return positions, positions.found(f"{which}_batch")

    def _next_evaluation(self, positions: Positions, batch: Id, which: str) -> tuple[Positions, Id]:
        """The first evaluation at or after a batch, on a schedule of instants; every batch at one is itself one."""
        schedule = self.spec.schedule
        if schedule.measure is not Measure.TIME or isinstance(schedule, Continuous):
            return positions, batch
        if isinstance(schedule, Periodic):
            every, origin = schedule.every, schedule.origin(self.run.t0)
            j = at_least_zero(batch.t, -origin, every)
            e = F.when(batch.t == NEVER, lit(NEVER)).otherwise(_evaluation(j, every, origin))
            return positions, choose(e == batch.t, batch, at(e))
        table = Evaluations.of(self.spec, self.run, positions.table)
        df = table.following(positions.df.withColumn("_v", batch.t), self.run.time_cut, f"{which}_next")
        e = F.coalesce(col(f"{which}_next"), lit(NEVER))
        return replace(positions, df=df), choose(e == batch.t, batch, at(e))

    def _in_time(self, positions: Positions, which: str) -> tuple[Positions, Id]:
        """A scope in time with a rate in rows or distance: e is the reaching tuple's instant."""
        scope, schedule = self.spec.scope, self.spec.schedule
        bound = scope.hi if which == "enter" else scope.lo
        if isinstance(bound, Linear):
            # A landmark: tuples before it are never in, the others stay.
            value = bound.value(0, self.run.t0, Measure.TIME)
            return positions, at(F.when(col("t") >= value, lit(NEVER)).otherwise(lit(-NEVER)))
        assert isinstance(bound, Back)
        positions = positions.first_reaching("t", col("t") + lit(bound.amount), f"{which}_r", strict=which == "leave")
        reached = col(f"{which}_r_p")
        if schedule.measure is Measure.POSITION:
            assert isinstance(schedule, Periodic)
            j = self._first_at_least(Linear(schedule.every, schedule.first), reached)
            return self._evaluated(positions, j, which)
        return self._travelled_to(positions, reached, which)

    def _in_distance(self, positions: Positions, which: str) -> tuple[Positions, Id]:
        """A scope in distance: on its own rate linear in j, else counted back from where the evaluation finds it."""
        scope, schedule = self.spec.scope, self.spec.schedule
        bound = scope.hi if which == "enter" else scope.lo
        travelled = col("d")
        if schedule.measure is Measure.DISTANCE:
            first = self._first_at_least if which == "enter" else self._first_beyond
            return self._evaluated(positions, first(self._linear(bound), travelled), which)
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
                target = F.when(target.isNotNull(), F.greatest(target, col("b0")))
            return self._evaluated(
                positions, self._first_at_least(Linear(schedule.every, schedule.first), target), which
            )
        reached = positions.found(f"{which}_r")
        if which == "enter":
            reached = greatest(reached, positions.batch)
        return self._next_evaluation(positions, reached, which)

    def _by_instant(self, stream: StreamFrame, positions: Positions) -> RelationFrame:
        """Aperiodic windows whose bounds in positions or distance are functions of the instant (000 D12)."""
        spec = self.spec
        table = Evaluations.of(spec, self.run, stream.df)
        in_positions = spec.scope.measure is Measure.POSITION
        table.check_reached(positions)
        cut = self.run.position_cut
        width = fixed_width(spec.schedule, spec.scope)
        df = positions.df
        df = table.entering(df.withColumn("_v", col("b0" if in_positions else "d")), cut, "enter")
        if in_positions and width is not None:
            positions = replace(positions, df=df)
            positions = positions.batch_at(col("p") + (width + 1), "other", ["b0"])
            moved = positions.df.withColumn("_v", F.coalesce(col("other_b0"), lit(NEVER)))
            df = table.entering(moved, cut, "leave")
        else:
            df = table.leaving(df.withColumn("_v", col("p" if in_positions else "d")), cut, "leave")
        start = greatest(at(F.coalesce(col("enter"), lit(NEVER))), positions.batch)
        return self._frame(stream, df, start, at(F.coalesce(col("leave"), lit(NEVER))))

    # The result

    @property
    def _grid(self) -> Grid | None:
        """The instants of evaluations, where they are periodic."""
        schedule = self.spec.schedule
        if not isinstance(schedule, Periodic):
            return None
        return Grid(schedule.origin(self.run.t0) + self.spec.delay, schedule.every)

    def _frame(
        self,
        stream: StreamFrame,
        df: DataFrame,
        start: Id,
        end: Id,
        *,
        lifetime: int | None = None,
        endless: bool = False,
        shared: bool = False,
    ) -> RelationFrame:
        schedule = self.spec.schedule
        if schedule.measure is Measure.TIME:
            start, end = start.moved(self.spec.delay), end.moved(self.spec.delay)
        if self.edge:
            assert self.run.memory is not None
            self.run.memory.trim(self.edge, partial(needed_tuples, df, self.spec, self.want, start, end, self.run.end))
        if "gone" in df.columns:
            df = df.where(~F.coalesce(col("gone"), lit(False)))
        flat = start.i is None and end.i is None
        stamp = [col("t").alias("st")] + ([] if stream.flat else [col("i").alias("si")])
        phi: tuple[Key, ...] = ()
        if stream.numbered:
            stamp += [col("n").alias("sn"), col("n").alias("o0")]
            phi = (Key("o0"),)
        made = df.select(*columns(attributes(stream.schema)), *stamp, *interval(start, end, flat=flat))
        names = tuple(n for n in ("st", "si", "sn") if n in made.columns)
        return RelationFrame(
            made if lifetime is not None and flat else made.where(holds(flat)),
            stream.schema,
            phi,
            flat,
            names,
            ordered=stream.numbered,
            coalesced=stream.numbered,
            lifetime=lifetime,
            endless=endless,
            shared=shared,
            unseen=True,
            grid=self._grid if shared else None,
        )


def quotient_up(value: Column, by: int) -> Column:
    """⌈value / by⌉ of BIGINTs, exactly."""
    if by == 1:
        return value
    rest = F.pmod(value, long(by))
    floor = F.call_function("div", value - rest, long(by))
    return floor + F.when(rest > 0, lit(1)).otherwise(lit(0))


def at_least_zero(value: Column, shift: int, by: int, least: int | None = None) -> Column:
    """max(0, ⌈(value + shift) / by⌉), NULL for NULL: div cuts towards 0, right where the quotient is not negative."""
    moved = value + lit(shift + by - 1)
    quotient = F.call_function("div", moved, long(by)) if by > 1 else moved
    if least is not None and least + shift + by - 1 >= 0:
        return quotient
    return F.when(quotient > 0, quotient).when(quotient <= 0, long(0))  # greatest would take 0 for NULL


def quotient_down(value: Column, by: int) -> Column:
    """⌊value / by⌋ of BIGINTs, exactly."""
    if by == 1:
        return value
    divisor = long(by)
    return F.call_function("div", value - F.pmod(value, divisor), divisor)


def _evaluation(j: Column, every: int, origin: int) -> Column:
    """E_j = o + j·r."""
    return j * lit(every) + lit(origin)
