"""Large and distributed: executors of their own, histories that double, and tasks that share the work."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.base import operator_of
from astralq.language import read_script
from astralq.spark import Engine
from astralq.spark.answers import history
from astralq.spark.context import Run
from astralq.spark.frames import columns
from astralq.spark.scan import Cut
from astralq.spark.sources import Sources

ROOT = Path(__file__).parents[2]


def _alone_in_a_process(module: str, *arguments: str) -> None:
    """Runs a module of ours in a process of its own, because a process has one Spark context."""
    command = [sys.executable, "-m", f"tests.spark.{module}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1500, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "all well"), done.stdout + done.stderr[-2000:]


def test_executors_of_their_own_give_the_same_answers_even_if_one_is_killed() -> None:
    """local-cluster[2,1,1024]: generated queries in 16 partitions, and a kill -9 in mid-query."""
    _alone_in_a_process("cluster", "1", "1")


@pytest.mark.usefixtures("alone")
def test_many_generated_queries_on_executors_of_their_own_and_many_kills() -> None:
    _alone_in_a_process("cluster", "24", "6")


@pytest.mark.usefixtures("alone")
def test_twenty_million_rows_in_4_gb() -> None:
    _alone_in_a_process("large", "20000000")


JOINS = {
    "with a key": "ISTREAM(SELECT s.v, u.v AS w FROM s [RANGE 30 SECONDS] JOIN u [RANGE 20 SECONDS] ON s.k = u.k)",
    "without a key": "ISTREAM(SELECT s.v, u.v AS w FROM s [RANGE 2 SECONDS] JOIN u [RANGE 1 SECOND] ON s.v < u.v)",
    "as of": "SELECT s.v, r.w FROM s LOOKUP JOIN (SELECT v AS w, k FROM u [PARTITION BY k ROWS 1]) AS r ON s.k = r.k",
}


def _history(spark: SparkSession, rows: int, seed: int) -> DataFrame:
    """A tuple about every second."""
    return spark.range(0, rows, 1, 4).select(
        F.pmod(F.hash("id", F.lit(seed)), F.lit(50)).cast("int").alias("k"),
        F.pmod(F.hash("id"), F.lit(1000)).cast("int").alias("v"),
        F.timestamp_millis(F.col("id") * 1000 + F.pmod(F.hash("id", F.lit(seed + 1)), F.lit(900))).alias("ts"),
    )


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("name", JOINS)
def test_twice_the_history_takes_at_most_about_twice_as_long(normal: SparkSession, name: str) -> None:
    """2.3 times, the best of three: a join that compares whole histories would take four times as long."""
    engine = Engine(normal)
    taken = {}
    for rows in (15_000, 30_000):
        s = engine.stream_from(_history(normal, rows, 1).localCheckpoint(), timestamp="ts", name=f"s{rows}{name}")
        u = engine.stream_from(_history(normal, rows, 2).localCheckpoint(), timestamp="ts", name=f"u{rows}{name}")
        times = []
        for _ in range(3):
            begun = time.perf_counter()
            engine.run(JOINS[name], s=s, u=u).selectExpr("count(*)").collect()
            times.append(time.perf_counter() - begun)
        taken[rows] = min(times)
    assert taken[30_000] <= 2.3 * taken[15_000], taken


@pytest.mark.parametrize(
    "query",
    [
        "SELECT v FROM s [RANGE 30 SECONDS]",
        "SELECT v FROM s [LAST BATCH]",
        "ISTREAM(SELECT path_length() AS m FROM s [RANGE BY '2 km' RATTR SPACE SLIDE BY '1 km' SATTR SPACE])",
    ],
)
def test_no_task_holds_most_of_the_rows_of_a_global_window(normal: SparkSession, query: str) -> None:
    """At 8 partitions, no task of any table that is computed holds more than 60 % of the rows."""
    normal.conf.set("spark.sql.adaptive.enabled", "false")  # it would put small partitions together
    rows = _history(normal, 8_000, 3).withColumns({"x": F.expr("v / 1000D"), "y": F.expr("v / 2000D")}).repartition(8)
    engine = Engine(normal)
    s = engine.stream_from(rows, timestamp="ts", location=("x", "y"), name=f"wide {query}")
    operator = read_script(query + ";", given={"s": operator_of(s)}).queries[0].operator
    run = Run(operator, Sources({f"wide {query}": rows}))
    answer = history(run)
    for df in (*run.materialised, answer):
        sizes = [r[0] for r in df.groupBy(F.spark_partition_id()).count().select("count").collect()]
        if sum(sizes) >= 1000:
            assert max(sizes) <= 0.6 * sum(sizes), (sizes, df.columns)


def test_buckets_cover_what_lies_outside_them(spark: SparkSession) -> None:
    """A cut is made from a guess: what is before or after it is in the first or the last bucket."""
    cut = Cut.of(100, 199, 10)
    values = [(-(2**62),), (99,), (100,), (109,), (110,), (199,), (200,), (2**62,)]
    df = spark.createDataFrame(values, "v bigint").select(cut.bucket(*columns(["v"])).alias("b"))
    assert [r.b for r in df.collect()] == [-1, -1, 0, 0, 1, 9, 10, 10]
