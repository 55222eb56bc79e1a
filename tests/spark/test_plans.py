"""What Spark makes of our plans: no sequential work on raw tuples, no nested loops, no Python but the region test."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from astralq.language import read_script
from astralq.spark import Engine
from astralq.spark.batch import Batch
from astralq.spark.plans import compiled_plans, plan_of, violations

REGION = "CREATE REGION harbour AS 'POLYGON ((0 0, 9 0, 9 9, 0 0))';\n"
DECLARED = f"""
    CREATE STREAM s (k INT, v DOUBLE, x DOUBLE, y DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts LOCATION BY (x, y);
    CREATE STREAM u (k INT, v DOUBLE, x DOUBLE, y DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts;
    CREATE RELATION r (k INT, v DOUBLE, a TIMESTAMP, b TIMESTAMP) VALID FROM a TO b;
    {REGION}
"""
QUERIES = {
    "range": "SELECT k, v FROM s [RANGE 10 SECONDS]",
    "range global average": "ISTREAM(SELECT avg(v) AS m FROM s [RANGE 10 SECONDS])",
    "range average by key": "ISTREAM(SELECT k, avg(v) AS m FROM s [RANGE 10 SECONDS] GROUP BY k)",
    "range global maximum": "ISTREAM(SELECT max(v) AS m FROM s [RANGE 10 SECONDS])",
    "hop": "RSTREAM(SELECT k, max(v) AS m FROM s [HOP 60 SECONDS EVERY 10 SECONDS] GROUP BY k) EVERY 10 SECONDS",
    "sessions": "ISTREAM(SELECT window_start, count(*) AS n FROM s [SESSION 10 SECONDS] GROUP BY window_start)",
    "median": "ISTREAM(SELECT median(v) AS m FROM s [RANGE 10 SECONDS])",
    "rows": "SELECT k, v FROM s [ROWS 10]",
    "rows of each key": "RSTREAM(SELECT k, v FROM s [PARTITION BY k ROWS 10 SLIDE 1 MINUTE]) EVERY 1 MINUTE",
    "last batch": "SELECT k, v FROM s [LAST BATCH]",
    "odometer": "ISTREAM(SELECT average_speed() AS m FROM s [RANGE BY '5 km' RATTR SPACE SLIDE BY '1 km' SATTR SPACE])",
    "region": "SELECT k FROM s [UNBOUNDED] WHERE inside(x, y, harbour)",
    "state at every change": "RSTREAM(SELECT k FROM s [RANGE 10 SECONDS])",
    "lookup": "SELECT s.k, r.v FROM s LOOKUP JOIN r ON s.k = r.k",
    "lookup without a key": "SELECT s.k, r.v FROM s LOOKUP JOIN r ON s.v < r.v",
    "interval join": "SELECT s.k FROM s [RANGE 10 SECONDS] JOIN u [RANGE 20 SECONDS] ON s.k = u.k",
    "interval join without a key": "SELECT s.k FROM s [RANGE 10 SECONDS] JOIN u [RANGE 20 SECONDS] ON s.v < u.v",
    "outer join": "SELECT s.k, r.v FROM s [RANGE 10 SECONDS] FULL JOIN r ON s.k = r.k",
    "band join": "SELECT s.k FROM s JOIN u ON s.k = u.k WITHIN 5 SECONDS",
    "past": "SELECT k FROM (SELECT k, v FROM s [LAST ROW]) DELAYED BY 5 SECONDS",
}


@pytest.fixture(scope="module")
def frames(spark: SparkSession) -> dict[str, DataFrame]:
    rows = spark.sql(
        "SELECT CAST(id % 3 AS INT) AS k, id / 4D AS v, id / 100D AS x, 0D AS y, timestamp_seconds(id) AS ts "
        "FROM range(60)"
    )
    versions = spark.sql(
        "SELECT CAST(id % 3 AS INT) AS k, id / 2D AS v, timestamp_seconds(id * 7) AS a, "
        "timestamp_seconds(id * 7 + 9) AS b "
        "FROM range(9)"
    )
    return {"s": rows, "u": rows, "r": versions}


@pytest.mark.parametrize("name", QUERIES)
def test_no_plan_does_what_does_not_scale(frames: dict[str, DataFrame], spark: SparkSession, name: str) -> None:
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")  # small sides would hide how large ones are joined
    try:
        operator = read_script(f"{DECLARED}{QUERIES[name]};").queries[0].operator
        found = compiled_plans(Batch(operator, frames, few_rows=0))
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
    wrong = [v for plan in found for v in violations(plan)]
    assert wrong == [], "\n".join(wrong)


def test_the_check_finds_what_it_looks_for(spark: SparkSession) -> None:
    """Plans that break each of the rules."""
    spark.range(9).createOrReplaceTempView("plain")
    single = plan_of(spark.sql("SELECT sum(id) OVER (ORDER BY id) FROM plain"))
    nested = plan_of(spark.sql("SELECT * FROM plain a JOIN plain b ON a.id < b.id"))
    assert any("single core" in v for v in violations(single))
    assert any("nested-loop" in v for v in violations(nested))
    assert (
        list(violations(plan_of(spark.sql("SELECT sum(id) OVER (PARTITION BY id % 2 ORDER BY id) FROM plain")))) == []
    )


FEW = 3
"""Rows that planning may ask for at a time: ends of times, ranges of values, the largest group."""


@pytest.fixture
def brought(frames: dict[str, DataFrame], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows came to the driver, each time that some did; and no other way than `collect` is open."""
    counts: list[int] = []
    kind = type(frames["s"])
    collect = kind.collect

    def counted(df: DataFrame) -> list[Row]:
        rows: list[Row] = collect(df)
        counts.append(len(rows))
        return rows

    def closed(*_: object) -> None:
        raise AssertionError("not through an RDD, pandas or Arrow")

    monkeypatch.setattr(kind, "collect", counted)
    for name in ("toPandas", "toArrow", "mapInPandas", "toLocalIterator", "foreach"):
        monkeypatch.setattr(kind, name, closed)
    monkeypatch.setattr(kind, "rdd", property(closed))
    return counts


@pytest.mark.parametrize("name", QUERIES)
def test_planning_brings_no_data_to_the_driver(
    frames: dict[str, DataFrame], spark: SparkSession, brought: list[int], name: str
) -> None:
    engine = Engine(spark, few_rows=0)
    s, u = (
        engine.stream_from(frames[n], timestamp="ts", location=("x", "y"), name=f"{n} of {name}") for n in ("s", "u")
    )
    r = engine.relation_from(frames["r"], valid_from="a", valid_to="b", name=f"r of {name}")
    engine.run(f"{REGION}{QUERIES[name]};", s=s, u=u, r=r)
    assert brought
    assert max(brought) <= FEW
