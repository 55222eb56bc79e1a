"""ORDER BY and LIMIT, worked out by hand (SEMANTICS §3): another order, and choices from each state."""

from __future__ import annotations

from astralq import relation, rows, stream, tumble
from astralq.model import Data
from tests.support import answer, at, sec, single

S = stream("S", "k STRING, v INT")
DATA: Data = {"S": single(("a", 5, 1), ("b", 7, 2), ("a", None, 3), ("b", 7, 4), ("a", 6, 5))}
HELD = S[rows(3)]
"""(a 5), then with (b 7), with (a NULL); then b b a at 4 and 5 with the oldest gone."""


def test_a_state_is_shown_in_another_order() -> None:
    assert at(HELD.order_by("v"), DATA, 3) == [("a", None), ("a", 5), ("b", 7)]
    assert at(HELD.order_by("v DESC"), DATA, 3) == [("b", 7), ("a", 5), ("a", None)]
    assert at(HELD.order_by("v DESC NULLS FIRST"), DATA, 3) == [("a", None), ("b", 7), ("a", 5)]
    assert at(HELD.order_by("v NULLS LAST"), DATA, 3) == [("a", 5), ("b", 7), ("a", None)]


def test_equal_keys_stay_in_the_order_below() -> None:
    assert at(S[rows(5)].order_by("k"), DATA, 5) == [("a", 5), ("a", None), ("a", 6), ("b", 7), ("b", 7)]
    assert at(S[rows(5)].order_by("k DESC", "v DESC"), DATA, 5) == [("b", 7), ("b", 7), ("a", 6), ("a", 5), ("a", None)]


def test_what_is_ordered_by_need_not_be_shown_and_makes_another_tuple_where_it_changes() -> None:
    """The sum of a changes at 3 to 5 + 2, though nobody sees it: the row of a goes and comes back."""
    log = relation("R", "k STRING, v INT, op STRING, ts TIMESTAMP", change="op", at="ts")
    sums = log.aggregate("sum(v) AS n", by="k")
    data: Data = {"R": [("a", 5, "+", sec(1)), ("b", 6, "+", sec(2)), ("a", 2, "+", sec(3))]}
    shown = sums.order_by("n DESC").select("k")
    assert answer(shown, data) == [("+", 1, 0, "a"), ("+", 2, 0, "b"), ("-", 3, 0, "a"), ("+", 3, 0, "a")]
    assert at(shown, data, 2) == [("b",), ("a",)]
    assert at(shown, data, 3) == [("a",), ("b",)]


def test_the_first_of_each_state_leave_and_come_back() -> None:
    """At 2 a is no longer among the greatest; at 5 it is again, as one of (NULL, 7, 6), and I_S emits it."""
    top = HELD.order_by("v DESC").limit(2)
    assert at(top, DATA, 3) == [("b", 7), ("a", 5)]
    assert answer(top, DATA) == [
        *[("+", 1, 0, "a", 5), ("+", 2, 0, "b", 7)],
        *[("-", 4, 0, "a", 5), ("+", 4, 0, "b", 7)],
        *[("-", 5, 0, "b", 7), ("+", 5, 0, "a", 6)],
    ]
    least = HELD.limit(1, by="v NULLS LAST").istream()
    assert answer(least, DATA) == [(1, 0, "a", 5), (4, 0, "b", 7), (5, 0, "a", 6)]


def test_a_limit_chooses_and_does_not_reorder() -> None:
    assert at(S[rows(5)].limit(2, by="v DESC"), DATA, 5) == [("b", 7), ("b", 7)]
    assert at(S[rows(5)].limit(3, by="v DESC"), DATA, 5) == [("b", 7), ("b", 7), ("a", 6)]
    assert at(S[rows(5)].limit(1, per="k", by="v DESC"), DATA, 5) == [("b", 7), ("a", 6)]


def test_some_are_skipped() -> None:
    assert at(S[rows(5)].limit(1, per="k", skip=1), DATA, 5) == [("a", None), ("b", 7)]
    assert at(S[rows(5)].limit(None, skip=3), DATA, 5) == [("b", 7), ("a", 6)]
    assert at(S[rows(5)].limit(0), DATA, 5) == []


def test_places_are_shown() -> None:
    ranked = S[rows(5)].limit(None, per="k", by="v DESC", rank="n")
    assert at(ranked, DATA, 5) == [("a", 5, 2), ("b", 7, 1), ("a", None, 3), ("b", 7, 2), ("a", 6, 1)]


def test_the_first_of_each_window_that_tumbles() -> None:
    """[0, 2) holds (a 5), [2, 4) holds (b 7) and (a NULL), [4, 6) holds (b 7) and (a 6)."""
    top = S[tumble("2 s")].limit(1, by="v DESC").istream()
    assert answer(top, DATA, until=6) == [(2, 0, "a", 5), (4, 0, "b", 7), (6, 0, "b", 7)]
