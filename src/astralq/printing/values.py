"""How a single value is printed, in each of the formats that are text."""

from __future__ import annotations

import json
import math
from decimal import Decimal

from astralq.schema import Type, Value
from astralq.timeline import Instant, format_instant

TIMES = ("iso", "seconds", "micros")
"""How instants are printed: ISO 8601 in UTC, or as a number of seconds or microseconds since 1970."""


def text(value: Value, type_: Type, time: str) -> str:
    """A value that is not NULL as it stands in a table or a csv file.

    >>> from astralq.schema import BOOLEAN, TIMESTAMP
    >>> text(True, BOOLEAN, "iso"), text(5_500_000, TIMESTAMP, "iso"), text(5_500_000, TIMESTAMP, "seconds")
    ('true', '1970-01-01T00:00:05.5Z', '5.5')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _double(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if type_.name == "TIMESTAMP":
        assert isinstance(value, int)
        return _instant(value, time)
    return str(value)


def as_json(value: Value, type_: Type, time: str) -> str:
    """A value in JSON: numbers with all their digits, NaN and infinities as text.

    >>> from astralq.schema import DOUBLE, STRING
    >>> as_json(None, STRING, "iso"), as_json(0.1, DOUBLE, "iso"), as_json(float("nan"), DOUBLE, "iso")
    ('null', '0.1', '"NaN"')
    """
    if value is None:
        return "null"
    quoted = isinstance(value, str) or (isinstance(value, float) and not math.isfinite(value))
    printed = text(value, type_, time)
    if quoted or (type_.name == "TIMESTAMP" and time == "iso"):
        return json.dumps(printed, ensure_ascii=False)
    return printed


def is_number(type_: Type, time: str) -> bool:
    """Whether the column's values are printed as numbers."""
    return type_.is_numeric or type_.name == "INTERVAL" or (type_.name == "TIMESTAMP" and time != "iso")


def _double(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def _instant(micros: int, time: str) -> str:
    if time == "iso":
        return format_instant(Instant(micros))
    if time == "micros":
        return str(micros)
    whole, rest = divmod(abs(micros), 1_000_000)
    fraction = f".{rest:06}".rstrip("0") if rest else ""
    return f"{'-' if micros < 0 else ''}{whole}{fraction}"
