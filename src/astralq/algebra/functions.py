"""Functions of an instant that are data: bounds and steps that the language reads, compared by what they compute."""

from __future__ import annotations

from dataclasses import dataclass

from astralq.timeline import Instant


@dataclass(frozen=True)
class Affine:
    """t ↦ factor·t + shift.

    >>> Affine(1, -5)(Instant(20)), Affine(1, -5) == Affine(1, -5)
    (15, True)
    """

    factor: int
    shift: int

    def __call__(self, t: Instant) -> int:
        return self.factor * t + self.shift


@dataclass(frozen=True)
class Step:
    """t ↦ t + by: the next value of a loop."""

    by: int

    def __call__(self, t: Instant) -> Instant:
        return Instant(t + self.by)


@dataclass(frozen=True)
class UpTo:
    """t ↦ whether t < limit, or t ≤ limit if it is inclusive: the condition of a loop."""

    limit: int
    inclusive: bool

    def __call__(self, t: Instant) -> bool:
        return t <= self.limit if self.inclusive else t < self.limit
