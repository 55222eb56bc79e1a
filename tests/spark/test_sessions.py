"""Several sessions of one Spark: a query is answered in that of its rows, whichever one was used last."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from pyspark.sql import DataFrame, SparkSession

from astralq.spark import Engine, server
from astralq.spark.session import use_this_python

HARBOUR = "CREATE REGION harbour AS 'POLYGON ((0 0, 9 0, 9 9, 0 0))';\n"


def places(spark: SparkSession) -> DataFrame:
    return spark.sql("SELECT CAST(id AS DOUBLE) AS x, 1D AS y, timestamp_seconds(id) AS ts FROM range(3)")


def test_a_region_is_tested_in_the_session_of_its_rows(spark: SparkSession, several: SparkSession) -> None:
    engine = Engine(several)
    s = engine.stream_from(places(several), timestamp="ts", location=("x", "y"), name="places")
    spark.createDataFrame([], "x int")  # the other one is active
    found = engine.run(f"{HARBOUR}SELECT x FROM s [UNBOUNDED] WHERE inside(x, y, harbour);", s=s)
    assert [r.x for r in found.collect()] == [1.0, 2.0]


def test_a_process_that_has_a_session_does_not_look_for_a_server(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process has either classic sessions or those of Spark Connect; and what runs keeps its settings."""
    monkeypatch.setattr(server, "running", lambda: pytest.fail("there is a session"))
    before = spark.conf.get("spark.sql.shuffle.partitions")
    assert server.warm_session(little=True) is spark
    assert spark.conf.get("spark.sql.shuffle.partitions") == before


@pytest.mark.parametrize(
    ("master", "settings", "environment", "expected"),
    [
        ("local[2]", {}, {}, sys.executable),
        ("local[2]", {"spark.pyspark.python": "python3.12"}, {}, "python3"),
        ("local[2]", {}, {"PYSPARK_PYTHON": "python3.12"}, "python3"),
        ("spark://host:7077", {}, {}, "python3"),
    ],
)
def test_workers_on_this_machine_run_the_python_of_this_process(
    master: str,
    settings: dict[str, str],
    environment: dict[str, str],
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Unless somebody chose another one: without an activated environment python3 has none of our packages."""
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    context = SimpleNamespace(master=master, pythonExec="python3", getConf=lambda: settings)
    use_this_python(SimpleNamespace(sparkContext=context))
    assert context.pythonExec == expected
