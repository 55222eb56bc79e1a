"""docs/functions says which of Spark's functions are here, as the catalogue and the tables say it."""

from __future__ import annotations

from pathlib import Path

import pytest

from astralq.expr.functions import ALIASES, TABLE
from astralq.expr.spark_aggregates import COMPUTED
from astralq.expr.spark_functions import catalogue
from tests.functions_page import pages

FOLDER = Path(__file__).parent.parent / "docs" / "functions"


@pytest.mark.parametrize("name", pages())
def test_a_page_of_functions_is_up_to_date(name: str) -> None:
    """Run it twice: the first run writes the page anew."""
    path, text = FOLDER / name, pages()[name]
    before = path.read_text() if path.exists() else ""
    if before != text:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert before == text, f"{path.name} was written anew: review the difference, and commit it"


def test_no_page_is_left_of_a_group_that_is_gone() -> None:
    assert {p.name for p in FOLDER.glob("*.md")} == set(pages())


def test_what_the_model_computes_is_in_sparks_catalogue() -> None:
    """But for operators that have no name there, and what the language has for itself."""
    own = {"[]", "negate", "isnotnull", "isnull", "||", "<>", "~", "inside"}
    assert {n for n in (*TABLE, *ALIASES, *COMPUTED) if n not in catalogue()} <= {*own, "!="}
