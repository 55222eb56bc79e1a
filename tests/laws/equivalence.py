"""Equivalence of two queries (001 D36): the same tuples but for φ, in the same order; in streams also batches."""

from __future__ import annotations

from typing import Any

from astralq.algebra.base import HasOperator
from astralq.model import Data, Relation, Stream, prepare
from astralq.timeline import BatchId, Instant

Trace = list[tuple[Any, ...]]


def traces(
    left: HasOperator,
    right: HasOperator,
    data: Data,
    *,
    t0: tuple[Instant | None, Instant | None] = (None, None),
    until: Instant | None = None,
    since: BatchId | None = None,
) -> tuple[Trace, Trace]:
    """What two queries show, in a form that is equal exactly if they are equivalent.

    Streams: (batch, values) in order. Relations: (batch, values in φ order) at every identifier at which one of the two
    can change. `since` leaves out what comes before it.
    """
    runs = [prepare(q, data, start, until) for q, start in zip((left, right), t0, strict=True)]
    results = [r.result() for r in runs]
    first = min(r.ctx.start for r in runs) if since is None else since
    last = max(r.ctx.end for r in runs)
    a, b = results
    if isinstance(a, Stream) and isinstance(b, Stream):
        return _tuples(a, first), _tuples(b, first)
    assert isinstance(a, Relation)
    assert isinstance(b, Relation)
    points = sorted({first} | a.changes(first, last) | b.changes(first, last))
    return _states(a, points), _states(b, points)


def _tuples(s: Stream, first: BatchId) -> Trace:
    return [(t.batch, t.values) for t in s.tuples if t.batch >= first]


def _states(r: Relation, points: list[BatchId]) -> Trace:
    return [(b, [row.values for row in r.at(b)]) for b in points]


def assert_equivalent(left: HasOperator, right: HasOperator, data: Data, **options: Any) -> None:
    a, b = traces(left, right, data, **options)
    assert a == b, f"\n{left}\n\nis not equivalent to\n\n{right}\n\nwith {data}"


def assert_different(left: HasOperator, right: HasOperator, data: Data, **options: Any) -> None:
    a, b = traces(left, right, data, **options)
    assert a != b, f"\n{left}\n\nis equivalent to\n\n{right}\n\nwith {data}"
