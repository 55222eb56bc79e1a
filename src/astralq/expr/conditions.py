"""Conditions taken apart and put together: conjuncts, and expressions over other columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from astralq.expr.functions import call
from astralq.expr.nodes import TRUE, Call, Column, Expr


def conjuncts(condition: Expr) -> list[Expr]:
    """The conditions that all have to be true; none for TRUE.

    >>> from astralq.expr.parse import expression
    >>> from astralq.schema import Schema
    >>> conjuncts(expression("a > 1 AND (b = 2 OR a = 3) AND b < 9", Schema.parse("a INT, b INT")))
    [a > 1, b = 2 OR a = 3, b < 9]
    """
    if isinstance(condition, Call) and condition.function == "and":
        return [c for arg in condition.args for c in conjuncts(arg)]
    return [] if condition == TRUE else [condition]


def conjunction(conditions: Iterable[Expr]) -> Expr:
    """The condition that all of them are true, in their order."""
    both: Expr = TRUE
    for c in conditions:
        both = c if both == TRUE else call("and", both, c)
    return both


def substituted(expr: Expr, columns: Mapping[str, Expr]) -> Expr:
    """The expression with columns replaced, by their names in lower case; others stay."""
    return expr.transform(lambda e: columns.get(e.name.lower(), e) if isinstance(e, Column) else e)
