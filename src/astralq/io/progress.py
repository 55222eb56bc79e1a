"""Streams between two processes: what an emitter writes besides tuples, and what a receiver reads back (001 §8).

WITH PROGRESS files hold t, i, the attributes and _n, the position of a tuple. A row without a position is a heartbeat:
it has no tuple, and says that time has come to (t, i). HEARTBEAT BY marks such rows in the files of others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from astralq.algebra.sources import StreamSource
from astralq.errors import DataError
from astralq.schema import Value, Values


@dataclass(frozen=True)
class Stamped:
    """Rows that bring their stamps, as (t, i, values) in the order of their positions."""

    rows: tuple[tuple[int, int, Values], ...]


@dataclass(frozen=True)
class WithHeartbeats:
    """The rows of a stream, and the batch identifiers (t, i) of its heartbeats; t is as the timestamps are declared."""

    rows: Stamped | list[Values]
    heartbeats: tuple[tuple[Value, int], ...]


def unpacked(source: StreamSource, rows: Sequence[Values]) -> WithHeartbeats:
    """What the files of a stream say, tuples and heartbeats apart."""
    if source.heartbeat is not None:
        place = source.physical.index(source.heartbeat)
        assert source.timestamp is not None
        moment = source.physical.index(source.timestamp)
        marked = tuple((r[moment], 0) for r in rows if r[place] is True)
        return WithHeartbeats([(*r[:place], *r[place + 1 :]) for r in rows if r[place] is not True], marked)
    stamped: dict[int, tuple[int, int, Values]] = {}
    found: list[tuple[Value, int]] = []
    for t, i, *values, n in rows:
        if not isinstance(t, int) or not (i is None or (isinstance(i, int) and i >= 0)):
            raise DataError(
                f"stream {source.name}: a row has no time, or a batch index that is not 0, 1, 2, …",
                hint="WITH PROGRESS reads what INSERT INTO … WITH PROGRESS wrote",
            )
        if n is None:
            found.append((t, int(i or 0)))
        else:
            assert isinstance(n, int)
            if n in stamped:
                raise DataError(
                    f"stream {source.name}: the position {n} is there twice", hint="read what one query wrote, once"
                )
            stamped[n] = (t, int(i or 0), tuple(values))
    return WithHeartbeats(Stamped(tuple(stamped[n] for n in sorted(stamped))), tuple(found))


def heartbeats(width: int, start: tuple[int, int], end: int) -> tuple[Values, Values]:
    """The rows that say from where on, and up to where, there are all tuples of so many attributes."""
    nothing = (None,) * width
    return (*start, *nothing, None), (end, start[1] if end == start[0] else 0, *nothing, None)


def with_progress(rows: Iterable[Values], width: int, start: tuple[int, int], end: int) -> Iterator[Values]:
    """The rows t, i, … of a whole answer with their positions, between the heartbeats of its beginning and its end.

    >>> list(with_progress([(5, 0, "a")], 1, (0, 0), 9))
    [(0, 0, None, None), (5, 0, 'a', 0), (9, 0, None, None)]
    """
    first, last = heartbeats(width, start, end)
    yield first
    for n, row in enumerate(rows):
        yield (*row, n)
    yield last
