"""ASOF JOIN: each tuple of one relation with the nearest of another, in each state."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from astralq.algebra.base import Kind, Operator
from astralq.algebra.grouping import unique
from astralq.algebra.ordering import Limit, SortKey
from astralq.algebra.properties import properties
from astralq.algebra.relational import Join, JoinKind, Project
from astralq.algebra.stream_ops import Composite
from astralq.errors import PlanError
from astralq.expr.conditions import conjuncts
from astralq.expr.nodes import Call, Column, Expr
from astralq.schema import INT, Schema

_BACK = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}
"""Inequalities, and what they are with their sides swapped."""


@dataclass(frozen=True, repr=False)
class AsofJoin(Composite):
    """Each tuple of the left side with the nearest of the right that fits, in each state.

    The condition has one inequality between the two sides. For left >= right, or >, the nearest has the greatest value
    on the right, and of equal ones it is the last; for <= and < the least, and the first.
    """

    left: Operator
    right: Operator
    condition: Expr
    how: JoinKind = JoinKind.INNER

    @property
    def kind(self) -> Kind:
        return Kind.RELATION

    @cached_property
    def definition(self) -> Operator:
        """The pairs, of which each left tuple keeps one; equal left tuples are told apart by a number."""
        for side in (self.left, self.right):
            if side.kind is not Kind.RELATION:
                raise PlanError(
                    f"ASOF JOIN takes two relations, and this is a {side.kind.value}:\n{side}",
                    hint="give it a window; or s LOOKUP JOIN r, for the row as it is when a tuple of s arrives",
                )
        if self.how not in (JoinKind.INNER, JoinKind.LEFT):
            raise PlanError(f"ASOF is not for a {self.how.value}", hint="write ASOF JOIN or LEFT ASOF JOIN")
        backward, value = self._nearest
        left, per = self._told_apart
        pairs = Join(left, self.right, self.condition, self.how)
        nearest = Limit(pairs, 1, per, (SortKey(value),), last=backward)
        return Project(nearest, _columns(self.left.schema.concat(self.right.schema)))

    @property
    def _told_apart(self) -> tuple[Operator, tuple[Expr, ...]]:
        """The left side, and attributes of which no two of its tuples have the same values."""
        columns = tuple(e for _, e in _columns(self.left.schema))
        if properties(self.left).keys:
            return self.left, columns
        taken = {n.lower() for n in (*self.left.schema.names, *self.right.schema.names)}
        copy = unique("_copy", taken)
        return Limit(self.left, None, columns, rank=copy), (*columns, Column(INT, copy))

    @property
    def _nearest(self) -> tuple[bool, Expr]:
        """Whether the nearest is the greatest below, and the right side's value that is compared."""
        found = [n for c in conjuncts(self.condition) if (n := self._compared(c)) is not None]
        if len(found) != 1:
            few = "none" if not found else f"{len(found)} of them"
            raise PlanError(
                f"ASOF JOIN has one inequality between its two sides, and {self.condition} has {few}",
                hint="write for example ON a.k = b.k AND a.x >= b.x",
            )
        return found[0]

    def _compared(self, condition: Expr) -> tuple[bool, Expr] | None:
        if not isinstance(condition, Call) or condition.function not in _BACK:
            return None
        names = [{n.lower() for n in side.schema.names} for side in (self.left, self.right)]
        x, y = condition.args
        for a, b, function in ((x, y, condition.function), (y, x, _BACK[condition.function])):
            if a.columns and b.columns and a.columns <= names[0] and b.columns <= names[1]:
                return function in (">=", ">"), b
        return None

    @property
    def label(self) -> str:
        return f"{'LEFT ' if self.how is JoinKind.LEFT else ''}ASOF JOIN ON {self.condition}"


def _columns(schema: Schema) -> tuple[tuple[str, Column], ...]:
    return tuple((a.name, Column(a.type, a.name)) for a in schema)
