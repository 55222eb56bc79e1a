"""Rows from the files that sources name: csv, json lines and parquet, each value exactly of its declared type."""

from __future__ import annotations

import codecs
import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from astralq.algebra.sources import FOLLOWING, Origin
from astralq.errors import DataError, EvaluationError, TimeError, nearest
from astralq.expr.casts import cast_value, to_scale
from astralq.schema import BIGINT, STRING, Attribute, Schema, Type, Value, Values, fits
from astralq.timeline import instant

SUFFIXES = {"csv": (".csv",), "json": (".json", ".jsonl", ".ndjson"), "parquet": (".parquet",)}
"""Which files of a folder belong to a format; the texts also compressed, with .gz behind it."""

HEADER_UNDECLARED = "the first line holds the names: add OPTIONS (header = 'true')"
NUMBER_AS_TIME = "declare it BIGINT, and say what it counts with UNIT SECONDS or another unit"

_IGNORED = ("inferSchema", "mergeSchema", "maxFilesPerTrigger")
"""Options of Spark's that cannot change an answer: types are declared, and all files are read."""
_OPTIONS = {
    "csv": (
        *("header", "sep", "delimiter", "nullValue", "quote", "escape", "comment", "encoding", "multiLine"),
        *_IGNORED,
    ),
    "json": ("encoding", *_IGNORED),
    "parquet": _IGNORED,
}


_FINER = re.compile(r"\.\d{6}\d*[1-9]")
"""A fraction of a second with more than six digits that count."""


@dataclass(frozen=True)
class File:
    """A file, and what it is called in errors."""

    path: Path
    shown: str


def check_options(origin: Origin, source: str) -> None:
    """An option that would be left unread is an error: the answer could be another one than meant."""
    known = _OPTIONS[origin.format]
    for name, _ in origin.options:
        if name.lower() not in map(str.lower, (*known, *FOLLOWING)):
            raise DataError(
                f"{source}: the {origin.format} option {name!r} is not one that the model knows",
                hint=nearest(name, known) or f"it knows {', '.join(known)}",
            )


def read_files(origin: Origin, files: Iterable[File], schema: Schema) -> list[Values]:
    """The rows of all files, one file after the other."""
    match origin.format:
        case "csv":
            dialect = CsvDialect.of(origin)
            return [r for f in files for r in _read_csv(f, dialect, schema)]
        case "json":
            named = NamedRows(schema)
            encoding = origin.option("encoding", "utf-8")
            rows = [r for f in files for r in _read_json(f, encoding, named)]
            named.check_all_seen(origin.path)
            return rows
        case _:
            return [r for f in files for r in _read_parquet(f, schema)]


@dataclass(frozen=True)
class Beginning:
    """The first rows of a file, whether there are more, and for objects the names that these have."""

    rows: list[Values]
    more: bool
    names: tuple[str, ...] = ()


def read_beginning(origin: Origin, file: File, schema: Schema, most: int) -> Beginning:
    """At most so many rows of a file, read as `read_files` reads all."""
    named = NamedRows(schema)
    match origin.format:
        case "csv":
            rows = list(islice(_read_csv(file, CsvDialect.of(origin), schema), most + 1))
        case "json":
            rows = list(islice(_read_json(file, origin.option("encoding", "utf-8"), named), most + 1))
        case _:
            rows = _read_parquet(file, schema, most + 1)
    return Beginning(rows[:most], len(rows) > most, named.names)


def exact(value: Any, type_: Type) -> Value:
    """A value as one of the declared type: text as Spark casts it, all else only where nothing is lost.

    >>> from astralq.schema import DOUBLE
    >>> exact("2.5", DOUBLE), exact(2, DOUBLE)
    (2.5, 2.0)
    """
    if isinstance(value, str):
        if type_.name == "TIMESTAMP" and _FINER.search(value):
            raise EvaluationError(f"{value!r} is finer than a microsecond")  # CAST would cut it off
        return cast_value(str(value), STRING, type_)
    if fits(value, type_):
        return value  # type: ignore[no-any-return]
    if isinstance(value, datetime) and type_.name == "TIMESTAMP":
        return instant(value)
    result: Value = None
    if type(value) is int and type_.name in ("DOUBLE", "DECIMAL"):
        result = cast_value(value, BIGINT, type_)
    elif isinstance(value, Decimal) and value.is_finite() and type_.name == "DECIMAL":
        result = to_scale(value, type_)
    if result is None or result != value:
        raise EvaluationError(f"{value!r} is not a value of {type_}")
    return result


def typed(value: Any, attribute: Attribute, where: str, hint: str | None = None) -> Value:
    """The value exactly of the attribute's type, or an error that says where it is."""
    try:
        return exact(value, attribute.type)
    except (EvaluationError, TimeError):
        article = "an" if attribute.type.name in ("INT", "INTERVAL") else "a"
        shown = str(value) if isinstance(value, _Number) else repr(value)
        raise DataError(
            f"{where}: {shown} in {attribute.name!r} is not {article} {attribute.type}",
            hint=hint,
            attribute=attribute.name,
        ) from None


@contextmanager
def opened(file: File, encoding: str) -> Iterator[TextIO]:
    """The text of a file, unpacked if it is compressed; whatever cannot be read is an error with its name."""
    try:
        # A byte order mark is no part of the first value.
        encoding = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
    except LookupError:
        raise DataError(f"{file.shown}: unknown encoding {encoding!r}", hint="for example 'utf-8'") from None
    try:
        if file.path.suffix == ".gz":
            with gzip.open(file.path, "rt", encoding=encoding) as packed:
                yield packed
        else:
            with file.path.open(encoding=encoding) as plain:
                yield plain
    except (UnicodeError, LookupError) as e:
        where = f"{e.reason} at byte {e.start}" if isinstance(e, UnicodeDecodeError) else str(e)
        raise DataError(
            f"{file.shown} is not {encoding.removesuffix('-sig')} text: {where}",
            hint="name its encoding: OPTIONS (encoding = '…')",
        ) from None
    except (OSError, EOFError, zlib.error) as e:
        raise DataError(f"{file.shown} cannot be read: {getattr(e, 'strerror', None) or e}") from None


# csv


@dataclass(frozen=True)
class CsvDialect:
    """How a csv file is written; the defaults are Spark's."""

    header: bool
    sep: str
    null: str
    quote: str
    escape: str
    comment: str
    encoding: str
    multi_line: bool

    @staticmethod
    def of(origin: Origin) -> CsvDialect:
        sep = origin.option("sep", origin.option("delimiter", ",")).replace("\\t", "\t")
        if not sep:
            raise DataError("the csv option 'sep' is empty", hint="give the text between two values, for example ';'")
        for name in ("quote", "escape", "comment"):
            if len(origin.option(name, "")) > 1:
                raise DataError(f"the csv option {name!r} is {origin.option(name, '')!r}", hint="give one character")
        return CsvDialect(
            _flag(origin, "header"),
            sep,
            origin.option("nullValue", ""),
            origin.option("quote", '"'),
            origin.option("escape", "\\"),
            origin.option("comment", ""),
            origin.option("encoding", "utf-8"),
            _flag(origin, "multiLine"),
        )


def _flag(origin: Origin, name: str) -> bool:
    given = origin.option(name, "false").strip().lower()
    if given not in ("true", "false"):
        raise DataError(f"the option {name!r} is {given!r}", hint="give 'true' or 'false'")
    return given == "true"


def _read_csv(file: File, dialect: CsvDialect, schema: Schema) -> Iterator[Values]:
    with opened(file, dialect.encoding) as lines:
        records = csv_records(lines, dialect, file)
        columns = csv_columns(next(records, None), schema, file) if dialect.header else None
        for k, (line, fields) in enumerate(records, start=1):
            where = f"{file.shown}, row {k} (line {line})"
            hint = _header_hint(fields, schema) if k == 1 and columns is None else None
            wanted = list(range(len(schema))) if columns is None else columns
            if len(fields) <= max(wanted) or (columns is None and len(fields) > len(schema)):
                raise DataError(f"{where} has {len(fields)} values, but {_needed(schema, columns)}", hint=hint)
            texts = (fields[c] for c in wanted)
            yield tuple(
                None if text is None or text == dialect.null else typed(text, a, where, hint)
                for a, text in zip(schema, texts, strict=True)
            )


def _needed(schema: Schema, columns: list[int] | None) -> str:
    if columns is None:
        return f"{len(schema)} attributes are declared ({schema})"
    last = max(range(len(columns)), key=lambda k: columns[k])
    return f"{schema.names[last]!r} is column {columns[last] + 1} of the header"


def _header_hint(fields: list[str | None], schema: Schema) -> str | None:
    """A first row that holds the names is a header that was not declared."""
    found = sum(text is not None and text.strip() in schema for text in fields)
    return HEADER_UNDECLARED if 2 * found >= len(schema) else None


def csv_columns(header: tuple[int, list[str | None]] | None, schema: Schema, file: File) -> list[int]:
    """Where each attribute's column is, by its name in the header in any case."""
    names = [] if header is None else [(text or "").strip() for text in header[1]]
    if not names:
        raise DataError(f"{file.shown} is empty: it has no header", hint="write the names of the columns first")
    lower = [n.lower() for n in names]
    for a in schema:
        if a.name.lower() not in lower:
            raise missing(a.name, names, file.shown)
        if lower.count(a.name.lower()) > 1:
            raise DataError(f"{file.shown} has two columns {a.name!r}", hint="rename one of them", attribute=a.name)
    return [lower.index(a.name.lower()) for a in schema]


SEPARATED = "its columns are separated by"
"""How a hint begins that explains why none of the columns is there."""


class MissingColumnError(DataError):
    """An attribute that has no column."""


def missing(name: str, there: Iterable[str], where: str) -> MissingColumnError:
    """What to say of a column that is not there."""
    names = list(there)
    other = next((s for s in (";", "\t", "|") if len(names) == 1 and s in names[0]), None)
    return MissingColumnError(
        f"{where} has no column {name!r}: its columns are {', '.join(names)}",
        hint=nearest(name, names) if other is None else f"{SEPARATED} {other!r}: add OPTIONS (sep = {other!r})",
        attribute=name,
    )


def csv_records(lines: Iterable[str], dialect: CsvDialect, file: File) -> Iterator[tuple[int, list[str | None]]]:
    """The records with their lines' numbers; blank lines and comments are none."""
    numbered = enumerate((text.rstrip("\n") for text in lines), start=1)
    for number, text in numbered:
        if not text.strip() or (dialect.comment and text.startswith(dialect.comment)):
            continue
        if not dialect.quote or dialect.quote not in text:
            yield number, [t or None for t in text.split(dialect.sep)]
            continue
        while (fields := _split(text, dialect, f"{file.shown}, line {number}")) is None:
            further = next(numbered, None) if dialect.multi_line else None
            if further is None:
                raise DataError(
                    f"{file.shown}, line {number}: a quoted value has no end",
                    hint=None
                    if dialect.multi_line
                    else "if values go over several lines, OPTIONS (multiLine = 'true')",
                )
            text += "\n" + further[1]
        yield number, fields


def _split(text: str, dialect: CsvDialect, where: str) -> list[str | None] | None:
    """The values of a record, None where there is nothing between two separators; None if a quote is still open."""
    fields: list[str | None] = []
    at = 0
    while True:
        if text.startswith(dialect.quote, at):
            quoted = _quoted(text, at + 1, dialect)
            if quoted is None:
                return None
            value, end = quoted
            after = text.find(dialect.sep, end)
            rest = text[end:] if after < 0 else text[end:after]
            if rest.strip():
                raise DataError(
                    f"{where}: {rest.strip()!r} follows a quoted value",
                    hint=f"if quotes in values are doubled, OPTIONS (escape = '{dialect.quote}')",
                )
            fields.append(value)
        else:
            after = text.find(dialect.sep, at)
            fields.append((text[at:] if after < 0 else text[at:after]) or None)
        if after < 0:
            return fields
        at = after + len(dialect.sep)


def _quoted(text: str, at: int, dialect: CsvDialect) -> tuple[str, int] | None:
    """A quoted value and where it ends; the escape stands before a quote, and before itself."""
    value = []
    while at < len(text):
        c = text[at]
        following = text[at + 1 : at + 2]
        if c == dialect.escape and following and following in (dialect.quote, dialect.escape):
            value.append(following)
            at += 2
        elif c == dialect.quote:
            return "".join(value), at + 1
        else:
            value.append(c)
            at += 1
    return None


# json, and whatever else has its values by name


class _Number(str):
    """A number of a json text, with its digits as they are written."""

    __slots__ = ()


class NamedRows:
    """Rows from objects: a value by its name in any case; what an object does not have is NULL."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._seen: set[str] = set()
        self._names: dict[str, None] = {}

    def row(self, given: Mapping[str, Any], where: str) -> Values:
        by_lower = {str(k).lower(): v for k, v in given.items()}
        self._seen |= by_lower.keys()
        self._names |= dict.fromkeys(map(str, given))
        return tuple(self._value(by_lower.get(a.name.lower()), a, where) for a in self.schema)

    def _value(self, value: Any, a: Attribute, where: str) -> Value:
        if isinstance(value, _Number) and a.type.name in ("TIMESTAMP", "BOOLEAN"):
            hint = NUMBER_AS_TIME if a.type.name == "TIMESTAMP" else "write true or false"
            message = f"{where}: the number {value} in {a.name!r} is not a {a.type}"
            raise DataError(message, hint=hint, attribute=a.name)
        return typed(value, a, where)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the objects have, as they are first spelt."""
        return tuple(self._names)

    def check_all_seen(self, where: str) -> None:
        """An attribute that no object has is a misspelt one, rather than one that is always NULL."""
        for a in self.schema:
            if self._names and a.name.lower() not in self._seen:
                raise missing(a.name, self._names, where)


def _read_json(file: File, encoding: str, named: NamedRows) -> Iterator[Values]:
    with opened(file, encoding) as lines:
        filled = ((number, text) for number, text in enumerate(lines, start=1) if text.strip())
        for k, (number, text) in enumerate(filled, start=1):
            where = f"{file.shown}, row {k} (line {number})"
            try:
                given = json.loads(text, parse_int=_Number, parse_float=_Number, parse_constant=_Number)
            except (ValueError, RecursionError) as e:
                reason = e.msg if isinstance(e, json.JSONDecodeError) else "it is nested too deeply"
                raise DataError(f"{where} is not JSON: {reason}", hint="write one object on each line") from None
            if not isinstance(given, dict):
                raise DataError(f"{where} is {text.strip()[:40]}, not an object", hint="write one object on each line")
            yield named.row(given, where)


# parquet

_PER_MICROSECOND = {"s": (1_000_000, 1), "ms": (1_000, 1), "us": (1, 1), "ns": (1, 1_000)}


def _read_parquet(file: File, schema: Schema, most: int | None = None) -> list[Values]:
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    try:
        there = pq.read_schema(file.path).names
        names = {n.lower(): n for n in there}
        for a in schema:
            if a.name.lower() not in names:
                raise missing(a.name, there, file.shown)
        wanted = [names[a.name.lower()] for a in schema]
        parquet = pq.ParquetFile(file.path)
        if most is None:
            table = parquet.read(columns=wanted)
        else:
            first = next(parquet.iter_batches(most, columns=wanted), None)
            table = parquet.schema_arrow.empty_table() if first is None else first
    except (OSError, pa.ArrowException) as e:
        raise DataError(f"{file.shown} is not a parquet file that can be read: {e}") from None
    columns = [list(_parquet_column(table.column(names[a.name.lower()]), a, file.shown)) for a in schema]
    return list(zip(*columns, strict=True))


def _parquet_column(column: Any, a: Attribute, shown: str) -> Iterator[Value]:
    import pyarrow as pa

    if a.type.name == "TIMESTAMP" and pa.types.is_timestamp(column.type):
        times, per = _PER_MICROSECOND[column.type.unit]
        for k, ticks in enumerate(column.cast(pa.int64()).to_pylist(), start=1):
            micros, rest = divmod((ticks or 0) * times, per)
            if rest or not fits(micros, a.type):
                why = "has a fraction of a microsecond" if rest else "is out of range"
                message = f"{shown}, row {k}: {ticks} {column.type.unit} since 1970 in {a.name!r} {why}"
                raise DataError(message, attribute=a.name)
            yield None if ticks is None else micros
        return
    if a.type.name == "TIMESTAMP" and not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        hint = NUMBER_AS_TIME if pa.types.is_integer(column.type) else None
        message = f"{shown}: the column {a.name!r} is {column.type}, not a TIMESTAMP"
        raise DataError(message, hint=hint, attribute=a.name)
    for k, value in enumerate(column.to_pylist(), start=1):
        yield typed(value, a, f"{shown}, row {k}")
