"""Paper 001, section 6.3 and appendix B: queries that start at different times share windows."""

from __future__ import annotations

from astralq.algebra import general, landmark, stream, unbounded
from astralq.model import Stream
from tests.support import answer, at, batch, sec, single

S = stream("S", "v INT")


def every_second(last: int) -> Stream:
    return single(*((n, n) for n in range(last + 1)))


def values(*wanted: int) -> list[tuple[int]]:
    return [(v,) for v in wanted]


DATA = {"S": every_second(24)}
Q1 = S[general(("2 s", "3 s"), ("5 s", "3 s"), "5 s")]
Q2 = S[general(("2 s", "2 s"), ("5 s", "8 s"), "5 s")]
SINCE_T1 = "_t >= TIMESTAMP '1970-01-01 00:00:05'"


def test_the_first_window_of_the_younger_query_is_the_third_of_the_older_one() -> None:
    """[001 Ex15] n = 1, K = 2: α(2) = 7 = α'(0), β(2) = 13 = β'(0)."""
    assert at(Q1.where(SINCE_T1), DATA, 13, t0=0) == values(7, 8, 9, 10, 11, 12, 13)
    assert at(Q2, DATA, 13, t0=5) == values(7, 8, 9, 10, 11, 12, 13)


def test_from_then_on_the_two_queries_are_equivalent() -> None:
    """[001 Ex15] [001 P9] [9, 18], then [11, 23], each held until the next evaluation."""
    for t, window in ((17, range(7, 14)), (18, range(9, 19)), (22, range(9, 19)), (23, range(11, 24))):
        assert at(Q1.where(SINCE_T1), DATA, t, t0=0) == values(*window)
        assert at(Q2, DATA, t, t0=5) == values(*window)


def test_before_then_only_the_older_query_shows_tuples() -> None:
    """[001 Ex15] Its window j = 1, [5, 8], from 8 to 13 s (SEMANTICS §4)."""
    assert at(Q1.where(SINCE_T1), DATA, 12, t0=0) == values(5, 6, 7, 8)
    assert at(Q2, DATA, 12, t0=5) == []


def test_a_query_with_its_own_start_is_the_same_inside_another_query() -> None:
    """[001 Ex15] (Q2, t1) within a query that starts at t0."""
    inner = Q2.started_at(sec(5))
    assert at(inner, DATA, 12, t0=0) == []
    assert at(inner, DATA, 13, t0=0) == values(7, 8, 9, 10, 11, 12, 13)
    assert at(inner, DATA, 18, t0=0) == values(*range(9, 19))


def test_the_two_queries_emit_the_same_changes_after_the_first_evaluation() -> None:
    """[001 Ex15] I_S from 18 s on: the tuples after 13 s, then those after 18 s."""
    expected = [*((18, 0, v) for v in range(14, 19)), *((23, 0, v) for v in range(19, 24))]
    older, younger = (answer(q.istream(), DATA, t0=t0) for q, t0 in ((Q1, 0), (Q2, 5)))
    assert [r for r in older if r[0] > 13] == expected
    assert [r for r in younger if r[0] > 13] == expected


def test_with_two_periods_between_them_the_lower_bounds_do_not_match() -> None:
    """[001 Ex15] n = 2: 5 − 3n = −1 ≠ 2; at 18 s [9, 18] against [12, 18]."""
    assert at(Q1, DATA, 18, t0=0) == values(*range(9, 19))
    assert at(Q2, DATA, 18, t0=10) == values(*range(12, 19))


def test_a_sliding_window_is_transposed_by_a_multiple_of_its_rate() -> None:
    """[001 C6] [5is, 5is+2s, 5s] by 5 s."""
    window = S[general(("5 s", "0 s"), ("5 s", "2 s"), "5 s")]
    for t, expected in ((7, (5, 6, 7)), (11, (5, 6, 7)), (12, (10, 11, 12))):
        assert at(window, DATA, t, t0=0) == at(window, DATA, t, t0=5) == values(*expected)


def test_a_landmark_window_is_transposed_but_for_the_tuples_before_the_start() -> None:
    """[001 C6] Case a = 0: [0, 2i, 2s] from t0 = 0 and t1 = 4, both without what came before 4 s."""
    since_4 = S[general(("0 s", "0 s"), ("2 s", "0 s"), "2 s")].where("_t >= TIMESTAMP '1970-01-01 00:00:04'")
    younger = S[general(("0 s", "0 s"), ("2 s", "0 s"), "2 s")]
    for t, expected in ((4, (4,)), (7, (4, 5, 6)), (8, (4, 5, 6, 7, 8))):
        assert at(since_4, DATA, t, t0=0) == at(younger, DATA, t, t0=4) == values(*expected)


def test_an_absolute_landmark_does_not_move_with_the_start() -> None:
    """[001 C6] LANDMARK 4 s holds what the query has seen since."""
    assert at(S[landmark(sec(4), "2 s")], DATA, 6, t0=0) == values(4, 5, 6)
    assert at(S[landmark(sec(4), "2 s")], DATA, 6, t0=5) == values(5, 6)


PAIRS = S[general((2, 0), (2, 1), 2)]


def test_the_slide_is_the_number_of_tuples_before_the_younger_start() -> None:
    """[001 P11] τ_(S,t1)(n) = τ_(S,t0)(n + D) with D = 3 for t1 = 3 s."""
    older, younger = every_second(6), Stream.of((s.batch, s.values) for s in every_second(6).tuples if s.t >= sec(3))
    assert [younger.tau(n, sec(3)) for n in range(4)] == [older.tau(n + 3, sec(0)) for n in range(4)]
    assert younger.tau_inverse(batch(5)) == 2
    assert older.tau_inverse(batch(5)) == 5


def test_a_positional_window_is_transposed_when_the_slide_is_a_multiple_of_its_rate() -> None:
    """[001 C6] [001 P10] t1 = 2 s: D = 2, K = 1."""
    for t, expected in ((3, (2, 3)), (4, (2, 3)), (5, (4, 5))):
        assert at(PAIRS, DATA, t, t0=0) == at(PAIRS, DATA, t, t0=2) == values(*expected)


def test_a_positional_window_is_not_transposed_otherwise() -> None:
    """[001 C6] t1 = 3 s: D = 3."""
    assert at(PAIRS, DATA, 4, t0=0) == values(2, 3)
    assert at(PAIRS, DATA, 4, t0=3) == values(3, 4)


def test_everything_so_far_is_what_the_query_itself_has_seen() -> None:
    """[001 C6] [∞] of the younger query is σ_{t ≥ t1} of the older one's."""
    assert at(S[unbounded()].where(SINCE_T1), DATA, 7, t0=0) == values(5, 6, 7)
    assert at(S[unbounded()], DATA, 7, t0=5) == values(5, 6, 7)
