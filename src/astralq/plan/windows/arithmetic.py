"""Exact arithmetic on evaluations: quotients of BIGINTs, and the first evaluation whose bound reaches a value."""

from __future__ import annotations

from astralq.algebra.scopes import Linear
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, lit, long


def quotient_up(value: Column, by: int) -> Column:
    """⌈value / by⌉ of BIGINTs, exactly."""
    if by == 1:
        return value
    rest = F.pmod(value, long(by))
    floor = (value - rest) // long(by)
    return floor + F.when(rest > 0, lit(1)).otherwise(lit(0))


def quotient_down(value: Column, by: int) -> Column:
    """⌊value / by⌋ of BIGINTs, exactly."""
    if by == 1:
        return value
    divisor = long(by)
    return (value - F.pmod(value, divisor)) // divisor


def at_least_zero(value: Column, shift: int, by: int, least: int | None = None) -> Column:
    """max(0, ⌈(value + shift) / by⌉), NULL for NULL: div cuts towards 0, right where the quotient is not negative.

    No value is less than `least`, if that is known.
    """
    moved = value + lit(shift + by - 1)
    quotient = moved // long(by) if by > 1 else moved
    if least is not None and least + shift + by - 1 >= 0:
        return quotient
    return F.when(quotient > 0, quotient).when(quotient <= 0, long(0))  # greatest would take 0 for NULL


def first_at_least(bound: Linear, value: Column, least: int | None = None) -> Column:
    """The first j ≥ 0 with bound(j) ≥ value; NULL: never."""
    if bound.slope == 0:
        return F.when(lit(bound.offset) >= value, long(0))
    return at_least_zero(value, -bound.offset, bound.slope, least)


def first_beyond(bound: Linear, value: Column) -> Column:
    """The first j ≥ 0 with bound(j) > value."""
    return first_at_least(Linear(bound.slope, bound.offset - 1), value)


def evaluation(j: Column, every: int, origin: int) -> Column:
    """E_j = o + j·r."""
    return j * lit(every) + lit(origin)
