"""Manners: help that fits a screen, misspelt words with what is meant, and Ctrl-C at any time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from astralq.cli.app import app
from tests.cli.support import printed, refused
from tests.processes import PATIENCE, wait_until

NAMES = [command.name or command.callback.__name__ for command in app.registered_commands if command.callback]


# Help


@pytest.mark.parametrize("words", [[], *([name] for name in NAMES)], ids=" ".join)
def test_help_fits_a_screen_and_shows_an_example(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = printed(*words, "--help").splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert "  Example: astralq " in "\n".join(lines)


def test_the_list_of_commands_cuts_none_of_them_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert "..." not in printed("--help").partition("Commands:")[2]


def test_the_version_is_that_of_the_package_and_of_spark() -> None:
    assert printed("--version") == f"astralq {version('astralq')}, on Spark {version('pyspark')}\n"


# Misspelt words


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("chekc q.aql", "No such command 'chekc'. Did you mean 'check'?"),
        ("nwe shed", "No such command 'nwe'. Did you mean 'new'?"),
        ("zebra", "No such command 'zebra'."),
        ("q.aql", "No such command 'q.aql'. Did you mean 'run q.aql'?"),
        ("run q.aql --formt csv", "No such option '--formt'. Did you mean '--format'?"),
        ("check q.aql --dialct cql", "No such option '--dialct'. Did you mean '--dialect'?"),
        ("start q.aql --checkpont c", "No such option '--checkpont'. Did you mean '--checkpoint'?"),
        ("run q.aql --zebra", "No such option '--zebra'."),
        ("run q.aql -x", "No such option '-x'."),
        ("--hepl", "No such option '--hepl'. Did you mean '--help'?"),
    ],
)
def test_a_misspelt_word_is_told_with_the_one_that_is_meant(words: str, told: str) -> None:
    assert refused(*words.split()).splitlines()[-1] == f"Error: {told}"


# Ctrl-C


def started(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "astralq", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]), "ASTRALQ_ENGINE": "model"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def interrupted(p: subprocess.Popen[str]) -> tuple[int, str, str]:
    os.kill(p.pid, signal.SIGINT)
    out, err = p.communicate(timeout=PATIENCE)
    return p.returncode, out, err


@pytest.mark.parametrize("words", ["run q.aql", "check q.aql", "explain q.aql", "start q.aql --checkpoint c"])
def test_ctrl_c_ends_every_command_with_status_130_and_without_a_word(words: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "q.aql")  # to read it is to wait until somebody writes
    p = started(tmp_path, *words.split())
    with (tmp_path / "q.aql").open("w"):
        assert interrupted(p) == (130, "", "")


def test_ctrl_c_while_data_are_read_ends_it_the_same_way(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "s.csv")
    (tmp_path / "q.aql").write_text(
        "CREATE STREAM s (v INT, ts TIMESTAMP) FROM csv 's.csv' TIMESTAMP BY ts;\nSELECT v FROM s;"
    )
    p = started(tmp_path, "run", "q.aql", "--out", "a.csv")
    with (tmp_path / "s.csv").open("w"):
        assert interrupted(p) == (130, "", "")
    assert sorted(f.name for f in tmp_path.iterdir()) == ["q.aql", "s.csv"]


def test_ctrl_c_while_python_imports_ends_it_the_same_way(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("import pathlib, time\npathlib.Path('importing').touch()\ntime.sleep(3600)\n")
    p = started(tmp_path, "run", "q.aql")
    wait_until(lambda: (tmp_path / "importing").exists() or p.poll() is not None, 0.02)
    assert interrupted(p) == (130, "", "")


def test_ctrl_c_inside_an_exec_is_a_status_too_and_no_signal(tmp_path: Path) -> None:
    """Dataclasses use exec; CPython would end by the signal that has passed through one."""
    slow = "import pathlib, time; pathlib.Path('importing').touch(); time.sleep(3600)"
    (tmp_path / "typer.py").write_text(f"exec({slow!r})\n")
    p = started(tmp_path, "run", "q.aql")
    wait_until(lambda: (tmp_path / "importing").exists() or p.poll() is not None, 0.02)
    assert interrupted(p) == (130, "", "")
