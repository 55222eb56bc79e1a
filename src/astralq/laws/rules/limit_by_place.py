"""A selection of the first places is a LIMIT: the usual query for the top N.

SELECT n <= 3                                 LIMIT 3 WITH ROW NUMBER AS n PER k BY v DESC
└─ ROW NUMBER AS n PER k BY v DESC     →      └─ r
   └─ r
"""

from __future__ import annotations

from dataclasses import replace

from astralq.algebra.base import Operator
from astralq.algebra.ordering import Limit, places_of
from astralq.algebra.relational import Select
from astralq.expr.nodes import Expr
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import C, Random
from astralq.laws.shapes import CANNOT_FAIL, divided, selected

LAW = "σ_{n ≤ m}(λ^n R) ≡ λ^n_m R, n the place of each tuple"
PAPERS = "decisions: LIMIT"
HOLDS = Holds.EXACTLY
ON_PLACES = "places and constants"
CONDITIONS = {
    ON_PLACES: "the condition compares the place with a constant",
    CANNOT_FAIL: "what stays of the condition cannot fail",
}


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op:
        case Select(Limit(rank=str(rank)) as limit):

            def fits(c: Expr) -> bool:
                found = places_of(c, rank) is not None
                elsewhere = rank.lower() not in c.columns
                why = f"{c} is no range of places"
                return site.require(ON_PLACES, found or elsewhere, why, op.label) and not elsewhere

            moved, kept = divided(op, site, fits)
            if not moved:
                return None
            first, last = limit.places
            for low, high in ((places_of(c, rank) or (1, 1)) for c in moved):
                first = max(first, low)
                last = high if last is None else last if high is None else min(last, high)
            count = None if last is None else max(0, last - first + 1)
            return selected(replace(limit, count=count, skip=first - 1), kept)
    return None


REFUSED = (
    Refused(
        "all places but one",
        ON_PLACES,
        C.limit(None, rank="n").where("n <> 2"),
        {"C": [(1, 1), (2, 2), (3, 3)]},
        "the first and the third place are no range",
    ),
    Refused(
        "a condition that fails",
        CANNOT_FAIL,
        C.limit(None, rank="n").where("1 / b > 0 AND n <= 1"),
        {"C": [(0, 1), (1, 0)]},
        "the division by 0 is an error, also on the second row",
    ),
)


def drawn(random: Random) -> Operator:
    r = random.relation()
    count, skip = random.one([None, 2, 3]), random.number(0, 1)
    ranked = r.limit(count, per=random.one([(), "a"]), by=random.one([(), "b DESC"]), skip=skip, rank="n")
    n = random.number(-1, 3)
    conditions = [f"n <= {n}", f"n < {n} AND b = 1", f"{n} <= n", f"n = {n}", f"n BETWEEN 2 AND {n}"]
    conditions += ["n <> 2", "n = b", f"n <= {n} AND 1 / b > 0"]
    return ranked.where(random.one(conditions)).operator
