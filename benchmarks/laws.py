"""Queries with laws against the same without: how long they take, and how much state they keep.

scripts/bench laws [NAME…] [--rows N]
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from astralq.cli.answers import Question
from astralq.cli.engines import SparkEngine
from astralq.language.script import read_script
from astralq.laws.optimize import rules_without
from astralq.runtime.queries import ContinuousQuery
from astralq.runtime.run import ContinuousRun, Settings
from astralq.runtime.sinks import FileSink
from benchmarks.harness import Answer, checked, session

START = 1_772_323_200_000_000  # 2026-03-01T00:00:00Z
HOUR = 3_600_000_000
DAY = 24 * HOUR
ROUNDS = 5

Columns = dict[str, "np.ndarray"]


@dataclass(frozen=True)
class Case:
    """A query over parquet files: how they are made, and what laws should bring at the most."""

    name: str
    query: str
    make: Callable[[Path, int], None]
    time: float | None = None  # the target: time with laws ÷ time without
    state: float | None = None  # the target: state with laws ÷ state without
    declared: str = "CREATE STREAM s (k INT, v INT, w DOUBLE, ts TIMESTAMP) FROM parquet 's' TIMESTAMP BY ts;\n"


def write(folder: Path, name: str, columns: Columns, files: int = 8) -> None:
    """Columns as parquet files, in the order of their rows."""
    (folder / name).mkdir(parents=True)
    count = len(next(iter(columns.values())))
    for f in range(files):
        part = slice(f * count // files, (f + 1) * count // files)
        table = {n: pa.array(c[part], pa.timestamp("us", tz="UTC") if n == "ts" else None) for n, c in columns.items()}
        pq.write_table(pa.table(table), folder / name / f"{f:05d}.parquet")


def readings(rows: int, span: int, keys: int = 100) -> Columns:
    """Rows in the order of time, with a value from 0 to 99."""
    rng = np.random.default_rng(5)
    return {
        "k": rng.integers(0, keys, rows).astype("int32"),
        "v": rng.integers(0, 100, rows).astype("int32"),
        "w": np.round(rng.normal(20, 5, rows), 2),
        "ts": START + np.sort(rng.integers(0, span, rows)),
    }


def a_day(folder: Path, rows: int) -> None:
    write(folder, "s", readings(rows, DAY))


MEASURED = ("pressure", "humidity", "wind", "gust", "rain", "sun")


def a_month(folder: Path, rows: int) -> None:
    """What weather stations send, a file for each day."""
    rng = np.random.default_rng(7)
    measured = {name: np.round(rng.normal(50, 10, rows), 1) for name in MEASURED}
    write(folder, "s", {**readings(rows, 30 * DAY), **measured}, files=30)


def wide(folder: Path, rows: int) -> None:
    """Forty attributes besides the key, a value and the time; a tenth of the rows, as they are so wide."""
    rng = np.random.default_rng(6)
    few = readings(rows // 10, DAY)
    write(folder, "s", {**few, **{f"x{n}": np.round(rng.normal(0, 1, rows // 10), 3) for n in range(37)}})


def three(folder: Path, rows: int) -> None:
    """Two streams that meet in many pairs, and few keys that are looked for."""
    for name, seed in (("a", 1), ("b", 2)):
        rng = np.random.default_rng(seed)
        count = rows // 40
        columns: Columns = {
            "k": rng.integers(0, 20, count).astype("int32"),
            "j": rng.integers(0, 1000, count).astype("int32"),
            "ts": START + np.sort(rng.integers(0, DAY, count)),
        }
        write(folder, name, columns)
    write(folder, "c", {"j": np.arange(5, dtype="int32"), "name": np.array([f"n{n}" for n in range(5)])}, files=1)


def two_relations(folder: Path, rows: int) -> None:
    for name in ("p", "q"):
        rng = np.random.default_rng(len(name))
        keys = rng.integers(0, 10_000, 10_000).astype("int32")
        named = np.array([f"{name} {k}" for k in keys])
        write(folder, name, {"k": keys, "x": rng.normal(0, 1, 10_000), "name": named}, files=1)


SELECTED = "ISTREAM(SELECT * FROM s [RANGE 1 HOUR SLIDE 1 MINUTE] WHERE v < {});"
CASES = [
    Case("select-1", SELECTED.format(1), a_day, 0.35, 0.02),
    Case("select-10", SELECTED.format(10), a_day, 0.5, 0.15),
    Case("select-50", SELECTED.format(50), a_day, 0.9, 0.6),
    Case(
        "columns",
        "ISTREAM(SELECT k, v FROM s [RANGE 1 HOUR SLIDE 1 MINUTE]);",
        wide,
        1.0,
        0.2,
        "CREATE STREAM s (k INT, v INT, w DOUBLE, ts TIMESTAMP, "
        + ", ".join(f"x{n} DOUBLE" for n in range(37))
        + ") FROM parquet 's' TIMESTAMP BY ts POSITION BY ts, k, v;\n",
    ),
    Case(
        "time",
        "ISTREAM(SELECT * FROM s [RANGE 1 HOUR SLIDE 1 MINUTE] "
        "WHERE ts >= TIMESTAMP '2026-03-10' AND ts < TIMESTAMP '2026-03-11');",
        a_month,
        0.15,
        declared="CREATE STREAM s (k INT, v INT, w DOUBLE, ts TIMESTAMP, "
        + ", ".join(f"{name} DOUBLE" for name in MEASURED)
        + ") FROM parquet 's' TIMESTAMP BY ts;\n",
    ),
    Case(
        "join-order",
        "SELECT a.k, b.j, c.name FROM a [RANGE 10 MINUTES SLIDE 10 MINUTES] "
        "JOIN b [RANGE 10 MINUTES SLIDE 10 MINUTES] ON a.k = b.k JOIN c ON b.j = c.j;",
        three,
        0.5,
        declared="CREATE STREAM a (k INT, j INT, ts TIMESTAMP) FROM parquet 'a' TIMESTAMP BY ts;\n"
        "CREATE STREAM b (k INT, j INT, ts TIMESTAMP) FROM parquet 'b' TIMESTAMP BY ts;\n"
        "CREATE RELATION c (j INT, name STRING) FROM parquet 'c';\n",
    ),
    Case(
        "product",
        "SELECT p.k, p.x, q.name FROM p, q WHERE p.k = q.k;",
        two_relations,
        0.05,
        declared="CREATE RELATION p (k INT, x DOUBLE, name STRING) FROM parquet 'p';\n"
        "CREATE RELATION q (k INT, x DOUBLE, name STRING) FROM parquet 'q';\n",
    ),
]


@dataclass
class Timed:
    """The best time of one side, its answer, and the most state that a continuous run of it kept."""

    laws: bool
    seconds: float = float("inf")
    answer: Answer | None = None
    state: int | None = None
    engine: SparkEngine = field(init=False)

    def __post_init__(self) -> None:
        self.engine = SparkEngine(laws=self.laws)


def timed(case: Case, folder: Path, rounds: int = ROUNDS) -> list[Timed]:
    """Both sides in turn, after a round to warm up."""
    statement = read_script(case.declared + case.query).queries[0]
    sides = [Timed(True), Timed(False)]
    for attempt in range(rounds + 1):
        for side in sides:
            began = time.perf_counter()
            answered = side.engine.answered(Question(1, case.name, folder, statement, None, None))
            answer = checked(answered.df)
            taken = time.perf_counter() - began
            if attempt or taken > 60:
                side.seconds = min(side.seconds, taken)
            assert side.answer in (None, answer), f"{case.name}: two runs differ"
            side.answer = answer
            if taken > 60 and attempt == 0:
                break
    assert sides[0].answer == sides[1].answer, f"{case.name}: laws change the answer"
    return sides


def with_state(case: Case, folder: Path, spark: SparkSession, sides: Sequence[Timed]) -> None:
    """The most bytes of state that an epoch leaves, where each file is one, and all that is not needed is taken out."""
    text = case.declared.replace("TIMESTAMP BY", "OPTIONS (maxFilesPerTrigger = '1') TIMESTAMP BY") + case.query
    statement = read_script(text).queries[0]
    for side in sides:
        kept: list[int] = []
        work = Path(tempfile.mkdtemp())
        settings = Settings(once=True, always_compact=True)
        report = lambda p, kept=kept: kept.append(p.queries[0].state_bytes)  # noqa: E731
        run = ContinuousRun(spark, work / "checkpoint", settings, on_progress=report)
        rules = rules_without(laws=side.laws)
        query = ContinuousQuery("1", statement.operator, None, folder, rules=rules)
        run.open([(query, FileSink(work / "out", "parquet"))])
        run.start()
        run.join(None)
        assert run.failure is None, run.failure
        shutil.rmtree(work)
        side.state = max(kept)


def main(given: Sequence[str] | None = None) -> int:
    known = [c.name for c in CASES]
    parser = argparse.ArgumentParser(prog="scripts/bench laws", description="Queries with laws and without.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--rows", type=int, default=2_000_000)
    asked = parser.parse_args(given)
    if wrong := set(asked.names) - set(known):
        parser.error(f"no case is called {', '.join(sorted(wrong))}")
    spark = session()
    print(f"{'':12}{'with':>9}{'without':>9}{'ratio':>8}{'target':>8}", end="")
    print(f"   {'state':>9}{'without':>11}{'ratio':>8}{'target':>8}")
    for case in CASES:
        if asked.names and case.name not in asked.names:
            continue
        folder = Path(tempfile.mkdtemp())
        case.make(folder, asked.rows)
        sides = timed(case, folder)
        on, off = sides
        line = f"{case.name:12}{on.seconds:>8.2f}s{off.seconds:>8.2f}s{on.seconds / off.seconds:>8.3f}{case.time:>8}"
        if case.state is not None:
            with_state(case, folder, spark, sides)
            assert on.state is not None
            assert off.state is not None
            line += f"   {on.state:>9,}{off.state:>11,}{on.state / off.state:>8.3f}{case.state:>8}"
        print(line, flush=True)
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
