"""Casts between types, explicit and implicit, with the results and failures of Spark's ANSI mode."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal, InvalidOperation
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from astralq.datatypes import (
    BIGINT,
    DATE,
    DOUBLE,
    EXACT,
    NULL,
    STRING,
    TIMESTAMP,
    MapValue,
    Type,
    Value,
    array_of,
    day_of,
    decimal,
    fits,
    map_of,
    struct_of,
    to_float32,
)
from astralq.errors import EvaluationError, TimeError, TypeMismatchError
from astralq.expr.nodes import Cast, Expr, Literal
from astralq.expr.order import map_value
from astralq.expr.texts import to_text
from astralq.timeline import Instant, instant, to_datetime

WIDE = EXACT
_NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE")
_ALLOWED = {
    "BOOLEAN": (*_NUMBERS, "STRING"),
    **dict.fromkeys(_NUMBERS, (*_NUMBERS, "STRING", "BOOLEAN", "TIMESTAMP")),
    "STRING": (*_NUMBERS, "BOOLEAN", "TIMESTAMP", "DATE", "BINARY"),
    "BINARY": ("STRING",),
    "TIMESTAMP": (*_NUMBERS, "STRING", "DATE"),
    "DATE": ("STRING", "TIMESTAMP"),
    "INTERVAL": ("STRING",),
    "MONTHS": ("STRING",),
}


def castable(source: Type, to: Type) -> bool:
    """Whether there is a cast from a type to another, in Spark's ANSI mode."""
    if source in (to, NULL) or (to == STRING and source.is_nested):
        return True
    if source.is_nested and source.name == to.name and len(source.parts) == len(to.parts):
        return all(castable(a, b) for (_, a), (_, b) in zip(source.parts, to.parts, strict=True))
    return to.name in _ALLOWED.get(source.name, ()) and (source != to)


def cast(operand: Expr, to: Type) -> Expr:
    """CAST(operand AS to), if there is such a cast."""
    source = operand.type
    if not castable(source, to):
        raise TypeMismatchError(f"{operand} is {source} and cannot be cast to {to}")
    return Cast(to, operand)


def coerce(operand: Expr, to: Type) -> Expr:
    """The operand as a value of the type, by an implicit cast if it needs one."""
    if operand.type == to:
        return operand
    if isinstance(operand, Literal) and operand.value is None:
        return Literal(to, None)
    return Cast(to, operand, implicit=True)


def as_decimal(type_: Type) -> Type:
    """The decimal type that holds every value of an integral one."""
    by_name = {"TINYINT": decimal(3), "SMALLINT": decimal(5), "INT": decimal(10), "BIGINT": decimal(20)}
    return by_name.get(type_.name, type_)


def common_type(exprs: tuple[Expr, ...], what: str) -> Type:
    """The type that all are brought to; string constants follow the others, as in Spark's ANSI mode."""
    loose = [e for e in exprs if e.type == NULL or (isinstance(e, Literal) and e.type.name == "STRING")]
    firm = [e for e in exprs if e not in loose] or [e for e in exprs if e.type != NULL]
    result = NULL
    for e in firm:
        result = e.type if result == NULL else _wider(result, e.type, exprs, what)
    if any(e.value is not None for e in loose if isinstance(e, Literal)):
        # Spark brings text beside an integer to BIGINT, and beside a fraction to DOUBLE.
        result = BIGINT if result.is_integral else DOUBLE if result.is_numeric else result
    for e in loose:
        if isinstance(e, Literal) and e.value is not None and result.name != "STRING":
            try:
                cast_value(e.value, e.type, result)
            except EvaluationError:
                raise TypeMismatchError(
                    f"in {what}: {e} is not {'an' if result.name[0] in 'AIO' else 'a'} {result}",
                    hint="write a constant of that type",
                ) from None
    return result


_INTEGRAL = _NUMBERS[:4]


def wider_type(a: Type, b: Type) -> Type | None:
    """The type that holds the values of both without being asked for; None if there is none.

    >>> str(wider_type(BIGINT, decimal(3, 1))), wider_type(STRING, BIGINT)
    ('DECIMAL(21, 1)', None)
    """
    if a == b or NULL in (a, b):
        return b if a == NULL else a
    if a.is_numeric and b.is_numeric:
        if a.is_fractional or b.is_fractional:
            return DOUBLE
        if "DECIMAL" in (a.name, b.name):
            a, b = as_decimal(a), as_decimal(b)
            scale = max(a.scale, b.scale)
            whole = max(a.precision - a.scale, b.precision - b.scale)
            return decimal(min(38, whole + scale), min(scale, 38 - min(whole, 38)))
        return max(a, b, key=lambda t: _INTEGRAL.index(t.name))
    if {a, b} == {DATE, TIMESTAMP}:
        return TIMESTAMP
    if a.is_nested and a.name == b.name and len(a.parts) == len(b.parts):
        return _wider_parts(a, b)
    return None


def _wider_parts(a: Type, b: Type) -> Type | None:
    if a.name == "STRUCT" and [n.lower() for n, _ in a.parts] != [n.lower() for n, _ in b.parts]:
        return None
    types = [wider_type(x, y) for (_, x), (_, y) in zip(a.parts, b.parts, strict=True)]
    known = [t for t in types if t is not None]
    if len(known) < len(types):
        return None
    match a.name:
        case "ARRAY":
            return array_of(known[0])
        case "MAP":
            return map_of(*known)
    return struct_of(*((n, t) for (n, _), t in zip(a.parts, known, strict=True)))


def _wider(a: Type, b: Type, exprs: tuple[Expr, ...], what: str) -> Type:
    if a == b:
        return a
    wider = wider_type(a, b)
    if wider is not None:
        return wider
    shown = ", ".join(f"{e} is {e.type}" for e in exprs if e.type != NULL)
    raise TypeMismatchError(f"in {what}: {shown}", hint="CAST one of them to the other's type")


def cast_value(value: Value, source: Type, to: Type) -> Value:
    """The value as one of another type, or an EvaluationError."""
    if value is None or source == to:
        return value
    try:
        result = _convert(value, source, to)
    except (ValueError, OverflowError, InvalidOperation, TimeError):
        raise EvaluationError(f"cannot cast {value!r} from {source} to {to}") from None
    if not fits(result, to):
        raise EvaluationError(f"{value!r} is out of range for {to}")
    return result


def _convert(value: Value, source: Type, to: Type) -> Value:
    if isinstance(value, str):
        return _from_text(value, to)
    if source.is_nested and to.is_nested:
        return _convert_parts(value, source, to)
    match to.name:
        case "STRING":
            return to_text(value, source)
        case "BOOLEAN":
            return bool(value)
        case "TIMESTAMP":
            if source.name == "DATE":
                assert isinstance(value, int)
                return instant(value * _DAY)
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError
            return instant(int(value * 1_000_000))  # type: ignore[operator,arg-type]  # seconds; towards zero
        case "DATE":
            assert isinstance(value, int)
            return day_of(to_datetime(Instant(value)).date())
        case "DOUBLE" | "FLOAT":
            assert value is not None
            number = value / 1e6 if source.name == "TIMESTAMP" else float(value)  # type: ignore[operator,arg-type]
            return to_float32(number) if to.name == "FLOAT" else number
        case "DECIMAL":
            if isinstance(value, float) and not math.isfinite(value):
                return None
            if source.name == "TIMESTAMP":
                return to_scale(EXACT.divide(Decimal(value), Decimal(1_000_000)), to)  # type: ignore[arg-type]
            exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)  # type: ignore[arg-type]
            return to_scale(exact, to)
        case "TINYINT" | "SMALLINT" | "INT" | "BIGINT":
            if source.name == "TIMESTAMP":
                assert isinstance(value, int)
                return value // 1_000_000
            if value == 2.0**63 and isinstance(value, float):
                return 2**63 - 1  # Spark compares with the double nearest to the largest BIGINT, which is this one
            return int(value)  # type: ignore[arg-type]  # towards zero; ValueError for NaN, OverflowError for infinity
    raise ValueError


_DAY = 86_400_000_000


def _convert_parts(value: Value, source: Type, to: Type) -> Value:
    assert isinstance(value, tuple)
    if isinstance(value, MapValue):
        pairs = ((cast_value(k, source.key, to.key), cast_value(v, source.element, to.element)) for k, v in value)
        return map_value(pairs)
    types = [(a, b) for (_, a), (_, b) in zip(source.parts, to.parts, strict=True)]
    if source.name == "ARRAY":
        types *= len(value)
    return tuple(cast_value(v, a, b) for v, (a, b) in zip(value, types, strict=True))


def to_scale(value: Decimal, to: Type) -> Decimal:
    """Rounds half up to the type's scale; an error if the whole part does not fit."""
    rounded = value.quantize(Decimal(1).scaleb(-to.scale), context=WIDE)
    if not fits(rounded, to):
        raise EvaluationError(f"{value} is out of range for {to}")
    return rounded


_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?", re.I)
_NOT_FINITE = re.compile(r"nan|[+-]?(?:inf|infinity)", re.I)
_BOOLEANS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0"), False),
}


def _from_text(value: str, to: Type) -> Value:
    text = value.strip()
    match to.name:
        case "TINYINT" | "SMALLINT" | "INT" | "BIGINT":
            if _INTEGER.fullmatch(text):
                return int(text)
        case "DOUBLE" | "FLOAT":
            number = text[:-1] if text[-1:] in "dDfF" and _NUMBER.fullmatch(text[:-1]) else text
            if _NUMBER.fullmatch(number) or _NOT_FINITE.fullmatch(number):
                return to_float32(float(number)) if to.name == "FLOAT" else float(number)
        case "DECIMAL":
            if _NUMBER.fullmatch(text):
                return to_scale(Decimal(text), to)
        case "BOOLEAN":
            if text.lower() in _BOOLEANS:
                return _BOOLEANS[text.lower()]
        case "TIMESTAMP":
            return _timestamp(text)
        case "DATE":
            return _day(text)
        case "BINARY":
            return value.encode()
    raise ValueError


_TIMESTAMP = re.compile(
    r"([0-9]{4,6})(?:-([0-9]{1,2})(?:-([0-9]{1,2})"
    r"(?:[ T](?:([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?)?\s*(.*))?)?)?)?"
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])([0-9]{1,2})(?::?([0-9]{2}))?")


def _timestamp(text: str) -> Instant:
    """Text as Spark reads it: parts from the right may be missing, digits beyond microseconds are cut off."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError
    year, month, day, hour, minute, second = (
        int(v) if v else k for v, k in zip(match.groups(), (0, 1, 1, 0, 0, 0), strict=False)
    )
    micros = int((match[7] or "")[:6].ljust(6, "0"))
    return instant(datetime(year, month, day, hour, minute, second, micros, _zone(match[8] or "Z")))


_DATE = re.compile(r"([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)


def _day(text: str) -> int:
    """Text as Spark reads a DATE: month and day may be missing, and what follows a space or T does not count."""
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError
    return day_of(date(int(match[1]), int(match[2] or 1), int(match[3] or 1)))


def _zone(text: str) -> tzinfo:
    if text in ("Z", "UTC", "GMT", "UT"):
        return UTC
    if offset := _OFFSET.fullmatch(text):
        shift = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
        return timezone(shift if offset[1] == "+" else -shift)
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, OSError):
        raise ValueError from None
