"""A selection moves below a projection or a renaming, in terms of what they compute.

SELECT twice > 4                     PROJECT v * 2 AS twice
└─ PROJECT v * 2 AS twice     →      └─ SELECT v * 2 > 4
   └─ RELATION r                        └─ RELATION r
"""

from __future__ import annotations

from astralq.algebra.base import Operator
from astralq.algebra.relational import Project, Rename, Select
from astralq.expr.conditions import substituted
from astralq.expr.safety import can_fail
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import C, Random, S, tuples
from astralq.laws.shapes import CANNOT_FAIL, is_stream, items_of, names, stamps_read

LAW = "σ_c(Π_A R) ≡ Π_A(σ_c' R), c' = c with A's expressions for its attributes; the same for ρ"
PAPERS = "001 §4.1, §5.3.1"
HOLDS = Holds.EXACTLY
POSITIONS = "the projection does not read positions"
HIDDEN = "no attribute hides a stamp"
CONDITIONS = {
    CANNOT_FAIL: "no expression of the projection can fail: it would then fail on fewer rows",
    POSITIONS: "over a stream the projection does not read positions, which the selection would number anew",
    HIDDEN: "a pseudo-column that the condition reads is no attribute below the projection",
}


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op:
        case Select(Project(child) | Rename(child) as projection, condition):
            items = items_of(projection)
            failing = next((e for _, e in items if can_fail(e)), None)
            if not site.require(CANNOT_FAIL, failing is None, f"{failing} can fail, and would on fewer rows", op.label):
                return None
            numbered = is_stream(op) and any("_n" in stamps_read(e, child.schema) for _, e in items)
            why = f"{projection.label} reads positions, which a selection below it numbers anew"
            if not site.require(POSITIONS, not numbered, why, op.label):
                return None
            hidden = stamps_read(condition, op.schema) & names(child.schema)
            why = f"{condition} reads a stamp, and below {projection.label} an attribute has that name"
            if not site.require(HIDDEN, not hidden, why, op.label):
                return None
            made = {name.lower(): e for name, e in items}
            return projection.with_children(Select(child, substituted(condition, made)))
    return None


REFUSED = (
    Refused(
        "a division that is shown",
        CANNOT_FAIL,
        C.select("a", "1 / b AS q").where("a = 1"),
        {"C": [(0, 0), (1, 1)]},
        "the division by 0 is an error, also where its row is not shown",
    ),
    Refused(
        "positions that are shown",
        POSITIONS,
        S.select("a", "_n AS p").where("a = 1"),
        {"S": tuples((1, 0, 0), (2, 1, 1))},
        "the second tuple has position 1, and is the first of the selected ones",
    ),
    Refused(
        "an attribute with the name of a stamp",
        HIDDEN,
        S.select("CAST(a AS BIGINT) AS _i", "b").rename({"_i": "a"}).where("_i = 0"),
        {"S": tuples((1, 1, 1))},
        "above the renaming _i is the batch index, below it the attribute",
    ),
)


def drawn(random: Random) -> Operator:
    child = random.one([random.stream, random.relation])()
    forms = ["b AS a", "a AS b", "a + 0.5D AS c", "coalesce(b, 0) AS d", "1 / b AS q"]
    forms += ["_n AS p", "CAST(a AS BIGINT) AS _i"] if child.operator.stamped else []
    kind = random.number(0, 3)
    if kind == 0:
        projection = child.rename({"a": "c"})
    elif kind == 1 and child.operator.stamped:
        projection = child.select("CAST(a AS BIGINT) AS _i", "b").rename({"_i": "a"})
    else:
        projection = child.select("a AS x", *dict.fromkeys([random.one(forms), random.one(forms)]))
    return Select(projection.operator, random.condition(projection.operator, fails=0.02))
