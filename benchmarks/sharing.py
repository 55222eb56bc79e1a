"""Queries that are planned together against the same queries alone: time, and state in a continuous run.

scripts/bench sharing [start|size|mixed|control|live …] [--rows N] [--queries N …] [--picture FILE]
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from astralq.language.script import read_script
from astralq.plan.group_plan import QUERY
from astralq.runtime.queries import ContinuousQuery
from astralq.runtime.run import ContinuousRun, Settings
from astralq.runtime.sinks import FileSink
from astralq.spark.batch import Batch
from astralq.spark.together import Together
from benchmarks.harness import checked, session
from benchmarks.laws import a_day
from benchmarks.live import START as FEED_START
from benchmarks.live import write_file

DECLARED = "CREATE STREAM s (k INT, v INT, w DOUBLE, ts TIMESTAMP) FROM parquet 's' {}TIMESTAMP BY ts;\n"
ALONE = 10
"""Of how many queries the time alone is measured; for more of them it is taken to be in proportion."""
RATE = 20_000
"""Rows a second in a feed."""


def differing_in_start(n: int) -> str:
    """Windows by rows, each an hour later than the one before, with limits of their own."""
    start = f"START AT TIMESTAMP '2026-03-01T{n % 20:02d}:00:00Z';\n"
    return f"{start}ISTREAM(SELECT * FROM s [PARTITION BY k ROWS 100 SLIDE 1 HOUR] WHERE v < {1 + n % 90});"


def off_by_a_second(n: int) -> str:
    """The control: no start is a whole number of slides after another."""
    return differing_in_start(n).replace(":00:00Z", f":00:{n % 60:02d}Z")


def differing_in_size(n: int) -> str:
    size = 10 * (n + 1)
    return f"ISTREAM(SELECT k, avg(w) AS m, count(*) AS n FROM s [RANGE {size} MINUTES SLIDE 10 MINUTES] GROUP BY k);"


def differing_in_all(n: int) -> str:
    """Start, size, slide, and a condition on the key."""
    slide = (5, 10, 15, 30)[n % 4]
    start = f"START AT TIMESTAMP '2026-03-01T{n % 12:02d}:00:00Z';\n"
    window = f"[RANGE {slide * (1 + n % 24)} MINUTES SLIDE {slide} MINUTES]"
    return f"{start}ISTREAM(SELECT k, avg(w) AS m, max(v) AS top FROM s {window} WHERE k < {20 + n % 80} GROUP BY k);"


@dataclass(frozen=True)
class Case:
    """Queries by their numbers, and for how many of them which ratio is aimed at."""

    name: str
    query: Callable[[int], str]
    targets: dict[int, float]


CASES = [
    Case("start", differing_in_start, {10: 0.3}),
    Case("size", differing_in_size, {100: 0.1}),
    Case("mixed", differing_in_all, {}),
    Case("control", off_by_a_second, {}),
]


@dataclass(frozen=True)
class Timed:
    """So many queries, together and alone, in seconds."""

    queries: int
    together: float
    alone: float
    shared: int  # how many of them share a window or panes
    why_not: str

    @property
    def ratio(self) -> float:
        return self.together / self.alone


def batch(text: str, frame: DataFrame) -> Batch:
    statement = read_script(DECLARED.format("") + text).queries[0]
    return Batch(statement.operator, {"s": frame}, statement.t0)


def all_answers(together: Together) -> dict[int, tuple[int, int]]:
    """The number of rows and a checksum of each answer; those of one plan in one job."""
    found: dict[int, tuple[int, int]] = {}
    for df, members in together.frames():
        columns = [c for c in df.columns if c != QUERY]
        sums = F.sum(F.pmod(F.xxhash64(*columns), F.lit(2**31)))
        rows = df.groupBy(QUERY).agg(F.count(F.lit(1)).alias("rows"), sums.alias("sum")).collect()
        by_place = {r[QUERY]: (r["rows"], int(r["sum"])) for r in rows}
        found |= {k: by_place.get(place, (0, 0)) for place, k in members.items()}
    for k in range(len(together.batches)):
        if k not in found:
            found[k] = checked(together.answer(k))
    return found


@dataclass(frozen=True)
class Alone:
    """A few queries, each for itself: their answers, and the best time of one of them on average."""

    answers: list[tuple[int, int]]
    seconds: float


def apart(case: Case, frame: DataFrame, count: int, rounds: int) -> Alone:
    best = float("inf")
    for attempt in range(rounds + 1):
        began = time.perf_counter()
        answers = []
        for n in range(count):
            one = batch(case.query(n), frame)
            answers.append(checked(one.answer(one.plan())))
        if attempt or not rounds:
            best = min(best, (time.perf_counter() - began) / count)
    return Alone(answers, best)


def timed(case: Case, frame: DataFrame, count: int, rounds: int, alone: Alone) -> Timed:
    """The best of some rounds, after one to warm up."""
    best = float("inf")
    for attempt in range(rounds + 1):
        began = time.perf_counter()
        plan = Together([f"query {n}" for n in range(count)], [batch(case.query(n), frame) for n in range(count)])
        plan.plan()
        answers = all_answers(plan)
        taken = time.perf_counter() - began
        few = min(count, len(alone.answers))
        assert [answers[n] for n in range(few)] == alone.answers[:few], f"{case.name}: sharing changes an answer"
        if attempt or not rounds or taken > 60:
            best = min(best, taken)
        if taken > 60:
            break
    shared = {note.query for note in plan.notes if note.shared} | {u for n in plan.notes if n.shared for u in n.with_}
    why = next((note.how for note in plan.notes if not note.shared), "")
    return Timed(count, best, alone.seconds * count, len(shared), why)


@dataclass(frozen=True)
class Live:
    """So many continuous queries over one feed: the median epoch, all epochs, in seconds; bytes of state at the end."""

    queries: int
    median: float
    busy: float
    state: int


def live(spark: SparkSession, queries: Sequence[str], rows: int, *, sharing: bool) -> Live:
    """RATE rows come each second; what is late comes with the next epoch."""
    work = Path(tempfile.mkdtemp())
    (work / "s").mkdir()
    rng = np.random.default_rng(3)
    declared = "CREATE STREAM s (k INT, v DOUBLE, ts TIMESTAMP) FROM parquet 's' TIMESTAMP BY ts;\n"
    times: list[float] = []
    run = ContinuousRun(
        spark, work / "checkpoint", Settings(sharing=sharing), on_progress=lambda p: times.append(p.seconds)
    )
    opened = []
    for n, text in enumerate(queries):
        statement = read_script(declared + text).queries[0]
        opened.append((ContinuousQuery(str(n), statement.operator, None, work), FileSink(work / "out", "parquet")))
    run.open(opened)
    run.start()
    began = time.monotonic()
    for second in range(rows // RATE):
        ts = FEED_START + second * 1_000_000 + np.sort(rng.integers(0, 1_000_000, RATE))
        write_file(work / "s" / f"{second:05d}.parquet", rng, ts)
        while time.monotonic() - began < second + 1:
            time.sleep(0.01)
            assert run.is_active, run.failure
    while run.last_progress is None or run.last_progress.rows < rows:
        time.sleep(0.1)
        assert run.is_active, run.failure
    run.stop()
    assert run.failure is None, run.failure
    state = sum(t.size for t in run.epochs.kept.tables.values())
    shutil.rmtree(work)
    return Live(len(queries), statistics.median(times[2:] or times), sum(times), state)


def live_query(n: int) -> str:
    """Averages over one feed; size, slide and the condition on the key differ."""
    slide = (5, 10, 15, 30)[n % 4]
    window = f"[RANGE {slide * (1 + n % 12)} SECONDS SLIDE {slide} SECONDS]"
    return f"ISTREAM(SELECT k, avg(v) AS m, count(*) AS n FROM s {window} WHERE k < {20 + n % 80} GROUP BY k);"


def show_live(spark: SparkSession, counts: Sequence[int], rows: int) -> dict[str, list[Timed]]:
    """A line for each number of queries. Alone, hardly ALONE keep up with the feed: what more of them would take
    is taken to be in proportion."""
    heads = {"queries": 18, "epoch": 9, "alone": 9, "all": 9, "alone ": 9, "ratio": 8, "state": 12, "alone  ": 12}
    print("".join(f"{name.strip():>{width}}" for name, width in heads.items()) + f"{'ratio':>8}")
    found: dict[str, list[Timed]] = {"time, live": [], "state, live": []}
    for sharing in (True, False):  # to warm Java up
        live(spark, [live_query(n) for n in range(2)], 20 * RATE, sharing=sharing)
    for count in counts:
        together = live(spark, [live_query(n) for n in range(count)], rows, sharing=True)
        if count <= ALONE:
            alone = live(spark, [live_query(n) for n in range(count)], rows, sharing=False)
        each = count / alone.queries
        found["time, live"].append(Timed(count, together.busy, alone.busy * each, count, ""))
        found["state, live"].append(Timed(count, together.state, alone.state * each, count, ""))
        line = f"{'live':10}{count:>8}{together.median:>8.2f}s{alone.median * each:>8.2f}s"
        line += f"{together.busy:>8.1f}s{alone.busy * each:>8.1f}s{found['time, live'][-1].ratio:>8.3f}"
        state = found["state, live"][-1].ratio
        print(f"{line}{together.state:>12,}{round(alone.state * each):>12,}{state:>8.3f}", flush=True)
    return found


def picture(results: dict[str, list[Timed]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for name, found in results.items():
        axes.plot([t.queries for t in found], [t.ratio for t in found], marker="o", label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("queries")
    axes.set_ylabel("together ÷ alone")
    axes.axhline(1, color="0.7", linewidth=1)
    axes.legend()
    figure.savefig(path)


def main(given: Sequence[str] | None = None) -> int:
    known = [c.name for c in CASES]
    parser = argparse.ArgumentParser(prog="scripts/bench sharing", description="Queries together and alone.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join([*known, "live"]))
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--queries", type=int, nargs="+", default=[1, 2, 10, 50, 100, 1000])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--picture", type=Path)
    asked = parser.parse_args(given)
    spark = session()
    folder = Path(tempfile.mkdtemp())
    a_day(folder, asked.rows)
    frame = spark.read.parquet(str(folder / "s"))
    results: dict[str, list[Timed]] = {}
    print(f"{'':10}{'queries':>8}{'together':>10}{'alone':>10}{'ratio':>8}{'target':>8}{'sharing':>9}{'queries/s':>11}")
    for case in CASES:
        if asked.names and case.name not in asked.names:
            continue
        alone = apart(case, frame, min(ALONE, max(asked.queries)), asked.rounds)
        for count in asked.queries:
            found = timed(case, frame, count, asked.rounds, alone)
            results.setdefault(case.name, []).append(found)
            target = case.targets.get(count, "")
            line = f"{case.name:10}{count:>8}{found.together:>9.2f}s{found.alone:>9.2f}s{found.ratio:>8.3f}{target:>8}"
            print(f"{line}{found.shared:>9}{count / found.together:>11.1f}  {found.why_not[:60]}", flush=True)
    if not asked.names or "live" in asked.names:
        results |= show_live(spark, asked.queries, asked.rows)
    if asked.picture is not None:
        picture(results, asked.picture)
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
