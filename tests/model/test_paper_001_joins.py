"""Paper 001, sections 5.3 and 5.4, and remark 1: operators from streams to streams."""

from __future__ import annotations

import pytest

from astralq.algebra import last_batch, last_row, relation, stream, unbounded
from astralq.errors import AstralError
from astralq.model import Data
from tests.support import answer, at, given, sec, single

S = stream("S", "id INT, v STRING")
R = relation("R", "op STRING, ts TIMESTAMP, id INT, w STRING", change="op", at="ts")


def test_selection_on_a_stream_leaves_the_batches_as_they_are() -> None:
    """[001 D30] The batch (1, 0) vanishes, (1, 1) does not move up."""
    data = {"S": given((1, 0, (1, "a")), (1, 1, (2, "b")), (1, 1, (1, "c")), (3, 2, (2, "d")))}
    assert answer(S.where("id = 2"), data) == [(1, 1, 2, "b"), (3, 2, 2, "d")]


def test_projection_and_renaming_on_a_stream_leave_the_batches_as_they_are() -> None:
    """[001 D30] The same applies to Π and ρ."""
    data = {"S": given((1, 0, (1, "a")), (1, 1, (2, "b")))}
    assert answer(S.select("v"), data) == [(1, 0, "a"), (1, 1, "b")]
    assert answer(S.rename({"v": "w"}), data) == [(1, 0, 1, "a"), (1, 1, 2, "b")]


NUMBERS = relation("N", "op STRING, ts TIMESTAMP, n INT", change="op", at="ts")


def test_the_product_with_a_relation_emits_the_new_pairs_of_the_last_batch() -> None:
    """[001 D31] I_S(S[B] × R): when only R changes, only the newly created pairs are sent."""
    data: Data = {
        "S": single((1, "a", 1), (2, "b", 3)),
        "N": [("+", sec(0), 7), ("+", sec(2), 8), ("+", sec(4), 9), ("-", sec(5), 7)],
    }
    assert answer(S.product(NUMBERS).select("v, n"), data) == [
        (1, 0, "a", 7),
        (2, 0, "a", 8),
        (3, 0, "b", 7),
        (3, 0, "b", 8),
        (4, 0, "b", 9),
    ]


def test_the_product_takes_the_whole_last_batch_left_first() -> None:
    """[001 D31] Two tuples in the batch (1, 0), two in the relation."""
    data: Data = {
        "S": given((1, 0, (2, "b")), (1, 0, (1, "a"))),
        "N": [("+", sec(0), 7), ("+", sec(0), 8)],
    }
    assert answer(S.product(NUMBERS).select("v, n"), data) == [
        (1, 0, "b", 7),
        (1, 0, "b", 8),
        (1, 0, "a", 7),
        (1, 0, "a", 8),
    ]


UPDATED: Data = {
    "S": single((1, "a", 1), (2, "b", 3), (1, "c", 5)),
    "R": [("+", sec(0), 1, "x"), ("+", sec(2), 1, "y"), ("+", sec(4), 1, "z"), ("+", sec(4), 2, "u")],
}


def test_the_join_with_a_relation_is_triggered_by_both_sides() -> None:
    """[001 D32] At 4 s the last batch is (2, b): u matches it, z matches nothing yet."""
    assert answer(S.join(R), UPDATED) == [
        (1, 0, 1, "a", "x"),
        (2, 0, 1, "a", "y"),
        (4, 0, 2, "b", "u"),
        (5, 0, 1, "c", "x"),
        (5, 0, 1, "c", "y"),
        (5, 0, 1, "c", "z"),
    ]


def test_other_windows_and_streamers_make_other_joins() -> None:
    """[001 D32] Sc(S[W] ⋈ R) with W = [∞] and Sc = D_S: what no longer joins."""
    data: Data = {
        "S": single((1, "a", 1), (1, "b", 2)),
        "R": [("+", sec(0), 1, "x"), ("-", sec(3), 1, "x")],
    }
    assert answer(S[unbounded()].join(R).dstream(), data) == [(3, 0, 1, "a", "x"), (3, 0, 1, "b", "x")]


def test_the_semi_sensitive_join_is_triggered_by_the_stream_only() -> None:
    """[001 D33] The relation at the last batch of the stream."""
    assert answer(S.lookup(R), UPDATED) == [
        (1, 0, 1, "a", "x"),
        (5, 0, 1, "c", "x"),
        (5, 0, 1, "c", "y"),
        (5, 0, 1, "c", "z"),
    ]


def test_the_semi_sensitive_join_sees_a_change_of_the_same_instant() -> None:
    """[001 D33] R(τ ∘ τ⁻¹(t, i)) with the batch at (2, 0), where the change acts."""
    data: Data = {"S": single((1, "a", 2)), "R": [("+", sec(2), 1, "x")]}
    assert answer(S.lookup(R), data) == [(2, 0, 1, "a", "x")]


def test_the_semi_sensitive_join_emits_nothing_when_a_match_goes_and_comes_back() -> None:
    """[001 D33] Whereas S ⋈ R emits the pair again."""
    data: Data = {
        "S": single((1, "a", 1)),
        "R": [("+", sec(0), 1, "x"), ("-", sec(2), 1, "x"), ("+", sec(3), 1, "x")],
    }
    assert answer(S.lookup(R), data) == [(1, 0, 1, "a", "x")]
    assert answer(S.join(R), data) == [(1, 0, 1, "a", "x"), (3, 0, 1, "a", "x")]


SENSORS = relation(
    "Sensors",
    "op STRING, ts TIMESTAMP, id INT, BuoyId INT, Type STRING, Unit STRING",
    change="op",
    at="ts",
    key="id",
)
VALUES = stream("S", "id INT, value INT")
CALIBRATED: Data = {
    "S": single((1, 20, 1), (1, 70, 5)),
    "Sensors": [
        ("+", sec(0), 1, 10, "SST", "C"),
        ("+", sec(3), 1, 10, "SST", "F"),
    ],
}


def test_data_with_their_meta_data_appear_each_time_data_appear() -> None:
    """[001 Ex10] [001 D33] (id, BuoyId, Type, Unit, value, t), with the unit of the time."""
    described = VALUES.lookup(SENSORS).select("id, BuoyId, Type, Unit, value")
    assert answer(described, CALIBRATED) == [(1, 0, 1, 10, "SST", "C", 20), (5, 0, 1, 10, "SST", "F", 70)]


def test_the_usual_join_gives_redundant_values_when_sensors_are_updated() -> None:
    """[001 Ex10] [001 D32] The old value again with the new unit at 3 s."""
    described = VALUES.join(SENSORS).select("Unit, value")
    assert answer(described, CALIBRATED) == [(1, 0, "C", 20), (3, 0, "F", 20), (5, 0, "F", 70)]


S1, S2 = stream("S1", "id INT, v STRING"), stream("S2", "id INT, w STRING")
TWO: Data = {
    "S1": single((1, "a", 1), (1, "b", 4), (2, "c", 5)),
    "S2": single((1, "x", 2), (1, "y", 8), (2, "z", 9)),
}


def test_the_band_join_pairs_tuples_at_most_d_apart() -> None:
    """[001 D34] d = 2 s, closed: a–x are 1 s apart, b–x are 2; stamped with the later timestamp."""
    assert answer(S1.band(S2, "2 s"), TWO) == [(2, 0, 1, "a", "x"), (4, 0, 1, "b", "x")]


def test_the_infinite_join_pairs_all_that_match() -> None:
    """[001 D34] d = ∞; at 8 s a before b, the order of the left side."""
    assert answer(S1.band(S2), TWO) == [
        (2, 0, 1, "a", "x"),
        (4, 0, 1, "b", "x"),
        (8, 0, 1, "a", "y"),
        (8, 0, 1, "b", "y"),
        (9, 0, 2, "c", "z"),
    ]


def test_the_instantaneous_join_pairs_equal_timestamps() -> None:
    """[001 D34] d = 0."""
    data: Data = {"S1": single((1, "a", 1), (1, "b", 4)), "S2": single((1, "x", 2), (1, "y", 4))}
    assert answer(S1.band(S2, "0 s"), data) == [(4, 0, 1, "b", "y")]


def test_the_instantaneous_join_pairs_across_the_batches_of_an_instant() -> None:
    """[001 D34] The [∞] form; [B] would miss a at (5, 1) (SEMANTICS §4)."""
    data: Data = {"S1": given((5, 0, (1, "a")), (5, 1, (1, "b"))), "S2": given((5, 1, (1, "x")))}
    assert answer(S1.band(S2, "0 s"), data) == [(5, 1, 1, "a", "x"), (5, 1, 1, "b", "x")]


def test_the_band_join_can_test_positions_instead() -> None:
    """[001 D34] Position distance 0: first with first, second with second; c and z are both third."""
    assert answer(S1.band(S2, rows=0), TWO) == [
        (2, 0, 1, "a", "x"),
        (8, 0, 1, "b", "y"),
        (9, 0, 2, "c", "z"),
    ]


def test_two_simultaneous_batches_are_not_needed_for_a_pair_in_the_band() -> None:
    """[001 D34] The pair is in the batch that completes it."""
    data: Data = {"S1": given((5, 2, (1, "a"))), "S2": given((4, 7, (1, "x")))}
    assert answer(S1.band(S2, "1 s"), data) == [(5, 2, 1, "a", "x")]


MEASURED = stream("S", "id INT, value INT")
ONE_BATCH = {"S": given((0, 0, (1, 42)), (0, 0, (2, 43)), (0, 0, (3, 75)))}


def test_without_spread_the_last_batch_has_one_state_with_all_tuples() -> None:
    """[001 Ex11] S[B] and S[L] at (t0, 0)."""
    assert at(MEASURED[last_batch()], ONE_BATCH, 0, 0) == [(1, 42), (2, 43), (3, 75)]
    assert at(MEASURED[last_row()], ONE_BATCH, 0, 0) == [(3, 75)]


def test_a_stream_spread_by_id_has_one_state_per_tuple() -> None:
    """[001 Ex11] [001 D35] ▷_id S: (t0, 0), (t0, 1), (t0, 2)."""
    spread = MEASURED.spread("id")
    assert answer(spread, ONE_BATCH) == [(0, 0, 1, 42), (0, 1, 2, 43), (0, 2, 3, 75)]
    states = [at(spread[last_batch()], ONE_BATCH, 0, i) for i in range(3)]
    assert states == [[(1, 42)], [(2, 43)], [(3, 75)]]


def test_spread_orders_by_value_and_keeps_equal_values_together() -> None:
    """[001 D35] s1[a] < s2[a] within a batch; equal ids share a batch, in their old order."""
    data = {"S": given((1, 0, (3, 9)), (1, 0, (1, 5)), (1, 0, (3, 4)))}
    assert answer(MEASURED.spread("id"), data) == [(1, 0, 1, 5), (1, 1, 3, 9), (1, 1, 3, 4)]


def test_spread_does_not_mix_the_batches_of_an_instant() -> None:
    """[001 D35] B_S(s1) < B_S(s2) goes first; the indices of the instant are 0, 1, 2 afterwards."""
    data = {"S": given((1, 0, (2, 7)), (1, 0, (1, 8)), (1, 3, (1, 9)))}
    assert answer(MEASURED.spread("id"), data) == [(1, 0, 1, 8), (1, 1, 2, 7), (1, 2, 1, 9)]


def test_spread_compares_several_attributes_lexicographically() -> None:
    """[001 D35] id before value."""
    data = {"S": given((1, 0, (2, 1)), (1, 0, (1, 9)), (1, 0, (1, 8)))}
    assert answer(MEASURED.spread("id", "value"), data) == [(1, 0, 1, 8), (1, 1, 1, 9), (1, 2, 2, 1)]


def test_spread_without_attributes_makes_every_tuple_a_batch() -> None:
    """[001 D35] ▷ = ▷_φ: the order of positions."""
    data = {"S": given((1, 0, (3, 9)), (1, 0, (1, 5)), (2, 4, (3, 4)))}
    assert answer(MEASURED.spread(), data) == [(1, 0, 3, 9), (1, 1, 1, 5), (2, 0, 3, 4)]


def test_spread_all_puts_the_batches_of_an_instant_together_first() -> None:
    """[001 D35] ◁_id S."""
    data = {"S": given((1, 0, (2, 7)), (1, 0, (1, 8)), (1, 3, (1, 9)), (2, 0, (1, 6)))}
    assert answer(MEASURED.spread_all("id"), data) == [(1, 0, 1, 8), (1, 0, 1, 9), (1, 1, 2, 7), (2, 0, 1, 6)]


IDS = stream("S", "id INT")
VERSIONS = relation("R", "id INT, a TIMESTAMP, b TIMESTAMP", valid_from="a", valid_to="b").select("id")
REMARK: Data = {
    "S": single((1, 1), (2, 2), (3, 3)),
    "R": [(0, sec(0), sec("2.5")), (1, sec("2.5"), None)],
}


def test_a_condition_on_the_stream_does_not_commute_with_the_join() -> None:
    """[001 Remark1] (1, 1, 2.5) is in (σ_{id=1} S) ⋈ R, not in σ_{id=1}(S ⋈ R)."""
    assert answer(IDS.join(VERSIONS).where("id = 1"), REMARK) == []
    assert answer(IDS.where("id = 1").join(VERSIONS), REMARK) == [("2.5", 0, 1)]


def test_a_condition_on_the_stream_commutes_with_the_semi_sensitive_join() -> None:
    """[001 Remark1] [001 D33] Neither emits anything at 2.5 s (SEMANTICS §4)."""
    assert answer(IDS.lookup(VERSIONS).where("id = 1"), REMARK) == []
    assert answer(IDS.where("id = 1").lookup(VERSIONS), REMARK) == []


def test_a_condition_on_the_relation_commutes_with_the_join() -> None:
    """[001 C4] σ_c(S ⋈ R) ≡ S ⋈ (σ_c R)."""
    expected = [(2, 0, 1, "a", "y"), (5, 0, 1, "c", "y")]
    assert answer(S.join(R).where("w = 'y'"), UPDATED) == expected
    assert answer(S.join(R.where("w = 'y'")), UPDATED) == expected


def test_a_negative_band_is_refused() -> None:
    """[001 D34] d is a time interval."""
    with pytest.raises(AstralError):
        S1.band(S2, "-1 s")


def test_the_semi_sensitive_join_does_not_see_a_later_batch_of_the_same_instant() -> None:
    """[001 D33] The relation is taken at (2, 0), where x has not come yet; S ⋈ R emits the pair at (2, 1)."""
    data: Data = {"S1": given((2, 0, (1, "a"))), "S2": given((2, 1, (1, "x")))}
    assert answer(S1.lookup(S2[unbounded()]), data) == []
    assert answer(S1.join(S2[unbounded()]), data) == [(2, 1, 1, "a", "x")]


def test_spread_all_without_attributes_numbers_the_tuples_of_an_instant() -> None:
    """[001 D35] ◁ = ◁_φ."""
    data = {"S": given((1, 0, (3, 9)), (1, 5, (1, 5)), (1, 5, (2, 4)))}
    assert answer(MEASURED.spread_all(), data) == [(1, 0, 3, 9), (1, 1, 1, 5), (1, 2, 2, 4)]


def test_positions_after_a_spread_are_coherent_with_its_batches() -> None:
    """[001 D35] [001 H1] Positions are renumbered inside a timestamp ▲ (SEMANTICS §3)."""
    data = {"S": given((1, 0, (3, 9)), (1, 0, (1, 5)), (2, 0, (2, 4)))}
    assert answer(MEASURED.spread("id").select("id, _n AS n"), data) == [(1, 0, 1, 0), (1, 1, 3, 1), (2, 0, 2, 2)]
