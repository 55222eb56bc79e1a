"""`astralq run examples/*.aql` answers every example, each in its own dialect, and `explain` explains it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from astralq.cli.app import app

EXAMPLES = sorted((Path(__file__).parent.parent.parent / "examples").glob("*.aql"))


def test_all_examples_run_in_one_go_and_spark_gives_the_models_answers(spark: SparkSession) -> None:
    assert spark is not None  # the command uses the running session
    printed = {}
    for engine in ("model", "spark"):
        result = CliRunner().invoke(app, ["run", *map(str, EXAMPLES), "--format", "jsonl", "--engine", engine])
        assert result.exit_code == 0, result.stderr
        assert result.stderr.splitlines() == [
            f"{EXAMPLES[3]}: query 1, line 14: 5 tuples of measures are before the start, 2026-03-01T00:25:00Z, "
            "and were left out"
        ]
        printed[engine] = result.stdout
    assert printed["spark"] == printed["model"]
    assert len(EXAMPLES) >= 12


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_can_be_explained(path: Path) -> None:
    result = CliRunner().invoke(app, ["explain", str(path)])
    assert result.exit_code == 0, result.stderr
    assert "kind  " in result.stdout
    assert "└─ " in result.stdout
