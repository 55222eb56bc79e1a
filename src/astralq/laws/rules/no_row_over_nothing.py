"""A global aggregate needs no row over nothing where the selection above does not let it through.

SELECT n > 0                      SELECT n > 0
└─ AGGREGATE count(*) AS n   →    └─ AGGREGATE count(*) AS n, without a row over nothing
   └─ RELATION r                     └─ RELATION r
"""

from __future__ import annotations

from dataclasses import replace

from astralq.algebra.base import Operator
from astralq.algebra.relational import GroupBy, Select
from astralq.errors import AstralError
from astralq.expr.aggregates import aggregator
from astralq.expr.evaluate import evaluator
from astralq.expr.nodes import Expr, PythonCall
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import C, Random

LAW = "σ_c(γ_{∅, f} R) ≡ σ_c(γ'_{∅, f} R), where γ' has no row over ∅"
PAPERS = "001 §4.1; docs/decisions.md on aggregates"
HOLDS = Holds.EXACTLY
NOT_TRUE = "not true over nothing"
CONDITIONS = {NOT_TRUE: "the condition, computed for the row over nothing, is FALSE or NULL, and does not fail"}


def rewrite(op: Operator, site: Site) -> Operator | None:
    match op:
        case Select(GroupBy(keys=(), empty_row=True, panes=None) as group, condition):
            if any(isinstance(e, PythonCall) for e in condition.walk()) or any(a.python for _, a in group.aggregates):
                return None  # nobody's function is called while a plan is made
            why = f"{condition} is true of the row over nothing, or fails there"
            if site.require(NOT_TRUE, _rejects(condition, group), why, op.label):
                return replace(op, child=replace(group, empty_row=False))
    return None


def _rejects(condition: Expr, group: GroupBy) -> bool:
    """Whether a condition is computed for the row over nothing, and is not true of it."""
    try:
        row = tuple(aggregator(a, group.child.readable)(()) for _, a in group.aggregates)
        return evaluator(condition, group.schema)(row) is not True
    except AstralError:
        return False


REFUSED = (
    Refused(
        "a count that may be 0",
        NOT_TRUE,
        C.aggregate("count(*) AS n").where("n < 5"),
        {"C": []},
        "0 is less than 5, so that the row over nothing is in the answer",
    ),
    Refused(
        "a condition that fails over nothing",
        NOT_TRUE,
        C.aggregate("count(*) AS n").where("1 / n > 0"),
        {"C": []},
        "the division by 0 is an error, also where nothing is shown",
    ),
)


def drawn(random: Random) -> Operator:
    group = random.relation().aggregate("count(*) AS n", "max(a) AS m", "count(b) AS k")
    conditions = ["n > 0", "n >= 1 AND m < 2", "m = 1", "m IS NULL", "n + k < 3", "coalesce(m, 1) = 1", "12 / n > 3"]
    return random.one([group.where(c) for c in conditions]).operator
