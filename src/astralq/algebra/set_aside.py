"""Rows of a source that a run cannot use: they are counted and reported, never passed over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from astralq.algebra.base import Operator
from astralq.algebra.sources import RelationSource, SensedSource, StartedAt, StreamSource
from astralq.timeline import EPOCH, Instant, format_instant


@dataclass(frozen=True)
class SetAside:
    """How many rows of a source were left out, and why.

    >>> print(before_start("s", 2, EPOCH))
    2 tuples of s are before the start, 1970-01-01T00:00:00Z, and were left out
    >>> print(unmatched("log", 1))
    1 change '-' of log found no row to take out
    """

    source: str
    rows: int
    reason: str

    def __str__(self) -> str:
        return self.reason


def before_start(source: str, rows: int, t0: Instant) -> SetAside:
    """Tuples before t0, which a query ignores."""
    are, tuples = ("is", "tuple") if rows == 1 else ("are", "tuples")
    left = "was left out" if rows == 1 else "were left out"
    start = f"the start, {format_instant(t0)}"
    return SetAside(source, rows, f"{rows:,} {tuples} of {source} {are} before {start}, and {left}")


def unmatched(source: str, rows: int) -> SetAside:
    """Changes '-' of a log for which no row was there."""
    changes = "change" if rows == 1 else "changes"
    return SetAside(source, rows, f"{rows:,} {changes} '-' of {source} found no row to take out")


def sources_with_start(
    query: Operator, t0: Instant | None
) -> Iterator[tuple[StreamSource | SensedSource | RelationSource, Instant]]:
    """The sources of a query, each with the start from which it is read: a view may have one of its own."""
    if isinstance(query, StreamSource | SensedSource | RelationSource):
        yield query, EPOCH if t0 is None else t0
    inner = query.t0 if isinstance(query, StartedAt) else t0
    for child in query.children:
        yield from sources_with_start(child, inner)


class SetAsideWarning(UserWarning):
    """Some rows could not be used; the answer is that of the others."""
