"""Paper 000, sections 5 and 6.1: properties on its examples, and the windows of other systems."""

from __future__ import annotations

from astralq.algebra import for_loop, general, range_, rows, stream, unbounded
from astralq.model import Stream
from astralq.timeline import Instant
from tests.support import answer, at, given, sec, single

S = stream("S", "v INT")
L = stream("S", "name STRING")
NAMED = stream("S", "id INT, v INT")


def every_second(last: int, first: int = 0) -> Stream:
    return single(*((n, n) for n in range(first, last + 1)))


def values(*wanted: int) -> list[tuple[int]]:
    return [(v,) for v in wanted]


PAIRS = {"S": single((1, 10, 0), (2, 20, 1), (1, 30, 2), (2, 40, 3))}


def test_projecting_before_or_after_a_window_is_the_same() -> None:
    """[000 P1] Π does not touch what windows are made of."""
    assert at(NAMED[rows(3)].select("v"), PAIRS, 3) == values(20, 30, 40)
    assert at(NAMED.select("v")[rows(3)], PAIRS, 3) == values(20, 30, 40)


def test_renaming_before_or_after_a_window_is_the_same() -> None:
    """[000 P1] Nor does ρ."""
    after, before = NAMED[rows(2)].rename({"v": "w"}), NAMED.rename({"v": "w"})[rows(2)]
    assert after.schema.names == before.schema.names == ("id", "w")
    assert at(after, PAIRS, 3) == at(before, PAIRS, 3) == [(1, 30), (2, 40)]


def test_selecting_before_or_after_a_temporal_window_is_the_same() -> None:
    """[000 P2] At 3 s RANGE 2 s has the tuples of 1, 2 and 3 s."""
    window = range_("2 s", slide="1 s")
    assert at(NAMED[window].where("id = 2"), PAIRS, 3) == [(2, 20), (2, 40)]
    assert at(NAMED.where("id = 2")[window], PAIRS, 3) == [(2, 20), (2, 40)]


def test_selecting_before_or_after_everything_so_far_is_the_same() -> None:
    """[000 P3] [∞] needs no positions."""
    assert at(NAMED[unbounded()].where("id = 1"), PAIRS, 3) == [(1, 10), (1, 30)]
    assert at(NAMED.where("id = 1")[unbounded()], PAIRS, 3) == [(1, 10), (1, 30)]


SIGNS = {"S": single(*((n if n % 2 else -n, n) for n in range(21)))}
"""0, 1, -2, 3, -4, …, 19, -20: the odd ones are positive."""
LAST_TEN = general((1, 0), (1, 9), 1)


def test_the_positive_ones_of_the_last_ten_may_be_fewer_than_ten() -> None:
    """[000 Ex6] σ(S[i, i+9, 1n]): of positions 10 to 19 five are positive."""
    assert at(S[LAST_TEN].where("v > 0"), SIGNS, 8) == []
    assert at(S[LAST_TEN].where("v > 0"), SIGNS, 9) == values(1, 3, 5, 7, 9)
    assert at(S[LAST_TEN].where("v > 0"), SIGNS, 19) == values(11, 13, 15, 17, 19)


def test_the_last_ten_positive_ones_are_ten() -> None:
    """[000 Ex6] (σ S)[i, i+9, 1n]: first when there are ten, at 19 s."""
    assert at(S.where("v > 0")[LAST_TEN], SIGNS, 18) == []
    assert at(S.where("v > 0")[LAST_TEN], SIGNS, 19) == values(1, 3, 5, 7, 9, 11, 13, 15, 17, 19)


OLDER = S[general(("2 s", "3 s"), ("5 s", "3 s"), "5 s")]
YOUNGER = S[general(("2 s", "2 s"), ("5 s", "8 s"), "5 s")]


def test_the_younger_query_shows_the_windows_of_the_older_one_from_its_first_evaluation_on() -> None:
    """[000 P4] [000 Ex7] t1 = t0 + 5 s (n = 1), K = 2: the windows [7, 13] and [9, 18]."""
    data = {"S": every_second(22)}
    for t, window in ((13, range(7, 14)), (17, range(7, 14)), (18, range(9, 19))):
        assert at(OLDER, data, t, t0=0) == values(*window)
        assert at(YOUNGER, data, t, t0=5) == values(*window)


def test_before_its_first_evaluation_the_younger_query_shows_nothing() -> None:
    """[000 Ex7] At 8 s the older query has its window j = 1, [5, 8]."""
    data = {"S": every_second(22)}
    assert at(OLDER, data, 12, t0=0) == values(5, 6, 7, 8)
    assert at(YOUNGER, data, 12, t0=5) == []


def test_unsynchronised_queries_have_different_windows() -> None:
    """[000 P4] t1 = t0 + 4 s: K = 9/5 is no integer; the younger one is evaluated at 12 and 17 s."""
    data = {"S": every_second(22)}
    assert at(OLDER, data, 17, t0=0) == values(*range(7, 14))
    assert at(YOUNGER, data, 17, t0=4) == values(*range(8, 18))


def test_a_sliding_window_is_transposed_by_a_multiple_of_its_rate_as_it_is() -> None:
    """[000 C2] [5is, 5is+2s, 5s] from t0 = 0 and from t1 = 10."""
    window, data = S[general(("5 s", "0 s"), ("5 s", "2 s"), "5 s")], {"S": every_second(20)}
    for t, expected in ((12, (10, 11, 12)), (16, (10, 11, 12)), (17, (15, 16, 17))):
        assert at(window, data, t, t0=0) == at(window, data, t, t0=10) == values(*expected)


def test_a_sliding_window_is_not_transposed_by_another_interval() -> None:
    """[000 C2] t1 − t0 = 3 s is no multiple of 5 s: [13, 15] instead of [10, 12] at 16 s."""
    window, data = S[general(("5 s", "0 s"), ("5 s", "2 s"), "5 s")], {"S": every_second(20)}
    assert at(window, data, 16, t0=0) == values(10, 11, 12)
    assert at(window, data, 16, t0=3) == values(13, 14, 15)


def test_range_slide_grows_until_it_covers_its_range() -> None:
    """[000 §6.1.1] RANGE 4 SLIDE 2: β(0) = t0, then the range is under x while i < x/y."""
    window, data = S[range_("4 s", slide="2 s")], {"S": every_second(17, first=8)}
    assert at(window, data, 11, t0=10) == values(10)
    assert at(window, data, 12, t0=10) == values(10, 11, 12)
    assert at(window, data, 15, t0=10) == values(10, 11, 12, 13, 14)
    assert at(window, data, 16, t0=10) == values(12, 13, 14, 15, 16)


def test_without_an_initial_phase_the_relation_is_empty_until_the_range_is_covered() -> None:
    """[000 §6.1.1] β(i) = 2i + 4, α(i) = 2i: first at t0 + 4, then as with max."""
    window, data = S[general(("2 s", "0 s"), ("2 s", "4 s"), "2 s")], {"S": every_second(17, first=8)}
    assert at(window, data, 13, t0=10) == []
    assert at(window, data, 15, t0=10) == values(10, 11, 12, 13, 14)
    assert at(window, data, 16, t0=10) == values(12, 13, 14, 15, 16)


def test_a_delay_moves_the_evaluations_and_not_the_scope() -> None:
    """[000 §6.1.1] γ'(t, i) = γ(t − δ, i) with δ = 1 s: the window of 12 shows from 13 on."""
    window, data = S[range_("4 s", slide="2 s").delayed("1 s")], {"S": every_second(17)}
    assert at(window, data, 10, t0=10) == []
    assert at(window, data, 11, t0=10) == values(10)
    assert at(window, data, 12, t0=10) == values(10)
    assert at(window, data, 13, t0=10) == values(10, 11, 12)


def test_a_delay_keeps_the_batches_of_the_evaluation_apart() -> None:
    """[000 §6.1.1] Each evaluation (t, i) moves to (t + δ, i) (SEMANTICS §2)."""
    window = L[range_("4 s", slide="2 s").delayed("1 s")]
    data = {"S": given((10, 0, ("a",)), (10, 1, ("b",)), (15, 0, ("c",)))}
    assert at(window, data, 11, 0, t0=10) == [("a",)]
    assert at(window, data, 11, 1, t0=10) == [("a",), ("b",)]


def test_range_alone_changes_when_a_tuple_comes_and_when_it_quits() -> None:
    """[000 §6.1.2] In from its batch until t + 2 s inclusive, out a chronon later."""
    assert answer(L[range_("2 s")], {"S": single(("a", 1), ("b", 2))}, until=5) == [
        ("+", 1, 0, "a"),
        ("+", 2, 0, "b"),
        ("-", "3.000001", 0, "a"),
        ("-", "4.000001", 0, "b"),
    ]


def test_range_alone_takes_each_batch_as_it_arrives() -> None:
    """[000 §6.1.2] b enters with its batch (1, 1)."""
    assert answer(L[range_("2 s")], {"S": given((1, 0, ("a",)), (1, 1, ("b",)))}) == [
        ("+", 1, 0, "a"),
        ("+", 1, 1, "b"),
    ]


def test_rows_are_the_last_tuples_at_every_tuple() -> None:
    """[000 §6.1.2] ROW descriptions are RANGE in the positional domain; fewer tuples are all there are."""
    data = {"S": every_second(5)}
    assert at(S[rows(3)], data, 1) == values(0, 1)
    assert at(S[rows(3)], data, 4) == values(2, 3, 4)


def test_linear_bounds_advance_each_by_its_own_quantity() -> None:
    """[000 §6.1.3] (start 1, end 3, rate 4, start_adv 2, end_adv 4): [1, 3], [3, 7], [5, 11]."""
    window, data = S[general(("2 s", "1 s"), ("4 s", "3 s"), "4 s")], {"S": every_second(12)}
    assert at(window, data, 2) == []
    assert at(window, data, 6) == values(1, 2, 3)
    assert at(window, data, 7) == values(3, 4, 5, 6, 7)
    assert at(window, data, 12) == values(5, 6, 7, 8, 9, 10, 11)


def test_the_end_may_advance_more_slowly_than_the_rate() -> None:
    """[000 §6.1.3] (0, 1, 2, 1, 1): evaluated at 1, 3, 5 s with [0, 1], [1, 2], [2, 3]."""
    window, data = S[general(("1 s", "0 s"), ("1 s", "1 s"), "2 s")], {"S": every_second(6)}
    assert [at(window, data, t) for t in (1, 3, 5)] == [values(0, 1), values(1, 2), values(2, 3)]


def test_linear_bounds_may_count_tuples() -> None:
    """[000 §6.1.3] (start 0, end 1, rate 3, start_adv 3, end_adv 3): the first two of every three."""
    window, data = S[general((3, 0), (3, 1), 3)], {"S": every_second(7)}
    assert [at(window, data, t) for t in (0, 1, 3, 4, 6, 7)] == [
        [],
        values(0, 1),
        values(0, 1),
        values(3, 4),
        values(3, 4),
        values(6, 7),
    ]


DOUBLING = for_loop(
    sec(2),
    lambda t: t <= sec(10),
    lambda t: Instant(2 * t),
    lambda t: t - sec(1),
    lambda t: t,
)
"""for (t = 2; t <= 10; t = 2t) WindowIs(S, t − 1, t): evaluated at 2, 4 and 8 s."""


def test_a_for_loop_is_evaluated_at_each_of_its_values() -> None:
    """[000 §6.1.4] u = 2, 4, 8."""
    data = {"S": every_second(20)}
    assert at(S[DOUBLING], data, 1) == []
    assert at(S[DOUBLING], data, 3) == values(1, 2)
    assert at(S[DOUBLING], data, 4) == values(3, 4)
    assert at(S[DOUBLING], data, 8) == values(7, 8)


def test_after_the_end_of_a_for_loop_its_last_window_stays() -> None:
    """[000 §6.1.4] 16 does not satisfy the condition, so that it is no evaluation (SEMANTICS §2)."""
    assert at(S[DOUBLING], {"S": every_second(20)}, 20) == values(7, 8)


def test_the_values_of_a_for_loop_are_absolute_instants() -> None:
    """[000 §6.1.4] A query from t0 = 3 sees 4 and 8 s, not t0 + 2, and only its own tuples."""
    data = {"S": every_second(20)}
    assert at(S[DOUBLING], data, 5, t0=3) == values(3, 4)
    assert at(S[DOUBLING], data, 5, t0=4) == values(4)


def test_the_last_three_tuples_every_two_seconds_are_three() -> None:
    """[000 §6.1.5] The printed lower bound would give four ▲ (SEMANTICS §2)."""
    data = {"S": single((0, 0), (1, "0.5"), (2, 1), (3, "1.5"), (4, 2), (5, 3), (6, 4))}
    window = S[rows(3, slide="2 s")]
    assert at(window, data, 1) == values(0)
    assert at(window, data, 2) == values(2, 3, 4)
    assert at(window, data, 3) == values(2, 3, 4)
    assert at(window, data, 4) == values(4, 5, 6)


def test_the_last_tuples_of_a_silent_stream_stay() -> None:
    """[000 §6.1.5] The rate is temporal but the bounds are positions: τ⁻¹ does not grow in silence."""
    window = S[rows(2, slide="2 s")]
    assert answer(window, {"S": single((7, 1), (8, 3))}, until=20) == [("+", 2, 0, 7), ("+", 4, 0, 8)]


def test_a_delay_of_rows_shows_the_window_of_an_earlier_row() -> None:
    """[000 §6.1.1] The delay is in the schedule's measure (SEMANTICS §2): one tuple later."""
    window, data = S[rows(2).delayed(1)], {"S": every_second(4)}
    assert [at(window, data, t) for t in (0, 1, 2, 4)] == [[], values(0), values(0, 1), values(2, 3)]


def test_a_delayed_range_alone_comes_and_quits_later() -> None:
    """[000 §6.1.1] [000 §6.1.2] RANGE 2 s with δ = 1 s: in at 2 s, out a chronon after 4 s."""
    assert answer(L[range_("2 s").delayed("1 s")], {"S": single(("a", 1))}, until=6) == [
        ("+", 2, 0, "a"),
        ("-", "4.000001", 0, "a"),
    ]
