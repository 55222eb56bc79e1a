"""An answer never replaces what the run reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from astralq.cli.app import app

QUERY = """CREATE STREAM s (v INT, ts INT) FROM csv 's.csv' OPTIONS (header = 'true') TIMESTAMP BY ts UNIT SECONDS;
"""
DATA = "v,ts\n7,1\n"


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("SELECT v FROM s;", ["--out", "s.csv"]),
        ("SELECT v FROM s;", ["--out", "q.aql"]),
        ("INSERT INTO csv 's.csv' SELECT v FROM s;", []),
    ],
)
def test_a_file_that_is_read_is_not_written(
    text: str, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text(DATA)
    (tmp_path / "q.aql").write_text(QUERY + text)
    result = CliRunner().invoke(app, ["run", "q.aql", *arguments])
    assert result.exit_code == 2
    assert "is read by this run" in result.stderr
    assert (tmp_path / "s.csv").read_text() == DATA
    assert (tmp_path / "q.aql").read_text() == QUERY + text


def test_times_in_seconds_are_those_of_the_answer(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(DATA)
    (tmp_path / "q.aql").write_text(QUERY + "SELECT v, timestamp_seconds(ts) AS at FROM s;")
    result = CliRunner().invoke(app, ["run", str(tmp_path / "q.aql"), "--format", "jsonl", "--time", "seconds"])
    assert result.stdout == '{"t": 1, "i": 0, "v": 7, "at": "1970-01-01T00:00:01Z"}\n'
