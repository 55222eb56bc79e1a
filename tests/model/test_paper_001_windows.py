"""Paper 001, section 5.2, table 1 and example 14: from streams to relations."""

from __future__ import annotations

import pytest

from astralq.algebra import (
    fixed,
    general,
    landmark,
    last_batch,
    last_row,
    range_,
    rows,
    stream,
    tumble,
    unbounded,
)
from astralq.errors import WindowError
from astralq.model import Stream
from tests.support import answer, at, given, sec, single

S = stream("S", "v INT")
L = stream("S", "name STRING")
BUOYS = stream("S", "BuoyId INT, id INT, value INT")

BATCHES = {"S": given((1, 0, (0,)), (1, 0, (1,)), (1, 0, (2,)), (4, 0, (3,)), (4, 1, (4,)), (4, 1, (5,)))}
"""Positions 0 to 5 in the batches (1, 0), (4, 0) and (4, 1)."""


def every_second(last: int) -> Stream:
    return single(*((n, n) for n in range(last + 1)))


def values(*wanted: int) -> list[tuple[int]]:
    return [(v,) for v in wanted]


@pytest.mark.parametrize(
    ("alpha", "beta", "rate"),
    [
        ((1, 5), (1, 3), 1),  # begins after its end
        ((2, 0), (1, 3), 1),  # does so from j = 4 on
        ((2, 0), (2, 1), 1),  # β(j) = 2j + 1 > j·1 + β(0)
    ],
)
def test_positional_descriptions_obey_the_same_conditions(
    alpha: tuple[int, int], beta: tuple[int, int], rate: int
) -> None:
    """[001 D26] α(j) ≤ β(j) ≤ jr + β(0)."""
    with pytest.raises(WindowError):
        general(alpha, beta, rate)


def test_a_lower_bound_before_the_beginning_finds_nothing_there() -> None:
    """[001 D26] [2j − 1, 2j + 1] holds only what there is ▲ (SEMANTICS §2: bounds are not clipped)."""
    window = S[general((2, -1), (2, 1), 2)]
    assert [at(window, {"S": every_second(5)}, t) for t in (0, 1, 3)] == [[], values(0, 1), values(1, 2, 3)]


def test_rows_that_overshoot_show_all_that_were_asked_for() -> None:
    """[001 D26] The first batch brings three tuples, so that two are there at once ▲ (SEMANTICS §2)."""
    assert at(S[rows(2)], BATCHES, 1) == values(1, 2)


def test_a_window_may_slide_by_3_seconds_every_5_tuples() -> None:
    """[001 D26] [001 §2.3] Cross-domain: first at position 4, then at 9, with the bounds in time."""
    window, data = S[range_("3 s", slide=5)], {"S": every_second(11)}
    assert at(window, data, 3) == []
    assert at(window, data, 8) == values(1, 2, 3, 4)
    assert at(window, data, 9) == values(6, 7, 8, 9)


LAST_TEN_OF_A_HUNDRED = S[general((100, 91), (100, 100), 100)]


def test_of_every_hundred_items_the_last_ten() -> None:
    """[001 Ex6] [001 D26] α(0) = 91, β(0) = 100."""
    data = {"S": every_second(300)}
    assert at(LAST_TEN_OF_A_HUNDRED, data, 99) == []
    assert at(LAST_TEN_OF_A_HUNDRED, data, 100) == values(91, 92, 93, 94, 95, 96, 97, 98, 99, 100)
    assert at(LAST_TEN_OF_A_HUNDRED, data, 300) == values(291, 292, 293, 294, 295, 296, 297, 298, 299, 300)


def test_at_1024_the_tenth_window_is_the_last_created() -> None:
    """[001 Ex7] [001 D27] γ(1024, 0) = 9: [991, 1000]."""
    assert at(LAST_TEN_OF_A_HUNDRED, {"S": every_second(1024)}, 1024, 0) == values(*range(991, 1001))


def test_a_window_is_delayed_until_its_rate_is_reached() -> None:
    """[001 D27] r ∈ 𝒯: window j appears at 2j + 3 s, whether tuples come or not."""
    window = S[general(("2 s", "0 s"), ("2 s", "3 s"), "2 s")]
    assert answer(window, {"S": single((1, 1), (2, 4))}, until=9) == [
        ("+", 3, 0, 1),
        ("-", 5, 0, 1),
        ("+", 5, 0, 2),
        ("-", 9, 0, 2),
    ]


def test_when_several_evaluations_fall_into_one_batch_only_the_last_shows() -> None:
    """[001 D27] r ∈ ℕ: the batch brings positions 0 to 4, γ = ⌊(4 − 1)/2⌋ = 1 at once."""
    data = {"S": given(*((1, 0, (n,)) for n in range(5)))}
    assert answer(S[general((2, 0), (2, 1), 2)], data) == [("+", 1, 0, 3), ("+", 1, 0, 4)]


def test_a_window_is_empty_before_its_first_evaluation() -> None:
    """[001 D28] γ(t, i) < 0."""
    assert at(S[general((1, 0), (1, 2), 1)], {"S": every_second(5)}, 1) == []
    assert at(S[general((1, 0), (1, 2), 1)], {"S": every_second(5)}, 2) == values(0, 1, 2)


def test_a_temporal_window_sees_the_batches_of_its_end_as_they_arrive() -> None:
    """[001 D28] The relation may change at a batch although time does not; afterwards it has them all."""
    window = S[range_("3 s", slide="4 s")]
    assert at(window, BATCHES, 4, 0) == values(0, 1, 2, 3)
    assert at(window, BATCHES, 4, 1) == values(0, 1, 2, 3, 4, 5)
    assert at(window, BATCHES, 5, 0) == values(0, 1, 2, 3, 4, 5)


def test_a_positional_window_takes_the_most_recent_tuples_of_its_batches() -> None:
    """[001 D28] [2j, 2j+1, 2n]: window 0 is asked for 0 and 1, the batch ends with 2, so 1 and 2 are taken."""
    pairs = S[general((2, 0), (2, 1), 2)]
    assert at(pairs, BATCHES, 1) == values(1, 2)
    assert at(pairs, BATCHES, 4, 0) == values(2, 3)
    assert at(pairs, BATCHES, 4, 1) == values(4, 5)


def test_with_one_tuple_per_batch_a_positional_window_is_its_scope() -> None:
    """[001 D28] Full spread streams: E = S[α, β, r]."""
    assert at(S[general((2, 0), (2, 1), 2)], {"S": every_second(6)}, 6) == values(4, 5)


def test_period_3_slide_2_at_five_and_a_half_seconds_is_its_second_window() -> None:
    """[001 Ex8] [001 D28] γ(5.5) = 1: W1 = {s4, …, s8}, all in [2, 5]."""
    data = {
        "S": single(
            ("s1", 0),
            ("s2", 1),
            ("s3", "1.999999"),
            ("s4", 2),
            ("s5", 3),
            ("s6", "3.5"),
            ("s7", "4.5"),
            ("s8", 5),
            ("s9", "5.000001"),
            ("s10", 7),
        )
    }
    window = L[general(("2 s", "0 s"), ("2 s", "3 s"), "2 s")]
    assert at(window, data, "4.5") == [("s1",), ("s2",), ("s3",), ("s4",), ("s5",)]
    assert at(window, data, "5.5") == [("s4",), ("s5",), ("s6",), ("s7",), ("s8",)]


SENT = {"S": single((1, 11, 5, 1), (2, 21, 6, 2), (1, 12, 7, 3), (2, 21, 8, 4))}


def test_a_partitioned_window_is_the_union_of_the_windows_of_its_parts() -> None:
    """[001 D29] [i, i+1, 1n] by buoy: buoy 1 has two tuples at 3 s, buoy 2 at 4 s; φ orders them (002 §5.2)."""
    window = BUOYS[general((1, 0), (1, 1), 1).by("BuoyId")].select("value")
    assert at(window, SENT, 2) == []
    assert at(window, SENT, 3) == values(5, 7)
    assert at(window, SENT, 4) == values(5, 6, 7, 8)


def test_a_window_may_be_partitioned_by_several_attributes() -> None:
    """[001 D29] a1 … ak."""
    assert at(BUOYS[rows(1).by("BuoyId", "id")].select("value"), SENT, 4) == values(5, 7, 8)


def test_the_last_value_sent_by_each_buoy() -> None:
    """[001 Ex9] [001 D29] S[BuoyId/i, i, 1n]."""
    assert at(BUOYS[general((1, 0), (1, 0), 1).by("BuoyId")], SENT, 4) == [(1, 12, 7), (2, 21, 8)]


def test_the_last_value_sent_by_each_sensor() -> None:
    """[001 Ex9] [001 D29] S[id/i, i, 1n], which is PARTITION BY id ROWS 1 (SEMANTICS §5)."""
    expected = [(1, 11, 5), (1, 12, 7), (2, 21, 8)]
    assert at(BUOYS[general((1, 0), (1, 0), 1).by("id")], SENT, 4) == expected
    assert at(BUOYS[rows(1).by("id")], SENT, 4) == expected


def test_b_is_the_last_seen_batch() -> None:
    """[001 Table1] {s : B_S(s) = τ ∘ τ⁻¹(t, i)}, also between batches."""
    assert at(S[last_batch()], BATCHES, 1) == values(0, 1, 2)
    assert at(S[last_batch()], BATCHES, 3) == values(0, 1, 2)
    assert at(S[last_batch()], BATCHES, 4, 0) == values(3)
    assert at(S[last_batch()], BATCHES, 4, 1) == values(4, 5)


def test_l_is_the_last_tuple() -> None:
    """[001 Table1] [i, i, 1n]."""
    for window in (last_row(), general((1, 0), (1, 0), 1)):
        assert [at(S[window], BATCHES, 1), at(S[window], BATCHES, 4, 0), at(S[window], BATCHES, 9)] == [
            values(2),
            values(3),
            values(5),
        ]


def test_l_equals_b_where_every_batch_has_one_tuple() -> None:
    """[001 Table1] One tuple per batch policy."""
    data = {"S": every_second(3)}
    for t in range(4):
        assert at(S[last_row()], data, t) == at(S[last_batch()], data, t) == values(t)


def test_infinity_is_the_stream_up_to_the_current_batch() -> None:
    """[001 Table1] {s : B_S(s) ≤ (t, i)}."""
    for window in (unbounded(), general((0, 0), (1, 0), 1)):
        assert at(S[window], BATCHES, 1) == values(0, 1, 2)
        assert at(S[window], BATCHES, 4, 0) == values(0, 1, 2, 3)
        assert at(S[window], BATCHES, 4, 1) == values(0, 1, 2, 3, 4, 5)


def test_a_fixed_window_is_evaluated_only_once() -> None:
    """[001 §5.2] [2, 4] at 4 s."""
    window, data = S[fixed(sec(2), sec(4))], {"S": every_second(9)}
    assert [at(window, data, t) for t in (3, 4, 9)] == [[], values(2, 3, 4), values(2, 3, 4)]


def test_a_landmark_window_grows_linearly() -> None:
    """[001 §5.2] From 2 s, every 2 s."""
    window, data = S[landmark(sec(2), "2 s")], {"S": every_second(9)}
    assert [at(window, data, t) for t in (1, 3, 4, 6)] == [[], values(2), values(2, 3, 4), values(2, 3, 4, 5, 6)]


def test_tumbling_windows_do_not_overlap() -> None:
    """[001 §5.2] The move equals the width; as half-open intervals their intersection is empty."""
    window, data = S[tumble("2 s")], {"S": every_second(9)}
    assert [at(window, data, t) for t in (1, 2, 4, 5)] == [[], values(0, 1), values(2, 3), values(2, 3)]


TEMPERATURES = {"S": single(*((n if n % 3 else -n, n) for n in range(15)))}
"""0, 1, 2, -3, 4, 5, -6, …: ten of fifteen are positive."""


def test_selecting_from_the_last_ten_measurements_gives_fewer_than_ten() -> None:
    """[001 Ex14] σ_{temp>0}(S[i, i+9, 1n]): positions 5 to 14 without 6, 9 and 12."""
    positive = S[general((1, 0), (1, 9), 1)].where("v > 0")
    assert at(positive, TEMPERATURES, 14) == values(5, 7, 8, 10, 11, 13, 14)


def test_the_last_ten_selected_measurements_are_ten() -> None:
    """[001 Ex14] (σ_{temp>0} S)[i, i+9, 1n]: the tenth positive one comes at 14 s."""
    positive = S.where("v > 0")[general((1, 0), (1, 9), 1)]
    assert at(positive, TEMPERATURES, 13) == []
    assert at(positive, TEMPERATURES, 14) == values(1, 2, 4, 5, 7, 8, 10, 11, 13, 14)


def test_a_positional_landmark_holds_all_up_to_the_end_of_the_batch() -> None:
    """[001 D28] [0, 2j+1, 2n]: read literally it would drop 0 at 1 s and re-admit it at 4 s ▲ (SEMANTICS §2)."""
    window = S[general((0, 0), (2, 1), 2)]
    assert at(window, BATCHES, 1) == values(0, 1, 2)
    assert at(window, BATCHES, 4, 0) == values(0, 1, 2, 3)


def test_each_part_has_its_own_last_batch() -> None:
    """[001 D29] [001 Table1] S[id/B]: the batch (1, 0) stays the last one of buoy 2."""
    window = BUOYS[last_batch().by("BuoyId")].select("value")
    data = {"S": given((1, 0, (1, 11, 5)), (1, 0, (2, 21, 6)), (1, 0, (2, 21, 7)), (2, 0, (1, 11, 8)))}
    assert at(window, data, 1) == values(5, 6, 7)
    assert at(window, data, 2) == values(6, 7, 8)
