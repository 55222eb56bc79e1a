"""The README and docs/: their commands print what they show, their queries can be read and print back as themselves."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from astralq.cli.app import app
from astralq.language import read_script
from astralq.language.printer import print_script

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "language.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks() -> list[str]:
    return re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)


def commands() -> list[tuple[str, str]]:
    """The commands in the pages' console blocks, each with what it prints."""
    found = []
    for page in PAGES:
        for block in re.findall(r"```console\n(.*?)```", page.read_text(), re.DOTALL):
            for command in block.split("$ ")[1:]:
                words, _, printed = command.partition("\n")
                found.append((words, printed))
    return found


@pytest.mark.parametrize(("command", "printed"), commands(), ids=[c for c, _ in commands()])
def test_a_command_of_the_pages_prints_what_they_show(
    command: str, printed: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    program, *arguments = shlex.split(command.replace("/tmp/", f"{tmp_path}/"))
    if program == "cat":
        assert Path(arguments[0]).read_text() == printed
    else:
        assert program == "astralq"
        assert CliRunner().invoke(app, arguments).stdout == printed


def test_every_statement_of_the_language_page_can_be_read() -> None:
    text = re.sub(r"--.*", "", "\n".join(blocks()))
    written = re.findall(r"^(?:SELECT|ISTREAM|DSTREAM|RSTREAM|WITH|INSERT)\b", text, re.MULTILINE)
    assert len(read_script(text).queries) == len(written) > 40


def test_every_query_of_the_language_page_prints_back_as_itself() -> None:
    for query in read_script("\n".join(blocks())).queries:
        again = read_script(print_script(query.operator, query.t0)).queries[0]
        assert again.operator == query.operator, print_script(query.operator, query.t0)
        assert again.t0 == query.t0
