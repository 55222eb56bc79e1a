"""The answer to a query as a table of values: which columns it prints, and its rows in order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from astralq.algebra.answers import CHANGE, STAMP
from astralq.algebra.set_aside import SetAside
from astralq.model.values import Values
from astralq.schema import Attribute
from astralq.timeline import BatchId, Instant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Answer:
    """A query's number among all that are run, the file it is in, and what it answers.

    Spark's answers also are DataFrames, which can be written without passing through this program. What of its
    sources could not be used is said with it.
    """

    number: int | str  # a query that was added to a run has a name
    file: str
    columns: tuple[Attribute, ...]
    rows: Iterable[Values]
    frame: DataFrame | None = None
    set_aside: tuple[SetAside, ...] = ()
    observed: tuple[BatchId, Instant] | None = None  # from where to where its run observed

    def time_of(self, column: Attribute, time: str) -> str:
        """How a column's instants are printed: --time is about the answer's own t, not about attributes."""
        has_stamp = self.columns[:2] == STAMP or self.columns[:3] == CHANGE
        return time if has_stamp and column == STAMP[0] else "iso"
