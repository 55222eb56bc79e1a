"""Exact sums and averages of numbers in plain SQL: the same bag gives the same bits, whatever the partitioning.

Each value is cut into integer limbs of w bits, x = Σ limb_k · 2^(b + k·w), which are added as BIGINTs: associative,
invertible, exact. The sum is rounded once at the end. The layout (b, w, and how many limbs) is chosen from the data:
the finest bit and the greatest magnitude that occur, and how many rows there are. Sensors' values need two limbs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, lit, long
from astralq.plan.sources.stamps import CHANGED

_GRIDS = (0, -8, -16, -24, -32, -40, -48, -53, -56, -60, -64, -72, -80, -96, -128, -192, -256, -512, -800, -1074)
"""Powers of two: a column's finest bit is looked for among these."""

_DOUBLE = 53
"""Whole numbers of so many bits are doubles."""
_WIDE = 32
_DIGITS_BEHIND = 16


@dataclass(frozen=True)
class Layout:
    """How values are cut: `count` limbs of `width` bits, the lowest worth 2^`low`; `special` if there are infinities
    or NaN, which are added apart. A sum has at most so many `bits`, counted from the lowest one."""

    low: int
    width: int
    count: int
    special: bool = False
    bits: int = field(default=1074 + 1024, repr=False, compare=False)
    nulls: bool = field(default=True, repr=False, compare=False)  # whether some values may be NULL

    @property
    def fast(self) -> bool:
        """Two limbs whose sums are doubles without loss: then IEEE's own addition rounds once."""
        return self.count <= 2 and self.low > -900 and self.low + self.count * self.width < 900

    def limbs(self, value: Column) -> list[Column]:
        """The limbs of a DOUBLE, lowest first; 0 for what is not finite, NULL for NULL."""
        rest = value
        if self.special:
            finite = F.abs(value) < lit(math.inf)  # NaN is greater than everything
            rest = F.when(finite, value).when(value.is_not_null(), lit(0.0))
        if self.count > 2:
            return [self.limb(rest, k) for k in range(self.count)]
        limbs: list[Column] = []
        for k in reversed(range(self.count)):
            unit = self.low + k * self.width
            limb = times_power(rest, -unit).try_cast("bigint")  # cuts towards 0, so that the rest is exact
            limbs.append(limb)
            rest = rest - times_power(limb.cast("double"), unit)
        # The layout was made for this column's values. Should they have changed since, that is told.
        changed = F.raise_error(lit(CHANGED)).cast("bigint")
        fits = F.when(rest == 0, limbs[-1])
        limbs[-1] = fits.when(value.is_not_null(), changed) if self.nulls else fits.otherwise(changed)
        return limbs[::-1]

    def limb(self, value: Column, k: int) -> Column:
        """One limb by itself; what overflows has no bits as low as that."""
        scaled = times_power(value, -(self.low + k * self.width))
        inside = F.when(F.abs(scaled) < lit(math.inf), scaled).when(value.is_not_null(), lit(0.0))
        return (inside % lit(math.ldexp(1.0, self.width))).cast("bigint")

    def integer_limbs(self, value: Column) -> list[Column]:
        """The limbs of an INT or BIGINT."""
        whole = value.cast("bigint")
        if self.count == 1:
            return [whole]
        nothing = [long(0)] * (self.count - 2)
        return [whole.bits_and(lit(2**self.width - 1)), F.shiftright(whole, self.width), *nothing]

    def total(self, limbs: list[Column]) -> Column:
        """The sum of the limbs' sums, rounded once."""
        if not self.fast:
            return _rounded(limbs, self, None)
        if self.count == 1:
            return times_power(limbs[0].cast("double"), self.low)
        high, low = self._doubles(limbs)
        return high + low

    def whole(self, limbs: list[Column]) -> Column:
        """The sum of integers as a BIGINT; one that does not fit fails, as ANSI arithmetic does."""
        if self.count == 1:
            return limbs[0]
        # What the low limb carries goes up first: then the product overflows exactly if the sum does.
        high = limbs[1] + F.shiftright(limbs[0], self.width)
        return high * lit(2**self.width) + limbs[0].bits_and(lit(2**self.width - 1))

    def average(self, limbs: list[Column], count: Column) -> Column:
        """The sum divided by how many there are, rounded once: a constant's average is that constant."""
        if not self.fast:
            return _rounded(limbs, self, count)
        n = count.cast("double")
        if self.count == 1 and self.bits <= _DOUBLE:
            # The sum is a double without loss, so that IEEE's division rounds once.
            quotient = times_power(limbs[0].cast("double"), self.low) / n
            fits = F.abs(limbs[0]) <= lit(2**_DOUBLE)
            return F.when(fits, quotient).otherwise(F.raise_error(lit(CHANGED)).cast("double"))
        high, low = self._doubles(limbs)
        # Double-double division: the remainder of s / n is exact, and corrects the quotient before it is rounded.
        s = high + low
        other = s - high
        error = (high - (s - other)) + (low - other)
        q = s / n
        split = q * lit(134217729.0)
        q_high = split - (split - q)
        remainder = ((s - q_high * n) - (q - q_high) * n) + error
        return q + remainder / n

    def _doubles(self, limbs: list[Column]) -> tuple[Column, Column]:
        """The total as two doubles that do not overlap."""
        width = self.width if self.count == 2 else 31
        low = limbs[0]
        carry = F.shiftright(low, width)
        high = carry if self.count == 1 else limbs[1] + carry
        rest = low.bits_and(lit(2**width - 1))
        return (
            times_power(high.cast("double"), self.low + width),
            times_power(rest.cast("double"), self.low),
        )


def times_power(value: Column, exponent: int) -> Column:
    """value · 2^exponent, exact; in several steps where the power itself is beyond the doubles."""
    if exponent == 0:
        return value
    if abs(exponent) <= 1000:
        return value * lit(math.ldexp(1.0, exponent))
    step = exponent // 2 if abs(exponent) <= 2000 else math.copysign(1000, exponent)
    return times_power(value * lit(math.ldexp(1.0, int(step))), exponent - int(step))


INTEGERS = Layout(0, 31, 1)
LONGS = Layout(0, 32, 2)


def integer_layout(name: str, rows: int) -> Layout:
    """For INT a BIGINT holds every sum; a BIGINT is cut in two so that no sum overflows."""
    if name == "INT":
        return INTEGERS
    return LONGS if rows < 2**20 else Layout(0, _WIDE, 3)


@dataclass(frozen=True)
class Range:
    """What is known of a column of doubles: how many, the greatest magnitude, the finest bit, and whether some are
    infinite or NaN, or NULL."""

    rows: int
    greatest: float
    low: int
    special: bool
    nulls: bool = True

    def with_(self, other: Range) -> Range:
        """What is known of both columns together; the finest bit of no rows says nothing."""
        nulls = self.nulls or other.nulls
        if self.rows == 0 or other.rows == 0:
            return replace(self if other.rows == 0 else other, nulls=nulls)
        return Range(
            self.rows + other.rows,
            max(self.greatest, other.greatest),
            min(self.low, other.low),
            self.special or other.special,
            nulls,
        )

    @property
    def layout(self) -> Layout:
        return layout(self.rows, self.greatest, self.low, special=self.special, nulls=self.nulls)


def range_of(row: Mapping[str, Any], prefix: str = "") -> Range:
    """A range from the columns of `range_columns`."""
    low, special, nulls = (row[f"{prefix}{name}"] for name in ("low", "special", "nulls"))
    return Range(row[f"{prefix}rows"], row[f"{prefix}greatest"] or 0.0, low or 0, bool(special), bool(nulls))


def range_columns(value: Column, prefix: str = "") -> list[Column]:
    """What to ask of a column for its range."""
    finite = F.abs(value) < lit(math.inf)
    steps = lit(_GRIDS[-1])
    for g in reversed(_GRIDS[:-1]):
        scaled = times_power(value, -g)
        steps = F.when(scaled == F.rint(scaled), lit(g)).otherwise(steps)
    return [
        F.count(value).alias(f"{prefix}rows"),
        F.max(F.when(finite, F.abs(value))).alias(f"{prefix}greatest"),
        F.min(F.when(finite, steps)).alias(f"{prefix}low"),
        F.coalesce(F.bool_or(~finite), lit(False)).alias(f"{prefix}special"),
        F.coalesce(F.bool_or(value.is_null()), lit(False)).alias(f"{prefix}nulls"),
    ]


def rescale_limbs(limbs: list[Column], old: Layout, new: Layout) -> list[Column]:
    """Sums that were added up under one layout, under another one whose finest bit is not coarser.

    Each limb's magnitude is cut into pieces of 16 bits; a piece falls into one limb or two.
    """
    rescaled = [long(0)] * new.count
    for k, limb in enumerate(limbs):
        sign = F.when(limb < 0, long(-1)).otherwise(long(1))
        for j in range(4):
            piece = F.shiftright(F.abs(limb), 16 * j).bits_and(long(0xFFFF))
            place, bit = divmod(old.low + k * old.width - new.low + 16 * j, new.width)
            if place >= new.count - 1:
                # The highest limb takes all. What would not fit is 0, for the layout was made for these values.
                high = bit + (place - new.count + 1) * new.width
                if high < 62:
                    rescaled[-1] = rescaled[-1] + sign * piece * long(2**high)
                continue
            below = min(16, new.width - bit)
            rescaled[place] = rescaled[place] + sign * piece.bits_and(long(2**below - 1)) * long(2**bit)
            rescaled[place + 1] = rescaled[place + 1] + sign * F.shiftright(piece, below)
    return rescaled


def layout(rows: int, greatest: float, low: int, *, special: bool = False, nulls: bool = True) -> Layout:
    """Limbs for so many values up to a magnitude, all of them multiples of 2^low."""
    high = math.frexp(greatest)[1] if greatest else low + 1
    span, headroom = max(1, high - low), rows.bit_length() + 1
    width = min(52, 61 - headroom)
    count = 1 if span + headroom <= 61 else 2
    fast = Layout(low, width, count, special, bits=span + rows.bit_length(), nulls=nulls)
    if fast.fast and (count == 1 or span <= width + 52 - headroom):
        return fast
    return Layout(low, _WIDE, -(-span // _WIDE) + 1, special)


def _rounded(limbs: list[Column], layout: Layout, divisor: Column | None) -> Column:
    """Any number of limbs, with integers only: carries, digits of 8 bits, long division, and 62 bits with a sticky one.

    Slow, and only for columns whose magnitudes are more than about 70 bits apart.
    """
    signed = _normalised(F.array(*limbs))
    negative = signed["carry"] < 0
    digits = _digits(F.when(negative, _normalised(F.array(*(-x for x in limbs)))).otherwise(signed))
    scale = layout.low
    sticky = long(0)
    if divisor is not None:
        zeros = F.array_repeat(long(0), _DIGITS_BEHIND)
        divided = _divided(F.concat(digits, zeros), divisor.cast("bigint"))
        digits, sticky = divided["digits"], F.when(divided["rest"] != 0, 1).otherwise(0).cast("bigint")
        scale -= 8 * _DIGITS_BEHIND
    start = F.struct(long(0).alias("top"), long(0).alias("skipped"), sticky.alias("sticky"))

    def step(acc: Column, digit: Column) -> Column:
        takes = acc["top"] < lit(2**54)
        return F.struct(
            F.when(takes, acc["top"] * 256 + digit).otherwise(acc["top"]).alias("top"),
            F.when(takes, acc["skipped"]).otherwise(acc["skipped"] + 1).alias("skipped"),
            F.when(~takes & (digit != 0), long(1)).otherwise(acc["sticky"]).alias("sticky"),
        )

    def finish(acc: Column) -> Column:
        exponent = (acc["skipped"] * 8 + lit(scale)).cast("int")
        half = F.floor(exponent / 2).cast("int")
        magnitude = acc["top"].bits_or(acc["sticky"]).cast("double")
        return magnitude * F.pow(lit(2.0), half) * F.pow(lit(2.0), exponent - half)

    magnitude = F.aggregate(digits, start, step, finish)
    return F.when(negative, -magnitude).otherwise(magnitude)


def _normalised(limbs: Column) -> Column:
    """Digits of 32 bits, lowest first, and what is carried over the last one."""
    start = F.struct(long(0).alias("carry"), F.array().cast("array<bigint>").alias("digits"))

    def step(acc: Column, limb: Column) -> Column:
        total = acc["carry"] + limb
        return F.struct(
            F.shiftright(total, _WIDE).alias("carry"),
            F.array_append(acc["digits"], total.bits_and(lit(2**_WIDE - 1))).alias("digits"),
        )

    return F.aggregate(limbs, start, step)


def _digits(normalised: Column) -> Column:
    """All digits of 8 bits, highest first."""
    wide = F.reverse(F.array_append(normalised["digits"], normalised["carry"]))
    split = F.transform(wide, lambda d: F.array(*(F.shiftright(d, s).bits_and(long(255)) for s in (24, 16, 8, 0))))
    return F.flatten(split)


def _divided(digits: Column, divisor: Column) -> Column:
    start = F.struct(long(0).alias("rest"), F.array().cast("array<bigint>").alias("digits"))

    def step(acc: Column, digit: Column) -> Column:
        here = acc["rest"] * 256 + digit
        rest = here % divisor
        quotient = ((here - rest) / divisor).cast("bigint")  # a digit: what is divided is a multiple, and small
        return F.struct(rest.alias("rest"), F.array_append(acc["digits"], quotient).alias("digits"))

    return F.aggregate(digits, start, step)
