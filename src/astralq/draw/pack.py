"""Puts what would overlap into rows of its own."""

from __future__ import annotations

from collections.abc import Iterable


def pack(intervals: Iterable[tuple[float, float]], gap: float = 0.0) -> list[int]:
    """For each interval, in the given order, the first row in which nothing is nearer to it than a gap.

    >>> pack([(0, 10), (5, 15), (10, 20), (0, 6)])
    [0, 1, 0, 2]
    """
    rows: list[list[tuple[float, float]]] = []
    chosen = []
    for first, last in intervals:
        free = (k for k, row in enumerate(rows) if all(last + gap <= a or b + gap <= first for a, b in row))
        k = next(free, len(rows))
        if k == len(rows):
            rows.append([])
        rows[k].append((first, last))
        chosen.append(k)
    return chosen
