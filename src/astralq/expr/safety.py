"""Which expressions can fail on a row, and which aggregates can be put together from parts."""

from __future__ import annotations

from astralq.expr.nodes import Aggregate, Call, Cast, Expr

_SAFE = frozenset(["=", "<>", "<", "<=", ">", ">=", "<=>", "and", "or", "not", "isnull", "isnotnull", "in", "between"])


def can_fail(expr: Expr) -> bool:
    """Whether it could fail on some row, as a division can; comparisons of attributes cannot."""
    for e in expr.walk():
        if isinstance(e, Call) and e.function not in _SAFE:
            return True
        if isinstance(e, Cast) and not (e.implicit or e.safe):
            return True
    return False


MERGEABLE = ("count", "sum", "avg", "min", "max", "first", "last")


def mergeable(a: Aggregate) -> bool:
    """Whether the aggregate of several groups of rows follows from what little is known of each group."""
    return a.function in MERGEABLE and not (a.distinct and a.function in ("count", "sum", "avg"))
