"""The table of windows: each form in text is the window that is built by hand, and holds what it should."""

from __future__ import annotations

from typing import Any

import pytest

from astralq import (
    WindowSpec,
    at_instants,
    fixed,
    for_loop,
    from_to,
    general,
    hop,
    landmark,
    last_batch,
    last_row,
    moving,
    now,
    range_,
    rows,
    session,
    tumble,
    two_rates,
    unbounded,
)
from astralq.algebra.functions import Affine, Step, UpTo
from astralq.algebra.schedules import AtInstants
from astralq.algebra.sneeql import RowWindows, TimeWindows
from astralq.space import Region
from astralq.timeline import duration, instant
from tests.language.support import CAR, LOG, K, S, bound, held, said, stream_of
from tests.support import given, sec, single

EPOCH = "1970-01-01T00:00:0"
DAYS = AtInstants((instant("2026-03-01"), instant("2026-03-05")))

FORMS: dict[str, WindowSpec] = {
    # RANGE
    "[RANGE 30 MINUTES SLIDE 10 MINUTES]": range_("30 min", slide="10 min"),
    "[range 30 minutes slide 10 minutes]": range_("30 min", slide="10 min"),
    "[RANGE '30 minutes' SLIDE '10 minutes']": range_("30 min", slide="10 min"),
    "[RANGE 2s SLIDE 1s]": range_("2 s", slide="1 s"),
    "[RANGE 1 HOUR]": range_("1 h"),
    "[RANGE 250 MILLISECONDS]": range_("250 ms"),
    "[NOW]": now(),
    "[RANGE 3 SECONDS SLIDE 5 ROWS]": range_("3 s", slide=5),
    # ROWS
    "[ROWS 10]": rows(10),
    "[ROWS 10 SLIDE 5]": rows(10, slide=5),
    "[ROWS 10 SLIDE 5 ROWS]": rows(10, slide=5),
    "[ROWS 1 SLIDE 1 ROW]": rows(1),
    "[ROWS 30 SLIDE 1 MINUTE]": rows(30, slide="1 min"),
    # Named windows
    "[LAST BATCH]": last_batch(),
    "[LAST ROW]": last_row(),
    "[UNBOUNDED]": unbounded(),
    "[RANGE UNBOUNDED]": unbounded(),
    "[ROWS UNBOUNDED]": unbounded(),
    "[UNBOUNDED SLIDE 10 MINUTES]": unbounded("10 min"),
    "[UNBOUNDED SLIDE 5 ROWS]": unbounded(5),
    # Lists of instants (000 D12)
    "[AT TIMESTAMP '2026-03-01', TIMESTAMP '2026-03-05' RANGE 1 HOUR]": WindowSpec(DAYS, range_("1 h").scope),
    "[AT '2026-03-01', '2026-03-05' ROWS 3 DELAY 1 MINUTE]": WindowSpec(DAYS, rows(3).scope).delayed("1 min"),
    "[PARTITION BY v AT TIMESTAMP '2026-03-01', TIMESTAMP '2026-03-05' FROM t - 1 HOUR TO t]": at_instants(
        ["2026-03-01", "2026-03-05"], Affine(1, -duration("1 h")), Affine(1, 0), text=("t - 1 HOUR", "t")
    ).by("v"),
    # Fixed and landmark
    "[FIXED FROM TIMESTAMP '2026-03-01' TO TIMESTAMP '2026-03-02']": fixed("2026-03-01", "2026-03-02"),
    "[FIXED FROM '2026-03-01' TO '2026-03-02']": fixed("2026-03-01", "2026-03-02"),
    "[LANDMARK TIMESTAMP '2026-03-01' SLIDE 1 HOUR]": landmark("2026-03-01", "1 h"),
    "[LANDMARK '2026-03-01' SLIDE 1 HOUR]": landmark("2026-03-01", "1 h"),
    # Aligned on the epoch
    "[TUMBLE 10 MINUTES]": tumble("10 min"),
    "[HOP 1 HOUR EVERY 1 MINUTE]": hop("1 h", "1 min"),
    "[TUMBLE 1 DAY OFFSET 6 HOURS]": tumble("1 day", "6 h"),
    "[TUMBLE 1 DAY OFFSET '-18 hours']": tumble("1 day", "6 h"),
    "[HOP 1 HOUR EVERY 20 MINUTES OFFSET 45 MINUTES]": hop("1 h", "20 min", "5 min"),
    "[TUMBLE 10 MINUTES OFFSET 1 MINUTE DELAY 1 MINUTE]": tumble("10 min", "1 min").delayed("1 min"),
    "[SESSION 20 MINUTES]": session("20 min"),
    # By the calendar
    "[TUMBLE 1 MONTH]": tumble("1 month"),
    "[TUMBLE 3 MONTHS OFFSET 6 HOURS]": tumble("1 quarter", "6 h"),
    "[TUMBLE 1 YEAR DELAY 1 DAY]": tumble("12 months").delayed("1 day"),
    "[TUMBLE 1 DAY AT TIME ZONE 'Europe/Paris']": tumble("1 day", zone="Europe/Paris"),
    "[TUMBLE 1 DAY AT TIME ZONE 'Europe/Paris' OFFSET 6 HOURS]": tumble("1 day", "6 h", "Europe/Paris"),
    "[TUMBLE 1 WEEK OFFSET 4 DAYS AT TIME ZONE 'Europe/Paris']": tumble("7 days", "4 days", "Europe/Paris"),
    "[TUMBLE 1 DAY AT TIME ZONE 'UTC']": tumble("1 day"),
    "[HOP 1 MONTH EVERY 1 DAY]": hop("1 month", "1 day"),
    "[HOP 6 HOURS EVERY 1 DAY AT TIME ZONE 'America/New_York']": hop("6 h", "1 day", zone="America/New_York"),
    "[SESSION INTERVAL '20' MINUTE DELAY 1 MINUTE]": session("20 min").delayed("1 min"),
    # SNEEql's scopes
    "[FROM NOW-10 TO NOW SLIDE 1 MIN]": from_to("10 min", "0 min", "1 min"),
    "[FROM NOW - 10 TO NOW - 5 SLIDE 1 MIN]": from_to("10 min", "5 min", "1 min"),
    "[FROM NOW-10 TO NOW SLIDE 1 ROW]": from_to(10, 0, 1),
    "[FROM NOW-2 TO NOW-1 SLIDE 3 ROWS]": from_to(2, 1, 3),
    # The general form
    "[ALPHA 2s*j BETA 2s*j + 3s RATE 2s]": general(("2 s", "0 s"), ("2 s", "3 s"), "2 s"),
    "[ALPHA 100*j+91 BETA 100*j+100 RATE 100 ROWS]": general((100, 91), (100, 100), 100),
    "[ALPHA j*2s - 1s BETA 2s*j RATE 2s]": general(("2 s", "-1 s"), ("2 s", "0 s"), "2 s"),
    "[ALPHA 0 BETA j RATE 1 ROW]": general((0, 0), (1, 0), 1),
    "[ALPHA 0s BETA 5s*j RATE 5s]": general(("0 s", "0 s"), ("5 s", "0 s"), "5 s"),
    "[START 1s END 3s RATE 4s ADVANCE START 2s END 4s]": general(("2 s", "1 s"), ("4 s", "3 s"), "4 s"),
    "[START 0 END 1 RATE 3 ROWS ADVANCE START 3 END 3]": general((3, 0), (3, 1), 3),
    # Two rates by time of day
    "[RANGE 1 HOUR SLIDE 1 MINUTE BETWEEN '07:00' AND '20:00' ELSE SLIDE 30 MINUTES]": two_rates(
        "1 h", "1 min", ("07:00", "20:00"), "30 min"
    ),
    "[ROWS 5 SLIDE 1 MINUTE BETWEEN '07:00' AND '20:00' ELSE SLIDE 30 MINUTES]": two_rates(
        5, "1 min", ("07:00", "20:00"), "30 min"
    ),
    "[RANGE 1 HOUR SLIDE 1 MINUTE BETWEEN '07:00' AND '20:00' ELSE SLIDE 30 MINUTES AT TIME ZONE 'Europe/Paris']": (
        two_rates("1 h", "1 min", ("07:00", "20:00"), "30 min", "Europe/Paris")
    ),
    # Delays
    "[RANGE 4 SECONDS SLIDE 2 SECONDS DELAY 1 SECOND]": range_("4 s", slide="2 s").delayed("1 s"),
    "[RANGE 4 SECONDS DELAY 1 SECOND]": range_("4 s").delayed("1 s"),
    "[ROWS 4 DELAY 1 ROW]": rows(4).delayed(1),
    "[ROWS 4 SLIDE 2 DELAY 3 ROWS]": rows(4, slide=2).delayed(3),
    "[TUMBLE 10 MINUTES DELAY 1 MINUTE]": tumble("10 min").delayed("1 min"),
    "[ALPHA 2s*j BETA 2s*j + 3s RATE 2s DELAY 1s]": general(("2 s", "0 s"), ("2 s", "3 s"), "2 s").delayed("1 s"),
    "[START 1s END 3s RATE 4s ADVANCE START 2s END 4s DELAY 1s]": general(
        ("2 s", "1 s"), ("4 s", "3 s"), "4 s"
    ).delayed("1 s"),
    "[NOW DELAY 1 SECOND]": now().delayed("1 s"),
    "[LAST BATCH DELAY 1 ROW]": last_batch().delayed(1),
    "[UNBOUNDED DELAY 2 ROWS]": unbounded().delayed(2),
    "[ROWS 30 SLIDE 1 MINUTE DELAY 1 SECOND]": rows(30, slide="1 min").delayed("1 s"),
    "[RANGE 3 SECONDS SLIDE 5 ROWS DELAY 2 ROWS]": range_("3 s", slide=5).delayed(2),
    "[FIXED FROM '2026-03-01' TO '2026-03-02' DELAY 1 HOUR]": fixed("2026-03-01", "2026-03-02").delayed("1 h"),
    "[LANDMARK '2026-03-01' SLIDE 1 HOUR DELAY 1 MINUTE]": landmark("2026-03-01", "1 h").delayed("1 min"),
    "[HOP 1 HOUR EVERY 1 MINUTE DELAY 1 SECOND]": hop("1 h", "1 min").delayed("1 s"),
    "[RANGE 1 HOUR SLIDE 1 MINUTE BETWEEN '07:00' AND '20:00' ELSE SLIDE 30 MINUTES DELAY 5 SECONDS]": two_rates(
        "1 h", "1 min", ("07:00", "20:00"), "30 min"
    ).delayed("5 s"),
    "[FROM NOW-4 TO NOW SLIDE 2 SEC DELAY 1 SECOND]": from_to("4 s", "0 s", "2 s").delayed("1 s"),
    "[FROM NOW-4 TO NOW SLIDE 2 ROWS DELAY 1 ROW]": from_to(4, 0, 2).delayed(1),
}

PARTITIONED = {
    "[PARTITION BY id ROWS 1]": rows(1).by("id"),
    "[PARTITION BY id, v RANGE 1 MINUTE]": range_("1 min").by("id", "v"),
    "[PARTITION BY id LAST ROW]": last_row().by("id"),
    "[PARTITION BY id ROWS 30 SLIDE 1 MINUTE DELAY 1 SECOND]": rows(30, slide="1 min").by("id").delayed("1 s"),
    "[PARTITION BY id TUMBLE 1 MINUTE]": tumble("1 min").by("id"),
    "[PARTITION BY id SESSION 20 MINUTES]": session("20 min").by("id"),
    "[PARTITION BY id FROM NOW-2 TO NOW SLIDE 1 ROW]": from_to(2, 0, 1).by("id"),
    "[PARTITION BY id ALPHA j BETA j RATE 1 ROW]": general((1, 0), (1, 0), 1).by("id"),
}

SPATIAL = {
    "[RANGE BY '50 km' RATTR SPACE SLIDE BY '10 km' SATTR SPACE]": moving("50 km", "10 km"),
    "[RANGE BY '1 hour' RATTR TIME SLIDE BY '10 km' SATTR SPACE]": moving("1 h", "10 km"),
    "[RANGE BY '50 km' RATTR SPACE SLIDE BY '10 minutes' SATTR TIME]": moving("50 km", "10 min"),
    "[RANGE BY '1 hour' RATTR TIME SLIDE BY '10 minutes' SATTR TIME]": range_("1 h", slide="10 min"),
    "[RANGE BY '1 hour' RATTR TIME]": range_("1 h"),
    "[RANGE BY 50 km RATTR SPACE SLIDE BY 10 km SATTR SPACE]": moving("50 km", "10 km"),
    "[RANGE BY ‘50 km’ RATTR SPACE SLIDE BY ’10 km’ SATTR SPACE]": moving("50 km", "10 km"),
    "[PARTITION BY id RANGE BY '50 km' RATTR SPACE SLIDE BY '10 km' SATTR SPACE]": moving("50 km", "10 km").by("id"),
    "[RANGE BY '50 km' RATTR SPACE SLIDE BY '10 km' SATTR SPACE DELAY 1 km]": moving("50 km", "10 km").delayed("1 km"),
    "[ROWS 3 SLIDE 10 km]": rows(3, slide="10 km"),
}


@pytest.mark.parametrize("text", FORMS)
def test_a_window_in_text_is_the_one_built_by_hand(text: str) -> None:
    assert bound(f"SELECT * FROM s {text}") == S[FORMS[text]].operator


@pytest.mark.parametrize("text", PARTITIONED)
def test_any_form_can_be_partitioned(text: str) -> None:
    assert bound(f"SELECT * FROM k {text}") == K[PARTITIONED[text]].operator


@pytest.mark.parametrize("text", SPATIAL)
def test_either_measure_can_be_the_range_or_the_slide(text: str) -> None:
    assert bound(f"SELECT * FROM car {text}") == CAR[SPATIAL[text]].operator


def test_a_region_is_everything_inside_it_so_far() -> None:
    sea = Region("sea", "POLYGON ((0 0, 10 0, 10 10, 0 10, 0 0))")
    assert bound("SELECT * FROM car [RANGE BY sea RATTR SPACE]") == CAR[sea].operator
    assert bound("SELECT * FROM car [RANGE BY Sea RATTR SPACE]") == CAR[sea].operator


def test_a_relation_is_scanned() -> None:
    assert bound("SELECT * FROM log [SCAN 10 MIN]") == LOG.scanned("10 min").operator
    assert bound("SELECT * FROM log [SCAN 10 MIN]", "sneeql") == LOG.scan("10 min").operator


def test_sneeqls_scopes_are_streams_of_windows_in_its_dialect() -> None:
    """[003 §4]"""
    road = stream_of("s", "sneeql").operator
    ten, none, one = duration("10 min"), duration("0 s"), duration("1 min")
    assert bound("SELECT * FROM s [FROM NOW-10 TO NOW SLIDE 1 MIN]", "sneeql") == TimeWindows(road, ten, none, one)
    assert bound("SELECT * FROM s [FROM NOW-10 TO NOW SLIDE 1 ROW]", "sneeql") == RowWindows(road, 10, 0, 1)


def test_a_for_loop_is_the_one_built_by_hand() -> None:
    text = f"[FOR (t = TIMESTAMP '{EPOCH}2Z'; t <= TIMESTAMP '{EPOCH}8Z'; t = t + 3 SECONDS) FROM t - 1s TO t]"
    loop = f"(t = TIMESTAMP '{EPOCH}2Z'; t <= TIMESTAMP '{EPOCH}8Z'; t = t + 3 SECONDS)"
    by_hand = for_loop(
        sec(2), UpTo(sec(8), inclusive=True), Step(sec(3)), Affine(1, -sec(1)), Affine(1, 0), text=(loop, "t - 1s", "t")
    )
    assert bound(f"SELECT * FROM s {text}") == S[by_hand].operator


# What they hold: one tuple per second, v = its second, unless said otherwise

SECONDS = {"s": single(*((t, t) for t in range(1, 21)))}


def values(*vs: int) -> list[tuple[Any, ...]]:
    return [(v,) for v in vs]


HELD: dict[str, list[tuple[int, list[tuple[Any, ...]]]]] = {
    "[RANGE 3 SECONDS SLIDE 2 SECONDS]": [(4, values(1, 2, 3, 4)), (5, values(1, 2, 3, 4)), (6, values(3, 4, 5, 6))],
    "[RANGE 2 SECONDS]": [(1, values(1)), (5, values(3, 4, 5)), (6, values(4, 5, 6))],
    "[NOW]": [(5, values(5)), (6, values(6))],
    "[ROWS 2]": [(1, values(1)), (5, values(4, 5))],
    "[ROWS 2 SLIDE 3]": [(2, []), (3, values(2, 3)), (5, values(2, 3)), (6, values(5, 6))],
    "[ROWS 2 SLIDE 3 SECONDS]": [(2, []), (3, values(2, 3)), (5, values(2, 3)), (6, values(5, 6))],
    "[RANGE 1 SECOND SLIDE 5 ROWS]": [(4, []), (5, values(4, 5)), (9, values(4, 5)), (10, values(9, 10))],
    "[LAST BATCH]": [(5, values(5))],
    "[LAST ROW]": [(5, values(5))],
    "[UNBOUNDED]": [(3, values(1, 2, 3))],
    f"[FIXED FROM '{EPOCH}2Z' TO '{EPOCH}4Z']": [(3, []), (4, values(2, 3, 4)), (20, values(2, 3, 4))],
    f"[LANDMARK '{EPOCH}3Z' SLIDE 2 SECONDS]": [(2, []), (3, values(3)), (4, values(3)), (7, values(3, 4, 5, 6, 7))],
    "[TUMBLE 5 SECONDS]": [(4, []), (5, values(1, 2, 3, 4)), (9, values(1, 2, 3, 4)), (10, values(5, 6, 7, 8, 9))],
    "[TUMBLE 5 SECONDS OFFSET 2 SECONDS]": [
        (2, values(1)),
        (6, values(1)),
        (7, values(2, 3, 4, 5, 6)),
        (12, values(*range(7, 12))),
    ],
    "[HOP 4 SECONDS EVERY 2 SECONDS OFFSET 1 SECOND]": [(5, values(1, 2, 3, 4)), (7, values(3, 4, 5, 6))],
    "[HOP 4 SECONDS EVERY 2 SECONDS]": [(4, values(1, 2, 3)), (5, values(1, 2, 3)), (6, values(2, 3, 4, 5))],
    "[FROM NOW-2 TO NOW-1 SLIDE 1 SEC]": [(1, []), (2, values(1)), (5, values(3, 4))],
    "[FROM NOW-2 TO NOW-1 SLIDE 1 ROW]": [(1, []), (2, values(1)), (5, values(3, 4))],
    "[FROM NOW-4 TO NOW SLIDE 2 SEC]": [(5, values(1, 2, 3, 4)), (6, values(2, 3, 4, 5, 6))],
    "[ALPHA 2s*j BETA 2s*j + 3s RATE 2s]": [
        (2, []),
        (3, values(1, 2, 3)),
        (4, values(1, 2, 3)),
        (5, values(2, 3, 4, 5)),
    ],
    "[ALPHA 3*j BETA 3*j+1 RATE 3 ROWS]": [(1, []), (2, values(1, 2)), (4, values(1, 2)), (5, values(4, 5))],
    "[START 1s END 3s RATE 4s ADVANCE START 2s END 4s]": [
        (2, []),
        (6, values(1, 2, 3)),
        (7, values(3, 4, 5, 6, 7)),
        (11, values(*range(5, 12))),
    ],
    f"[FOR (t = '{EPOCH}2Z'; t < '{EPOCH}8Z'; t = t + 3 SECONDS) FROM t - 1 SECOND TO t]": [
        (1, []),
        (2, values(1, 2)),
        (4, values(1, 2)),
        (5, values(4, 5)),
        (20, values(4, 5)),
    ],
    f"[FOR (t = '{EPOCH}2Z'; t < '{EPOCH}8Z'; t = t + 3 SECONDS) FROM TIMESTAMP '{EPOCH}2Z' TO t]": [
        (2, values(2)),
        (5, values(2, 3, 4, 5)),
    ],
    f"[FOR (t = '{EPOCH}2Z'; t < '{EPOCH}8Z'; t = t + 3 SECONDS) FROM t - 1s TO t DELAY 1 SECOND]": [
        (2, []),
        (3, values(1, 2)),
        (6, values(4, 5)),
    ],
    f"[FOR (t = '{EPOCH}2Z'; t <= '{EPOCH}8Z'; t = t * 2) FROM t / 2 TO t]": [
        (1, []),
        (2, values(1, 2)),
        (3, values(1, 2)),
        (4, values(2, 3, 4)),
        (8, values(4, 5, 6, 7, 8)),
        (20, values(4, 5, 6, 7, 8)),
    ],
    f"[FOR (t = '{EPOCH}2Z'; t < '{EPOCH}8Z'; t = t + 3 SECONDS) WindowIs(s, t - 1 SECOND, t)]": [
        (2, values(1, 2)),
        (5, values(4, 5)),
    ],
    f"[FOR (t = '{EPOCH}3Z'; t < '{EPOCH}9Z'; t = t + (t - TIMESTAMP '{EPOCH}1Z') / 2 + 1 s) FROM t TO t]": [
        (3, values(3)),
        (5, values(5)),
        (6, values(5)),
        (8, values(8)),
    ],
    f"[AT '{EPOCH}2Z', '{EPOCH}7Z' RANGE 1 SECOND]": [(1, []), (2, values(1, 2)), (6, values(1, 2)), (7, values(6, 7))],
    f"[AT '{EPOCH}2Z', '{EPOCH}7Z' ROWS 1]": [(1, []), (6, values(2)), (20, values(7))],
    f"[AT '{EPOCH}2Z', '{EPOCH}7Z' FROM '{EPOCH}1Z' TO t - 1 s]": [(2, values(1)), (7, values(1, 2, 3, 4, 5, 6))],
    "[UNBOUNDED SLIDE 3 SECONDS]": [(2, []), (3, values(1, 2, 3)), (5, values(1, 2, 3)), (6, values(*range(1, 7)))],
    "[RANGE 2 SECONDS SLIDE 2 SECONDS DELAY 1 SECOND]": [(4, values(1, 2)), (5, values(2, 3, 4))],
    "[RANGE 1 SECOND SLIDE 2 SECONDS BETWEEN '00:00:00' AND '00:00:06' ELSE SLIDE 5 SECONDS]": [
        (4, values(3, 4)),
        (6, values(3, 4)),
        (9, values(3, 4)),
        (10, values(9, 10)),
        (12, values(9, 10)),
        (15, values(14, 15)),
    ],
    "[ROWS 1 SLIDE 2 SECONDS BETWEEN '00:00:00' AND '00:00:06' ELSE SLIDE 5 SECONDS]": [
        (5, values(4)),
        (9, values(4)),
        (10, values(10)),
    ],
}


@pytest.mark.parametrize(("text", "t", "expected"), [(text, t, e) for text, states in HELD.items() for t, e in states])
def test_a_window_holds_what_the_table_says(text: str, t: int, expected: list[tuple[Any, ...]]) -> None:
    assert held(f"SELECT v FROM s {text}", SECONDS, t) == expected


def test_now_is_empty_again_a_chronon_later() -> None:
    assert said("SELECT v FROM s [NOW]", {"s": single((7, 1))}, until=2) == [("+", 1, 0, 7), ("-", "1.000001", 0, 7)]


def test_the_last_batch_is_not_the_last_row() -> None:
    data = {"s": given((1, 0, (1,)), (1, 0, (2,)), (1, 1, (3,)), (2, 0, (4,)), (2, 0, (5,)))}
    assert held("SELECT v FROM s [LAST BATCH]", data, 1) == values(3)
    assert held("SELECT v FROM s [LAST BATCH]", data, 2) == values(4, 5)
    assert held("SELECT v FROM s [LAST ROW]", data, 2) == values(5)


def test_each_part_has_its_own_last_rows() -> None:
    data = {"k": single((1, 10, 1), (2, 20, 2), (1, 11, 3), (1, 12, 4))}
    assert held("SELECT id, v FROM k [PARTITION BY id ROWS 2]", data, 4) == [(2, 20), (1, 11), (1, 12)]


def test_a_partition_may_be_by_a_quoted_attribute() -> None:
    assert bound("SELECT * FROM k [PARTITION BY `id` ROWS 1]") == K[rows(1).by("id")].operator


def test_windows_are_counted_from_the_start_of_the_query() -> None:
    assert held("SELECT v FROM s [RANGE 1 SECOND SLIDE 5 SECONDS]", SECONDS, 9, t0=3) == values(7, 8)
    assert held("SELECT v FROM s [ROWS 2 SLIDE 3]", SECONDS, 6, t0=3) == values(4, 5)


def test_a_scan_shows_the_relation_as_of_the_last_period() -> None:
    data = {"log": [("+", sec(0), 1, "a"), ("+", sec(3), 2, "b")]}
    assert held("SELECT id FROM log [SCAN 5 SECONDS]", data, 4, t0=0) == [(1,)]
    assert held("SELECT id FROM log [SCAN 5 SECONDS]", data, 5, t0=0) == [(1,), (2,)]


TRIP = {"car": single(*(("a", x, 0.0, t) for x, t in ((0.0, 0), (9.0, 1), (10.0, 2), (20.0, 4), (26.0, 6), (31.0, 7))))}


def test_the_last_twenty_metres_every_ten() -> None:
    text = "SELECT x FROM car [RANGE BY '20 metres' RATTR SPACE SLIDE BY '10 metres' SATTR SPACE]"
    assert held(text, TRIP, 1) == [(0.0,)]
    assert held(text, TRIP, 4) == [(0.0,), (9.0,), (10.0,), (20.0,)]
    assert held(text, TRIP, 7) == [(10.0,), (20.0,), (26.0,)]  # up to 30; 31 overshoots it


def test_the_last_three_seconds_every_ten_metres() -> None:
    text = "SELECT x FROM car [RANGE BY '3 seconds' RATTR TIME SLIDE BY '10 metres' SATTR SPACE]"
    assert held(text, TRIP, 2) == [(0.0,), (9.0,), (10.0,)]
    assert held(text, TRIP, 6) == [(9.0,), (10.0,), (20.0,)]  # evaluated at 4 s, which reached 20 m
    assert held(text, TRIP, 7) == [(20.0,), (26.0,), (31.0,)]


def test_the_last_ten_metres_every_three_seconds() -> None:
    text = "SELECT x FROM car [RANGE BY '10 metres' RATTR SPACE SLIDE BY '3 seconds' SATTR TIME]"
    assert held(text, TRIP, 5) == [(0.0,), (9.0,), (10.0,)]  # evaluated at 3 s, at 10 m
    assert held(text, TRIP, 6) == [(20.0,), (26.0,)]


def test_a_region_holds_what_was_inside_it_so_far() -> None:
    assert held("SELECT x FROM car [RANGE BY sea RATTR SPACE]", TRIP, 7) == [(0.0,), (9.0,), (10.0,)]
