"""INSERT INTO: where an answer goes instead of standard output."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from astralq.algebra.answers import STAMP
from astralq.algebra.sources import POSITION, Origin
from astralq.cli.formats import write_parquet
from astralq.cli.output import Write
from astralq.errors import DataError, nearest
from astralq.io.declared import check_progress
from astralq.io.progress import with_progress
from astralq.printing.answers import Answer
from astralq.printing.lines import lines_for

SINKS = ("csv", "json", "parquet")


def sink_file(sink: Origin, folder: Path, found: Answer) -> tuple[Path, Write]:
    """The file that an answer goes to, beside the query file if its path is relative, and what writes it.

    A csv file has a header unless OPTIONS (header = 'false') says otherwise. Times are ISO 8601.
    """
    if sink.format not in SINKS:
        live = sink.format == "kafka"
        raise DataError(
            f"INSERT INTO {sink.format} " + ("is for continuous runs" if live else "is not known"),
            hint=f"use astralq start, or write to {', '.join(SINKS)}" if live else nearest(sink.format, SINKS),
        )
    if sink.progress:
        found = _with_progress(sink, found)
    for name, _ in sink.options:
        if sink.format != "csv" or name.lower() not in ("header", "sep", "delimiter"):
            raise DataError(f"INSERT INTO {sink.format} has no option {name!r}", hint="csv has header and sep")

    def write(path: Path) -> None:
        if sink.format == "parquet":
            write_parquet(found, "iso", path)
            return
        with path.open("w", encoding="utf-8", newline="") as f:
            f.writelines(lines_for(sink, found))

    return folder / sink.path, write


def _with_progress(sink: Origin, found: Answer) -> Answer:
    """An answer with the positions of its tuples, and heartbeats at its beginning and its end."""
    check_progress(sink, found.columns)
    if found.observed is None:
        raise DataError(f"a state is not inserted into {sink.path!r} WITH PROGRESS", hint="leave out --at")
    (start, end), columns = found.observed, found.columns
    rows = with_progress(found.rows, len(columns) - len(STAMP), (start.t, start.i), end)
    return replace(found, columns=(*columns, POSITION), rows=rows, frame=None)
