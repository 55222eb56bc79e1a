"""Paper 002, ordering: its definitions, its warehouse and its table, with the answers as the paper prints them."""

from __future__ import annotations

from typing import Any

import pytest

from astralq.algebra.extents import relation, stream
from astralq.algebra.fluent import RelationQuery
from astralq.algebra.windows import last_batch, last_row, now, range_, rows, unbounded
from astralq.errors import AstralError, DataError
from astralq.model import Data
from tests.support import answer, at, given, sec, single

LETTERS = stream("S", "v STRING")
PARTS = stream("S", "id STRING, v INT")

# §2.2's instances at time 60. The printed T is kept as an attribute, because a streamer stamps anew.
R = relation("R", "id INT, sec INT")
S = stream("S", "sec INT, temp INT, t INT")
RS = S[range_("60 s", slide="60 s")].where("temp > 10")
WAREHOUSE: Data = {
    "R": [(1, 2), (2, 23), (3, 23), (4, 12)],
    "S": given((21, 0, (12, 12, 21)), (32, 0, (2, 11, 32)), (48, 0, (2, 14, 48)), (54, 0, (12, 13, 54))),
}


def every_minute(joined: RelationQuery) -> list[tuple[Any, ...]]:
    return answer(joined.select("id, temp, t").rstream(every="60 s"), WAREHOUSE, until=60)


def test_an_attribute_is_in_a_tuple_at_most_once() -> None:
    """[002 D1] A tuple is a partial function from attribute names to values."""
    with pytest.raises(AstralError):
        stream("S", "a INT, a INT")


def test_a_tuple_is_restricted_by_the_names_of_its_attributes() -> None:
    """[002 D1] The order in which attributes are written is not what finds them."""
    assert answer(PARTS.select("v, id"), {"S": given((1, 0, ("a", 7)))}) == [(1, 0, 7, "a")]


def test_the_physical_identifier_of_a_streams_tuple_is_its_position() -> None:
    """[002 D2] φ is a totally ordered number, from 0."""
    data: Data = {"S": given((1, 0, ("a",)), (1, 0, ("b",)), (2, 0, ("a",)))}
    assert answer(LETTERS.rename({"φ": "p"}), data) == [(1, 0, "a", 0), (1, 0, "b", 1), (2, 0, "a", 2)]


def test_tuples_with_the_same_values_are_told_apart_by_their_identifier() -> None:
    """[002 D2] [002 D3] φ identifies tuples even where all other values are duplicated."""
    assert at(LETTERS[unbounded()], {"S": single(("a", 1), ("a", 1), ("a", 2))}, 2) == [("a",), ("a",), ("a",)]


def test_a_tuple_set_is_ordered_by_its_identifiers_not_by_its_values() -> None:
    """[002 D3] φ induces a strict order."""
    assert at(LETTERS[unbounded()], {"S": single(("c", 1), ("a", 2), ("b", 3))}, 3) == [("c",), ("a",), ("b",)]


def test_timestamps_however_near_are_ordered() -> None:
    """[002 D4] Nothing is assumed on the distance between two timestamps, down to the chronon of 1 µs."""
    data: Data = {"S": single(("a", 1), ("b", "1.000001"))}
    assert at(LETTERS[now()], data, 1) == [("a",)]
    assert at(LETTERS[now()], data, "1.000001") == [("b",)]


def test_simultaneous_tuples_may_be_in_two_batches() -> None:
    """[002 D5] Batches are a partition of the tuples of a timestamp."""
    data: Data = {"S": given((1, 0, ("a",)), (1, 0, ("b",)), (1, 1, ("c",)))}
    assert at(LETTERS[last_batch()], data, 1, 0) == [("a",), ("b",)]
    assert at(LETTERS[last_batch()], data, 1, 1) == [("c",)]


def test_batch_identifiers_are_ordered_by_time_then_by_index() -> None:
    """[002 D5] They are elements of the ordered set T × N."""
    data: Data = {"S": given((1, 5, ("a",)), (2, 0, ("b",)), (2, 1, ("c",)))}
    assert at(LETTERS[unbounded()], data, 2, 0) == [("a",), ("b",)]


def test_a_relation_keeps_its_state_until_the_next_step() -> None:
    """[002 D6] A temporal relation is a step function."""
    data: Data = {"S": single(("a", 1), ("b", 5))}
    assert at(LETTERS[last_row()], data, "4.999999") == [("a",)]
    assert at(LETTERS[last_row()], data, 5) == [("b",)]


def test_a_relation_has_a_state_at_each_batch_of_an_instant() -> None:
    """[002 D6] It maps batch identifiers, not timestamps, to tuple-sets."""
    data: Data = {"S": given((1, 0, ("a",)), (1, 1, ("b",)))}
    assert at(LETTERS[unbounded()], data, 1, 0) == [("a",)]
    assert at(LETTERS[unbounded()], data, 1, 1) == [("a",), ("b",)]


def test_a_streams_tuple_has_a_timestamp_besides_its_attributes() -> None:
    """[002 D7] The schema contains one more special attribute t."""
    assert answer(LETTERS.select("v, _t AS t"), {"S": single(("a", 3))}) == [(3, 0, "a", sec(3))]


def test_the_batch_indicator_gives_the_batch_of_each_tuple() -> None:
    """[002 D8] B_S maps a tuple to its (t, i)."""
    data: Data = {"S": given((3, 0, ("a",)), (3, 2, ("b",)), (4, 1, ("c",)))}
    assert answer(LETTERS.select("_t AS t, _i AS i, v"), data) == [
        (3, 0, sec(3), 0, "a"),
        (3, 2, sec(3), 2, "b"),
        (4, 1, sec(4), 1, "c"),
    ]


def test_the_same_content_with_other_batches_is_another_stream() -> None:
    """[002 D9] A stream is its content and its batch indicator."""
    together: Data = {"S": given((1, 0, ("a",)), (1, 0, ("b",)))}
    apart: Data = {"S": given((1, 0, ("a",)), (1, 1, ("b",)))}
    assert answer(LETTERS[last_row()].istream(), together) == [(1, 0, "b")]
    assert answer(LETTERS[last_row()].istream(), apart) == [(1, 0, "a"), (1, 1, "b")]


def test_positions_against_the_order_of_batches_are_refused() -> None:
    """[002 H1] s(φ) < s'(φ) ⇒ B(s) ≤ B(s')."""
    with pytest.raises(DataError):
        given((2, 0, ("a",)), (1, 0, ("b",)))


def test_positions_against_the_order_of_batches_of_one_instant_are_refused() -> None:
    """[002 H1] Coherence is with the batches, not only with the timestamps."""
    with pytest.raises(DataError):
        given((1, 1, ("a",)), (1, 0, ("b",)))


def test_a_source_numbers_its_tuples_in_the_order_of_their_timestamps() -> None:
    """[002 H1] Data sources must ensure the coherence, in whatever order the rows are given."""
    s = stream("S", "v STRING, ts TIMESTAMP", timestamp="ts")
    data: Data = {"S": [("a", sec(2)), ("b", sec(1))]}
    assert answer(s.select("v, _n AS n"), data) == [(1, 0, "b", 0), (2, 0, "a", 1)]


def test_a_product_is_ordered_by_its_left_side_first() -> None:
    """[002 D10] Φ(a, b) < Φ(c, d) ⇔ a < c ∨ (a = c ∧ b < d)."""
    left, right = stream("L", "a STRING")[unbounded()], stream("M", "b INT")[unbounded()]
    data: Data = {"L": single(("y", 1), ("x", 2)), "M": single((2, 1), (1, 2))}
    assert at(left.product(right), data, 2) == [("y", 2), ("y", 1), ("x", 2), ("x", 1)]


def test_a_product_pairs_the_states_of_the_same_batch() -> None:
    """[002 D10] (R1 × R2)(t, i) is computed from R1(t, i) and R2(t, i)."""
    left, right = stream("L", "a STRING")[last_row()], stream("M", "b INT")[last_row()]
    data: Data = {"L": given((1, 0, ("x",)), (2, 1, ("y",))), "M": given((2, 0, (1,)))}
    assert at(left.product(right), data, 1) == []
    assert at(left.product(right), data, 2, 0) == [("x", 1)]
    assert at(left.product(right), data, 2, 1) == [("y", 1)]


def test_a_product_of_relations_with_a_common_attribute_is_refused() -> None:
    """[002 D10] Attr(R1) ∩ Attr(R2) = {φ}."""
    with pytest.raises(AstralError):
        R.product(RS)


def test_a_products_old_pairs_are_not_inserted_again_when_the_right_side_grows() -> None:
    """[002 D10] φ is a path, so a pair is the same tuple whatever the maximum of the right side is (▲)."""
    left, right = stream("L", "a STRING")[unbounded()], stream("M", "b INT")[unbounded()]
    data: Data = {"L": single(("x", 1), ("y", 1)), "M": single((1, 2), (2, 3))}
    assert answer(left.product(right).istream(), data) == [
        (2, 0, "x", 1),
        (2, 0, "y", 1),
        (3, 0, "x", 2),
        (3, 0, "y", 2),
    ]


def test_joining_from_the_products_side_groups_the_products() -> None:
    """[002 §2.2] Iterating over R, then over the window: the first printed stream."""
    assert every_minute(R.join(RS)) == [(60, 0, 1, 11, 32), (60, 0, 1, 14, 48), (60, 0, 4, 12, 21), (60, 0, 4, 13, 54)]


def test_joining_from_the_windows_side_keeps_the_order_of_time() -> None:
    """[002 §2.2] Iterating over the window, then over R: the second printed stream."""
    assert every_minute(RS.join(R)) == [(60, 0, 4, 12, 21), (60, 0, 1, 11, 32), (60, 0, 1, 14, 48), (60, 0, 4, 13, 54)]


def test_windows_on_the_two_results_select_different_tuples() -> None:
    """[002 §2.2] [002 P1] Windows of limited size on the result are one impact of its order."""
    first, second = (q.select("id, temp, t").rstream(every="60 s")[rows(2)] for q in (R.join(RS), RS.join(R)))
    assert at(first, WAREHOUSE, 60) == [(4, 12, 21), (4, 13, 54)]
    assert at(second, WAREHOUSE, 60) == [(1, 14, 48), (4, 13, 54)]


def test_the_product_of_products_by_measures_is_as_printed() -> None:
    """[002 Table1] R × RS: the IDs are together."""
    rs = RS.rename({"sec": "s2"})
    assert at(R.product(rs).select("id, sec, s2, temp, t"), WAREHOUSE, 60) == [
        (1, 2, 12, 12, 21),
        (1, 2, 2, 11, 32),
        (1, 2, 2, 14, 48),
        (1, 2, 12, 13, 54),
        (2, 23, 12, 12, 21),
        (2, 23, 2, 11, 32),
        (2, 23, 2, 14, 48),
        (2, 23, 12, 13, 54),
        (3, 23, 12, 12, 21),
        (3, 23, 2, 11, 32),
        (3, 23, 2, 14, 48),
        (3, 23, 12, 13, 54),
        (4, 12, 12, 12, 21),
        (4, 12, 2, 11, 32),
        (4, 12, 2, 14, 48),
        (4, 12, 12, 13, 54),
    ]


def test_the_product_of_measures_by_products_is_as_printed() -> None:
    """[002 Table1] RS × R: measure and time are together."""
    rs = RS.rename({"sec": "s2"})
    assert at(rs.product(R).select("id, sec, s2, temp, t"), WAREHOUSE, 60) == [
        (1, 2, 12, 12, 21),
        (2, 23, 12, 12, 21),
        (3, 23, 12, 12, 21),
        (4, 12, 12, 12, 21),
        (1, 2, 2, 11, 32),
        (2, 23, 2, 11, 32),
        (3, 23, 2, 11, 32),
        (4, 12, 2, 11, 32),
        (1, 2, 2, 14, 48),
        (2, 23, 2, 14, 48),
        (3, 23, 2, 14, 48),
        (4, 12, 2, 14, 48),
        (1, 2, 12, 13, 54),
        (2, 23, 12, 13, 54),
        (3, 23, 12, 13, 54),
        (4, 12, 12, 13, 54),
    ]


def test_the_product_is_not_symmetric() -> None:
    """[002 P1] The same tuples in two orders."""
    rs = RS.rename({"sec": "s2"})
    columns = "id, sec, s2, temp, t"
    ahead = at(R.product(rs).select(columns), WAREHOUSE, 60)
    back = at(rs.product(R).select(columns), WAREHOUSE, 60)
    assert ahead != back
    assert sorted(ahead) == sorted(back)


def test_a_union_has_the_tuples_of_its_left_side_first() -> None:
    """[002 D11] Φ gives priority to the left hand side relation."""
    left, right = stream("L", "v STRING")[unbounded()], stream("M", "v STRING")[unbounded()]
    data: Data = {"L": single(("z", 2), ("y", 3)), "M": single(("b", 1), ("a", 4))}
    assert at(left.union(right), data, 4) == [("z",), ("y",), ("b",), ("a",)]
    assert at(right.union(left), data, 4) == [("b",), ("a",), ("z",), ("y",)]


def test_a_union_keeps_tuples_that_are_equal_in_both() -> None:
    """[002 D11] φ is unique in the result, so equal tuples of both sides stay two."""
    left, right = stream("L", "v STRING")[unbounded()], stream("M", "v STRING")[unbounded()]
    assert at(left.union(right), {"L": single(("a", 1)), "M": single(("a", 1))}, 1) == [("a",), ("a",)]


def test_a_unions_right_tuples_are_not_inserted_again_when_the_left_side_grows() -> None:
    """[002 D11] The tag and φ are a path, independent of the left side's maximum (▲)."""
    left, right = stream("L", "v STRING")[unbounded()], stream("M", "v STRING")[unbounded()]
    data: Data = {"L": single(("a", 2), ("b", 3)), "M": single(("z", 1))}
    assert answer(left.union(right).istream(), data) == [(1, 0, "z"), (2, 0, "a"), (3, 0, "b")]


def test_a_streamed_tuple_is_stamped_with_the_moment_of_emission() -> None:
    """[002 D12] Its original timestamp is replaced."""
    q = LETTERS[unbounded()].rstream(every="10 s").select("v, _t AS t")
    assert answer(q, {"S": single(("a", 3), ("b", 7))}, until=10) == [(10, 0, "a", sec(10)), (10, 0, "b", sec(10))]


def test_the_original_timestamp_is_kept_if_it_is_renamed_before_the_streamer() -> None:
    """[002 D12] ρ_{t_original/t} conserves it."""
    q = LETTERS[unbounded()].select("v, _t AS original").rstream(every="10 s")
    assert answer(q, {"S": single(("a", 3), ("b", 7))}, until=10) == [(10, 0, "a", sec(3)), (10, 0, "b", sec(7))]


def test_a_streamer_numbers_its_tuples_with_a_counter() -> None:
    """[002 D12] Each position is greater than those stamped before, also for a tuple that is sent twice."""
    q = LETTERS[rows(2)].rstream().rename({"φ": "p"})
    assert answer(q, {"S": single(("a", 1), ("b", 2), ("c", 3))}) == [
        (1, 0, "a", 0),
        (2, 0, "a", 1),
        (2, 0, "b", 2),
        (3, 0, "b", 3),
        (3, 0, "c", 4),
    ]


def test_a_streamer_keeps_the_order_of_the_relation() -> None:
    """[002 D12] The positional order of R(t, i) is preserved in the final stream."""
    q = relation("R", "k INT, v STRING", position_by="k").select("v").rstream(every="10 s")
    assert answer(q, {"R": [(2, "a"), (1, "b"), (3, "c")]}, t0=0, until=0) == [(0, 0, "b"), (0, 0, "a"), (0, 0, "c")]


def test_a_window_keeps_the_order_of_the_stream() -> None:
    """[002 §5.2] s ∈ S[W] ⇒ s ∈ S, with its identifier."""
    q = LETTERS[range_("5 s")].rename({"φ": "p"})
    assert at(q, {"S": single(("c", 1), ("b", 4), ("a", 8))}, 8) == [("b", 1), ("a", 2)]


def test_a_partitioned_window_keeps_the_order_of_the_stream() -> None:
    """[002 §5.2] The union over the parts has Φ(i, φ) = φ."""
    data: Data = {"S": single(("b", 1, 1), ("a", 2, 2), ("b", 3, 3), ("b", 4, 4), ("a", 5, 5))}
    assert at(PARTS[rows(2).by("id")], data, 5) == [("a", 2), ("b", 3), ("b", 4), ("a", 5)]


def test_each_part_of_a_partitioned_window_is_a_window_of_its_own() -> None:
    """[002 §5.2] The last tuple of a part stays while another part moves on."""
    data: Data = {"S": single(("a", 1, 1), ("b", 2, 2), ("b", 3, 3))}
    assert at(PARTS[rows(1).by("id")], data, 3) == [("a", 1), ("b", 3)]


def test_a_union_in_order_keeps_the_order_of_the_stream() -> None:
    """[002 §6] "The other preserves original identifiers as necessary for the partitioned window"."""
    s = stream("S", "k INT, v INT")
    data: Data = {"S": single((1, 10, 1), (2, 20, 2), (1, 11, 3), (2, 21, 4))}
    parts = [s.where(f"k = {k}")[unbounded()] for k in (1, 2)]
    assert at(parts[0].union(parts[1]), data, 4) == [(1, 10), (1, 11), (2, 20), (2, 21)]
    whole = [s[unbounded()].where(f"k = {k}") for k in (2, 1)]
    assert at(whole[0].union(whole[1], in_order=True), data, 4) == at(s[unbounded().by("k")], data, 4)


def test_of_two_tuples_with_one_identifier_the_left_sides_is_first() -> None:
    """[002 §6]"""
    s = stream("S", "v INT")
    both = s[rows(2)].select("v").union(s[rows(2)].select("v + 100 AS v"), in_order=True)
    assert at(both, {"S": single((1, 1), (2, 2))}, 2) == [(1,), (101,), (2,), (102,)]


def test_a_union_in_order_needs_one_kind_of_identifiers() -> None:
    """[002 §6]"""
    with pytest.raises(AstralError, match="no common order"):
        relation("R", "v INT").union(stream("S", "v INT")[rows(2)], in_order=True)
