"""Inputs: for each kind of source a streaming DataFrame, and what turns its batches into rows with timestamps.

For files Spark only lists the names. The readers of batch runs read them, so a file gives the same rows in both.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructType

from astralq.algebra.computed import reads_file
from astralq.algebra.sources import Origin, RelationSource, SensedSource, StreamSource
from astralq.errors import DataError
from astralq.io.declared import followed_origin, kafka_form, rate_misfits
from astralq.io.files import called, completed, described
from astralq.io.options import check_option_names, patterns_of
from astralq.io.reading import SUFFIXES
from astralq.plan.sources.stamps import moment, stamp_problem
from astralq.plan.sql_types import spark_type
from astralq.runtime.ingest.log import PROBLEM, ROW, clock
from astralq.schema import Schema
from astralq.spark.columns import col, lit, spark_column
from astralq.spark.sources.computed import completed_with_problems
from astralq.spark.sources.files import read_some
from astralq.spark.sources.progress import stamps
from astralq.spark.sources.reading import Reading, from_rows, of_text, sure
from astralq.timeline import Duration, Instant, duration

Source = StreamSource | RelationSource
Read = Callable[[DataFrame, int], DataFrame]

OURS = ("idle", "value", "sep", "timestampformat", "dateformat", "nullvalue")
"""Options of Kafka and rate sources that are ours, and are not handed to Spark."""

_AGE = "36500d"
"""No file is too old: by default Spark ignores files that are a week older than the newest, without a warning."""

_FILE = "path STRING, modificationTime TIMESTAMP, length BIGINT, content BINARY"
"""The columns of Spark's binaryFile source. The content is not selected, and so not read."""


@dataclass(frozen=True)
class Files:
    """How the ingest log links a batch of files instead of copying its rows: which files, and how to read them."""

    of: Callable[[DataFrame], list[Path]]
    read: Callable[[SparkSession, Sequence[Path]], DataFrame]  # rows with _t, _problem and _row
    time: str | None  # the column that is the timestamp without conversion; None if it has a UNIT


@dataclass(frozen=True)
class Input:
    """The input of a source: its streaming DataFrame, and what turns a batch into rows."""

    stream: DataFrame | None  # None if the source is one batch, complete from the start
    read: Read
    schema: StructType
    doubles: tuple[str, ...]  # attributes whose ranges are measured
    files: Files | None = None
    came: Callable[[DataFrame], list[Instant]] | None = None  # when the files of a batch came


def idle_after(source: Source | SensedSource, default: Duration | None) -> Duration | None:
    """After how long without tuples a source is idle: OPTIONS (idle = '10 seconds'), else the default."""
    given = "" if source.origin is None else source.origin.option("idle", "")
    return duration(given) if given else default


def log_schema(spark: SparkSession, source: Source | SensedSource, *further: str) -> StructType:
    """The columns of an ingest log: the attributes, the timestamp _t, and those that a kind of source adds."""
    types = [f"`{a.name}` {spark_type(a.type)}" for a in source.declared]
    text = ", ".join([*types, "_t BIGINT", *(f"{name} BIGINT" for name in further)])
    return spark.createDataFrame([], text).schema


def open_input(spark: SparkSession, source: Source, folder: Path, last: Callable[[], Instant]) -> Input:
    """The input of a pushed stream or a change log; `last` is the greatest timestamp given on arrival so far."""
    origin = followed_origin(source)
    doubles = tuple(a.name for a in source.declared if a.type.name == "DOUBLE")
    further: tuple[str, ...] = ()
    match origin.format:
        case "csv" | "json" | "parquet":
            check_option_names(origin, described(source))
            stream, rows = _files(spark, source, origin, folder)
        case "kafka":
            stream, rows, further = *_kafka(spark, source, origin), ("_n",)
            if isinstance(source, StreamSource) and source.progress and origin.option("value", "json") != "json":
                raise DataError(f"the {described(source)} WITH PROGRESS has values in json", hint="leave out value")
        case "rate":
            stream, rows = _rate(spark, source, origin)
        case _:
            stream, rows = None, _callable(source, origin, folder)
    has_heartbeats = isinstance(source, StreamSource) and source.has_heartbeats
    if isinstance(source, StreamSource) and source.progress:
        further = ("_i", "_n")
    # A link has another name than its file.
    linked = origin.format == "parquet" and not (on_arrival(source) or has_heartbeats or reads_file(source.computed))
    files = _files_of(source) if linked else None
    came = _came if origin.format in ("csv", "json", "parquet") else None
    stamped = _stamped(source, rows, last, further)
    return Input(stream, stamped, log_schema(spark, source, *further), doubles, files, came)


def _stamped(source: Source, read: Read, last: Callable[[], Instant], further: tuple[str, ...]) -> Read:
    """Adds timestamps to rows: from an attribute, or the time of arrival."""

    def stamped(df: DataFrame, batch: int) -> DataFrame:
        arrived = lit(max(clock(), last() + 1)) if on_arrival(source) else None
        return _with_times(source, read(df, batch), arrived, further)

    return stamped


def on_arrival(source: Source | SensedSource) -> bool:
    """Whether tuples get their timestamps on arrival."""
    return isinstance(source, StreamSource) and source.timestamp is None and not source.progress


def _with_times(source: Source, rows: DataFrame, arrived: Column | None, further: tuple[str, ...] = ()) -> DataFrame:
    heartbeat: tuple[str, ...] = ()
    if isinstance(source, StreamSource) and source.has_heartbeats:
        rows, heartbeat = _unpacked(source, rows), ("_heartbeat",)
    if isinstance(source, StreamSource) and source.progress:
        wrong = F.when(col("_t").isNull(), lit("it has no 't', so no timestamp"))
        rows = rows.withColumn(PROBLEM, F.coalesce(col(PROBLEM), wrong))
        values = [col(f"c{k}").alias(a.name) for k, a in enumerate(source.declared)]
        return rows.select(*values, "_t", *further, *heartbeat, PROBLEM, ROW)
    # A heartbeat has a timestamp, and no other attribute.
    problem = spark_column(stamp_problem(source))
    if heartbeat and isinstance(source, StreamSource):
        of_heartbeat = spark_column(stamp_problem(replace(source, batch_by=None)))
        problem = F.when(col("_heartbeat"), of_heartbeat).otherwise(problem)
    rows = rows.withColumn(PROBLEM, F.coalesce(col(PROBLEM), problem))
    name = source.timestamp if isinstance(source, StreamSource) else source.at
    if arrived is None:
        assert name is not None
        arrived = spark_column(moment(source, name))
    values = [col(f"c{k}").alias(a.name) for k, a in enumerate(source.declared)]
    t = F.when(col(PROBLEM).isNull(), arrived).cast("bigint").alias("_t")
    return rows.select(*values, t, *further, *heartbeat, PROBLEM, ROW)


def _unpacked(source: StreamSource, rows: DataFrame) -> DataFrame:
    """Rows of files as those of a stream: c0, c1, … are its attributes, and the transport's columns have names."""
    place = {a.name: k for k, a in enumerate(source.physical)}
    values = [col(f"c{place[a.name]}").alias(f"c{k}") for k, a in enumerate(source.declared)]
    made = stamps(source, lambda name: col(f"c{place[name]}"))
    own = [col("_n")] if "_n" in rows.columns and not source.progress else []
    return rows.select(*values, *own, *(c.alias(n) for n, c in made.items()), PROBLEM, ROW)


# Files


def _files(spark: SparkSession, source: Source, origin: Origin, folder: Path) -> tuple[DataFrame, Read]:
    path = origin.path.removeprefix("file://")
    local = "://" not in path
    bases = [b for b in (folder, Path.cwd()) if (b / path).exists() or glob.glob(str(b / path))] if local else []
    # Absolute, because Spark may have another working directory.
    place = str(((bases[0] if bases else folder) / path).absolute()) if local else path
    if "://" not in path and not bases and not any(c in path for c in "*?[{"):
        raise DataError(
            f"there is no file or folder {path!r} for the {described(source)}",
            hint="make the folder that its files will come to",
        )
    names = ("maxFilesPerTrigger", "maxBytesPerTrigger", "recursiveFileLookup", "pathGlobFilter", "latestFirst")
    wanted = {k: v for k, v in origin.options if k.lower() in map(str.lower, names)}
    options = {"maxFileAge": _AGE, "maxFilesPerTrigger": "1000", **wanted}
    alone = bool(bases) and Path(place).is_file()
    if alone:
        # Spark only follows folders: follow the parent, and filter for this file.
        options["pathGlobFilter"] = re.sub(r"([\\*?\[\]{}])", r"\\\1", Path(place).name)
        place = str(Path(place).parent)
    reader = spark.readStream.format("binaryFile").schema(_FILE).options(**options)
    stream = reader.load(place).select("path", F.unix_micros("modificationTime").alias("came"))
    suffixes = tuple(s + packed for s in SUFFIXES[origin.format] for packed in ("", ".gz"))

    def read(df: DataFrame, batch: int) -> DataFrame:
        paths = _paths(df)
        chosen = sorted(p for p in paths if alone or p.name.endswith(suffixes))
        rows, refused = read_some(df.sparkSession, source, chosen) if chosen else (None, {})
        empty = _nothing(df.sparkSession, source)
        frames = [empty if rows is None else rows]
        if refused:
            problems = [(reason, str(path)) for path, reason in refused.items()]
            frames.append(df.sparkSession.createDataFrame(problems, f"{PROBLEM} string, {ROW} string"))
        return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)

    return stream, read


@lru_cache(maxsize=8)
def _listed(df: DataFrame) -> list[tuple[Path, Instant]]:
    """The files of a batch and when they came; nothing else of them is collected, and that once."""
    return [(Path(re.sub(r"^file:(//)?", "", r.path)), Instant(r.came)) for r in df.collect()]


def _paths(df: DataFrame) -> list[Path]:
    return [path for path, _ in _listed(df)]


def _came(df: DataFrame) -> list[Instant]:
    return sorted(came for _, came in _listed(df))


def _files_of(source: Source) -> Files:
    def of(df: DataFrame) -> list[Path]:
        return sorted(p for p in _paths(df) if p.name.endswith(".parquet"))

    def read(spark: SparkSession, paths: Sequence[Path]) -> DataFrame:
        rows, refused = read_some(spark, source, paths)
        if refused or rows is None:
            raise DataError("; ".join(refused.values()))
        return _with_times(source, rows, None)

    name = source.timestamp if isinstance(source, StreamSource) else source.at
    return Files(of, read, name if source.unit is None and name in source.stored else None)


def _nothing(spark: SparkSession, source: Source) -> DataFrame:
    """No rows, with the columns that a reader gives."""
    types = [f"c{k} {spark_type(a.type)}" for k, a in enumerate(source.physical)]
    return spark.createDataFrame([], ", ".join([*types, f"{PROBLEM} string", f"{ROW} string"]))


# Kafka


def _kafka(spark: SparkSession, source: Source, origin: Origin) -> tuple[DataFrame, Read]:
    """A topic whose values are JSON objects or CSV lines; equal timestamps are ordered by partition and offset."""
    form = kafka_form(origin, described(source))
    given = {k: v for k, v in origin.options if k.lower() not in OURS}
    options = {"startingOffsets": "earliest", "failOnDataLoss": "true", **given}
    stream = spark.readStream.format("kafka").option("subscribe", origin.path).options(**options).load()
    stream = stream.select(F.col("value").cast("string").alias("_line"), "partition", "offset")
    sep = origin.option("sep", ",")

    def read(df: DataFrame, batch: int) -> DataFrame:
        # Ordered by partition, then by offset.
        numbered = df.withColumn("_n", col("partition").cast("bigint") * lit(2**48) + col("offset"))
        return completed_with_problems(source, _lines(numbered, source.stored, form, sep, origin))

    return stream, read


def _lines(df: DataFrame, schema: Schema, form: str, sep: str, origin: Origin) -> DataFrame:
    """Parses lines of text into rows, each with its problem if it has one."""
    patterns, null = patterns_of(origin), origin.option("nullValue", "")
    names = [f"_v{k}" for k in range(len(schema))]
    if form == "json":
        fields = ", ".join(f"`{a.name}`: STRING" for a in schema)
        record = F.from_json(F.concat(lit("["), "_line", lit("]")), f"ARRAY<STRUCT<{fields}>>", {"mode": "PERMISSIVE"})
        one = F.when(F.size(record) == 1, record[0])
        wrong = "is not one object"
        values = {n: col("_r").getField(a.name) for n, a in zip(names, schema, strict=True)}
    else:
        fields = ", ".join([*(f"{n} STRING" for n in names), "_bad STRING"])
        options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_bad", "sep": sep, "nullValue": null}
        record = F.from_csv(col("_line"), fields, options)
        one = F.when(record["_bad"].isNull(), record)
        wrong = f"is not {len(schema)} values"
        values = {n: col("_r").getField(n) for n in names}
    rows = df.withColumn("_r", one).withColumns({"_there": col("_r").isNotNull()}).withColumns(values)
    shown = F.concat(lit("'"), F.substring("_line", 1, 200), lit(f"' {wrong}"))
    typed = [of_text(col(n), a, patterns) for n, a in zip(names, schema, strict=True)]
    reading = Reading(rows, typed, [(~sure(col("_there")), shown)])
    kept = [c for c in ("_n",) if c in df.columns]
    return reading.with_problems(schema, kept)


# Spark's rate source, Python callables and DataFrames


def _rate(spark: SparkSession, source: Source, origin: Origin) -> tuple[DataFrame, Read]:
    """Spark's rate source: rows at a fixed rate, with the columns timestamp and value."""
    options = {k: v for k, v in origin.options if k.lower() not in OURS}
    if origin.path.strip():
        options.setdefault("rowsPerSecond", origin.path.strip())
    for error in rate_misfits(source):
        raise error
    stream = spark.readStream.format("rate").options(**options).load()

    def read(df: DataFrame, batch: int) -> DataFrame:
        values = [col(a.name.lower()).alias(f"c{k}") for k, a in enumerate(source.stored)]
        rows = df.select(*values, lit(None).cast("string").alias(PROBLEM), F.to_json(F.struct("*")).alias(ROW))
        return completed_with_problems(source, rows)

    return stream, read


def _callable(source: Source, origin: Origin, folder: Path) -> Read:
    """The rows that a Python callable returns, as one batch."""

    def read(df: DataFrame, batch: int) -> DataFrame:
        called_rows = completed(source, called(origin, source.stored, folder), f"python {origin.path!r}")
        rows = from_rows(df.sparkSession, called_rows, source.physical)
        values = [col(f"`{a.name}`").alias(f"c{k}") for k, a in enumerate(source.physical)]
        return rows.select(*values, lit(None).cast("string").alias(PROBLEM), lit(None).cast("string").alias(ROW))

    return read


def frame_input(spark: SparkSession, source: Source, stream: DataFrame) -> Input:
    """A user's DataFrame with the declared attributes as columns; one that does not stream is one batch."""

    def read(df: DataFrame, batch: int) -> DataFrame:
        df = df if stream.isStreaming else stream
        values = [col(f"`{a.name}`").cast(spark_type(a.type)).alias(f"c{k}") for k, a in enumerate(source.stored)]
        rows = df.select(*values, lit(None).cast("string").alias(PROBLEM), F.to_json(F.struct("*")).alias(ROW))
        return completed_with_problems(source, rows)

    doubles = tuple(a.name for a in source.declared if a.type.name == "DOUBLE")
    stamped = _stamped(source, read, lambda: Instant(0), ())
    return Input(stream if stream.isStreaming else None, stamped, log_schema(spark, source), doubles)
