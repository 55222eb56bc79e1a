"""INSERT INTO: where an answer goes instead of standard output."""

from __future__ import annotations

from pathlib import Path

from astralq.algebra.sources import Origin
from astralq.cli.formats import write_parquet
from astralq.cli.output import Write
from astralq.errors import DataError, nearest
from astralq.printing.answers import Answer
from astralq.printing.lines import lines_for

SINKS = ("csv", "json", "parquet")


def sink_file(sink: Origin, folder: Path, found: Answer) -> tuple[Path, Write]:
    """The file that an answer goes to, beside the query file if its path is relative, and what writes it.

    As in Spark a csv file has no header unless OPTIONS (header = 'true') asks for it. Times are ISO 8601.
    """
    if sink.format not in SINKS:
        live = sink.format == "kafka"
        raise DataError(
            f"INSERT INTO {sink.format} " + ("is for continuous runs" if live else "is not known"),
            hint=f"use astralq start, or write to {', '.join(SINKS)}" if live else nearest(sink.format, SINKS),
        )
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
