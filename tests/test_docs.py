"""The README and docs/: commands print what they show, queries can be read and print back, links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer
from pyspark.sql import SparkSession

from astralq.cli.app import app
from astralq.cli.scripts import wishes
from astralq.expr.functions import ALIASES, TABLE
from astralq.expr.nodes import AGGREGATES
from astralq.expr.spark_functions import catalogue
from astralq.language import read_script
from astralq.language.printer import print_script
from astralq.public import __all__ as public
from tests.draw.test_files import words
from tests.pages import PAGES, ROOT, Desk, fences, name_of, needs_spark, steps

LANGUAGE = ROOT / "docs" / "language.md"
COMMANDS = ROOT / "docs" / "reference" / "command-line.md"

OTHER_FENCES = {
    ("README.md", "text"): "two scripts that set up a machine",
    ("docs/language.md", "text"): "an overview of commands; reference/command-line.md is compared with them",
    ("docs/continuous.md", "text"): "an overview; one run goes on until Ctrl-C",
    ("docs/continuous.md", "python"): "a run that goes on in the background; engine.Engine has one that ends",
    ("docs/tutorial.md", "text"): "files of data that the reader writes, which the commands then read",
    ("docs/tutorial.md", "sh"): "a run that goes on until Ctrl-C, and what is typed beside it",
    ("docs/how-to/recipes.md", "text"): "files of data that the reader writes, which the commands then read",
    ("docs/how-to/load-a-file.md", "text"): "files that the reader writes, one of them wrong, which commands read",
    ("docs/how-to/kafka.md", "sh"): "needs a broker",
    ("docs/how-to/python-functions.md", "python"): "a module that the reader writes, which the commands then import",
    ("docs/how-to/python-functions.md", "text"): "a file of data, which the commands then read, and an error",
    ("docs/how-to/late-data.md", "text"): "files of data that the reader writes, which the commands then read",
    ("docs/how-to/late-data.md", "sh"): "a run that goes on until Ctrl-C",
    ("docs/how-to/cluster.md", "sh"): "needs a cluster",
    ("docs/how-to/notebook.md", "python"): "cells that need a Spark of their own; README.md has the same, run",
    ("docs/how-to/from-spark-window.md", "text"): "files of data that the reader writes, which the commands then read",
    ("docs/how-to/from-flink-sql.md", "text"): "files of data that the reader writes, which the commands then read",
    ("docs/how-to/from-cql.md", "text"): "files of data that the reader writes, which the commands then read",
    ("docs/how-to/compare.md", "text"): "a file of data, which the commands then read",
    ("docs/explanation/batches-and-positions.md", "text"): "a file of data, which the commands then read",
    ("docs/explanation/bounds.md", "text"): "a file of data, which the commands then read",
    ("docs/explanation/laws.md", "text"): "a file of data, which the commands then read",
    ("docs/laws.md", "text"): "operators; the page is written by tests/laws/test_page.py",
    ("docs/explanation/encoding.md", "text"): "a file of data, and a table of rows as they are on Spark",
    ("docs/performance.md", "sh"): "benchmarks, which take minutes",
    ("docs/reference/command-line.md", "sh"): "commands that need Spark, a broker or a cluster, or do not end",
}
"""Blocks that are neither run nor read, by page and language, and why."""

FOLLOWED = [page for page in PAGES if any(kind == "type" for kind, _, _ in steps(page))]
STARTING = [page for page in FOLLOWED if any(needs_spark(words) for kind, words, _ in steps(page) if kind == "type")]


def test_the_functions_that_the_language_names_are_there() -> None:
    section = LANGUAGE.read_text().partition("## Functions")[2].partition("## ")[0]
    named = {name.lower() for name in re.findall(r"`(\w+)\b(?=[(`])", section)} - {"case", "cast", "try_cast", "inside"}
    assert named - {*TABLE, *ALIASES, *AGGREGATES, *catalogue()} == set()
    assert len(named) > 30


# Blocks


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_of_a_page_is_run_or_read_or_listed(page: Path) -> None:
    for fence in fences(page):
        checked = fence.language in ("console", "sql") or (fence.language == "python" and ">>> " in fence.text)
        assert checked or (name_of(page), fence.language) in OTHER_FENCES, f"```{fence.language}\n{fence.text}"


def test_every_listed_block_is_there() -> None:
    there = {(name_of(page), fence.language) for page in PAGES for fence in fences(page)}
    assert set(OTHER_FENCES) <= there


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_fence_of_a_page_is_closed(page: Path) -> None:
    marks = re.findall(r"^ *```", page.read_text(), re.MULTILINE)
    assert len(marks) == 2 * len(fences(page))


# Commands


def follow(page: Path, desk: Desk, *, spark: bool) -> None:
    for kind, what, text in steps(page):
        if kind == "write":
            desk.write(what, text)
        elif spark or not needs_spark(what):
            assert desk.type(what) == text, what


@pytest.mark.parametrize("page", FOLLOWED, ids=name_of)
def test_the_commands_of_a_page_print_what_it_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the model, and without those that only Spark can run."""
    monkeypatch.setenv("ASTRALQ_ENGINE", "model")
    follow(page, Desk(tmp_path, monkeypatch), spark=False)


@pytest.mark.parametrize("page", STARTING, ids=name_of)
def test_the_commands_of_a_page_print_the_same_on_spark(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: SparkSession
) -> None:
    assert spark is not None  # the commands use the running session
    follow(page, Desk(tmp_path, monkeypatch), spark=True)


def test_the_picture_of_batches_is_what_its_page_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASTRALQ_ENGINE", "model")
    page = ROOT / "docs" / "explanation" / "batches-and-positions.md"
    follow(page, Desk(tmp_path, monkeypatch), spark=False)
    assert words((tmp_path / "batches.svg").read_text()) == words((page.parent / "pictures/batches.svg").read_text())


def test_the_page_of_the_command_line_has_every_command_and_option() -> None:
    root: Any = typer.main.get_command(app)
    real = {
        name: [f"{p.opts[0]} {p.metavar or ''}".strip() for p in command.params if p.param_type_name == "option"]
        for name, command in root.commands.items()
    }
    sections = re.split(r"^## astralq (\w+).*\n", COMMANDS.read_text(), flags=re.MULTILINE)[1:]
    written = {
        name: re.findall(r"^\| `(--[^`]+)`", text, re.MULTILINE)
        for name, text in zip(sections[::2], sections[1::2], strict=True)
    }
    assert written == real


def test_the_page_of_python_has_every_public_name() -> None:
    written = re.findall(r"^::: astralq\.(\w+)$", (ROOT / "docs/reference/python.md").read_text(), re.MULTILINE)
    assert set(written) - {"model", "draw"} == set(public)


# Queries


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_statement_of_a_page_can_be_read(page: Path) -> None:
    """A block with a title or a dialect is a file of its own; the others are read one behind the other."""
    alone: list[str] = []
    together: list[str] = []
    for fence in fences(page):
        if fence.language == "sql":
            by_itself = fence.title is not None or wishes(fence.text).dialect != "astral"
            (alone if by_itself else together).append(fence.text)
    for text in [*alone, "\n".join(together)]:
        assert read_script(text, wishes(text).dialect).queries or not text


def blocks() -> list[str]:
    return [fence.text for fence in fences(LANGUAGE) if fence.language == "sql"]


def test_every_statement_of_the_language_page_is_a_query_of_its_own() -> None:
    text = re.sub(r"--.*", "", "\n".join(blocks()))
    written = re.findall(r"^(?:SELECT|ISTREAM|DSTREAM|RSTREAM|WITH|INSERT|VALUES)\b", text, re.MULTILINE)
    assert len(read_script(text).queries) == len(written) > 40


def test_every_query_of_the_language_page_prints_back_as_itself() -> None:
    for query in read_script("\n".join(blocks())).queries:
        again = read_script(print_script(query.operator, query.t0)).queries[0]
        assert again.operator == query.operator, print_script(query.operator, query.t0)
        assert again.t0 == query.t0


# Links


def prose(page: Path) -> str:
    return re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as the site and GitHub make them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", h.strip().lower())) for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_of_a_page_leads_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose(page))):
        if re.match(r"\w+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_can_be_found_on_the_site() -> None:
    listed = set(re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    assert listed == {page.relative_to(ROOT / "docs").as_posix() for page in PAGES if page.name != "README.md"}
