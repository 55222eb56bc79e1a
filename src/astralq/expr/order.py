"""How values compare: one total order with NULL first and NaN last, as Spark sorts ascending."""

from __future__ import annotations

from typing import Any

from astralq.schema import Value

OrderKey = tuple[Any, ...]

NULL_KEY: OrderKey = (0,)
BOTTOM_KEY: OrderKey = (-1,)
"""⊥, before every value: the φ component of an outer join's unmatched left tuples."""


def order_key(value: Value) -> OrderKey:
    """A key that sorts and identifies a value: NULL first, NaN equal to itself and last, -0.0 as 0.0.

    >>> sorted([2.0, float("nan"), None, -1.0], key=order_key)
    [None, -1.0, 2.0, nan]
    """
    if value is None:
        return NULL_KEY
    if isinstance(value, float) and value != value:
        return (2,)
    return (1, value)


def row_key(values: tuple[Value, ...]) -> OrderKey:
    """The key of several values, compared lexicographically."""
    return tuple(order_key(v) for v in values)
