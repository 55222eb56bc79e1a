"""What the model computes with: streams as lists, temporal relations as functions of batch identifiers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from astralq.errors import DataError
from astralq.expr.order import OrderKey, row_key
from astralq.schema import Values as Values
from astralq.timeline import BatchId, Instant

Phi = tuple[OrderKey, ...]
"""A physical identifier: a path, compared lexicographically (001 D7, 002 D2; docs/decisions.md)."""


@dataclass(frozen=True)
class StreamTuple:
    """A tuple of a stream: its values, its batch identifier (t, i) and its position n (001 D6, D13; 004 3.1)."""

    values: Values
    t: Instant
    i: int
    n: int

    @property
    def batch(self) -> BatchId:
        """B_S(s), the batch indicator (000 D6, 001 D14, 002 D8)."""
        return BatchId(self.t, self.i)

    @property
    def stamp(self) -> Values:
        return (self.t, self.i, self.n)


@dataclass(frozen=True)
class Stream:
    """A stream: tuples in the order of their positions, coherent with their batches (H1; 001 D15, 002 D9, 000 D4)."""

    tuples: tuple[StreamTuple, ...]

    def __post_init__(self) -> None:
        for n, s in enumerate(self.tuples):
            if s.n != n:
                raise DataError(f"the tuple {s.values} has position {s.n} where {n} is due", hint="number from 0")
        for a, b in pairwise(self.tuples):
            if b.batch < a.batch:
                raise DataError(
                    f"positions are not coherent with batches: position {b.n} is in {b.batch}, "
                    f"position {a.n} before it in {a.batch}",
                    hint="order the tuples by timestamp and batch before numbering them",
                )

    @staticmethod
    def of(stamped: Iterable[tuple[BatchId, Values]]) -> Stream:
        """A stream from batch identifiers and values in positional order."""
        return Stream(tuple(StreamTuple(v, b.t, b.i, n) for n, (b, v) in enumerate(stamped)))

    def tau(self, n: int, t0: Instant) -> BatchId:
        """τ_S(n): the batch of position n; (t0, 0) for -1 (000 D7, 001 D16)."""
        return BatchId(t0, 0) if n == -1 else self.tuples[n].batch

    def tau_inverse(self, b: BatchId) -> int:
        """τ_S⁻¹(t, i): the highest position at or before (t, i), else -1 (000 C1, 001 C1)."""
        return bisect_right(self.tuples, b, key=lambda s: s.batch) - 1

    @property
    def batches(self) -> list[BatchId]:
        return sorted({s.batch for s in self.tuples})

    def _repr_html_(self) -> str:
        from astralq.model.history import stream_html

        return stream_html(self)


@dataclass(frozen=True)
class Row:
    """A tuple of a relation's state: φ, values, and the stamp of the stream's tuple that it is, if it is one."""

    phi: Phi
    values: Values
    stamp: Values | None = None

    @property
    def identity(self) -> tuple[Phi, OrderKey]:
        """φ and all values: what makes it the same tuple in two states."""
        return (self.phi, row_key(self.values))

    @property
    def readable(self) -> Values:
        """What expressions read: the values, and the pseudo-columns if there are any."""
        return self.values if self.stamp is None else (*self.values, *self.stamp)


TupleSet = tuple[Row, ...]
"""A state: rows in the order of φ, which is unique in it (001 D8, 002 D3)."""


@dataclass
class Relation:
    """A temporal relation: a step function from batch identifiers to tuple-sets (001 D12, 002 D6, 000 D5).

    `changes(lo, hi)` gives the identifiers in the closed interval [lo, hi] at which its state can change; between
    two of them it does not.
    """

    state: Callable[[BatchId], Sequence[Row]]
    changes: Callable[[BatchId, BatchId], set[BatchId]]
    _seen: dict[BatchId, TupleSet] = field(default_factory=dict, repr=False)

    def at(self, b: BatchId) -> TupleSet:
        """R(t, i), in the order of φ."""
        if b not in self._seen:
            self._seen[b] = tuple(sorted(self.state(b), key=lambda r: r.phi))
        return self._seen[b]


@dataclass(frozen=True)
class WindowAt:
    """A window of SNEEql: the tick at which it was created, and its bag of tuples (003 §3)."""

    tick: Instant
    rows: TupleSet


@dataclass(frozen=True)
class Context:
    """A query's start t0, and the closed interval [start, end] of batch identifiers that a run observes.

    START AT gives t0 explicitly (`t0_given`); otherwise START means the first observed instant.
    """

    t0: Instant
    start: BatchId
    end: BatchId
    t0_given: bool = False

    @property
    def start_instant(self) -> Instant:
        return self.t0 if self.t0_given else self.start.t


def position(*rows: TupleSet) -> dict[Phi, int]:
    """pos_TS(s): how many tuples of a tuple-set come before each (001 D9)."""
    return {r.phi: k for ts in rows for k, r in enumerate(ts)}
