"""LIMIT moves below a projection or renaming: what is not chosen need not be computed.

LIMIT 3 PER k                PROJECT k, v * 2 AS w
└─ PROJECT k,         →      └─ LIMIT 3 PER k
     v * 2 AS w                 └─ r
   └─ r

Not where an expression can fail: on a row that is not chosen it would not.
"""

from __future__ import annotations

from dataclasses import replace

from astralq.algebra.base import Operator
from astralq.algebra.ordering import Limit
from astralq.algebra.relational import Project, Rename
from astralq.expr.conditions import substituted
from astralq.expr.safety import can_fail
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import C, Random
from astralq.laws.shapes import CANNOT_FAIL, items_of

LAW = "λ_{n per P}(Π_A R) ≡ Π_A(λ_{n per P} R); the same for ρ"
PAPERS = "decisions: LIMIT"
HOLDS = Holds.EXACTLY
CONDITIONS = {CANNOT_FAIL: "no expression of the projection can fail"}


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op:
        case Limit(Project() | Rename() as below, rank=None):
            items = {name.lower(): e for name, e in items_of(below)}
            failing = next((e for e in items.values() if can_fail(e)), None)
            why = f"{failing} can fail, and would not on rows that are not chosen"
            if not site.require(CANNOT_FAIL, failing is None, why, op.label):
                return None
            per = tuple(substituted(e, items) for e in op.per)
            order = tuple(replace(k, expr=substituted(k.expr, items)) for k in op.order)
            return below.with_children(replace(op, child=below.child, per=per, order=order))
    return None


REFUSED = (
    Refused(
        "an expression that fails",
        CANNOT_FAIL,
        C.select("a", "1 / b AS b").limit(1),
        {"C": [(1, 1), (2, 0)]},
        "the division by 0 is an error, also on the second row",
    ),
)


def drawn(random: Random) -> Operator:
    r = random.relation()
    below = random.one(
        [
            r.select("b AS a", "a AS b"),
            r.select("coalesce(a, b) AS a", "b"),
            r.select("a", "1 / b AS b"),
            r.rename({"a": "b", "b": "a"}),
        ]
    )
    return below.limit(random.number(0, 2), per=random.one([(), "a"]), by=random.one([(), "b DESC"])).operator
