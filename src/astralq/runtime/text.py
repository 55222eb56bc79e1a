"""Answers of epochs as csv and json files, with the same lines that a batch run writes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from astralq.algebra.sources import Origin
from astralq.model.values import Values
from astralq.printing.answers import Answer
from astralq.printing.lines import lines_for
from astralq.schema import Attribute


def write_text_file(sink: Origin, rows: Iterable[Values], columns: tuple[Attribute, ...], path: Path) -> None:
    """Writes an epoch's answer as csv or json."""
    with path.open("w", encoding="utf-8", newline="") as f:
        f.writelines(lines_for(sink, Answer(1, "", columns, rows)))
