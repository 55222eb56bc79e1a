"""Functions of an instant that are data: bounds and steps that the language reads, compared by what they compute."""

from __future__ import annotations

from dataclasses import dataclass

from astralq.errors import WindowError
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
class Formula:
    """t ↦ an arithmetic expression of t and whole numbers of microseconds, in the order in which a stack computes it.

    >>> Formula(("t", 2, "*", 5, "+"))(Instant(20))
    45
    """

    steps: tuple[str | int, ...]

    def __call__(self, t: Instant) -> Instant:
        stack: list[int] = []
        for step in self.steps:
            if isinstance(step, int):
                stack.append(step)
            elif step == "t":
                stack.append(t)
            else:
                b, a = stack.pop(), stack.pop()
                stack.append(self._applied(step, a, b))
        return Instant(stack.pop())

    @property
    def simplest(self) -> Affine | Formula:
        """The same function in its one linear form, where it is linear."""
        stack: list[Affine] = []
        for step in self.steps:
            if isinstance(step, int) or step == "t":
                stack.append(Affine(1, 0) if step == "t" else Affine(0, int(step)))
                continue
            b, a = stack.pop(), stack.pop()
            if step in ("+", "-"):
                sign = 1 if step == "+" else -1
                stack.append(Affine(a.factor + sign * b.factor, a.shift + sign * b.shift))
            elif step == "*" and 0 in (a.factor, b.factor):
                by, of = (a.shift, b) if a.factor == 0 else (b.shift, a)
                stack.append(Affine(of.factor * by, of.shift * by))
            else:
                return self
        return stack.pop()

    def _applied(self, sign: str, a: int, b: int) -> int:
        match sign:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*":
                return a * b
        if b == 0:
            raise WindowError("a loop or a bound divides by 0", hint="divide by another number")
        # Instants are whole: a quotient is rounded down, a remainder is never negative.
        return a // b if sign == "/" else a % b


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
