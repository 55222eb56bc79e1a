"""The types of parquet files' columns as Spark reads them, known without Spark: from the end of each file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from astralq.datatypes import MapValue, Type, Value, day_of
from astralq.errors import DataError
from astralq.expr.order import map_value
from astralq.io.reading import NUMBER_AS_TIME, File, missing
from astralq.schema import Attribute, Schema, article
from astralq.timeline import instant

INTEGRAL = ("tinyint", "smallint", "int", "bigint")

READ_AS = {"nanos": "BIGINT", "unsigned": "DECIMAL(20, 0)"}
"""How Spark is asked for a column that it has no type of its own for."""


def parquet_types(file: File, schema: Schema, *, lacks: bool = False) -> tuple[tuple[str, str], ...]:
    """The attributes' columns with their types, from the end of the file; void for those that it may lack."""
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    try:
        parquet = pq.ParquetFile(file.path)
    except (OSError, pa.ArrowException) as e:
        raise DataError(f"{file.shown} is not a parquet file that can be read: {e}") from None
    physical = {c.path: c.physical_type for c in map(parquet.schema.column, range(len(parquet.schema)))}
    there = {f.name.lower(): f for f in parquet.schema_arrow}
    found = []
    for a in schema:
        if a.name.lower() not in there:
            if not lacks:
                raise missing(a.name, parquet.schema_arrow.names, file.shown)
            found.append((a.name, "void"))
            continue
        field = there[a.name.lower()]
        found.append((field.name, _arrow_type(field.type, physical.get(field.name, ""))))
    return tuple(found)


def _arrow_type(type_: Any, physical: str) -> str:
    """Spark's name for the type of a column, as its parquet reader reads it."""
    import pyarrow as pa

    if pa.types.is_dictionary(type_):
        return _arrow_type(type_.value_type, physical)
    if pa.types.is_timestamp(type_):
        if type_.unit == "ns" and physical != "INT96":
            return "nanos"
        return "timestamp" if type_.tz or physical == "INT96" else "timestamp_ntz"
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return "string"
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return f"array<{_arrow_type(type_.value_type, '')}>"
    if pa.types.is_map(type_):
        return f"map<{_arrow_type(type_.key_type, '')},{_arrow_type(type_.item_type, '')}>"
    if pa.types.is_struct(type_):
        return f"struct<{','.join(f'{f.name}:{_arrow_type(f.type, str())}' for f in type_)}>"
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_) or pa.types.is_fixed_size_binary(type_):
        return "binary"
    plain = {
        "date32[day]": "date",
        "bool": "boolean",
        "int8": "tinyint",
        "int16": "smallint",
        "int32": "int",
        "int64": "bigint",
    }
    unsigned = {"uint8": "smallint", "uint16": "int", "uint32": "bigint", "uint64": "unsigned"}
    return {**plain, **unsigned, "float": "float", "double": "double", "null": "void"}.get(str(type_), str(type_))


# What the ends of files say of their rows


@dataclass(frozen=True)
class Footers:
    """How many rows files have, and the closed interval [first, last] of a timestamp column, in microseconds."""

    rows: int
    first: int
    last: int


def footers(files: Sequence[File], column: str) -> Footers | None:
    """The statistics of a timestamp column that has no NULL; None where the files do not say."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows, limits = 0, []
    for file in files:
        try:
            parquet = pq.ParquetFile(file.path)
        except (OSError, pa.ArrowException):
            return None
        places = [k for k, n in enumerate(parquet.schema_arrow.names) if n.lower() == column.lower()]
        if len(places) != 1 or not parquet.metadata.num_rows:
            return None
        type_ = parquet.schema_arrow.types[places[0]]
        per = {"us": 1, "ms": 1000}.get(type_.unit) if pa.types.is_timestamp(type_) else None
        limits_of = _limits(parquet.metadata, parquet.schema_arrow.names[places[0]])
        if per is None or limits_of is None:
            return None
        rows += parquet.metadata.num_rows
        limits += [value * per for value in limits_of]
    return Footers(rows, min(limits), max(limits)) if limits else None


def _limits(metadata: Any, column: str) -> list[int] | None:
    """The least and the greatest value in each row group, as they are stored; None if one has no such statistics."""
    place = [metadata.schema.column(k).path for k in range(len(metadata.schema))].index(column)
    limits: list[int] = []
    for k in range(metadata.num_row_groups):
        chunk = metadata.row_group(k).column(place)
        statistics = chunk.statistics
        known = chunk.physical_type == "INT64" and statistics is not None and statistics.has_min_max
        if not known or statistics.null_count != 0:
            return None
        limits += [statistics.min_raw, statistics.max_raw]
    return limits


# Which types go together

_TAKEN = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT"), (*INTEGRAL, "unsigned")),
    "FLOAT": ("float",),
    "DOUBLE": (*INTEGRAL, "unsigned", "float", "double"),
    "BINARY": ("binary",),
    "DATE": ("date",),
    "DECIMAL": (*INTEGRAL, "unsigned"),
    "BOOLEAN": ("boolean",),
    "TIMESTAMP": ("timestamp", "timestamp_ntz", "nanos"),
}


def takes(a: Attribute, found: str) -> bool:
    """Whether a column of Spark's type `found` can hold an attribute's values; `of_column` (reading.py) reads those.

    >>> from astralq.schema import BIGINT
    >>> takes(Attribute("k", BIGINT), "int"), takes(Attribute("k", BIGINT), "double")
    (True, False)
    """
    if found == "void" or found.startswith(("string", "varchar", "char")):
        return True
    if a.type.is_nested:
        return found == catalog_name(a.type)
    return found in _TAKEN.get(a.type.name, ()) or (a.type.name == "DECIMAL" and found.startswith("decimal"))


def catalog_name(type_: Type) -> str:
    """A type as Spark's catalogue and the footers of files name it, without spaces.

    >>> from astralq.datatypes import parse_type
    >>> catalog_name(parse_type("ARRAY<STRUCT<x: INT>>"))
    'array<struct<x:int>>'
    """
    match type_.name:
        case "ARRAY" | "MAP":
            return f"{type_.name.lower()}<{','.join(catalog_name(t) for _, t in type_.parts)}>"
        case "STRUCT":
            return f"struct<{','.join(f'{n}:{catalog_name(t)}' for n, t in type_.parts)}>"
    return str(type_).lower().replace(", ", ",")


def mismatch(found: str, a: Attribute, where: str, integral: bool | None = None) -> DataError:
    """What to say of a column whose type is not the attribute's."""
    number = found in (*INTEGRAL, "unsigned") if integral is None else integral
    hint = NUMBER_AS_TIME if a.type.name == "TIMESTAMP" and number else None
    message = f"{where}: the column {a.name!r} is {found}, not {article(a.type)} {a.type}"
    return DataError(message, hint=hint, attribute=a.name)


def arrow_type(type_: Type) -> Any:
    """The type of a column in Arrow: instants are in microseconds UTC, intervals numbers of microseconds or months."""
    import pyarrow as pa

    match type_.name:
        case "DECIMAL":
            return pa.decimal128(type_.precision, type_.scale)
        case "ARRAY":
            return pa.list_(arrow_type(type_.element))
        case "MAP":
            return pa.map_(arrow_type(type_.key), arrow_type(type_.element))
        case "STRUCT":
            return pa.struct([pa.field(n, arrow_type(t)) for n, t in type_.parts])
    types = {
        "TINYINT": pa.int8(),
        "SMALLINT": pa.int16(),
        "INT": pa.int32(),
        "BIGINT": pa.int64(),
        "FLOAT": pa.float32(),
        "DOUBLE": pa.float64(),
        "STRING": pa.string(),
        "BINARY": pa.binary(),
        "BOOLEAN": pa.bool_(),
        "DATE": pa.date32(),
        "TIMESTAMP": pa.timestamp("us", tz="UTC"),
        "INTERVAL": pa.int64(),
        "MONTHS": pa.int32(),
    }
    return types.get(type_.name, pa.string())


def arrow_value(value: Value, type_: Type) -> Any:
    """A value as Arrow takes it for `arrow_type`."""
    match value:
        case MapValue():
            return [(arrow_value(k, type_.key), arrow_value(v, type_.element)) for k, v in value]
        case tuple() if type_.name == "ARRAY":
            return [arrow_value(v, type_.element) for v in value]
        case tuple():
            return {n: arrow_value(v, t) for v, (n, t) in zip(value, type_.parts, strict=True)}
    return value


def plain_value(value: Any, type_: Type) -> Value:
    """A value as `to_pylist` of Arrow or a row of Spark has it, as one of ours; it is of the type already."""
    if value is None:
        return None
    match type_.name:
        case "ARRAY":
            return tuple(plain_value(v, type_.element) for v in value)
        case "STRUCT":
            values = value.values() if isinstance(value, Mapping) else value
            return tuple(plain_value(v, t) for v, (_, t) in zip(values, type_.parts, strict=True))
        case "MAP":
            pairs = value.items() if isinstance(value, Mapping) else value
            return map_value((plain_value(k, type_.key), plain_value(v, type_.element)) for k, v in pairs)
        case "TIMESTAMP" if isinstance(value, datetime):
            return instant(value)
        case "DATE" if isinstance(value, date):
            return day_of(value)
        case "INTERVAL" if isinstance(value, timedelta):
            return value // timedelta(microseconds=1)
        case "BINARY":
            return bytes(value)
    return value  # type: ignore[no-any-return]
