"""Schemas: what the attributes of a stream or relation are called and hold; the types are those of `datatypes`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from astralq.datatypes import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    EXACT,
    FLOAT,
    INT,
    INTERVAL,
    MONTHS,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    MapValue,
    Type,
    Value,
    Values,
    array_of,
    decimal,
    fits,
    map_of,
    parse_type,
    split_types,
    struct_of,
    with_scale,
)
from astralq.errors import DataError, SchemaError, nearest

__all__ = [
    "BIGINT",
    "BINARY",
    "BOOLEAN",
    "DATE",
    "DOUBLE",
    "EXACT",
    "FLOAT",
    "INT",
    "INTERVAL",
    "MONTHS",
    "NULL",
    "SMALLINT",
    "STRING",
    "TIMESTAMP",
    "TINYINT",
    "Attribute",
    "Location",
    "MapValue",
    "Schema",
    "Type",
    "Value",
    "Values",
    "array_of",
    "article",
    "decimal",
    "fits",
    "map_of",
    "parse_type",
    "schema",
    "struct_of",
]


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
        attributes = []
        for part in split_types(text):
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
        return tuple(with_scale(value, a.type) for a, value in zip(self.attributes, row, strict=True))


def article(type_: Type) -> str:
    """What stands before the name of a type."""
    return "an" if str(type_)[0] in "AIO" else "a"


def schema(spec: str | Schema | Iterable[Attribute]) -> Schema:
    """A schema from its text, its attributes or itself."""
    if isinstance(spec, Schema):
        return spec
    return Schema.parse(spec) if isinstance(spec, str) else Schema(tuple(spec))
