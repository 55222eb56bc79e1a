"""A selection moves below past states, ticks and the start of a view: what only moves in time keeps its tuples.

SELECT a = 1                       DELAYED BY 1 HOUR
└─ DELAYED BY 1 HOUR        →      └─ SELECT a = 1
   └─ r                               └─ r
"""

from __future__ import annotations

from astralq.algebra.base import Operator
from astralq.algebra.domain import Domain
from astralq.algebra.relational import Select
from astralq.algebra.sources import StartedAt
from astralq.algebra.ticks import Tick
from astralq.expr.nodes import Expr
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import LAST, Random, S, at, tuples, us
from astralq.laws.shapes import CANNOT_FAIL, POSITIONS, divided, is_stream, selected, stamps_read
from astralq.timeline import Duration, Instant

LAW = "σ_c(D_d^f(R)) ≡ D_d^f(σ_c R)"
PAPERS = "001 D21"
HOLDS = Holds.EXACTLY
ON_STAMPS = "not on stamps of a stream"
CONDITIONS = {
    ON_STAMPS: "over a stream the condition does not read stamps, which ticks change and starts number anew",
    CANNOT_FAIL: "the condition cannot fail: below it is computed on tuples before the start, which nobody looks at",
    POSITIONS: "no condition that stays above reads positions",
}


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op:
        case Select(Domain() | Tick() | StartedAt() as moved_in_time):
            child, *rest = moved_in_time.children

            def fits(c: Expr) -> bool:
                stamped = is_stream(op) and stamps_read(c, op.schema)
                why = f"{c} reads stamps, and {moved_in_time.label} gives others"
                return site.require(ON_STAMPS, not stamped, why, op.label)

            moved, kept = divided(op, site, fits, renumbers=is_stream(op))
            if moved:
                return selected(moved_in_time.with_children(selected(child, moved), *rest), kept)
    return None


REFUSED = (
    Refused(
        "the time of a tick",
        ON_STAMPS,
        Select(
            Tick(S.operator, Duration(4)),
            S.where(f"_t >= {at(1)}").operator.condition,  # type: ignore[attr-defined]
        ),
        {"S": tuples((1, 1, 1))},
        "the tuple of 1 belongs to the tick of 0",
    ),
    Refused(
        "a division before the outer start",
        CANNOT_FAIL,
        S.started_at(Instant(-2)).where("1 / b > 0"),
        {"S": tuples((-1, 1, 0), (4, 1, 1))},
        "the view has started before the query, which ignores its first tuple",
    ),
    Refused(
        "positions",
        POSITIONS,
        S.started_at(Instant(0)).where("a = 1 AND _n > 0"),
        {"S": tuples((1, 0, 0), (2, 1, 1))},
        "the second tuple is the first of the selected ones",
    ),
)


def drawn(random: Random) -> Operator:
    r, s = random.relation(2), random.stream()
    if random.chance(0.5):
        t = Instant(random.number(0, LAST))
        d = us(random.number(1, 4))
        moved = random.one([r.at(t), r.at_start(), r.delayed(d), r.scanned(d), r.during(t, Instant(t + 3))]).operator
    else:
        child = random.one([r, s]).operator
        moved = random.one([Tick(child, Duration(random.number(1, 4))), StartedAt(child, Instant(random.number(0, 4)))])
    return Select(moved, random.condition(moved, fails=0.1))
