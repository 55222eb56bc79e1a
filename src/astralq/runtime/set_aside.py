"""Writes down what a query cannot use: late tuples, tuples before its start, and deletions that find no row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.set_aside import sources_with_start
from astralq.algebra.sources import StreamSource
from astralq.runtime.checkpoint.folders import Folders
from astralq.runtime.checkpoint.tables import Part
from astralq.runtime.ingest.epoch_input import EpochInput
from astralq.runtime.ingest.log import BatchManifest, IngestLog
from astralq.runtime.queries import ContinuousQuery
from astralq.spark.columns import col, lit
from astralq.timeline import Instant, format_instant


def late(
    spark: SparkSession,
    folders: Folders,
    name: str,
    log: IngestLog,
    new: Sequence[BatchManifest],
    since: Instant,
    epoch: int,
) -> int:
    """Writes down the tuples of new batches that are late for a query, at or before `since`, and counts them."""
    batches = [m for m in new if m.first is not None and m.first <= since]
    if not batches:
        return 0
    folder = folders.late(log.name, name, epoch)
    log.rows_of(spark, batches).where(col("_t") <= since).write.mode("overwrite").parquet(str(folder))
    return Part.of(folders.root, folder).rows


def before_start(spark: SparkSession, folders: Folders, query: ContinuousQuery, new: EpochInput, epoch: int) -> int:
    """Writes down the tuples of an epoch that are before the query's start, and counts them.

    Only batches whose manifests say that they have such tuples are read.
    """
    count = 0
    for source, t0 in set(sources_with_start(query.operator, query.t0)):
        batches = [m for m in new.batches.get(source.name, []) if m.first is not None and m.first < t0]
        if batches and isinstance(source, StreamSource):
            rows = new.rows(spark, source.name, batches).where(col("_t") < t0)
            reason = f"it is before the start, {format_instant(t0)}"
            count += _rejected(rows, reason, folders.refused(source.name, query.name, epoch))
    return count


def unmatched(folders: Folders, name: str, deletions: Mapping[str, DataFrame], new: EpochInput, epoch: int) -> int:
    """Writes down the deletions of an epoch that found no row, and counts them.

    They are computed only if some manifest has deletions.
    """
    count = 0
    for source, rows in deletions.items():
        if any(m.deletions for m in new.batches.get(source, [])):
            reason = "its '-' found no row to take out"
            count += _rejected(rows, reason, folders.refused(source, name, epoch))
    return count


def _rejected(rows: DataFrame, reason: str, folder: Path) -> int:
    """Writes rows as JSON with the reason, and counts them."""
    row = F.to_json(F.struct(*(col(f"`{c}`") for c in rows.columns if c not in ("_t", "_i", "_n"))))
    written = rows.select(lit(reason).alias("reason"), row.alias("row"))
    written.write.mode("overwrite").json(str(folder))
    return sum(1 for f in folder.glob("part-*") for _ in f.open(encoding="utf-8"))
