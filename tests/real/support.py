"""What the tests on real data share: where the files are, and how a query is asked through the command line."""

from __future__ import annotations

import csv
import gzip
import json
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from astralq.cli.app import app

ENGINE = "spark"
"""The engine that answers; the model would need hours for files of this size."""

FOLDER = Path(__file__).parents[3] / "shared" / "data"

needs_data = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"the real data are not here: there is no folder {FOLDER}")


def path(name: str) -> Path:
    return FOLDER / name


def records(name: str) -> list[dict[str, str]]:
    """The rows of a csv file as text, in the file's order."""
    file = path(name)
    with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as text:
        return list(csv.DictReader(text))


def answer(folder: Path, query: str, *options: str) -> list[tuple[Any, ...]]:
    """What `astralq run` prints for a query, each row's values in the printed order: t, i and the attributes."""
    file = folder / "query.aql"
    file.write_text(query, encoding="utf-8")
    result = CliRunner().invoke(app, ["run", str(file), "--engine", ENGINE, "--format", "jsonl", *options])
    assert result.exit_code == 0, result.stderr or repr(result.exception)
    return [tuple(json.loads(line).values()) for line in result.stdout.splitlines()]


def iso(t: datetime) -> str:
    """As the command prints a time in UTC that has no fraction of a second."""
    return f"{t:%Y-%m-%dT%H:%M:%SZ}"


def mean(values: list[float]) -> float | None:
    """The exact mean, rounded once to the nearest double; NULL of nothing."""
    return float(sum(map(Fraction, values)) / len(values)) if values else None
