"""The answer to a query as a table of values: which columns it prints, and its rows in order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from astralq.algebra.sources import RelationSource, StreamSource
from astralq.language import Statement
from astralq.timeline import Instant

if TYPE_CHECKING:
    pass


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
        try:
            yield
        except Exception as e:
            from astralq.spark.source_errors import translate_source_error

            for op in self.statement.operator.walk():
                if isinstance(op, StreamSource | RelationSource):
                    translated = translate_source_error(op, self.folder, e)
                    if translated is not None:
                        raise translated from e
            raise
