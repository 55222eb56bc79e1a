"""The bounds of the window that a state shows, as attributes: window_start and window_end (docs/decisions.md)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from astralq.algebra.base import RELATION_HINT, Kind, Operator, Unary, expect
from astralq.algebra.calendar import Calendar
from astralq.algebra.explode import Explode
from astralq.algebra.relational import GroupBy, Join, JoinKind, Product, Project, Rename, Select
from astralq.algebra.schedules import Anchor, Continuous, Measure, Periodic, Sessions, TimeSchedule
from astralq.algebra.scopes import Back, Bound, Linear, OfInstant
from astralq.algebra.session_bounds import BOUNDS, with_session_bounds
from astralq.algebra.windows import Window, WindowSpec
from astralq.errors import PlanError
from astralq.schema import TIMESTAMP, Attribute, Schema
from astralq.timeline import Instant


@dataclass(frozen=True, repr=False)
class WindowBounds(Unary):
    """A relation with the bounds of the window that its state shows, NULL before the first evaluation.

    They are those of the last evaluation, unmoved by its delay; so every row is another one after each evaluation.
    """

    spec: WindowSpec

    @cached_property
    def schema(self) -> Schema:
        added = tuple(Attribute(name, TIMESTAMP) for name in BOUNDS)
        return Schema((*self.child.schema.attributes, *added), self.child.schema.location)

    def check(self) -> None:
        expect(self.child, Kind.RELATION, "the bounds of a window", RELATION_HINT)
        check_bounded(self.spec)

    @property
    def label(self) -> str:
        return f"BOUNDS OF {self.spec}"


def check_bounded(spec: WindowSpec) -> None:
    """An error unless a window has bounds that can be told from the instant alone, at evaluations that move on."""
    why = hint = None
    if spec.measures != {Measure.TIME}:
        why, hint = "it does not go by time alone", "give it a range and a slide of time"
    elif isinstance(spec.schedule, Continuous):
        why, hint = "it is evaluated at every entry and exit", "give it a SLIDE, or use TUMBLE or HOP"
    elif not isinstance(spec.schedule, Periodic | Calendar):
        why, hint = "it is not evaluated at a period", "use TUMBLE, HOP, RANGE … SLIDE or SESSION"
    elif isinstance(spec.scope.hi, Linear) and spec.scope.hi.slope == 0:
        why, hint = "its upper bound does not move", "use TUMBLE, HOP, RANGE … SLIDE or SESSION"
    if why is not None:
        raise PlanError(f"{spec} has no window_start and window_end: {why}", hint=hint)


def is_half_open(spec: WindowSpec) -> bool:
    """Whether a window is written with an upper bound that it does not hold: TUMBLE and HOP."""
    schedule = spec.schedule
    aligned = isinstance(schedule, Periodic) and schedule.anchor is Anchor.ALIGNED and spec.scope.hi == Back(1)
    return aligned or isinstance(schedule, Calendar)


def bounds_at(spec: WindowSpec, t0: Instant, e: Instant) -> tuple[Instant, Instant]:
    """window_start and window_end of the window evaluated at e, of a query that starts at t0."""
    schedule = spec.schedule
    j = schedule.rank(t0, e) if isinstance(schedule, Periodic) else -1

    def value(bound: Bound) -> int:
        match bound:
            case Linear():
                return bound.value(j, t0, Measure.TIME)
            case Back(amount):
                return e - amount
            case OfInstant():
                return bound.function(e)
        raise AssertionError(bound)

    return Instant(value(spec.scope.lo)), Instant(value(spec.scope.hi) + is_half_open(spec))


def with_bounds(relation: Operator) -> Operator:
    """A relation over exactly one window, or an aggregate of it, with window_start and window_end.

    >>> from astralq import stream, tumble
    >>> with_bounds(stream("S", "k INT")[tumble("1 h")].aggregate("count(*) AS n", by="k").operator)
    BOUNDS OF [TUMBLE 1 HOUR]
    └─ AGGREGATE count(*) AS n BY k
       └─ WINDOW [TUMBLE 1 HOUR]
          └─ STREAM S
    """
    for name in BOUNDS:
        if name in relation.schema:
            raise PlanError(f"there is an attribute {name} already", hint="rename it below the window")
    window = the_window(relation)
    if isinstance(window.spec.schedule, Sessions):
        return with_session_bounds(relation, window)
    return WindowBounds(relation, window.spec)


def the_window(relation: Operator) -> Window:
    """The one window that a relation shows the tuples or groups of; an error that says why there is none."""
    # The bounds of equal windows are the same, but for sessions, which are those of a stream.
    found = list({_told_by(w): w for w in windows_of(relation)}.values())
    if not found:
        raise PlanError(
            "window_start and window_end are those of a window, and here is none",
            hint="give the stream a window: FROM s [TUMBLE 10 MINUTES]; a view or subquery selects its own",
        )
    if len(found) > 1:
        names = " and ".join(str(w.spec) for w in found)
        raise PlanError(
            f"window_start and window_end are those of one window, and here are {len(found)}: {names}",
            hint="select them in a subquery over one of the windows",
        )
    return found[0]


def _told_by(window: Window) -> object:
    return window if isinstance(window.spec.schedule, Sessions) else window.spec


def windows_of(op: Operator) -> list[Window]:
    """The windows whose tuples a relation is made of; those of a state that is looked up elsewhere are not."""
    match op:
        case Window():
            return [op]
        case Select() | Project() | Rename() | Explode() | GroupBy() | WindowBounds():
            return windows_of(op.child)
        case Join() if op.keeps_left or op.how is JoinKind.SINGLE:
            return windows_of(op.left)
        case Join() | Product():
            return windows_of(op.left) + windows_of(op.right)
    return []


def evaluations_of(spec: WindowSpec) -> TimeSchedule:
    """The schedule of a window that has bounds."""
    assert isinstance(spec.schedule, TimeSchedule)
    return spec.schedule
