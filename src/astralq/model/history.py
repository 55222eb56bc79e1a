"""Answers in Python: a list that knows its columns, and shows itself in a notebook as a table with a timeline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from html import escape
from typing import Any

from astralq.model.values import Stream, StreamTuple, Values
from astralq.schema import BIGINT, TIMESTAMP, Attribute, Type, Value
from astralq.timeline import Instant, format_instant

FIRST = 20
"""How many rows a table in a notebook has."""

_BLUE = "#0072B2"


@dataclass(frozen=True)
class Change:
    """A tuple that a relation gained ('+') or lost ('-') at a batch identifier."""

    op: str
    t: Instant
    i: int
    values: Values


class History(list[Any]):
    """The answer to a query: a list of a stream's tuples, a relation's changes, or (batch, rows) of windows.

    >>> History([Change("+", Instant(0), 0, (1,))], ())[0].op
    '+'
    """

    def __init__(self, found: Iterable[Any], columns: Sequence[Attribute]) -> None:
        super().__init__(found)
        self.columns = tuple(columns)

    @property
    def rows(self) -> list[Values]:
        """The rows as answers print them: t and i before the values, and before these op of a change.

        >>> History([Change("+", Instant(0), 0, (1,))], ()).rows
        [('+', 0, 0, 1)]
        """
        found: list[Values] = []
        for r in self:
            match r:
                case StreamTuple():
                    found.append((r.t, r.i, *r.values))
                case Change():
                    found.append((r.op, r.t, r.i, *r.values))
                case (batch, window):
                    found += [(batch.t, batch.i, *values) for values in window]
        return found

    def _repr_html_(self) -> str:
        marks: list[tuple[Instant, bool]] = []
        for r in self:
            match r:
                case StreamTuple():
                    marks.append((r.t, True))
                case Change():
                    marks.append((r.t, r.op == "+"))
                case (batch, _):
                    marks.append((batch.t, True))
        return timeline(marks) + table(self.columns, self.rows)


def stream_html(stream: Stream) -> str:
    """The tuples of a stream; their attributes have no names here."""
    width = max((len(s.values) for s in stream.tuples), default=0)
    values = [Attribute(str(k), Type("")) for k in range(width)]
    stamp = [Attribute("t", TIMESTAMP), Attribute("i", BIGINT), Attribute("n", BIGINT)]
    return timeline([(s.t, True) for s in stream.tuples]) + table(
        [*stamp, *values], [(*s.stamp, *s.values) for s in stream.tuples]
    )


def table(columns: Sequence[Attribute], rows: Sequence[Values]) -> str:
    """The first rows as an HTML table, and how many more there are."""
    head = "".join(f"<th>{escape(c.name)}</th>" for c in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell(v, c.type))}</td>" for v, c in zip(r, columns, strict=True)) + "</tr>"
        for r in rows[:FIRST]
    )
    more = f"<p>… and {len(rows) - FIRST:,} more rows</p>" if len(rows) > FIRST else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def cell(value: Value, type_: Type) -> str:
    """A value as answers print it.

    >>> cell(5_500_000, TIMESTAMP), cell(None, BIGINT), cell(True, Type("BOOLEAN"))
    ('1970-01-01T00:00:05.5Z', 'null', 'true')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value:f}"
    return format_instant(Instant(value)) if type_ == TIMESTAMP and isinstance(value, int) else str(value)


def timeline(marks: Sequence[tuple[Instant, bool]]) -> str:
    """A strip of dots from the first instant to the last: filled for what comes, hollow for what goes."""
    if len({t for t, _ in marks}) < 2:
        return ""
    first, last = min(t for t, _ in marks), max(t for t, _ in marks)
    # Dots are drawn once, however many tuples there are at a pixel.
    dots = dict.fromkeys((10 + 580 * (t - first) // (last - first), comes) for t, comes in marks)
    circles = "".join(
        f'<circle cx="{x}" cy="{9 if comes else 19}" r="3.5" stroke="{_BLUE}" fill="{_BLUE if comes else "none"}"/>'
        for x, comes in dots
    )
    goes = any(not comes for _, comes in marks)
    axis = 27 if goes else 17
    ends = "".join(
        f'<text x="{x}" y="{axis + 15}" text-anchor="{anchor}" font-family="sans-serif" font-size="11" '
        f'fill="#6b6b6b">{format_instant(t)}</text>'
        for x, anchor, t in ((2, "start", first), (598, "end", last))
    )
    said = (
        f'<text x="300" y="{axis + 15}" text-anchor="middle" font-family="sans-serif" font-size="11" fill="#6b6b6b">'
        "filled: gained, hollow: lost</text>"
        if goes
        else ""
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="600" height="{axis + 20}" role="img">'
        f'<line x1="2" x2="598" y1="{axis}" y2="{axis}" stroke="#b9b9b9"/>{circles}{ends}{said}</svg>'
    )
