"""Paper 001, section 5.1, and examples 12 and 13: from relations to streams."""

from __future__ import annotations

from astralq.algebra import general, last_batch, last_row, range_, relation, rows, stream, unbounded
from astralq.model import Data
from tests.support import answer, at, given, sec, single

S = stream("S", "v STRING")
READINGS = stream("S", "id INT, v STRING")
R = relation("R", "op STRING, ts TIMESTAMP, v STRING", change="op", at="ts")
KEYED = relation("R", "op STRING, ts TIMESTAMP, id INT, v STRING", change="op", at="ts", key="id")

COMES_AND_GOES = {"R": [("+", sec(1), "a"), ("+", sec(2), "b"), ("-", sec(3), "a"), ("-", sec(4), "b")]}


def test_a_streamer_stamps_with_the_moment_of_emission() -> None:
    """[001 D23] The window [0, 4] is made at 4 s; the original timestamps are replaced."""
    window = S[general(("4 s", "0 s"), ("4 s", "4 s"), "4 s")]
    assert answer(window.istream(), {"S": single(("a", 1), ("b", 3), ("c", 5))}) == [(4, 0, "a"), (4, 0, "b")]


def test_the_original_timestamp_is_kept_under_another_name() -> None:
    """[001 D23] ρ_{t_original/t} before the streamer."""
    window = S.select("v, _t AS original")[general(("4 s", "0 s"), ("4 s", "4 s"), "4 s")]
    assert answer(window.istream(), {"S": single(("a", 1), ("b", 3), ("c", 5))}) == [
        (4, 0, "a", sec(1)),
        (4, 0, "b", sec(3)),
    ]


def test_a_streamer_numbers_what_it_emits() -> None:
    """[001 D23] Each position is greater than those stamped before, in the order of the relation."""
    emitted = S[rows(2)].rstream().select("v, _n AS n")
    assert answer(emitted, {"S": single(("b", 1), ("a", 2), ("c", 3))}) == [
        (1, 0, "b", 0),
        (2, 0, "b", 1),
        (2, 0, "a", 2),
        (3, 0, "a", 3),
        (3, 0, "c", 4),
    ]


def test_what_is_inserted_is_emitted_when_it_is_inserted() -> None:
    """[001 D24] I_S."""
    assert answer(R.istream(), COMES_AND_GOES) == [(1, 0, "a"), (2, 0, "b")]


def test_what_is_deleted_is_emitted_when_it_is_deleted() -> None:
    """[001 D24] D_S."""
    assert answer(R.dstream(), COMES_AND_GOES) == [(3, 0, "a"), (4, 0, "b")]


def test_the_content_is_emitted_every_time_it_changes() -> None:
    """[001 D24] R_S^u; at 4 s there is nothing left to emit."""
    assert answer(R.rstream(), COMES_AND_GOES) == [(1, 0, "a"), (2, 0, "a"), (2, 0, "b"), (3, 0, "b")]


def test_the_content_is_not_emitted_while_it_does_not_change() -> None:
    """[001 D24] R_S^u: the window is evaluated every second but holds a alone until 3 s."""
    assert answer(S[range_("2 s", slide="1 s")].rstream(), {"S": single(("a", 1))}, until=6) == [(1, 0, "a")]


def test_streamers_emit_in_the_batch_in_which_the_relation_changes() -> None:
    """[001 D24] B_S(s') = (t, i)."""
    data = {"S": given((1, 0, ("a",)), (1, 2, ("b",)), (3, 1, ("c",)))}
    assert answer(S[last_batch()].istream(), data) == [(1, 0, "a"), (1, 2, "b"), (3, 1, "c")]
    assert answer(S[last_batch()].dstream(), data) == [(1, 2, "a"), (3, 1, "b")]


def test_tuples_deleted_together_are_emitted_in_their_order() -> None:
    """[001 D24] The batch (b, a) leaves when c comes."""
    data = {"S": given((1, 0, ("b",)), (1, 0, ("a",)), (2, 0, ("c",)))}
    assert answer(S[last_batch()].dstream(), data) == [(2, 0, "b"), (2, 0, "a")]


def test_a_replaced_row_is_deleted_and_its_successor_inserted() -> None:
    """[001 D24] Another value under the same φ is another tuple (SEMANTICS §1)."""
    data = {"R": [("+", sec(1), 7, "x"), ("+", sec(2), 7, "y")]}
    assert answer(KEYED.istream(), data) == [(1, 0, 7, "x"), (2, 0, 7, "y")]
    assert answer(KEYED.dstream(), data) == [(2, 0, 7, "x")]


BUOYS = relation("Buoys", "op STRING, ts TIMESTAMP, BuoyId INT, Drift INT", change="op", at="ts", key="BuoyId")
ANCHORED = relation("AnchBuoys", "op STRING, ts TIMESTAMP, BuoyId INT, loc INT", change="op", at="ts", key="BuoyId")
DEPLOYMENT: Data = {
    "Buoys": [
        ("+", sec(0), 1, 0),
        ("+", sec(0), 2, 1),
        ("+", sec(0), 42, 0),
        ("+", sec(10), 5, 0),
        ("-", sec(20), 1, 0),
    ],
    "AnchBuoys": [
        ("+", sec(0), 1, 7016),
        ("+", sec(0), 42, 7000),
        ("+", sec(10), 5, 7017),
        ("+", sec(15), 42, 7001),
        ("-", sec(20), 1, 7016),
    ],
}


def test_the_stream_of_buoy_arrivals() -> None:
    """[001 Ex4] [001 D24] I_S(Π_BuoyId R); buoy 2 drifts, and 42 does not arrive again when it is moved."""
    arrivals = BUOYS.join(ANCHORED).select("BuoyId").istream()
    assert answer(arrivals, DEPLOYMENT) == [(0, 0, 1), (0, 0, 42), (10, 0, 5)]


def test_the_stream_of_buoy_departures() -> None:
    """[001 Ex4] [001 D24] D_S(Π_BuoyId R): buoy 1 is picked up."""
    departures = BUOYS.join(ANCHORED).select("BuoyId").dstream()
    assert answer(departures, DEPLOYMENT) == [(20, 0, 1)]


def test_the_stream_of_the_localisation_of_buoy_42() -> None:
    """[001 Ex4] [001 D24] R_S^u(Π_loc σ_{BuoyId=42}(R)): only changes of its own location count."""
    located = BUOYS.join(ANCHORED).where("BuoyId = 42").select("loc").rstream()
    assert answer(located, DEPLOYMENT) == [(0, 0, 7000), (15, 0, 7001)]


M = relation("M", "op STRING, ts TIMESTAMP, id INT, m STRING", change="op", at="ts")


def test_the_stream_of_sensed_data_is_what_is_inserted_into_m() -> None:
    """[001 Ex4] Insertions at 3, 9, 10 and 12 s."""
    sent = [("+", sec(3), 1, "v1"), ("+", sec(9), 2, "v2"), ("+", sec(10), 1, "v3"), ("+", sec(12), 3, "v4")]
    assert answer(M.istream(), {"M": sent}) == [
        (3, 0, 1, "v1"),
        (9, 0, 2, "v2"),
        (10, 0, 1, "v3"),
        (12, 0, 3, "v4"),
    ]


def test_the_content_is_emitted_every_period_whether_it_changes_or_not() -> None:
    """[001 D25] R_S^{2s} from t0 = 1: at 1, 3, 5 and 7 s."""
    data = {"R": [("+", sec(1), "a"), ("+", sec(4), "b")]}
    assert answer(R.rstream(every="2 s"), data, t0=1, until=7) == [
        (1, 0, "a"),
        (3, 0, "a"),
        (5, 0, "a"),
        (5, 0, "b"),
        (7, 0, "a"),
        (7, 0, "b"),
    ]


def test_the_content_of_a_period_is_the_state_at_batch_zero_once() -> None:
    """[001 D25] R(t, 0) at (t, 0) (SEMANTICS §3): b of batch (2, 1) is first seen at 4 s."""
    data = {"S": given((2, 0, ("a",)), (2, 1, ("b",)))}
    assert answer(S[unbounded()].rstream(every="2 s"), data, until=4) == [(2, 0, "a"), (4, 0, "a"), (4, 0, "b")]


def test_the_available_measurements_every_second() -> None:
    """[001 Ex5] [001 D25] R_S^{1s}(Π_{m, Id, BuoyId}(M ⋈ Sensors))."""
    sensors = relation("Sensors", "id INT, BuoyId INT")
    data: Data = {"M": [("+", sec(3), 1, "v1"), ("+", sec(5), 2, "v2")], "Sensors": [(1, 10), (2, 20)]}
    assert answer(M.join(sensors).select("m, id, BuoyId").rstream(every="1 s"), data, until=6) == [
        (3, 0, "v1", 1, 10),
        (4, 0, "v1", 1, 10),
        (5, 0, "v1", 1, 10),
        (5, 0, "v2", 2, 20),
        (6, 0, "v1", 1, 10),
        (6, 0, "v2", 2, 20),
    ]


def test_insertions_of_a_period_compare_its_two_ends() -> None:
    """[001 §5.1] The states at t and t − 3 s: a comes and goes between them."""
    data = {"R": [("+", sec(1), "a"), ("-", sec(2), "a"), ("+", sec(2), "b"), ("+", sec(4), "c")]}
    assert answer(R.istream(every="3 s"), data, until=9) == [(3, 0, "b"), (6, 0, "c")]


def test_deletions_of_a_period_compare_its_two_ends() -> None:
    """[001 §5.1] a goes at 4 s and is reported at 6 s; b comes and goes unseen."""
    data = {"R": [("+", sec(1), "a"), ("-", sec(4), "a"), ("+", sec(4), "b"), ("-", sec(5), "b")]}
    assert answer(R.dstream(every="3 s"), data, until=9) == [(6, 0, "a")]


def test_the_content_at_insertions_only() -> None:
    """[001 §5.1] Insert-sensitive: nothing at the deletion at 3 s."""
    assert answer(R.rstream(on_insert=True), COMES_AND_GOES) == [(1, 0, "a"), (2, 0, "a"), (2, 0, "b")]


FIGURE_2 = {"S": single((1, "v1", 3), (2, "v2", 9), (1, "v3", 10), (3, "v4", 12))}


def test_the_last_batch_goes_through_the_tuples_of_the_stream() -> None:
    """[001 Ex12] S[B] at 3, 9 and 10 s."""
    assert [at(READINGS[last_batch()], FIGURE_2, t) for t in (3, 9, 10)] == [[(1, "v1")], [(2, "v2")], [(1, "v3")]]


def test_the_insertions_into_the_last_batch_are_the_stream() -> None:
    """[001 Ex12] [001 P3] [001 C2] [001 D36] I_S(S[B]) ≡ I_S(S[∞]) ≡ R_S^u(S[B]) ≡ S."""
    expected = [(3, 0, 1, "v1"), (9, 0, 2, "v2"), (10, 0, 1, "v3"), (12, 0, 3, "v4")]
    assert answer(READINGS, FIGURE_2) == expected
    assert answer(READINGS[last_batch()].istream(), FIGURE_2) == expected
    assert answer(READINGS[unbounded()].istream(), FIGURE_2) == expected
    assert answer(READINGS[last_batch()].rstream(), FIGURE_2) == expected


RANGE_2S = general(("2 s", "0 s"), ("2 s", "2 s"), "2 s")


def test_range_2_every_2_seconds_has_both_ends_in_its_states() -> None:
    """[001 Ex13] [2is, 2is+2s, 2s]; at 12 s the tuple of 10 s is still in (SEMANTICS §5)."""
    assert [at(READINGS[RANGE_2S], FIGURE_2, t) for t in (4, 6, 10, 12)] == [
        [(1, "v1")],
        [],
        [(2, "v2"), (1, "v3")],
        [(1, "v3"), (3, "v4")],
    ]


def test_range_2_every_2_seconds_does_not_transmit_timestamps() -> None:
    """[001 Ex13] I_S(S[R_2s]) ≠ S: v1 and v2 are stamped when the window changes."""
    assert answer(READINGS[RANGE_2S].istream(), FIGURE_2) == [
        (4, 0, 1, "v1"),
        (10, 0, 2, "v2"),
        (10, 0, 1, "v3"),
        (12, 0, 3, "v4"),
    ]


def test_tuple_sets_in_another_order_are_not_equivalent() -> None:
    """[001 D36] Tuples are compared in order two by two, φ aside."""
    one, other = given((1, 0, ("a",)), (1, 0, ("b",))), given((1, 0, ("b",)), (1, 0, ("a",)))
    assert at(S[unbounded()], {"S": one}, 1) == [("a",), ("b",)]
    assert at(S[unbounded()], {"S": other}, 1) == [("b",), ("a",)]


def test_phi_does_not_count_for_equivalence() -> None:
    """[001 D36] [001 C3] σ_c S ≡ I_S(σ_c S[B]): v3 has φ = 2 on the left of S, 1 in each result."""
    expected = [(3, 0, 1, "v1"), (10, 0, 1, "v3")]
    assert answer(READINGS.where("id = 1"), FIGURE_2) == expected
    assert answer(READINGS[last_batch()].where("id = 1").istream(), FIGURE_2) == expected


def test_the_last_tuple_is_not_the_stream_where_batches_hold_more() -> None:
    """[001 P3] [L] does not contain the last batch, so a is lost."""
    data = {"S": given((1, 0, ("a",)), (1, 0, ("b",)))}
    assert answer(S[last_row()].istream(), data) == [(1, 0, "b")]


def test_what_holds_already_is_inserted_at_the_start() -> None:
    """[001 D24] It is reported at the first observed instant (SEMANTICS §1)."""
    data = {"R": [("+", sec(1), "a"), ("+", sec(7), "b")]}
    assert answer(R.istream(), data, t0=5) == [(5, 0, "a"), (7, 0, "b")]
