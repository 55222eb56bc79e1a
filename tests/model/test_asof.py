"""ASOF JOIN, worked out by hand: each tuple with the nearest of another relation, in each state."""

from __future__ import annotations

import pytest

from astralq import relation, rows, stream, unbounded
from astralq.errors import PlanError
from astralq.model import Data
from tests.support import answer, at, sec, single

TRADES = stream("T", "k STRING, x INT")[unbounded()]
QUOTES = stream("Q", "id STRING, y INT, p INT")[unbounded()]
DATA: Data = {
    "T": single(("a", 5, 10), ("b", 1, 10), ("a", 5, 10), ("a", 7, 10)),
    "Q": single(("a", 3, 30, 1), ("a", 5, 50, 1), ("a", 5, 51, 1), ("b", 2, 20, 1), ("a", None, 9, 1)),
}


def test_the_greatest_at_or_before_and_of_equal_ones_the_last() -> None:
    """Equal trades have a quote each; b has none before 1."""
    assert at(TRADES.asof(QUOTES, "k = id AND x >= y").select("k, x, p"), DATA, 10) == [
        *[("a", 5, 51), ("a", 5, 51), ("a", 7, 51)],
    ]
    left = TRADES.asof(QUOTES, "k = id AND x >= y", how="left").select("k, x, p")
    assert at(left, DATA, 10) == [("a", 5, 51), ("b", 1, None), ("a", 5, 51), ("a", 7, 51)]


def test_the_greatest_before() -> None:
    assert at(TRADES.asof(QUOTES, "k = id AND y < x").select("x, p"), DATA, 10) == [(5, 30), (5, 30), (7, 51)]


def test_the_least_at_or_after_and_of_equal_ones_the_first() -> None:
    found = TRADES.asof(QUOTES, "k = id AND x <= y", how="left").select("k, x, p")
    assert at(found, DATA, 10) == [("a", 5, 50), ("b", 1, 20), ("a", 5, 50), ("a", 7, None)]


def test_a_nearer_one_takes_the_place_of_another() -> None:
    """At 3 a quote for 4 comes, nearer to 5 than that for 1; at 6 it goes again."""
    quotes = relation("R", "y INT, op STRING, ts TIMESTAMP", change="op", at="ts")
    log = [(1, "+", sec(1)), (4, "+", sec(3)), (4, "-", sec(6))]
    found = stream("S", "x INT")[rows(1)].asof(quotes, "x >= y")
    assert answer(found, {"S": single((5, 2)), "R": log}) == [
        ("+", 2, 0, 5, 1),
        *[("-", 3, 0, 5, 1), ("+", 3, 0, 5, 4)],
        *[("-", 6, 0, 5, 4), ("+", 6, 0, 5, 1)],
    ]


def test_what_is_near_has_to_be_said_by_one_inequality() -> None:
    with pytest.raises(PlanError, match="has one inequality between its two sides, and k = id has none"):
        TRADES.asof(QUOTES, "k = id")
    with pytest.raises(PlanError, match="ASOF is not for a FULL JOIN"):
        TRADES.asof(QUOTES, "x > y", how="full")
