"""Windows in a picture: which bars there are, what they span, and which tuples are held at the end."""

from __future__ import annotations

from typing import Any

from astralq import (
    from_to,
    general,
    now,
    range_,
    rows,
    stream,
    tumble,
    unbounded,
)
from astralq.draw.scene import BarLane
from tests.draw.support import bars, held, panel, scene
from tests.support import given, single

S = stream("S", "v INT, ts INT")


def numbered(*times: int) -> dict[str, Any]:
    """A stream with the tuple (k, t) at each t, k = 1, 2, …"""
    return {"S": single(*((k, t, t) for k, t in enumerate(times, start=1)))}


def test_figure_4_of_paper_001_is_a_flight_of_stairs() -> None:
    """001 example 8, PERIOD 3s SLIDE 2s: windows [0, 3], [2, 5], [4, 7], evaluated at 3, 5 and 7."""
    shown = panel(S[general(("2 s", "0 s"), ("2 s", "3 s"), "2 s")], numbered(0, 1, 2, 3, 4, 5, 6, 7))
    assert bars(shown) == [(3, 0, 3, 5, 4), (5, 2, 5, 7, 4), (7, 4, 7, None, 4)]


def test_a_window_on_time_spans_its_scope_also_where_no_tuple_is() -> None:
    shown = panel(S[range_("4 s", slide="4 s")], numbered(1, 5, 9))
    assert bars(shown) == [(4, 0, 4, 8, 1), (8, 4, 8, None, 1)]


def test_a_window_by_rows_spans_from_its_oldest_to_its_newest_tuple() -> None:
    shown = panel(S[rows(2, slide="5 s")], numbered(1, 2, 4, 9, 10))
    assert bars(shown) == [(5, 2, 4, 10, 2), (10, 9, 10, None, 2)]


def test_half_open_windows_end_a_chronon_before_the_next() -> None:
    shown = panel(S[tumble("10 s")], numbered(5, 10, 20))
    assert bars(shown) == [(10, 0, "9.999999", 20, 1), (20, 10, "19.999999", None, 1)]


def test_an_evaluation_that_holds_nothing_has_a_mark_and_no_bar() -> None:
    assert bars(panel(S[rows(2, slide="5 s")], numbered(5), t0=0)) == [(0, None, None, 5, 0), (5, 5, 5, None, 1)]


def test_a_delay_moves_the_mark_and_not_the_bar() -> None:
    shown = panel(S[range_("4 s", slide="4 s").delayed("1 s")], numbered(2, 6))
    assert bars(shown) == [(5, 0, 4, None, 1)]


def test_a_window_over_no_time_shows_only_where_it_holds_something() -> None:
    assert bars(panel(S[now()], numbered(1, 3))) == [(1, 1, 1, "1.000001", 1), (3, 3, 3, None, 1)]


def test_a_window_without_a_slide_is_evaluated_at_entries_and_exits() -> None:
    """A tuple is in until t + 2 s inclusive, so that it goes a chronon later."""
    assert bars(panel(S[range_("2 s")], numbered(1, 5))) == [
        (1, -1, 1, "3.000001", 1),
        ("3.000001", "1.000001", "3.000001", 5, 0),
        (5, 3, 5, None, 1),
    ]


def test_of_several_batches_at_an_evaluation_the_last_state_is_shown() -> None:
    data = {"S": given((4, 0, (1, 4)), (4, 1, (2, 4)))}
    assert bars(panel(S[range_("4 s", slide="4 s")], data)) == [(4, 0, 4, None, 2)]


def test_tuples_are_held_no_longer_held_or_in_no_window_so_far() -> None:
    """At 9 the last evaluation is that at 8, which holds [4, 8]."""
    shown = panel(S[range_("4 s", slide="4 s")], numbered(1, 4, 5, 9))
    assert held(shown) == [("1, 1", "BEFORE"), ("2, 4", "NOW"), ("3, 5", "NOW"), ("4, 9", "NEVER")]


def test_what_is_held_depends_on_the_end_of_the_picture() -> None:
    data = numbered(1, 2, 3)
    assert held(panel(S[rows(1)], data, until=2)) == [("1, 1", "BEFORE"), ("2, 2", "NOW")]


def test_a_batch_larger_than_a_window_leaves_its_first_tuples_out() -> None:
    data = {"S": given((1, 0, (1, 1)), (1, 0, (2, 1)), (1, 0, (3, 1)))}
    assert held(panel(S[rows(2)], data)) == [("1, 1", "NEVER"), ("2, 1", "NOW"), ("3, 1", "NOW")]


def test_each_part_of_a_partitioned_window_has_bars_of_its_own() -> None:
    data = {"S": single((1, 7, 1), (2, 8, 2), (1, 9, 3))}
    shown = panel(S[rows(1).by("v")], data)
    assert [n.part for n in shown.lanes if isinstance(n, BarLane)] == ["v = 1", "v = 2"]
    assert bars(shown, 1) == [(1, 1, 1, 3, 1), (3, 3, 3, None, 1)]
    assert bars(shown, 2) == [(2, 2, 2, None, 1)]
    assert held(shown) == [("1, 7", "BEFORE"), ("2, 8", "NOW"), ("1, 9", "NOW")]


def test_windows_of_sneeql_are_bars_too() -> None:
    """003 §6.2: at every tick the tuples of the last two seconds."""
    shown = panel(S.windows("2 s", "0 s", "2 s").rstream(), numbered(1, 2, 4))
    assert bars(shown) == [(2, 0, 2, 4, 2), (4, 2, 4, None, 2)]
    assert held(shown) == [("1, 1", "BEFORE"), ("2, 2", "NOW"), ("3, 4", "NOW")]


def test_row_windows_of_sneeql_span_the_rows_that_they_hold() -> None:
    shown = panel(S.windows(1, 0, 2).rstream(), numbered(1, 2, 4, 7))
    assert bars(shown) == [(2, 1, 2, 7, 2), (7, 4, 7, None, 2)]


def test_a_scope_that_ends_before_now_ends_before_its_mark() -> None:
    assert bars(panel(S[from_to("4 s", "2 s", slide="4 s")], numbered(1, 4))) == [(4, 0, 2, None, 1)]


def test_all_that_has_come_grows_from_the_first_tuple() -> None:
    assert bars(panel(S[unbounded()], numbered(1, 3))) == [(1, 1, 1, 3, 1), (3, 1, 3, None, 2)]


def test_a_window_over_a_derived_stream_shows_that_stream() -> None:
    shown = panel(S.where("v > 1")[rows(1)], numbered(1, 2, 3))
    assert shown.lanes[0].name == "SELECT v > 1 ← S"
    assert held(shown) == [("2, 2", "BEFORE"), ("3, 3", "NOW")]


def test_several_queries_have_one_time_axis() -> None:
    """001 figure 5: a younger query beside an older one: the axis goes from the first start to the last end."""
    other = stream("T", "v INT, ts INT")
    data = {**numbered(2, 9), "T": single((1, 5, 5), (2, 12, 12))}
    shown = scene(S[rows(1)], other[rows(1)], data=data)
    assert (shown.start, shown.end) == (2_000_000, 12_000_000)
    assert [p.title for p in shown.panels] == ["1   SELECT * FROM S [ROWS 1]", "2   SELECT * FROM T [ROWS 1]"]
