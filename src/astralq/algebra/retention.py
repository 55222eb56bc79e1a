"""What a continuous query has to keep, read off its operators."""

from __future__ import annotations

from enum import Enum

from astralq.algebra.base import Operator
from astralq.algebra.bounds import WindowBounds
from astralq.algebra.calendar import Calendar
from astralq.algebra.constants import Constants
from astralq.algebra.domain import Domain, Floor
from astralq.algebra.explode import Explode
from astralq.algebra.ordering import Limit, OrderBy
from astralq.algebra.relational import (
    Distinct,
    Divide,
    GroupBy,
    Join,
    Product,
    Project,
    Rename,
    Select,
    SetOperation,
    ValueSetOperation,
)
from astralq.algebra.schedules import AtInstants, Continuous, Loop, Measure, Periodic, Schedule
from astralq.algebra.scopes import Back, Bound, Linear
from astralq.algebra.sources import RelationSource, Validity
from astralq.algebra.streamers import DStream, Identity, IStream, RStream
from astralq.algebra.windows import Window, WindowSpec
from astralq.expr.nodes import Expr
from astralq.expr.safety import can_fail, invertible, mergeable
from astralq.timeline import Instant


class Demand(Enum):
    """What the operator above a window wants of it in an epoch."""

    CLIPPED = "what holds, from the end of the epoch before"
    FULL = "what holds, from where it began"
    DELTA = "what begins in the epoch"  # of windows that nothing leaves
    EARLY = "what has come, with when it begins and ends"  # of windows where that is known at once


def holds_all_at_once(spec: WindowSpec) -> bool:
    """[∞]: a tuple is in from its own batch on, for ever."""
    scope = spec.scope
    return (
        scope.measure is Measure.POSITION
        and scope.lo == Linear(0, 0)
        and scope.hi == Back(0)
        and spec.schedule == Periodic(Measure.POSITION, 0, 1)
        and spec.delay == 0
    )


def known_at_once(spec: WindowSpec) -> bool:
    """Whether a tuple's own stamp says when it enters and leaves."""
    if holds_all_at_once(spec):
        return True
    return spec.measures == {Measure.TIME} and isinstance(spec.schedule, Periodic | Continuous | Calendar)


def enters_at_once(spec: WindowSpec) -> bool:
    """Whether every tuple is in from its own batch on."""
    if holds_all_at_once(spec):
        return True
    return isinstance(spec.schedule, Continuous) and spec.scope.hi == Back(0) and spec.delay == 0


def leaves_one_by_one(spec: WindowSpec) -> bool:
    """Whether every tuple is in from its own batch on, and for as long as any other: [RANGE x]."""
    return enters_at_once(spec) and isinstance(spec.schedule, Continuous) and isinstance(spec.scope.lo, Back)


def keeps_tuples(spec: WindowSpec, demand: Demand) -> bool:
    """Whether tuples are kept between a stream and its window."""
    if demand is Demand.EARLY:
        return not known_at_once(spec)
    return not (demand is Demand.DELTA and enters_at_once(spec))


def is_landmark(lo: Bound) -> bool:
    """Whether nothing leaves a window with this lower bound."""
    return isinstance(lo, Linear) and lo.slope == 0


def is_over(schedule: Schedule, after: Instant) -> bool:
    """Whether there are no evaluations after an instant."""
    match schedule:
        case AtInstants():
            return schedule.instants[-1] <= after
        case Loop():
            return all(e <= after for e in _until_after(schedule, after))
    return False


def _until_after(schedule: Loop, after: Instant) -> list[Instant]:
    """The evaluations up to the first one after an instant."""
    found = []
    for e in schedule.absolute():
        found.append(e)
        if e > after:
            break
    return found


def window_below(op: Operator) -> Window | None:
    """The window whose rows an operator's are made of, one by one: nothing but σ, Π, ρ and explode is between."""
    while isinstance(op, Select | Project | Rename | Explode):
        op = op.child
    return op if isinstance(op, Window) else None


def _fails_below(op: Operator) -> bool:
    """Whether an expression between an operator and the window below it can fail."""
    while isinstance(op, Select | Project | Rename | Explode):
        if any(can_fail(e) for e in _of_rows(op)):
            return True
        op = op.child
    return False


def _of_rows(op: Select | Project | Rename | Explode) -> list[Expr]:
    match op:
        case Select():
            return [op.condition]
        case Project():
            return [e for _, e in op.items]
        case Explode():
            return [op.array]
    return []


def demand_of_group(op: GroupBy) -> Demand:
    """What an aggregate wants of its child: with panes, rows once; without, all that its windows hold.

    An expression that can fail is not computed before a state holds the row.
    """
    window = window_below(op.child)
    if window is None:
        return Demand.CLIPPED
    spec = window.spec
    if all(mergeable(a) for _, a in op.aggregates):
        exprs = [*(e for _, e in op.keys), *(e for _, a in op.aggregates for e in a.children)]
        safe = not any(can_fail(e) for e in exprs) and not _fails_below(op.child)
        if safe and known_at_once(spec) and not isinstance(spec.schedule, Continuous):
            return Demand.EARLY
        if safe and leaves_one_by_one(spec) and all(invertible(a) for _, a in op.aggregates):
            return Demand.EARLY
        if is_landmark(spec.scope.lo):
            return Demand.DELTA
    return Demand.FULL if spec.measures == {Measure.TIME} else Demand.CLIPPED


def demand_of_streamer(op: IStream | DStream | RStream) -> Demand:
    """I_S and D_S want of a window that nothing leaves what is new in it."""
    if isinstance(op, RStream) or op.every is not None or op.identity is not Identity.PHI:
        return Demand.CLIPPED
    return demand_of_changes(op.child)


def demand_of_changes(op: Operator) -> Demand:
    """The same for the changes of a relation."""
    window = window_below(op)
    return Demand.DELTA if window is not None and is_landmark(window.spec.scope.lo) else Demand.CLIPPED


def is_no_op(op: Operator, t0: Instant, since: Instant, until: Instant) -> bool:
    """Whether a relation certainly does not change in the half-open interval (since, until], whatever comes.

    That is so where none of its windows is evaluated in it.
    """
    match op:
        case Window():
            return not _is_evaluated(op.spec, t0, since, until)
        case WindowBounds():
            return is_no_op(op.child, t0, since, until) and not _is_evaluated(op.spec, t0, since, until)
        case Domain(transform_=Floor(every)):
            return op.during is None and _next(t0, every, since) > until
        case RelationSource():
            return op.validity is Validity.CONSTANT
        case Constants():
            return True
        case Select() | Project() | Rename() | Explode() | GroupBy() | Distinct() | Join() | Product():
            return all(is_no_op(c, t0, since, until) for c in op.children)
        case OrderBy() | Limit() | SetOperation() | ValueSetOperation() | Divide():
            return all(is_no_op(c, t0, since, until) for c in op.children)
    return False


def _is_evaluated(spec: WindowSpec, t0: Instant, since: Instant, until: Instant) -> bool:
    """Whether a window may be evaluated in the half-open interval (since, until]."""
    schedule = spec.schedule
    if isinstance(schedule, Calendar):
        e = schedule.last(t0, Instant(until - spec.delay))
        return e is not None and e + spec.delay > since
    if not isinstance(schedule, Periodic) or schedule.measure is not Measure.TIME:
        return True
    return _next(schedule.origin(t0) + spec.delay, schedule.every, since) <= until


def _next(origin: int, every: int, since: Instant) -> int:
    """The first of origin + k·every, k ≥ 0, after an instant."""
    return max(origin, origin - (origin - since - 1) // every * every)
