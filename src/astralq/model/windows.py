"""The meaning of windows: which evaluation a state is in, what its scope holds (001 D27, D28; docs/decisions.md)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile

from astralq.algebra.bounds import WindowBounds, bounds_at, evaluations_of
from astralq.algebra.evaluations import Evaluations
from astralq.algebra.schedules import Continuous, Measure, Periodic, Sessions, TimeSchedule
from astralq.algebra.scopes import (
    Back,
    BatchStart,
    Bound,
    Linear,
    OfInstant,
    OfSession,
    check_rules,
    check_window,
    fixed_width,
)
from astralq.algebra.windows import WindowSpec
from astralq.errors import WindowError
from astralq.expr.order import order_key, row_key
from astralq.model.values import Context, Relation, Row, Stream, StreamTuple
from astralq.schema import Schema
from astralq.space import leg, located
from astralq.timeline import CHRONON, BatchId, Instant, format_instant


def odometer(tuples: Sequence[StreamTuple], schema: Schema) -> list[int]:
    """The distance travelled at each tuple, in whole millimetres, in position order (004 §3.2.2's d_t).

    A tuple without a location has not moved.
    """
    assert schema.location is not None
    x, y = schema.index(schema.location.x), schema.index(schema.location.y)
    total, travelled = 0, []
    here: tuple[float, float] | None = None
    for s in tuples:
        px, py = (None if v is None else float(v) for v in (s.values[x], s.values[y]))  # type: ignore[arg-type]  # a location is two numbers
        if px is not None and py is not None and located(px, py):
            there = (px, py)
            if here is not None:
                total += leg(*here, *there, planar=schema.location.planar)
            here = there
        travelled.append(total)
    return travelled


def _time(s: StreamTuple) -> Instant:
    return s.t


@dataclass(frozen=True)
class Evaluation:
    """The j-th evaluation of a schedule; `value` is E_j on its measure, `seen` counts the tuples that it sees."""

    j: int
    value: int
    seen: int


@dataclass
class Windows:
    """The windows of one substream."""

    tuples: Sequence[StreamTuple]
    spec: WindowSpec
    schema: Schema
    t0: Instant

    @cached_property
    def travelled(self) -> list[int]:
        return odometer(self.tuples, self.schema) if Measure.DISTANCE in self.spec.measures else []

    @cached_property
    def batches(self) -> list[BatchId]:
        return [s.batch for s in self.tuples]

    @cached_property
    def sessions(self) -> list[tuple[Instant, Instant]]:
        """The first and the last instant of each session: of tuples each less than the gap after the one before."""
        assert isinstance(self.spec.schedule, Sessions)
        found: list[tuple[Instant, Instant]] = []
        for s in self.tuples:
            goes_on = bool(found) and s.t < found[-1][1] + self.spec.schedule.gap
            found[-1:] = [(found[-1][0], s.t)] if goes_on else [*found[-1:], (s.t, s.t)]
        return found

    def arrived(self, b: BatchId) -> int:
        """How many tuples have come at (t, i)."""
        return bisect_right(self.batches, b)

    def evaluation(self, b: BatchId) -> Evaluation | None:
        """γ(t, i), the last evaluation at or before (t, i); None before the first (001 D27)."""
        schedule, count = self.spec.schedule, self.arrived(b)
        if isinstance(schedule, Sessions):
            over = [last + schedule.gap for _, last in self.sessions]
            j = bisect_right(over, b.t) - 1
            return Evaluation(j, over[j], count) if j >= 0 else None
        if schedule.measure is Measure.TIME:
            assert isinstance(schedule, TimeSchedule)
            e = schedule.last(self.t0, b.t)
            if e is None:
                return None
            # At (e, i) the batches of e up to i have come, after e all of them.
            seen = min(count, self.arrived(BatchId(e).end_of_instant()))
            j = schedule.rank(self.t0, e) if isinstance(schedule, Periodic) else -1
            return Evaluation(j, e, seen)
        assert isinstance(schedule, Periodic)
        if count == 0:
            return None
        by_position = schedule.measure is Measure.POSITION
        j = schedule.rank(self.t0, (count - 1 if by_position else self.travelled[count - 1]) - self.spec.delay)
        if j < 0:
            return None
        value = schedule.origin(self.t0) + j * schedule.every
        return Evaluation(j, value, self._batch_end(value) + 1 if by_position else count)

    def at(self, b: BatchId) -> Sequence[StreamTuple]:
        """The tuples of the window at (t, i) (001 D28).

        A delay in time moves each evaluation (t, i) to (t + δ, i) (000 §6.1.1); one in positions or distance is what
        has to be reached besides.
        """
        b = self.undelayed(b)
        evaluation = self.evaluation(b)
        if evaluation is None:
            return ()
        scope = self.spec.scope
        if scope.measure is Measure.POSITION:
            return self._positions(evaluation)
        lo, hi = self.bounds(evaluation)
        if lo is None or hi is None:
            return ()
        count = self.arrived(b)
        if scope.measure is Measure.DISTANCE and self.spec.schedule.measure is not Measure.DISTANCE:
            # Who stands still after the evaluation has travelled as far, but was not seen by it.
            count = evaluation.seen
            if count and hi > self.travelled[count - 1]:
                raise WindowError(f"{self._named(evaluation)} ends at {hi} mm, which has not been travelled by then")
        # Measures never decrease along the stream, so that a scope is a slice of it.
        if scope.measure is Measure.TIME:
            first, last = bisect_left(self.tuples, lo, key=_time), bisect_right(self.tuples, hi, key=_time)
        else:
            first, last = bisect_left(self.travelled, lo), bisect_right(self.travelled, hi)
        return self.tuples[first : min(last, count)]

    def undelayed(self, b: BatchId) -> BatchId:
        """Where an evaluation that is seen at (t, i) would be without a delay in time."""
        return BatchId(Instant(b.t - self.spec.delay), b.i) if self.spec.schedule.measure is Measure.TIME else b

    def bounds(self, evaluation: Evaluation) -> tuple[int | None, int | None]:
        """lo(j) and hi(j) of a scope of time or distance; None where nothing has come that they could count from."""
        return self._bound(self.spec.scope.lo, evaluation), self._bound(self.spec.scope.hi, evaluation)

    def _named(self, evaluation: Evaluation) -> str:
        if self.spec.schedule.measure is Measure.TIME:
            return f"the window evaluated at {format_instant(Instant(evaluation.value))}"
        return f"window {evaluation.j}"

    def _positions(self, evaluation: Evaluation) -> Sequence[StreamTuple]:
        """Positions end − (hi − lo) … end if the width is fixed, else lo … end, where end is the end of hi's batch."""
        scope = self.spec.scope
        hi = self._bound(scope.hi, evaluation)
        if hi is None or hi < 0:
            return ()
        if hi >= evaluation.seen:
            raise WindowError(f"{self._named(evaluation)} ends at position {hi}, which has not come by then")
        end = self._batch_end(hi)
        if isinstance(scope.lo, BatchStart):
            lo: int | None = bisect_left(self.batches, self.batches[hi])
        elif (width := fixed_width(self.spec.schedule, scope)) is not None:
            lo = end - width
        else:
            lo = self._bound(scope.lo, evaluation)
        assert lo is not None
        return self.tuples[max(lo, 0) : end + 1]

    def _batch_end(self, position: int) -> int:
        """τ⁻¹(τ(position)): the last position of the batch that holds a position."""
        return bisect_right(self.batches, self.batches[position]) - 1

    def _bound(self, bound: Bound, evaluation: Evaluation) -> int | None:
        """A bound's value on the scope's measure; None where nothing has come yet that it could count from."""
        measure = self.spec.scope.measure
        match bound:
            case Linear():
                return bound.value(evaluation.j, self.t0, measure)
            case Back(amount):
                here = self._here(evaluation)
                return None if here is None else here - amount
            case OfInstant():
                return bound.function(Instant(evaluation.value))
            case OfSession(last):
                return self.sessions[evaluation.j][1 if last else 0]
        raise AssertionError(bound)

    def _here(self, evaluation: Evaluation) -> int | None:
        """The evaluation on the scope's measure: e, the position it has reached, or the distance travelled."""
        source, target = self.spec.schedule.measure, self.spec.scope.measure
        if source is target:
            return evaluation.value
        if source is Measure.TIME:
            reaching = evaluation.seen - 1
            if reaching < 0:
                return None
        elif source is Measure.POSITION:
            reaching = evaluation.value
            if target is Measure.DISTANCE:
                reaching = self._batch_end(reaching)
        else:
            reaching = bisect_left(self.travelled, evaluation.value)
        if target is Measure.TIME:
            return self.tuples[reaching].t
        return reaching if target is Measure.POSITION else self.travelled[reaching]

    def changes(self, lo: BatchId, hi: BatchId) -> set[BatchId]:
        """Where the state can change: at batches, and on time at evaluations, entries and exits."""
        points = {s.batch for s in self.tuples}
        schedule, scope = self.spec.schedule, self.spec.scope
        delay = self.spec.delay if schedule.measure is Measure.TIME else 0
        if isinstance(schedule, Sessions):
            points = {BatchId(Instant(last + schedule.gap), 0) for _, last in self.sessions}
        elif isinstance(schedule, Continuous):
            assert isinstance(scope.lo, Back)
            assert isinstance(scope.hi, Back)
            for s in self.tuples:
                points.add(BatchId(Instant(s.t + scope.hi.amount), 0))
                points.add(BatchId(Instant(s.t + scope.lo.amount + CHRONON), 0))
        elif schedule.measure is Measure.TIME:
            assert isinstance(schedule, TimeSchedule)
            # Every batch at an evaluation instant is itself an evaluation; the others change nothing.
            evaluations = set(schedule.between(self.t0, Instant(lo.t - delay), Instant(hi.t - delay)))
            points = {b for b in points if b.t in evaluations} | {BatchId(e, 0) for e in evaluations}
        return {b for b in (BatchId(Instant(p.t + delay), p.i) for p in points) if lo <= b <= hi}

    def evaluations(self, lo: BatchId, hi: BatchId) -> set[BatchId]:
        """The batches in the closed interval [lo, hi] at which a window is evaluated, changed or not."""
        schedule, scope = self.spec.schedule, self.spec.scope
        if isinstance(schedule, Continuous):
            assert isinstance(scope.lo, Back)
            assert isinstance(scope.hi, Back)
            delay, back = self.spec.delay, scope.hi.amount
            entries = {BatchId(Instant(s.t + back + delay), 0 if back else s.i) for s in self.tuples}
            exits = {BatchId(Instant(s.t + scope.lo.amount + CHRONON + delay), 0) for s in self.tuples}
            return {b for b in entries | exits if lo <= b <= hi}
        if schedule.measure is Measure.TIME:
            return self.changes(lo, hi)
        found, last = set(), -1
        for b in dict.fromkeys(self.batches):
            evaluation = self.evaluation(b)
            if evaluation is not None and evaluation.j > last:
                last = evaluation.j
                found.add(b)
        return {b for b in found if lo <= b <= hi}


def parts(tuples: Iterable[StreamTuple], spec: WindowSpec, schema: Schema, t0: Instant) -> list[Windows]:
    """The windows of each part, in the order in which parts begin; without a partition, of the whole stream."""
    columns = [schema.index(name) for name in spec.partition]
    found: dict[tuple[object, ...], list[StreamTuple]] = {} if columns else {(): []}
    for s in tuples:
        found.setdefault(row_key(tuple(s.values[c] for c in columns)), []).append(s)
    return [Windows(part, spec, schema, t0) for part in found.values()]


def evaluations(op: Evaluations, stream: Stream, also: Stream, schema: Schema, ctx: Context) -> Stream:
    """A tuple in each batch at which a window is evaluated; on time the parts of a stream are all evaluated at
    once, but for sessions."""
    together = op.spec.schedule.measure is Measure.TIME and not isinstance(op.spec.schedule, Sessions)
    spec = replace(op.spec, partition=()) if together else op.spec
    points = {s.batch for s in also.tuples}
    for w in parts(stream.tuples, spec, schema, ctx.t0):
        points |= w.evaluations(ctx.start, ctx.end)
    return Stream.of((b, ()) for b in sorted(points))


def window(stream: Stream, spec: WindowSpec, schema: Schema, ctx: Context) -> Relation:
    """S[α, β, r] and, with a partition, the union of the windows of its parts with φ kept (000 D11, 001 D29)."""
    check_window(spec.schedule, spec.scope, spec.delay, ctx.t0)
    if isinstance(spec.scope.lo, OfInstant) or isinstance(spec.scope.hi, OfInstant):
        assert isinstance(spec.schedule, TimeSchedule)
        check_rules(spec.scope, takewhile(lambda e: e <= ctx.end.t, spec.schedule.absolute()))
    windows = parts(stream.tuples, spec, schema, ctx.t0)

    def state(b: BatchId) -> list[Row]:
        return [Row((order_key(s.n),), s.values, s.stamp) for w in windows for s in w.at(b)]

    def changes(lo: BatchId, hi: BatchId) -> set[BatchId]:
        return set().union(*(w.changes(lo, hi) for w in windows))

    return Relation(state, changes)


def with_bounds(op: WindowBounds, relation: Relation, ctx: Context) -> Relation:
    """Each state with the bounds of the last evaluation's window, NULL before the first."""
    schedule, delay = evaluations_of(op.spec), op.spec.delay

    def state(b: BatchId) -> list[Row]:
        e = schedule.last(ctx.t0, Instant(b.t - delay))
        shown = (None, None) if e is None else bounds_at(op.spec, ctx.t0, e)
        return [Row(r.phi, (*r.values, *shown), r.stamp) for r in relation.at(b)]

    def changes(lo: BatchId, hi: BatchId) -> set[BatchId]:
        found = schedule.between(ctx.t0, Instant(lo.t - delay), Instant(hi.t - delay))
        moments = {BatchId(Instant(e + delay), 0) for e in found}
        return relation.changes(lo, hi) | {b for b in moments if lo <= b <= hi}

    return Relation(state, changes)
