"""Ingest logs: one for each source; a streaming query writes its batches once to files, with a manifest for each."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.dataset as ds  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, Observation, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.types import StructType

from astralq.errors import AstralError, DataError
from astralq.plan import columns as plan
from astralq.plan import functions as plan_functions
from astralq.plan.aggregate.limbs import Range, range_columns, range_of
from astralq.runtime.checkpoint.failpoints import failpoint
from astralq.runtime.checkpoint.folders import Folders
from astralq.runtime.checkpoint.records import CorruptRecordError, Record, numbers, read_record, write_record
from astralq.runtime.sessions import LARGE
from astralq.spark.columns import col, lit, spark_column
from astralq.timeline import Instant

if TYPE_CHECKING:
    from astralq.runtime.ingest.inputs import Files

PROBLEM = "_problem"
"""The column with the reason why a row is rejected; NULL in good rows."""
ROW = "_row"
"""The column with the row as it came, for the file of rejected rows."""


def clock() -> Instant:
    """The time of this machine."""
    return Instant(time.time_ns() // 1000)


@dataclass(frozen=True)
class BatchManifest:
    """What is known of one batch in the ingest log without reading it. Its record makes the batch count."""

    batch: int
    rows: int
    rejected: int
    first: Instant | None  # the timestamps are in the closed interval [first, last]; None without rows
    last: Instant | None
    arrived: Instant
    ranges: dict[str, Range]  # of each DOUBLE attribute
    linked: bool = False  # the batch is hard links to the source's own files, not a copy of their rows
    deletions: int = 0  # rows of a change log that are a '-'
    came: tuple[int, ...] = ()  # when each file of it came; empty where it is not made of files
    heartbeat: int | None = None  # up to where its heartbeats say that there are all tuples
    first_heartbeat: tuple[int, int] | None = None  # its first heartbeat, as (t, i)
    position: int | None = None  # the greatest position that an emitter has written, in it or before

    @staticmethod
    def from_record(record: Record) -> BatchManifest:
        ranges = {name: Range(*r) for name, r in record["ranges"].items()}
        first = record.get("first_heartbeat")
        tuples = {"came": tuple(record.get("came", ())), "first_heartbeat": first and (first[0], first[1])}
        return BatchManifest(**{**record, "ranges": ranges, **tuples})

    @property
    def record(self) -> Record:
        ranges = {n: [r.rows, r.greatest, r.low, r.special] for n, r in self.ranges.items()}
        return {**vars(self), "ranges": ranges, "came": list(self.came)}


@dataclass
class IngestLog:
    """The batches of one source, each written once, with a manifest."""

    name: str
    folders: Folders
    schema: StructType  # the attributes, _t, and what else the source adds
    doubles: tuple[str, ...]
    read: Callable[[DataFrame, int], DataFrame]  # a batch as rows with _t, _problem and _row
    wake: threading.Event
    gate: threading.Lock | None = None  # taken while a batch is written, on few cores
    files: Files | None = None
    change: str | None = None  # the attribute of a change log that says '+' or '-'
    came: Callable[[DataFrame], Sequence[Instant]] | None = None  # when the files of a batch came
    emitted: bool = False  # whether its rows bring positions, by which each is taken once
    manifests: dict[int, BatchManifest] = field(default_factory=dict)
    query: StreamingQuery | None = None
    failure: BaseException | None = None
    taking: bool = False  # a batch is being written

    def load(self) -> None:
        """Reads the manifests of earlier runs."""
        self.folders.manifests(self.name).mkdir(parents=True, exist_ok=True)
        for number in numbers(self.folders.manifests(self.name)):
            try:
                self.manifests[number] = BatchManifest.from_record(
                    read_record(self.folders.manifests(self.name) / f"{number}.json")
                )
            except CorruptRecordError:
                if (self.folders.reader(self.name) / "commits" / str(number)).exists():
                    raise  # Spark has committed the batch and will not give it again

    def take(self, df: DataFrame, batch: int) -> None:
        """Writes a batch and its manifest, unless that was done before: after a crash Spark gives a batch again."""
        if batch in self.manifests:
            return
        self.taking = True
        try:
            with self.gate or nullcontext():
                manifest = self._write(df, batch)
        except Exception as e:
            self.failure = e
            self.wake.set()
            raise
        write_record(self.folders.manifests(self.name) / f"{batch}.json", manifest.record)
        failpoint("batch manifest written", batch)
        self.manifests[batch] = manifest
        self.taking = False
        if manifest.rows or manifest.rejected or manifest.heartbeat is not None:
            self.wake.set()

    def _write(self, df: DataFrame, batch: int) -> BatchManifest:
        linked = self._link(df, batch)
        rows = self.read(df, batch) if linked is None else linked
        good = col(PROBLEM).isNull()
        has_heartbeats = "_heartbeat" in rows.columns
        # A heartbeat is no row of the log.
        marked = col("_heartbeat") if has_heartbeats else lit(False)
        a_tuple, a_heartbeat = good & ~marked, good & marked
        metrics = [
            F.count(F.when(a_tuple, 1)).alias("good"),
            F.count(F.when(~good, 1)).alias("bad"),
            F.min(F.when(a_tuple, col("_t"))).alias("first"),
            F.max(F.when(a_tuple, col("_t"))).alias("last"),
        ]
        if has_heartbeats:
            index = col("_i") if self.emitted else lit(0).cast("bigint")
            metrics += [
                F.max(F.when(a_heartbeat, col("_t"))).alias("heartbeat"),
                F.min(F.when(a_heartbeat, col("_t"))).alias("first_heartbeat"),
                F.min_by(F.when(a_heartbeat, index), F.when(a_heartbeat, col("_t"))).alias("its_index"),
            ]
        if self.emitted:
            rows = self._once(rows)
            metrics.append(F.max(F.when(a_tuple, col("_n"))).alias("position"))
        if self.change is not None:
            is_deletion = col(f"`{self.change}`").cast("string").isin("-", "false")
            metrics.append(F.count(F.when(good & is_deletion, 1)).alias("deletions"))
        for k, name in enumerate(self.doubles):
            value = plan_functions.when(plan.col(PROBLEM).is_null(), plan.col(f"`{name}`"))
            metrics += [spark_column(c) for c in range_columns(value, f"r{k}_")]
        measured: Mapping[str, Any]
        if linked is not None:
            measured = rows.agg(*metrics).collect()[0].asDict()
        else:
            seen = Observation()
            observed = rows.observe(seen, *metrics).where(a_tuple)
            target = self.folders.batch(self.name, batch)
            observed.select(*(col(f"`{n}`") for n in self.schema.names)).write.mode("overwrite").parquet(str(target))
            measured = seen.get
        if measured["bad"]:
            rejected = rows.where(~good).select(col(PROBLEM).alias("reason"), col(ROW).alias("row"))
            rejected.write.mode("overwrite").json(str(self.folders.rejected(self.name, batch)))
        failpoint("batch rows written", batch)
        ranges = {name: range_of(measured, f"r{k}_") for k, name in enumerate(self.doubles)}
        return BatchManifest(
            batch,
            measured["good"],
            measured["bad"],
            measured["first"],
            measured["last"],
            clock(),
            ranges,
            linked is not None,
            measured["deletions"] if self.change is not None else 0,
            () if self.came is None else tuple(self.came(df)),
            measured.get("heartbeat"),
            (first, measured["its_index"]) if (first := measured.get("first_heartbeat")) is not None else None,
            self._position(measured.get("position")),
        )

    def _position(self, new: int | None = None) -> int | None:
        """The greatest position that an emitter has written up to now; the last manifest always stays."""
        known = [m.position for m in list(self.manifests.values()) if m.position is not None]
        return max([*known, *([] if new is None else [new])], default=None)

    def _once(self, rows: DataFrame) -> DataFrame:
        """Without tuples that came before: an emitter sends its last epoch again after a crash, with the same
        positions."""
        seen = self._position()
        kept = rows.where(col("_n").isNull() | (col("_n") > (-1 if seen is None else seen)))
        first = Window.partitionBy("_n").orderBy(lit(0))
        numbered = kept.withColumn("_copy", F.when(col("_n").isNull(), 1).otherwise(F.row_number().over(first)))
        return numbered.where(col("_copy") == 1).drop("_copy")

    def _link(self, df: DataFrame, batch: int) -> DataFrame | None:
        """The rows of a large batch of files that can be read again; None if it is not one.

        The files get a second name in the ingest log, so that they stay when the first is removed; nothing is copied.
        """
        paths = [] if self.files is None else self.files.of(df)
        try:
            if self.files is None or sum(pq.ParquetFile(p).metadata.num_rows for p in paths) < LARGE:
                return None
            folder = self.folders.batch(self.name, batch)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            for k, path in enumerate(paths):
                os.link(path, folder / f"{k:06d}.parquet")
            return self.files.read(df.sparkSession, self._links(batch))
        except (OSError, pa.ArrowException, DataError):
            return None

    def _links(self, batch: int) -> list[Path]:
        return sorted(self.folders.batch(self.name, batch).glob("*.parquet"))

    # Reading

    def rows_of(self, spark: SparkSession, batches: Sequence[BatchManifest]) -> DataFrame:
        """The rows of some batches, without rejected ones."""
        copies = [str(self.folders.batch(self.name, m.batch)) for m in batches if not m.linked]
        links = [path for m in batches if m.linked for path in self._links(m.batch)]
        frames = [spark.read.schema(self.schema).parquet(*copies)] if copies else []
        if links:
            assert self.files is not None
            rows = self.files.read(spark, links).where(col(PROBLEM).isNull())
            frames.append(rows.select(*(col(f"`{n}`") for n in self.schema.names)))
        return reduce(DataFrame.unionByName, frames) if frames else spark.createDataFrame([], self.schema)

    def between(
        self,
        spark: SparkSession,
        since: Instant | None,
        until: Instant,
        upto: int,
        among: Sequence[BatchManifest] | None = None,
    ) -> DataFrame:
        """The rows of batches up to a number whose timestamps are in the half-open interval (since, until]."""
        df = self.rows_of(spark, self.holding(since, until, upto) if among is None else among)
        return df.where((col("_t") <= until) if since is None else (col("_t") > since) & (col("_t") <= until))

    def holding(self, since: Instant | None, until: Instant, upto: int) -> list[BatchManifest]:
        """The batches up to a number that have rows in the half-open interval (since, until]."""
        return [
            m
            for m in list(self.manifests.values())
            if m.batch <= upto and m.first is not None and m.last is not None
            if m.first <= until and (since is None or m.last > since)
        ]

    def count(self, spark: SparkSession, since: Instant | None, until: Instant, upto: int) -> int:
        """How many rows of batches up to a number are in the half-open interval (since, until].

        Only batches that reach beyond the interval are read, and of those only the timestamps.
        """
        count = 0
        for m in self.holding(since, until, upto):
            assert m.first is not None
            assert m.last is not None
            if m.last <= until and (since is None or m.first > since):
                count += m.rows
                continue
            time_ = self.files.time if m.linked and self.files is not None else "_t"
            files = [str(f) for f in self.folders.batch(self.name, m.batch).glob("*.parquet")]
            rows = ds.dataset(files, format="parquet")
            names = {n.lower(): n for n in rows.schema.names}
            kind = pa.null() if time_ is None else rows.schema.field(names[time_.lower()]).type
            in_micros = kind == pa.int64() or (pa.types.is_timestamp(kind) and kind.unit == "us")
            if time_ is None or not in_micros or (m.linked and m.rejected):
                count += self.between(spark, since, until, upto, [m]).count()
                continue
            column = ds.field(names[time_.lower()])
            inside = column <= pa.scalar(until, pa.int64()).cast(kind)
            if since is not None:
                inside = inside & (column > pa.scalar(since, pa.int64()).cast(kind))
            count += rows.count_rows(filter=inside)
        return count

    def new(self, after: int, upto: int) -> list[BatchManifest]:
        """The batches in the half-open interval (after, upto] of numbers."""
        return [m for m in list(self.manifests.values()) if after < m.batch <= upto]

    @property
    def last(self) -> int:
        """The number of the last batch; -1 before the first."""
        return max(list(self.manifests), default=-1)

    def forget(self, batches: list[int]) -> None:
        """Removes batches that no query will read again."""
        for batch in batches:
            self.manifests.pop(batch, None)
            (self.folders.manifests(self.name) / f"{batch}.json").unlink(missing_ok=True)
            shutil.rmtree(self.folders.batch(self.name, batch), ignore_errors=True)

    # The streaming query

    def check(self) -> None:
        """Raises the error that stopped reading the source, if there is one."""
        failed = self.failure or (self.query.exception() if self.query is not None else None)
        if failed is None:
            return
        if isinstance(failed, AstralError):
            raise failed
        raise AstralError(f"the source {self.name} cannot be read: {_reason(failed)}") from failed

    @property
    def caught_up(self) -> bool:
        """Whether all input that the streaming query has seen is in the log."""
        if self.query is None or not self.query.isActive:
            return not self.taking
        looked = self.query.lastProgress is not None  # read first: the status means nothing before that
        return looked and not self.taking and not self.query.status["isDataAvailable"]

    @property
    def forgotten(self) -> bool:
        """Whether some of its batches were removed."""
        return len(self.manifests) <= self.last


def _reason(e: BaseException) -> str:
    lines = [line for line in str(e).splitlines() if line.strip()]
    return lines[0][:500] if lines else type(e).__name__
