"""Answers as json lines and csv."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from astralq.algebra.sources import Origin
from astralq.printing.answers import Answer
from astralq.printing.values import as_json, text
from astralq.schema import STRING, Attribute, Value


def json_lines(answers: Sequence[Answer], time: str, *, numbered: bool = False) -> Iterator[str]:
    """One object per row, its keys in the order of the columns; `_q` first if they are numbered."""
    for answer in answers:
        keys = [as_json(a.name, STRING, time) for a in answer.columns]
        first = [f'"_q": {json.dumps(answer.number, ensure_ascii=False)}'] if numbered else []
        for row in answer.rows:
            values = (as_json(v, a.type, answer.time_of(a, time)) for v, a in zip(row, answer.columns, strict=True))
            members = [*first, *(f"{k}: {v}" for k, v in zip(keys, values, strict=True))]
            yield f"{{{', '.join(members)}}}\n"


def csv_header(answer: Answer, *, numbered: bool = False) -> tuple[str, ...]:
    """The names in the header of an answer as csv."""
    return (*(["_q"] if numbered else []), *(a.name for a in answer.columns))


def csv_lines(
    answers: Sequence[Answer],
    time: str,
    *,
    numbered: bool = False,
    header: bool = True,
    before: tuple[str, ...] = (),
    sep: str = ",",
) -> Iterator[str]:
    """A header, again where its names are others than those before, and the rows; first `_q` if they are numbered."""
    for answer in answers:
        names = csv_header(answer, numbered=numbered)
        if header and names != before:
            yield sep.join(_field(n, sep) for n in names) + "\n"
        before = names
        number = (str(answer.number),) if numbered else ()
        for row in answer.rows:
            fields = [_cell(v, a, answer.time_of(a, time), sep) for v, a in zip(row, answer.columns, strict=True)]
            line = sep.join((*number, *fields))
            # A line with nothing on it would be no row.
            yield (line or '""') + "\n"


def lines_for(sink: Origin, answer: Answer) -> Iterator[str]:
    """What INSERT INTO writes to a file: json, or csv with a header unless OPTIONS (header = 'false') says no."""
    if sink.format != "csv":
        return json_lines([answer], "iso")
    header = sink.progress or sink.option("header", "true").lower() == "true"
    return csv_lines([answer], "iso", header=header, sep=sink.option("sep", sink.option("delimiter", ",")))


def _cell(value: Value, column: Attribute, time: str, sep: str) -> str:
    """NULL is nothing, and the empty text is quoted."""
    return "" if value is None else _field(text(value, column.type, time), sep)


def _field(value: str, sep: str) -> str:
    special = not value or sep in value or any(c in value for c in '"\r\n') or value != value.strip()
    return '"' + value.replace('"', '""') + '"' if special else value
