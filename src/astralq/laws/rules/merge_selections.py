"""Two selections become one, which tests the inner condition first.

SELECT b = 2                 SELECT a = 1 AND b = 2
└─ SELECT a = 1       →      └─ RELATION r
   └─ RELATION r
"""

from __future__ import annotations

from astralq.algebra.base import Operator
from astralq.algebra.relational import Select
from astralq.expr.conditions import conjunction, conjuncts
from astralq.expr.safety import can_fail
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import C, Random, S, tuples
from astralq.laws.shapes import CANNOT_FAIL, is_stream, stamps_read

LAW = "σ_d(σ_c R) ≡ σ_{c ∧ d} R"
PAPERS = "001 §4.1, D30"
HOLDS = Holds.EXACTLY
ON_POSITIONS = "not on positions"
CONDITIONS = {
    ON_POSITIONS: "over a stream the outer condition does not read positions: a selection numbers them anew",
    CANNOT_FAIL: "the outer condition cannot fail: a conjunction computes it also where the inner one is NULL",
}


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op:
        case Select(Select(child, first), second):
            reads = is_stream(op) and "_n" in stamps_read(second, op.schema)
            why = f"{second} reads positions, which the selection below numbers anew"
            if not site.require(ON_POSITIONS, not reads, why, op.label):
                return None
            why = f"{second} can fail, and would be computed where {first} is NULL"
            if site.require(CANNOT_FAIL, not can_fail(second), why, op.label):
                return Select(child, conjunction(conjuncts(first) + conjuncts(second)))
    return None


REFUSED = (
    Refused(
        "a division behind NULL",
        CANNOT_FAIL,
        C.where("a = 1").where("1 / b > 0"),
        {"C": [(None, 0)]},
        "NULL AND c computes c, and a row whose condition is NULL is not selected",
    ),
    Refused(
        "positions of a selected stream",
        ON_POSITIONS,
        S.where("a = 1").where("_n = 0"),
        {"S": tuples((1, 0, 0), (2, 1, 1))},
        "the first selected tuple is the second one of S",
    ),
)


def drawn(random: Random) -> Operator:
    child = random.one([random.stream, random.relation])().operator
    inner = Select(child, random.condition(child))
    return Select(inner, random.condition(inner))
