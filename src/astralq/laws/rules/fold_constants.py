"""Constant expressions are computed once, and conditions that are always true are left out.

SELECT 1 + 1 = 2 AND v > 3 * 4      →      SELECT v > 12
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from astralq.algebra.base import Operator
from astralq.algebra.relational import GroupBy, Join, Project, Select
from astralq.errors import AstralError
from astralq.expr.evaluate import evaluator
from astralq.expr.nodes import TRUE, Aggregate, Call, Case, Cast, Expr, Literal
from astralq.expr.safety import can_fail
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import C, Random
from astralq.laws.shapes import CANNOT_FAIL
from astralq.schema import BOOLEAN, Schema

LAW = "σ_{c ∧ TRUE} R ≡ σ_c R; σ_TRUE R ≡ R; an expression of constants ≡ its value"
PAPERS = "001 §4.1"
HOLDS = Holds.EXACTLY
CONDITIONS = {CANNOT_FAIL: "what is left out beside a constant cannot fail"}

FALSE = Literal(BOOLEAN, False)
_NOTHING = Schema(())
_FOLDED = ("INT", "BIGINT", "DOUBLE", "STRING", "BOOLEAN", "TIMESTAMP", "INTERVAL")
"""Types whose constants print with their type: a DECIMAL prints without its precision, and a NULL without any."""


def rewrite(op: Operator, site: Site) -> Operator | None:
    def folded(e: Expr) -> Expr:
        return e.transform(lambda part: _folded(part, site, op.label))

    match op:
        case Select(child, condition):
            new = folded(condition)
            if new == TRUE:
                return child
            return replace(op, condition=new) if new != condition else None
        case Join(condition=condition):
            new = folded(condition)
            return replace(op, condition=new) if new != condition else None
        case Project(items=items):
            made = tuple((name, folded(e)) for name, e in items)
            return replace(op, items=made) if made != items else None
        case GroupBy(keys=keys, aggregates=aggregates):
            by = tuple((name, folded(e)) for name, e in keys)
            of = tuple((name, cast(Aggregate, folded(a))) for name, a in aggregates)
            return replace(op, keys=by, aggregates=of) if (by, of) != (keys, aggregates) else None
    return None


def _folded(e: Expr, site: Site, where: str) -> Expr:
    match e:
        case Call(function="and", args=(a, b)):
            return _joined(a, b, TRUE, FALSE, site, where) or e
        case Call(function="or", args=(a, b)):
            return _joined(a, b, FALSE, TRUE, site, where) or e
        case Call() | Cast() | Case():
            return _computed(e)
    return e


def _joined(a: Expr, b: Expr, neutral: Expr, final: Expr, site: Site, where: str) -> Expr | None:
    """AND and OR with a constant: the neutral one goes; the other one decides, unless what it decides for can fail."""
    if a in (neutral, final):
        return b if a == neutral else final
    if b == neutral:
        return a
    if b == final and site.require(CANNOT_FAIL, not can_fail(a), f"{a} can fail, and would not any more", where):
        return final
    return None


def _computed(e: Expr) -> Expr:
    if not e.children or not all(isinstance(c, Literal) for c in e.children) or e.type.name not in _FOLDED:
        return e
    try:
        value = evaluator(e, _NOTHING)(())
    except AstralError:
        return e  # it fails where somebody computes it
    return e if value is None else Literal(e.type, value)


REFUSED = (
    Refused(
        "a division before a constant",
        CANNOT_FAIL,
        C.where("1 / b > 0 AND FALSE"),
        {"C": [(1, 0)]},
        "the division by 0 is an error, whatever stands behind it",
    ),
)


def drawn(random: Random) -> Operator:
    r = random.relation()
    texts = ["1 = 1", "a = 1 AND 2 > 1", "a > 1 + 1", "TRUE AND b = 0", "1 / b > 0 AND 1 = 2", "a = 1 OR 1 = 1"]
    texts += ["b < CAST('2' AS INT)", "1 / 0 > a", "a = CASE WHEN 1 < 2 THEN 2 ELSE 3 END"]
    shaped = [r.where(random.one(texts)), r.select("a", "1 + 2 AS b"), r.aggregate("max(1 + 1) AS m", by="a")]
    return random.one([*[shaped[0]] * 3, *shaped[1:]]).operator
