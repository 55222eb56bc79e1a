"""The choices in which stream systems differ, each as a rewriting of a query that makes that choice alone.

000 §1 and 001 §2.3 name them: what bounds of a window are closed, what its evaluations are aligned on, when an answer
is emitted, how long an instant is, and when two tuples are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from astralq.algebra.base import Kind, Operator
from astralq.algebra.bounds import WindowBounds
from astralq.algebra.evaluations import RStreamOnEvaluation, evaluations
from astralq.algebra.relational import GroupBy
from astralq.algebra.schedules import Anchor, Measure, Periodic
from astralq.algebra.scopes import Back, Scope
from astralq.algebra.sources import RelationSource, SensedSource, StreamSource
from astralq.algebra.streamers import DStream, Identity, IStream, RStream
from astralq.algebra.ticks import Tick
from astralq.algebra.windows import Window, WindowSpec, range_of
from astralq.timeline import Duration, Instant, format_duration

Rewrite = Callable[[Operator, Instant], Operator]
"""A query with one choice made another way; the instant is that of its first tuple."""


@dataclass(frozen=True)
class Choice:
    """One choice: what it is about, how it is made, and what it makes of a query."""

    about: str
    made: str
    rewrite: Rewrite

    def __str__(self) -> str:
        return f"{self.about}: {self.made}"


def _windows(op: Operator, change: Callable[[WindowSpec, Duration], WindowSpec]) -> Operator:
    """A query with its windows over a range of time changed, and what says their bounds."""

    def changed(o: Operator) -> Operator:
        width = range_of(o.spec) if isinstance(o, Window | WindowBounds) else None
        return replace(o, spec=change(o.spec, width)) if isinstance(o, Window | WindowBounds) and width else o

    return op.transform(changed)


def _with_bounds(lo: int, hi: int) -> Rewrite:
    """[e − x + lo, e − hi], in chronons; of a window that ends before NOW both bounds are so much earlier."""

    def change(spec: WindowSpec, width: Duration) -> WindowSpec:
        assert isinstance(spec.scope.lo, Back)
        earlier = spec.scope.lo.amount - width
        return replace(spec, scope=Scope(Measure.TIME, Back(width + earlier - lo), Back(earlier + hi)))

    return lambda op, _: _windows(op, change)


def _aligned(op: Operator, _: Instant) -> Operator:
    def change(spec: WindowSpec, width: Duration) -> WindowSpec:
        schedule = spec.schedule
        if not isinstance(schedule, Periodic) or schedule.measure is not Measure.TIME:
            return spec
        if schedule.anchor is Anchor.ALIGNED:
            return spec  # on the epoch already, perhaps with an offset
        return replace(spec, schedule=replace(schedule, first=width % schedule.every, anchor=Anchor.ALIGNED))

    return _windows(op, change)


def _from_first(op: Operator, first: Instant) -> Operator:
    def change(spec: WindowSpec, _: Duration) -> WindowSpec:
        schedule = spec.schedule
        if not isinstance(schedule, Periodic) or schedule.measure is not Measure.TIME:
            return spec
        moved = replace(schedule, first=first + schedule.every, anchor=Anchor.ABSOLUTE)
        return replace(spec, schedule=moved)

    return _windows(op, change)


def _streamed(op: Operator) -> Operator:
    """What a query emits the states or changes of."""
    return op.child if isinstance(op, IStream | DStream | RStream | RStreamOnEvaluation) else op


def _at_ends(op: Operator, _: Instant) -> Operator:
    """Each window once, at its evaluation, if it holds anything: no row for an aggregate of nothing."""
    inside = _streamed(op)
    if inside.kind is not Kind.RELATION or evaluations(inside) is None:
        return op
    return RStreamOnEvaluation(_without_empty_row(inside))


def _without_empty_row(op: Operator) -> Operator:
    return op.transform(lambda o: replace(o, empty_row=False) if isinstance(o, GroupBy) else o)


def _at_evaluations(op: Operator, _: Instant) -> Operator:
    inside = _streamed(op)
    if inside.kind is not Kind.RELATION or evaluations(inside) is None:
        return op
    return RStreamOnEvaluation(inside)


def _by_value(op: Operator, _: Instant) -> Operator:
    if isinstance(op, IStream | DStream) and op.child.kind is Kind.RELATION:
        return replace(op, identity=Identity.VALUE)
    return op


CLOSED = Choice("bounds", "[e − x, e]", _with_bounds(0, 0))
HALF_OPEN = Choice("bounds", "[e − x, e)", _with_bounds(0, 1))
OPEN_BELOW = Choice("bounds", "(e − x, e]", _with_bounds(1, 0))
ON_EPOCH = Choice("alignment", "on the epoch: windows end at k·slide + range", _aligned)
ON_FIRST = Choice("alignment", "on the first tuple", _from_first)
AT_ENDS = Choice("output", "once for each window, at its end, if it holds anything", _at_ends)
AT_EVALUATIONS = Choice("output", "the whole state at every evaluation", _at_evaluations)
BY_VALUE = Choice("identity", "tuples are the same if their values are", _by_value)
NO_EMPTY_ROW = Choice("aggregates", "no row over nothing", lambda op, _: _without_empty_row(op))


def chronon(period: Duration) -> Choice:
    """Instants that are so long: what happens in one of them happens at once, at its beginning."""

    def ticked(o: Operator) -> Operator:
        return Tick(o, period) if isinstance(o, StreamSource | SensedSource | RelationSource) else o

    return Choice("chronon", format_duration(period), lambda op, _: op.transform(ticked))


def every_tick(period: Duration) -> Choice:
    """RSTREAM of the whole state at every tick."""

    def rewrite(op: Operator, _: Instant) -> Operator:
        return replace(op, every=period) if isinstance(op, RStream) and op.child.kind is Kind.RELATION else op

    return Choice("output", f"RSTREAM emits the whole state every {format_duration(period)}", rewrite)
