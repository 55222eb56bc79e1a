"""The benchmarks on a few thousand rows: both sides give the same answer, and say how long they took."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from astralq.algebra.base import Kind
from astralq.language import read_script
from benchmarks import CASES, __main__, harness, papers, picture, sharing, small, w2, w3, w5, w18
from benchmarks.__main__ import main
from benchmarks.case import Case
from benchmarks.harness import Result, Side

SMALL = (w2.case(3600, 600), *w3.CASES, w5.case(keys=3), w18.case(keys=3))
"""With fewer keys than the benchmark has, so that a few thousand rows are enough for ten of each."""


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_query_binds_to_a_stream_with_the_columns_that_are_compared(case: Case) -> None:
    declared = "\n".join(
        f"CREATE STREAM {name} ({dataset.declared}) FROM parquet '{name}' TIMESTAMP BY ts"
        + (" LOCATION BY (x, y) PLANAR;" if dataset.options else ";")
        for name, dataset in case.streams.items()
    )
    operator = read_script(f"{declared}\n{case.query};").queries[0].operator
    assert operator.kind is Kind.STREAM
    assert {a.name: str(a.type) for a in operator.schema} == case.columns


def test_the_small_query_has_an_answer_for_each_row(tmp_path: Path) -> None:
    small.write_query(tmp_path)
    line = [sys.executable, "-m", "astralq", "run", "q.aql", "--engine", "model", "--format", "csv"]
    done = subprocess.run(line, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert [row.rpartition(",")[2] for row in done.stdout.splitlines()] == ["mean", "0.5", "1.5", "1.5"]


def test_answers_are_equal_and_the_times_are_written(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ASTRALQ_BENCH", str(tmp_path / "data"))
    for name, value in (("ROUNDS", 1), ("MOST_ROUNDS", 1), ("WARM", 0.0)):
        monkeypatch.setattr(harness, name, value)
    target = tmp_path / "times.json"
    assert main(["--rows", "2000", "--json", str(target)], spark=spark, cases=SMALL) == 0, capsys.readouterr().err
    times = json.loads(target.read_text())
    assert [(r["workload"], r["case"]) for r in times] == [
        ("W2", "3600/600"),
        ("W3", "60"),
        ("W5", "10/3"),
        ("W18", "3/3"),
    ]
    for r in times:
        assert list(r) == ["workload", "case", "rows", "ours_s", "peer_s", "ratio", "target", "floor_s"]
        assert r["rows"] == 2000
    assert "ours ÷ peer" in capsys.readouterr().out


def test_answers_that_differ_are_told_and_their_times_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(_: Any, case: Case, rows: int) -> Result:
        wrong = case.name == "W2/600/60"
        ours, peer, floor = (
            Side(lambda: None, lambda _: None, 1.5, (9 if wrong and k == 0 else 10, 77)) for k in range(3)
        )
        return Result(case, rows, ours, peer, floor)

    monkeypatch.setattr(__main__, "measure", measured)
    target = tmp_path / "times.json"
    assert main(["w2/600", "--json", str(target)], spark=object()) == 1
    said = "W2/600/60: the answers differ: ours has 9 rows (checksum 77), the peer 10 (77)\n"
    assert capsys.readouterr().err == f"W2/600/600 …\nW2/600/60 …\n{said}"
    assert [r["case"] for r in json.loads(target.read_text())] == ["600/600"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["W22"], "there is no benchmark 'W22'\n  hint: did you mean 'W2'?\n"),
        (["W2/3600/61"], "there is no benchmark 'W2/3600/61'\n  hint: did you mean 'W2/3600/60'?\n"),
        (["--rows", "0"], "--rows is 0\n  hint: give a number from 1 on\n"),
        (["--json", "/no/such/f"], "the folder /no/such does not exist\n  hint: make it first\n"),
    ],
)
def test_what_cannot_be_meant_is_told_at_once(given: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(given) == 2
    assert capsys.readouterr().err == told


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_queries_are_timed_together_and_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """On few rows; that both sides give the same answers is asserted there."""
    assert sharing.main(["size", "start", "control", "--rows", "3000", "--queries", "3", "--rounds", "0"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()[1:]}
    assert list(lines) == ["start", "size", "control"]
    assert "K = 3601/3600 is not a whole number" in lines["control"]


def test_a_picture_shows_time_against_rows_and_overlap(tmp_path: Path) -> None:
    """W7 was run over two sizes; of W2 there are two overlaps over the larger one."""
    times = [
        {"workload": w, "case": c, "rows": n, "ours_s": 1.0, "peer_s": 2.0}
        for w, c, n in [("W7", "1000/100", 10), ("W7", "1000/100", 20), ("W2", "600/60", 20), ("W2", "600/600", 20)]
    ]
    (tmp_path / "times.json").write_text(json.dumps(times))
    assert [overlap for overlap, _ in picture.by_overlap(times)] == [1, 10]
    assert list(picture.by_rows(times)) == ["W7/1000/100"]
    assert picture.main([str(tmp_path / "times.json"), "--picture", str(tmp_path / "times.svg")]) == 0
    assert (tmp_path / "times.svg").read_text().startswith("<?xml")


def test_a_claim_of_the_papers_is_measured(spark: SparkSession) -> None:
    """[002 §2.2] What is behind a join depends on its order; both ways are in the table."""
    figures = papers.order(spark)
    assert figures[0].count[0] < figures[0].count[1] == 60
    assert len(papers.table(figures).rows) == 2
