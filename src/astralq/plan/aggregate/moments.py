"""Exact variances from sums that merge: of values, and of their squares.

n·Σx² − (Σx)² is a whole multiple of a power of two. It is computed digit by digit in BIGINTs, is 0 exactly where all
values are equal, and is rounded once, before it is divided by n·n or n·(n − 1). So the same bag gives the same bits,
however values were cut, whatever was merged or taken off. Limbs have so few bits that sums of their products fit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from astralq.expr.aggregates import GRID, REACH
from astralq.expr.nodes import Aggregate
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.aggregate.limbs import Layout, Range, times_power
from astralq.plan.columns import Column, col, lit, long

_FINEST, _HIGHEST = -(GRID.denominator.bit_length() - 1), math.frexp(REACH)[1]
_WIDEST = 24
_AT_ONCE = 4
"""How many digits are carried in one step: a digit's expression has those of the digits below it in it."""


def moment_layout(known: Range) -> Layout:
    """Limbs of so many bits, an even number, that the sums of their products over all rows are BIGINTs, on the grid and
    within the reach of variances.

    >>> moment_layout(Range(rows=2_000_000, greatest=100.0, low=-53, special=False))
    Layout(low=-53, width=18, count=4, special=False)
    """
    low = max(known.low, _FINEST)
    high = min(math.frexp(known.greatest)[1], _HIGHEST) if known.greatest else low + 1
    span, special = max(1, high - low), known.special or known.greatest >= REACH
    for width in range(_WIDEST, 0, -2):
        count = -(-span // width)
        if 2 * width + (2 * count).bit_length() + known.rows.bit_length() <= 62:
            return Layout(low, width, count, special)
    raise AssertionError(known)


def squares_layout(layout: Layout) -> Layout:
    """How the sums of squares are cut, where values are cut by a layout."""
    return Layout(2 * layout.low, layout.width, 2 * layout.count - 1)


def moment_limbs(value: Column, layout: Layout) -> list[Column]:
    """The limbs of a value, lowest first; what is finer is cut off, and 0 stands for what is beyond reach, or NULL."""
    inside = F.when(F.abs(value) < lit(REACH), value).otherwise(lit(0.0))
    return [layout.limb(inside, k) for k in range(layout.count)]


def square_limbs(limbs: Sequence[Column]) -> list[Column]:
    """The limbs of a square from those of a value: what is multiplied with 2^(width·k), for each k."""
    count = len(limbs)
    made = []
    for k in range(2 * count - 1):
        terms = []
        for i in range(max(0, k - count + 1), k // 2 + 1):
            product = limbs[i] * limbs[k - i]
            terms.append(product if 2 * i == k else product * 2)
        made.append(_sum(terms))
    return made


@dataclass
class Moments:
    """What is made of n, Σx and Σx² in the end: columns in steps, each of which uses those before, and the value."""

    k: int
    function: str
    layout: Layout
    rows: int
    steps: list[Mapping[str, Column]] = field(default_factory=list)

    @staticmethod
    def of(k: int, a: Aggregate, layout: Layout) -> Moments:
        # As many rows as the layout was made for.
        rows = 62 - 2 * layout.width - (2 * layout.count).bit_length()
        return Moments(k, a.function, layout, rows)

    def value(self, count: Column, divisor: Column, sums: Sequence[Column], squares: Sequence[Column]) -> Column:
        """The variance, or its root, of merged limbs, where the divisor is more than 0."""
        width, span = self.layout.width, self.layout.width * self.layout.count
        low, of_low = self._digits("s", sums, span + self.rows + 1)
        high, of_high = self._digits("q", squares, 2 * span + self.rows + 1)
        nothing: dict[str, Column] = {}
        self.steps += [{**a, **b} for a, b in zip_longest(of_low, of_high, fillvalue=nothing)]  # side by side
        size = max(len(high) + 1, 2 * len(low))
        apart = []
        for k in range(size):
            products = [low[i] * low[k - i] for i in range(max(0, k - len(low) + 1), min(k, len(low) - 1) + 1)]
            ours = count * high[k] if k < len(high) else long(0)
            apart.append(ours - _sum(products) if products else ours)
        names = [f"w{self.k}_{j}" for j in range(size)]
        self.steps.append(dict(zip(names, apart, strict=True)))
        digits, of_digits = self._digits("d", [col(n) for n in names], 2 * span + 2 * self.rows + 1)
        self.steps += of_digits
        return self._rounded(digits, count.cast("double") * divisor.cast("double"), width)

    def _digits(self, name: str, limbs: Sequence[Column], bits: int) -> tuple[list[Column], list[dict[str, Column]]]:
        """The digits of a number that has so many bits, lowest first: all but the highest are in [0, 2^width); and the
        steps in which they are made."""
        width, mask = self.layout.width, lit(2**self.layout.width - 1)
        count = max(len(limbs), -(-bits // width)) + 1
        carry: Column | None = None
        digits: list[Column] = []
        steps: list[dict[str, Column]] = [{}]
        for j in range(count):
            here = limbs[j] if j < len(limbs) else None
            total = here if carry is None else (carry if here is None else here + carry)
            assert total is not None
            digit = f"u{name}{self.k}_{j}"
            steps[-1][digit] = total if j == count - 1 else total.bits_and(mask)
            digits.append(col(digit))
            carry = F.shiftright(total, width)
            if (j + 1) % _AT_ONCE == 0 and j < count - 1:
                rest = f"c{name}{self.k}_{j}"
                steps[-1][rest] = carry
                carry = col(rest)
                steps.append({})
        return digits, steps

    def _rounded(self, digits: Sequence[Column], divisor: Column, width: int) -> Column:
        """A number that is not negative, rounded to the nearest double, and divided; 2^(2·low) is its unit.

        Below the two highest digits that are not 0 there are `more` ones, with two further bits, the last of which says
        whether any digit below them is not 0. Both parts are doubles without loss, so that IEEE addition rounds once.
        """
        more = 51 // width
        zero = long(0)

        def digit(j: int) -> Column:
            return digits[j] if j >= 0 else zero

        branches = []
        for h in reversed(range(len(digits))):
            top = digit(h) * long(2**width) + digit(h - 1)
            below: Column = zero
            for j in range(h - 2, h - 2 - more, -1):
                below = below * long(2**width) + digit(j) if j < h - 2 else digit(j)
            left = [digits[j] for j in range(max(0, h - 1 - more))]
            below = below * 4
            if left:
                some = left[0]
                for d in left[1:]:
                    some = some.bits_or(d)
                below = below + F.when(some != 0, long(1)).otherwise(zero)
            rounded = times_power(top.cast("double"), more * width + 2) + below.cast("double")
            exponent = 2 * self.layout.low + width * (h - 1 - more) - 2
            quotient = rounded / divisor
            is_root = self.function.startswith("stddev")
            value = times_power(F.sqrt(quotient), exponent // 2) if is_root else times_power(quotient, exponent)
            branches.append((digits[h] > 0, value))
        made = F.when(*branches[0])
        for condition, value in branches[1:]:
            made = made.when(condition, value)
        return made.otherwise(lit(0.0))


def _sum(terms: Sequence[Column]) -> Column:
    total = terms[0]
    for t in terms[1:]:
        total = total + t
    return total
