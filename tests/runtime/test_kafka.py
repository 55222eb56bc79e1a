"""From a real Kafka broker and to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.runtime.kafka import jars


def test_rows_go_from_kafka_to_kafka_each_under_its_own_key(tmp_path: Path) -> None:
    jars()
    command = [sys.executable, "-m", "tests.runtime.kafka_round", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.strip().endswith("equal"), done.stdout + done.stderr[-3000:]
