"""The answer to a query as a table of values: which columns it prints, and its rows in order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from astralq.algebra.base import Kind
from astralq.algebra.grouping import unique
from astralq.cli.scripts import shown
from astralq.language import Statement
from astralq.model import Change, Data, StreamTuple, run, state
from astralq.model.files import read_sources
from astralq.model.values import Values
from astralq.schema import BIGINT, STRING, TIMESTAMP, Attribute, Schema
from astralq.timeline import Instant

STAMP = (Attribute("t", TIMESTAMP), Attribute("i", BIGINT))
CHANGE = (Attribute("op", STRING), *STAMP)


@dataclass(frozen=True)
class Answer:
    """A query's number among all that are run, the file it is in, and what it answers."""

    number: int
    file: str
    columns: tuple[Attribute, ...]
    rows: tuple[Values, ...]

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

    def answer(self) -> Answer:
        """Reads the sources and runs the query on the model."""
        data = read_sources(self.statement.operator, self.folder)
        columns, rows = self._state(data) if self._wants_state else self._history(data)
        return Answer(self.number, shown(self.file), columns, rows)

    @property
    def _wants_state(self) -> bool:
        """What a stream emitted up to an instant is a part of its history, with t and i."""
        return self.at is not None and self.statement.operator.kind is not Kind.STREAM

    def _state(self, data: Data) -> tuple[tuple[Attribute, ...], tuple[Values, ...]]:
        query = self.statement
        assert self.at is not None
        return query.operator.schema.attributes, tuple(state(query.operator, data, self.at, t0=query.t0))

    def _history(self, data: Data) -> tuple[tuple[Attribute, ...], tuple[Values, ...]]:
        query = self.statement
        until = self.until if self.at is None else self.at
        rows: list[Values] = []
        for r in run(query.operator, data, t0=query.t0, until=until):
            match r:
                case StreamTuple():
                    rows.append((r.t, r.i, *r.values))
                case Change():
                    rows.append((r.op, r.t, r.i, *r.values))
                case (batch, window):
                    rows += [(batch.t, batch.i, *values) for values in window]
        first = CHANGE if query.operator.kind is Kind.RELATION else STAMP
        return named_apart(first, query.operator.schema), tuple(rows)


def named_apart(first: tuple[Attribute, ...], schema: Schema) -> tuple[Attribute, ...]:
    """Columns with different names: an attribute t behind the answer's own t is t_2."""
    taken = {"_q", *(a.name for a in first)}
    return (*first, *(Attribute(unique(a.name, taken), a.type) for a in schema))
