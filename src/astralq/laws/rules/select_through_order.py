"""A selection moves below ORDER BY: what is not selected need not be ordered.

SELECT a = 1                 ORDER BY b
└─ ORDER BY b         →      └─ SELECT a = 1
   └─ r                         └─ r
"""

from __future__ import annotations

from astralq.algebra.base import Operator
from astralq.algebra.ordering import OrderBy
from astralq.algebra.relational import Select
from astralq.expr.safety import can_fail
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import C, Random
from astralq.laws.shapes import CANNOT_FAIL

LAW = "σ_c(τ_x R) ≡ τ_x(σ_c R)"
PAPERS = "decisions: ORDER BY x"
HOLDS = Holds.EXACTLY
CONDITIONS = {CANNOT_FAIL: "no key can fail: on rows that are not selected it would not"}


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op:
        case Select(OrderBy(child) as order):
            failing = next((k.expr for k in order.keys if can_fail(k.expr)), None)
            why = f"{failing} can fail, and would not on rows that are not selected"
            if site.require(CANNOT_FAIL, failing is None, why, op.label):
                return order.with_children(Select(child, op.condition))
    return None


REFUSED = (
    Refused(
        "a key that fails",
        CANNOT_FAIL,
        C.order_by("1 / b").where("a = 1"),
        {"C": [(0, 0), (1, 1)]},
        "the division by 0 is an error, also on a row that is not selected",
    ),
)


def drawn(random: Random) -> Operator:
    r = random.relation()
    key = random.one(["a DESC", "b, a", "coalesce(a, b)", "1 / b"])
    ordered = r.order_by(key).operator
    return Select(ordered, random.condition(ordered))
