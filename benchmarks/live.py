"""Continuous queries against plain Structured Streaming: how many rows a second each sustains, from the same files.

scripts/bench live [hop|last|epoch] [--rows N] [--files N] [--seconds N] [--kinds W2 …]
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from rich.console import Console

from astralq.algebra.sources import StreamSource
from astralq.language import read_script
from astralq.runtime.queries import ContinuousQuery
from astralq.runtime.run import ContinuousRun, Settings
from astralq.runtime.sinks import FileSink
from astralq.spark.session import session

KEYS = 100
START = 1_700_000_400_000_000  # a round hour
SCHEMA = "k INT, v DOUBLE, ts TIMESTAMP"
HOP = (
    "ISTREAM(SELECT k, avg(v) AS m, min(v) AS lo, max(v) AS hi, count(*) AS n "
    "FROM s [HOP 1 HOUR EVERY 1 MINUTE] GROUP BY k);"
)
LAST = "RSTREAM(SELECT k, v FROM s [PARTITION BY k ROWS 10 SLIDE 1 MINUTE]);"
KINDS = {
    "W2": HOP,
    "W3": "ISTREAM(SELECT k, avg(v) AS m FROM s [RANGE 1 MINUTE] GROUP BY k);",
    "W4": "ISTREAM(SELECT s.k, s.v, u.v AS w FROM s [RANGE 10 SECONDS] JOIN u [RANGE 10 SECONDS] "
    "ON s.k = u.k AND s.v = u.v);",
    "W5": LAST,
    "W6": "SELECT s.k, s.v, u.v AS w FROM s JOIN u ON s.k = u.k AND s.v = u.v WITHIN 2 SECONDS;",
    "W7": "ISTREAM(SELECT avg(v) AS m FROM s [ROWS 1000 SLIDE 100] HAVING count(*) > 0);",
    "W11": "SELECT s.k, s.v FROM s LOOKUP JOIN (SELECT k, avg(v) AS m, stddev_pop(v) AS d FROM s "
    "[RANGE 1 DAY SLIDE 10 MINUTES] GROUP BY k) AS w ON s.k = w.k AND abs(s.v - m) > 3 * d;",
}
"""The kinds of windows whose epochs are timed. The other stream u has one row of a hundred."""
RATES = (20_000, 1_000)
"""Rows a second."""
MINUTE = 60_000
BOTH = 1
"""Files that are taken together; both sides get the same."""


@dataclass(frozen=True)
class Feed:
    """Files of rows, each later than the one before it."""

    folder: Path
    rows: int
    files: int
    hours: float

    def write(self) -> None:
        self.folder.mkdir(parents=True)
        rng = np.random.default_rng(7)
        each, span = self.rows // self.files, int(self.hours * 3_600_000_000 / self.files)
        for f in range(self.files):
            ts = START + f * span + np.sort(rng.integers(0, span, each))
            write_file(self.folder / f"{f:05d}.parquet", rng, ts)


def write_file(path: Path, rng: np.random.Generator, ts: np.ndarray[Any, Any]) -> None:
    count = len(ts)
    table = pa.table(
        {
            "k": pa.array(rng.integers(0, KEYS, count).astype("int32")),
            "v": pa.array(np.round(rng.normal(20, 5, count), 2)),
            "ts": pa.array(ts, pa.timestamp("us", tz="UTC")),
        }
    )
    hidden = path.with_name(f".{path.name}")
    pq.write_table(table, hidden)
    hidden.rename(path)


def ours(spark: SparkSession, feed: Feed, query: str, work: Path) -> float:
    """Seconds until all files are answered as far as they can be."""
    declared = (
        f"CREATE STREAM s ({SCHEMA}) FROM parquet '{feed.folder}' "
        f"OPTIONS (maxFilesPerTrigger = '{BOTH}') TIMESTAMP BY ts;"
    )
    statement = read_script(f"{declared}\n{query}").queries[0]
    run = ContinuousRun(spark, work / "ours", Settings())
    run.open([(ContinuousQuery("1", statement.operator, None, work), FileSink(work / "out", "parquet"))])
    began = time.perf_counter()
    run.start()
    while run.last_progress is None or run.last_progress.rows < feed.rows:
        time.sleep(0.05)
        assert run.is_active, run.failure
    seconds = time.perf_counter() - began
    run.stop()
    return seconds


def streamed(spark: SparkSession, feed: Feed) -> DataFrame:
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", str(BOTH)).option("maxFileAge", "36500d")
    return reader.parquet(str(feed.folder)).withWatermark("ts", "0 seconds")


def plain_hop(spark: SparkSession, feed: Feed) -> DataFrame:
    """What Spark's users write today."""
    groups = streamed(spark, feed).groupBy(F.window("ts", "1 hour", "1 minute"), "k")
    return groups.agg(F.avg("v").alias("m"), F.min("v").alias("lo"), F.max("v").alias("hi"), F.count("*").alias("n"))


class LastTen(StatefulProcessor):  # type: ignore[misc]
    """The last ten rows of a key at each minute of event time, once nothing before that minute can come any more."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.kept = handle.getListState("kept", "v DOUBLE, ts TIMESTAMP")
        self.due = handle.getValueState("due", "at BIGINT")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        import pandas as pd  # type: ignore[import-untyped]

        new = self.worth_keeping(pd.concat(list(rows)).sort_values("ts"))
        self.kept.appendList(list(zip(new["v"], new["ts"].dt.to_pydatetime(), strict=True)))
        if not self.due.exists():
            due = int(new["ts"].iloc[0].ceil("min").timestamp() * 1000)
            self.due.update((due,))
            self.handle.registerTimer(due)
        return iter([])

    def worth_keeping(self, new: Any) -> Any:
        return new

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
        import pandas as pd

        first = self.due.get()[0]
        after = timerValues.getCurrentWatermarkInMs() // MINUTE * MINUTE + MINUTE
        kept = pd.DataFrame(list(self.kept.get()), columns=["v", "ts"]).sort_values("ts")
        times = kept["ts"].to_numpy().astype("datetime64[ms]").astype("int64")
        minutes = np.arange(first, after, MINUTE)
        ends = np.searchsorted(times, minutes, side="right")
        places = [np.arange(max(0, e - 10), e) for e in ends]
        counts = [len(p) for p in places]
        self.kept.put(list(kept.iloc[max(0, ends[-1] - 10) :].itertuples(index=False, name=None)))
        self.due.update((after,))
        self.handle.registerTimer(after)
        values = kept["v"].to_numpy()[np.concatenate(places)]
        yield pd.DataFrame({"t": np.repeat(minutes, counts), "k": key[0], "v": values})

    def close(self) -> None: ...


class LastTenOfEachMinute(LastTen):
    """The same by somebody who thought of our optimization: no row is stored that can be in no answer."""

    def worth_keeping(self, new: Any) -> Any:
        return new.groupby(new["ts"].dt.ceil("min")).tail(10)


def plain_last(spark: SparkSession, feed: Feed, processor: StatefulProcessor | None = None) -> DataFrame:
    by_key = streamed(spark, feed).groupBy("k")
    schema = "t BIGINT, k INT, v DOUBLE"
    return by_key.transformWithStateInPandas(processor or LastTen(), schema, "append", "eventtime")


def plain_last_of_each_minute(spark: SparkSession, feed: Feed) -> DataFrame:
    return plain_last(spark, feed, LastTenOfEachMinute())


def plain(spark: SparkSession, feed: Feed, made: Callable[[SparkSession, Feed], DataFrame], work: Path) -> float:
    """Seconds until Structured Streaming has taken all files."""
    began = time.perf_counter()
    writer = made(spark, feed).writeStream.format("parquet").option("path", str(work / "plain"))
    query = writer.option("checkpointLocation", str(work / "check")).trigger(availableNow=True).start()
    query.awaitTermination()
    return time.perf_counter() - began


Plain = Callable[[SparkSession, Feed], DataFrame]


def compared(spark: SparkSession, name: str, feed: Feed, query: str, others: dict[str, Plain]) -> None:
    """All of them in turn, after a round to warm up the best of two; how many times as much we sustain."""
    best: dict[str, float] = {}
    for attempt in range(3):
        with tempfile.TemporaryDirectory() as folder:
            taken = {"astralq": ours(spark, feed, query, Path(folder))}
        for other, made in others.items():
            with tempfile.TemporaryDirectory() as folder:
                taken[other] = plain(spark, feed, made, Path(folder))
        if attempt:
            best = {k: min(v, best.get(k, v)) for k, v in taken.items()}
    console = Console(width=120)
    console.print(f"{name}, {feed.rows:,} rows in files of {feed.rows // feed.files:,}")
    for k, seconds in best.items():
        console.print(f"  {feed.rows / seconds:>9,.0f} rows/s, {seconds / best['astralq']:.1f} times our time: {k}")


def epochs(spark: SparkSession, kind: str, rows: int, seconds: int) -> float:
    """The median time of an epoch while so many rows a second come, in files of a second."""
    work = Path(tempfile.mkdtemp())
    rng = np.random.default_rng(3)
    times: list[float] = []
    declared = "".join(f"CREATE STREAM {n} ({SCHEMA}) FROM parquet '{n}' TIMESTAMP BY ts;\n" for n in "su")
    statement = read_script(f"{declared}\n{KINDS[kind]}").queries[0]
    names = sorted({op.name for op in statement.operator.walk() if isinstance(op, StreamSource)})
    for n in names:
        (work / n).mkdir()
    run = ContinuousRun(spark, work / "c", Settings(), on_progress=lambda p: times.append(p.seconds))
    run.open([(ContinuousQuery("1", statement.operator, None, work), FileSink(work / "out", "parquet"))])
    run.start()
    began = time.perf_counter()
    for f in range(seconds):
        for n in names:
            ts = START + f * 1_000_000 + np.sort(rng.integers(0, 1_000_000, rows if n == "s" else rows // 100))
            write_file(work / n / f"{f:05d}.parquet", rng, ts)
        time.sleep(max(0.0, began + f + 1 - time.perf_counter()))
    behind = run.last_progress
    run.stop()
    shutil.rmtree(work)
    median = statistics.median(times)
    assert behind is not None
    Console(width=160).print(
        f"{kind} at {rows:,} rows/s for {seconds} s: epochs {median:.2f} s (median of {len(times)}), {behind.latency}, "
        f"{behind.rows:,} rows taken when the last ones came"
    )
    return median


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench live", description="Continuous queries against plain Spark.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="hop, last, epoch; default: all")
    parser.add_argument("--rows", type=int, default=6_000_000)
    parser.add_argument("--files", type=int, default=6)
    parser.add_argument("--seconds", type=int, default=60, help="for epoch")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS), metavar="W2", help="for epoch")
    asked = parser.parse_args(given)
    wanted = asked.names or ["hop", "last", "epoch"]
    conf = {
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "4g",
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
    }
    spark = session("local[2]", conf)
    folder = Path(tempfile.mkdtemp())
    feed = Feed(folder / "s", asked.rows, asked.files, 6)
    if {"hop", "last"} & set(wanted):
        feed.write()
    if "hop" in wanted:
        others: dict[str, Plain] = {"Structured Streaming with window()": plain_hop}
        compared(spark, "avg, min, max, count by 100 keys over [HOP 1 HOUR EVERY 1 MINUTE]", feed, HOP, others)
    if "last" in wanted:
        others = {
            "transformWithStateInPandas": plain_last,
            "transformWithStateInPandas that stores ten of each minute": plain_last_of_each_minute,
        }
        compared(spark, "the last 10 of each key every minute", feed, LAST, others)
    if "epoch" in wanted:
        for kind in asked.kinds:
            for rate in RATES:
                epochs(spark, kind, rate, asked.seconds)
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
