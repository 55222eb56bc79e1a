"""A window of an older query serves a younger one, from the younger one's first evaluation on.

    UNION                                UNION
    ├─ STARTED AT 0 s                    ├─ STARTED AT 0 s
    │  └─ WINDOW [RANGE 4 s SLIDE 2 s]   │  └─ WINDOW [RANGE 4 s SLIDE 2 s]
    └─ STARTED AT 6 s              →     └─ SELECT _t >= 6 s
       └─ WINDOW [RANGE 4 s SLIDE 2 s]      └─ STARTED AT 0 s
                                               └─ WINDOW [RANGE 4 s SLIDE 2 s]

Windows are compared by the instants of their evaluations and bounds, whatever they are counted from. K says how many
evaluations the older query is ahead, D how many tuples it has seen before the younger one starts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from astralq.algebra.base import Operator
from astralq.algebra.domain import Domain, Shift
from astralq.algebra.fluent import RelationQuery
from astralq.algebra.properties import expressions
from astralq.algebra.relational import Project, Rename, Select, SetKind, SetOperation
from astralq.algebra.schedules import Measure, Periodic, Sessions, TimeOfDay, format_measure
from astralq.algebra.scopes import Back, BatchStart, Bound, Linear, OfInstant, fixed_width
from astralq.algebra.sources import StartedAt, StreamSource
from astralq.algebra.stream_ops import Spread
from astralq.algebra.windows import Window, WindowSpec, general, moving, range_, rows, tumble, two_rates
from astralq.expr.parse import expression
from astralq.laws.rule import UNOBSERVED, Holds, Refused, Site
from astralq.laws.samples import P, Random, S, tuples, us
from astralq.laws.shapes import names, stamps_read
from astralq.timeline import EPOCH, Duration, Instant, format_instant

LAW = "(S[α', β', r], t1) ≡ (σ_{t ≥ t1} S[α, β, r], t0) with α'(i) = max(B_t1, α(i + K) − D), β'(i) = β(i + K) − D"
PAPERS = "001 P9, P10, P11, C6; 000 P4, P5, C2"
HOLDS = Holds.UP_TO_PHI
RESTARTS = True
SAME_STREAM = "the same stream"
RATE = "the same rate"
WHOLE = "K is a whole number"
BOUNDS = "the same bounds"
FIRST = "its first evaluation is known"
NO_DISTANCE = "no distance"
CONDITIONS = {
    SAME_STREAM: "the stream is the same from both starts but for the tuples before: it is a source, or made of one "
    "tuple by tuple",
    RATE: "both windows are evaluated at the same rate, in the same parts, with the same delay",
    WHOLE: "the younger query's evaluations are evaluations of the older one: K = (o' − o) ÷ r is a whole number; in "
    "positions o' counts from the D tuples before t1",
    BOUNDS: "β'(i) = β(i + K), and α'(i) = α(i + K) unless both are before t1",
    FIRST: "what the older query shows before the younger one's first evaluation is before t1, or ends at a known "
    "instant",
    NO_DISTANCE: "neither rate nor bounds measure the distance travelled: it begins anew with the younger query",
}


@dataclass(frozen=True)
class Started:
    """A window of a query with its start."""

    window: Window
    t0: Instant

    @property
    def spec(self) -> WindowSpec:
        return self.window.spec


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op.children:
        case (StartedAt(Window() as left, a) as one, StartedAt(Window() as right, b) as two):
            first, second = Started(left, a or EPOCH), Started(right, b or EPOCH)
            if first.t0 < second.t0 and (made := served(first, second, site)) is not None:
                return op.with_children(one, made)
            if second.t0 < first.t0 and (made := served(second, first, site)) is not None:
                return op.with_children(made, two)
    return None


def served(old: Started, new: Started, site: Site, before: Mapping[str, int] | None = None) -> Operator | None:
    """The younger window made of the older one, as the younger query has to write it; None where a side condition is
    broken.

    `before` says of sources how many tuples they have between the two starts, where that is known: D.
    """
    if old.window.child != new.window.child or old.t0 > new.t0:
        return None
    label, stream = f"WINDOW {new.spec}", new.window.child
    if not site.require(SAME_STREAM, is_the_same(stream), "the stream depends on where its query starts", label):
        return None
    if not site.require(NO_DISTANCE, not _measures_distance(old, new), _ODOMETER, label):
        return None
    why = _other_rate(old, new)
    if not site.require(RATE, why is None, why or "", label):
        return None
    count = _count(stream, new.spec, before)
    ahead = _ahead(old, new, count)
    if not site.require(WHOLE, isinstance(ahead, int | None), str(ahead), label):
        return None
    k = ahead if isinstance(ahead, int) else None
    why = _other_bounds(old, new, k, count)
    if not site.require(BOUNDS, why is None, why or "", label):
        return None
    if not site.require(FIRST, _first_is_known(new), _WAITING, label):
        return None
    return _residual(old, new)


_ODOMETER = "the distance travelled begins anew with the younger query"
_WAITING = "until its first evaluation the older query shows tuples that the younger one does not, and when that is "
_WAITING += "depends on the data"


def _residual(old: Started, new: Started) -> Operator:
    """σ_{t ≥ t1} of the older window, from the younger one's first evaluation on where that makes a difference."""
    older = StartedAt(old.window, old.t0)
    kept: Operator = Select(older, expression(f"_t >= TIMESTAMP '{format_instant(new.t0)}'", older.readable))
    active = _active_from(new)
    return kept if active is None else Domain(kept, Shift(Duration(0)), ((active, None),))


# The stream


def is_the_same(stream: Operator) -> bool:
    """Whether a later start takes tuples away from a stream and changes nothing else, and their stamps can be read."""
    if "_t" in names(stream.schema):
        return False
    while isinstance(stream, Select | Project | Rename | Spread):
        if any("_n" in stamps_read(e, stream.child.schema) for e in expressions(stream)):
            return False
        stream = stream.child
    return isinstance(stream, StreamSource)


def _count(stream: Operator, spec: WindowSpec, before: Mapping[str, int] | None) -> int | None:
    """D, the tuples before t1: known of a source as it is; parts of a stream have one each."""
    while isinstance(stream, Project | Rename):
        stream = stream.child
    if before is None or spec.partition or not isinstance(stream, StreamSource):
        return None
    return before.get(stream.name)


# Schedules


def _measures_distance(*both: Started) -> bool:
    return any(Measure.DISTANCE in one.spec.measures for one in both)


def _other_rate(old: Started, new: Started) -> str | None:
    a, b = old.spec, new.spec
    if a.partition != b.partition:
        return f"{a} and {b} have other parts"
    if a.delay != b.delay:
        return f"{a} and {b} are delayed otherwise"
    match a.schedule, b.schedule:
        case Periodic(), Periodic():
            if (a.schedule.on, a.schedule.every) == (b.schedule.on, b.schedule.every):
                return None
        case _ if a.schedule == b.schedule:
            return None
    return f"{a} and {b} are evaluated at other rates"


def _ahead(old: Started, new: Started, count: int | None) -> int | str | None:
    """K: how many evaluations the older query is ahead; None where evaluations are not numbered; a text that says why
    there is none."""
    a, b = old.spec.schedule, new.spec.schedule
    if isinstance(b, TimeOfDay):
        late = new.t0 - old.t0
        for rate in (b.inside, b.outside):
            if late % rate:
                every = format_measure(Measure.TIME, rate)
                return f"t1 - t0 = {format_measure(Measure.TIME, late)} is no multiple of {every}"
        return None
    if not isinstance(a, Periodic) or not isinstance(b, Periodic) or b.on is Measure.DISTANCE:
        return None
    if b.on is Measure.TIME:
        steps = Fraction(b.origin(new.t0) - a.origin(old.t0), b.every)
        return int(steps) if steps.denominator == 1 and steps >= 0 else f"K = {steps} is not a whole number"
    return _ahead_in_positions(a, b, count)


def _ahead_in_positions(a: Periodic, b: Periodic, count: int | None) -> int | str | None:
    if count is None:
        if b.every == 1 and b.first >= a.first:
            return None  # K = D + o' - o, whatever D is
        return f"how many tuples are before t1 is not known, and they have to be a multiple of {b.every}"
    steps = Fraction(count + b.first - a.first, b.every)
    if steps.denominator == 1 and steps >= 0:
        return int(steps)
    if a.first == b.first:
        return f"D = {count} is no multiple of the slide {b.every}"
    return f"K = {steps} is not a whole number"


def _active_from(new: Started) -> Instant | None:
    """The first evaluation of a window on time; None where the older query shows nothing from t1 on before it."""
    schedule = new.spec.schedule
    if not isinstance(schedule, Periodic) or schedule.on is not Measure.TIME:
        return None  # it is at t1, or wherever the older one's is; rates by the time of day are counted from t1, too
    origin = schedule.origin(new.t0)
    if origin - schedule.every < new.t0:  # an evaluation before t1 sees nothing from t1 on
        return None
    return Instant(origin + new.spec.delay)


def _first_is_known(new: Started) -> bool:
    schedule = new.spec.schedule
    return not (isinstance(schedule, Periodic) and schedule.on is Measure.POSITION and schedule.first >= schedule.every)


# Scopes


def _other_bounds(old: Started, new: Started, k: int | None, count: int | None) -> str | None:
    """Why the bounds are not the same K evaluations later, if they are not."""
    a, b = old.spec, new.spec
    if isinstance(a.schedule, Sessions):
        return f"the session of {a} that is open at the younger query's start began before it"
    text = f"{a} and {b} have other bounds"
    if a.scope.measure is not b.scope.measure:
        return text
    if not _same_bound(a.scope.hi, b.scope.hi, old, new, k, count):
        return text
    if _same_bound(a.scope.lo, b.scope.lo, old, new, k, count):
        return None
    if a.scope.measure is Measure.POSITION and fixed_width(b.schedule, b.scope) is not None:
        return text  # the width counts, and it is that before clipping
    return None if _before_start(a.scope.lo, old, new) and _before_start(b.scope.lo, new, new) else text


def _same_bound(x: Bound, y: Bound, old: Started, new: Started, k: int | None, count: int | None) -> bool:
    """Whether y(j) = x(j + K), both as instants, or as positions from the older query's start."""
    measure = new.spec.scope.measure
    match x, y:
        case (Back(), Back()) | (BatchStart(), BatchStart()):
            return x == y
        case (OfInstant(), OfInstant()):
            return x == y and measure is Measure.TIME  # positions are counted from each query's own start
    a, b = _linear(x, old), _linear(y, new)
    if a is None or b is None or a.slope != b.slope:
        return False
    if measure is Measure.TIME:
        return b.offset == a.offset + (0 if a.slope == 0 else a.slope * k if k is not None else 0) and (
            a.slope == 0 or k is not None
        )
    if count is not None and k is not None:
        return b.offset + count == a.slope * k + a.offset
    # With r = 1, K = D + o' - o: D stands on both sides only where bounds move with the positions.
    first, second = old.spec.schedule, new.spec.schedule
    if not isinstance(first, Periodic) or not isinstance(second, Periodic) or first.every != 1:
        return False
    return a.slope == 1 and b.offset == second.first - first.first + a.offset


def _linear(bound: Bound, one: Started) -> Linear | None:
    """slope·j + offset, times as instants, positions from the start of its own query."""
    schedule, measure = one.spec.schedule, one.spec.scope.measure
    if isinstance(bound, Linear):
        return Linear(bound.slope, bound.value(0, one.t0, measure))
    if isinstance(bound, Back) and isinstance(schedule, Periodic) and schedule.on is measure:
        return Linear(schedule.every, schedule.origin(one.t0) - bound.amount)
    return None


def _before_start(bound: Bound, one: Started, new: Started) -> bool:
    """Whether a lower bound that does not move is at or before the younger query's start: a landmark."""
    linear = _linear(bound, one)
    if linear is None or linear.slope != 0:
        return False
    return linear.offset <= (new.t0 if new.spec.scope.measure is Measure.TIME else 0)


# Cases


def _two(old: WindowSpec, new: WindowSpec, t1: int, s: object = S) -> Operator:
    """Both windows of a stream, the second one from t1 on."""
    windows = [RelationQuery(StartedAt(s[spec].operator, Instant(t))) for spec, t in ((old, 0), (new, t1))]  # type: ignore[index]
    return windows[0].union(windows[1]).operator


def _same(spec: WindowSpec, t1: int) -> Operator:
    return _two(spec, spec, t1)


REFUSED = (
    Refused(
        "four fifths",
        WHOLE,
        _same(range_("4 us", slide="5 us"), 4),
        {"S": tuples((4, 1, 1), (5, 2, 2), (7, 3, 3), (9, 0, 0))},
        "K = 4/5: the younger query is evaluated at 4 and 9, the older one at 5 and 10",
    ),
    Refused(
        "an odd number of tuples before",
        WHOLE,
        _same(rows(2, slide=2), 2),
        {"S": tuples((0, 0, 0), (2, 1, 1), (3, 2, 2), (4, 3, 3))},
        "D = 1 is no multiple of 2: the younger query pairs the second tuple with the third",
    ),
    Refused(
        "other rates",
        RATE,
        _two(range_("4 us", slide="2 us"), range_("4 us", slide="4 us"), 4),
        {"S": tuples((5, 1, 1), (9, 0, 0))},
        "the older query shows the tuple at 6, the younger one at 8",
    ),
    Refused(
        "other widths",
        BOUNDS,
        _two(range_("2 us", slide="2 us"), range_("4 us", slide="2 us"), 4),
        {"S": tuples((4, 1, 1), (9, 0, 0))},
        "the older query has let the tuple go at 8",
    ),
    Refused(
        "a derived stream",
        SAME_STREAM,
        _two(range_("4 us"), range_("4 us"), 2, S[rows(2)].aggregate("count(*) AS n").istream()),
        {"S": tuples((1, 1, 1), (2, 2, 2), (3, 3, 3))},
        "the count of the last two begins anew at 2",
    ),
    Refused(
        "an evaluation ahead",
        FIRST,
        _same(general((1, 0), (1, 1), 1), 2),
        {"S": tuples((1, 1, 1), (2, 2, 2), (3, 3, 3))},
        "at 2 the older query already shows two tuples, the younger one waits for its second",
    ),
    Refused(
        "the distance travelled",
        NO_DISTANCE,
        _two(moving("2 m", "2 m"), moving("2 m", "2 m"), 1, P),
        {"P": tuples((0, 0, 0, 0, 0), (1, 0, 0, 1, 0), (2, 0, 0, 2, 0), (3, 0, 0, 3, 0), (4, 0, 0, 4, 0))},
        "the older query has come 1 m when the younger one starts",
    ),
    Refused(
        "positions",
        UNOBSERVED,
        RelationQuery(_same(range_("4 us"), 2)).select("a", "_n AS p").operator,
        {"S": tuples((1, 1, 1), (2, 2, 2), (3, 3, 3))},
        "the younger query counts its tuples from 0",
    ),
)


def drawn(random: Random) -> Operator:
    t1 = random.number(1, 6)
    y, x = random.number(1, 3), random.number(0, 5)
    spec = random.window()
    same = random.one(
        [
            range_(us(x), slide=us(y)),
            tumble(us(y)),
            rows(x + 1),
            rows(x + 1, slide=us(y)),
            general((us(y), us(0)), (us(y), us(x)), us(y)),
            general((us(0), us(-x)), (us(y), us(x)), us(y)),
            two_rates(us(x), us(y), ("00:00:00.000003", "00:00:00.000006"), us(1)),
            general((1, 0), (1, x % 2), 1),
            spec,
        ]
    )
    pair = (same, same)
    if random.chance(0.25):
        pair = (same, random.one([range_(us(x + 1), slide=us(y)), rows(x + 2), random.window()]))
    if random.chance(0.1):
        pair = (moving("2 m", us(y)), moving("2 m", us(y)))
        return _two(*pair, t1, P)
    s = random.one([S, random.stream()])
    made = _two(*pair, t1, s)
    if random.chance(0.3):
        left, right = made.children
        made = SetOperation(right, left, SetKind.UNION)
    return made
