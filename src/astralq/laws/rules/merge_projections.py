"""Two projections or renamings become one; one that changes nothing is left out.

PROJECT twice + 1 AS x                     PROJECT v * 2 + 1 AS x
└─ PROJECT v * 2 AS twice, w        →      └─ RELATION r
   └─ RELATION r
"""

from __future__ import annotations

from collections import Counter

from astralq.algebra.base import Operator
from astralq.algebra.relational import Named, Project, Rename
from astralq.expr.conditions import substituted
from astralq.expr.nodes import Column
from astralq.expr.safety import can_fail
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import C, Random, S, tuples
from astralq.laws.shapes import CANNOT_FAIL, items_of, names, stamps_read

LAW = "Π_A(Π_B R) ≡ Π_{A∘B} R; Π_all R ≡ R; the same for ρ"
PAPERS = "001 §4.1"
HOLDS = Holds.EXACTLY
HIDDEN = "no attribute hides a stamp"
CONDITIONS = {
    CANNOT_FAIL: "no expression of the inner projection can fail: it might not be computed any more",
    HIDDEN: "a pseudo-column that the outer projection reads is no attribute below the inner one",
}


def rewrite(op: Operator, site: Site) -> Operator | None:
    if not isinstance(op, Project | Rename):
        return None
    if _changes_nothing(op):
        return op.child
    inner = op.child
    if not isinstance(inner, Project | Rename):
        return None
    made = {name.lower(): e for name, e in items_of(inner)}
    # An expression is not written out several times: it would be computed as often.
    uses = Counter(c for _, e in items_of(op) for part in e.walk() if isinstance(part, Column) for c in part.columns)
    if any(uses[name] > 1 and not isinstance(e, Column) for name, e in made.items()):
        return None
    failing = next((e for e in made.values() if can_fail(e)), None)
    if not site.require(CANNOT_FAIL, failing is None, f"{failing} can fail, and might not be computed", op.label):
        return None
    read = [stamps_read(e, inner.schema) for _, e in items_of(op)]
    hidden = frozenset[str]().union(*read) & names(inner.child.schema)
    why = "a stamp is read, and below the inner projection an attribute has that name"
    if not site.require(HIDDEN, not hidden, why, op.label):
        return None
    items = tuple((name, substituted(e, made)) for name, e in items_of(op))
    merged = _renaming(inner.child, items) if isinstance(op, Rename) and isinstance(inner, Rename) else None
    merged = Project(inner.child, items) if merged is None else merged
    return merged if merged.schema == op.schema else None


def _changes_nothing(op: Project | Rename) -> bool:
    same = all(isinstance(e, Column) and e.name == name and name in op.child.schema for name, e in items_of(op))
    return same and op.schema == op.child.schema


def _renaming(child: Operator, items: tuple[Named, ...]) -> Operator:
    return Rename(child, tuple((e.name, name) for name, e in items if isinstance(e, Column)))


REFUSED = (
    Refused(
        "a division that nobody shows",
        CANNOT_FAIL,
        C.select("a", "1 / b AS q").select("a"),
        {"C": [(1, 0)]},
        "the division by 0 is an error, also where nobody shows the quotient",
    ),
    Refused(
        "an attribute with the name of a stamp",
        HIDDEN,
        S.select("CAST(a AS BIGINT) AS _i", "b").rename({"_i": "x"}).select("x", "_i AS i"),
        {"S": tuples((1, 1, 1))},
        "above the renaming _i is the batch index, below it the attribute",
    ),
)


def drawn(random: Random) -> Operator:
    child = random.one([random.stream, random.relation])()
    if random.chance(0.15):
        return child.select("*").operator
    if random.chance(0.15) and child.operator.stamped:
        return child.select("CAST(a AS BIGINT) AS _i", "b").rename({"_i": "x"}).select("x", "_i AS i").operator
    inner = random.one(
        [child.rename({"a": "x"}), child.select("b AS x", "a AS b"), child.select("a + 0.5D AS x", "1 / b AS b")]
    )
    outer = [
        inner.rename({"x": "z"}),
        inner.select("x AS y", "b"),
        inner.select("x"),
        inner.select("b", "x + 0.5D AS z"),
    ]
    return random.one(outer).operator
