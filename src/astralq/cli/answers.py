"""The answer to a query as a table of values: which columns it prints, and its rows in order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from astralq.algebra.sources import sources_of
from astralq.language import Statement
from astralq.timeline import Instant


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
    def translated_source_errors(self) -> Iterator[None]:
        """Errors that a source's data caused name its file and value."""
        from astralq.spark.sources.declared import translated_source_errors

        with translated_source_errors(sources_of(self.statement.operator), self.folder):
            yield
