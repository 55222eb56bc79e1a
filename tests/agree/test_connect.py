"""Spark Connect: the same answers, from a server in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.spark
@pytest.mark.usefixtures("classic")
def test_generated_queries_give_the_models_answers_over_connect() -> None:
    """A process has either classic sessions or those of Spark Connect. All: pytest tests/agree --connect."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--connect", "--trials", "4"]
    found = subprocess.run(
        [*words, "tests/agree/test_queries.py"], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert found.returncode == 0, found.stdout[-3000:]
