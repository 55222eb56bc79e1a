"""Computed attributes on Spark: the model's rows, batch and live; a row that fails is refused, or set aside."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from pyspark.sql import SparkSession

from astralq import stream
from astralq.algebra.sources import StreamSource
from astralq.errors import DataError
from astralq.io.files import read_sources
from astralq.language import read_script
from astralq.model import run
from astralq.spark import Engine
from astralq.spark.sources.files import read_frame
from tests.runtime.live import Live
from tests.spark.test_files import rows as spark_rows

DECLARED = """
CREATE STREAM z (d STRING, a INT, c DOUBLE AS (10 / a), e AS (CASE WHEN a > 0 THEN CAST(d AS INT) END), f AS (_file))
  FROM {format} '{path}' TIMESTAMP BY to_timestamp(concat('19', d), 'yyyyMMdd');
ISTREAM(SELECT count(*) AS n, max(c) AS c, max(e) AS e, max(f) AS f FROM z [RANGE 1 DAY SLIDE 1 DAY]);
"""
ROWS = [("700101", 1), ("700102", -2), ("700102", 4), ("700104", None)]
WRONG = [("700199", 1), ("700105", 0), (None, 3), ("12345x", 7)]


def written(folder: Path, format_: str, rows: Sequence[tuple[str | None, int | None]]) -> None:
    folder.mkdir()
    target = folder / f"a b+c.{format_}"
    match format_:
        case "csv":
            target.write_text("".join(f"{d or ''},{'' if a is None else a}\n" for d, a in rows))
        case "json":
            target.write_text("".join(json.dumps({"d": d, "a": a}) + "\n" for d, a in rows))
        case _:
            columns = {"d": [d for d, _ in rows], "a": pa.array([a for _, a in rows], pa.int32())}
            pq.write_table(pa.table(columns), target)


def test_each_format_gives_the_models_rows(spark: SparkSession, tmp_path: Path) -> None:
    for format_ in ("csv", "json", "parquet"):
        written(tmp_path / format_, format_, ROWS)
        statement = read_script(DECLARED.format(format=format_, path=format_)).queries[0]
        z = next(op for op in statement.operator.walk() if isinstance(op, StreamSource))
        data = read_sources(z, tmp_path)
        assert sorted(spark_rows(spark, z, tmp_path), key=repr) == sorted(data["z"], key=repr)
        assert {row[4] for row in data["z"]} == {f"a b+c.{format_}"}
    # The whole query, from files and from a DataFrame of what is stored but for the file's name.
    expected = [(t.t, *t.values) for t in run(statement.operator, data)]
    answered = Engine(spark).answered(statement.operator, {"z": read_frame(spark, z, tmp_path)}).df
    assert [(r.t.timestamp() * 1e6, r.n, r.c, r.e, r.f) for r in answered.collect()] == expected
    frame = spark.createDataFrame(ROWS, "d STRING, a INT")
    engine = Engine(spark)
    s = engine.stream_from(frame, timestamp="to_timestamp(concat('19', d), 'yyyyMMdd')", computed={"c": "10 / a"})
    assert [r.c for r in engine.run(s.select("c")).collect()] == [10.0, -5.0, 2.5, None]
    (tmp_path / "d.csv").write_text("1970-01-02\n")
    # A text that says where its rows are, and a name that is given again.
    text = DECLARED.format(format="csv", path="csv")
    assert engine.run(text, folder=tmp_path).count() == len(expected)
    dated = "CREATE STREAM z (d DATE) FROM csv 'd*.csv' TIMESTAMP BY d; SELECT _file, d FROM z;"
    found = engine.run(dated, folder=tmp_path)
    assert [tuple(r) for r in found.collect()] == [(datetime(1970, 1, 2), 0, "d.csv", date(1970, 1, 2))]
    for n in (2, 3):
        again = engine.stream_from(frame.limit(n), timestamp="to_timestamp(d, 'yyMMdd')", name="again")
        assert engine.run(again.select("a")).count() == n


@pytest.mark.parametrize("wrong", WRONG)
def test_a_row_that_fails_is_refused_as_the_model_refuses_it(
    spark: SparkSession, tmp_path: Path, wrong: tuple[str | None, int]
) -> None:
    written(tmp_path / "csv", "csv", [*ROWS, wrong])
    z = read_script(DECLARED.format(format="csv", path="csv") + "SELECT * FROM z").queries[1].operator
    assert isinstance(z, StreamSource)
    if wrong[0] is None:  # read, but without a timestamp
        assert len(spark_rows(spark, z, tmp_path)) == 5
        return
    with pytest.raises(DataError) as of_model:
        read_sources(z, tmp_path)
    with pytest.raises(DataError) as of_spark:
        spark_rows(spark, z, tmp_path)
    assert str(of_spark.value) == str(of_model.value)


def test_a_continuous_run_sets_such_rows_aside(spark: SparkSession, tmp_path: Path) -> None:
    live = Live(spark, tmp_path, DECLARED.format(format="csv", path="z"))
    live.feed("z", [f"{d},{'' if a is None else a}" for d, a in ROWS])
    live.feed("z", [f"{d or ''},{a}" for d, a in WRONG])
    live.close()
    (tmp_path / "z" / "000002.csv").unlink()
    assert live.answer() == live.historic()
    lines = [json.loads(x) for f in (tmp_path / "checkpoint").rglob("rejected/**/part-*.json") for x in f.open()]
    assert sorted((x["row"], x["reason"]) for x in lines) == [
        (",3", "it has no timestamp: to_timestamp(concat('19', d), 'yyyyMMdd') is NULL"),
        ("12345x,7", "e AS (CASE WHEN a > 0 THEN CAST(d AS INT) ELSE NULL END) fails, where a = 7, d = 12345x"),
        ("700105,0", "c AS (10 / a) fails, where a = 0"),
        ("700199,1", "TIMESTAMP BY to_timestamp(concat('19', d), 'yyyyMMdd') fails, where d = 700199"),
    ]


def test_rows_that_bring_their_stamps_keep_them(spark: SparkSession) -> None:
    s = stream("s", "a INT", computed={"b": "10 / a"})
    frame = spark.createDataFrame([(5, 3, 0), (2, 4, 1)], "a INT, _t BIGINT, _i BIGINT")
    found = Engine(spark).answered(s.select("b", "_i AS i2").operator, {"s": frame}).df
    assert [(r.b, r.i2) for r in found.collect()] == [(2.0, 0), (5.0, 1)]
