"""Sinks, where answers go: exactly-once to files, at-least-once to Kafka, the terminal and Python callbacks."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.answers import STAMP
from astralq.algebra.sources import POSITION, Origin
from astralq.io.declared import check_sink
from astralq.io.parquet import arrow_type, plain_value
from astralq.io.progress import heartbeats
from astralq.model.values import Values
from astralq.printing.values import text
from astralq.runtime.checkpoint.records import sync_folder
from astralq.runtime.checkpoint.tables import Part
from astralq.schema import TIMESTAMP, Attribute, Type, Value
from astralq.spark.columns import col, lit
from astralq.timeline import BatchId, Instant

TextWriter = Callable[[Origin, Iterable[Values], tuple[Attribute, ...], Path], None]
"""Writes rows to a file as a sink says: csv or json."""

Callback = Callable[[DataFrame, int], None]
"""A user's function: called with the rows of an epoch, each with its place in the answer as _n, and its number."""


@dataclass(frozen=True)
class Progress:
    """From where on, and up to where, a query has answered; both ends are closed."""

    start: BatchId
    until: Instant


@dataclass(frozen=True)
class Staged:
    """An epoch's answer to a query, as it was committed."""

    spark: SparkSession
    root: Path
    query: str
    epoch: int
    part: Part
    columns: tuple[Attribute, ...]
    progress: Progress | None = None  # for sinks WITH PROGRESS

    @property
    def frame(self) -> DataFrame:
        """The rows, each with its place _n in the answer."""
        return self.spark.read.parquet(*self.part.paths(self.root))

    def rows(self, *, positions: bool = False) -> Iterator[Values]:
        """The rows in order as plain values; _n only where positions are wanted."""
        names = [a.name for a in self.columns] + ([POSITION.name] if positions else [])
        for path in self.part.paths(self.root):
            for batch in pq.ParquetFile(path).iter_batches(columns=names):
                types = [*(a.type for a in self.columns), POSITION.type]
                columns = [_plain(c, t) for c, t in zip(batch.columns, types, strict=False)]
                yield from zip(*columns, strict=True)


def _plain(column: Any, type_: Type) -> list[Value]:
    """The values of a column as ours: instants as microseconds."""
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64()).to_pylist()  # type: ignore[no-any-return]
    values = column.to_pylist()
    return [plain_value(v, type_) for v in values] if type_.is_nested or type_.name in _CONVERTED else values


_CONVERTED = ("DATE", "INTERVAL", "BINARY")


@runtime_checkable
class Sink(Protocol):
    """Takes the answers of one query."""

    def publish(self, staged: Staged) -> None:
        """Publishes the rows of an epoch. After a crash the last epoch may be published again, with its number."""


@runtime_checkable
class Emitter(Sink, Protocol):
    """A sink that also writes how far time has come, where an epoch has no answer (001 §8)."""

    def advance(
        self, spark: SparkSession, query: str, epoch: int, columns: tuple[Attribute, ...], progress: Progress
    ) -> None: ...


@dataclass(frozen=True)
class FileSink:
    """A folder with files for each epoch that has an answer, in order by name; each is renamed into place once.

    WITH PROGRESS every epoch has a file, with heartbeats behind its rows; for parquet they are in a file of their own,
    which comes behind the others.
    """

    folder: Path
    format: str
    write: Callable[[Staged, Path], None] | None = None  # for text; parquet files are linked from the checkpoint
    write_heartbeats: Callable[[Iterable[Values], tuple[Attribute, ...], Path], None] | None = None  # as text

    def has_answers_of(self, query: str) -> bool:
        """Whether the folder has answers of a query of this name."""
        return any(self.folder.glob(f"{query}-[0-9]*.{self.format}"))

    def publish(self, staged: Staged) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        parts = staged.part.paths(staged.root) if self.write is None else [""]
        for k, path in enumerate(parts):
            number = f"-{k}" if len(parts) > 1 else ""
            target = self.folder / f"{staged.query}-{staged.epoch:010d}{number}.{self.format}"
            if target.exists():
                continue
            temporary = self.folder / f".{target.name}.new"
            if self.write is None:
                _link(Path(path), temporary)
            else:
                self.write(staged, temporary)
            _sync(temporary)
            temporary.replace(target)
        sync_folder(self.folder)
        if staged.progress is not None and self.write is None:
            self.advance(staged.spark, staged.query, staged.epoch, staged.columns, staged.progress)

    def advance(
        self, spark: SparkSession, query: str, epoch: int, columns: tuple[Attribute, ...], progress: Progress
    ) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        name = "" if self.write_heartbeats is not None else "-progress"
        target = self.folder / f"{query}-{epoch:010d}{name}.{self.format}"
        if target.exists():
            return
        temporary = self.folder / f".{target.name}.new"
        rows, shown = heartbeat_rows(columns, progress), (*columns, POSITION)
        if self.write_heartbeats is not None:
            self.write_heartbeats(rows, shown, temporary)
        else:
            fields = [pa.field(a.name, arrow_type(a.type)) for a in shown]
            arrays = [pa.array(list(c), f.type) for c, f in zip(zip(*rows, strict=True), fields, strict=True)]
            pq.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), temporary)
        _sync(temporary)
        temporary.replace(target)
        sync_folder(self.folder)


def heartbeat_rows(columns: Sequence[Attribute], progress: Progress) -> tuple[Values, Values]:
    """The heartbeats behind an answer with these columns."""
    return heartbeats(len(columns) - len(STAMP), (progress.start.t, progress.start.i), progress.until)


def _link(source: Path, target: Path) -> None:
    """Links a file to another name; copies it if the file system cannot link."""
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError as e:
        if e.errno not in (errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK):
            raise
        shutil.copyfile(source, target)


def _sync(path: Path) -> None:
    with path.open("rb") as f:
        os.fsync(f.fileno())


@dataclass(frozen=True)
class KafkaSink:
    """A topic of JSON objects. At least once: after a crash the last epoch is sent again with the same keys.

    The key is query/t/i/position. Positions increase within a partition, so a reader can drop repeated rows.
    """

    topic: str
    options: tuple[tuple[str, str], ...]
    emits: bool = False  # WITH PROGRESS: positions and heartbeats, all in one partition, as they have one order

    def publish(self, staged: Staged) -> None:
        df = staged.frame
        key = F.concat_ws(
            "/", lit(staged.query), F.unix_micros("t").cast("string"), col("i").cast("string"), col("_n").cast("string")
        )
        shown = [col(f"`{c}`") for c in df.columns if c != "_n" or self.emits]
        value = F.to_json(F.struct(*shown), {"ignoreNullFields": "false", "timestampFormat": _ISO})
        # One task sends all rows: several would interleave within a partition of the topic.
        rows = df.coalesce(1).sortWithinPartitions("_n").select(key.alias("key"), value.alias("value"))
        self._send(rows)
        if staged.progress is not None:
            self.advance(staged.spark, staged.query, staged.epoch, staged.columns, staged.progress)

    def _send(self, rows: DataFrame) -> None:
        rows = rows.withColumn("partition", lit(0)) if self.emits else rows
        rows.write.format("kafka").option("topic", self.topic).options(**dict(self.options)).save()

    def advance(
        self, spark: SparkSession, query: str, epoch: int, columns: tuple[Attribute, ...], progress: Progress
    ) -> None:
        names = [a.name for a in (*columns, POSITION)]
        nothing = dict.fromkeys(names)
        rows = [
            (f"{query}/progress", json.dumps({**nothing, "t": text(t, TIMESTAMP, "iso"), "i": i}))
            for t, i, *_ in heartbeat_rows(columns, progress)
        ]
        self._send(spark.createDataFrame(rows, "key STRING, value STRING").coalesce(1))


_ISO = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"


@dataclass(frozen=True)
class CallbackSink:
    """A Python function. At least once: after a crash it may be called again with the last epoch and its number."""

    callback: Callback

    def publish(self, staged: Staged) -> None:
        self.callback(staged.frame.orderBy("_n"), staged.epoch)


def sink_of(sink: Origin, folder: Path, text: TextWriter) -> Sink:
    """The sink that INSERT INTO names; `text` writes csv and json files."""
    check_sink(sink)
    if sink.format == "kafka":
        return KafkaSink(sink.path, sink.options, sink.progress)
    if sink.format == "parquet":
        return FileSink(folder / sink.path, "parquet")
    return FileSink(
        folder / sink.path,
        sink.format,
        lambda staged, path: text(sink, _text_rows(sink, staged), _text_columns(sink, staged), path),
        lambda rows, columns, path: text(sink, rows, columns, path),
    )


def _text_columns(sink: Origin, staged: Staged) -> tuple[Attribute, ...]:
    return (*staged.columns, POSITION) if sink.progress else staged.columns


def _text_rows(sink: Origin, staged: Staged) -> Iterator[Values]:
    yield from staged.rows(positions=sink.progress)
    if staged.progress is not None:
        yield from heartbeat_rows(staged.columns, staged.progress)
