"""What the tests share: seconds as instants, streams written by hand, answers in a form that reads well."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from astralq.algebra.base import HasOperator, Operator
from astralq.model import Change, Data, Stream, StreamTuple, run, state
from astralq.timeline import BatchId, Instant

Seconds = int | str
"""A time in seconds: an integer, or text for fractions of a second ('5.5')."""


def sec(t: Seconds) -> Instant:
    """The instant some seconds after the epoch."""
    micros = Fraction(t) * 1_000_000
    assert micros.denominator == 1
    return Instant(int(micros))


def seconds(t: int) -> Seconds:
    """The instant in seconds, as text where it is not whole."""
    whole, rest = divmod(t, 1_000_000)
    return whole if rest == 0 else str(Fraction(t, 1_000_000).limit_denominator(10**6).__float__())


def batch(t: Seconds, i: int = 0) -> BatchId:
    return BatchId(sec(t), i)


def given(*tuples: tuple[Seconds, int, Sequence[Any]]) -> Stream:
    """A stream from (seconds, i, values), in positional order."""
    return Stream.of((batch(t, i), tuple(values)) for t, i, values in tuples)


def single(*tuples: tuple[Any, ...]) -> Stream:
    """A stream with one batch per timestamp from tuples whose last value is the time in seconds: (a, b, …, t)."""
    return given(*((t, 0, values) for *values, t in tuples))


def answer(
    query: Operator | HasOperator, data: Data, *, t0: Seconds | None = None, until: Seconds | None = None
) -> list[tuple[Any, ...]]:
    """A stream's tuples as (seconds, i, *values), or a relation's changes as (op, seconds, i, *values)."""
    start, end = (None if t is None else sec(t) for t in (t0, until))
    rows: list[tuple[Any, ...]] = []
    for r in run(query, data, t0=start, until=end):
        match r:
            case StreamTuple():
                rows.append((seconds(r.t), r.i, *r.values))
            case Change():
                rows.append((r.op, seconds(r.t), r.i, *r.values))
            case (b, windows):
                rows.append((seconds(b.t), b.i, windows))
    return rows


def at(
    query: Operator | HasOperator, data: Data, t: Seconds, i: int | None = None, *, t0: Seconds | None = None
) -> list[tuple[Any, ...]]:
    """A relation's state at (t, i), or after the last batch of t, in the order of φ."""
    start = None if t0 is None else sec(t0)
    if i is None:
        return state(query, data, sec(t), t0=start)
    return state(query, data, sec(t), i=i, t0=start)
