"""A selection that compares both sides of a product or an inner join becomes a part of the join's condition.

SELECT k = j                 JOIN ON k = j
└─ PRODUCT            →      ├─ r (k)
   ├─ r (k)                  └─ s (j)
   └─ s (j)
"""

from __future__ import annotations

from astralq.algebra.base import Operator
from astralq.algebra.relational import Join, JoinKind, Product, Select
from astralq.expr.conditions import conjunction, conjuncts
from astralq.expr.nodes import TRUE, Expr
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import C, Random
from astralq.laws.shapes import CANNOT_FAIL, divided, names, selected

LAW = "σ_c(R × Q) ≡ R ⋈_c Q; σ_c(R ⋈_d Q) ≡ R ⋈_{d ∧ c} Q"
PAPERS = "003 §6.2; 001 §4.4"
HOLDS = Holds.EXACTLY
INNER = "of an inner join"
CONDITIONS = {
    INNER: "the join is an inner one: others keep tuples without a match",
    CANNOT_FAIL: "no condition can fail: it would be computed before others, or for fewer pairs",
}


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op:
        case Select(Product() | Join() as join) if not (isinstance(join, Join) and join.keeps_left):
            left, right = (names(c.schema) for c in join.children)

            def fits(c: Expr) -> bool:
                return bool(c.columns & left and c.columns & right)

            moved, kept = divided(op, site, fits)
            if not moved:
                return None
            how = join.how if isinstance(join, Join) else JoinKind.INNER
            why = f"not a part of the {how.value}'s condition: that also keeps tuples without a match"
            if not site.require(INNER, how is JoinKind.INNER, why, op.label):
                return None
            on = join.condition if isinstance(join, Join) else TRUE
            return selected(Join(join.left, join.right, conjunction(conjuncts(on) + moved), how), kept)
    return None


_OTHER = C.rename({"a": "c", "b": "d"})
REFUSED = (
    Refused(
        "a left join",
        INNER,
        C.join(_OTHER, on="a = c", how="left").where("b < d"),
        {"C": [(1, 1)]},
        "the pair is not selected; as a tuple without a match it would be shown with NULLs",
    ),
    Refused(
        "a division behind a test",
        CANNOT_FAIL,
        C.product(_OTHER).where("b > 0 AND a / b > d"),
        {"C": [(1, 0), (1, 1)]},
        "the test of b comes first, so that nobody divides by 0",
    ),
)


def drawn(random: Random) -> Operator:
    r, q = random.relation(), random.aside()
    how = random.one(["inner", "inner", "left", "right", "full"])
    joined = r.product(q) if random.chance(0.4) else r.join(q, on="a = c", how=how)
    texts = ["a = c", "b < d", "a = c AND b > 0", "b > 0 AND a / b > d", "a / b > c", "b IS NULL OR d = 1"]
    return joined.where(random.one(texts)).operator
