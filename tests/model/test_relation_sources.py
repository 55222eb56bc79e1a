"""Sources (docs/decisions.md): how rows become relations and streams, in which order, and from when."""

from __future__ import annotations

from astralq.algebra.extents import relation, stream
from astralq.algebra.windows import unbounded
from astralq.model import Data
from tests.support import answer, at, sec

VERSIONED = relation("R", "v STRING, since TIMESTAMP, till TIMESTAMP", valid_from="since", valid_to="till").select("v")
LOG = relation("R", "v STRING, op STRING, ts TIMESTAMP", change="op", at="ts")
ARRIVALS = relation("R", "v STRING, op STRING, ts TIMESTAMP", change="op", at="ts", position_by="ts")
KEYED = relation("R", "v STRING, id INT, op STRING, ts TIMESTAMP", change="op", at="ts", key="id")
S = stream("S", "v STRING, k INT, ts TIMESTAMP", timestamp="ts").select("v")


# Relations


def test_a_constant_relation_holds_at_all_times() -> None:
    """[002 D6] Long before the start, and ever after."""
    r = relation("R", "v STRING")
    assert at(r, {"R": [("a",), ("b",)]}, 0) == [("a",), ("b",)]
    assert at(r, {"R": [("a",), ("b",)]}, 1000) == [("a",), ("b",)]


def test_a_constant_relation_is_reported_at_the_first_observed_instant() -> None:
    """[002 D6] What already holds before is reported there."""
    r, s = relation("R", "a STRING"), stream("S", "v STRING, k INT, ts TIMESTAMP", timestamp="ts")
    data: Data = {"R": [("a",)], "S": [("x", 1, sec(7))]}
    assert answer(s[unbounded()].select("v").union(r.rename({"a": "v"})), data) == [("+", 7, 0, "x"), ("+", 7, 0, "a")]


def test_a_version_holds_from_its_beginning_until_before_its_end() -> None:
    """[002 D6] [since, till)."""
    data: Data = {"R": [("a", sec(5), sec(9))]}
    assert at(VERSIONED, data, "4.999999") == []
    assert at(VERSIONED, data, 5, 0) == [("a",)]
    assert at(VERSIONED, data, "8.999999") == [("a",)]
    assert at(VERSIONED, data, 9, 0) == []


def test_a_version_follows_another_without_a_gap() -> None:
    """[002 D6] The state at the common instant is the new one only."""
    data: Data = {"R": [("a", sec(1), sec(5)), ("b", sec(5), sec(9))]}
    assert answer(VERSIONED, data) == [
        ("+", 1, 0, "a"),
        ("-", 5, 0, "a"),
        ("+", 5, 0, "b"),
        ("-", 9, 0, "b"),
    ]


def test_a_version_without_an_end_holds_for_ever() -> None:
    """[002 D6] Only the beginning is declared."""
    r = relation("R", "v STRING, since TIMESTAMP", valid_from="since").select("v")
    data: Data = {"R": [("a", sec(5))]}
    assert at(r, data, 4) == []
    assert at(r, data, 1_000_000) == [("a",)]


def test_a_change_log_inserts_and_deletes() -> None:
    """[002 D6] The operation and its time are of the log, not of the tuples."""
    data: Data = {"R": [("a", "+", sec(1)), ("b", "+", sec(2)), ("a", "-", sec(3))]}
    assert answer(LOG, data) == [("+", 1, 0, "a"), ("+", 2, 0, "b"), ("-", 3, 0, "a")]


def test_a_deletion_takes_out_the_oldest_equal_row() -> None:
    """[002 D2] Ordered by arrival, the a that stays is the one after b."""
    data: Data = {"R": [("a", "+", sec(1)), ("b", "+", sec(2)), ("a", "+", sec(3)), ("a", "-", sec(4))]}
    assert at(ARRIVALS, data, 3) == [("a",), ("b",), ("a",)]
    assert at(ARRIVALS, data, 4) == [("b",), ("a",)]


def test_a_deletion_takes_out_one_of_several_equal_rows() -> None:
    """[002 D3] Equal rows are two tuples."""
    data: Data = {"R": [("a", "+", sec(1)), ("a", "+", sec(2)), ("a", "-", sec(3))]}
    assert at(LOG, data, 2) == [("a",), ("a",)]
    assert at(LOG, data, 3) == [("a",)]


def test_a_row_that_comes_back_is_the_same_tuple_unless_an_equal_one_was_there_just_before() -> None:
    """By φ, the row of 3 is that of 1; the one of 7 came when the one of 6 was there, and is another.

    A '-' and an equal '+' of one timestamp cancel, without effect on φ.
    """
    returned: Data = {"R": [("a", "+", sec(1)), ("a", "-", sec(2)), ("a", "+", sec(3))]}
    assert at(LOG.intersection(LOG.delayed("2 s")), returned, 3) == [("a",)]
    doubled: Data = {"R": [("a", "+", sec(6)), ("a", "+", sec(7)), ("a", "-", sec(8))]}
    assert at(LOG.intersection(LOG.delayed("2 s")), doubled, 8) == []
    cancelled: Data = {"R": [("a", "+", sec(6)), ("a", "-", sec(7)), ("a", "+", sec(7))]}
    assert at(LOG.intersection(LOG.delayed("1 s")), cancelled, 7) == [("a",)]


def test_with_a_key_an_insertion_replaces() -> None:
    """[002 D6] One tuple per key."""
    data: Data = {"R": [("a", 1, "+", sec(1)), ("b", 2, "+", sec(2)), ("c", 1, "+", sec(3))]}
    assert answer(KEYED, data) == [
        ("+", 1, 0, "a", 1),
        ("+", 2, 0, "b", 2),
        ("-", 3, 0, "a", 1),
        ("+", 3, 0, "c", 1),
    ]


def test_a_replaced_key_keeps_its_place() -> None:
    """[002 D2] The φ of key 1 is before that of key 2, though its new value z is not before b."""
    data: Data = {"R": [("a", 1, "+", sec(1)), ("b", 2, "+", sec(2)), ("z", 1, "+", sec(3))]}
    assert at(KEYED, data, 3) == [("z", 1), ("b", 2)]


def test_a_replaced_key_keeps_its_place_in_the_order_of_arrival() -> None:
    """[002 D2] POSITION BY ts says when the key came, not when it was replaced."""
    r = relation("R", "v STRING, id INT, op STRING, ts TIMESTAMP", change="op", at="ts", key="id", position_by="ts")
    data: Data = {"R": [("b", 2, "+", sec(1)), ("a", 1, "+", sec(2)), ("c", 2, "+", sec(3))]}
    assert at(r, data, 3) == [("c", 2), ("a", 1)]


def test_a_replacement_by_the_same_values_changes_nothing() -> None:
    """[002 D2] The same φ and the same values are the same tuple."""
    data: Data = {"R": [("a", 1, "+", sec(1)), ("a", 1, "+", sec(2))]}
    assert answer(KEYED, data) == [("+", 1, 0, "a", 1)]


def test_with_a_key_a_deletion_is_by_the_key() -> None:
    """[002 D6] It takes out the row of that key."""
    data: Data = {"R": [("a", 1, "+", sec(1)), ("b", 2, "+", sec(1)), ("a", 1, "-", sec(2))]}
    assert at(KEYED, data, 2) == [("b", 2)]


def test_all_changes_of_a_timestamp_act_together() -> None:
    """[002 D6] At (t, 0): no state shows only some of them."""
    data: Data = {"R": [("a", "+", sec(1)), ("a", "-", sec(2)), ("b", "+", sec(2)), ("c", "+", sec(2))]}
    assert at(LOG, data, "1.999999") == [("a",)]
    assert at(LOG, data, 2, 0) == [("b",), ("c",)]


def test_a_relation_is_ordered_by_all_values_with_nulls_first() -> None:
    """[002 D3] Where no POSITION BY is given."""
    r = relation("R", "a INT, b STRING")
    data: Data = {"R": [(2, "x"), (1, "y"), (None, "z"), (1, None), (1, "x")]}
    assert at(r, data, 0) == [(None, "z"), (1, None), (1, "x"), (1, "y"), (2, "x")]


def test_a_relation_is_ordered_by_its_position_by() -> None:
    """[002 D3] NULLs first there too."""
    r = relation("R", "v STRING, place INT", position_by="place")
    data: Data = {"R": [("a", 3), ("b", 1), ("c", None), ("d", 2)]}
    assert at(r, data, 0) == [("c", None), ("b", 1), ("d", 2), ("a", 3)]


def test_a_base_relation_keeps_its_past_before_the_start() -> None:
    """[002 D6] What was inserted before t0 holds at t0 and is reported there."""
    data: Data = {"R": [("a", "+", sec(1)), ("b", "+", sec(2)), ("a", "-", sec(3)), ("c", "+", sec(6))]}
    assert at(LOG, data, 5, t0=5) == [("b",)]
    assert answer(LOG, data, t0=5) == [("+", 5, 0, "b"), ("+", 6, 0, "c")]


# Streams


def test_simultaneous_tuples_are_one_batch() -> None:
    """[002 D8] Unless batches are declared, i = 0."""
    data: Data = {"S": [("a", 1, sec(1)), ("b", 2, sec(1)), ("c", 3, sec(2))]}
    assert answer(S, data) == [(1, 0, "a"), (1, 0, "b"), (2, 0, "c")]


def test_simultaneous_tuples_are_ordered_by_all_values() -> None:
    """[002 H1] Not by the order of the rows; NULLs are first."""
    data: Data = {"S": [("b", 1, sec(1)), ("a", 2, sec(1)), (None, 3, sec(1))]}
    assert answer(S, data) == [(1, 0, None), (1, 0, "a"), (1, 0, "b")]


def test_simultaneous_tuples_are_ordered_by_position_by() -> None:
    """[002 H1] POSITION BY k; equal ones by all values."""
    s = stream("S", "v STRING, k INT, ts TIMESTAMP", timestamp="ts", position_by="k")
    data: Data = {"S": [("c", 2, sec(1)), ("b", 2, sec(1)), ("z", 1, sec(1)), ("a", 9, sec(0))]}
    assert answer(s.select("v, _n AS n"), data) == [(0, 0, "a", 0), (1, 0, "z", 1), (1, 0, "b", 2), (1, 0, "c", 3)]


def test_batch_by_names_the_attribute_that_holds_the_index() -> None:
    """[002 D8] Positions follow the batches (H1)."""
    s = stream("S", "v STRING, k INT, ts TIMESTAMP", timestamp="ts", batch_by="k").select("v")
    data: Data = {"S": [("a", 2, sec(1)), ("c", 0, sec(1)), ("b", 0, sec(1)), ("d", 1, sec(2))]}
    assert answer(s, data) == [(1, 0, "b"), (1, 0, "c"), (1, 2, "a"), (2, 1, "d")]


def test_batch_each_row_makes_every_tuple_a_batch() -> None:
    """[002 D8] i = 0, 1, 2, … within an instant."""
    s = stream("S", "v STRING, k INT, ts TIMESTAMP", timestamp="ts", batch_each_row=True).select("v")
    data: Data = {"S": [("b", 1, sec(1)), ("a", 1, sec(1)), ("c", 1, sec(1)), ("d", 1, sec(2))]}
    assert answer(s, data) == [(1, 0, "a"), (1, 1, "b"), (1, 2, "c"), (2, 0, "d")]


def test_batch_each_row_numbers_in_the_order_of_positions() -> None:
    """[002 D8] [002 H1] POSITION BY k decides which tuple is the first batch."""
    s = stream("S", "v STRING, k INT, ts TIMESTAMP", timestamp="ts", position_by="k", batch_each_row=True)
    data: Data = {"S": [("a", 3, sec(1)), ("b", 1, sec(1)), ("c", 2, sec(1))]}
    assert answer(s.select("v"), data) == [(1, 0, "b"), (1, 1, "c"), (1, 2, "a")]


def test_a_streams_tuples_before_the_start_are_ignored() -> None:
    """[002 D9] Positions begin at t0, and a tuple at t0 is in."""
    data: Data = {"S": [("a", 1, sec(4)), ("b", 1, sec(5)), ("c", 1, sec(6))]}
    s = stream("S", "v STRING, k INT, ts TIMESTAMP", timestamp="ts")
    assert answer(s.select("v, _n AS n"), data, t0=5) == [(5, 0, "b", 0), (6, 0, "c", 1)]
    assert at(S[unbounded()], data, 6, t0=5) == [("b",), ("c",)]


def test_a_stream_without_a_timestamp_is_stamped_on_arrival() -> None:
    """[003 receive] Rows come as (arrival, values), in any order."""
    data: Data = {"S": [(sec(3), ("a",)), (sec(1), ("b",)), (sec(3), ("A",))]}
    assert answer(stream("S", "v STRING").select("v, _n AS n"), data) == [
        (1, 0, "b", 0),
        (3, 0, "A", 1),
        (3, 0, "a", 2),
    ]
