"""Rows from the files that sources name: csv, json lines and parquet, each value exactly of its declared type."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from astralq.algebra.sources import FOLLOWING, Origin
from astralq.errors import DataError, nearest
from astralq.io.csv_text import CsvDialect, csv_records, read_csv
from astralq.io.exact import Number, check_nested
from astralq.io.options import LISTING, MISSING, flag, may_lack_columns, patterns_of
from astralq.io.reading import NUMBER_AS_TIME, File, Placed, lacking, missing, opened, typed
from astralq.schema import Attribute, Schema, Value, Values, fits

_IGNORED = (
    *("inferSchema", "mergeSchema", "maxFilesPerTrigger", "samplingRatio", "compression", "basePath", MISSING),
    *("ignoreCorruptFiles", "ignoreMissingFiles", *LISTING),
)
"""Options that do not change the rows of a file that can be read: types are declared; others say which files are."""
_OPTIONS = {
    "csv": (
        *("header", "sep", "delimiter", "nullValue", "quote", "escape", "comment", "encoding", "charset", "multiLine"),
        *("timestampFormat", "dateFormat", "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "emptyValue"),
        *("mode", "lineSep", "maxColumns", "maxCharsPerColumn", "enforceSchema"),
        *_IGNORED,
    ),
    "json": ("encoding", "charset", "timestampFormat", "dateFormat", "multiLine", "lineSep", "mode", *_IGNORED),
    "parquet": ("datetimeRebaseMode", "int96RebaseMode", *_IGNORED),
}


def check_options(origin: Origin, source: str) -> None:
    """An option that would be left unread is an error: the answer could be another one than meant."""
    known = _OPTIONS[origin.format]
    for name, _ in origin.options:
        if name.lower() not in map(str.lower, (*known, *FOLLOWING)):
            raise DataError(
                f"{source}: the {origin.format} option {name!r} is not one that the model knows",
                hint=nearest(name, known) or f"it knows {', '.join(known)}",
            )


Complete = Callable[[Values, str, str], Values]
"""What a row becomes, of what is stored, where it stands, and the name of its file: `Completion.row`."""


def read_files(origin: Origin, files: Sequence[File], schema: Schema, complete: Complete | None = None) -> list[Values]:
    """The rows of all files, one file after the other."""
    check_nested(origin, schema)
    match origin.format:
        case "csv":
            dialect = CsvDialect.of(origin)
            check_columns(files, schema, partial(header_of, dialect=dialect) if dialect.header else None, dialect.lacks)
            return [r for f in files for r in _completed(read_csv(f, dialect, schema), f, complete)]
        case "json":
            named = NamedRows(schema, patterns_of(origin))
            rows = [r for f in files for r in _completed(_read_json(f, origin, named), f, complete)]
            if not may_lack_columns(origin):
                named.check_all_seen(origin.path)
            return rows
        case _:
            lacks = may_lack_columns(origin)
            check_columns(files, schema, parquet_names, lacks)
            return [r for f in files for r in _completed(_read_parquet(f, schema, lacks), f, complete)]


def header_of(file: File, dialect: CsvDialect) -> list[str]:
    """The names in the header of a csv file."""
    with opened(file, dialect.encoding) as lines:
        first = next(csv_records(lines, dialect, file), None)
    return [] if first is None else [(text or "").strip() for text in first[1]]


def parquet_names(file: File) -> list[str]:
    """The names of a parquet file's columns."""
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    try:
        return list(pq.read_schema(file.path).names)
    except (OSError, pa.ArrowException) as e:
        raise DataError(f"{file.shown} is not a parquet file that can be read: {e}") from None


def check_columns(
    files: Sequence[File], schema: Schema, names_of: Callable[[File], list[str]] | None, lacks: bool
) -> None:
    """An error that names all files without a column for some attribute, unless files may lack columns; of one file its
    reader says it."""
    if len(files) < 2 or names_of is None or lacks:
        return
    there = {f: names_of(f) for f in files}
    for a in schema:
        without = [f for f, names in there.items() if names and a.name.lower() not in map(str.lower, names)]
        if without and len(without) < len(files):
            raise lacking(a.name, [f.shown for f in without], len(files), there[without[0]])
        if without:
            raise missing(a.name, there[without[0]], without[0].shown)


def _completed(rows: Iterable[Placed], file: File, complete: Complete | None) -> Iterator[Values]:
    for where, values in rows:
        yield values if complete is None else complete(values, where, file.path.name)


@dataclass(frozen=True)
class Beginning:
    """The first rows of a file, each with its place, if there are more, and for objects the names that these have."""

    rows: list[Placed]
    more: bool
    names: tuple[str, ...] = ()


def read_beginning(origin: Origin, file: File, schema: Schema, most: int) -> Beginning:
    """At most so many rows of a file, read as `read_files` reads all."""
    check_nested(origin, schema)
    named = NamedRows(schema, patterns_of(origin))
    placed: Iterable[Placed]
    match origin.format:
        case "csv":
            placed = read_csv(file, CsvDialect.of(origin), schema)
        case "json":
            placed = _read_json(file, origin, named)
        case _:
            placed = _read_parquet(file, schema, may_lack_columns(origin), most + 1)
    rows = list(islice(placed, most + 1))
    return Beginning(rows[:most], len(rows) > most, named.names)


# json, and whatever else has its values by name


class NamedRows:
    """Rows from objects: a value by its name in any case; what an object does not have is NULL."""

    def __init__(self, schema: Schema, patterns: Mapping[str, str] | None = None) -> None:
        self.schema = schema
        self.patterns = patterns or {}
        self._seen: set[str] = set()
        self._names: dict[str, None] = {}

    def row(self, given: Mapping[str, Any], where: str) -> Values:
        by_lower = {str(k).lower(): v for k, v in given.items()}
        self._seen |= by_lower.keys()
        self._names |= dict.fromkeys(map(str, given))
        return tuple(self._value(by_lower.get(a.name.lower()), a, where) for a in self.schema)

    def _value(self, value: Any, a: Attribute, where: str) -> Value:
        if isinstance(value, Number) and a.type.name in ("TIMESTAMP", "DATE", "BOOLEAN"):
            hints = {"TIMESTAMP": NUMBER_AS_TIME, "DATE": "write dates as '2026-03-01'"}
            hint = hints.get(a.type.name, "write true or false")
            message = f"{where}: the number {value} in {a.name!r} is not a {a.type}"
            raise DataError(message, hint=hint, attribute=a.name)
        return typed(value, a, where, patterns=self.patterns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the objects have, as they are first spelt."""
        return tuple(self._names)

    def check_all_seen(self, where: str) -> None:
        """An attribute that no object has is a misspelt one, rather than one that is always NULL."""
        for a in self.schema:
            if self._names and a.name.lower() not in self._seen:
                raise missing(a.name, self._names, where)


def _read_json(file: File, origin: Origin, named: NamedRows) -> Iterator[Placed]:
    """One object a line, or with multiLine a list of objects, or one."""
    whole, sep = flag(origin, "multiLine"), origin.option("lineSep", "")
    with opened(file, origin.option("encoding", origin.option("charset", "utf-8"))) as text:
        lines = ["".join(text)] if whole else "".join(text).split(sep) if sep else text
        filled = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
        for k, (number, line) in enumerate(filled, start=1):
            where = file.shown if whole else f"{file.shown}, row {k} (line {number})"
            given = _loaded(line, where)
            many = given if whole and isinstance(given, list) else [given]
            for j, one in enumerate(many, start=1):
                place = f"{where}, object {j}" if whole else where
                if not isinstance(one, dict):
                    shown = line.strip() if one is given else json.dumps(one)
                    raise DataError(f"{place} is {shown[:40]}, not an object", hint="write one object on each line")
                yield place, named.row(one, place)


def _loaded(text: str, where: str) -> Any:
    try:
        return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=Number)
    except (ValueError, RecursionError) as e:
        reason = e.msg if isinstance(e, json.JSONDecodeError) else "it is nested too deeply"
        raise DataError(f"{where} is not JSON: {reason}", hint="write one object on each line") from None


# parquet

_PER_MICROSECOND = {"s": (1_000_000, 1), "ms": (1_000, 1), "us": (1, 1), "ns": (1, 1_000)}


def _read_parquet(file: File, schema: Schema, lacks: bool = False, most: int | None = None) -> Iterator[Placed]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        there = pq.read_schema(file.path).names
        names = {n.lower(): n for n in there}
        for a in schema:
            if a.name.lower() not in names and not lacks:
                raise missing(a.name, there, file.shown)
        wanted = [names[a.name.lower()] for a in schema if a.name.lower() in names]
        parquet = pq.ParquetFile(file.path)
        if most is None:
            table = parquet.read(columns=wanted)
        else:
            first = next(parquet.iter_batches(most, columns=wanted), None)
            table = parquet.schema_arrow.empty_table() if first is None else first
    except (OSError, pa.ArrowException) as e:
        raise DataError(f"{file.shown} is not a parquet file that can be read: {e}") from None
    columns: list[list[Value]] = [
        list(_parquet_column(table.column(names[a.name.lower()]), a, file.shown))
        if a.name.lower() in names
        else [None] * table.num_rows
        for a in schema
    ]
    for k, values in enumerate(zip(*columns, strict=True), start=1):
        yield f"{file.shown}, row {k}", values


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
