"""The command on Spark: states, histories, parquet without the driver, plans, and errors that help."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from astralq.cli.app import app
from astralq.cli.new import COMMANDS
from tests.processes import PATIENCE, wait_until

QUERY = """
CREATE STREAM s (k INT, v DOUBLE, ts TIMESTAMP) FROM csv 's.csv' OPTIONS (header = 'true') TIMESTAMP BY ts;
{query};
"""
ROWS = """k,v,ts
1,0.1,2026-03-01T12:00:00Z
2,0.2,2026-03-01T12:00:10Z
1,0.3,2026-03-01T12:00:20Z
0,0.4,2026-03-01T12:00:30Z
"""


@pytest.fixture
def folder(tmp_path: Path, spark: SparkSession) -> Path:
    assert spark is not None  # the command uses the running session
    (tmp_path / "s.csv").write_text(ROWS)
    return tmp_path


def asked(folder: Path, query: str, *options: str, command: str = "run") -> Result:
    (folder / "q.aql").write_text(QUERY.format(query=query))
    engine = ["--engine", "spark"] if command == "run" else []
    return CliRunner().invoke(app, [command, str(folder / "q.aql"), *engine, *options])


def test_a_state_at_an_instant_is_printed_as_the_model_prints_it(folder: Path) -> None:
    found = asked(folder, "SELECT k, v FROM s [ROWS 2]", "--at", "2026-03-01T12:00:25Z")
    assert found.stdout == "k    v\n──────\n2  0.2\n1  0.3\n"


def test_a_history_ends_where_it_is_told(folder: Path) -> None:
    found = asked(
        folder, "ISTREAM(SELECT sum(v) AS s FROM s [UNBOUNDED])", "--until", "2026-03-01T12:00:15Z", "--format", "csv"
    )
    assert found.stdout == "t,i,s\n2026-03-01T12:00:00Z,0,0.1\n2026-03-01T12:00:10Z,0,0.30000000000000004\n"


def test_parquet_is_written_by_spark_in_the_order_of_the_rows(folder: Path) -> None:
    out = folder / "answer.parquet"
    found = asked(folder, "ISTREAM(SELECT k, v FROM s [ROWS 1])", "--out", str(out), "--time", "micros")
    assert (found.exit_code, found.stdout) == (0, "")
    parts = sorted(out.glob("part-*.parquet"))
    rows = [tuple(r.values()) for part in parts for r in pq.read_table(part).to_pylist()]
    start = 1772366400_000_000
    assert rows == [
        (start + t * 10_000_000, 0, k, v) for t, (k, v) in enumerate([(1, 0.1), (2, 0.2), (1, 0.3), (0, 0.4)])
    ]
    assert asked(folder, "ISTREAM(SELECT k FROM s [ROWS 1])", "--out", str(out)).exit_code == 0  # its own folder again


def test_parquet_never_replaces_a_file_or_another_folder(folder: Path) -> None:
    (folder / "kept.parquet").write_text("mine")
    found = asked(folder, "SELECT k FROM s [ROWS 1]", "--out", str(folder / "kept.parquet"))
    assert found.exit_code == 2
    assert "is there already, a file" in found.stderr
    assert (folder / "kept.parquet").read_text() == "mine"


def test_a_failing_expression_is_one_line_with_what_to_do_and_nothing_is_printed(folder: Path) -> None:
    found = asked(folder, "ISTREAM(SELECT 10 / k AS q FROM s [ROWS 1])", "--format", "jsonl")
    assert (found.exit_code, found.stdout) == (2, "")
    assert "Division by zero" in found.stderr
    assert "hint: guard it: nullif(x, 0)" in found.stderr
    assert "Traceback" not in found.stderr
    assert "at org." not in found.stderr


def test_a_value_that_does_not_fit_is_told_with_its_file_and_row(folder: Path) -> None:
    (folder / "s.csv").write_text(ROWS.replace("0.3", "x3"))
    found = asked(folder, "ISTREAM(SELECT v FROM s [ROWS 1])", "--format", "csv")
    assert (found.exit_code, found.stdout) == (2, "")
    assert "s.csv, row 3 (line 4): 'x3' in 'v' is not a DOUBLE" in found.stderr


def test_explain_shows_sparks_plans(folder: Path) -> None:
    found = asked(folder, "SELECT k FROM s [ROWS 2]", "--spark", command="explain")
    assert "WINDOW [ROWS 2]" in found.stdout
    assert "-- answer\n== Physical Plan ==" in found.stdout
    assert "one partition: few rows are read" in found.stdout


def test_a_setting_of_spark_is_passed_on(folder: Path, spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    try:
        assert asked(folder, "SELECT k FROM s [ROWS 2]", "--conf", "spark.sql.shuffle.partitions=3").exit_code == 0
        assert spark.conf.get("spark.sql.shuffle.partitions") == "3"
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", str(before))


def test_all_commands_of_the_starter_work_and_start_answers_what_run_answers(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert spark is not None  # the command uses the running session
    monkeypatch.delenv("ASTRALQ_ENGINE")
    assert CliRunner().invoke(app, ["new", str(tmp_path / "shed")]).exit_code == 0
    monkeypatch.chdir(tmp_path / "shed")
    answers = []
    for command in COMMANDS:
        found = CliRunner().invoke(app, shlex.split(command)[1:])
        assert (found.exit_code, found.stderr) == (0, ""), found.output
        answers.append([line for line in found.stdout.splitlines() if line.startswith("2026")])
    checked, ran, followed = answers
    assert (checked, len(ran)) == ([], 7)
    assert followed == ran


@pytest.mark.spark
def test_ctrl_c_while_spark_is_there_ends_with_status_130_and_without_a_traceback(tmp_path: Path) -> None:
    """Spark has a handler of its own for the signal; rows are asked for once Spark has started."""
    (tmp_path / "slow.py").write_text(
        "import pathlib, time\ndef rows():\n    pathlib.Path('asked').touch()\n    time.sleep(3600)\n    return []\n"
    )
    (tmp_path / "q.aql").write_text("CREATE RELATION r (k INT) FROM python 'slow:rows';\nSELECT k FROM r;\n")
    p = subprocess.Popen(
        [sys.executable, "-m", "astralq", "run", "q.aql", "--engine", "spark", "--master", "local[1]"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: (tmp_path / "asked").exists() or p.poll() is not None)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=PATIENCE)
    assert (p.returncode, out) == (130, ""), err
    assert "Traceback" not in err


def test_a_query_that_fails_is_told_with_its_file_number_and_line_and_the_others_are_answered(folder: Path) -> None:
    queries = "SELECT 1 div k AS x FROM s [ROWS 1];\nSELECT k FROM s [NOW];\nSELECT 2 div k AS x FROM s"
    found = asked(folder, queries, "--format", "jsonl", "--time", "seconds")
    assert found.exit_code == 2
    assert {line.split(",")[0] for line in found.stdout.splitlines()} == {'{"_q": 2'}
    assert [line for line in found.stderr.splitlines() if "hint" not in line] == [
        f"{folder}/q.aql: query 1, line 3: Division by zero.",
        f"{folder}/q.aql: query 3, line 5: Division by zero.",
    ]


def test_tuples_before_the_start_and_deletions_of_nothing_are_counted(folder: Path) -> None:
    (folder / "r.csv").write_text("op,ts,id\n-,2026-03-01T12:00:00Z,1\n+,2026-03-01T12:00:01Z,1\n")
    (folder / "s.csv").write_text(ROWS + "1,0.1,1969-12-31T23:59:59Z\n")
    log = "CREATE RELATION r (op STRING, ts TIMESTAMP, id INT) FROM csv 'r.csv' OPTIONS (header = 'true') "
    log += "CHANGES BY op AT ts"
    for engine in ("spark", "model"):
        found = asked(folder, f"{log};\nSELECT s.k FROM s [ROWS 1] JOIN r ON s.k = r.id", "--engine", engine)
        assert found.exit_code == 0, found.stderr
        place = f"{folder}/q.aql: query 1, line 4"
        assert found.stderr.splitlines() == [
            f"{place}: 1 tuple of s is before the start, 1970-01-01T00:00:00Z, and was left out",
            f"{place}: 1 change '-' of r found no row to take out",
        ]
