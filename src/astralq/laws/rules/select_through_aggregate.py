"""A selection on grouping keys moves below the aggregation: whole groups drop out.

    SELECT k = 1                         AGGREGATE avg(v) AS m BY k
    └─ AGGREGATE avg(v) AS m BY k   →    └─ SELECT k = 1
       └─ r                                 └─ r

Not on an aggregate (`HAVING m > 3`), and not without keys: a global aggregate has a row of nothing, too.
"""

from __future__ import annotations

from astralq.algebra.base import Operator
from astralq.algebra.relational import GroupBy, Select
from astralq.expr.conditions import substituted
from astralq.expr.nodes import Expr
from astralq.expr.parse import expression
from astralq.expr.safety import can_fail
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import C, Random
from astralq.laws.shapes import CANNOT_FAIL, divided, selected

LAW = "σ_c(γ_{K,F} R) ≡ γ_{K,F}(σ_c R), c on K only"
PAPERS = "001 §4; decisions: a group is identified by its key"
HOLDS = Holds.EXACTLY
ON_KEYS = "on keys only"
CONDITIONS = {
    ON_KEYS: "the condition reads grouping keys only, at least one",
    CANNOT_FAIL: "neither the condition nor a key or an aggregate can fail: groups that are left out would not",
}


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op:
        case Select(GroupBy() as group):
            keys = {name.lower(): e for name, e in group.keys}
            parts = [*keys.values(), *(a for _, a in group.aggregates)]
            failing = next((e for e in parts if can_fail(e)), None)
            why = f"{failing} can fail, and would not for groups that are left out"
            if not site.require(CANNOT_FAIL, failing is None, why, op.label):
                return None

            def fits(c: Expr) -> bool:
                of_keys = c.columns <= keys.keys()
                why = f"{c} is not on a grouping key: it is known when the group is complete"
                return site.require(ON_KEYS, of_keys and bool(c.columns), why, op.label) and of_keys

            moved, kept = divided(op, site, fits)
            if moved:
                below = selected(group.child, [substituted(c, keys) for c in moved])
                return selected(group.with_children(below), kept)
    return None


REFUSED = (
    Refused(
        "a constant condition over a global aggregate",
        ON_KEYS,
        C.aggregate("count(*) AS n").where("1 = 2"),
        {"C": [(1, 1)]},
        "a global aggregate has a row of nothing, too",
    ),
    Refused(
        "a group that fails",
        CANNOT_FAIL,
        C.aggregate("max(1 / b) AS m", by="a").where("a = 1"),
        {"C": [(0, 0), (1, 1)]},
        "the division by 0 is an error, also where its group is not shown",
    ),
)


def drawn(random: Random) -> Operator:
    r = random.relation()
    group = random.one(
        [
            r.aggregate("max(b) AS m", by="a"),
            r.aggregate("count(*) AS n", "last(a) AS l", by="b"),
            r.aggregate("max(1 / b) AS m", by="a"),
            r.aggregate("count(*) AS n"),
            r.aggregate("min(a) AS m", by=["a", "b"]),
        ]
    ).operator
    if random.chance(0.1):
        return Select(group, expression("1 = 2", group.schema))
    return Select(group, random.condition(group, [random.one(group.schema.names)]))
