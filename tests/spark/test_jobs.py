"""How many Spark jobs a query over six rows makes, facts included: a job costs 30 to 100 ms, whatever it does.

On local[2], with adaptive execution on, two input partitions, and `collect`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from astralq.spark import Engine
from tests.cli.support import printed

JOBS = {
    "SELECT k, v FROM s WHERE v > 1": 2,
    "SELECT k, count(*) AS n, max(v) AS m FROM s [TUMBLE 20 SECONDS] GROUP BY k": 2,
    "SELECT * FROM s [PARTITION BY k ROWS 2]": 2,
    "SELECT avg(v * 2) AS m FROM s [RANGE 20 SECONDS SLIDE 10 SECONDS]": 3,
    "SELECT a.v, b.v AS w FROM s [RANGE 20 SECONDS] AS a JOIN s [ROWS 2] AS b ON a.k = b.k": 2,
    "RSTREAM(SELECT count(*) AS n, max(v) AS m FROM s [ROWS 3 SLIDE 20 SECONDS])": 2,
}
"""At most so many: one for the facts, one for the answer, and one to measure what is no source's own column."""


@pytest.fixture
def six(normal: SparkSession) -> DataFrame:
    rows = normal.createDataFrame([(i % 2, float(i), i * 10) for i in range(6)], "k int, v double, at bigint")
    return rows.selectExpr("k", "v", "timestamp_seconds(at) AS ts").repartition(2).localCheckpoint()


@pytest.mark.parametrize("query", JOBS)
def test_a_query_over_few_rows_makes_few_jobs(normal: SparkSession, six: DataFrame, query: str) -> None:
    engine = Engine(normal)
    jobs = normal.sparkContext.statusTracker()
    before = set(jobs.getJobIdsForGroup(None))
    s = engine.stream_from(six, timestamp="ts", name=f"six {query}")
    assert engine.run(query, s=s).collect()
    assert len(set(jobs.getJobIdsForGroup(None)) - before) <= JOBS[query]


def test_the_same_query_over_many_rows_is_answered_in_many_partitions(normal: SparkSession, six: DataFrame) -> None:
    few, many = Engine(normal), Engine(normal, few_rows=0)
    query = "ISTREAM(SELECT k, sum(v) AS total FROM s [ROWS 3] GROUP BY k)"
    answers = [e.run(query, s=e.stream_from(six, timestamp="ts", name="s")).collect() for e in (few, many)]
    assert answers[0] == answers[1]


def test_the_command_makes_as_few_jobs_over_csv(normal: SparkSession, tmp_path: Path) -> None:
    """One of them reads the text, which is kept for the others."""
    rows = "".join(f"{k % 2},{k},{k * 10}\n" for k in range(6))
    (tmp_path / "s.csv").write_text(rows)
    query = tmp_path / "q.aql"
    query.write_text(
        "CREATE STREAM s (k INT, v INT, ts INT) FROM csv 's.csv' TIMESTAMP BY ts UNIT SECONDS;"
        "SELECT k, v FROM s WHERE v > 1;"
    )
    jobs = normal.sparkContext.statusTracker()
    before = set(jobs.getJobIdsForGroup(None))
    assert printed("run", str(query), "--format", "csv").count("\n") == 5
    assert len(set(jobs.getJobIdsForGroup(None)) - before) <= 3


def test_the_queries_of_a_command_read_a_source_once(normal: SparkSession, tmp_path: Path) -> None:
    """Of three queries the second and the third make one job each: the text is parsed, and its rows and times are
    known."""
    (tmp_path / "s.csv").write_text("".join(f"{k % 2},{k},{k * 10}\n" for k in range(6)))
    query = tmp_path / "q.aql"
    query.write_text(
        "CREATE STREAM s (k INT, v INT, ts INT) FROM csv 's.csv' TIMESTAMP BY ts UNIT SECONDS;"
        "SELECT k, v FROM s WHERE v > 1; SELECT k, v FROM s WHERE v > 2; SELECT k FROM s;"
    )
    jobs = normal.sparkContext.statusTracker()
    before = set(jobs.getJobIdsForGroup(None))
    assert printed("run", str(query), "--format", "jsonl").count("\n") == 4 + 3 + 6
    assert len(set(jobs.getJobIdsForGroup(None)) - before) <= 3 + 1 + 1


@pytest.mark.parametrize(
    ("query", "jobs"),
    [("SELECT k, v FROM s WHERE v > 1", 1), ("SELECT sum(v) AS total FROM s [RANGE 20 SECONDS]", 2)],
    ids=["a filter", "a sum of doubles"],
)
def test_parquet_files_are_asked_for_times_without_a_job(
    normal: SparkSession, six: DataFrame, tmp_path: Path, query: str, jobs: int
) -> None:
    """Only the range of doubles has to be read: how fine they are is not in the files' statistics."""
    six.coalesce(1).write.parquet(str(tmp_path / "s"))
    file = tmp_path / "q.aql"
    file.write_text(f"CREATE STREAM s (k INT, v DOUBLE, ts TIMESTAMP) FROM parquet 's' TIMESTAMP BY ts; {query};")
    tracker = normal.sparkContext.statusTracker()
    printed("run", str(file), "--format", "csv")  # Spark may look into the files once, before it knows them
    before = set(tracker.getJobIdsForGroup(None))
    assert printed("run", str(file), "--format", "csv") == printed(
        "run", str(file), "--format", "csv", "--engine", "model"
    )
    assert len(set(tracker.getJobIdsForGroup(None)) - before) <= jobs
