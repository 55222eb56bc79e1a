"""A case: a query of ours, what one would write instead, and the data that both read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from astralq.timeline import Instant
from benchmarks.data import Dataset

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

Peer = Callable[[Mapping[str, DataFrame], int], "DataFrame | pa.Table"]
"""The data by the names of streams, and their number of rows ↦ the answer, with t as a TIMESTAMP.

What another engine than Spark computed is a table; it is turned into a DataFrame only to be compared.
"""


@dataclass(frozen=True)
class Case:
    """One line of the table. `query` reads the stream s and others, and is observed until an instant, inclusive."""

    workload: str
    variant: str
    dataset: Dataset
    query: str
    until: Instant
    peer: Peer | str
    """A string is a query of ours, too: the same question, asked in a way that is known to be fast."""
    columns: dict[str, str]
    """The attributes of the answer besides t, and their types."""
    others: dict[str, Dataset] = field(default_factory=dict)
    """Further streams by their names."""
    target: float | None = None
    """What ours ÷ peer should be at most, over 2 M rows on two cores."""
    one_of: int = 1
    """Only one of so many rows is read: where the peer compares all with all."""
    sorted_by: tuple[str, ...] = ()
    """Both answers are wanted in order: t, then these columns."""

    @property
    def name(self) -> str:
        return f"{self.workload}/{self.variant}"

    @property
    def streams(self) -> dict[str, Dataset]:
        return {"s": self.dataset, **self.others}

    def normal(self, answer: DataFrame) -> DataFrame:
        """An answer with the same columns and types whoever gave it; t counts microseconds."""
        return answer.select(
            F.unix_micros("t").alias("t"), *(F.col(name).cast(type_) for name, type_ in self.columns.items())
        )
