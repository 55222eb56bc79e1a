"""astralq run: each query answers for itself; one that fails is told, and does not take the others with it."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from astralq.algebra.sources import SensedSource, StreamSource, sources_of
from astralq.cli.answers import Question
from astralq.cli.engines import CommandEngine
from astralq.cli.formats import TextWriter, write_by_spark, write_parquet
from astralq.cli.output import check_target, make_folder, write_all
from astralq.cli.progress import progress
from astralq.cli.scripts import CommandError, Source, errors_of, place, shown
from astralq.cli.sinks import sink_file
from astralq.errors import AstralError, DataError
from astralq.io.files import source_files
from astralq.io.times import lasts_long, two_digit_years
from astralq.printing.answers import Answer
from astralq.timeline import Instant


def questions_of(sources: Sequence[Source], at: Instant | None, until: Instant | None) -> list[Question]:
    """All queries of all files, numbered, and what is asked of them."""
    queries = ((s, q) for s in sources for q in s.script.queries)
    return [
        Question(k, source.file, source.folder, query, at, until or (source.wishes.until if at is None else None))
        for k, (source, query) in enumerate(queries, start=1)
    ]


@dataclass
class Output:
    """Where the answers of a command go, and in which format: standard output, a file, or a folder of files."""

    format: str
    time: str
    out: Path | None
    several: bool  # queries whose answers go there
    several_files: bool  # of queries
    text: TextWriter = field(init=False)
    _gathered: IO[str] | None = None

    def __post_init__(self) -> None:
        self.text = TextWriter(self.format, self.time, several=self.several, several_files=self.several_files)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """A file gets the answers that there are when all queries have been tried."""
        if self.out is None or self.format == "parquet":
            yield
            return
        check_target(self.out)
        with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as gathered:
            self._gathered = gathered
            yield
            if gathered.tell():
                write_all({self.out: self._copied})

    def _copied(self, path: Path) -> None:
        assert self._gathered is not None
        self._gathered.seek(0)
        with path.open("w", encoding="utf-8", newline="") as f:
            shutil.copyfileobj(self._gathered, f)

    def put(self, answer: Answer) -> None:
        """Writes a whole answer, or nothing of it: its rows may be computed while they are written."""
        if self.out is not None and self.format == "parquet":
            self._parquet(answer, self.out)
            return
        target = sys.stdout if self._gathered is None else self._gathered
        if self.format == "table":
            self.text.put(answer, target)
        else:
            with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as waiting:
                self.text.put(answer, waiting)
                waiting.seek(0)
                shutil.copyfileobj(waiting, target)
        target.flush()

    def _parquet(self, answer: Answer, out: Path) -> None:
        """One file; or, for several queries, a folder with a file for each."""
        target = out / f"{answer.number}.parquet" if self.several else out
        if answer.frame is not None:
            write_by_spark(answer, self.time, target)
            return
        if self.several:
            make_folder(out)
        write_all({target: lambda path: write_parquet(answer, self.time, path)})


def run_all(engine: CommandEngine, questions: Sequence[Question], output: Output) -> bool:
    """Answers the queries one behind the other; whether none of them failed."""
    failed = False
    sinks: set[Path] = set()
    with output.opened(), progress() as tell:
        engine.share(questions)
        for q in questions:
            tell(f"query {q.number} of {len(questions)}, {shown(q.file)}")
            try:
                try:
                    answer = _answered(engine, q, output, sinks)
                except CommandError:
                    if not engine.retries_alone(q):
                        raise
                    answer = _answered(engine, q, output, sinks)
            except CommandError as e:
                failed = True
                print(e, file=sys.stderr)
                continue
            for one in (*answer.set_aside, *_warnings(q, answer)):
                print(f"{place(q.file, q.statement)}: {one}", file=sys.stderr)
    return not failed


def _warnings(q: Question, answer: Answer) -> Iterator[str]:
    """What may not be meant, as far as it is known without looking at the rows again."""
    sources = [s for s in sources_of(q.statement.operator) if not isinstance(s, SensedSource)]
    for source in sources:
        yield from (f"{source.name}: {w}" for w in two_digit_years(source))
    if answer.observed is not None and q.end is None and all(isinstance(s, StreamSource) for s in sources):
        first, last = answer.observed
        long = lasts_long(first.t, last)
        if long is not None:
            yield long


def _answered(engine: CommandEngine, q: Question, output: Output, sinks: set[Path]) -> Answer:
    with errors_of(q.file, q.statement):
        answer = engine.answer(q)
        _put(q, answer, output, sinks)
    return answer


def _put(q: Question, answer: Answer, output: Output, sinks: set[Path]) -> None:
    if q.statement.sink is None:
        output.put(answer)
        return
    path, write = sink_file(q.statement.sink, q.folder, answer)
    if path in sinks:
        raise DataError(f"two queries are inserted into {path}", hint="name two files")
    write_all({path: write})
    sinks.add(path)


def spare_inputs(sources: Sequence[Source], targets: Sequence[Path]) -> None:
    """An answer never replaces a file that the run reads: its queries or their data."""
    if not targets:
        return
    read = {Path(s.file).resolve() for s in sources}
    for source in sources:
        for query in source.script.queries:
            try:
                read |= source_files(query.operator, source.folder)
            except AstralError:
                continue  # what is wrong with its sources is told when it is answered
    for target in targets:
        if target.resolve() in read:
            raise DataError(
                f"{target} is read by this run, so the answer cannot be written to it", hint="name another file"
            )
