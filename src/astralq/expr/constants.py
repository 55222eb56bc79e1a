"""Constants as they are written: numbers with the types that Spark gives them, dates, and the names of types."""

from __future__ import annotations

import math
from decimal import Decimal

from sqlglot import exp

from astralq.datatypes import BIGINT, DATE, DOUBLE, INT, SMALLINT, STRING, TINYINT, decimal
from astralq.errors import EvaluationError, ExpressionError
from astralq.expr.casts import cast_value
from astralq.expr.nodes import Literal


def type_text(node: exp.Expression) -> str:
    """A type as it is written; sqlglot has an INTERVAL's units in a node of their own."""
    inner = node.this
    return inner.sql("spark").strip() if isinstance(inner, exp.Interval) else node.sql("spark")


SUFFIXED = {t.name: t for t in (TINYINT, SMALLINT, BIGINT)}
"""The types of whole numbers that have a letter behind them."""


def date_constant(text: str) -> Literal:
    try:
        return Literal(DATE, cast_value(text, STRING, DATE))
    except EvaluationError:
        raise ExpressionError(f"{text!r} is not a date", hint="write for example DATE '2024-05-01'") from None


def number(text: str) -> Literal:
    """A numeric constant with the type that Spark gives it; a point makes a DECIMAL, an exponent a DOUBLE."""
    if "e" in text.lower():
        if math.isinf(float(text)):
            raise ExpressionError(f"{text} is out of range for DOUBLE")
        return Literal(DOUBLE, float(text))
    value = Decimal(text)
    if "." not in text:
        for type_, limit in ((INT, 2**31), (BIGINT, 2**63)):
            if -limit <= int(text) < limit:
                return Literal(type_, int(text))
    scale = len(text.partition(".")[2])
    digits = max(len(value.as_tuple().digits), scale, 1)
    return Literal(decimal(digits, scale), value)
