"""Values as text, as Spark's CAST(… AS STRING) writes them."""

from __future__ import annotations

import math
from decimal import Decimal

from astralq.datatypes import MapValue, Type, Value, date_of, shortest_float32
from astralq.timeline import Instant, to_datetime


def to_text(value: Value, source: Type) -> str:
    """The value as Spark prints it in CAST(… AS STRING); inside of arrays, maps and structs NULL is `null`.

    >>> from astralq.datatypes import DATE, array_of, map_of, INT, STRING
    >>> to_text((0, None), array_of(DATE)), to_text(MapValue([("a", 1)]), map_of(STRING, INT))
    ('[1970-01-01, null]', '{a -> 1}')
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return java_double(value if source.name != "FLOAT" or not math.isfinite(value) else shortest_float32(value))
        case Decimal():
            return f"{value:f}"
        case bytes():
            return value.decode("utf-8", "replace")
        case MapValue():
            return f"{{{', '.join(f'{to_text(k, source.key)} -> {to_text(v, source.element)}' for k, v in value)}}}"
        case tuple() if source.name == "ARRAY":
            return f"[{', '.join(to_text(v, source.element) for v in value)}]"
        case tuple():
            return f"{{{', '.join(to_text(v, t) for v, (_, t) in zip(value, source.parts, strict=True))}}}"
        case int() if source.name == "TIMESTAMP":
            text = to_datetime(Instant(value)).replace(tzinfo=None).isoformat(" ", "microseconds")
            return text.rstrip("0").rstrip(".")
        case int() if source.name == "DATE":
            return date_of(value).isoformat()
        case int() if source.name in ("INTERVAL", "MONTHS"):
            return interval_text(value, source)
    return str(value)


def interval_text(value: int, type_: Type) -> str:
    """An interval as Spark prints it, which is also a constant of SQL.

    >>> from astralq.datatypes import INTERVAL, MONTHS
    >>> interval_text(-3_723_500_000, INTERVAL), interval_text(14, MONTHS)
    ("INTERVAL '-0 01:02:03.5' DAY TO SECOND", "INTERVAL '1-2' YEAR TO MONTH")
    """
    sign = "-" if value < 0 else ""
    if type_.name == "MONTHS":
        return f"INTERVAL '{sign}{abs(value) // 12}-{abs(value) % 12}' YEAR TO MONTH"
    seconds, micros = divmod(abs(value), 1_000_000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    fraction = f".{micros:06}".rstrip("0") if micros else ""
    return f"INTERVAL '{sign}{hours // 24} {hours % 24:02}:{minute:02}:{second:02}{fraction}' DAY TO SECOND"


def java_double(value: float) -> str:
    """A double as Java prints it, with the fewest digits that tell it from its neighbours."""
    if value != value:
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = f"{Decimal(repr(value)):f}"
        return text if "." in text else f"{text}.0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    head, tail = digits[0], "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{head}.{tail}E{exponent + len(digits) - 1}"
