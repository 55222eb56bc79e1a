"""What is learnt of a DataFrame that the engine keeps is learnt once, and nothing that has changed is passed over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from astralq import StreamQuery
from astralq.algebra.set_aside import SetAsideWarning
from astralq.language.script import Script, read_script
from astralq.plan.encoding import numbering
from astralq.spark import Engine
from astralq.spark.engine import KEPT_TEXTS
from astralq.spark.execute import Execution

HOURS = "RSTREAM(SELECT k, count(*) AS n FROM s [TUMBLE 10 SECONDS] GROUP BY k) EVERY 10 SECONDS"
PLANNED_WITHOUT_TIMES = {
    "filter": "SELECT k, v FROM s WHERE v > 1",
    "aggregate": HOURS,
    "exact sum": "RSTREAM(SELECT k, avg(v) AS m FROM s [TUMBLE 10 SECONDS] GROUP BY k) EVERY 10 SECONDS",
    "window bounds": "ISTREAM(SELECT window_start, k, max(v) AS m FROM s [TUMBLE 10 SECONDS] GROUP BY window_start, k)",
    "sessions": "ISTREAM(SELECT k, count(*) AS n FROM s [PARTITION BY k SESSION 5 SECONDS] GROUP BY k)",
    "top": "ISTREAM(SELECT k, v FROM s [TUMBLE 10 SECONDS] ORDER BY v DESC LIMIT 1 PER k)",
    "join": "ISTREAM(SELECT a.v, b.v AS w FROM s [RANGE 5 SECONDS] AS a JOIN s [RANGE 5 SECONDS] AS b ON a.k = b.k)",
    "except": "ISTREAM(SELECT k FROM s [UNBOUNDED] EXCEPT SELECT k FROM s [RANGE 5 SECONDS])",
    "last value": """
        SELECT s.v, r.v AS w FROM s
        LOOKUP JOIN (SELECT k, v FROM s [PARTITION BY k LAST ROW]) AS r ON s.k = r.k
    """,
}


def grown(spark: SparkSession, path: Path, *rows: tuple[int, float, str]) -> None:
    made = spark.createDataFrame(list(rows), "k int, v double, at string")
    made.selectExpr("k", "v", "CAST(at AS TIMESTAMP) AS ts").coalesce(1).write.mode("append").parquet(str(path))


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Path:
    """A folder whose table Spark lists again each time it is named."""
    path = tmp_path / "readings"
    grown(spark, path, (1, 2.0, "2026-03-01 00:00:01"), (2, 4.5, "2026-03-01 00:00:12"))
    return path


@pytest.mark.parametrize("name", PLANNED_WITHOUT_TIMES)
@pytest.mark.parametrize("few_rows", [0, 100], ids=["many", "few"])
def test_a_second_run_asks_for_nothing_before_its_answer(
    spark: SparkSession, table: Path, name: str, few_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine(spark, few_rows=few_rows)
    s = engine.stream_from(spark.read.parquet(str(table)), timestamp="ts")
    first, query = "2026-03-01 00:01:00", PLANNED_WITHOUT_TIMES[name]
    rows = engine.run(query, until=first, s=s).collect()
    assert rows
    monkeypatch.setattr(Execution, "measure", lambda *_: pytest.fail("something is measured"))
    assert engine.run(query, until=first, s=s).collect() == rows


@pytest.fixture
def growing(spark: SparkSession, table: Path) -> Iterator[Path]:
    """A table whose DataFrames see what is added."""
    spark.sql("DROP TABLE IF EXISTS learnt_readings")
    spark.sql(f"CREATE TABLE learnt_readings USING parquet LOCATION '{table}'")
    yield table
    spark.sql("DROP TABLE learnt_readings")


def test_rows_that_are_added_are_answered(spark: SparkSession, growing: Path) -> None:
    engine = Engine(spark)
    s = engine.stream_from(spark.table("learnt_readings"), timestamp="ts")
    assert engine.run(HOURS, until="2026-03-01 00:01:00", s=s).count() == 2
    spark.sql("INSERT INTO learnt_readings VALUES (3, 1.0, TIMESTAMP '2026-03-01 00:00:41')")
    assert engine.run(HOURS, until="2026-03-01 00:01:00", s=s).count() == 3


def test_a_run_without_an_end_asks_anew_where_its_rows_end(spark: SparkSession, growing: Path) -> None:
    engine = Engine(spark)
    s = engine.stream_from(spark.table("learnt_readings"), timestamp="ts")
    assert engine.run(HOURS, s=s).count() == 1
    spark.sql("INSERT INTO learnt_readings VALUES (3, 1.0, TIMESTAMP '2026-03-01 00:00:41')")
    assert engine.run(HOURS, s=s).count() == 2


def test_a_row_before_the_start_that_was_not_there_is_an_error(spark: SparkSession, growing: Path) -> None:
    engine = Engine(spark)
    s = engine.stream_from(spark.table("learnt_readings"), timestamp="ts")
    assert engine.run(HOURS, until="2026-03-01 00:01:00", s=s).count() == 2
    spark.sql("INSERT INTO learnt_readings VALUES (3, 1.0, TIMESTAMP '1969-03-01 00:00:41')")
    with pytest.raises(PySparkException, match="have changed since it was given to the engine; give it again"):
        engine.run(HOURS, until="2026-03-01 00:01:00", s=s).collect()
    again = engine.stream_from(spark.table("learnt_readings"), timestamp="ts")
    with pytest.warns(SetAsideWarning, match="1 tuple"):
        assert engine.run(HOURS, until="2026-03-01 00:01:00", s=again).count() == 2


def test_a_null_among_values_that_are_added_up_is_an_error_where_there_was_none(
    spark: SparkSession, growing: Path
) -> None:
    engine, query = Engine(spark), PLANNED_WITHOUT_TIMES["exact sum"]
    s = engine.stream_from(spark.table("learnt_readings"), timestamp="ts")
    assert [r["m"] for r in engine.run(query, until="2026-03-01 00:01:00", s=s).collect()] == [2.0, 4.5]
    spark.sql("INSERT INTO learnt_readings VALUES (1, NULL, TIMESTAMP '2026-03-01 00:00:02')")
    with pytest.raises(PySparkException, match="have changed since it was given to the engine; give it again"):
        engine.run(query, until="2026-03-01 00:01:00", s=s).collect()
    again = engine.stream_from(spark.table("learnt_readings"), timestamp="ts")
    assert [r["m"] for r in engine.run(query, until="2026-03-01 00:01:00", s=again).collect()] == [2.0, 4.5]


def test_rows_before_the_start_are_counted_in_each_run(spark: SparkSession, table: Path) -> None:
    engine = Engine(spark)
    s = engine.stream_from(spark.read.parquet(str(table)), timestamp="ts")
    for _ in range(2):
        with pytest.warns(SetAsideWarning, match="1 tuple"):
            found = engine.run(HOURS, start_at="2026-03-01 00:00:10", until="2026-03-01 00:01:00", s=s)
        assert found.count() == 1


def test_a_name_that_is_given_again_is_learnt_again(spark: SparkSession, table: Path) -> None:
    engine = Engine(spark)
    s = engine.stream_from(spark.read.parquet(str(table)), timestamp="ts", name="readings")
    assert engine.run(HOURS, until="2026-03-01 00:01:00", s=s).count() == 2
    other = spark.sql("SELECT 1 AS k, 0.1D AS v, TIMESTAMP '1969-01-01' AS ts")
    s = engine.stream_from(other, timestamp="ts", name="readings")
    with pytest.warns(SetAsideWarning, match="1 tuple"):
        assert engine.run(HOURS, until="2026-03-01 00:01:00", s=s).count() == 0


STEPS = "ISTREAM(SELECT count(*) AS n, max(v) AS top FROM s [ROWS 4 SLIDE 2] HAVING count(*) > 0)"
END = "2026-03-01 00:01:00"


@pytest.fixture
def counted(spark: SparkSession, growing: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Engine, StreamQuery]:
    """An engine that has counted the tuples of ranges of time, for positions, and the table that they are in."""
    monkeypatch.setattr(numbering, "RANGED", 0)
    monkeypatch.setattr(numbering, "ROWS_IN_RANGE", 2)
    grown(spark, growing, *((k, k / 2, f"2026-03-01 00:00:{20 + k}") for k in range(8)))
    spark.catalog.refreshTable("learnt_readings")
    engine = Engine(spark, few_rows=0)
    s = engine.stream_from(spark.table("learnt_readings"), timestamp="ts")
    assert [r["top"] for r in engine.run(STEPS, until=END, s=s).collect()] == [4.5, 4.5, 1.5, 2.5, 3.5]
    return engine, s


def test_what_was_counted_for_positions_is_not_counted_again(
    counted: tuple[Engine, StreamQuery], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, s = counted
    monkeypatch.setattr(Execution, "measure", lambda *_: pytest.fail("something is measured"))
    assert [r["top"] for r in engine.run(STEPS, until=END, s=s).collect()] == [4.5, 4.5, 1.5, 2.5, 3.5]


def test_tuples_at_the_end_are_numbered_behind_those_that_were_counted(
    spark: SparkSession, counted: tuple[Engine, StreamQuery]
) -> None:
    engine, s = counted
    at = ", ".join(f"(3, 9.0, TIMESTAMP '2026-03-01 00:00:{second}')" for second in (41, 42))
    spark.sql(f"INSERT INTO learnt_readings VALUES {at}")
    assert [r["top"] for r in engine.run(STEPS, until=END, s=s).collect()] == [4.5, 4.5, 1.5, 2.5, 3.5, 9.0]


@pytest.mark.parametrize("at", ["00:00:02", "00:00:13", "00:00:25.5"])
def test_tuples_between_those_that_were_counted_are_an_error(
    spark: SparkSession, counted: tuple[Engine, StreamQuery], at: str
) -> None:
    engine, s = counted
    spark.sql(f"INSERT INTO learnt_readings VALUES (3, 9.0, TIMESTAMP '2026-03-01 {at}')")
    with pytest.raises(PySparkException, match="have changed since it was given to the engine; give it again"):
        engine.run(STEPS, until=END, s=s).collect()


@pytest.mark.parametrize("gone", ["k = 2", "v < 3", "second(ts) = 20"])
def test_tuples_that_were_counted_and_are_gone_are_an_error(
    spark: SparkSession, counted: tuple[Engine, StreamQuery], gone: str
) -> None:
    engine, s = counted
    kept = spark.table("learnt_readings").where(f"NOT ({gone})").collect()
    rows = spark.createDataFrame(kept, "k int, v double, ts timestamp")
    rows.write.insertInto("learnt_readings", overwrite=True)
    with pytest.raises(PySparkException, match="have changed since it was given to the engine; give it again"):
        engine.run(STEPS, until=END, s=s).collect()


def test_a_text_that_is_asked_again_is_read_once(
    spark: SparkSession, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine(spark)
    s = engine.stream_from(spark.read.parquet(str(table)), timestamp="ts")
    rows = engine.run(HOURS, s=s).collect()
    monkeypatch.setattr("astralq.spark.engine.read_script", lambda *_: pytest.fail("it is read again"))
    monkeypatch.setattr("astralq.spark.batch.optimize", lambda *_: pytest.fail("laws are tried again"))
    assert engine.run(HOURS, s=s).collect() == rows


def test_a_text_over_other_sources_or_with_declarations_is_read_again(
    spark: SparkSession, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine(spark)
    df = spark.read.parquet(str(table))
    query = "SELECT v FROM s WHERE v > 3"
    assert [r.v for r in engine.run(query, s=engine.stream_from(df, timestamp="ts")).collect()] == [4.5]
    other = engine.stream_from(df.selectExpr("k", "v * 10 AS v", "ts"), timestamp="ts")
    assert [r.v for r in engine.run(query, s=other).collect()] == [20.0, 45.0]
    declared = f"CREATE STREAM r (k INT, v DOUBLE, ts TIMESTAMP) FROM parquet '{table}' TIMESTAMP BY ts;"
    declared += " SELECT v FROM r;"
    reads: list[str] = []

    def counted(text: str, *further: Any) -> Script:
        reads.append(text)
        return read_script(text, *further)

    monkeypatch.setattr("astralq.spark.engine.read_script", counted)
    for _ in range(2):
        assert len(engine.run(declared).collect()) == 2
    assert reads == [declared, declared]


def test_an_engine_remembers_so_many_texts(spark: SparkSession, table: Path) -> None:
    engine = Engine(spark)
    s = engine.stream_from(spark.read.parquet(str(table)), timestamp="ts")
    for k in range(KEPT_TEXTS + 5):
        engine.explain(f"SELECT v FROM s WHERE v > {k}", s=s)
    assert len(engine._texts) == KEPT_TEXTS
