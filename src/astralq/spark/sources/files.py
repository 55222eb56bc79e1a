"""The rows of a source as a DataFrame of exactly the declared types, read lazily by Spark's own readers.

What is accepted and refused is what the model's readers accept and refuse (io/formats.py). Text is read as text and
cast here, because Spark's readers turn into NULL what they cannot read. Every row passes one filter that raises an
error for the first thing that is wrong with it, also in attributes that the query does not use: whether a file can be
read must not depend on the optimizer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  # as everywhere in Spark's documentation

from astralq.algebra.sources import Origin, RelationSource, StreamSource
from astralq.errors import DataError
from astralq.io import csv_text
from astralq.io.declared import check_jdbc, check_visible, listed_by_spark, stored_origin
from astralq.io.exact import check_nested
from astralq.io.files import called, described, find_files
from astralq.io.files import completed as completed_rows
from astralq.io.formats import check_columns, header_of, parquet_names
from astralq.io.options import LISTING, charset, check_option_names, given, may_lack_columns, patterns_of
from astralq.io.parquet import READ_AS, parquet_types
from astralq.io.reading import File, missing, opened
from astralq.schema import Schema
from astralq.spark.sources.computed import completed, completed_with_problems
from astralq.spark.sources.progress import unpacked_frame
from astralq.spark.sources.reading import (
    FILE,
    HINT,
    Reading,
    from_rows,
    of_another_kind,
    of_column,
    of_parts,
    of_text,
    spelt_otherwise,
    sure,
    text_type,
)

_NOWHERE = "\u0001\u0002\u0001"
"""Text that no line holds: as a separator it makes a csv line one value, as a null value it is never met."""
_CLOSED = "."
"""Appended to a csv line as a further value; a quoted value without an end swallows it, which gives it away."""
_SAMPLE = 1_000


@dataclass(frozen=True)
class _Place:
    """The files of a source that are read together, as Spark's paths; the model's names for them where it has any."""

    paths: tuple[str, ...]
    files: tuple[File, ...] = ()

    @property
    def shown(self) -> str:
        return self.files[0].shown if self.files else self.paths[0]


def read_frame(spark: SparkSession, source: StreamSource | RelationSource, folder: Path) -> DataFrame:
    """The rows of a source, with the declared attributes in the declared order.

    Relative paths are looked for in the folder, which is the query file's, then in the current one.
    """
    df = _physical_frame(spark, source, folder)
    return unpacked_frame(source, df) if isinstance(source, StreamSource) and source.has_heartbeats else df


def _physical_frame(spark: SparkSession, source: StreamSource | RelationSource, folder: Path) -> DataFrame:
    origin = stored_origin(source)
    schema = source.stored
    if origin.format == "python":
        rows = completed_rows(source, called(origin, schema, folder), f"python {origin.path!r}")
        return from_rows(spark, rows, source.physical)
    check_option_names(origin, described(source))
    if origin.format == "jdbc":
        return _jdbc(spark, origin, source)
    place = _place(origin, folder, described(source))
    further = [FILE] if source.computed else []
    readings = _readings(spark, origin, place, schema, keep_file=bool(further))
    return completed(
        source, reduce(DataFrame.unionAll, [r.frame(schema, described(source), further) for r in readings])
    )


def _readings(
    spark: SparkSession, origin: Origin, place: _Place, schema: Schema, *, keep_file: bool, lenient: bool = False
) -> Iterator[Reading]:
    """The files of a place as they are written; with the column FILE in any case, or where something can be wrong."""
    check_nested(origin, schema)
    match origin.format:
        case "csv":
            return _csv(spark, origin, place, schema)
        case "json":
            return iter([_json(spark, origin, place, schema, lenient=lenient)])
    return _parquet(spark, origin, place, schema, keep_file)


def read_some(
    spark: SparkSession, source: StreamSource | RelationSource, paths: Sequence[Path]
) -> tuple[DataFrame | None, dict[Path, str]]:
    """The rows of some of a source's files, with what is wrong with them (`Reading.with_problems`); None if there are
    none. Files that cannot be read as a whole are left out, with the reason."""
    origin, schema = stored_origin(source, arriving=True), source.stored
    further = [FILE] if source.computed else []

    def read(chosen: Sequence[Path]) -> list[DataFrame]:
        place = _Place(tuple(map(_escaped, chosen)), tuple(File(p, str(p)) for p in chosen))
        readings = _readings(spark, origin, place, schema, keep_file=bool(further), lenient=True)
        return [completed_with_problems(source, r.with_problems(schema, further)) for r in readings]

    refused: dict[Path, str] = {}
    try:
        frames = read(paths)
    except DataError:
        frames = []
        for path in paths:
            try:
                frames += read([path])
            except DataError as e:
                refused[path] = str(e)
    return (reduce(DataFrame.unionAll, frames) if frames else None), refused


# Paths


def _place(origin: Origin, folder: Path, source: str) -> _Place:
    """Local paths as the model finds them; other file systems, and what only Spark can list, as they are written."""
    path = origin.path.removeprefix("file://")
    if "://" in path:
        return _Place((path,))
    listed = listed_by_spark(origin, folder)
    if listed is not None:
        return _Place((_escaped(listed),))
    files = find_files(origin, folder, source)
    check_visible(files, source)
    return _Place(tuple(_escaped(f.path) for f in files), tuple(files))


def _escaped(path: Path) -> str:
    """A path that Spark takes literally, not as a pattern."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", str(path.absolute()))


def _grouped(place: _Place, keys: Sequence[Any]) -> Iterator[tuple[Any, _Place]]:
    """The files that are written alike, together."""
    for key in dict.fromkeys(keys):
        chosen = [k for k, other in enumerate(keys) if other == key]
        yield key, _Place(tuple(place.paths[k] for k in chosen), tuple(place.files[k] for k in chosen))


# csv


def _csv(spark: SparkSession, origin: Origin, place: _Place, schema: Schema) -> Iterator[Reading]:
    """One reading for each order of columns among the files' headers."""
    dialect = csv_text.CsvDialect.of(origin)
    if not dialect.header:
        yield _csv_reading(spark, origin, place, schema, (len(schema), tuple(range(len(schema)))))
    elif place.files:
        check_columns(place.files, schema, partial(header_of, dialect=dialect), dialect.lacks)
        headers = [_header(f, dialect, schema) for f in place.files]
        for header, part in _grouped(place, headers):
            yield _csv_reading(spark, origin, part, schema, header)
    else:
        names = spark.read.options(**_lines_options(origin), enforceSchema="false").csv(list(place.paths)).columns
        fields = next(csv_text.csv_records(names[:1], dialect, File(Path(place.shown), place.shown)), None)
        positions = csv_text.csv_columns(fields, schema, File(Path(place.shown), place.shown), lacks=dialect.lacks)
        assert fields is not None
        yield _csv_reading(spark, origin, place, schema, (len(fields[1]), tuple(positions)), checked=True)


Layout = tuple[int, tuple[int | None, ...]]
"""How many columns a file has, and which are the attributes'; None for those that it lacks."""


def _header(file: File, dialect: csv_text.CsvDialect, schema: Schema) -> Layout:
    with opened(file, dialect.encoding) as lines:
        fields = next(csv_text.csv_records(lines, dialect, file), None)
        positions = csv_text.csv_columns(fields, schema, file, lacks=dialect.lacks)
    assert fields is not None
    return len(fields[1]), tuple(positions)


def _lines_options(origin: Origin) -> dict[str, str]:
    """Spark's csv reader as a reader of lines, which leaves out headers, blank lines and comments."""
    dropped = ("sep", "delimiter", "quote", "escape", "nullValue", "emptyValue", "encoding", "mode")
    spaces = ("ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "unescapedQuoteHandling", "enforceSchema")
    return {
        **given(origin, *dropped, *spaces, "inferSchema", "charToEscapeQuoteEscaping"),
        "sep": _NOWHERE,
        "quote": "",
        "nullValue": _NOWHERE,
        "encoding": charset(origin),
    }


def _csv_reading(
    spark: SparkSession,
    origin: Origin,
    place: _Place,
    schema: Schema,
    layout: Layout,
    checked: bool = False,
) -> Reading:
    """One order of columns; where the model has not seen every header, Spark checks that they are alike."""
    count, positions = layout
    dialect = csv_text.CsvDialect.of(origin)
    fields = [f"_{k}" for k in range(count)]
    options = {
        "unescapedQuoteHandling": "RAISE_ERROR",
        **given(origin, "encoding", "mode", "columnNameOfCorruptRecord"),
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": "_bad",
    }
    if dialect.multi_line:
        text = ", ".join(f"{f} STRING" for f in (*fields, "_bad"))
        reader = spark.read.options(**options, encoding=charset(origin)).schema(text)
        if checked:
            names = spark.read.options(**options).csv(list(place.paths)).columns[:count]
            quoted = ", ".join(f"`{n.replace('`', '``')}` STRING" for n in (*names, "_bad"))
            reader = reader.options(enforceSchema="false").schema(quoted)
        read = reader.csv(list(place.paths))
        renamed = [_named(read, n).alias(f) for n, f in zip(read.columns, (*fields, "_bad"), strict=False)]
        frame = read.select(*renamed, F.col("_metadata.file_path").alias(FILE))
        # A quoted value without an end is the rest of the file, which as a rule ends with a newline.
        open_ = sure(F.col(fields[-1]).endswith("\n"))
        checks = [(open_, F.lit(": a quoted value has no end, or ends with a newline"))]
    else:
        lines = spark.read.options(**_lines_options(origin))
        if not checked:
            lines = lines.schema("_line STRING")
        read = lines.options(enforceSchema=str(not checked).lower()).csv(list(place.paths))
        frame = read.select(_named(read, read.columns[0]).alias("_line"), F.col("_metadata.file_path").alias(FILE))
        permissive = dialect.mode == "PERMISSIVE"  # a line with too few values would have the closing one among them
        text = ", ".join(f"{f} STRING" for f in (*fields, *([] if permissive else ["_end"]), "_bad"))
        line = F.col("_line") if permissive else F.concat("_line", F.lit(dialect.sep + _CLOSED))
        record = F.from_csv(line, text, options)
        # Through explode, so that the optimizer does not parse a line once for each use of its values.
        frame = frame.select("_line", FILE, F.explode_outer(F.array(record)).alias("_r"))
        frame = frame.select("_line", FILE, "_r.*")
        checks = []
    malformed = F.col("_bad").isNotNull()
    shown = F.col("_bad" if dialect.multi_line else "_line")
    if dialect.mode == "DROPMALFORMED":
        frame = frame.where(~malformed)
    elif dialect.mode != "PERMISSIVE":
        message = F.concat(F.lit(": '"), F.substring(shown, 1, 200), F.lit(f"' is not {count} values"))
        checks.append((malformed, message))
    texts = [F.lit(None).cast("string") if p is None else F.col(fields[p]) for p in positions]
    values = [of_text(text, a, dialect.patterns, decoded=True) for a, text in zip(schema, texts, strict=True)]
    return Reading(frame, values, checks)


def _named(frame: DataFrame, name: str) -> Column:
    """A column by a name that may hold any character."""
    return frame[f"`{name.replace('`', '``')}`"]


# json


def _json(spark: SparkSession, origin: Origin, place: _Place, schema: Schema, *, lenient: bool = False) -> Reading:
    """One object a line. Numbers are text until they are cast, except DECIMAL, whose digits Spark keeps itself.

    Leniently read, a line that is not JSON does not stop the others, and no object needs to have every attribute.
    """
    whole = origin.option("multiLine", "false").strip().lower() == "true"
    names = {k.lower() for k in ("lineSep", *LISTING, "ignoreCorruptFiles", "ignoreMissingFiles", "basePath")}
    reader = spark.read.options(**{k: v for k, v in origin.options if k.lower() in names or "." in k})
    frame = reader.text(list(place.paths), wholetext=whole)
    frame = frame.select(F.col("value").alias("_line"), F.col("_metadata.file_path").alias(FILE))
    encoding = charset(origin)
    if encoding != "UTF-8":
        frame = frame.withColumn("_line", F.decode(F.col("_line").cast("binary"), encoding))
    frame = frame.where(F.trim("_line") != "")
    spelt = _spelling(frame, schema, None if lenient or may_lack_columns(origin) else place.shown, whole)
    exact = [a for a in schema if a.type.name == "DECIMAL" and not lenient]
    types = {a: str(a.type).replace(", ", ",") if a in exact else text_type(a.type) for a in schema}
    struct = ", ".join(
        f"`{spelt[a.name]}`: {t if a in exact or a.type.is_nested else 'STRING'}" for a, t in types.items()
    )
    text = F.col("_line") if whole else F.concat(F.lit("["), "_line", F.lit("]"))
    options = {
        "allowSingleQuotes": "false",
        "mode": "FAILFAST",
        **given(origin, "encoding", "multiLine", "lineSep"),
        **({"mode": "PERMISSIVE"} if lenient else {}),
    }
    objects = F.from_json(text, f"ARRAY<STRUCT<{struct}>>", options)
    frame = frame.select("_line", FILE, F.posexplode_outer(objects).alias("_p", "_r"))
    one = sure(F.col("_p") == 0) if not whole else F.lit(True)
    start = F.concat(F.lit(": "), F.substring(F.trim("_line"), 1, 40))
    checks = [
        (~F.is_valid_utf8("_line"), F.lit(f" is not utf-8 text{HINT}name its encoding: OPTIONS (encoding = '…')")),
        (~one | F.col("_r").isNull(), F.concat(start, F.lit(f" is not one object{HINT}write one object on each line"))),
    ]
    values = []
    for a in schema:
        column = F.col("_r").getField(spelt[a.name])
        if a in exact:
            values.append(of_column(column, str(a.type).lower(), a, place.shown))
        elif a.type.is_nested:
            values.append(of_parts(column, a))
            continue
        else:
            column = F.btrim(column, F.lit('"')) if a.type.is_fractional else column  # Spark writes NaN as "NaN"
            values.append(of_text(column, a, patterns_of(origin)))
        checks.append(of_another_kind(column, a, spelt[a.name], whole))
        if not whole:
            checks.append(spelt_otherwise(column, a, spelt[a.name]))
    return Reading(frame, values, checks)


def _spelling(frame: DataFrame, schema: Schema, shown: str | None, whole: bool) -> dict[str, str]:
    """How the objects write each attribute's name; one that no object has is misspelt rather than always NULL."""
    objects = F.flatten(F.transform(F.from_json("_line", "ARRAY<MAP<STRING, STRING>>"), F.map_keys))
    keys = objects if whole else F.json_object_keys("_line")
    found: dict[str, str] = {}
    # All lines are gone through only if the first ones do not have every attribute.
    for sampled in (True, False):
        names = (frame.limit(_SAMPLE) if sampled else frame).select(F.explode(keys).alias("name"))
        for row in (names if sampled else names.distinct()).limit(_SAMPLE * 100).collect():
            found.setdefault(row["name"].lower(), row["name"])
        if all(a.name.lower() in found for a in schema):
            break
    for a in schema:
        if found and a.name.lower() not in found and shown is not None:
            raise missing(a.name, found.values(), shown)
    return {a.name: found.get(a.name.lower(), a.name) for a in schema}


# parquet and databases


def _parquet(spark: SparkSession, origin: Origin, place: _Place, schema: Schema, keep_file: bool) -> Iterator[Reading]:
    """One reading for each set of types among the files: Spark would read a missing column as NULL."""
    reader = spark.read.options(**given(origin))
    lacks = may_lack_columns(origin)
    if place.files:
        check_columns(place.files, schema, parquet_names, lacks)
        for types, part in _grouped(place, [parquet_types(f, schema, lacks=lacks) for f in place.files]):
            for a, (_, type_) in zip(schema, types, strict=True):
                of_column(F.lit(None), type_, a, part.shown)  # refuses what Spark may have no name for
            read = ", ".join(f"`{name}` {READ_AS.get(type_, type_)}" for name, type_ in types if type_ != "void")
            frame = reader.schema(read).parquet(*part.paths) if read else reader.parquet(*part.paths)
            yield _columns_reading(frame, dict(types), schema, part.shown, keep_file=keep_file)
        return
    try:
        frame = reader.parquet(*place.paths)
    except AnalysisException as e:
        nanos = "NANOS" in str(e)
        hint = "set spark.sql.legacy.parquet.nanosAsLong, and declare it BIGINT" if nanos else None
        raise DataError(f"{place.shown} cannot be read: {str(e).splitlines()[0]}", hint=hint) from None
    types = dict(frame.dtypes)
    if lacks:
        there = {n.lower() for n in types}
        types |= {a.name: "void" for a in schema if a.name.lower() not in there}
    yield _columns_reading(frame, types, schema, place.shown, keep_file=keep_file)


def _columns_reading(
    frame: DataFrame, types: dict[str, str], schema: Schema, shown: str, stored: bool = True, keep_file: bool = False
) -> Reading:
    """Typed columns as the declared types, where nothing is lost."""
    names = {n.lower(): n for n in types}
    values = []
    for a in schema:
        if a.name.lower() not in names:
            raise missing(a.name, types, shown)
        name = names[a.name.lower()]
        column = F.lit(None) if types[name] == "void" else F.col(f"`{name}`")
        # A database's integers may be decimals without a fraction; a file's are what they are called.
        values.append(of_column(column, types[name], a, shown, whole_decimals=not stored))
    if keep_file or any(v.wrong is not None for v in values):  # else Spark would read what it does not need for it
        frame = frame.select("*", (F.col("_metadata.file_path") if stored else F.lit(shown)).alias(FILE))
    return Reading(frame, values, [])


def _jdbc(spark: SparkSession, origin: Origin, source: StreamSource | RelationSource) -> DataFrame:
    """A table by its name, or what OPTIONS (dbtable = …) or (query = …) names at a path that is the url."""
    check_jdbc(origin, described(source))
    options = given(origin)
    is_url = origin.path.startswith("jdbc:")
    options |= {"url": origin.path} if is_url else {"dbtable": origin.path}
    # A time without an offset is UTC, not in the time zone of the driver's machine.
    frame = spark.read.format("jdbc").options(**{"preferTimestampNTZ": "true", **options}).load()
    shown = f"jdbc {origin.path!r}"
    reading = _columns_reading(frame, dict(frame.dtypes), source.stored, shown, stored=False)
    return completed(source, reading.frame(source.stored, described(source)), F.lit(shown))
