"""Types and schemas: what the attributes of a stream or relation are called and hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, TypeGuard

from astralq.errors import DataError, SchemaError, nearest
from astralq.timeline import MAX_INSTANT, MIN_INSTANT

Value = None | bool | int | float | Decimal | str
"""What an attribute can hold. A TIMESTAMP is its instant, an INTERVAL its microseconds."""

Values = tuple[Value, ...]
"""What the attributes of a tuple hold, in order."""


@dataclass(frozen=True)
class Type:
    """A scalar type, by Spark's name for it."""

    name: str
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})" if self.name == "DECIMAL" else self.name

    @property
    def is_integral(self) -> bool:
        return self.name in ("INT", "BIGINT")

    @property
    def is_numeric(self) -> bool:
        return self.name in ("INT", "BIGINT", "DECIMAL", "DOUBLE")


EXACT = Context(prec=200, rounding=ROUND_HALF_UP)
"""Wide enough for every sum, product and quotient of two DECIMAL(38); the default context has 28 digits."""

INT = Type("INT")
BIGINT = Type("BIGINT")
DOUBLE = Type("DOUBLE")
STRING = Type("STRING")
BOOLEAN = Type("BOOLEAN")
TIMESTAMP = Type("TIMESTAMP")
INTERVAL = Type("INTERVAL")  # the type of `ts - ts` and of durations in expressions
NULL = Type("NULL")  # the type of a bare NULL

_NAMES = {t.name: t for t in (INT, BIGINT, DOUBLE, STRING, BOOLEAN, TIMESTAMP)}
_ALIASES = {"INTEGER": INT, "LONG": BIGINT, "FLOAT8": DOUBLE, "TEXT": STRING, "VARCHAR": STRING}
_DECIMAL = re.compile(r"(?:DECIMAL|NUMERIC|DEC)(?:\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?")


def decimal(precision: int, scale: int = 0) -> Type:
    """DECIMAL(precision, scale), with 0 ≤ scale ≤ precision ≤ 38 and precision at least 1."""
    if not (1 <= precision <= 38 and 0 <= scale <= precision):
        raise SchemaError(
            f"DECIMAL({precision}, {scale}) cannot be",
            hint="the precision is 1 to 38, and the scale 0 to the precision",
        )
    return Type("DECIMAL", precision, scale)


def parse_type(text: str) -> Type:
    """Reads a type by its SQL name.

    >>> str(parse_type("decimal(10, 2)"))
    'DECIMAL(10, 2)'
    """
    name = text.strip().upper()
    if match := _DECIMAL.fullmatch(name):
        return decimal(int(match[1] or 10), int(match[2] or 0))
    found = _NAMES.get(name) or _ALIASES.get(name)
    if found is None:
        raise SchemaError(
            f"unknown type {text.strip()!r}",
            hint=nearest(name, _NAMES) or f"the types are {', '.join(_NAMES)} and DECIMAL(p, s)",
        )
    return found


_RANGES = {"INT": 2**31, "BIGINT": 2**63, "INTERVAL": 2**63}


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
        case "INT" | "BIGINT" | "INTERVAL":
            limit = _RANGES[type_.name]
            return _is_int(value) and -limit <= value < limit
        case "TIMESTAMP":
            return _is_int(value) and MIN_INSTANT <= value <= MAX_INSTANT
        case "DOUBLE":
            return type(value) is float
        case "DECIMAL":
            if not isinstance(value, Decimal) or not value.is_finite():
                return False
            exponent = value.as_tuple().exponent
            assert isinstance(exponent, int)
            whole = type_.precision - type_.scale
            return -exponent <= type_.scale and (not value or value.adjusted() < whole)
        case "STRING":
            return isinstance(value, str)
        case "BOOLEAN":
            return isinstance(value, bool)
    return False


@dataclass(frozen=True)
class Attribute:
    """A name and a type."""

    name: str
    type: Type

    def __str__(self) -> str:
        return f"{self.name} {self.type}"


@dataclass(frozen=True)
class Location:
    """The two attributes that say where a tuple is (004 Definition 3.1's spatial stamp g)."""

    x: str
    y: str
    planar: bool = False

    def __str__(self) -> str:
        return f"LOCATION BY ({self.x}, {self.y}){' PLANAR' if self.planar else ''}"


@dataclass(frozen=True)
class Schema:
    """Attr(TS): the attributes in order, and which of them are the location if any (001 D6, 002 D1).

    Names keep their spelling and are found whatever their case, as in Spark.

    >>> s = Schema.parse("id INT, value DOUBLE")
    >>> s.index("VALUE"), str(s)
    (1, 'id INT, value DOUBLE')
    """

    attributes: tuple[Attribute, ...]
    location: Location | None = None

    def __post_init__(self) -> None:
        seen: dict[str, str] = {}
        for a in self.attributes:
            if a.name.lower() in seen:
                raise SchemaError(
                    f"the attribute {a.name!r} is there twice",
                    hint="names differ in more than their case; rename one of them",
                )
            seen[a.name.lower()] = a.name
        if self.location is not None:
            for name in (self.location.x, self.location.y):
                if not self[name].type.is_numeric:
                    raise SchemaError(
                        f"the location's {name!r} is {self[name].type}, not a number",
                        hint="a location is two numeric attributes: longitude and latitude, or x and y",
                    )

    @staticmethod
    def parse(text: str) -> Schema:
        """Reads `name TYPE, …`."""
        parts = re.findall(r"[^,(]+(?:\([^)]*\))?", text)
        attributes = []
        for part in parts:
            name, _, type_text = part.strip().partition(" ")
            if not type_text.strip():
                raise SchemaError(f"{part.strip()!r} has no type", hint="write each attribute as `name TYPE`")
            attributes.append(Attribute(name, parse_type(type_text)))
        return Schema(tuple(attributes))

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def __str__(self) -> str:
        return ", ".join(map(str, self.attributes))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.attributes)

    def find(self, name: str) -> int | None:
        """The index of an attribute, or None."""
        wanted = name.lower()
        return next((k for k, a in enumerate(self.attributes) if a.name.lower() == wanted), None)

    def index(self, name: str) -> int:
        """The index of an attribute; an error with the nearest name if it is not there."""
        found = self.find(name)
        if found is None:
            there = f"the attributes are {', '.join(self.names)}" if self.attributes else "there is none"
            raise SchemaError(f"unknown attribute {name!r}: {there}", hint=nearest(name, self.names))
        return found

    def __getitem__(self, name: str) -> Attribute:
        return self.attributes[self.index(name)]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def with_location(self, location: Location | None) -> Schema:
        return Schema(self.attributes, location)

    def concat(self, other: Schema) -> Schema:
        """The attributes of both; the left location stays. A name on both sides is an error (001 D17)."""
        both = [a.name for a in other if a.name in self]
        if both:
            raise SchemaError(f"both sides have an attribute {both[0]!r}", hint="rename it on one side before joining")
        return Schema(self.attributes + other.attributes, self.location or other.location)

    def check_row(self, row: Sequence[Any], what: str) -> tuple[Value, ...]:
        """The row as a tuple if every value fits its attribute's type; else an error naming it."""
        if len(row) != len(self):
            raise DataError(f"{what} has {len(row)} values, but {len(self)} attributes are declared ({self})")
        for a, value in zip(self.attributes, row, strict=True):
            if not fits(value, a.type):
                raise DataError(f"{what}: {value!r} in {a.name!r} is not {article(a.type)} {a.type}")
        return tuple(
            value.quantize(Decimal(1).scaleb(-a.type.scale), context=EXACT) if isinstance(value, Decimal) else value
            for a, value in zip(self.attributes, row, strict=True)
        )


def article(type_: Type) -> str:
    """What stands before the type's name in a sentence."""
    return "an" if type_.name in ("INT", "INTERVAL") else "a"


def schema(spec: str | Schema | Iterable[Attribute]) -> Schema:
    """A schema from its text, its attributes or itself."""
    if isinstance(spec, Schema):
        return spec
    return Schema.parse(spec) if isinstance(spec, str) else Schema(tuple(spec))
