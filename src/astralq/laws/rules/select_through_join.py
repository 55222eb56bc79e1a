"""A selection on one side of a join moves to that side, where the join keeps unmatched tuples only of that side.

    SELECT a = 1                     JOIN ON k = j
    └─ JOIN ON k = j          →      ├─ SELECT a = 1
       ├─ r (k, a)                   │  └─ r
       └─ s (j, b)                   └─ s

Below an outer join the other side stays: its unmatched tuples have NULLs that no tuple below has. A selection on the
stream of `s JOIN r` comes as far as the last batch of s, and not below it (001 remark 1).
"""

from __future__ import annotations

from collections.abc import Callable

from astralq.algebra.base import PSEUDO, Operator
from astralq.algebra.relational import Join, JoinKind, Product, Select
from astralq.algebra.sneeql import WindowsProduct
from astralq.algebra.stream_ops import BandJoin
from astralq.expr.nodes import TRUE, Expr
from astralq.expr.safety import can_fail
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import C, Random, S, U, tuples, us
from astralq.laws.shapes import CANNOT_FAIL, divided, names, selected

LAW = "σ_c(R ⋈ Q) ≡ (σ_c R) ⋈ Q for c on R; σ_c(R ⟕ Q) ≡ (σ_c R) ⟕ Q"
PAPERS = "001 C4, §4.4; 003 §6.2"
HOLDS = Holds.EXACTLY
KEPT = "of a side that is kept as it is"
BY_POSITION = "not by position"
CONDITIONS = {
    KEPT: "the join does not add NULLs to that side",
    CANNOT_FAIL: "neither the condition nor that of the join can fail: both are computed on other pairs",
    BY_POSITION: "the join does not compare positions, which a selection numbers anew",
}

_LEFT = (JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
_RIGHT = (JoinKind.INNER, JoinKind.RIGHT)


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op:
        case Select(Product() | WindowsProduct() | Join() as join):
            how = join.how if isinstance(join, Join) else JoinKind.INNER
            on = join.condition if isinstance(join, Join) else TRUE
        case Select(BandJoin(within_rows=int()) as join):
            how, on = JoinKind.INNER, TRUE
            why = "the join compares positions, and the selected stream has others"
            if not site.require(BY_POSITION, False, why, op.label):
                return None
        case _:
            return None
    if not site.require(CANNOT_FAIL, not can_fail(on), f"{on} can fail, and would for fewer pairs", op.label):
        return None
    for place, sides in enumerate((_LEFT, _RIGHT)):
        side = join.children[place]
        moved, kept = divided(op, site, _on(side, how, site, how in sides))
        if moved:
            children = [selected(c, moved) if k == place else c for k, c in enumerate(join.children)]
            return selected(join.with_children(*children), kept)
    return None


def _on(side: Operator, how: JoinKind, site: Site, kept: bool) -> Callable[[Expr], bool]:
    """Which conditions are on a side of a join; `kept`: whether the join adds no NULLs to it."""

    def fits(c: Expr) -> bool:
        stamps = PSEUDO if how in (JoinKind.SEMI, JoinKind.ANTI) and kept else frozenset[str]()
        if not c.columns or not c.columns <= names(side.schema) | (stamps - names(side.schema)):
            return False
        why = f"{c} is not pushed below the {how.value}: a tuple without a match has NULLs there"
        return site.require(KEPT, kept, why)

    return fits


REFUSED = (
    Refused(
        "the right side of a left join",
        KEPT,
        C.join(C.rename({"a": "c", "b": "d"}), on="a = c AND d > 1", how="left").where("d IS NULL"),
        {"C": [(1, 2)]},
        "d is NULL for tuples without a match; selected first, every tuple is without one",
    ),
    Refused(
        "a division in the join's condition",
        CANNOT_FAIL,
        C.join(C.rename({"a": "c", "b": "d"}), on="1 / b = c").where("a = 1"),
        {"C": [(0, 0), (1, 1)]},
        "the division by 0 is an error, also where its pair is not shown",
    ),
    Refused(
        "a band by position",
        BY_POSITION,
        S.band(U.rename({"a": "c", "b": "d"}), rows=0, on="a = c").where("a = 1"),
        {"S": tuples((1, 0, 0), (2, 1, 1)), "U": tuples((1, 1, 7))},
        "the second tuple of S is the first of the selected ones, and meets the first one of U then (001 C4)",
    ),
)


def drawn(random: Random) -> Operator:
    if random.chance(0.1):
        left, right = (random.stream().windows(us(2), us(0), us(random.number(1, 3))) for _ in range(2))
        pair = left.product(right.select("a AS c", "b AS d"))
        return pair.where(random.condition(pair.operator)).rstream().operator
    if random.chance(0.15):
        other = random.stream(0).select("a AS c", "b AS d")
        banded = random.stream(0).band(other, rows=random.number(0, 2), on="a = c")
        return banded.where(random.condition(banded.operator)).operator
    r, q = random.relation(), random.aside()
    how = random.one(["inner", "left", "right", "full", "semi", "anti"])
    on = random.one(["a = c", "a < d", "a = c AND b <> d", "1 / b = c"])
    joined = r.product(q) if random.chance(0.2) else r.join(q, on=on, how=how)
    columns = random.one([["a", "b"], ["c", "d"]]) if how not in ("semi", "anti") else ["a", "b"]
    columns = [c for c in columns if c in joined.operator.schema] or ["a"]
    return joined.where(random.condition(joined.operator, columns)).operator
