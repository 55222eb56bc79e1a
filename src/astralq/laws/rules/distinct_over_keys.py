"""DISTINCT over rows that are different already is left out.

DISTINCT                             AGGREGATE max(v) AS m BY k
└─ AGGREGATE max(v) AS m BY k  →     └─ r
   └─ r
"""

from __future__ import annotations

from astralq.algebra.base import Kind, Operator
from astralq.algebra.relational import Distinct, GroupBy, Project, Rename, Select, ValueSetOperation
from astralq.laws.rule import UNOBSERVED, Holds, Refused, Site
from astralq.laws.samples import C, Random

LAW = "δ(R) ≡ R, where R's tuples are identified by some of its values"
PAPERS = "001 §4; decisions: a group is identified by its key"
HOLDS = Holds.UP_TO_PHI
KEY = "identified by values"
ORDER = "ordered by values"
CONDITIONS = {
    KEY: "the rows are groups with their keys, or different values already",
    ORDER: "they are ordered by all their values, or nobody looks at the order",
}


def rewrite(op: Operator, site: Site) -> Operator | None:
    if not isinstance(op, Distinct) or op.child.kind is not Kind.RELATION or op.child.stamped:
        return None
    base, moved = op.child, False
    while isinstance(base, Select | Project | Rename):
        moved = moved or isinstance(base, Project)
        base = base.child
    identified = isinstance(base, GroupBy | Distinct) or (isinstance(base, ValueSetOperation) and not base.all)
    keyed = identified and bool(site.properties(op.child).keys)
    if not site.require(KEY, keyed, "two rows may be equal", op.label):
        return None
    seen = site.observed
    ordered = not moved or not (seen.order or seen.positions)
    if not site.require(ORDER, ordered, "the rows are in another order than that of their values", op.label):
        return None
    return op.child


REFUSED = (
    Refused(
        "rows that may be equal",
        KEY,
        C.distinct(),
        {"C": [(1, 1), (1, 1)]},
        "a stored relation may have a row twice",
    ),
    Refused(
        "another order",
        ORDER,
        C.aggregate("max(b) AS m", by="a").select("m", "a").distinct(),
        {"C": [(1, 2), (2, 1)]},
        "groups are in the order of a, their values in that of m",
    ),
    Refused(
        "intersection by φ",
        UNOBSERVED,
        C.aggregate("max(b) AS b", by="a").distinct().intersection(C.distinct()),
        {"C": [(1, 1)]},
        "both sides are identified by their values; without DISTINCT the left one is by its key",
    ),
)


def drawn(random: Random) -> Operator:
    r = random.relation()
    keyed = r.aggregate("max(b) AS b", by="a")
    forms = [
        keyed,
        keyed.select("b AS a", "a AS b"),
        keyed.select("a", "b AS m"),
        keyed.where("b > 1"),
        keyed.select("b"),
        r.distinct(),
        r.union_values(random.relation()),
        r,
    ]
    return random.one(forms).distinct().operator
