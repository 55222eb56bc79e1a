"""A part of a join's condition that reads one side only becomes a selection of that side.

    JOIN ON k = j AND b > 1              JOIN ON k = j
    ├─ r (k)                      →      ├─ r (k)
    └─ s (j, b)                          └─ SELECT b > 1
                                            └─ s (j, b)

Not on a side whose unmatched tuples are kept: they would be lost.
"""

from __future__ import annotations

from dataclasses import replace

from astralq.algebra.base import Operator
from astralq.algebra.relational import Join, JoinKind, Select
from astralq.expr.conditions import conjunction
from astralq.expr.nodes import Expr
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import C, Random
from astralq.laws.shapes import CANNOT_FAIL, divided, names, selected

LAW = "R ⋈_{c ∧ d} Q ≡ (σ_c R) ⋈_d Q for c on R"
PAPERS = "001 §4.4; 003 §6.2"
HOLDS = Holds.EXACTLY
NOT_KEPT = "of a side without unmatched tuples"
CONDITIONS = {
    NOT_KEPT: "the join does not keep that side's tuples without a match",
    CANNOT_FAIL: "the condition cannot fail: it would be computed also where there is nothing to join with",
}

_LEFT = (JoinKind.INNER, JoinKind.RIGHT, JoinKind.SEMI)
_RIGHT = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)


def rewrite(op: Operator, site: Site) -> Operator | None:
    if not isinstance(op, Join):
        return None
    for place, kinds in enumerate((_LEFT, _RIGHT)):
        own = names(op.children[place].schema)

        def fits(c: Expr, own: set[str] = own, free: bool = op.how in kinds) -> bool:
            if not c.columns or not c.columns <= own:
                return False
            why = f"{c} stays in the condition of the {op.how.value}: tuples without a match are kept"
            return site.require(NOT_KEPT, free, why, op.label)

        tested = Select(Join(op.left, op.right), op.condition)
        moved, kept = divided(tested, site, fits)
        if moved:
            sides = [selected(c, moved) if k == place else c for k, c in enumerate(op.children)]
            return replace(op, left=sides[0], right=sides[1], condition=conjunction(kept))
    return None


_OTHER = C.rename({"a": "c", "b": "d"})
REFUSED = (
    Refused(
        "the left side of a left join",
        NOT_KEPT,
        C.join(_OTHER, on="a = c AND b > 1", how="left"),
        {"C": [(1, 1)]},
        "a left tuple that does not satisfy the condition is kept without a match",
    ),
    Refused(
        "a division with nothing to join",
        CANNOT_FAIL,
        C.join(_OTHER.where("c = 9"), on="a = c AND 1 / b > 0"),
        {"C": [(1, 0)]},
        "there is no pair, so that nobody divides by 0",
    ),
)


def drawn(random: Random) -> Operator:
    how = random.one(["inner", "left", "right", "full", "semi", "anti"])
    texts = ["a = c AND b > 1", "a = c AND d > 0", "d IS NOT NULL AND a < d", "a = c AND 1 / b > 0", "b = 1", "c <= d"]
    return random.relation().join(random.aside(), on=random.one(texts), how=how).operator
