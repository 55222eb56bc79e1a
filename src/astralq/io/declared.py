"""What a declaration says of its source before Spark is there: where its rows are, if they can be read or followed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from astralq.algebra.sources import EMITTED, POSITION, Origin, RelationSource, StreamSource
from astralq.errors import DataError, nearest
from astralq.io.files import described
from astralq.io.options import flag
from astralq.io.reading import SUFFIXES, File
from astralq.schema import BIGINT, TIMESTAMP, Attribute

STORED = (*SUFFIXES, "jdbc", "python")
FOLLOWED = (*SUFFIXES, "kafka", "rate", "python")
"""The formats that a batch run reads, and those that a continuous one follows."""

SINKS = ("parquet", "csv", "json", "kafka")
"""What a continuous run can insert into."""

_RATE = {"timestamp": TIMESTAMP, "value": BIGINT}


def stored_origin(source: StreamSource | RelationSource, *, arriving: bool = False) -> Origin:
    """Where the rows of a source are stored; an error if they are not."""
    what = described(source)
    origin = source.origin
    if origin is None:
        raise DataError(f"the {what} does not say where its rows are", hint="declare it with FROM csv 'path'")
    if origin.format in ("kafka", "rate"):
        raise DataError(
            f"the {what} is from {origin.format}, which has no end",
            hint="run the query continuously: astralq start",
        )
    if origin.format not in STORED:
        raise DataError(
            f"the {what} is from {origin.format}, which cannot be read", hint=nearest(origin.format, STORED)
        )
    if isinstance(source, StreamSource) and source.timestamp is None and not source.progress and not arriving:
        raise DataError(
            f"the {what} is stamped on arrival, and stored rows do not arrive",
            hint="declare which attribute holds the time: TIMESTAMP BY …",
        )
    # Spark has two names for this one.
    named = tuple(("encoding" if k.lower() == "charset" else k, v) for k, v in origin.options)
    return replace(origin, options=named)


def followed_origin(source: StreamSource | RelationSource) -> Origin:
    """Where the rows of a source come from while a query runs; an error if that cannot be followed."""
    what = described(source)
    if source.origin is None:
        raise DataError(f"the {what} does not say where it comes from", hint="declare it with FROM …")
    if source.origin.format not in FOLLOWED:
        raise DataError(
            f"the {what} is from {source.origin.format}, which cannot be followed",
            hint=nearest(source.origin.format, FOLLOWED),
        )
    return source.origin


# Files


def listed_by_spark(origin: Origin, folder: Path) -> Path | None:
    """The folder of a source, if only Spark can read it: names of its folders are values of attributes."""
    if flag(origin, "recursiveFileLookup"):
        return None
    try:
        for base in (folder, Path.cwd()):
            full = base / origin.path.removeprefix("file://")
            partitioned = full.is_dir() and any(d.is_dir() and "=" in d.name for d in full.iterdir())
            if partitioned:
                return full
    except OSError:
        return None  # whoever looks for the files says what is wrong with the path
    return None


def check_visible(files: Sequence[File], source: str) -> None:
    """An error if Spark would pass over one of the files."""
    hidden = [f for f in files if f.path.name.startswith(("_", "."))]
    if hidden:
        raise DataError(
            f"the {source}: Spark leaves out files whose names begin with _ or ., as {hidden[0].shown}",
            hint="rename it",
        )


# What is no file


def check_jdbc(origin: Origin, source: str) -> None:
    """A table needs a database, and a database a table."""
    names = {k.lower() for k, _ in origin.options}
    is_url = origin.path.startswith("jdbc:")
    if not is_url and "url" not in names:
        raise DataError(f"the {source} does not say where its database is", hint="OPTIONS (url = 'jdbc:…')")
    if is_url and not names & {"dbtable", "query"}:
        raise DataError(f"the {source} does not say which table it is", hint="OPTIONS (dbtable = '…')")


def kafka_form(origin: Origin, source: str) -> str:
    """How the values of a topic are written, json or csv; an error if its broker is not named."""
    if "kafka.bootstrap.servers" not in dict(origin.options):
        raise DataError(
            f"the {source} does not say where its broker is",
            hint="OPTIONS (kafka.bootstrap.servers = 'host:9092')",
        )
    form = origin.option("value", "json").lower()
    if form not in ("json", "csv"):
        raise DataError(f"the {source} has values in {form!r}", hint="OPTIONS (value = 'json') or 'csv'")
    return form


def rate_misfits(source: StreamSource | RelationSource) -> list[DataError]:
    """An error for each attribute that Spark's source of test rows does not give."""
    return [
        DataError(
            f"the {described(source)} declares {a}, and rate gives value BIGINT and timestamp TIMESTAMP",
            hint=nearest(a.name, _RATE),
            attribute=a.name,
        )
        for a in source.stored
        if _RATE.get(a.name.lower()) != a.type
    ]


def check_progress(sink: Origin, columns: Sequence[Attribute]) -> None:
    """An error if an answer cannot be written WITH PROGRESS: only streams have stamps, and their names are taken."""
    if tuple(columns[:2]) != EMITTED:
        raise DataError(
            "INSERT INTO … WITH PROGRESS takes a stream, and this is a relation",
            hint="stream it: ISTREAM(…) or RSTREAM(…)",
        )
    if any(a.name.lower() == POSITION.name for a in columns):
        raise DataError(
            f"INSERT INTO … WITH PROGRESS: {POSITION.name!r} is the name of a column that it writes itself",
            hint=f"SELECT … {POSITION.name} AS another name",
        )
    if sink.format == "csv" and sink.option("header", "true").lower() != "true":
        raise DataError("csv files WITH PROGRESS have a header", hint="leave out header = 'false'")


def check_sink(sink: Origin) -> None:
    """An error if a continuous run cannot insert its answers there."""
    if sink.format not in SINKS:
        raise DataError(f"INSERT INTO {sink.format} is not known", hint=nearest(sink.format, SINKS))
    if sink.format == "kafka" and "kafka.bootstrap.servers" not in dict(sink.options):
        raise DataError(
            f"INSERT INTO kafka {sink.path!r} does not say where the broker is",
            hint="OPTIONS (kafka.bootstrap.servers = 'host:9092')",
        )
