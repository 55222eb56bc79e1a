"""A selection moves below unions, intersections and differences, by φ and by value.

SELECT a = 1                 UNION BY φ
└─ UNION BY φ         →      ├─ SELECT a = 1
   ├─ r                      │  └─ r
   └─ s                      └─ SELECT a = 1
                                └─ s
"""

from __future__ import annotations

from astralq.algebra.base import Operator
from astralq.algebra.relational import Select, SetKind, SetOperation, ValueSetOperation
from astralq.algebra.windows import range_
from astralq.expr.conditions import substituted
from astralq.expr.nodes import Column, Expr
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import C, Random, S, U, at, tuples
from astralq.laws.shapes import CANNOT_FAIL, divided, names, selected, stamps_read

LAW = "σ_c(R ∪ Q) ≡ σ_c R ∪ σ_c Q; the same for ∩ and −"
PAPERS = "001 §4.1, D18, D19"
HOLDS = Holds.EXACTLY
ON_STAMPS = "not on stamps"
HIDDEN = "no attribute hides a stamp"
CONDITIONS = {
    CANNOT_FAIL: "the condition cannot fail: below a difference it is computed on rows that are taken out",
    ON_STAMPS: "below ∩ and − the condition does not read stamps: equal rows of both sides may have different ones",
    HIDDEN: "a pseudo-column that the condition reads is no attribute of the right side",
}


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op:
        case Select(SetOperation() | ValueSetOperation() as both):
            union = isinstance(both, SetOperation) and both.how is SetKind.UNION

            def fits(c: Expr) -> bool:
                stamped = not union and stamps_read(c, op.schema)
                why = f"{c} reads a stamp, and equal rows of both sides may have different ones"
                if not site.require(ON_STAMPS, not stamped, why, op.label):
                    return False
                hidden = stamps_read(c, op.schema) & names(both.children[1].schema)
                return site.require(
                    HIDDEN, not hidden, f"{c} reads a stamp, which is an attribute on the right", op.label
                )

            moved, kept = divided(op, site, fits)
            if moved:
                sides = [selected(side, [_of(side, both, c) for c in moved]) for side in both.children]
                return selected(both.with_children(*sides), kept)
    return None


def _of(side: Operator, both: Operator, condition: Expr) -> Expr:
    """The condition with a side's own names: attributes go together by their places."""
    pairs = zip(both.schema.names, side.schema, strict=True)
    return substituted(condition, {name.lower(): Column(a.type, a.name) for name, a in pairs})


_D = {"S": tuples((1, 1, 9), (3, 1, 0)), "U": tuples((1, 1, 9), (3, 1, 0))}
REFUSED = (
    Refused(
        "an attribute with the name of a stamp",
        HIDDEN,
        S.select("a", "CAST(b AS BIGINT) AS b")[range_("9 us")]
        .union(U.select("a", "CAST(b AS BIGINT) AS _n")[range_("9 us")])
        .where("_n = 0"),
        _D,
        "_n is the position on both sides; below the union it is the attribute of the right one",
    ),
    Refused(
        "a division by what is taken out",
        CANNOT_FAIL,
        C.except_values(C.where("b = 0")).where("1 / b > 0"),
        {"C": [(1, 0), (1, 1)]},
        "the row with 0 is taken out before anybody divides by it",
    ),
    Refused(
        "the time of a tuple that two streams have",
        ON_STAMPS,
        S[range_("5 us")].intersection(U[range_("5 us")]).where(f"_t >= {at(2)}"),
        {"S": tuples((2, 1, 1)), "U": tuples((1, 1, 1))},
        "the tuple is the same one by φ and values, and came to U earlier",
    ),
)


def drawn(random: Random) -> Operator:
    if random.chance(0.2):
        r, q = S[random.window()], U[random.window()]
    else:
        r, q = random.relation(), random.relation(0)
    both = random.one(
        [
            r.union(q.rename({"a": "x"})),
            r.intersection(r.where(random.condition(r.operator))),
            r.difference(q),
            r.union_values(q),
            r.intersect_values(q, all=random.chance(0.5)),
            r.except_values(r.where(random.condition(r.operator)), all=random.chance(0.5)),
        ]
    )
    return both.where(random.condition(both.operator, fails=0.15)).operator
