"""Two LIMITs that count alike are one: the first 2 of the first 3 are the first 2.

LIMIT 2 PER k                LIMIT 2 PER k
└─ LIMIT 3 PER k      →      └─ r
   └─ r
"""

from __future__ import annotations

from dataclasses import replace

from astralq.algebra.base import Operator
from astralq.algebra.ordering import Limit
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import C, Random

LAW = "λ_{m per P}(λ_{n per P} R) ≡ λ_{min(m, n) per P} R"
PAPERS = "decisions: LIMIT"
HOLDS = Holds.EXACTLY
ALIKE = "counted alike"
CONDITIONS = {ALIKE: "both count the same groups in the same order"}


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op:
        case Limit(Limit() as inner) if op.rank is None and inner.rank is None:
            same = (op.per, op.order, op.last) == (inner.per, inner.order, inner.last)
            if not site.require(ALIKE, same, "they count other groups, or in another order", op.label):
                return None
            left = None if inner.count is None else max(0, inner.count - op.skip)
            counts = [n for n in (left, op.count) if n is not None]
            return replace(inner, skip=inner.skip + op.skip, count=min(counts) if counts else None)
    return None


REFUSED = (
    Refused(
        "other groups",
        ALIKE,
        C.limit(1, per="a").limit(1),
        {"C": [(1, 1), (2, 2)]},
        "the first row of each a are two rows",
    ),
    Refused(
        "another order",
        ALIKE,
        C.limit(2, by="b DESC").limit(1),
        {"C": [(1, 1), (2, 2), (3, 3)]},
        "of the rows with the two greatest b the first has the lesser one",
    ),
)


def drawn(random: Random) -> Operator:
    r = random.relation()
    for _ in range(2):
        per, by = random.one([(), "a"]), random.one([(), (), "b DESC"])
        r = r.limit(random.one([None, 0, 1, 2]), per=per, by=by, skip=random.one([0, 0, 1]))
    return r.operator
