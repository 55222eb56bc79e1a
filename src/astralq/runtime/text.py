"""Answers of epochs as text: the same lines that a batch run writes."""

from __future__ import annotations

from pathlib import Path

from astralq.algebra.sources import Origin
from astralq.printing.answers import Answer
from astralq.printing.lines import csv_lines, json_lines
from astralq.runtime.sinks import Staged


def write_text_file(sink: Origin, staged: Staged, path: Path) -> None:
    """An epoch's answer as csv or json; a csv file has no header unless OPTIONS (header = 'true') asks for it."""
    answer = Answer(1, "", staged.columns, staged.rows())
    if sink.format == "csv":
        header = sink.option("header", "false").lower() == "true"
        lines = csv_lines([answer], "iso", header=header, sep=sink.option("sep", sink.option("delimiter", ",")))
    else:
        lines = json_lines([answer], "iso")
    with path.open("w", encoding="utf-8", newline="") as f:
        f.writelines(lines)
