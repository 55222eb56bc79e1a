"""TUMBLE and HOP are aligned on the epoch whatever the query's start, and half-open, as in other systems."""

from __future__ import annotations

from astralq import hop, stream, tumble
from tests.support import answer, single

S = stream("S", "v INT")
DATA = {"S": single((14, 14), (19, 19), (20, 20), (21, 21), (35, 35))}


def test_a_tumbling_window_begins_on_round_times_also_for_a_query_that_starts_between() -> None:
    """[10, 20) is evaluated at 20, [20, 30) at 30: the tuple at 20 is in the second one."""
    assert answer(S[tumble("10 s")].rstream(), DATA, t0=13) == [
        (20, 0, 14),
        (20, 0, 19),
        (30, 0, 20),
        (30, 0, 21),
    ]


def test_an_offset_moves_all_windows_later() -> None:
    """[9, 19) is evaluated at 19, [19, 29) at 29: the tuple at 19 is in the second one."""
    assert answer(S[tumble("10 s", "9 s")].rstream(), DATA, t0=13) == [
        (19, 0, 14),
        (29, 0, 19),
        (29, 0, 20),
        (29, 0, 21),
    ]
    assert tumble("10 s", "19 s") == tumble("10 s", "-1 s") == tumble("10 s", "9 s")


def test_a_hopping_window_is_evaluated_at_each_hop_and_size() -> None:
    """HOP 10 EVERY 5: [5, 15) at 15, [10, 20) at 20, [15, 25) at 25, [20, 30) at 30, [25, 35) at 35."""
    assert answer(S[hop("10 s", "5 s")].aggregate("count(*) AS n").rstream(), DATA, t0=13) == [
        (13, 0, 0),
        (15, 0, 1),
        (20, 0, 2),
        (25, 0, 3),
        (30, 0, 2),
        (35, 0, 0),
    ]
