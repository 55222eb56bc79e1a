"""docs/language.md, Dialects: what cql and sneeql change."""

from __future__ import annotations

from astralq.errors import AstralError
from astralq.model import Data
from tests.language.support import DECLARED, bound, error, said
from tests.support import answer, given, sec, single

HALVES: Data = {"s": given(("0.5", 0, (1,)), ("0.7", 0, (2,)), ("0.7", 1, (1,)), ("2.2", 0, (3,)), ("4.0", 0, (3,)))}
"""Two instants and three batches in tick 0; then one tuple each in ticks 2 and 4."""


# cql


def test_batches_of_one_tick_count_together_and_print_as_its_beginning() -> None:
    assert said("SELECT v FROM s", HALVES, "cql") == [
        ("+", 0, 0, 1), ("+", 0, 0, 2), ("+", 0, 0, 1), ("+", 2, 0, 3), ("+", 4, 0, 3),
    ]  # fmt: skip


def test_a_bare_stream_is_unbounded() -> None:
    assert bound("SELECT v FROM s", "cql") == bound("SELECT v FROM s [UNBOUNDED]", "cql")
    assert said("SELECT count(*) AS n FROM s", HALVES, "cql") == [
        ("+", 0, 0, 3), ("-", 2, 0, 3), ("+", 2, 0, 4), ("-", 4, 0, 4), ("+", 4, 0, 5),
    ]  # fmt: skip


def test_range_holds_the_last_ticks_without_its_beginning() -> None:
    """(t − 2, t] are two ticks."""
    assert said("SELECT v FROM s [RANGE 2 SECONDS]", HALVES, "cql", until=6) == [
        ("+", 0, 0, 1), ("+", 0, 0, 2), ("+", 0, 0, 1),
        ("-", 2, 0, 1), ("-", 2, 0, 2), ("-", 2, 0, 1), ("+", 2, 0, 3),
        ("-", 4, 0, 3), ("+", 4, 0, 3),
        ("-", 6, 0, 3),
    ]  # fmt: skip


def test_now_holds_the_tuples_of_the_tick() -> None:
    assert said("SELECT v FROM s [NOW]", HALVES, "cql") == [
        ("+", 0, 0, 1), ("+", 0, 0, 2), ("+", 0, 0, 1),
        ("-", 1, 0, 1), ("-", 1, 0, 2), ("-", 1, 0, 1),
        ("+", 2, 0, 3), ("-", 3, 0, 3), ("+", 4, 0, 3),
    ]  # fmt: skip


def test_istream_and_dstream_are_bag_differences_by_value() -> None:
    """The 3 of tick 4 takes the place of the 3 of tick 2 in RANGE 2 SECONDS."""
    assert said("ISTREAM(SELECT v FROM s [ROWS 1])", HALVES, "cql") == [(0, 0, 1), (2, 0, 3)]
    assert said("ISTREAM(SELECT v FROM s [RANGE 3 SECONDS])", HALVES, "cql") == [
        (0, 0, 1), (0, 0, 2), (0, 0, 1), (2, 0, 3), (4, 0, 3),
    ]  # fmt: skip
    twice = {"s": single((7, 1), (7, 2))}
    assert said("ISTREAM(SELECT v FROM s [NOW])", twice, "cql", until=3) == [(1, 0, 7)]
    assert said("DSTREAM(SELECT v FROM s [NOW])", twice, "cql", until=3) == [(3, 0, 7)]
    assert said("ISTREAM(SELECT v FROM s [NOW])", twice, until=3) == [(1, 0, 7), (2, 0, 7)]


def test_rstream_gives_the_state_at_every_tick() -> None:
    data: Data = {"s": single((7, 1), (8, 4))}
    assert said("RSTREAM(SELECT v FROM s)", data, "cql") == [
        (1, 0, 7), (2, 0, 7), (3, 0, 7), (4, 0, 7), (4, 0, 8),
    ]  # fmt: skip
    assert said("SELECT RSTREAM(v) FROM s [NOW]", data, "cql") == [(1, 0, 7), (4, 0, 8)]


def test_a_global_aggregate_of_nothing_has_no_row() -> None:
    data: Data = {"s": single((7, 1), (8, 4))}
    assert said("RSTREAM(SELECT count(*) AS n FROM s [NOW])", data, "cql") == [(1, 0, 1), (4, 0, 1)]
    assert said("RSTREAM(SELECT sum(v) AS n FROM s WHERE v > 9)", data, "cql") == []


def test_a_range_that_is_no_multiple_of_the_tick_is_open_at_its_beginning_too() -> None:
    """(t − 1.5, t] has the ticks t − 1 and t."""
    assert said("SELECT v FROM s [RANGE 1500 MILLISECONDS]", {"s": single((7, 1))}, "cql", until=4) == [
        ("+", 1, 0, 7),
        ("-", 3, 0, 7),
    ]


def test_the_tick_can_be_set() -> None:
    text = f"SET TICK 1 MINUTE; {DECLARED}"
    query = bound("RSTREAM(SELECT count(*) AS n FROM s [RANGE 1 MINUTE])", "cql", text)
    assert answer(query, {"s": single((1, 5), (2, 59), (3, 60), (4, 185))}) == [(0, 0, 2), (60, 0, 1), (180, 0, 1)]


def test_the_tick_can_be_set_after_the_declarations() -> None:
    text = "SET TICK 1 MINUTE; RSTREAM(SELECT count(*) AS n FROM s [RANGE 1 MINUTE])"
    assert said(text, {"s": single((1, 5), (2, 59), (3, 60), (4, 185))}, "cql") == [(0, 0, 2), (60, 0, 1), (180, 0, 1)]


def test_relations_go_by_in_ticks_too() -> None:
    log = [("+", sec("1.2"), 1, "a"), ("+", sec("1.8"), 2, "b"), ("-", sec("1.9"), 1, "a")]
    assert said("SELECT id FROM log", {"log": log}, "cql") == [("+", 1, 0, 2)]


def test_i_is_0_in_every_answer() -> None:
    data: Data = {"s": given((1, 3, (7,)), (1, 5, (8,)))}
    assert said("ISTREAM(SELECT v FROM s)", data, "cql") == [(1, 0, 7), (1, 0, 8)]


def test_ticks_belong_to_cql() -> None:
    assert "ticks belong to the cql dialect" in error("SET TICK 1 SECOND;")


# sneeql


def test_rstream_emits_at_every_evaluation() -> None:
    data: Data = {"s": single((7, 1))}
    text = "RSTREAM(SELECT v FROM s [FROM NOW-4 TO NOW SLIDE 2 SEC])"
    assert said(text, data, "sneeql", t0=0, until=6) == [(2, 0, 7), (4, 0, 7)]
    assert said(text, data, t0=0, until=6) == [(2, 0, 7)]


def test_a_tick_may_have_several_windows_which_i_numbers() -> None:
    data: Data = {"s": single((1, 7), (2, 7), (3, 7), (4, 7), (5, 9))}
    text = "RSTREAM(SELECT v FROM s [FROM NOW-1 TO NOW SLIDE 2 ROWS])"
    assert said(text, data, "sneeql") == [(7, 0, 1), (7, 0, 2), (7, 1, 3), (7, 1, 4)]


def test_the_first_row_window_comes_after_slide_rows() -> None:
    data: Data = {"s": single(*((k, k) for k in range(1, 6)))}
    text = "RSTREAM(SELECT count(*) AS n FROM s [FROM NOW-9 TO NOW SLIDE 2 ROWS])"
    assert said(text, data, "sneeql") == [(2, 0, 2), (4, 0, 4)]


def test_istream_and_dstream_compare_windows_by_value() -> None:
    data: Data = {"s": single((7, 1), (7, 2), (8, 3))}
    assert said("ISTREAM(SELECT v FROM s [FROM NOW TO NOW SLIDE 1 ROW])", data, "sneeql") == [(1, 0, 7), (3, 0, 8)]
    assert said("DSTREAM(SELECT v FROM s [FROM NOW TO NOW SLIDE 1 ROW])", data, "sneeql") == [(3, 0, 7)]


def test_scopes_are_closed_at_both_ends() -> None:
    data: Data = {"s": single(*((k, k) for k in range(1, 6)))}
    text = "RSTREAM(SELECT v FROM s [FROM NOW-3 TO NOW-1 SLIDE 5 SEC])"
    assert said(text, data, "sneeql", t0=0) == [(5, 0, 2), (5, 0, 3), (5, 0, 4)]


def test_scans_and_windows_are_paired_at_the_ticks_of_either() -> None:
    data: Data = {"s": single((7, 2)), "r": [(1, "a")]}
    text = "RSTREAM(SELECT v, name FROM s [FROM NOW TO NOW SLIDE 1 ROW], r [SCAN 2 SEC])"
    assert said(text, data, "sneeql", t0=0, until=4) == [(2, 0, 7, "a"), (4, 0, 7, "a")]


def test_stream_queries_stay_streams() -> None:
    assert said("SELECT v FROM s WHERE v > 1", {"s": single((1, 1), (2, 2))}, "sneeql") == [(2, 0, 2)]


def test_outer_joins_of_windows_are_done_or_refused_but_not_made_inner_joins() -> None:
    data: Data = {"k": single((1, 10, 1), (5, 20, 2)), "w": single((1, "x", 1))}
    text = """RSTREAM(SELECT k.v, w.z FROM k [FROM NOW TO NOW SLIDE 1 ROW]
      LEFT JOIN w [FROM NOW TO NOW SLIDE 1 ROW] ON k.id = w.id)"""
    try:
        found = said(text, data, "sneeql")
    except AstralError:
        return
    assert found == [(1, 0, 10, "x"), (2, 0, 20, None)]


def test_spread_is_refused_in_cql() -> None:
    text = "CREATE STREAM z (v INT, ts TIMESTAMP) FROM csv 'z.csv' TIMESTAMP BY ts; SELECT * FROM SPREAD(z);"
    assert "CQL has no SPREAD" in error(text, "cql")


def test_a_subquery_in_cql_is_that_of_the_tick() -> None:
    """At 2 s the mean of (-3, 2] is 3; at 6 s that of (1, 6] is 5; at 9 s 3 is alone in (4, 9], and new."""
    text = "SELECT v FROM s WHERE v > (SELECT avg(v) FROM s [RANGE 5 SECONDS]) OR v IN (SELECT v FROM s [NOW])"
    assert said(text, {"s": single((1, 1), (5, 2), (3, 9))}, "cql") == [
        ("+", 1, 0, 1),
        ("-", 2, 0, 1),
        ("+", 2, 0, 5),
        ("-", 6, 0, 5),
        ("+", 9, 0, 5),
        ("+", 9, 0, 3),
    ]
