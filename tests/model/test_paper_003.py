"""Paper 003, SNEEql: each function of its Haskell text, and its three queries on data small enough to follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from astralq.algebra.extents import relation, sensed, stream
from astralq.algebra.windows import unbounded
from astralq.model import Data
from astralq.timeline import Instant
from tests.support import answer, given, sec, single

ROAD = "site INT, time TIMESTAMP, temp INT, vibration INT"
V = stream("S", "v INT")
LETTERS = stream("S", "v STRING")
LEFT = stream("L", "a STRING")
RIGHT = stream("M", "b STRING")
LOG = relation("R", "op STRING, ts TIMESTAMP, v STRING", change="op", at="ts")


def sensor(readings: Mapping[tuple[int, int], Sequence[Any]]) -> Callable[[Any, Instant], Sequence[Any]]:
    """What the sites measure, by (site, second)."""
    return lambda site, t: readings[site, t // 1_000_000]


# Queries


def test_q1_gives_the_strong_vibrations_of_cold_roads() -> None:
    """[003 Q1] temp < 50 as in §4, not > 50 as in §5; both limits are strict."""
    road = sensed("road", ROAD, every="1 min", sites=(1, 2, 3, 4))
    q1 = road.where("temp < 50 AND vibration > 20").select("time, site, vibration")
    readings = {
        (1, 0): (40, 25),
        (2, 0): (50, 30),
        (3, 0): (49, 20),
        (4, 0): (49, 21),
        (1, 60): (60, 30),
        (2, 60): (10, 22),
        (3, 60): (20, 10),
        (4, 60): (45, 90),
    }
    assert answer(q1, {"road": sensor(readings)}, t0=0, until=60) == [
        (0, 0, sec(0), 1, 25),
        (0, 0, sec(0), 4, 21),
        (60, 0, sec(60), 2, 22),
        (60, 0, sec(60), 4, 90),
    ]


def test_q2_gives_the_extremes_where_and_when_a_vehicle_passed() -> None:
    """[003 Q2] Two windows at 60, one per vehicle; at 90 the road's window of 60 is still the latest."""
    road = sensed("road", ROAD, every="1 min", sites=(1, 2))
    traffic = stream("traffic", "at_site INT, at_time TIMESTAMP, weight INT, vehicle INT")
    q2 = (
        road.windows("10 min", "0 min", "1 min")
        .product(traffic.windows(10, 0, 1))
        .where("site = at_site AND time = at_time")
        .aggregate("min(temp) AS coldest, max(vibration) AS strongest")
    )
    readings = {
        (1, 0): (10, 5),
        (2, 0): (11, 6),
        (1, 60): (12, 9),
        (2, 60): (7, 8),
        (1, 120): (15, 1),
        (2, 120): (9, 30),
    }
    data: Data = {
        "road": sensor(readings),
        "traffic": given(
            (60, 0, (1, sec(60), 900, 1)),
            (60, 0, (2, sec(60), 800, 1)),
            (90, 0, (1, sec(90), 700, 2)),
            (120, 0, (2, sec(120), 600, 1)),
        ),
    }
    assert answer(q2, data, t0=0, until=120) == [
        (60, 0, [(12, 9)]),
        (60, 1, [(7, 9)]),
        (90, 0, [(7, 9)]),
        (120, 0, [(7, 30)]),
    ]


def test_q2_looks_back_on_eleven_rows() -> None:
    """[003 Q2] [003 createRowWindow] NOW-10 TO NOW by rows has both ends in it."""
    data: Data = {"S": single(*((k, k) for k in range(1, 13)))}
    assert answer(V.windows(10, 0, 1), data)[-1] == (12, 0, [(k,) for k in range(2, 13)])


def test_q3_gives_the_new_categories_of_the_sites() -> None:
    """[003 Q3] By list difference: at 300 the second (1, mild) is new, at 600 the second (2, cold) is."""
    road = sensed("road", ROAD, every="5 min", sites=(1, 2))
    classes = relation("tempClass", "op STRING, ts TIMESTAMP, class_temp INT, category STRING", change="op", at="ts")
    q3 = (
        road.windows("5 min", "0 min", "5 min")
        .product(classes.scan("10 min"))
        .where("class_temp = temp")
        .select("site, category")
        .istream()
    )
    readings = {(1, 0): (20, 0), (2, 0): (30, 0), (1, 300): (20, 0), (2, 300): (10, 0)}
    readings |= {(1, 600): (30, 0), (2, 600): (10, 0)}
    data: Data = {
        "road": sensor(readings),
        "tempClass": [
            ("+", sec(0), 10, "cold"),
            ("+", sec(0), 20, "mild"),
            ("+", sec(0), 30, "hot"),
            ("-", sec(200), 20, "mild"),  # between two scans, so it shows at 600 only
            ("+", sec(200), 20, "warm"),
        ],
    }
    assert answer(q3, data, t0=0, until=600) == [
        (0, 0, 1, "mild"),
        (0, 0, 2, "hot"),
        (300, 0, 1, "mild"),
        (300, 0, 2, "cold"),
        (600, 0, 1, "warm"),
        (600, 0, 1, "hot"),
        (600, 0, 2, "cold"),
    ]


# Tuple streams


def test_acquire_reads_every_site_at_every_tick_in_the_order_of_the_sites() -> None:
    """[003 acquire] acquireTuples walks the list of sites."""
    s = sensed("road", "site INT, time TIMESTAMP, temp INT", every="10 s", sites=(3, 1))
    readings = {(3, 0): (5,), (1, 0): (6,), (3, 10): (7,), (1, 10): (8,)}
    assert answer(s, {"road": sensor(readings)}, t0=0, until=19) == [
        (0, 0, 3, sec(0), 5),
        (0, 0, 1, sec(0), 6),
        (10, 0, 3, sec(10), 7),
        (10, 0, 1, sec(10), 8),
    ]


def test_acquire_begins_at_the_start_of_the_query() -> None:
    """[003 acquire] Its first tick is the one given to it, then one per acquisition interval."""
    s = sensed("road", "site INT, time TIMESTAMP, temp INT", every="10 s", sites=(1,))
    readings = {(1, 3): (5,), (1, 13): (6,), (1, 23): (7,)}
    assert answer(s, {"road": sensor(readings)}, t0=3, until=23) == [
        (3, 0, 1, sec(3), 5),
        (13, 0, 1, sec(13), 6),
        (23, 0, 1, sec(23), 7),
    ]


def test_acquire_numbers_its_tuples_across_ticks() -> None:
    """[003 acquire] nextIndex = index + length sites; positions count from 0 here."""
    s = sensed("road", "site INT, time TIMESTAMP, temp INT", every="10 s", sites=(1, 2))
    readings = {(1, 0): (5,), (2, 0): (6,), (1, 10): (7,), (2, 10): (8,)}
    assert answer(s.select("temp, _n AS n"), {"road": sensor(readings)}, t0=0, until=10) == [
        (0, 0, 5, 0),
        (0, 0, 6, 1),
        (10, 0, 7, 2),
        (10, 0, 8, 3),
    ]


def test_receive_takes_the_timestamp_that_a_tuple_arrives_with() -> None:
    """[003 receive] Ticks may have several tuples, or none."""
    s = stream("traffic", "site INT, time TIMESTAMP", timestamp="time")
    data: Data = {"traffic": [(1, sec(2)), (2, sec(2)), (1, sec(5))]}
    assert answer(s, data) == [(2, 0, 1, sec(2)), (2, 0, 2, sec(2)), (5, 0, 1, sec(5))]


def test_receive_stamps_on_arrival_what_has_no_timestamp() -> None:
    """[003 receive] Unless a tuple arrives timestamped, it is tagged with the tick of its arrival."""
    data: Data = {"S": [(sec(2), (7,)), (sec(5), (6,))]}
    assert answer(V.select("v, _t AS t, _n AS n"), data) == [(2, 0, 7, sec(2), 0), (5, 0, 6, sec(5), 1)]


def test_a_stream_selection_filters_each_tuple() -> None:
    """[003 StreamSelect] filter keeps tick and order."""
    assert answer(V.where("v > 1"), {"S": single((3, 1), (1, 2), (2, 3))}) == [(1, 0, 3), (3, 0, 2)]


def test_row_windows_over_a_selection_count_the_selected_rows() -> None:
    """[003 StreamSelect] [003 createRowWindow] Positions are renumbered after a selection (▲)."""
    data: Data = {"S": single((1, 1), (2, 2), (1, 3), (3, 4))}
    assert answer(V.where("v > 1").windows(1, 0, 2), data) == [(4, 0, [(2,), (3,)])]


def test_a_stream_projection_keeps_tick_and_index() -> None:
    """[003 StreamProject] projectOnTaggedTuple retains both."""
    s = stream("S", "a INT, b INT")
    data: Data = {"S": single((1, 10, 1), (2, 20, 1), (3, 30, 4))}
    assert answer(s.select("b").rename({"φ": "p"}), data) == [(1, 0, 10, 0), (1, 0, 20, 1), (4, 0, 30, 2)]


# Streams of windows: input and creation


def test_scan_gives_the_table_at_every_interval() -> None:
    """[003 scan] Also where it has not changed since the scan before."""
    data: Data = {"R": [("+", sec(0), "a"), ("+", sec(5), "b"), ("-", sec(7), "a")]}
    assert answer(LOG.scan("4 s"), data, t0=0, until=8) == [(0, 0, [("a",)]), (4, 0, [("a",)]), (8, 0, [("b",)])]


def test_scan_sees_a_change_at_its_tick() -> None:
    """[003 scan] scanTable now."""
    data: Data = {"R": [("+", sec(0), "a"), ("+", sec(4), "b")]}
    assert answer(LOG.scan("4 s"), data, t0=0, until=4) == [(0, 0, [("a",)]), (4, 0, [("a",), ("b",)])]


def test_scan_sees_all_of_its_tick() -> None:
    """[003 scan] A window at tick e sees all tuples of e (docs/decisions.md), those of its second batch too."""
    data: Data = {"S": given((2, 0, ("a",)), (2, 1, ("b",)))}
    assert answer(LETTERS[unbounded()].scan("2 s"), data, t0=0, until=2) == [(0, 0, []), (2, 0, [("a",), ("b",)])]


def test_scan_of_an_empty_table_is_an_empty_window() -> None:
    """[003 scan] A window is created all the same."""
    data: Data = {"R": [("+", sec(3), "a")]}
    assert answer(LOG.scan("4 s"), data, t0=0, until=4) == [(0, 0, []), (4, 0, [("a",)])]


def test_the_first_row_window_comes_after_slide_rows() -> None:
    """[003 createRowWindow] Its first index is the slide; a rest shorter than the slide has no window."""
    data: Data = {"S": single((1, 1), (2, 2), (3, 3), (4, 4), (5, 5))}
    assert answer(V.windows(1, 0, 2), data) == [(2, 0, [(1,), (2,)]), (4, 0, [(3,), (4,)])]


def test_a_row_window_before_enough_rows_holds_those_that_are_there() -> None:
    """[003 createRowWindow] Tuples from index + from on: none are before the first."""
    data: Data = {"S": single((1, 1), (2, 2), (3, 3))}
    assert answer(V.windows(1, 0, 1), data) == [(1, 0, [(1,)]), (2, 0, [(1,), (2,)]), (3, 0, [(2,), (3,)])]


def test_a_tick_with_many_rows_has_many_row_windows() -> None:
    """[003 createRowWindow] Each with the rows up to its own index; i numbers them."""
    data: Data = {"S": single((1, 7), (2, 7), (3, 7), (4, 7), (5, 9))}
    assert answer(V.windows(1, 0, 2), data) == [(7, 0, [(1,), (2,)]), (7, 1, [(3,), (4,)])]


def test_a_tick_with_few_rows_has_no_row_window() -> None:
    """[003 createRowWindow] There can be zero windows at a tick."""
    data: Data = {"S": single((1, 1), (2, 2), (3, 3))}
    assert answer(V.windows(2, 0, 3), data) == [(3, 0, [(1,), (2,), (3,)])]


def test_a_row_window_may_end_before_now() -> None:
    """[003 createRowWindow] FROM NOW-2 TO NOW-1: the last row is not in it, and the first window is empty."""
    data: Data = {"S": single((1, 1), (2, 2), (3, 3), (4, 4))}
    assert answer(V.windows(2, 1, 1), data) == [
        (1, 0, []),
        (2, 0, [(1,)]),
        (3, 0, [(1,), (2,)]),
        (4, 0, [(2,), (3,)]),
    ]


def test_time_windows_are_created_at_every_slide_with_both_ends_in() -> None:
    """[003 createTimeWindow] The membership test is on timestamps, ≥ from and ≤ to; the first tick is 0."""
    data: Data = {"S": single((1, 1), (2, 2), (3, 4))}
    assert answer(V.windows("2 s", "0 s", "2 s"), data, t0=0, until=6) == [
        (0, 0, []),
        (2, 0, [(1,), (2,)]),
        (4, 0, [(2,), (3,)]),
        (6, 0, [(3,)]),
    ]


def test_a_time_window_may_end_before_now() -> None:
    """[003 createTimeWindow] FROM NOW-3 TO NOW-1 SLIDE 2."""
    data: Data = {"S": single((1, 1), (2, 2), (3, 4))}
    assert answer(V.windows("3 s", "1 s", "2 s"), data, t0=0, until=6) == [
        (0, 0, []),
        (2, 0, [(1,)]),
        (4, 0, [(1,), (2,)]),
        (6, 0, [(3,)]),
    ]


def test_a_time_window_sees_all_tuples_of_its_tick() -> None:
    """[003 createTimeWindow] One window at the tick, not one per batch."""
    data: Data = {"S": given((2, 0, (1,)), (2, 1, (2,)))}
    assert answer(V.windows("0 s", "0 s", "2 s"), data, t0=0, until=2) == [(0, 0, []), (2, 0, [(1,), (2,)])]


def test_time_windows_are_created_from_the_start_of_the_query() -> None:
    """[003 createTimeWindow] Ticks are t0 + k·slide."""
    data: Data = {"S": single((1, 1), (2, 2), (3, 5))}
    assert answer(V.windows("1 s", "0 s", "2 s"), data, t0=1, until=5) == [
        (1, 0, [(1,)]),
        (3, 0, [(2,)]),
        (5, 0, [(3,)]),
    ]


# Streams of windows: single- and multiple-window operators


def test_a_window_selection_is_in_each_window() -> None:
    """[003 WindowSelect] A window that loses all its tuples is still a window, at the same tick."""
    data: Data = {"S": single((1, 1), (5, 2), (2, 3), (1, 4))}
    assert answer(V.windows(1, 0, 2).where("v > 1"), data) == [(2, 0, [(5,)]), (4, 0, [(2,)])]
    assert answer(V.windows(1, 0, 2).where("v > 4"), data) == [(2, 0, [(5,)]), (4, 0, [])]


def test_a_window_projection_keeps_duplicates() -> None:
    """[003 WindowProject] A window is a bag of tuples."""
    s = stream("S", "a INT, b INT")
    data: Data = {"S": single((1, 7, 1), (2, 7, 2))}
    assert answer(s.windows(1, 0, 2).select("b"), data) == [(2, 0, [(7,), (7,)])]


def test_a_window_aggregation_is_over_each_window() -> None:
    """[003 WindowAggregation] One row per window, also for two windows of one tick."""
    data: Data = {"S": single((1, 1), (2, 1), (3, 1), (4, 1))}
    assert answer(V.windows(1, 0, 2).aggregate("sum(v) AS total"), data) == [(1, 0, [(3,)]), (1, 1, [(7,)])]


def test_an_aggregation_over_an_empty_window_has_one_row() -> None:
    """[003 WindowAggregation] As over a relation: count 0, others NULL."""
    q = V.windows("0 s", "0 s", "1 s").aggregate("count(*) AS n, max(v) AS top")
    assert answer(q, {"S": single((5, 1))}, t0=0, until=1) == [(0, 0, [(0, None)]), (1, 0, [(1, 5)])]


def test_there_is_no_product_until_both_sides_have_a_window() -> None:
    """[003 crossProduct] Then the latest window of a side goes with each new one of the other."""
    data: Data = {"L": single(("x", 1), ("y", 3)), "M": single(("u", 2))}
    assert answer(LEFT.windows(0, 0, 1).product(RIGHT.windows(0, 0, 1)), data) == [
        (2, 0, [("x", "u")]),
        (3, 0, [("y", "u")]),
    ]


def test_all_windows_of_a_tick_are_paired_left_major() -> None:
    """[003 crossProduct] mapMap: each left window with every right one."""
    data: Data = {"L": single(("x", 1), ("y", 1)), "M": single(("u", 1), ("v", 1))}
    assert answer(LEFT.windows(0, 0, 1).product(RIGHT.windows(0, 0, 1)), data) == [
        (1, 0, [("x", "u")]),
        (1, 1, [("x", "v")]),
        (1, 2, [("y", "u")]),
        (1, 3, [("y", "v")]),
    ]


def test_all_windows_of_a_sides_latest_tick_stay_in_the_product() -> None:
    """[003 crossProduct] getWindowsAtTick of the last tick at or before; the new window has the later tick."""
    data: Data = {"L": single(("w", 1), ("x", 2), ("y", 2)), "M": single(("u", 3))}
    assert answer(LEFT.windows(0, 0, 1).product(RIGHT.windows(0, 0, 1)), data) == [
        (3, 0, [("x", "u")]),
        (3, 1, [("y", "u")]),
    ]


def test_the_tuples_of_two_windows_are_paired_left_major() -> None:
    """[003 crossProduct] windowCrossProduct concatenates every left tuple with every right one."""
    data: Data = {"L": single(("x", 1), ("y", 1)), "M": single(("u", 1), ("v", 1))}
    assert answer(LEFT.windows(1, 0, 2).product(RIGHT.windows(1, 0, 2)), data) == [
        (1, 0, [("x", "u"), ("x", "v"), ("y", "u"), ("y", "v")])
    ]


def test_there_is_no_product_at_a_tick_without_windows() -> None:
    """[003 crossProduct] It occurs only at ticks where at least one of the streams contains a window."""
    data: Data = {"L": single(("x", 1), ("y", 2), ("z", 3)), "M": single(("u", 1), ("v", 4))}
    assert answer(LEFT.windows(1, 0, 2).product(RIGHT.windows(0, 0, 1)), data) == [
        (2, 0, [("x", "u"), ("y", "u")]),
        (4, 0, [("x", "v"), ("y", "v")]),
    ]


def test_the_product_with_an_empty_window_is_an_empty_window() -> None:
    """[003 crossProduct] An empty window is a window: it does not wait for tuples."""
    left = LEFT.windows("0 s", "0 s", "1 s")
    data: Data = {"L": single(("x", 1)), "M": single(("u", 0))}
    assert answer(left.product(RIGHT.windows(0, 0, 1)), data, t0=0, until=1) == [(0, 0, []), (1, 0, [("x", "u")])]


# Streams of windows to streams of tuples


def test_rstream_of_a_product_numbers_its_windows() -> None:
    """[003 rStream] [003 crossProduct] i counts the pairs of windows of a tick, with or without tuples."""
    q = LEFT.windows(0, 0, 1).product(RIGHT.windows(0, 0, 1)).where("b = 'v'").rstream()
    data: Data = {"L": single(("x", 1), ("y", 1)), "M": single(("u", 1), ("v", 1))}
    assert answer(q, data) == [(1, 1, "x", "v"), (1, 3, "y", "v")]


def test_rstream_gives_all_tuples_of_each_window() -> None:
    """[003 rStream] Also of a window that is equal to the one before."""
    data: Data = {"R": [("+", sec(0), "a"), ("+", sec(0), "b")]}
    assert answer(LOG.scan("4 s").rstream(), data, t0=0, until=4) == [
        (0, 0, "a"),
        (0, 0, "b"),
        (4, 0, "a"),
        (4, 0, "b"),
    ]


def test_rstream_gives_tick_and_number_of_the_window_and_a_running_index() -> None:
    """[003 rStream] Each tuple receives its tick from its window."""
    q = LETTERS.windows(1, 0, 1).rstream().rename({"φ": "p"})
    assert answer(q, {"S": single(("a", 1), ("b", 1), ("c", 4))}) == [
        (1, 0, "a", 0),
        (1, 1, "a", 1),
        (1, 1, "b", 2),
        (4, 0, "b", 3),
        (4, 0, "c", 4),
    ]


def test_istream_gives_what_the_window_before_had_not_as_often() -> None:
    """[003 iStream] tuples \\ previousTuples, over bags: a second 5 is new, a 5 that replaces a 5 is not."""
    data: Data = {"S": single((5, 1), (5, 2), (6, 3), (5, 4))}
    assert answer(V.windows(2, 0, 1).istream(), data) == [(1, 0, 5), (2, 0, 5), (3, 0, 6)]


def test_istream_takes_away_first_occurrences() -> None:
    """[003 iStream] [x, y, x] \\ [x] = [y, x]."""
    data: Data = {"S": single(("x", 0), ("y", 1), ("x", 1))}
    q = LETTERS.windows("10 s", "0 s", "1 s").istream()
    assert answer(q, data, t0=0, until=1) == [(0, 0, "x"), (1, 0, "y"), (1, 0, "x")]


def test_istream_compares_with_the_window_before_at_the_same_tick() -> None:
    """[003 iStream] Window by window, not tick by tick."""
    data: Data = {"S": single(("x", 1), ("x", 1), ("y", 1))}
    assert answer(LETTERS.windows(0, 0, 1).istream(), data) == [(1, 0, "x"), (1, 2, "y")]


def test_dstream_gives_what_a_window_has_no_more() -> None:
    """[003 dStream] previousTuples \\ tuples; before the first window there is nothing."""
    data: Data = {"S": single(("x", 1), ("y", 2), ("y", 3), ("z", 4))}
    assert answer(LETTERS.windows(0, 0, 1).dstream(), data) == [(2, 0, "x"), (4, 0, "y")]


def test_dstream_takes_away_first_occurrences() -> None:
    """[003 dStream] [x, y, x] \\ [x, z, z] = [y, x]."""
    data: Data = {"S": single(("x", 1), ("y", 2), ("x", 3), ("x", 4), ("z", 5), ("z", 6))}
    assert answer(LETTERS.windows(2, 0, 3).dstream(), data) == [(6, 0, "y"), (6, 0, "x")]


def test_only_the_sites_that_a_relation_holds_at_a_tick_are_asked() -> None:
    """[001 D5] "Designation": sites appear and go; at their tick changes count already."""
    watched = relation("watched", "op STRING, at TIMESTAMP, id INT", change="op", at="at")
    road = sensed("road", "site INT, time TIMESTAMP, temp INT", every="1 min", sites=watched)
    asked: list[tuple[int, int]] = []

    def measure(site: int, t: int) -> tuple[int]:
        asked.append((site, t // 60_000_000))
        return (site * 10,)

    log = [("+", sec(0), 2), ("+", sec(0), 1), ("-", sec(60), 2), ("+", sec(110), 3)]
    found = answer(road.select("site, temp"), {"road": measure, "watched": log}, t0=0, until=120)
    assert found == [(0, 0, 1, 10), (0, 0, 2, 20), (60, 0, 1, 10), (120, 0, 1, 10), (120, 0, 3, 30)]
    assert asked == [(1, 0), (2, 0), (1, 1), (1, 2), (3, 2)]
