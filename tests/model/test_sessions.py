"""Sessions: maximal runs of tuples each less than a gap after the one before, with answers worked out by hand."""

from __future__ import annotations

from astralq import session, stream
from astralq.model import Data
from tests.support import answer, given, sec, single

S = stream("S", "k STRING")
VISITS: Data = {
    "S": single(("a", 10), ("b", 12), ("a", 14), ("a", 19), ("b", 30), ("a", 32), ("a", 50)),
}


def test_a_session_is_shown_when_it_is_over_until_the_next_one_is() -> None:
    """Gaps of 2, 2, 5, 11, 2 and 18 seconds: with a gap of 10 there are 10 to 19, 30 to 32, and 50, which is open."""
    assert answer(S[session("10 s")], VISITS) == [
        *(("+", 29, 0, k) for k in "abaa"),
        *(("-", 42, 0, k) for k in "abaa"),
        *(("+", 42, 0, k) for k in "ba"),
    ]


def test_each_part_has_its_own_sessions() -> None:
    """With a gap of 10: a has 10 to 19, over at 29, and 32, over at 42; b has 12, over at 22, and 30, over at 40."""
    counted = S[session("10 s").by("k")].aggregate("count(*) AS n", by="k").window_bounds()
    assert answer(counted.istream(), VISITS) == [
        (22, 0, "b", 1, sec(12), sec(22)),
        (29, 0, "a", 3, sec(10), sec(29)),
        (40, 0, "b", 1, sec(30), sec(40)),
        (42, 0, "a", 1, sec(32), sec(42)),
    ]


def test_a_tuple_right_at_the_end_of_the_gap_begins_the_next_session() -> None:
    """14 to 19 are five seconds: with that gap 19 begins a session; 10, 12 and 14 are one, over at 19."""
    assert answer(S[session("5 s")].aggregate("count(*) AS n", by="1").window_bounds().istream(), VISITS) == [
        (19, 0, 1, 3, sec(10), sec(19)),
        (24, 0, 1, 1, sec(19), sec(24)),
        (37, 0, 1, 2, sec(30), sec(37)),
    ]


def test_a_delay_shows_a_session_later_and_does_not_move_it() -> None:
    found = answer(
        S[session("10 s").delayed("3 s")].aggregate("count(*) AS n", by="1").window_bounds().istream(), VISITS
    )
    assert found == [(32, 0, 1, 4, sec(10), sec(29)), (45, 0, 1, 2, sec(30), sec(42))]


def test_tuples_before_the_start_belong_to_none() -> None:
    """From 14 on: 14 and 19 are a session, which began there."""
    found = answer(S[session("10 s")].aggregate("count(*) AS n").window_bounds().istream(), VISITS, t0=14)
    assert found == [
        (14, 0, 0, None, None),
        (29, 0, 2, sec(14), sec(29)),
        (42, 0, 2, sec(30), sec(42)),
    ]


def test_an_open_session_is_not_shown() -> None:
    assert answer(S[session("10 s")], VISITS, until=28) == []
    assert [r[:2] for r in answer(S[session("10 s")], VISITS, until=29)] == [("+", 29)] * 4


def test_batches_of_one_instant_are_in_one_session_which_is_over_before_those_of_another() -> None:
    """The batch (13, 1) is three seconds after the last tuples of 10: at (13, 0) their session is over."""
    data: Data = {"S": given((10, 0, ("a",)), (10, 1, ("b",)), (13, 1, ("c",)), (20, 0, ("d",)))}
    assert answer(S[session("3 s")].istream(), data) == [(13, 0, "a"), (13, 0, "b"), (16, 0, "c")]


def test_a_session_of_which_a_condition_leaves_nothing_is_there_all_the_same() -> None:
    """The session of 30 has a tuple of b, that of 10 has one; nobody is c."""
    counted = S[session("10 s")].where("k = 'c'").aggregate("count(*) AS n").window_bounds()
    assert answer(counted.istream(), VISITS) == [
        (10, 0, 0, None, None),
        (29, 0, 0, sec(10), sec(29)),
        (42, 0, 0, sec(30), sec(42)),
    ]


def test_groups_within_a_session_have_its_bounds() -> None:
    """a came at 10, 14 and 19, b at 12 only: both were in the session from 10 to 29."""
    counted = S[session("10 s")].aggregate("count(*) AS n", by="k").window_bounds()
    assert answer(counted.istream(), VISITS)[:2] == [
        (29, 0, "a", 3, sec(10), sec(29)),
        (29, 0, "b", 1, sec(10), sec(29)),
    ]


def test_the_state_is_told_at_each_end_of_a_session() -> None:
    counted = S[session("10 s").by("k")].aggregate("count(*) AS n")
    assert answer(counted.rstream(on_evaluation=True), VISITS) == [(22, 0, 1), (29, 0, 4), (40, 0, 4), (42, 0, 2)]
