"""Emitter and receiver (001 §8): two processes that hand a stream on give what one process gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from astralq.algebra.sources import EMITTED, Origin
from astralq.cli.app import app
from astralq.errors import DataError
from astralq.io.declared import check_progress
from astralq.schema import INT, Attribute
from tests.cli.support import astralq, printed

ROWS = "v,ts\n1,1970-01-01T00:00:01Z\n2,1970-01-01T00:00:02Z\n5,1970-01-01T00:01:40Z\n"
SOURCE = "CREATE STREAM s (v INT, ts TIMESTAMP) FROM csv 's' OPTIONS (header = 'true') TIMESTAMP BY ts;\n"
FEW = "SELECT v FROM s WHERE v < 3"
EXPIRES = [
    ("+", "1970-01-01T00:00:01Z", 1),
    ("+", "1970-01-01T00:00:02Z", 2),
    ("-", "1970-01-01T00:00:06.000001Z", 1),
    ("-", "1970-01-01T00:00:07.000001Z", 2),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "1.csv").write_text(ROWS)
    return tmp_path


def script(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def changes(text: str) -> list[tuple[Any, ...]]:
    return [(r["op"], r["t"], r["v"]) for r in map(json.loads, text.splitlines())]


def model(file: str) -> str:
    return printed("run", file, "--engine", "model", "--format", "jsonl")


FORMS = [("csv", "mid.csv"), ("json", "mid.jsonl"), ("parquet", "mid.parquet")]


@pytest.mark.parametrize(("form", "path"), FORMS)
def test_what_passes_in_time_is_handed_on_where_nothing_is_emitted(folder: Path, form: str, path: str) -> None:
    """[001 §8] σ_{v<3} over t = 1, 2, 100, then [RANGE 5 SECONDS]: both expire, long before the next tuple."""
    model(script(folder, "a.aql", f"{SOURCE}INSERT INTO {form} '{path}' WITH PROGRESS {FEW};"))
    read = f"CREATE STREAM m (v INT) FROM {form} '{path}' WITH PROGRESS;\nSELECT v FROM m [RANGE 5 SECONDS];"
    assert changes(model(script(folder, "b.aql", read))) == EXPIRES
    one = f"{SOURCE}SELECT v FROM ({FEW}) [RANGE 5 SECONDS];"
    assert changes(model(script(folder, "one.aql", one))) == EXPIRES


def test_without_progress_the_expiries_are_lost(folder: Path) -> None:
    """[001 §8] The same through a plain file: nobody knows that time has passed."""
    model(script(folder, "a.aql", f"{SOURCE}INSERT INTO csv 'mid.csv' OPTIONS (header = 'true') {FEW};"))
    read = "CREATE STREAM m (t TIMESTAMP, v INT) FROM csv 'mid.csv' OPTIONS (header = 'true') TIMESTAMP BY t;\n"
    assert changes(model(script(folder, "b.aql", f"{read}SELECT v FROM m [RANGE 5 SECONDS];"))) == EXPIRES[:2]


def test_a_batch_file_has_batches_positions_and_where_time_began_and_ended(folder: Path) -> None:
    """[001 §8]"""
    model(script(folder, "a.aql", f"{SOURCE}INSERT INTO csv 'mid.csv' WITH PROGRESS {FEW};"))
    assert (folder / "mid.csv").read_text() == (
        "t,i,v,_n\n1970-01-01T00:00:01Z,0,,\n1970-01-01T00:00:01Z,0,1,0\n1970-01-01T00:00:02Z,0,2,1\n1970-01-01T00:01:40Z,0,,\n"
    )


WAREHOUSE = """
CREATE RELATION products (id INT, sec INT) FROM csv 'data/products.csv' OPTIONS (header = 'true');
CREATE STREAM temperatures (sec INT, temp INT, ts TIMESTAMP)
  FROM csv 'data/temperatures.csv' OPTIONS (header = 'true') TIMESTAMP BY ts;
INSERT INTO csv 'mid.csv' {} RSTREAM(
  SELECT p.id, t.temp FROM temperatures [RANGE 60 SECONDS SLIDE 60 SECONDS] AS t JOIN products AS p ON p.sec = t.sec
  WHERE t.temp > 10) EVERY 60 SECONDS;
"""


@pytest.mark.parametrize(
    ("how", "declared", "last"),
    [
        ("WITH PROGRESS", "(id INT, temp INT) FROM csv 'mid.csv' WITH PROGRESS", [(1, 14), (4, 13)]),
        (
            "OPTIONS (header = 'true')",
            "(t TIMESTAMP, id INT, temp INT) FROM csv 'mid.csv' OPTIONS (header = 'true') TIMESTAMP BY t",
            [(4, 12), (4, 13)],
        ),
    ],
)
def test_the_order_of_the_warehouse_is_handed_on(
    tmp_path: Path, how: str, declared: str, last: list[tuple[int, int]]
) -> None:
    """[001 §8] 002's warehouse, and [ROWS 2] of it in another process; without positions it is ordered by value."""
    (tmp_path / "data").symlink_to(Path("examples/data").absolute())
    model(script(tmp_path, "a.aql", WAREHOUSE.format(how)))
    file = script(tmp_path, "b.aql", f"CREATE STREAM m {declared};\nSELECT id, temp FROM m [ROWS 2];")
    rows = printed("run", file, "--engine", "model", "--format", "jsonl", "--at", "2027-01-01")
    assert [(r["id"], r["temp"]) for r in map(json.loads, rows.splitlines())] == last


@pytest.mark.spark
@pytest.mark.parametrize(("form", "path"), FORMS)
def test_both_engines_write_and_read_the_same(folder: Path, spark: SparkSession, form: str, path: str) -> None:
    """[001 §8]"""
    assert spark is not None  # the command uses the running session
    printed("run", script(folder, "a.aql", f"{SOURCE}INSERT INTO {form} '{path}' WITH PROGRESS {FEW};"))
    read = f"CREATE STREAM m (v INT) FROM {form} '{path}' WITH PROGRESS;\nSELECT v FROM m [RANGE 5 SECONDS];"
    file = script(folder, "b.aql", read)
    assert changes(printed("run", file, "--format", "jsonl")) == changes(model(file)) == EXPIRES


@pytest.mark.spark
@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_two_continuous_runs_give_what_one_gives_over_restarts(folder: Path, spark: SparkSession, form: str) -> None:
    """[001 §8] The second epoch of the emitter has no tuple: it only says that time has passed."""
    assert spark is not None
    emit = script(folder, "a.aql", f"{SOURCE}INSERT INTO {form} 'mid' WITH PROGRESS {FEW};")
    read = f"CREATE STREAM m (v INT) FROM {form} 'mid' WITH PROGRESS;\nSELECT v FROM m [RANGE 5 SECONDS];"
    receive = script(folder, "b.aql", read)
    (folder / "s" / "1.csv").write_text(ROWS.rpartition("5,")[0])
    found = []
    for round_ in range(2):
        if round_:
            (folder / "s" / "2.csv").write_text("v,ts\n5,1970-01-01T00:01:40Z\n")
        for file, name in ((emit, "ca"), (receive, "cb")):
            result = astralq("start", file, "--checkpoint", str(folder / name), "--once", "--format", "jsonl")
            assert result.exit_code == 0, result.output
            found += changes(result.stdout)
    assert found == EXPIRES


@pytest.mark.spark
def test_heartbeats_in_the_data_let_time_pass(tmp_path: Path, spark: SparkSession) -> None:
    """[000 §6.2] A row that only says how far its source has come is no tuple."""
    assert spark is not None
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "1.csv").write_text(
        "1,1970-01-01T00:00:01Z,false\n2,1970-01-01T00:00:02Z,\n,1970-01-01T00:01:40Z,true\n"
    )
    text = "CREATE STREAM s (v INT, ts TIMESTAMP, alive BOOLEAN) FROM csv 's' TIMESTAMP BY ts HEARTBEAT BY alive;\n"
    file = script(tmp_path, "q.aql", f"{text}SELECT v FROM s [RANGE 5 SECONDS];")
    assert changes(model(file)) == EXPIRES
    assert changes(printed("run", file, "--format", "jsonl")) == EXPIRES
    live = CliRunner().invoke(app, ["start", file, "--checkpoint", str(tmp_path / "c"), "--once", "--format", "jsonl"])
    assert changes(live.stdout) == EXPIRES


def test_only_streams_are_written_with_progress_and_under_names_that_are_free() -> None:
    """[001 §8]"""
    sink = Origin("csv", "x", (), progress=True)
    with pytest.raises(DataError, match="this is a relation"):
        check_progress(sink, [Attribute("op", INT), *EMITTED])
    with pytest.raises(DataError, match="'_n' is the name of a column that it writes itself"):
        check_progress(sink, [*EMITTED, Attribute("_n", INT)])


@pytest.mark.spark
def test_an_epoch_that_was_written_again_after_a_crash_counts_once(tmp_path: Path, spark: SparkSession) -> None:
    """[001 §8] Kafka is at least once: a receiver knows a tuple again by its position."""
    assert spark is not None
    (tmp_path / "m").mkdir()
    rows = "".join(f'{{"t": "1970-01-01T00:00:0{v}Z", "i": 0, "v": {v}, "_n": {v - 1}}}\n' for v in (1, 2))
    file = script(tmp_path, "q.aql", "CREATE STREAM m (v INT) FROM json 'm' WITH PROGRESS;\nSELECT v FROM m;")
    printed_rows = ""
    for name in ("1", "2"):
        (tmp_path / "m" / f"{name}.json").write_text(rows)
        found = astralq("start", file, "--checkpoint", str(tmp_path / "c"), "--once", "--format", "csv")
        assert found.exit_code == 0, found.output
        printed_rows += found.stdout
    assert printed_rows == "t,i,v\n1970-01-01T00:00:01Z,0,1\n1970-01-01T00:00:02Z,0,2\n"
