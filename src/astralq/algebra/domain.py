"""Domain manipulation D_c^f: a relation's past states as its present one (001 D21, D22)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from astralq.algebra.base import RELATION_HINT, STREAM_HINT, Kind, Operator, expect
from astralq.errors import PlanError
from astralq.schema import Schema
from astralq.timeline import BatchId, Duration, Instant, duration, format_duration, format_instant, instant, readable


@dataclass(frozen=True)
class AtInstant:
    """f(t, i) = (at, 0): the state at one instant; None is the query's start."""

    at: Instant | None

    def __str__(self) -> str:
        return "AT START" if self.at is None else f"AT TIMESTAMP '{format_instant(self.at)}'"


@dataclass(frozen=True)
class Shift:
    """f(t, i) = (t − by, i): the state some time ago."""

    by: Duration

    def __str__(self) -> str:
        return readable(f"DELAYED BY {format_duration(self.by)}")


@dataclass(frozen=True)
class Floor:
    """f(t, i) = (t0 + k·every, 0), the last such instant: the state at the last scan (003's SCAN)."""

    every: Duration

    def __str__(self) -> str:
        return f"SCAN {format_duration(self.every)}"


@dataclass(frozen=True)
class LastBatchOf:
    """f = τ_S ∘ τ_S⁻¹: the state at the last batch of a stream (001 D33). The stream is the operator's `other`."""

    def __str__(self) -> str:
        return "AT THE LAST BATCH OF"


@dataclass(frozen=True)
class Custom:
    """Any non-decreasing f ≤ identity, with its generalised inverse b ↦ min{x : f(x) ≥ b} (None: never).

    The text is the functions' name, by which they are known again.
    """

    text: str = field(compare=False)
    f: Callable[[BatchId], BatchId] = field(repr=False)
    inverse: Callable[[BatchId], BatchId | None] = field(repr=False)

    @property
    def named(self) -> bool:
        return True

    def __str__(self) -> str:
        return f"AT {self.text}"


Transform = AtInstant | Shift | Floor | LastBatchOf | Custom

Interval = tuple[Instant, Instant | None]
"""A half-open interval [from, to) of instants; without `to` it never ends."""


@dataclass(frozen=True, repr=False)
class Domain(Operator):
    """D_c^f(R): R(f(t, i)) where c(t, i), else nothing (001 D21).

    The condition c is given as half-open intervals [from, to) of instants; None stands for always.
    """

    child: Operator
    transform_: Transform
    during: tuple[Interval, ...] | None = None
    other: Operator | None = None

    @property
    def kind(self) -> Kind:
        return Kind.RELATION

    @property
    def stamped(self) -> bool:
        return self.child.stamped

    @cached_property
    def schema(self) -> Schema:
        return self.child.schema

    def check(self) -> None:
        expect(self.child, Kind.RELATION, str(self.transform_), RELATION_HINT)
        if isinstance(self.transform_, LastBatchOf) != (self.other is not None):
            raise PlanError("the last batch of which stream?" if self.other is None else "a stream that is not used")
        if self.other is not None:
            expect(self.other, Kind.STREAM, "the last batch", STREAM_HINT)
        match self.transform_:
            case Shift(by) if by < 0:
                raise PlanError(
                    f"D looks {format_duration(Duration(-by))} into the future", hint="f(t, i) ≤ (t, i): look back"
                )
            case Floor(every) if every <= 0:
                raise PlanError(f"the scan is every {format_duration(every)}", hint="scan at a period greater than 0")
        for a, b in self.during or ():
            if b is not None and b <= a:
                raise PlanError(f"the interval from {format_instant(a)} to {format_instant(b)} is empty")

    @property
    def label(self) -> str:
        if self.during is None or isinstance(self.transform_, AtInstant):
            return str(self.transform_)
        parts = [f"[{format_instant(a)}, {'∞' if b is None else format_instant(b)})" for a, b in self.during]
        during = f"DURING {' ∪ '.join(parts)}"
        return during if self.transform_ == Shift(Duration(0)) else f"{self.transform_} {during}"


def fixed_relation(child: Operator, at: str | Instant | None = None) -> Domain:
    """R^ts: the relation frozen at an instant, empty before it; without one, at the query's start (001 D22)."""
    t = None if at is None else instant(at)
    return Domain(child, AtInstant(t), None if t is None else ((t, None),))


def shifted(child: Operator, by: str) -> Domain:
    """The relation as it was some time ago."""
    return Domain(child, Shift(duration(by)))


def during(child: Operator, *intervals: tuple[str | Instant, str | Instant | None]) -> Domain:
    """The relation in half-open intervals [from, to) of instants, and nothing outside: D_c with f the identity."""
    wanted = tuple((instant(a), None if b is None else instant(b)) for a, b in intervals)
    return Domain(child, Shift(Duration(0)), wanted)


def scanned(child: Operator, every: str) -> Domain:
    """The relation as of t0 + k·every (003's SCAN as a temporal relation)."""
    return Domain(child, Floor(duration(every)))


def at_last_batch(child: Operator, stream: Operator) -> Domain:
    """The relation as of the last batch of a stream (001 D33)."""
    return Domain(child, LastBatchOf(), None, stream)
