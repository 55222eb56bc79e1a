"""FILTER (WHERE …) of an aggregate: tuples that do not satisfy the condition are as if they were not there.

An aggregate that passes over NULL takes CASE WHEN condition THEN x END, so that no engine needs to know of filters, and
x is computed for no other tuples. `first`, `last` and Python functions count NULL; they keep the condition.
"""

from __future__ import annotations

from dataclasses import replace

from astralq.errors import ExpressionError, TypeMismatchError
from astralq.expr.functions import case
from astralq.expr.nodes import Aggregate, Expr, Literal
from astralq.schema import BOOLEAN, INT, NULL


def filtered(a: Aggregate, condition: Expr) -> Aggregate:
    """The aggregate over those tuples only for which the condition is true."""
    if condition.type not in (BOOLEAN, NULL):
        raise TypeMismatchError(
            f"the condition {condition} of FILTER is {condition.type}, not BOOLEAN", hint="compare it with something"
        )
    if any(isinstance(e, Aggregate) for e in condition.walk()):
        raise ExpressionError(
            "an aggregate stands in FILTER", hint="FILTER is about single tuples; HAVING is about groups"
        )
    if a.counts_null:
        return replace(a, where=condition)
    args = a.args or (Literal(INT, 1),)
    values = [not isinstance(x, Literal) for x in args]
    values = values if any(values) else [True, *values[1:]]  # sum(1)
    return replace(a, args=tuple(case(((condition, x),), None) if v else x for x, v in zip(args, values, strict=True)))
