"""State tables in files: which parts an epoch reads, which are dropped, and which become one."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from astralq.runtime.checkpoint import tables as module
from astralq.runtime.checkpoint.folders import Folders
from astralq.runtime.checkpoint.tables import InFiles, Table
from tests.runtime.live import Live


def appended(spark: SparkSession, folders: Folders, epochs: range, *, expire: bool = True) -> Table:
    """One row an epoch, which leaves ten instants later; what has left by then expires."""
    table: Table | None = None
    for e in epochs:
        store = InFiles(spark, folders, e, {} if table is None else {"x": table})
        store.append("x", spark.createDataFrame([(e, e + 10)], "v INT, tt BIGINT"))
        if expire:
            store.expire("x", e)
        table = store.written["x"]
    assert table is not None
    return table


def test_a_part_whose_rows_have_all_left_is_dropped(spark: SparkSession, tmp_path: Path) -> None:
    """At 25 the rows of the epochs up to 15 have left, at their instant 25."""
    table = appended(spark, Folders(tmp_path), range(12, 26))
    assert table.rows == 10
    assert min(p.span[0] for p in table.parts if p.span) == 26


def test_an_epoch_reads_the_parts_that_have_something_that_leaves_in_it(spark: SparkSession, tmp_path: Path) -> None:
    table = appended(spark, Folders(tmp_path), range(5))
    store = InFiles(spark, Folders(tmp_path), 9, {"x": table})
    assert [r.v for r in store.between("x", 11, 13).collect()] == [2, 3]
    assert table.rows_read(11, 13) == 2
    assert table.rows_read(None, 13) == 5


def test_parts_of_one_size_become_one(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three make one, and three of those one again; none of the ten rows of the last ten epochs is lost."""
    monkeypatch.setattr(module, "TOGETHER", 3)
    table = appended(spark, Folders(tmp_path), range(1, 10))
    assert [p.level for p in table.parts] == [2]
    table = appended(spark, Folders(tmp_path / "b"), range(1, 15))
    assert [p.level for p in table.parts] == [2, 1, 0, 0]
    left = [r.v for r in table.frame(spark, tmp_path / "b").collect() if r.tt > 14]
    assert sorted(left) == list(range(5, 15))


def test_a_table_is_the_same_after_it_was_written_to_a_record(spark: SparkSession, tmp_path: Path) -> None:
    table = appended(spark, Folders(tmp_path), range(3))
    assert Table.from_record(table.record) == table


RANGE = """
    CREATE STREAM s (k INT, v DOUBLE, ts INT) FROM csv 's' TIMESTAMP BY ts UNIT SECONDS;
    ISTREAM(SELECT k, avg(v) AS m, stddev(v) AS d, count(*) AS n FROM s [RANGE 4 SECONDS] GROUP BY k);
"""


def test_sums_that_go_on_over_many_epochs_are_those_of_a_batch_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts are dropped and become one on the way, and a value comes that needs other limbs."""
    monkeypatch.setattr(module, "TOGETHER", 3)
    live = Live(spark, tmp_path, RANGE)
    (tmp_path / "s").mkdir()
    for begin in range(0, 12, 4):
        with live.opened() as run:
            for t in range(begin, begin + 4):
                value = 1e-9 if t == 8 else t / 4
                live.feed("s", [f"{t % 2},{value},{t}", f"1,{t},{t}", f"{t % 3},0.1,{t}"])
                live.go_on(run)
            assert run.last_progress is not None
            assert run.last_progress.queries[0].state_rows < 30
    live.close()
    assert live.answer() == live.historic()
