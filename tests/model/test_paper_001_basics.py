"""Paper 001, section 3: tuples, identifiers, batches, relations and streams."""

from __future__ import annotations

import pytest

from astralq.algebra import last_batch, now, relation, rows, stream, unbounded
from astralq.errors import DataError
from astralq.model import Relation, prepare
from astralq.model.values import position
from tests.support import answer, at, batch, given, sec, single

S = stream("S", "v STRING")
READINGS = stream("S", "id INT, v STRING")

BATCHED = given((2, 0, ("a",)), (2, 0, ("b",)), (2, 2, ("c",)), (6, 1, ("d",)))
"""Batches (2, 0) with two tuples, (2, 2) and (6, 1)."""


def test_a_tuple_gives_a_value_to_each_attribute_of_its_schema() -> None:
    """[001 D6] The domain of the function is the schema."""
    assert READINGS.schema.names == ("id", "v")
    assert READINGS.select("v").schema.names == ("v",)


@pytest.mark.parametrize("row", [(1,), (1, "a", "b"), ("a", 1)])
def test_a_tuple_that_does_not_fit_its_schema_is_refused(row: tuple[object, ...]) -> None:
    """[001 D6] An attribute without a value, a value without an attribute, and values of other types."""
    with pytest.raises(DataError):
        answer(READINGS, {"S": given((1, 0, row))})


def test_duplicates_stay_distinct_tuples() -> None:
    """[001 D7] φ identifies tuples even when all other attributes are equal."""
    data = {"S": given((1, 0, ("a",)), (1, 0, ("a",)), (2, 0, ("a",)))}
    assert at(S[unbounded()], data, 2) == [("a",), ("a",), ("a",)]
    assert answer(S[unbounded()].istream(), data) == [(1, 0, "a"), (1, 0, "a"), (2, 0, "a")]


def test_a_duplicate_that_leaves_takes_only_itself_away() -> None:
    """[001 D7] The older of two equal tuples leaves the window of one."""
    assert answer(S[rows(1)], {"S": single(("a", 1), ("a", 2))}) == [
        ("+", 1, 0, "a"),
        ("-", 2, 0, "a"),
        ("+", 2, 0, "a"),
    ]


def test_a_tuple_set_is_ordered_by_phi_and_not_by_value() -> None:
    """[001 D8] The order of arrival."""
    assert at(S[unbounded()], {"S": given((1, 0, ("b",)), (1, 0, ("a",)), (2, 0, ("c",)))}, 2) == [
        ("b",),
        ("a",),
        ("c",),
    ]


def test_the_position_in_a_tuple_set_counts_the_tuples_with_a_lower_phi() -> None:
    """[001 D9] In the last two tuples, φ = 2 and 3 have positions 0 and 1."""
    state = prepare(S[rows(2)], {"S": BATCHED}).result()
    assert isinstance(state, Relation)
    tuples = state.at(batch(6, 1))
    assert [(r.values, position(tuples)[r.phi]) for r in tuples] == [(("c",), 0), (("d",), 1)]


def test_phi_of_a_streams_tuple_is_its_place_in_the_stream() -> None:
    """[001 D9] [001 §4.1] ρ_{p/φ} copies it; the last two of four are 2 and 3."""
    assert at(S[rows(2)].rename({"φ": "p"}), {"S": BATCHED}, 6) == [("c", 2), ("d", 3)]


def test_timestamps_are_totally_ordered_down_to_the_chronon() -> None:
    """[001 D10] A tuple is NOW at its own timestamp only."""
    data = {"S": single(("a", "2.5"), ("b", "2.500001"))}
    assert at(S[now()], data, "2.5") == [("a",)]
    assert at(S[now()], data, "2.500001") == [("b",)]


def test_batch_identifiers_are_ordered_lexicographically() -> None:
    """[001 D11] By time, then by index."""
    shuffled = [batch(2, 1), batch(3, 0), batch(1, 9), batch(2, 0)]
    assert sorted(shuffled) == [batch(1, 9), batch(2, 0), batch(2, 1), batch(3, 0)]


def test_batches_partition_the_tuples_of_a_timestamp() -> None:
    """[001 D11] a and b in (2, 0), c in (2, 2), each in one only."""
    assert at(S[last_batch()], {"S": BATCHED}, 2, 0) == [("a",), ("b",)]
    assert at(S[last_batch()], {"S": BATCHED}, 2, 1) == [("a",), ("b",)]
    assert at(S[last_batch()], {"S": BATCHED}, 2, 2) == [("c",)]


BUOYS = relation("Buoys", "op STRING, ts TIMESTAMP, BuoyId INT, Drift INT", change="op", at="ts", key="BuoyId")
DEPLOYED = {
    "Buoys": [
        ("+", sec(0), 1, 0),
        ("+", sec(0), 2, 1),
        ("+", sec(0), 3, 1),
        ("+", sec(0), 4, 0),
        ("+", sec(10), 5, 0),
    ]
}


def test_the_deployment_of_a_buoy_changes_the_state_of_buoys() -> None:
    """[001 D12] [001 Ex1] Buoy 5 is there from (t1, 0) on, t1 = 10 s."""
    before = [(1, 0), (2, 1), (3, 1), (4, 0)]
    assert at(BUOYS, DEPLOYED, "9.999999") == before
    assert at(BUOYS, DEPLOYED, 10, 0) == [*before, (5, 0)]


def test_a_relation_keeps_its_state_until_the_next_change() -> None:
    """[001 D12] A step function: one change at 10 s and none before or after."""
    assert answer(BUOYS, DEPLOYED, until=100)[4:] == [("+", 10, 0, 5, 0)]


def test_a_versioned_relation_holds_from_its_first_instant_until_before_its_last() -> None:
    """[001 D12] A row holds in [from, to)."""
    r = relation("R", "id INT, a TIMESTAMP, b TIMESTAMP", valid_from="a", valid_to="b").select("id")
    data = {"R": [(1, sec(2), sec(5)), (2, sec(5), sec(9))]}
    assert [at(r, data, t) for t in (1, 2, "4.999999", 5, 9)] == [[], [(1,)], [(1,)], [(2,)], []]


def test_a_stream_content_has_a_timestamp_in_every_tuple() -> None:
    """[001 D13] t is the pseudo-column _t."""
    assert answer(S.select("v, _t AS t"), {"S": single(("a", 3), ("b", 9))}) == [
        (3, 0, "a", sec(3)),
        (9, 0, "b", sec(9)),
    ]


def test_the_stream_of_two_buoys_is_read_in_the_order_of_time() -> None:
    """[001 D13] [001 Ex2] Rows that come out of order are a stream once they are stamped by their attribute."""
    buoys = stream("S", "BuoyId INT, SensorId INT, Value STRING, ts TIMESTAMP", timestamp="ts")
    rows_ = [(2, 2, "v2", sec(9)), (1, 1, "v1", sec(3)), (1, 1, "v3", sec(10)), (2, 3, "v4", sec(12))]
    assert answer(buoys.select("BuoyId, SensorId, Value, _n AS φ"), {"S": rows_}) == [
        (3, 0, 1, 1, "v1", 0),
        (9, 0, 2, 2, "v2", 1),
        (10, 0, 1, 1, "v3", 2),
        (12, 0, 2, 3, "v4", 3),
    ]


def test_the_batch_indicator_gives_the_batch_of_every_tuple() -> None:
    """[001 D14] B_S: S → 𝒯 × ℕ, also as pseudo-columns."""
    assert [s.batch for s in BATCHED.tuples] == [batch(2), batch(2), batch(2, 2), batch(6, 1)]
    assert at(S[unbounded()].select("_t AS t, _i AS i"), {"S": BATCHED}, 6) == [
        (sec(2), 0),
        (sec(2), 0),
        (sec(2), 2),
        (sec(6), 1),
    ]


def test_the_same_content_in_other_batches_is_another_stream() -> None:
    """[001 D15] A stream is its content and its batch indicator."""
    together = given((2, 0, ("a",)), (2, 0, ("b",)))
    apart = given((2, 0, ("a",)), (2, 1, ("b",)))
    assert at(S[last_batch()], {"S": together}, 2) == [("a",), ("b",)]
    assert at(S[last_batch()], {"S": apart}, 2) == [("b",)]


def test_tuples_before_the_start_are_not_in_the_stream() -> None:
    """[001 D15] t0 is the start timestamp for query evaluation."""
    assert answer(S, {"S": BATCHED}, t0=3) == [(6, 1, "d")]


@pytest.mark.parametrize("later", [(1, 5), (2, 0)])
def test_a_position_order_against_the_batch_order_is_refused(later: tuple[int, int]) -> None:
    """[001 H1] After (2, 1) neither an earlier timestamp nor a lower index of the same one may come."""
    with pytest.raises(DataError):
        given((2, 1, ("a",)), (*later, ("b",)))


def test_positions_may_grow_within_a_batch() -> None:
    """[001 H1] The positional order is strict, the temporal one is not: B_S(s) ≤ B_S(s')."""
    assert [s.n for s in BATCHED.tuples] == [0, 1, 2, 3]


def test_tau_returns_the_batch_of_a_position() -> None:
    """[001 D16] And (t0, 0) for −1."""
    assert [BATCHED.tau(n, sec(1)) for n in range(-1, 4)] == [batch(1), batch(2), batch(2), batch(2, 2), batch(6, 1)]


def test_inverse_tau_returns_the_highest_position_of_a_batch() -> None:
    """[001 C1] Two tuples in (2, 0); the last batch is valid for ever."""
    assert BATCHED.tau_inverse(batch(2, 0)) == 1
    assert BATCHED.tau_inverse(batch(2, 2)) == 2
    assert BATCHED.tau_inverse(batch(6, 1)) == 3
    assert BATCHED.tau_inverse(batch(99, 0)) == 3


def test_inverse_tau_uses_the_preceding_batch_where_there_is_none() -> None:
    """[001 C1] (2, 1), (6, 0), and -1 before the first."""
    assert BATCHED.tau_inverse(batch(2, 1)) == 1
    assert BATCHED.tau_inverse(batch(6, 0)) == 2
    assert BATCHED.tau_inverse(batch(1, 9)) == -1


def test_the_first_tuple_is_not_before_the_start() -> None:
    """[001 P1] τ(0) ≥ (t0, 0): here (2, 0) ≥ (1, 0)."""
    assert BATCHED.tau(0, sec(1)) >= batch(1, 0)


def test_tau_after_its_inverse_does_not_go_forward() -> None:
    """[001 P1] τ(τ⁻¹(t, i)) ≤ (t, i), with equality exactly where there is a batch."""

    def there_and_back(t: int, i: int) -> object:
        return BATCHED.tau(BATCHED.tau_inverse(batch(t, i)), sec(1))

    assert there_and_back(2, 2) == batch(2, 2)
    assert there_and_back(2, 1) == batch(2, 0)
    assert there_and_back(5, 0) == batch(2, 2)
    assert there_and_back(1, 3) == batch(1, 0)


def test_the_inverse_of_tau_does_not_go_back() -> None:
    """[001 P1] τ⁻¹(τ(n)) ≥ n: position 0 is in the batch that ends with position 1."""
    assert [BATCHED.tau_inverse(BATCHED.tau(n, sec(1))) for n in range(4)] == [1, 1, 2, 3]
