"""How values compare: one total order with NULL first and NaN last, as Spark sorts ascending."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from astralq.datatypes import MapValue, Value

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
    if isinstance(value, tuple):
        # Part by part; a map, which has no order in Spark, entry by entry, as these are sorted by key.
        return (1, row_key(value))
    return (1, value)


@dataclass(frozen=True)
class Descending:
    """A key that compares the other way round."""

    key: OrderKey

    def __lt__(self, other: Descending) -> bool:
        return other.key < self.key


def sort_key(value: Value, *, descending: bool, nulls_first: bool) -> OrderKey:
    """The key of a value in an order with a direction, and with NULLs first or last.

    >>> sorted([2.0, float("nan"), None, -1.0], key=lambda v: sort_key(v, descending=True, nulls_first=False))
    [nan, 2.0, -1.0, None]
    """
    if value is None:
        return NULL_KEY if nulls_first else (3,)
    return (1, Descending(order_key(value))) if descending else order_key(value)


def map_value(entries: Iterable[tuple[Value, Value]]) -> MapValue:
    """A MAP of entries, in the order of their keys."""
    return MapValue(sorted(entries, key=lambda e: order_key(e[0])))


def row_key(values: tuple[Value, ...]) -> OrderKey:
    """The key of several values, compared lexicographically."""
    return tuple(order_key(v) for v in values)
