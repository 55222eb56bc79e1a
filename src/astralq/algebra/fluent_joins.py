"""Joins of the fluent API: their kinds, and their conditions as texts; natural where there is none."""

from __future__ import annotations

from typing import Any

from astralq.algebra.base import Operator
from astralq.algebra.relational import JoinKind, Project, same_attributes
from astralq.errors import ExpressionError
from astralq.expr.nodes import Column
from astralq.expr.parse import expression


def join_kind(how: str) -> JoinKind:
    try:
        return JoinKind[how.upper()]
    except KeyError:
        raise ExpressionError(
            f"unknown kind of join {how!r}", hint="use inner, left, right, full, semi, anti or single"
        ) from None


def natural_or_on(left: Operator, right: Operator, on: str | None, build: Any, *, keeps_right: bool) -> Operator:
    """The join on a condition; or the natural one, with the common attributes once in the result."""
    if on is not None:
        return build(right, expression(on, left.schema.concat(right.schema)))  # type: ignore[no-any-return]
    common = tuple(n for n in left.schema.names if n in right.schema)
    renamed, condition, _ = same_attributes(left, right, common)
    joined: Operator = build(renamed, condition)
    if not keeps_right:
        return joined
    wanted = [*left.schema, *(a for a in right.schema if a.name not in left.schema)]
    return Project(joined, tuple((a.name, Column(a.type, a.name)) for a in wanted))
