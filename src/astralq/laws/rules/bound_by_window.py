"""A window with fixed ends selects its tuples by time, so that files outside are not read.

    WINDOW [FIXED FROM a TO b]           WINDOW [FIXED FROM a TO b]
    └─ STREAM s                   →      └─ SELECT _t >= a AND _t <= b
                                            └─ STREAM s

What a run observes still comes from the whole source.
"""

from __future__ import annotations

from astralq.algebra.base import Operator
from astralq.algebra.relational import Project, Rename, Select
from astralq.algebra.schedules import Anchor, AtInstants, Measure, Periodic
from astralq.algebra.scopes import Back, Linear, OfInstant, Scope
from astralq.algebra.sources import StreamSource
from astralq.algebra.windows import Window, WindowSpec, at_instants, fixed, landmark, range_, unbounded
from astralq.expr.conditions import conjunction, conjuncts
from astralq.expr.functions import call
from astralq.expr.nodes import Call, Column, Expr, Literal
from astralq.laws.rule import UNOBSERVED, Holds, Refused, Site
from astralq.laws.samples import LAST, Random, S, tuples, us
from astralq.laws.shapes import names
from astralq.schema import TIMESTAMP
from astralq.timeline import MAX_INSTANT, MIN_INSTANT, Instant

LAW = "S[w] ≡ (σ_{a ≤ t ≤ b} S)[w], where w holds tuples of [a, b] only"
PAPERS = "001 D26 to D28, P5"
HOLDS = Holds.UP_TO_PHI
BY_TIME = "evaluated by time"
CONDITIONS = {BY_TIME: "the window is evaluated by time: others count the tuples that are left out"}


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op:
        case Window(stream, spec) if spec.scope.measure is Measure.TIME and "_t" not in names(stream.schema):
            ends = [(sign, b) for sign, b in zip((">=", "<="), _bounds(spec), strict=True) if b is not None]
            ends = [
                (sign, b) for sign, b in ends if MIN_INSTANT <= b <= MAX_INSTANT and not _is_bounded(stream, sign, b)
            ]
            if not ends or not _is_of_source(stream):
                return None
            why = f"{spec} counts tuples that it does not hold"
            if not site.require(BY_TIME, spec.schedule.measure is Measure.TIME, why, op.label):
                return None
            t = Column(TIMESTAMP, "_t")
            bounds = conjunction(call(sign, t, Literal(TIMESTAMP, b)) for sign, b in ends)
            return Window(Select(stream, bounds), spec)
    return None


def _bounds(spec: WindowSpec) -> tuple[int | None, int | None]:
    """The first and the last instant that the window ever holds, where they are known."""
    lo, hi = spec.scope.lo, spec.scope.hi
    instants = spec.schedule.instants if isinstance(spec.schedule, AtInstants) else ()
    first = _fixed(lo, instants[0] if instants else None)
    last = _fixed(hi, instants[-1] if instants else None)
    return first, last


def _fixed(bound: object, e: Instant | None) -> int | None:
    match bound:
        case Linear(slope=0, anchor=Anchor.ABSOLUTE):
            return bound.offset
        case Back() if e is not None:
            return e - bound.amount
        case OfInstant() if e is not None:
            return bound.function(e)
    return None


def _is_of_source(stream: Operator) -> bool:
    while isinstance(stream, Select | Project | Rename):
        stream = stream.child
    return isinstance(stream, StreamSource)


def _is_bounded(stream: Operator, sign: str, bound: int) -> bool:
    """Whether a selection below compares with the bound already."""
    found: list[Expr] = []
    while isinstance(stream, Select | Project | Rename):
        if isinstance(stream, Select):
            found += conjuncts(stream.condition)
        stream = stream.child
    limit = Literal(TIMESTAMP, bound)
    return any(isinstance(c, Call) and c.function == sign and c.args[1] == limit for c in found)


_BY_ROWS = WindowSpec(Periodic(Measure.POSITION, 1, 2), Scope(Measure.TIME, Linear(0, 2, Anchor.ABSOLUTE), Back(0)))
REFUSED = (
    Refused(
        "a row rate",
        BY_TIME,
        S[_BY_ROWS],
        {"S": tuples((1, 1, 1), (2, 2, 2), (3, 3, 3))},
        "the tuple before the window is one of those that are counted",
    ),
    Refused(
        "intersection by φ",
        UNOBSERVED,
        S[landmark(Instant(2), "1 us")].intersection(S[unbounded()]),
        {"S": tuples((1, 1, 1), (2, 2, 2))},
        "the selected tuple has another position",
    ),
)


def drawn(random: Random) -> Operator:
    a, b = sorted(random.number(0, LAST) for _ in range(2))
    by_rows = WindowSpec(Periodic(Measure.POSITION, 1, 2), Scope(Measure.TIME, Linear(0, a, Anchor.ABSOLUTE), Back(0)))
    spec = random.one(
        [
            fixed(Instant(a), Instant(b)),
            landmark(Instant(a), us(random.number(1, 3))),
            at_instants([Instant(a), Instant(b + 1)], lambda t: t - 2, lambda t: t, text=("t - 2", "t")),
            by_rows,
            range_(us(a + 1), slide="2 us"),
        ]
    )
    return random.one([S, S.where("b > 0"), S.select("b AS a", "a AS b")])[random.partitioned(spec)].operator
