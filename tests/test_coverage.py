"""Every definition and property of the papers has code and a test; docs/coverage.md is the table of them."""

from __future__ import annotations

import ast
import importlib
import re
from collections import defaultdict
from operator import attrgetter
from pathlib import Path

from astralq.laws.rules import RULES
from tests.papers import PAPERS, TITLES

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "docs" / "coverage.md"
TAG = re.compile(r"\[(00[0-4]) ([^\]]+)\]")


def tagged_tests() -> dict[tuple[str, str], list[str]]:
    """For each tag [paper number] in a test's docstring, the tests that have it."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for paper, number in TAG.findall(ast.get_docstring(node) or ""):
                    found[paper, number].append(f"{path.relative_to(ROOT / 'tests')}::{node.name}")
    return found


def law(number: str, code: str) -> str:
    """What a property or a corollary is used for: by a rule of the optimizer, by sharing, or only in tests."""
    if not re.fullmatch(r"[PC]\d+|Remark\d+", number):
        return ""
    if not code.startswith("laws.rules."):
        return "test only"
    name = code.removeprefix("laws.rules.").partition(":")[0]
    assert name in {r.name for r in RULES}
    return "sharing law" if name == "transposition" else f"rule `{name}`"


def table() -> str:
    """The text of docs/coverage.md."""
    tests = tagged_tests()
    lines = [
        "# What the papers define, and where it is",
        "",
        "Written by `tests/test_coverage.py` from the tags in the tests' docstrings; do not edit it.",
    ]
    for paper, rows in PAPERS.items():
        lines += [
            "",
            f"## {paper} · {TITLES[paper]}",
            "",
            "| number | what | law | code | tests |",
            "|---|---|---|---|---|",
        ]
        for number, what, code in rows:
            named = tests[paper, number]
            shown = "<br>".join(f"`{t}`" for t in named[:3]) + (
                f"<br>and {len(named) - 3} more" if len(named) > 3 else ""
            )
            lines.append(f"| {number} | {what} | {law(number, code)} | `{code.replace(':', '.')}` | {shown} |")
    return "\n".join(lines) + "\n"


def test_every_number_of_the_papers_has_a_test() -> None:
    tests = tagged_tests()
    missing = [f"{p} {n}" for p, rows in PAPERS.items() for n, _, _ in rows if not tests[p, n]]
    assert missing == []


def test_every_tag_in_a_test_is_a_number_of_the_papers() -> None:
    known = {(p, n) for p, rows in PAPERS.items() for n, _, _ in rows}
    assert [f"{p} {n}: {t}" for (p, n), t in tagged_tests().items() if t and (p, n) not in known] == []


def test_the_code_that_the_table_names_exists() -> None:
    for rows in PAPERS.values():
        for _, _, code in rows:
            module, _, name = code.partition(":")
            assert attrgetter(name)(importlib.import_module(f"astralq.{module}")) is not None


def test_the_table_is_up_to_date() -> None:
    """A stale table is written anew, so that the second run passes: look at the difference and commit it."""
    wanted = table()
    stale = not TABLE.exists() or TABLE.read_text() != wanted
    if stale:
        TABLE.write_text(wanted)
    assert not stale, "docs/coverage.md was out of date and has been written anew: commit it"
