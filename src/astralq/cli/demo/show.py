"""What `astralq demo` prints: each question in words, its query, its answer, and a picture where one helps."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

from rich.console import Console
from rich.text import Text

from astralq.cli.answers import Question
from astralq.cli.demo.live import run_live
from astralq.cli.demo.ocean import LATENESS, Ocean
from astralq.cli.demo.pictures import bars, track_map
from astralq.cli.demo.questions import DECLARED, LIVE, QUESTIONS, Asked
from astralq.cli.engines import SparkEngine, SparkPlace
from astralq.cli.formats import aligned
from astralq.cli.live import Printed
from astralq.cli.progress import progress
from astralq.errors import DataError
from astralq.language import read_script
from astralq.model.values import Values
from astralq.printing.answers import Answer
from astralq.runtime.progress import RunProgress
from astralq.timeline import format_instant, instant

SHOWN = 10
"""How many rows of an answer are printed; fewer where a picture shows them all."""

SECONDS = 10.0
"""How long the last query is answered live."""


def show_all(rows: int, keep: Path | None, master: str | None) -> None:
    """Makes the ocean, asks all questions, and runs one of them live."""
    with _folder(keep) as folder:
        ocean = Ocean.of(rows)
        written = ocean.write(folder)
        for asked in QUESTIONS:
            (folder / f"{asked.name}.aql").write_text(asked.text, encoding="utf-8")
        live = DECLARED.replace("'measures'", "'arriving'") + "\n" + LIVE + "\n"
        (folder / "9_live.aql").write_text(live, encoding="utf-8")
        shown = _Shown(
            folder, SparkEngine(SparkPlace(master, own=True)), Console(highlight=False, markup=False, emoji=False)
        )
        shown.world(ocean, written)
        for k, asked in enumerate(QUESTIONS, start=1):
            shown.question(k, asked)
        shown.live(len(QUESTIONS) + 1, ocean, live)
        shown.end(keep)


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """A folder to keep, which has to be new or empty, or one that is gone afterwards."""
    if keep is None:
        found = Path(tempfile.mkdtemp(prefix="astralq-demo-"))
        try:
            yield found
        finally:
            shutil.rmtree(found, ignore_errors=True)
        return
    if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise DataError(f"{keep} is there already", hint="name a folder that is new or empty")
    keep.mkdir(parents=True, exist_ok=True)
    yield keep.absolute()


@dataclass(frozen=True)
class _Shown:
    folder: Path
    engine: SparkEngine
    console: Console

    def put(self, lines: Sequence[str], style: str = "", indent: str = "  ") -> None:
        for line in lines:
            self.console.print(Text(f"{indent}{line}".rstrip(), style), soft_wrap=True)
        sys.stdout.flush()

    def world(self, ocean: Ocean, written: dict[str, int]) -> None:
        drifting = sum(b.drifts for b in ocean.buoys)
        anchored, measures, fixes = len(ocean.buoys) - drifting, written["measures/day.csv"], written["positions.csv"]
        text = (
            f"{anchored} anchored and {drifting} drifting buoys measure temperature, pressure, wind and salinity every "
            f"five minutes: {measures:,} measures and {fixes:,} positions. Some are missing, some come twice, some up "
            "to two minutes late; buoy 5 is deployed at 6 o'clock, buoy 6 picked up at 18."
        )
        self.put(["A day in the ocean of paper 001"], "bold", "")
        self.put(["", *wrap(text, 76), "", *DECLARED.splitlines()])

    def question(self, number: int, asked: Asked) -> None:
        self._ask(number, asked.words, asked.query, asked.at)
        statement = read_script(asked.text).queries[0]
        question = Question(
            number,
            f"{asked.name}.aql",
            self.folder,
            statement,
            None if asked.at is None else instant(asked.at),
            None if asked.until is None else instant(asked.until),
        )
        with progress() as tell:
            tell(f"question {number}")
            found = self.engine.answer(question)
            rows = list(found.rows)
        few = SHOWN if asked.bars is None else 3
        answer = Answer(found.number, found.file, found.columns, rows[:few])
        header, *lines = aligned(answer, "iso")
        self.put([header, "─" * max(map(len, (header, *lines))), *lines])
        if len(rows) > few:
            self.put([f"… and {len(rows) - few} more"])
        if asked.bars is not None:
            self.put(["", *self._bars(found, rows, asked.bars)])
        if asked.track is not None:
            self.put(["", *self._track(asked.track, rows)])
        if asked.remark:
            self.put(["", asked.remark], "italic")

    def _ask(self, number: int, words: str, query: str, at: str | None = None) -> None:
        first, *rest = words.splitlines()
        self.put(["", f"{number}. {first}", *(f"   {line}" for line in rest), ""], "bold", "")
        self.put(query.splitlines(), "cyan")
        self.put(["", *([f"asked at {at}:", ""] if at else [])])

    def _bars(self, answer: Answer, rows: Sequence[Values], column: str) -> list[str]:
        place = [a.name for a in answer.columns].index(column)
        drawn = [(format_instant(r[0])[11:16], r[place]) for r in rows]  # type: ignore[arg-type]
        return bars([label for label, _ in drawn], [float(v) for _, v in drawn])  # type: ignore[arg-type]

    def _track(self, buoy: int, rows: Sequence[Values]) -> list[str]:
        """The track of a buoy; what the last window holds is set off."""
        lines = (self.folder / "positions.csv").read_text().splitlines()[1:]
        fixes = [line.split(",") for line in lines if line.startswith(f"{buoy},")]
        last, held = rows[-1][0], rows[-1][-1]
        assert isinstance(last, int)
        assert isinstance(held, int)
        upto = [f for f in fixes if instant(f[-1]) <= last]
        points = [(float(f[1]), float(f[2])) for f in upto]
        drawn = track_map(points, held)
        return [*drawn, "○ where it was deployed  · its track  ● its last 50 km  ◎ where it is"]

    def live(self, number: int, ocean: Ocean, text: str) -> None:
        self._ask(
            number,
            "The same kind of query, live: half an hour of the day arrives every\n"
            "second as a file, and half hours are answered as soon as nothing of\n"
            "them can be missing. Ten seconds, with progress:",
            LIVE,
        )
        told: list[RunProgress] = []
        with self.console.status("waiting for data") if self.console.is_terminal else nullcontext() as status:

            def report(now: RunProgress) -> None:
                told.append(now)
                if status is not None:
                    status.update(now.line())

            sink = Printed("table", "iso", 1)
            run_live(self.engine.engine.spark, ocean, self.folder, text, sink, report, SECONDS)
        if told:
            self.put(["", *wrap(told[-1].line(), 76)])
        self.put(
            [f"What may come {LATENESS // 60_000_000} minutes late is waited for: LATENESS in the declaration."],
            "italic",
        )

    def end(self, keep: Path | None) -> None:
        if keep is None:
            self.put(
                ["", "To play with it: astralq demo --keep ocean, then", "astralq run ocean/4_continuous.aql"], "", ""
            )
            return
        self.put(["", f"The data and the queries are in {keep}. Try", ""], "", "")
        self.put([f"astralq run {keep}/4_continuous.aql", f"astralq draw {keep}/8_last_50_km.aql --out track.svg"])
