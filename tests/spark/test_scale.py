"""Large and distributed: executors of their own, 20 million rows, and tasks that share the work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.base import operator_of
from astralq.language import read_script
from astralq.plan.columns import col
from astralq.plan.encoding.scan import Cut
from astralq.spark import Engine
from astralq.spark.batch import Batch
from astralq.spark.columns import spark_column
from benchmarks.growth import history as history_of
from tests.processes import PATIENCE

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("processes")]  # who kills executors finds them by name

ROOT = Path(__file__).parents[2]


def _alone_in_a_process(module: str, *arguments: str) -> None:
    """Runs a module of ours in a process of its own, because a process has one Spark context."""
    command = [sys.executable, "-m", f"tests.spark.{module}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=5 * PATIENCE, check=False)
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
    rows = history_of(normal, 8_000, 3).withColumns({"x": F.expr("v / 1000D"), "y": F.expr("v / 2000D")}).repartition(8)
    engine = Engine(normal)
    s = engine.stream_from(rows, timestamp="ts", location=("x", "y"), name=f"wide {query}")
    operator = read_script(query + ";", given={"s": operator_of(s)}).queries[0].operator
    batch = Batch(operator, {f"wide {query}": rows}, few_rows=0)
    answer = batch.answer(batch.plan())
    for df in (*batch.materialized, answer):
        sizes = [r[0] for r in df.groupBy(F.spark_partition_id()).count().select("count").collect()]
        if sum(sizes) >= 1000:
            assert max(sizes) <= 0.6 * sum(sizes), (sizes, df.columns)


def test_buckets_cover_what_lies_outside_them(spark: SparkSession) -> None:
    """A cut is made from a guess: what is before or after it is in the first or the last bucket."""
    cut = Cut.of(100, 199, 10)
    values = [(-(2**62),), (99,), (100,), (109,), (110,), (199,), (200,), (2**62,)]
    df = spark.createDataFrame(values, "v bigint").select(spark_column(cut.bucket(col("v")).alias("b")))
    assert [r.b for r in df.collect()] == [-1, -1, 0, 0, 1, 9, 10, 10]
