"""Values from outside as values of exactly a declared type: nothing is lost, or it is an error."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from astralq.algebra.sources import Origin
from astralq.datatypes import BIGINT, STRING, Type, Value, day_of, fits
from astralq.errors import DataError, EvaluationError
from astralq.expr.casts import cast_value, to_scale
from astralq.expr.order import map_value
from astralq.schema import Schema
from astralq.timeline import instant

_FINER = re.compile(r"\.\d{6}\d*[1-9]")
"""A fraction of a second with more than six digits that count."""


class Number(str):
    """A number of a json text, with its digits as they are written."""

    __slots__ = ()


def exact(value: Any, type_: Type) -> Value:
    """A value as one of the declared type: text as Spark casts it, all else only where nothing is lost.

    >>> from astralq.schema import DOUBLE
    >>> exact("2.5", DOUBLE), exact(2, DOUBLE)
    (2.5, 2.0)
    """
    if value is None or (fits(value, type_) and type(value) is not Number):
        return value  # type: ignore[no-any-return]
    if type_.is_nested:
        return _exact_parts(value, type_)
    if isinstance(value, str):
        if type_.name == "TIMESTAMP" and _FINER.search(value):
            raise EvaluationError(f"{value!r} is finer than a microsecond")  # CAST would cut it off
        if type_.name == "BINARY":
            return _from_base64(value)
        return cast_value(str(value), STRING, type_)
    if isinstance(value, datetime) and type_.name == "TIMESTAMP":
        return instant(value)
    if isinstance(value, date) and not isinstance(value, datetime) and type_.name == "DATE":
        return day_of(value)
    if isinstance(value, timedelta) and type_.name == "INTERVAL":
        return value // timedelta(microseconds=1)
    result: Value = None
    if type(value) is int and type_.name in ("DOUBLE", "DECIMAL"):
        result = cast_value(value, BIGINT, type_)
    elif isinstance(value, Decimal) and value.is_finite() and type_.name == "DECIMAL":
        result = to_scale(value, type_)
    if result is None or result != value:
        raise EvaluationError(f"{value!r} is not a value of {type_}")
    return result


def _exact_parts(value: Any, type_: Type) -> Value:
    """Lists and objects as arrays, maps and structs; a struct's field that an object does not have is NULL."""
    match type_.name, value:
        case "ARRAY", list() | tuple():
            return tuple(exact(v, type_.element) for v in value)
        case "MAP", Mapping():
            return map_value((exact(k, type_.key), exact(v, type_.element)) for k, v in value.items())
        case "MAP", list() | tuple() if all(isinstance(e, tuple) and len(e) == 2 for e in value):
            return map_value((exact(k, type_.key), exact(v, type_.element)) for k, v in value)
        case "STRUCT", Mapping():
            by_lower = {str(k).lower(): v for k, v in value.items()}
            return tuple(exact(by_lower.get(n.lower()), t) for n, t in type_.parts)
        case "STRUCT", tuple() if len(value) == len(type_.parts):
            return tuple(exact(v, t) for v, (_, t) in zip(value, type_.parts, strict=True))
    raise EvaluationError(f"{value!r} is not a value of {type_}")


def _from_base64(text: str) -> bytes:
    """BINARY in a text file is base64, as Spark's JSON has it."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise EvaluationError(f"{text!r} is not base64") from None


def check_nested(origin: Origin, schema: Schema) -> None:
    """An error where a format cannot hold a declared type."""
    for a in schema:
        if origin.format == "csv" and a.type.is_nested:
            raise DataError(
                f"csv cannot hold {a.name!r}, which is {a.type}",
                hint=f"declare it STRING, and read it: from_json({a.name}, '…')",
                attribute=a.name,
            )
        if origin.format in ("csv", "json") and a.type.holds("INTERVAL", "MONTHS"):
            raise DataError(f"{origin.format} cannot hold {a.name!r}, which is {a.type}", attribute=a.name)
        if origin.format == "json" and a.type.name == "MAP" and a.type.key != STRING:
            hint = "the keys of JSON are text: declare MAP<STRING, …>"
            raise DataError(f"json cannot hold {a.name!r}, which is {a.type}", hint=hint, attribute=a.name)
