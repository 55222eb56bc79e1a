"""Selections on a source's own attributes, and bounds of time, reach the reader of parquet files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from astralq.language.script import read_script
from astralq.laws.optimize import rules_without
from astralq.spark.batch import Batch
from astralq.spark.plans import compiled_plans
from astralq.timeline import instant

DECLARED = "CREATE STREAM s (k INT, v INT, ts TIMESTAMP) FROM parquet 's' TIMESTAMP BY ts;\n"


@pytest.fixture(scope="module")
def readings(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("readings") / "s"
    values = "CAST(id % 3 AS INT) AS k, CAST(id AS INT) AS v, timestamp_seconds(1772323200 + id) AS ts"
    spark.sql(f"SELECT {values} FROM range(50)").write.option("compression", "none").parquet(str(path))
    return path


def pushed(spark: SparkSession, path: Path, query: str, *, laws: bool = True, until: str | None = None) -> str:
    """What the reader of the files is told to leave out, in the plan that reads tuples; facts come from all of them."""
    operator = read_script(DECLARED + query).queries[0].operator
    end = None if until is None else instant(until)
    batch = Batch(operator, {"s": spark.read.parquet(str(path))}, until=end, few_rows=0, rules=rules_without(laws=laws))
    found = re.findall(r"PushedFilters: \[(.*?)\]", "\n".join(compiled_plans(batch)))
    assert found
    return str(found[0])


AGGREGATE = "SELECT k, max(v) AS m FROM s [RANGE 1 HOUR SLIDE 1 MINUTE] WHERE v > 1 GROUP BY k;"


def test_a_selection_below_an_aggregate_reaches_the_files(spark: SparkSession, readings: Path) -> None:
    assert "GreaterThan(v,1)" in pushed(spark, readings, AGGREGATE)
    assert pushed(spark, readings, AGGREGATE, laws=False) == ""


def test_a_selection_on_time_reaches_the_files(spark: SparkSession, readings: Path) -> None:
    query = "ISTREAM(SELECT * FROM s [RANGE 1 HOUR SLIDE 1 MINUTE] WHERE _t >= TIMESTAMP '2026-03-01T00:00:30Z');"
    assert "GreaterThanOrEqual(ts,2026-03-01 00:00:30.0)" in pushed(spark, readings, query)


def test_a_window_with_fixed_ends_reads_the_files_between_them(spark: SparkSession, readings: Path) -> None:
    query = "SELECT * FROM s [FIXED FROM TIMESTAMP '2026-03-01T00:00:10Z' TO TIMESTAMP '2026-03-01T00:00:20Z'];"
    found = pushed(spark, readings, query)
    assert "GreaterThanOrEqual(ts,2026-03-01 00:00:10.0)" in found
    assert "LessThanOrEqual(ts,2026-03-01 00:00:20.0)" in found


def test_the_end_of_a_run_reaches_the_files(spark: SparkSession, readings: Path) -> None:
    found = pushed(spark, readings, "SELECT * FROM s [ROWS 2];", until="2026-03-01T00:00:20Z")
    assert "LessThanOrEqual(ts,2026-03-01 00:00:20.0)" in found


def test_a_selection_above_a_window_by_rows_does_not(spark: SparkSession, readings: Path) -> None:
    assert "v" not in pushed(spark, readings, "SELECT * FROM s [ROWS 2] WHERE v > 1;")
