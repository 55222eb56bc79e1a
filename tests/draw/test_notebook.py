"""What a notebook shows: plans as trees, answers as tables with a timeline."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from astralq import instant, relation, rows, stream
from astralq.model import run
from tests.support import single

S = stream("S", "v INT, name STRING, ts TIMESTAMP", timestamp="ts")


def data(count: int) -> dict[str, Any]:
    return {"S": [(k, f"<{k}>", instant(k * 1_000_000)) for k in range(count)]}


def parsed(html: str) -> ElementTree.Element:
    """The HTML as a tree, which it is if every tag is closed."""
    return ElementTree.fromstring(f"<div>{html}</div>")


def cells(html: str) -> list[list[str | None]]:
    return [[c.text for c in r] for r in parsed(html).iter("tr")]


def test_a_plan_is_a_tree_with_kinds_and_attributes() -> None:
    html = S[rows(3)].where("v < 2").istream()._repr_html_()
    text = [e.text for e in parsed(html).iter("span")]
    assert text[0:9:3] == ["ISTREAM", "SELECT v < 2", "WINDOW [ROWS 3]"]
    assert text[1:9:3] == ["stream", "relation", "relation"]
    assert len(list(parsed(html).iter("ul"))) == 3


def test_a_plan_with_two_sides_has_both_below_it() -> None:
    other = relation("R", "w INT")
    (below, *_) = parsed(S[rows(1)].join(other, on="v = w")._repr_html_()).iter("ul")
    assert len(below) == 2


def test_an_operator_shows_itself_as_its_query_does() -> None:
    assert S.operator._repr_html_() == S._repr_html_()


def test_an_answer_is_a_list_and_a_table() -> None:
    found = run(S.where("v > 0").select("v, name"), data(3))
    assert isinstance(found, list)
    assert cells(found._repr_html_()) == [
        ["t", "i", "v", "name"],
        ["1970-01-01T00:00:01Z", "0", "1", "<1>"],
        ["1970-01-01T00:00:02Z", "0", "2", "<2>"],
    ]


def test_the_changes_of_a_relation_say_what_is_gained_and_lost() -> None:
    html = run(S[rows(1)].select("v"), data(2))._repr_html_()
    assert [r[0] for r in cells(html)] == ["op", "+", "-", "+"]
    assert "filled: gained, hollow: lost" in html


def test_windows_of_sneeql_are_rows_too() -> None:
    html = run(S.select("v").windows(0, 0, 1), data(2))._repr_html_()
    assert [r[2] for r in cells(html)] == ["v", "0", "1"]


def test_a_long_answer_has_its_first_rows_and_the_number_of_the_others() -> None:
    html = run(S, data(50))._repr_html_()
    assert len(cells(html)) == 21
    assert "… and 30 more rows" in html


def test_a_timeline_has_a_dot_for_each_instant() -> None:
    html = run(S, data(3))._repr_html_()
    assert re.findall(r'<circle cx="(\d+)"', html) == ["10", "300", "590"]


def test_what_happens_at_one_instant_needs_no_timeline() -> None:
    assert "<svg" not in run(S, data(1))._repr_html_()


def test_a_stream_of_the_model_is_a_table() -> None:
    assert cells(single((7, 1))._repr_html_()) == [["t", "i", "n", "0"], ["1970-01-01T00:00:01Z", "0", "0", "7"]]


def test_nothing_is_fetched_from_elsewhere() -> None:
    html = run(S, data(3))._repr_html_() + S[rows(2)]._repr_html_()
    assert set(re.findall(r"https?://[^\"]*", html)) <= {"http://www.w3.org/2000/svg"}
    assert "<script" not in html
