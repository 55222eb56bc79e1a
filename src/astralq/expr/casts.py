"""Casts between types, explicit and implicit, with the results and failures of Spark's ANSI mode."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal, InvalidOperation
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from astralq.errors import EvaluationError, TimeError, TypeMismatchError
from astralq.expr.nodes import Cast, Expr, Literal
from astralq.schema import BIGINT, DOUBLE, EXACT, INT, NULL, Type, Value, decimal, fits
from astralq.timeline import Instant, instant, to_datetime

WIDE = EXACT
_ALLOWED = {
    "BOOLEAN": ("INT", "BIGINT", "DOUBLE", "DECIMAL", "STRING"),
    "INT": ("BIGINT", "DOUBLE", "DECIMAL", "STRING", "BOOLEAN", "TIMESTAMP"),
    "BIGINT": ("INT", "DOUBLE", "DECIMAL", "STRING", "BOOLEAN", "TIMESTAMP"),
    "DOUBLE": ("INT", "BIGINT", "DECIMAL", "STRING", "BOOLEAN", "TIMESTAMP"),
    "DECIMAL": ("INT", "BIGINT", "DOUBLE", "DECIMAL", "STRING", "BOOLEAN", "TIMESTAMP"),
    "STRING": ("INT", "BIGINT", "DOUBLE", "DECIMAL", "BOOLEAN", "TIMESTAMP"),
    "TIMESTAMP": ("STRING", "INT", "BIGINT", "DOUBLE", "DECIMAL"),
}


def cast(operand: Expr, to: Type) -> Expr:
    """CAST(operand AS to), if there is such a cast."""
    source = operand.type
    if source not in (to, NULL) and to.name not in _ALLOWED.get(source.name, ()):
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
    return {"INT": decimal(10), "BIGINT": decimal(20)}.get(type_.name, type_)


def common_type(exprs: tuple[Expr, ...], what: str) -> Type:
    """The type that all are brought to; string constants follow the others, as in Spark's ANSI mode."""
    loose = [e for e in exprs if e.type == NULL or (isinstance(e, Literal) and e.type.name == "STRING")]
    firm = [e for e in exprs if e not in loose] or [e for e in exprs if e.type != NULL]
    result = NULL
    for e in firm:
        result = e.type if result == NULL else _wider(result, e.type, exprs, what)
    if any(e.value is not None for e in loose if isinstance(e, Literal)):
        # Spark brings text beside an integer to BIGINT, and beside a decimal to DOUBLE.
        result = BIGINT if result == INT else DOUBLE if result.name == "DECIMAL" else result
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


def _wider(a: Type, b: Type, exprs: tuple[Expr, ...], what: str) -> Type:
    if a == b:
        return a
    if a.is_numeric and b.is_numeric:
        if DOUBLE in (a, b):
            return DOUBLE
        if "DECIMAL" in (a.name, b.name):
            a, b = as_decimal(a), as_decimal(b)
            scale = max(a.scale, b.scale)
            whole = max(a.precision - a.scale, b.precision - b.scale)
            return decimal(min(38, whole + scale), min(scale, 38 - min(whole, 38)))
        return BIGINT if BIGINT in (a, b) else INT
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
    match to.name:
        case "STRING":
            return to_text(value, source)
        case "BOOLEAN":
            return bool(value)
        case "TIMESTAMP":
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError
            return instant(int(value * 1_000_000))  # type: ignore[operator]  # seconds; towards zero
        case "DOUBLE":
            assert value is not None
            return value / 1e6 if source.name == "TIMESTAMP" else float(value)  # type: ignore[operator]
        case "DECIMAL":
            if isinstance(value, float) and not math.isfinite(value):
                return None
            if source.name == "TIMESTAMP":
                return to_scale(EXACT.divide(Decimal(value), Decimal(1_000_000)), to)  # type: ignore[arg-type]
            exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)  # type: ignore[arg-type]
            return to_scale(exact, to)
        case "INT" | "BIGINT":
            if source.name == "TIMESTAMP":
                assert isinstance(value, int)
                return value // 1_000_000
            if value == 2.0**63 and isinstance(value, float):
                return 2**63 - 1  # Spark compares with the double nearest to the largest BIGINT, which is this one
            return int(value)  # type: ignore[arg-type]  # towards zero; ValueError for NaN, OverflowError for infinity
    raise ValueError


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
        case "INT" | "BIGINT":
            if _INTEGER.fullmatch(text):
                return int(text)
        case "DOUBLE":
            number = text[:-1] if text[-1:] in "dDfF" and _NUMBER.fullmatch(text[:-1]) else text
            if _NUMBER.fullmatch(number) or _NOT_FINITE.fullmatch(number):
                return float(number)
        case "DECIMAL":
            if _NUMBER.fullmatch(text):
                return to_scale(Decimal(text), to)
        case "BOOLEAN":
            if text.lower() in _BOOLEANS:
                return _BOOLEANS[text.lower()]
        case "TIMESTAMP":
            return _timestamp(text)
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


def to_text(value: Value, source: Type) -> str:
    """The value as Spark prints it in CAST(… AS STRING)."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _java_double(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if source.name == "TIMESTAMP":
        assert isinstance(value, int)
        text = to_datetime(Instant(value)).replace(tzinfo=None).isoformat(" ", "microseconds")
        return text.rstrip("0").rstrip(".")
    return str(value)


def _java_double(value: float) -> str:
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
