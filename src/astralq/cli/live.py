"""The terminal of a continuous run: answers on standard output, progress on the last line and in a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from rich.console import Console
from rich.status import Status

from astralq.cli.formats import aligned
from astralq.printing.answers import Answer
from astralq.printing.lines import csv_header, csv_lines, json_lines
from astralq.runtime.progress import RunProgress
from astralq.runtime.sinks import Staged


@dataclass
class Printed:
    """A sink that prints the answers of all queries, with a header where the query changes."""

    format: str
    time: str
    queries: int
    out: IO[str] = field(default_factory=lambda: sys.stdout)
    _widths: dict[str, list[int]] = field(default_factory=dict)
    _last: str = ""
    _header: tuple[str, ...] = ()

    def publish(self, staged: Staged) -> None:
        number = int(staged.query) if staged.query.isdigit() else staged.query
        answer = Answer(number, "", staged.columns, list(staged.rows()))
        self.out.writelines(self._lines(staged.query, answer))
        self.out.flush()

    def _lines(self, query: str, answer: Answer) -> list[str]:
        several = self.queries > 1
        changed, self._last = self._last != query, query
        if self.format == "jsonl":
            return list(json_lines([answer], self.time, numbered=several))
        if self.format == "csv":
            before, self._header = self._header, csv_header(answer, numbered=several)
            return list(csv_lines([answer], self.time, numbered=several, before=before))
        widths = self._widths.setdefault(query, [])
        header, *rows = aligned(answer, self.time, widths)
        first = []
        if changed:
            title = [f"-- query {query}"] if several else []
            first = [*title, header, "─" * max(map(len, [header, *rows]))]
        return [f"{line}\n" for line in [*first, *rows]]


@dataclass
class ProgressReporter:
    """Reports progress: on the last line of a terminal, and as JSON lines in a file."""

    file: Path | None
    _status: Status | None = None

    def __enter__(self) -> Callable[[RunProgress], None]:
        console = Console(stderr=True)
        if console.is_terminal:
            self._status = console.status("waiting for data")
            self._status.start()
        return self.report

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def report(self, progress: RunProgress) -> None:
        if self._status is not None:
            self._status.update(progress.line())
        if self.file is not None:
            with self.file.open("a", encoding="utf-8") as f:
                f.write(json.dumps(progress.record) + "\n")
