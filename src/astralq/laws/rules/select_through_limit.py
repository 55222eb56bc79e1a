"""A selection of whole groups moves below a LIMIT that counts them.

SELECT k = 1                 LIMIT 3 PER k
└─ LIMIT 3 PER k      →      └─ SELECT k = 1
   └─ r                         └─ r

Not on anything else: the first three of those with v > 9 are not those of the first three that have v > 9.
"""

from __future__ import annotations

from astralq.algebra.base import Operator
from astralq.algebra.ordering import Limit
from astralq.algebra.properties import expressions
from astralq.algebra.relational import Select
from astralq.expr.nodes import Column, Expr
from astralq.expr.safety import can_fail
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import C, Random
from astralq.laws.shapes import CANNOT_FAIL, divided, selected

LAW = "σ_c(λ_{n per P} R) ≡ λ_{n per P}(σ_c R), c on P only"
PAPERS = "decisions: LIMIT"
HOLDS = Holds.EXACTLY
WHOLE_GROUPS = "whole groups"
CONDITIONS = {
    WHOLE_GROUPS: "the condition reads only attributes that LIMIT counts by",
    CANNOT_FAIL: "neither the condition nor what LIMIT goes by can fail",
}


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op:
        case Select(Limit(child) as limit):
            per = {e.name.lower() for e in limit.per if isinstance(e, Column)}
            failing = next((e for e in expressions(limit) if can_fail(e)), None)
            why = f"{failing} can fail, and would not on rows that are not selected"
            if not site.require(CANNOT_FAIL, failing is None, why, op.label):
                return None

            def fits(c: Expr) -> bool:
                there = all(n in child.readable for n in c.columns)
                why = f"{c} does not keep whole groups: others would be among the first"
                return site.require(WHOLE_GROUPS, c.columns <= per, why, op.label) and there

            moved, kept = divided(op, site, fits)
            if moved:
                return selected(limit.with_children(selected(child, moved)), kept)
    return None


REFUSED = (
    Refused(
        "another attribute",
        WHOLE_GROUPS,
        C.limit(1, per="a").where("b = 2"),
        {"C": [(1, 1), (1, 2)]},
        "the first row of 1 has b = 1: the first with b = 2 is not the first",
    ),
    Refused(
        "no groups",
        WHOLE_GROUPS,
        C.limit(1).where("a = 2"),
        {"C": [(1, 1), (2, 2)]},
        "the first row has a = 1",
    ),
    Refused(
        "a key that fails",
        CANNOT_FAIL,
        C.limit(1, per="a", by="1 / b").where("a = 1"),
        {"C": [(0, 0), (1, 1)]},
        "the division by 0 is an error, also in a group that is not selected",
    ),
)


def drawn(random: Random) -> Operator:
    r = random.relation()
    per = random.one([(), "a", "a, b", "a % 2"])
    by = random.one([(), "b", "b DESC, a", "1 / b" if random.chance(0.3) else "a"])
    limited = r.limit(random.number(0, 2), per=per, by=by, rank=random.one([None, None, "n"])).operator
    return Select(limited, random.condition(limited, random.one([["a"], ["a", "b"], [limited.schema.names[-1]]])))
