"""What the tests of the documentation share: the pages, their fenced blocks, and a desk to type their commands at."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from astralq.cli.app import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Fence:
    """A fenced block. One with a title is a file that the reader writes before typing on."""

    language: str
    title: str | None
    text: str

    @property
    def commands(self) -> list[tuple[str, str]]:
        """The commands of a console block, each with what it prints."""
        return [(words, printed) for words, _, printed in (c.partition("\n") for c in self.text.split("$ ")[1:])]


def fences(page: Path) -> list[Fence]:
    """The fenced blocks of a page; what stands behind the language and is no title belongs to the language."""
    found = re.findall(r"^ *```(.*?)\n(.*?)^ *```$", page.read_text(), re.DOTALL | re.MULTILINE)
    return [_fence(heading.strip(), text) for heading, text in found]


def _fence(heading: str, text: str) -> Fence:
    titled = re.fullmatch(r'(\S+) title="([^"]+)"', heading)
    return Fence(heading, None, text) if titled is None else Fence(titled[1], titled[2], text)


def steps(page: Path) -> Iterator[tuple[str, str, str]]:
    """What a reader does, in order: ("write", file, text) or ("type", command, what it prints)."""
    for fence in fences(page):
        if fence.title is not None:
            yield "write", fence.title, fence.text
        elif fence.language == "console":
            for command, printed in fence.commands:
                yield "type", command, printed


def needs_spark(command: str) -> bool:
    return command.startswith("astralq start ")


def is_path(argument: str, before: str) -> bool:
    return argument.endswith(".aql") or before == "--checkpoint"


@dataclass
class Desk:
    """A folder in which a page is followed to the letter; `examples` is there, and /tmp is inside."""

    folder: Path
    monkeypatch: pytest.MonkeyPatch

    def __post_init__(self) -> None:
        (self.folder / "examples").symlink_to(ROOT / "examples")
        (self.folder / "tmp").mkdir()
        self.monkeypatch.chdir(self.folder)

    def write(self, file: str, text: str) -> None:
        Path(file).write_text(text)

    def type(self, command: str) -> str:
        """What a command prints; of one that fails, what it says on standard error too."""
        program, *arguments = shlex.split(command.replace("/tmp/", f"{self.folder}/tmp/"))
        match program, arguments:
            case "astralq", _:
                if needs_spark(command):  # Spark's own process was started elsewhere: relative paths would be there
                    arguments = [
                        str(Path(a).absolute()) if is_path(a, before) else a for before, a in pairwise(["", *arguments])
                    ]
                result = CliRunner().invoke(app, arguments, prog_name="astralq")
                printed = result.stdout if result.exit_code == 0 else result.output
                return printed.replace(f"{self.folder}/tmp/", "/tmp/")
            case "cat", [file]:
                return Path(file).read_text()
            case "cd", [folder]:
                self.monkeypatch.chdir(folder)
            case "mkdir", [folder]:
                Path(folder).mkdir()
            case "mv", [source, target]:
                shutil.move(source, target)
            case _:
                raise AssertionError(f"the tests cannot type {command!r}")
        return ""
