"""The layers of ARCHITECTURE.md: each may import only those above it; every file says what it is for."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

import astralq

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "astralq"

LAYERS = [
    "errors",
    "timeline",
    "space",
    "datatypes",
    "schema",
    "callables",
    "expr",
    "algebra",
    "io",
    "model",
    "laws",
    "sharing",
    "plan",
    "language",
    "printing",
    "draw",
    "compare",
    "spark",
    "runtime",
    "engine",
    "cli",
]
"""From the first to the last; a module may import its own layer and those before it."""

FORBIDDEN = {
    "io": {"pyspark", "matplotlib"},
    "laws": {"pyspark", "matplotlib"},
    "sharing": {"pyspark", "matplotlib"},
    "model": {"pyspark", "matplotlib"},
    "plan": {"pyspark", "matplotlib", "pyarrow"},
    "algebra": {"pyspark", "matplotlib"},
    "expr": {"pyspark"},
    "draw": {"pyspark"},
    "compare": {"pyspark"},
}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def imported(path: Path) -> set[str]:
    """The dotted names that a module imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names.add(node.module)
            if node.module == "astralq.model" or node.module == "astralq.algebra":
                names |= {f"{node.module}.{a.name}" for a in node.names}
    return names


def layer(dotted: str) -> str | None:
    parts = dotted.split(".")
    return parts[1] if parts[0] == "astralq" and len(parts) > 1 else None


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_module_imports_only_layers_before_its_own(path: Path) -> None:
    here = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if here in ("__init__", "__main__", "public"):
        return
    allowed = LAYERS[: LAYERS.index(here) + 1]
    for name in imported(path):
        found = layer(name)
        assert found is None or found in allowed, f"{path.name} imports {name}"
        assert name.split(".")[0] not in FORBIDDEN.get(here, set()), f"{path.name} imports {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_file_says_on_its_first_line_what_it_is_for(path: Path) -> None:
    first = path.read_text().splitlines()[0]
    assert first.startswith('"""'), path
    assert len(path.read_text().splitlines()) <= 450, f"{path} is too long to read in one go"


def test_scripts_say_on_their_second_line_what_they_are_for() -> None:
    for path in [*(ROOT / "scripts").iterdir(), ROOT / ".ci" / "run"]:
        assert path.read_text().splitlines()[1].startswith("# "), path


def test_the_public_names_are_these() -> None:
    """A new public name is a decision: add it here, with an example in its docstring."""
    assert sorted(astralq.__all__) == [
        *("AstralError", "BatchId", "Duration", "Instant", "Kind", "Operator", "Position", "Region", "RelationQuery"),
        *("Schema", "StreamQuery", "WindowSpec", "WindowsQuery", "at_instants", "distance", "duration", "fixed"),
        *("for_loop", "from_to", "function", "general", "hop", "instant", "landmark", "last_batch", "last_row"),
        *("moving", "now", "range_", "relation", "rows", "sensed", "session", "stream", "tumble", "two_rates"),
        *("unbounded", "values"),
    ]


@pytest.mark.parametrize("name", [n for n in astralq.__all__ if n not in ("Instant", "Duration", "Position")])
def test_a_public_name_has_a_docstring_with_an_example(name: str) -> None:
    """The doctests run them; the three left out are plain numbers with a type of their own."""
    assert ">>>" in (getattr(astralq, name).__doc__ or "")


def test_no_registry_is_named_in_the_lock() -> None:
    assert "://" not in (ROOT / "requirements.lock").read_text()


def test_the_shell_scripts_are_valid() -> None:
    for path in [*(ROOT / "scripts").iterdir(), ROOT / ".ci" / "run"]:
        subprocess.run(["bash", "-n", str(path)], check=True)
