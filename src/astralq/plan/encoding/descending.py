"""Descending orders as columns that sort ascending, so that every order is one of columns."""

from __future__ import annotations

from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, lit
from astralq.schema import Type

_DIGITS = "0123456789ABCDEF"

_NEGATED = 34
"""Up to how many digits of a DECIMAL Spark negates exactly: it rounds to so many."""


def reversed_columns(value: Column, type_: Type) -> list[Column]:
    """What sorts ascending as the value does descending; NULL stays NULL."""
    match type_.name:
        case "TINYINT" | "SMALLINT" | "INT" | "BIGINT":
            return [F.expr(f"(~{value.text})")]  # unlike -x it cannot overflow
        case "DATE":
            return [F.expr(f"(~unix_date({value.text}))")]
        case "TIMESTAMP":
            return [F.expr(f"(~unix_micros({value.text}))")]
        case "BOOLEAN":
            return [~value]
        case "FLOAT" | "DOUBLE":
            # NaN is the greatest value, and its negative is NaN; Spark's isnan of NULL is false.
            return [F.when(value.is_not_null(), ~F.expr(f"isnan({value.text})")), -value]
        case "STRING" | "BINARY":
            # Each byte as the digits of its complement; the end is behind them all, as a longer text comes first.
            digits = f"translate(hex({value.text}), '{_DIGITS}', '{_DIGITS[::-1]}')"
            return [F.concat(F.expr(digits), lit("G"))]
        case "DECIMAL" if type_.precision > _NEGATED:
            return _wide_decimal(value)
        case "NULL":
            return [value]
    return [-value]


def _wide_decimal(value: Column) -> list[Column]:
    """By the sign, and then by digits, which are as many behind the point in every value: those of numbers that are not
    negative in complement."""
    digits = f"lpad(replace(CAST({value.text} AS STRING), '-', ''), 40, '0')"
    complement = f"translate({digits}, '{_DIGITS[:10]}', '{_DIGITS[9::-1]}')"
    negative = value < 0
    return [negative, F.when(negative, F.expr(digits)).otherwise(F.expr(complement))]
