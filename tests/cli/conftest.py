"""A desk to work at: a folder with data, where query files stand for scripts built with the fluent API."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.support import READINGS, Desk


@pytest.fixture(autouse=True)
def _on_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both engines print the same, and the model is there at once; test_spark.py has the rest."""
    monkeypatch.setenv("ASTRALQ_ENGINE", "model")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk(tmp_path)
    (tmp_path / "readings.csv").write_text(READINGS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("astralq.cli.scripts.read_script", desk.read_script)
    return desk
