"""Types by Spark's names for them, how they are read and written, and which Python values are of which type."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from datetime import date
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, TypeGuard

from astralq.errors import SchemaError, nearest
from astralq.timeline import MAX_INSTANT, MIN_INSTANT


class MapValue(tuple[tuple["Value", "Value"], ...]):
    """What a MAP holds: its entries, each key once, in the order of the keys (`expr.order.map_value` sorts them)."""

    __slots__ = ()


Value = None | bool | int | float | Decimal | str | bytes | tuple["Value", ...] | MapValue
"""What an attribute can hold. A TIMESTAMP is its instant and a DATE its day, counted from 1970-01-01; an INTERVAL is
its microseconds, or its months; an ARRAY and a STRUCT are tuples."""

Values = tuple[Value, ...]
"""What the attributes of a tuple hold, in order."""


@dataclass(frozen=True)
class Type:
    """A type, by Spark's name for it; `parts` are the named types of which an ARRAY, a MAP or a STRUCT is made."""

    name: str
    precision: int = 0
    scale: int = 0
    parts: tuple[tuple[str, Type], ...] = field(default=(), metadata={"later": True})

    def __str__(self) -> str:
        match self.name:
            case "DECIMAL":
                return f"DECIMAL({self.precision}, {self.scale})"
            case "INTERVAL":
                return "INTERVAL DAY TO SECOND"
            case "MONTHS":
                return "INTERVAL YEAR TO MONTH"
            case "ARRAY" | "MAP":
                return f"{self.name}<{', '.join(str(t) for _, t in self.parts)}>"
            case "STRUCT":
                return f"STRUCT<{', '.join(f'{_field_name(n)}: {t}' for n, t in self.parts)}>"
        return self.name

    @property
    def is_integral(self) -> bool:
        return self.name in _INTEGRAL

    @property
    def is_numeric(self) -> bool:
        return self.name in _NUMERIC

    @property
    def is_fractional(self) -> bool:
        """Whether its values are binary fractions, which have infinities, NaN and two zeros."""
        return self.name in ("FLOAT", "DOUBLE")

    @property
    def is_nested(self) -> bool:
        return self.name in ("ARRAY", "MAP", "STRUCT")

    @property
    def element(self) -> Type:
        """The type of an ARRAY's elements, or of a MAP's values."""
        return self.parts[-1][1]

    @property
    def key(self) -> Type:
        """The type of a MAP's keys."""
        return self.parts[0][1]

    def field(self, name: str) -> tuple[int, Type] | None:
        """The place and type of a STRUCT's field, whatever its case."""
        found = [(k, t) for k, (n, t) in enumerate(self.parts) if n.lower() == name.lower()]
        return found[0] if found else None

    def holds(self, *names: str) -> bool:
        """Whether it is, or is made of, a type of one of these names."""
        return self.name in names or any(t.holds(*names) for _, t in self.parts)


_INTEGRAL = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_NUMERIC = (*_INTEGRAL, "DECIMAL", "FLOAT", "DOUBLE")
EXACT = Context(prec=200, rounding=ROUND_HALF_UP)
"""Wide enough for every sum, product and quotient of two DECIMAL(38); the default context has 28 digits."""

TINYINT = Type("TINYINT")
SMALLINT = Type("SMALLINT")
INT = Type("INT")
BIGINT = Type("BIGINT")
FLOAT = Type("FLOAT")
DOUBLE = Type("DOUBLE")
STRING = Type("STRING")
BINARY = Type("BINARY")
BOOLEAN = Type("BOOLEAN")
DATE = Type("DATE")
TIMESTAMP = Type("TIMESTAMP")
INTERVAL = Type("INTERVAL")  # INTERVAL DAY TO SECOND: the type of `ts - ts` and of durations in expressions
MONTHS = Type("MONTHS")  # INTERVAL YEAR TO MONTH
NULL = Type("NULL")  # the type of a bare NULL

_NAMES = {t.name: t for t in (TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, BINARY, BOOLEAN, DATE, TIMESTAMP)}
_ALIASES = {
    "BYTE": TINYINT,
    "SHORT": SMALLINT,
    "INTEGER": INT,
    "LONG": BIGINT,
    "REAL": FLOAT,
    "FLOAT8": DOUBLE,
    "TEXT": STRING,
    "VARCHAR": STRING,
    "INTERVAL": INTERVAL,
    "VOID": NULL,
}
_DECIMAL = re.compile(r"(?:DECIMAL|NUMERIC|DEC)(?:\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?")
_DAY_TIME = re.compile(r"INTERVAL\s+(?:DAY|HOUR|MINUTE|SECOND)(?:\s+TO\s+(?:HOUR|MINUTE|SECOND))?")
_YEAR_MONTH = re.compile(r"INTERVAL\s+(?:YEAR|MONTH)(?:\s+TO\s+MONTH)?")
_NESTED = re.compile(r"(ARRAY|MAP|STRUCT)\s*<(.*)>", re.IGNORECASE | re.DOTALL)
_FIELD = re.compile(r"\s*(`(?:[^`]|``)+`|\w+)\s*(?::|\s)\s*(.+)", re.DOTALL)


def _field_name(name: str) -> str:
    return name if re.fullmatch(r"[^\W\d]\w*", name) else "`" + name.replace("`", "``") + "`"


def decimal(precision: int, scale: int = 0) -> Type:
    """DECIMAL(precision, scale), with 0 ≤ scale ≤ precision ≤ 38 and precision at least 1."""
    if not (1 <= precision <= 38 and 0 <= scale <= precision):
        raise SchemaError(
            f"DECIMAL({precision}, {scale}) cannot be",
            hint="the precision is 1 to 38, and the scale 0 to the precision",
        )
    return Type("DECIMAL", precision, scale)


def array_of(element: Type) -> Type:
    """ARRAY<element>."""
    return Type("ARRAY", parts=(("element", element),))


def map_of(key: Type, value: Type) -> Type:
    """MAP<key, value>; a key is no MAP, as in Spark."""
    if key.holds("MAP"):
        raise SchemaError(f"the keys of a MAP cannot be {key}", hint="a MAP has no order, so it is no key")
    return Type("MAP", parts=(("key", key), ("value", value)))


def struct_of(*fields: tuple[str, Type]) -> Type:
    """STRUCT<name: type, …>; names differ in more than their case."""
    names = [n.lower() for n, _ in fields]
    twice = next((n for k, (n, _) in enumerate(fields) if n.lower() in names[:k]), None)
    if twice is not None:
        raise SchemaError(f"the field {twice!r} is there twice", hint="names differ in more than their case")
    return Type("STRUCT", parts=tuple(fields))


def parse_type(text: str) -> Type:
    """Reads a type by its SQL name.

    >>> str(parse_type("decimal(10, 2)")), str(parse_type("array<struct<x int, y:map<string,double>>>"))
    ('DECIMAL(10, 2)', 'ARRAY<STRUCT<x: INT, y: MAP<STRING, DOUBLE>>>')
    """
    name = text.strip().upper()
    if match := _DECIMAL.fullmatch(name):
        return decimal(int(match[1] or 10), int(match[2] or 0))
    if match := _NESTED.fullmatch(text.strip()):
        return _nested(match[1].upper(), split_types(match[2]), text.strip())
    if _DAY_TIME.fullmatch(name):
        return INTERVAL
    if _YEAR_MONTH.fullmatch(name):
        return MONTHS
    found = _NAMES.get(name) or _ALIASES.get(name)
    if found is None:
        known = [*_NAMES, "DECIMAL(p, s)", "INTERVAL", "ARRAY<…>", "MAP<…>"]
        raise SchemaError(
            f"unknown type {text.strip()!r}",
            hint=nearest(name, _NAMES) or f"the types are {', '.join(known)} and STRUCT<…>",
        )
    return found


def _nested(kind: str, parts: list[str], text: str) -> Type:
    if kind == "STRUCT":
        fields = [_FIELD.fullmatch(p) for p in parts]
        if parts and all(fields):
            named = [(m[1].strip("`").replace("``", "`"), parse_type(m[2])) for m in fields if m is not None]
            return struct_of(*named)
        raise SchemaError(f"{text!r} is not a type", hint="write for example STRUCT<x: INT, y: STRING>")
    if len(parts) != (1 if kind == "ARRAY" else 2):
        example = "ARRAY<INT>" if kind == "ARRAY" else "MAP<STRING, INT>"
        raise SchemaError(f"{text!r} is not a type", hint=f"write for example {example}")
    return array_of(parse_type(parts[0])) if kind == "ARRAY" else map_of(*map(parse_type, parts))


def split_types(text: str) -> list[str]:
    """The parts between the commas that stand in no parentheses or angle brackets.

    >>> split_types("a DECIMAL(3, 1), m MAP<STRING, INT>")
    ['a DECIMAL(3, 1)', 'm MAP<STRING, INT>']
    """
    parts, depth = [""], 0
    for c in text:
        depth += (c in "(<") - (c in ")>")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts] if text.strip() else []


_RANGES = {"TINYINT": 2**7, "SMALLINT": 2**15, "INT": 2**31, "BIGINT": 2**63, "INTERVAL": 2**63, "MONTHS": 2**31}
_EPOCH_DAY = date(1970, 1, 1).toordinal()
FIRST_DAY, LAST_DAY = date.min.toordinal() - _EPOCH_DAY, date.max.toordinal() - _EPOCH_DAY


def day_of(day: date) -> int:
    """A DATE's value: days since 1970-01-01."""
    return day.toordinal() - _EPOCH_DAY


def date_of(days: int) -> date:
    """The day with that number; a ValueError outside the years 1 to 9999."""
    if not FIRST_DAY <= days <= LAST_DAY:
        raise ValueError(f"{days} days since 1970 is no year from 1 to 9999")
    return date.fromordinal(days + _EPOCH_DAY)


def to_float32(value: float) -> float:
    """The nearest FLOAT, infinite beyond their range."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return rounded


def shortest_float32(value: float) -> float:
    """The double with the fewest digits that rounds to a finite FLOAT: its digits are those that it prints with."""
    for digits in range(1, 10):
        short = float(f"{value:.{digits}g}")
        if to_float32(short) == value:
            return short
    return value


def _is_int(value: object) -> TypeGuard[int]:
    """An integer of any kind, a Duration too, but no BOOLEAN."""
    return isinstance(value, int) and not isinstance(value, bool)


def fits(value: Any, type_: Type) -> bool:
    """Whether a Python value is one of the type's; NULL is one of every type's.

    >>> fits(2**31, INT), fits(2**31, BIGINT), fits(True, INT)
    (False, True, False)
    """
    if value is None:
        return True
    match type_.name:
        case "TINYINT" | "SMALLINT" | "INT" | "BIGINT" | "INTERVAL" | "MONTHS":
            limit = _RANGES[type_.name]
            return _is_int(value) and -limit <= value < limit
        case "TIMESTAMP":
            return _is_int(value) and MIN_INSTANT <= value <= MAX_INSTANT
        case "DATE":
            return _is_int(value) and FIRST_DAY <= value <= LAST_DAY
        case "DOUBLE":
            return type(value) is float
        case "FLOAT":
            return type(value) is float and (value != value or to_float32(value) == value)
        case "DECIMAL":
            if not isinstance(value, Decimal) or not value.is_finite():
                return False
            exponent = value.as_tuple().exponent
            assert isinstance(exponent, int)
            whole = type_.precision - type_.scale
            return -exponent <= type_.scale and (not value or value.adjusted() < whole)
        case "STRING":
            return isinstance(value, str)
        case "BINARY":
            return isinstance(value, bytes)
        case "BOOLEAN":
            return isinstance(value, bool)
        case _:
            return _fits_nested(value, type_)


def _fits_nested(value: Any, type_: Type) -> bool:
    if not isinstance(value, tuple):
        return False
    match type_.name:
        case "ARRAY":
            return not isinstance(value, MapValue) and all(fits(v, type_.element) for v in value)
        case "STRUCT":
            types = [t for _, t in type_.parts]
            return len(value) == len(types) and all(fits(v, t) for v, t in zip(value, types, strict=True))
        case "MAP":
            pairs = isinstance(value, MapValue) and all(isinstance(e, tuple) and len(e) == 2 for e in value)
            return pairs and all(k is not None and fits(k, type_.key) and fits(v, type_.element) for k, v in value)
    return False


def with_scale(value: Value, type_: Type) -> Value:
    """A value that fits its type, with a DECIMAL's digits behind the point as many as the type has, inside too."""
    match value:
        case Decimal():
            return value.quantize(Decimal(1).scaleb(-type_.scale), context=EXACT)
        case MapValue():
            return MapValue((with_scale(k, type_.key), with_scale(v, type_.element)) for k, v in value)
        case tuple() if type_.name == "ARRAY":
            return tuple(with_scale(v, type_.element) for v in value)
        case tuple():
            return tuple(with_scale(v, t) for v, (_, t) in zip(value, type_.parts, strict=True))
    return value
