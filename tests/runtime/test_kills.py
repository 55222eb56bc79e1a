"""kill -9 of the real process while rows flow, with --scale; `scripts/crash` does it twenty times, from Kafka too."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.processes import PATIENCE

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("processes")]


@pytest.mark.usefixtures("alone")
def test_a_killed_process_goes_on_where_it_was() -> None:
    command = [sys.executable, "-m", "tests.runtime.kills", "--kills", "1", "--rows", "10000", "--longest", "10"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
    assert "1 kills" in done.stdout, done.stdout + done.stderr[-3000:]
    assert "each once and in order" in done.stdout
