"""The answer to a query as a table of values: which columns it prints, and its rows in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from astralq.algebra.answers import CHANGE, STAMP
from astralq.algebra.sources import RelationSource, StreamSource
from astralq.language import Statement
from astralq.model.values import Values
from astralq.schema import Attribute
from astralq.timeline import Instant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Answer:
    """A query's number among all that are run, the file it is in, and what it answers.

    Spark's answers also are DataFrames, which can be written without passing through this program.
    """

    number: int
    file: str
    columns: tuple[Attribute, ...]
    rows: Iterable[Values]
    frame: DataFrame | None = None

    def time_of(self, column: Attribute, time: str) -> str:
        """How a column's instants are printed: --time is about the answer's own t, not about attributes."""
        has_stamp = self.columns[:2] == STAMP or self.columns[:3] == CHANGE
        return time if has_stamp and column == STAMP[0] else "iso"


@dataclass(frozen=True)
class Question:
    """A query of a file, and what is asked of it: its state at an instant, or all that happens until one, or ever."""

    number: int
    file: str
    folder: Path
    statement: Statement
    at: Instant | None = None
    until: Instant | None = None

    @property
    def end(self) -> Instant | None:
        return self.until if self.at is None else self.at

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """What fails because of a source's data is told in terms of its file and value."""
        try:
            yield
        except Exception as e:
            from astralq.spark.files import explain_failure

            for op in self.statement.operator.walk():
                if isinstance(op, StreamSource | RelationSource):
                    explained = explain_failure(op, self.folder, e)
                    if explained is not None:
                        raise explained from e
            raise
