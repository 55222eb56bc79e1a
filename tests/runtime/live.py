"""A continuous run that tests take step by step: files that come, epochs, crashes, and what came out in the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from astralq.algebra.sources import RelationSource, StreamSource
from astralq.language import Statement, read_script
from astralq.laws.rule import Rule
from astralq.laws.rules import RULES
from astralq.runtime.checkpoint import failpoints
from astralq.runtime.queries import ContinuousQuery
from astralq.runtime.run import ContinuousRun, Settings
from astralq.runtime.sinks import FileSink
from astralq.spark import Engine
from astralq.spark.sources.files import read_frame
from astralq.timeline import Duration

Row = tuple[Any, ...]


class CrashError(Exception):
    """A crash that a test survives, instead of kill -9; no code catches it."""


@dataclass
class Live:
    """A query in a folder, its input files, its checkpoint, and its answers."""

    spark: SparkSession
    folder: Path
    text: str
    idle: Duration | None = None
    fed: dict[str, int] = field(default_factory=dict)
    rules: Sequence[Rule] = RULES

    @property
    def statement(self) -> Statement:
        return read_script(self.text).queries[0]

    @property
    def query(self) -> ContinuousQuery:
        return ContinuousQuery("1", self.statement.operator, self.statement.t0, self.folder, rules=self.rules)

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    @property
    def sink(self) -> FileSink:
        return FileSink(self.folder / "out", "parquet")

    # Input

    def feed(self, source: str, lines: Sequence[str], *, modified: float | None = None) -> Path:
        """One more csv file without a header in the folder of a source, as a whole."""
        folder = self.folder / source
        folder.mkdir(parents=True, exist_ok=True)
        number = self.fed[source] = self.fed.get(source, 0) + 1
        hidden, path = folder / f".{number:06d}.csv", folder / f"{number:06d}.csv"
        hidden.write_text("".join(f"{line}\n" for line in lines))
        # Spark takes files in the order of their times; those of one moment would come in any order.
        when = 1_700_000_000.0 + number if modified is None else modified
        os.utime(hidden, (when, when))
        hidden.rename(path)
        return path

    # Steps

    def open(self, *, query: ContinuousQuery | None = None) -> ContinuousRun:
        run = ContinuousRun(self.spark, self.checkpoint, Settings(once=True, idle=self.idle, always_compact=True))
        run.open([(query or self.query, self.sink)])
        return run

    @contextmanager
    def opened(self) -> Iterator[ContinuousRun]:
        run = self.open()
        try:
            yield run
        finally:
            run.close()

    @staticmethod
    def take(run: ContinuousRun) -> None:
        """Ingests all files that are there."""
        run.listen()
        for log in run.epochs.ingest_logs.values():
            if log.query is not None:
                log.query.awaitTermination()

    def go_on(self, run: ContinuousRun) -> None:
        """Takes what is there, and an epoch."""
        self.take(run)
        run.step()

    def close(self) -> None:
        """To the end, as `--once` does."""
        with self.opened() as run:
            self.take(run)
            run.step(closing=True)

    # Output

    def answer(self) -> list[Row]:
        """All rows of the answer, in their order; each is there once."""
        files = sorted(str(f) for f in (self.folder / "out").glob("*.parquet"))
        if not files:
            return []
        rows = [tuple(r) for r in self.spark.read.parquet(*files).orderBy("_n").collect()]
        assert [r[-1] for r in rows] == list(range(len(rows))), "rows are missing, or there twice"
        return [r[:-1] for r in rows]

    def historic(self) -> list[Row]:
        """What a batch run over the same files answers."""
        op = self.statement.operator
        frames = {
            s.name: read_frame(self.spark, s, self.folder)
            for s in op.walk()
            if isinstance(s, StreamSource | RelationSource)
        }
        return [tuple(r) for r in Engine(self.spark).answered(op, frames, t0=self.statement.t0).df.collect()]


@contextmanager
def crashing(point: str, number: int) -> Iterator[None]:
    """The process would be killed after a step; here it raises, once."""
    done: list[int] = []

    def watch(here: str, n: int) -> None:
        if (here, n) == (point, number) and not done:
            done.append(n)
            raise CrashError(f"{point} {number}")

    failpoints.watchers.append(watch)
    try:
        yield
        assert done, f"{point} {number} was never reached"
    finally:
        failpoints.watchers.remove(watch)


def until_it_crashes(f: Callable[[], None]) -> None:
    """Runs until the crash, wherever it is raised: in an epoch, or in the streaming query of a source."""
    with pytest.raises((CrashError, StreamingQueryException)) as raised:
        f()
    assert "CrashError" in f"{raised.type.__name__} {raised.value}"
