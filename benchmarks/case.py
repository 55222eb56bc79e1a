"""A case: a query of ours, what a Spark user would write instead, and the data that both read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from astralq.timeline import Instant
from benchmarks.data import Dataset

Peer = Callable[[DataFrame, int], DataFrame]
"""The data and their number of rows ↦ the answer, with t as a TIMESTAMP."""


@dataclass(frozen=True)
class Case:
    """One line of the table. `query` reads the stream s, and is observed until an instant, inclusive."""

    workload: str
    variant: str
    dataset: Dataset
    query: str
    until: Instant
    peer: Peer
    columns: dict[str, str]
    """The attributes of the answer besides t, and their types."""

    @property
    def name(self) -> str:
        return f"{self.workload}/{self.variant}"

    def normal(self, answer: DataFrame) -> DataFrame:
        """An answer with the same columns and types whoever gave it; t counts microseconds."""
        return answer.select(
            F.unix_micros("t").alias("t"), *(F.col(name).cast(type_) for name, type_ in self.columns.items())
        )
