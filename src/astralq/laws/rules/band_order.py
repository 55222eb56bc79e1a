"""Band joins of three streams at the same instant are put in the order that makes the fewest pairs, by estimated sizes.

    (a JOIN b … WITHIN 0 s) JOIN c … WITHIN 0 s      →      a JOIN (b JOIN c … WITHIN 0 s) … WITHIN 0 s

Not for longer bands: the inner join stamps its pairs with the later time of the two. 001 prints the law also for joins
without a band; there the tuples are the same, but their order in a batch can differ, and so it can where an instant has
several batches.
"""

from __future__ import annotations

from astralq.algebra.base import Operator
from astralq.algebra.relational import Join, Project
from astralq.algebra.schedules import Continuous
from astralq.algebra.scopes import Back
from astralq.algebra.stream_ops import BandJoin
from astralq.algebra.streamers import IStream
from astralq.algebra.windows import Window, range_
from astralq.errors import AstralError
from astralq.expr.conditions import conjunction, conjuncts
from astralq.expr.nodes import Expr
from astralq.expr.safety import can_fail
from astralq.laws.estimate import joined_rows
from astralq.laws.lower import lower
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import Random, S, U, W, tuples, us
from astralq.laws.shapes import CANNOT_FAIL, names
from astralq.model.values import Stream
from astralq.timeline import BatchId, Duration, Instant

LAW = "(S1 ⋈⁰ S2) ⋈⁰ S3 ≡ S1 ⋈⁰ (S2 ⋈⁰ S3)"
PAPERS = "001 C5, D34"
HOLDS = Holds.EXACTLY
AT_ONCE = "at the same instant"
CONDITIONS = {
    AT_ONCE: "both bands are 0, or there are none; and nobody above looks at the order, or instants have one batch",
    CANNOT_FAIL: "no condition can fail: each is computed for other pairs",
}

WORTH = 0.8
"""Up to which part of its pairs another order is worth a change: estimates are rough."""


def rewrite(op: Operator, site: Site) -> Operator | None:
    outer = as_band(op)
    if outer is None:
        return None
    for left_first, side in ((True, outer.left), (False, outer.right)):
        inner = as_band(side)
        if inner is None:
            continue
        streams = (inner.left, inner.right, outer.right) if left_first else (outer.left, inner.left, inner.right)
        conditions = conjuncts(inner.condition) + conjuncts(outer.condition)
        now, then = (streams[:2], streams[1:]) if left_first else (streams[1:], streams[:2])
        if _pairs(then, conditions, site) > WORTH * _pairs(now, conditions, site):
            continue
        if not _holds(outer, inner, site) or not _safe(conditions, op, site):
            continue
        return lower(_ordered(streams, conditions, outer, left_first=not left_first))
    return None


def as_band(op: Operator) -> BandJoin | None:
    """The band join by time that an operator is the lowered form of."""
    match op:
        case IStream(Project(Join(Window(Project(left), spec), Window(Project(right)), condition))):
            parts = conjuncts(condition)
            within = None
            match spec.schedule, spec.scope.lo:
                case Continuous(), Back(amount):
                    within, parts = Duration(amount), parts[2:]
            try:
                found = BandJoin(left, right, conjunction(parts), within)
            except AstralError:
                return None  # it is the form of something else
            return found if lower(found) == op else None
    return None


def _holds(outer: BandJoin, inner: BandJoin, site: Site) -> bool:
    seen = site.observed
    free = not (seen.order or seen.positions or seen.phi)
    at_once = outer.within == 0 and inner.within == 0
    streams = (inner.left, inner.right, outer.left, outer.right)
    single = at_once and all(site.properties(s).one_batch_per_instant for s in streams)
    endless = outer.within is None and inner.within is None
    why = "not put in another order: "
    same = at_once or endless
    why += "the order of its pairs would be another" if same else "the inner join gives its pairs the later time"
    return site.require(AT_ONCE, single or (same and free), why, outer.label)


def _safe(conditions: list[Expr], op: Operator, site: Site) -> bool:
    failing = next((c for c in conditions if can_fail(c)), None)
    return site.require(CANNOT_FAIL, failing is None, f"{failing} can fail, and would for other pairs", op.label)


def _within(c: Expr, streams: tuple[Operator, ...]) -> bool:
    return c.columns <= set[str]().union(*(names(s.schema) for s in streams))


def _pairs(streams: tuple[Operator, ...], conditions: list[Expr], site: Site) -> float:
    sizes = [max(1.0, site.estimated_rows(s)) for s in streams]
    return joined_rows(sizes[0], sizes[1], [c for c in conditions if _within(c, streams)])


def _ordered(streams: tuple[Operator, ...], conditions: list[Expr], band: BandJoin, *, left_first: bool) -> BandJoin:
    """The joins with the first two streams joined first, or the last two."""
    a, b, c = streams
    first = (a, b) if left_first else (b, c)
    inner = [x for x in conditions if _within(x, first)]
    outer = conjunction(x for x in conditions if x not in inner)
    joined = BandJoin(first[0], first[1], conjunction(inner), band.within)
    if left_first:
        return BandJoin(joined, c, outer, band.within)
    return BandJoin(a, joined, outer, band.within)


_T = U.rename({"a": "c", "b": "d"})
_V = W.select("a AS e", "b AS f")
_ROWS = {"S": 1_000_000, "U": 1_000_000, "W": 10}
REFUSED = (
    Refused(
        "no band, in order",
        AT_ONCE,
        S.band(_T, on="a = c").band(_V, on="c = e"),
        {
            "S": tuples((4, 1, 0)),
            "U": tuples((1, 1, 1), (2, 1, 2)),
            "W": [(1, 3, Instant(1)), (1, 4, Instant(3))],
        },
        "001 C5 with d = ∞: the inner join stamps its pairs when they come, and they are no more in the order of S2",
        rows=_ROWS,
    ),
    Refused(
        "several batches at an instant",
        AT_ONCE,
        S.band(_T, "0 us", on="a = c").band(_V, "0 us", on="d = f"),
        {
            "S": Stream.of([(BatchId(Instant(1), 0), (1, 0)), (BatchId(Instant(1), 0), (2, 0))]),
            "U": Stream.of([(BatchId(Instant(1), 0), (2, 5)), (BatchId(Instant(1), 1), (1, 5))]),
            "W": Stream.of([(BatchId(Instant(1), 2), (0, 5, Instant(1)))]),
        },
        "the pairs of S and U come in two batches, and those of U and W in one",
        rows=_ROWS,
    ),
    Refused(
        "a band",
        AT_ONCE,
        S.band(_T, "1 us", on="a = c").band(_V, "1 us", on="c = e"),
        {"S": tuples((1, 1, 0)), "U": tuples((0, 1, 1)), "W": [(1, 2, Instant(2))]},
        "the inner join moves the timestamp to the later of the two",
        rows=_ROWS,
    ),
    Refused(
        "a division that no pair needs",
        CANNOT_FAIL,
        S.band(_T, "0 us", on="a = c AND b > 5")
        .band(_V, "0 us", on="c = e AND 1 / f > d")[range_("9 us")]
        .aggregate("max(a) AS m"),
        {"S": tuples((1, 1, 1)), "U": tuples((1, 1, 1)), "W": [(1, 0, Instant(1))]},
        "the first join is empty, so that nobody divides by 0",
        rows=_ROWS,
    ),
)


def drawn(random: Random) -> Operator:
    within = random.one(["0 us", "0 us", None, us(random.number(1, 3))])
    other = random.one(["0 us", us(1)]) if random.chance(0.1) else within
    single = random.chance(0.5)  # with one batch at each instant, as its declaration says
    a, b, c = (W.select("a", "b") if single else random.stream(0) for _ in range(3))
    b, c = b.select("a AS c", "b AS d"), c.select("a AS e", "b AS f")
    last = random.one(["c = e", "c = e AND d < f", "c = e AND 1 / f > d"])
    return a.band(b, within, on=random.one(["a = c", "b = d"])).band(c, other, on=last).operator
