"""Batch identifiers (t, i) as columns: how they compare, and the sentinels that stand for always and never."""

from __future__ import annotations

from dataclasses import dataclass

from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, lit, long
from astralq.timeline import LAST_INDEX, BatchId

ALWAYS = -(2**62)
"""Before every instant: the start of what holds from always."""

NEVER = 2**62
"""After every instant: the end of what holds for ever."""


@dataclass(frozen=True)
class Id:
    """A batch identifier as two BIGINT columns; without i it is 0 in every row, and costs nothing."""

    t: Column
    i: Column | None = None

    @property
    def index(self) -> Column:
        return long(0) if self.i is None else self.i

    def moved(self, by: int) -> Id:
        """(t + by, i); always and never stay."""
        if by == 0:
            return self
        finite = (self.t > ALWAYS) & (self.t < NEVER)
        return Id(F.when(finite, self.t + lit(by)).otherwise(self.t), self.i)


def literal(b: BatchId) -> Id:
    return Id(long(b.t), None if b.i == 0 else long(b.i))


def at(t: Column | int) -> Id:
    """(t, 0)."""
    return Id(long(t) if isinstance(t, int) else t)


def lt(a: Id, b: Id) -> Column:
    """a < b, lexicographically."""
    if (a.i is None and b.i is None) or _is_last(a):
        return a.t < b.t
    return (a.t < b.t) | ((a.t == b.t) & (a.index < b.index))


def le(a: Id, b: Id) -> Column:
    if (a.i is None and b.i is None) or _is_last(b):
        return a.t <= b.t
    return ~lt(b, a)


def _is_last(b: Id) -> bool:
    """Whether nothing of the same instant is behind it."""
    return b.i is not None and b.i.text == long(LAST_INDEX).text


def greatest(a: Id, b: Id) -> Id:
    if a.i is None and b.i is None:
        return Id(F.greatest(a.t, b.t))
    less = lt(a, b)
    return Id(F.greatest(a.t, b.t), F.when(less, b.index).otherwise(a.index))


def least(a: Id, b: Id) -> Id:
    if a.i is None and b.i is None:
        return Id(F.least(a.t, b.t))
    less = lt(a, b)
    return Id(F.least(a.t, b.t), F.when(less, a.index).otherwise(b.index))


def choose(condition: Column, yes: Id, no: Id) -> Id:
    """One of two identifiers."""
    t = F.when(condition, yes.t).otherwise(no.t)
    if yes.i is None and no.i is None:
        return Id(t)
    return Id(t, F.when(condition, yes.index).otherwise(no.index))
