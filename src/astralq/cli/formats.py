"""The formats of answers: tables for people, csv, json lines and parquet for programs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from astralq.algebra.answers import CHANGE
from astralq.cli.output import OutputError
from astralq.io.parquet import arrow_type, arrow_value
from astralq.printing.answers import Answer
from astralq.printing.lines import csv_header, csv_lines, json_lines
from astralq.printing.values import is_number, text
from astralq.schema import STRING, Type, Value

FORMATS = ("table", "csv", "jsonl", "parquet")

BY_SUFFIX = {".csv": "csv", ".jsonl": "jsonl", ".json": "jsonl", ".parquet": "parquet"}
"""The format of an output file that none is given for."""


@dataclass
class TextWriter:
    """Writes answers one behind the other in a format that is text."""

    format: str
    time: str
    several: bool  # answers, so that each says which it is
    several_files: bool
    _written: int = 0
    _header: tuple[str, ...] = ()

    def put(self, answer: Answer, out: IO[str]) -> None:
        """Writes one more answer; its rows may be computed meanwhile."""
        match self.format:
            case "table":
                write_table(answer, self.time, out, heading=self._heading(answer), first=not self._written)
            case "csv":
                out.writelines(csv_lines([answer], self.time, numbered=self.several, before=self._header))
                self._header = csv_header(answer, numbered=self.several)
            case "jsonl":
                out.writelines(json_lines([answer], self.time, numbered=self.several))
        self._written += 1

    def _heading(self, answer: Answer) -> str | None:
        if not self.several:
            return None
        return f"-- query {answer.number}" + (f" of {answer.file}" if self.several_files else "")


# tables

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SIGNS = {"+": "green", "-": "red"}


def write_table(answer: Answer, time: str, out: IO[str], *, heading: str | None = None, first: bool = True) -> None:
    """An aligned table, below its heading if it has one, with colours on a terminal.

    Each row is one line however long it is, so that no value is cut or broken. That is why these are not rich's
    own tables, which besides take a second for a thousand rows.
    """
    console = Console(file=out, highlight=False, markup=False, emoji=False)

    def put(line: str, style: str = "") -> None:
        if style and console.is_terminal:
            console.print(Text(line, style), soft_wrap=True)
        else:
            out.write(f"{line}\n")

    header, *rows = aligned(answer, time)  # before anything is written: it may fail
    if not first:
        put("")
    if heading is not None:
        put(heading, "bold")
    put(header, "bold")
    put("─" * max(map(cell_len, (header, *rows))))
    is_log = answer.columns[:3] == CHANGE
    for line in rows:
        put(line, _SIGNS.get(line[0], "") if is_log else "")
    if not rows:
        put("(no rows)")


def aligned(answer: Answer, time: str, least: list[int] | None = None) -> list[str]:
    """The header and the rows, with numbers to the right; columns are as wide as they were in `least`, or wider."""
    names = tuple(_shown(a.name, STRING, time) for a in answer.columns)
    rows = [
        tuple(_shown(v, a.type, answer.time_of(a, time)) for v, a in zip(row, answer.columns, strict=True))
        for row in answer.rows
    ]
    right = [is_number(a.type, answer.time_of(a, time)) for a in answer.columns]
    widths = [max(map(cell_len, column)) for column in zip(names, *rows, strict=True)]
    if least is not None:
        least[:] = widths = [max(a, b) for a, b in zip(widths, least or widths, strict=True)]

    def line(cells: tuple[str, ...]) -> str:
        padded = []
        for cell, width, to_right in zip(cells, widths, right, strict=True):
            gap = " " * (width - cell_len(cell))
            padded.append(gap + cell if to_right else cell + gap)
        return "  ".join(padded).rstrip()

    return [line(names), *map(line, rows)]


def _shown(value: Value, type_: Type, time: str) -> str:
    """A value in one line, whatever it holds."""
    if value is None:
        return "null"
    return _CONTROL.sub(lambda c: c[0].encode("unicode_escape").decode(), text(value, type_, time))


# parquet


def write_parquet(answer: Answer, time: str, path: Path) -> None:
    """Writes an answer with types of its own: instants in microseconds UTC, or numbers if they are wanted."""
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    fields = [pa.field(a.name, _arrow_type(pa, a.type, answer.time_of(a, time))) for a in answer.columns]
    columns = list(zip(*answer.rows, strict=True)) or [() for _ in fields]
    arrays = [
        pa.array([_arrow_value(v, a.type, answer.time_of(a, time)) for v in column], f.type)
        for column, a, f in zip(columns, answer.columns, fields, strict=True)
    ]
    pq.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), path)


def write_by_spark(answer: Answer, time: str, path: Path) -> None:
    """Writes an answer as Spark does, a folder of files in the order of the rows, without it passing through here."""
    from pyspark.sql import functions as F  # noqa: N812

    from astralq.spark.error_translation import translated_errors

    assert answer.frame is not None
    if path.exists() and not (path.is_dir() and (path / "_SUCCESS").exists()):
        what = "folder that Spark has not written" if path.is_dir() else "file"
        raise OutputError(f"{path} is there already, a {what}", hint="name another one, or remove it")
    df = answer.frame
    for a in answer.columns:
        if a.type.name == "TIMESTAMP" and answer.time_of(a, time) != "iso":
            micros = F.unix_micros(F.col(f"`{a.name}`"))
            whole = time == "micros"
            df = df.withColumn(
                a.name, micros if whole else (micros.cast("decimal(20,0)") / 1_000_000).cast("decimal(18,6)")
            )
    with translated_errors():
        df.write.mode("overwrite").parquet(str(path))


def _arrow_type(pa: Any, type_: Type, time: str) -> Any:
    """The type of a column in Arrow; instants as numbers, if they are wanted."""
    if type_.name == "TIMESTAMP" and time != "iso":
        return pa.decimal128(18, 6) if time == "seconds" else pa.int64()
    return arrow_type(type_)


def _arrow_value(value: Value, type_: Type, time: str) -> Any:
    if type_.name == "TIMESTAMP" and time == "seconds" and isinstance(value, int):
        return Decimal(value).scaleb(-6)
    return arrow_value(value, type_)
