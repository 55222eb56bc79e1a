"""Descending orders as columns that sort ascending, so that every order is one of columns."""

from __future__ import annotations

from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, lit
from astralq.schema import Type

_DIGITS = "0123456789ABCDEF"


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
            return [~F.expr(f"isnan({value.text})"), -value]  # NaN is the greatest value, and its negative is NaN
        case "STRING" | "BINARY":
            # Each byte as the digits of its complement; the end is behind them all, as a longer text comes first.
            digits = f"translate(hex({value.text}), '{_DIGITS}', '{_DIGITS[::-1]}')"
            return [F.concat(F.expr(digits), lit("G"))]
        case "NULL":
            return [value]
    return [-value]
