"""Paper 000, sections 3 and 4: time, batches, streams and windows, with answers worked out from its text."""

from __future__ import annotations

import pytest

from astralq.algebra import (
    at_instants,
    general,
    last_batch,
    last_row,
    now,
    range_,
    relation,
    rows,
    stream,
    two_rates,
    unbounded,
)
from astralq.algebra.schedules import Measure
from astralq.errors import DataError, TimeError, WindowError
from astralq.model import Stream
from astralq.timeline import Instant, duration
from tests.support import answer, at, batch, given, sec, single

S = stream("S", "v INT")
L = stream("S", "name STRING")
MEASURES = stream("S", "id INT, loc STRING, m INT")

SIMULTANEOUS = given((1, 0, ("a",)), (5, 0, ("b",)), (5, 1, ("c",)), (5, 1, ("d",)), (8, 0, ("e",)))
"""Two batches at 5 s."""


def every_second(last: int) -> Stream:
    """One tuple per second: the tuple n at n seconds has position n."""
    return single(*((n, n) for n in range(last + 1)))


def values(*wanted: int) -> list[tuple[int]]:
    return [(v,) for v in wanted]


def test_tuples_a_chronon_apart_are_not_simultaneous() -> None:
    """[000 D1] Time is continuous in the paper; here ε is a microsecond (SEMANTICS §1)."""
    data = {"S": single(("a", 1), ("b", "1.000001"))}
    assert at(L[now()], data, 1) == [("a",)]
    assert at(L[now()], data, "1.000001") == [("b",)]


def test_a_time_between_two_chronons_is_refused() -> None:
    """[000 D1] Durations that are not whole microseconds are an error (SEMANTICS §1)."""
    with pytest.raises(TimeError):
        duration("0.0000005 s")


def test_batch_identifiers_are_ordered_by_time_then_by_index() -> None:
    """[000 D2] The ordered set 𝒯 × ℕ."""
    assert batch(4, 7) < batch(5, 0) < batch(5, 1) < batch(6, 0)


def test_simultaneous_tuples_may_belong_to_different_batches() -> None:
    """[000 D2] b is in batch (5, 0), c and d are in (5, 1)."""
    assert at(L[last_batch()], {"S": SIMULTANEOUS}, 5, 0) == [("b",)]
    assert at(L[last_batch()], {"S": SIMULTANEOUS}, 5, 1) == [("c",), ("d",)]


def test_the_same_expression_with_another_start_is_another_query() -> None:
    """[000 D3] A query is an expression and a start: tuples before t0 are ignored."""
    data = {"S": every_second(4)}
    assert at(S[unbounded()], data, 4) == values(0, 1, 2, 3, 4)
    assert at(S[unbounded()], data, 4, t0=3) == values(3, 4)


def test_positions_begin_at_the_start_of_the_query() -> None:
    """[000 D3] [2j, 2j+1, 2n]: from t0 = 3 the first pair is 3 and 4, not 2 and 3."""
    pairs = S[general((2, 0), (2, 1), 2)]
    assert at(pairs, {"S": every_second(4)}, 4) == values(2, 3)
    assert at(pairs, {"S": every_second(4)}, 4, t0=3) == values(3, 4)


def test_equal_measures_of_a_stream_are_two_tuples() -> None:
    """[000 D4] Duplicates may be meaningful; φ tells them apart."""
    data = {"S": given((1, 0, (7,)), (1, 0, (7,)))}
    assert at(S[unbounded()], data, 1) == values(7, 7)


def test_a_temporal_relation_keeps_its_state_between_two_changes() -> None:
    """[000 D5] A step function of batch identifiers."""
    data = {"S": SIMULTANEOUS}
    assert [at(L[last_row()], data, t) for t in (1, "1.5", 4)] == [[("a",)]] * 3
    assert at(L[last_row()], data, 5, 0) == [("b",)]
    assert at(L[last_row()], data, 5, 1) == [("d",)]


def test_a_window_is_empty_before_the_start() -> None:
    """[000 D5] R(t, i) = ∅ for t < t0."""
    assert at(S[unbounded()], {"S": every_second(6)}, 4, t0=5) == []


def test_selection_on_a_temporal_relation_is_selection_at_each_batch() -> None:
    """[000 D5] (σ_c R)(t, i) = σ_c(R(t, i))."""
    odd = S[rows(3)].where("v % 2 = 1")
    data = {"S": every_second(5)}
    assert at(odd, data, 4) == values(3)
    assert at(odd, data, 5) == values(3, 5)


def test_every_tuple_has_the_identifier_of_its_batch() -> None:
    """[000 D6] B_S."""
    assert [s.batch for s in SIMULTANEOUS.tuples] == [batch(1), batch(5), batch(5, 1), batch(5, 1), batch(8)]


def test_positions_must_not_run_against_time() -> None:
    """[000 Axiom1] Position 1 at 2 s after position 0 at 3 s."""
    with pytest.raises(DataError):
        given((3, 0, ("a",)), (2, 0, ("b",)))


def test_positions_must_not_run_against_batches() -> None:
    """[000 Axiom1] Position 1 in (3, 0) after position 0 in (3, 1)."""
    with pytest.raises(DataError):
        given((3, 1, ("a",)), (3, 0, ("b",)))


def test_tau_gives_the_batch_of_a_position() -> None:
    """[000 D7] τ_S."""
    assert [SIMULTANEOUS.tau(n, sec(0)) for n in range(5)] == [batch(1), batch(5), batch(5, 1), batch(5, 1), batch(8)]


def test_tau_of_minus_one_is_the_start() -> None:
    """[000 D7] τ_S(-1) = (t0, 0) by convention."""
    assert SIMULTANEOUS.tau(-1, sec(1)) == batch(1, 0)


def test_inverse_tau_is_the_highest_position_of_the_batch() -> None:
    """[000 C1] The batch (5, 1) holds positions 2 and 3."""
    assert SIMULTANEOUS.tau_inverse(batch(5, 0)) == 1
    assert SIMULTANEOUS.tau_inverse(batch(5, 1)) == 3


def test_inverse_tau_falls_back_to_the_preceding_batch() -> None:
    """[000 C1] There is no batch at (5, 9), at 7 s, or before 1 s."""
    assert SIMULTANEOUS.tau_inverse(batch(5, 9)) == 3
    assert SIMULTANEOUS.tau_inverse(batch(7, 0)) == 3
    assert SIMULTANEOUS.tau_inverse(batch("0.5")) == -1


def test_a_window_that_begins_after_its_end_is_refused() -> None:
    """[000 D8] α(0) = 5 > β(0) = 3."""
    with pytest.raises(WindowError):
        general(("2 s", "5 s"), ("2 s", "3 s"), "2 s")


def test_the_error_names_the_first_window_that_begins_after_its_end() -> None:
    """[000 D8] 3j ≤ 2j + 3 up to j = 3; 12 > 11 for j = 4."""
    with pytest.raises(WindowError, match=r"\b4\b"):
        general(("3 s", "0 s"), ("2 s", "3 s"), "2 s")


def test_a_window_whose_end_is_not_accessible_is_refused() -> None:
    """[000 D8] β(1) = 6 is later than its evaluation 1·2 + 3 = 5."""
    with pytest.raises(WindowError):
        general(("2 s", "0 s"), ("3 s", "3 s"), "2 s")


def test_bounds_that_step_back_are_refused() -> None:
    """[000 D8] α and β are rising (000 §6.2; SEMANTICS §2)."""
    with pytest.raises(WindowError):
        general((-1, 10), (1, 10), 1)


LAST_TEN_OF_A_HUNDRED = general((100, 91), (100, 100), 100)


def test_the_last_ten_of_every_hundred_are_first_seen_at_position_100() -> None:
    """[000 Ex1] [000 D8] α(0) = 91, β(0) = 100: positions 91 to 100, the 101st tuple being position 100."""
    data = {"S": every_second(200)}
    assert at(S[LAST_TEN_OF_A_HUNDRED], data, 99) == []
    assert at(S[LAST_TEN_OF_A_HUNDRED], data, 100) == values(*range(91, 101))
    assert at(S[LAST_TEN_OF_A_HUNDRED], data, 199) == values(*range(91, 101))
    assert at(S[LAST_TEN_OF_A_HUNDRED], data, 200) == values(*range(191, 201))


def test_at_1024_seconds_the_tenth_window_is_the_last_one_created() -> None:
    """[000 Ex2] [000 D9] γ(1024 s, 0) = 9: positions 991 to 1000."""
    assert at(S[LAST_TEN_OF_A_HUNDRED], {"S": every_second(1024)}, 1024) == values(*range(991, 1001))


def test_a_temporal_rate_delays_each_window_to_its_instant() -> None:
    """[000 D9] γ = ⌊(t − 3) / 2⌋: negative before 3 s, 0 before 5 s."""
    changes = answer(S[general(("2 s", "0 s"), ("2 s", "3 s"), "2 s")], {"S": every_second(5)})
    assert changes == [
        *(("+", 3, 0, v) for v in (0, 1, 2, 3)),
        *(("-", 5, 0, v) for v in (0, 1)),
        *(("+", 5, 0, v) for v in (4, 5)),
    ]


def test_a_temporal_window_changes_at_a_batch_although_time_does_not() -> None:
    """[000 D10] At (5, 0) the window [2, 5] has the batches up to (5, 0)."""
    window, data = L[general(("2 s", "0 s"), ("2 s", "3 s"), "2 s")], {"S": SIMULTANEOUS}
    assert at(window, data, 5, 0) == [("b",)]
    assert at(window, data, 5, 1) == [("b",), ("c",), ("d",)]


def test_a_temporal_window_keeps_all_batches_of_its_upper_bound() -> None:
    """[000 D10] At (6, 0) the window [2, 5] still has batch (5, 1) ▲ (SEMANTICS §2)."""
    window = L[general(("2 s", "0 s"), ("2 s", "3 s"), "2 s")]
    assert at(window, {"S": SIMULTANEOUS}, 6, 0) == [("b",), ("c",), ("d",)]


def test_a_window_of_one_tuple_takes_the_most_recent_of_a_batch() -> None:
    """[000 D10] E holds the batch {c, d}; d has the greater φ."""
    assert at(L[general((1, 0), (1, 0), 1)], {"S": SIMULTANEOUS}, 5) == [("d",)]


def test_a_positional_window_is_driven_by_the_highest_position_of_the_batch() -> None:
    """[000 D10] [2j, 2j+1, 2n]: at (5, 1) position 3 is reached, j = 1."""
    pairs = L[general((2, 0), (2, 1), 2)]
    assert answer(pairs, {"S": SIMULTANEOUS}) == [
        ("+", 5, 0, "a"),
        ("+", 5, 0, "b"),
        ("-", 5, 1, "a"),
        ("-", 5, 1, "b"),
        ("+", 5, 1, "c"),
        ("+", 5, 1, "d"),
    ]


def test_range_3_slide_2_at_five_and_a_half_seconds_is_the_window_from_2_to_5() -> None:
    """[000 Ex3] [000 D10] γ(5.5) = 1; s4 to s8 lie in [2, 5], both bounds closed."""
    data = {
        "S": single(
            ("s1", "0.5"), ("s2", 1), ("s3", "1.5"), ("s4", 2), ("s5", "2.5"),
            ("s6", 3), ("s7", 4), ("s8", 5), ("s9", "5.25"), ("s10", 6), ("s11", 8),
        )
    }  # fmt: skip
    window = L[general(("2 s", "0 s"), ("2 s", "3 s"), "2 s")]
    assert at(window, data, "2.5") == []
    assert at(window, data, "5.5") == [("s4",), ("s5",), ("s6",), ("s7",), ("s8",)]
    assert at(window, data, 7) == [("s7",), ("s8",), ("s9",), ("s10",)]


MEASURED = {"S": single((1, "x", 10, 1), (2, "y", 20, 2), (1, "y", 30, 3), (3, "x", 40, 4), (2, "y", 50, 5))}


def test_each_part_of_a_partitioned_window_counts_its_own_positions() -> None:
    """[000 D11] The union of the windows of the parts, in the order of φ."""
    last_two = MEASURES[rows(2).by("loc")].select("m")
    assert at(last_two, MEASURED, 4) == values(10, 20, 30, 40)
    assert at(last_two, MEASURED, 5) == values(10, 30, 40, 50)


def test_the_last_value_of_each_location() -> None:
    """[000 Ex4] [000 D11] S[loc/i, i, 1n]."""
    last = MEASURES[general((1, 0), (1, 0), 1).by("loc")]
    assert at(last, MEASURED, 5) == [(3, "x", 40), (2, "y", 50)]


def test_the_last_value_of_each_source() -> None:
    """[000 Ex4] [000 D11] S[id/i, i, 1n]."""
    last = MEASURES[general((1, 0), (1, 0), 1).by("id")]
    assert at(last, MEASURED, 5) == [(1, "y", 30), (3, "x", 40), (2, "y", 50)]


def test_an_aperiodic_window_is_evaluated_at_its_instants_only() -> None:
    """[000 D12] γ steps at 2, 3 and 7 s; each window is [t − 2 s, t]."""
    last_two_seconds = at_instants([sec(2), sec(3), sec(7)], lambda t: t - sec(2), lambda t: t)
    data = {"S": every_second(9)}
    assert at(S[last_two_seconds], data, 1) == []
    assert at(S[last_two_seconds], data, 2) == values(0, 1, 2)
    assert at(S[last_two_seconds], data, 6) == values(1, 2, 3)
    assert at(S[last_two_seconds], data, 9) == values(5, 6, 7)


def test_an_aperiodic_window_may_have_positional_bounds() -> None:
    """[000 D12] 𝒟 = ℕ: at 5 s the positions 1 to 3."""
    middle = at_instants([sec(5)], lambda t: 1, lambda t: 3, measure=Measure.POSITION)
    assert at(S[middle], {"S": every_second(9)}, 4) == []
    assert at(S[middle], {"S": every_second(9)}, 9) == values(1, 2, 3)


def test_an_aperiodic_window_must_begin_before_its_end() -> None:
    """[000 D12] α(t, i) ≤ β(t, i)."""
    with pytest.raises(WindowError):
        at_instants([sec(5)], lambda t: t, lambda t: t - sec(1))


def test_an_aperiodic_window_must_not_end_in_the_future() -> None:
    """[000 D12] β(γ(t, i)) ≤ t: the end is accessible."""
    with pytest.raises(WindowError):
        at_instants([sec(5)], lambda t: t, lambda t: t + sec(1))


def hours(h: int, minutes: int = 0) -> int:
    return h * 3600 + minutes * 60


OFFICE = two_rates("1 hour", "30 min", ("07:00", "20:00"), "3 hours")
TRAFFIC = {
    "S": single(
        (1, hours(6, 30)), (2, hours(7, 10)), (3, hours(19, 10)), (4, hours(20, 10)), (5, hours(22))
    )
}  # fmt: skip


def test_working_hours_are_watched_every_half_hour() -> None:
    """[000 Ex5] [000 D12] At 07:29 the last evaluation is 07:00, then 07:30."""
    assert at(S[OFFICE], TRAFFIC, hours(7, 29)) == values(1)
    assert at(S[OFFICE], TRAFFIC, hours(7, 30)) == values(1, 2)


def test_nights_are_watched_every_three_hours() -> None:
    """[000 Ex5] [000 D12] After 06:00 there is no evaluation before 07:00, after 19:30 none before 21:00."""
    assert at(S[OFFICE], TRAFFIC, hours(6, 59)) == []
    assert at(S[OFFICE], TRAFFIC, hours(21)) == values(4)
    assert at(S[OFFICE], TRAFFIC, hours(23)) == values(4)


def test_at_a_change_of_rate_the_last_window_stays() -> None:
    """[000 Ex5] The printed γ would step back from 19:30 to 18:00 at 20:00 ▲ (SEMANTICS §2)."""
    assert at(S[OFFICE], TRAFFIC, hours(19, 59)) == values(3)
    assert at(S[OFFICE], TRAFFIC, hours(20, 15)) == values(3)


def test_a_rate_is_positive() -> None:
    """[000 D8] r = 0 would evaluate nothing or everything at once."""
    with pytest.raises(WindowError):
        general((1, 0), (1, 0), 0)


def test_relations_keep_their_past_before_the_start() -> None:
    """[000 D3] Only a stream's tuples before t0 are ignored (SEMANTICS §1)."""
    r = relation("R", "op STRING, at TIMESTAMP, id INT", change="op", at="at")
    assert at(r, {"R": [("+", sec(1), 7)]}, 5, t0=5) == values(7)


def test_an_aperiodic_schedule_must_increase() -> None:
    """[000 D12] A schedule is an increasing list of instants (SEMANTICS §2)."""

    def now_(t: Instant) -> int:
        return t

    with pytest.raises(WindowError):
        at_instants([sec(5), sec(3)], now_, now_)


def test_range_in_the_middle_of_a_stream_has_both_its_ends() -> None:
    """[000 D10] Both bounds are closed: RANGE 2 s SLIDE 2 s at 4 s is [2, 4]."""
    assert at(S[range_("2 s", slide="2 s")], {"S": every_second(5)}, 5) == values(2, 3, 4)
