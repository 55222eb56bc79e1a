"""`astralq start` as a person sees it: answers, progress, what is kept, errors, and Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from astralq.cli.app import app
from tests.processes import wait_until

DECLARED = "CREATE STREAM s (k INT, v DOUBLE, ts TIMESTAMP) FROM csv 's' OPTIONS (header = 'true') TIMESTAMP BY ts;\n"
ROWS = """k,v,ts
1,0.1,2026-03-01T12:00:00Z
2,0.2,2026-03-01T12:00:10Z
1,0.3,2026-03-01T12:00:20Z
"""
QUERIES = """ISTREAM(SELECT k, v FROM s [ROWS 2]);
SELECT count(*) AS n FROM s [RANGE 5 SECONDS];
"""


@pytest.fixture
def folder(tmp_path: Path, spark: SparkSession) -> Path:
    assert spark is not None  # the command uses the running session
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "1.csv").write_text(ROWS)
    return tmp_path


def started(folder: Path, queries: str, *options: str) -> Result:
    (folder / "q.aql").write_text(DECLARED + queries)
    return CliRunner().invoke(app, ["start", str(folder / "q.aql"), "--checkpoint", str(folder / "c"), *options])


def test_once_prints_what_run_prints_and_a_second_time_nothing(folder: Path) -> None:
    found = started(folder, QUERIES, "--once", "--format", "jsonl", "--progress", str(folder / "p.jsonl"))
    assert found.exit_code == 0, found.output
    ran = CliRunner().invoke(app, ["run", str(folder / "q.aql"), "--format", "jsonl"])
    assert found.stdout == ran.stdout
    (progress,) = map(json.loads, (folder / "p.jsonl").read_text().splitlines())
    assert (progress["epoch"], progress["rows"], progress["rejected"]) == (1, 3, 0)
    assert [(q["query"], q["released"], q["late"], q["watermark"]) for q in progress["queries"]] == [
        ("1", 3, 0, "2026-03-01T12:00:20Z"),
        ("2", 3, 0, "2026-03-01T12:00:20Z"),
    ]
    assert started(folder, QUERIES, "--once").stdout == ""


def test_insert_into_writes_a_file_for_each_epoch_as_run_would(folder: Path) -> None:
    query = "INSERT INTO csv 'out' ISTREAM(SELECT k, v FROM s [NOW]);"
    assert started(folder, query, "--once").stdout == ""
    assert (folder / "out" / "1-0000000001.csv").read_text() == (
        "t,i,k,v\n2026-03-01T12:00:00Z,0,1,0.1\n2026-03-01T12:00:10Z,0,2,0.2\n2026-03-01T12:00:20Z,0,1,0.3\n"
    )


def test_ctrl_c_ends_a_run_with_status_130_and_it_goes_on_afterwards(folder: Path) -> None:
    query = "ISTREAM(SELECT k, v FROM s [NOW]);"

    def interrupt() -> None:
        wait_until((folder / "c" / "commit" / "1.json").exists)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    found = started(folder, query, "--format", "csv", "--trigger", "200 ms")
    assert found.exit_code == 130, found.output
    assert found.stdout == "t,i,k,v\n2026-03-01T12:00:00Z,0,1,0.1\n2026-03-01T12:00:10Z,0,2,0.2\n"
    assert "Traceback" not in found.output
    assert started(folder, query, "--format", "csv", "--once").stdout.endswith("2026-03-01T12:00:20Z,0,1,0.3\n")


def test_what_cannot_be_kept_is_refused_before_anything_runs(folder: Path) -> None:
    found = started(folder, "SELECT s.k FROM s [UNBOUNDED] JOIN s [NOW] AS n ON s.k = n.k;")
    assert found.exit_code == 2
    assert "WINDOW [UNBOUNDED] keeps the tuples that it holds" in found.output
    assert "accept it with --allow-unbounded-state" in found.output
    assert not (folder / "c").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--trigger", "soon"], "soon"),
        (["--idle", "0 s"], "'0 s' is not longer than nothing"),
        (["--format", "parket"], "'parket' is no format"),
    ],
)
def test_options_that_cannot_be_meant_are_told(folder: Path, options: list[str], told: str) -> None:
    found = started(folder, QUERIES, *options)
    assert found.exit_code == 2
    assert told in found.output
