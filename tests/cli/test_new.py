"""`astralq new`: a folder to begin with, whose README can be typed to the letter."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from astralq.cli.new import COMMANDS
from tests.cli.support import printed, refused


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def console(readme: Path) -> dict[str, str]:
    """The commands of a page with what they print."""
    blocks = re.findall(r"```console\n\$ (.*?)\n(.*?)```", readme.read_text(), re.DOTALL)
    return dict(blocks)


def test_a_folder_is_made_and_what_to_do_next_is_told() -> None:
    assert printed("new", "shed") == (
        "shed is there, with\n"
        "  README.md\n"
        "  queries.aql\n"
        "  readings/2026-03-01.csv\n"
        "  sensors.csv\n"
        "\n"
        "Next:\n"
        "  cd shed\n"
        "  astralq check queries.aql\n"
        "  astralq run queries.aql\n"
        "  astralq start queries.aql --checkpoint checkpoint --once\n"
    )


def test_the_commands_of_its_readme_are_those_that_are_told() -> None:
    printed("new", "shed")
    assert tuple(console(Path("shed/README.md"))) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS[:2])
def test_the_commands_of_its_readme_print_what_it_shows(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    printed("new", "shed")
    monkeypatch.chdir("shed")
    assert printed(*shlex.split(command)[1:]) == console(Path("README.md"))[command]


def test_the_sample_has_a_gap_and_a_late_row() -> None:
    printed("new", "shed")
    rows = [line.split(",") for line in Path("shed/readings/2026-03-01.csv").read_text().splitlines()[1:]]
    times = [ts for _, _, ts in rows]
    assert sum(after < before for before, after in pairwise(times)) == 1
    assert {sensor: sum(s == sensor for s, _, _ in rows) for sensor in "123"} == {"1": 25, "2": 25, "3": 18}


def test_an_empty_folder_is_filled() -> None:
    Path("shed").mkdir()
    printed("new", "shed")
    assert Path("shed/queries.aql").is_file()


def test_a_folder_elsewhere_can_be_named() -> None:
    Path("my data").mkdir()
    assert "\n  cd 'my data/shed'\n" in printed("new", "my data/shed")


def test_a_folder_with_something_in_it_is_left_alone() -> None:
    Path("shed").mkdir()
    Path("shed/mine").touch()
    assert refused("new", "shed") == "astralq: shed is there already, and not empty\n  hint: choose another name\n"
    assert [f.name for f in Path("shed").iterdir()] == ["mine"]


def test_a_file_is_left_alone() -> None:
    Path("shed").write_text("mine")
    assert refused("new", "shed") == "astralq: shed is a file\n  hint: choose another name\n"


def test_the_folder_around_it_has_to_be_there() -> None:
    assert refused("new", "gone/shed") == "astralq: the folder gone does not exist\n  hint: make it first\n"


@pytest.mark.parametrize(
    ("name", "likely"),
    [("my sensors!", "my-sensors"), ("a*b", "a-b"), (".", "my-sensors"), ("..", "my-sensors"), ("", "my-sensors")],
)
def test_a_name_that_would_be_trouble_is_refused(name: str, likely: str) -> None:
    assert refused("new", name) == (
        f"astralq: {name!r} is no name for a folder of queries\n"
        f"  hint: use letters, digits, - and _, for example {likely}\n"
    )


def test_a_name_that_is_too_long_is_refused() -> None:
    assert refused("new", "x" * 300) == f"astralq: {'x' * 300} cannot be made: File name too long\n"
