"""Several sessions of one Spark: a query is answered in that of its rows, whichever one was used last."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from astralq.spark import Engine

HARBOUR = "CREATE REGION harbour AS 'POLYGON ((0 0, 9 0, 9 9, 0 0))';\n"


def places(spark: SparkSession) -> DataFrame:
    return spark.sql("SELECT CAST(id AS DOUBLE) AS x, 1D AS y, timestamp_seconds(id) AS ts FROM range(3)")


def test_a_region_is_tested_in_the_session_of_its_rows(spark: SparkSession, several: SparkSession) -> None:
    engine = Engine(several)
    s = engine.stream_from(places(several), timestamp="ts", location=("x", "y"), name="places")
    spark.createDataFrame([], "x int")  # the other one is active
    found = engine.run(f"{HARBOUR}SELECT x FROM s [UNBOUNDED] WHERE inside(x, y, harbour);", s=s)
    assert [r.x for r in found.collect()] == [1.0, 2.0]
