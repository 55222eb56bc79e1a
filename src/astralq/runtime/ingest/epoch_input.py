"""What one query reads in one epoch: the new rows of its sources, from batches up to the epoch's offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import DataFrame, SparkSession

from astralq.plan.aggregate.limbs import Range
from astralq.runtime.ingest.log import BatchManifest, IngestLog
from astralq.timeline import BatchId, Instant


@dataclass(frozen=True)
class EpochInput:
    """The rows of some sources whose timestamps are in the half-open interval (since, until]."""

    logs: Mapping[str, IngestLog]  # of the sources, by name
    offsets: Mapping[str, int]  # of each source, the last batch that is read
    since: Instant | None
    until: Instant

    @cached_property
    def batches(self) -> dict[str, list[BatchManifest]]:
        """The batches of each source that have such rows."""
        return {name: log.holding(self.since, self.until, self.offsets[name]) for name, log in self.logs.items()}

    def count(self, spark: SparkSession) -> int:
        """How many rows all sources have together."""
        return sum(log.count(spark, self.since, self.until, self.offsets[name]) for name, log in self.logs.items())

    def rows(self, spark: SparkSession, source: str, among: Sequence[BatchManifest] | None = None) -> DataFrame:
        """The rows of a source; with `among` only those of some batches."""
        return self.logs[source].between(spark, self.since, self.until, self.offsets[source], among)

    def ranges(self, source: str) -> dict[str, Range]:
        """Of each DOUBLE attribute of a source the range of its values, from the manifests."""
        ranges = {}
        for attribute in self.logs[source].doubles:
            merged = Range(0, 0.0, 0, False)
            for m in self.batches[source]:
                merged = merged.with_(m.ranges[attribute])
            ranges[attribute] = merged
        return ranges

    @property
    def first_heartbeats(self) -> dict[str, BatchId]:
        """Of each source that has heartbeats, the first one: there time began."""
        found = {}
        for name, log in self.logs.items():
            seen = [m for m in list(log.manifests.values()) if m.batch <= self.offsets[name]]
            firsts = [m.first_heartbeat for m in seen if m.first_heartbeat is not None]
            if firsts:
                found[name] = min(BatchId(Instant(t), i) for t, i in firsts)
        return found

    @property
    def firsts(self) -> dict[str, Instant]:
        """Of each source that has batches a lower bound of its timestamps, from the manifests."""
        return {
            name: min(m.first for m in batches if m.first is not None)
            for name, batches in self.batches.items()
            if batches
        }
