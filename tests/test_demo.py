"""The demo runs, fits a terminal, and gives the answers that follow from its data."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

DEMO = Path(__file__).parent.parent / "examples" / "buoys.py"


@pytest.fixture(scope="module")
def demo() -> dict[str, Any]:
    return runpy.run_path(str(DEMO))


def test_the_demo_fits_a_terminal_of_80_columns(demo: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    demo["main"]()
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    assert printed.count("\n\n    ") >= 14


def test_the_demos_means_are_those_of_its_data(demo: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Recomputed with a few lines of plain Python: closed windows of 30 minutes, every 30 minutes."""
    demo["main"]()
    printed = capsys.readouterr().out
    readings = [(v, (t - demo["START"]) // 60_000_000) for sensor, v, t in demo["ocean"]()["S"] if sensor == 42]
    for k, clock in enumerate(("00:00", "00:30", "01:00", "01:30")):
        held = [v for v, minute in readings if 30 * k - 30 <= minute <= 30 * k]
        assert f"    {clock}  {round(sum(held) / len(held), 2)}  {len(held)}\n" in printed
