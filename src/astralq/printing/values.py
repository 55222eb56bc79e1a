"""How a single value is printed, in each of the formats that are text."""

from __future__ import annotations

import base64
import json
import math
from decimal import Decimal

from astralq.datatypes import STRING, MapValue, Type, Value, date_of, shortest_float32
from astralq.expr.texts import interval_text
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
    match value:
        case float():
            return _double(shortest_float32(value) if type_.name == "FLOAT" and math.isfinite(value) else value)
        case Decimal():
            return f"{value:f}"
        case bytes():
            return base64.b64encode(value).decode()
        case tuple():
            return as_json(value, type_, time)
        case int() if type_.name == "TIMESTAMP":
            return _instant(value, time)
        case int() if type_.name == "DATE":
            return date_of(value).isoformat()
        case int() if type_.name in ("INTERVAL", "MONTHS"):
            return interval_text(value, type_)
    return str(value)


def as_json(value: Value, type_: Type, time: str) -> str:
    """A value in JSON: numbers with all their digits; NaN, infinities, moments and intervals as text, BINARY in base64.

    >>> from astralq.schema import DOUBLE, STRING
    >>> as_json(None, STRING, "iso"), as_json(0.1, DOUBLE, "iso"), as_json(float("nan"), DOUBLE, "iso")
    ('null', '0.1', '"NaN"')
    """
    match value:
        case None:
            return "null"
        case MapValue():
            pairs = ((as_json(_key(k, type_.key), STRING, time), as_json(v, type_.element, time)) for k, v in value)
            return "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
        case tuple() if type_.name == "ARRAY":
            return "[" + ", ".join(as_json(v, type_.element, time) for v in value) + "]"
        case tuple():
            fields = zip(value, type_.parts, strict=True)
            return "{" + ", ".join(f"{as_json(n, STRING, time)}: {as_json(v, t, time)}" for v, (n, t) in fields) + "}"
    printed = text(value, type_, time)
    plain = isinstance(value, bool) or (is_number(type_, time) and not printed.endswith(("NaN", "Infinity")))
    return printed if plain else json.dumps(printed, ensure_ascii=False)


def _key(key: Value, type_: Type) -> str:
    """A key of a MAP, which JSON has as text only."""
    return key if isinstance(key, str) else text(key, type_, "iso")


def is_number(type_: Type, time: str) -> bool:
    """Whether the column's values are printed as numbers."""
    return type_.is_numeric or (type_.name == "TIMESTAMP" and time != "iso")


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
