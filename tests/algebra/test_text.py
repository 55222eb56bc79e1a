"""The one text form: windows print as the query language writes them, plans as trees."""

from __future__ import annotations

import pytest

from astralq import (
    Region,
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
    relation,
    rows,
    session,
    stream,
    tumble,
    two_rates,
    unbounded,
)
from astralq.algebra.schedules import Measure
from astralq.timeline import Instant
from tests.support import sec

WINDOWS: list[tuple[WindowSpec, str]] = [
    (range_("10 min", slide="1 min"), "[RANGE 10 MINUTES SLIDE 1 MINUTE]"),
    (range_("90 s"), "[RANGE 90 SECONDS]"),
    (now(), "[NOW]"),
    (rows(5), "[ROWS 5]"),
    (rows(5, slide=2), "[ROWS 5 SLIDE 2 ROWS]"),
    (last_row(), "[ROWS 1]"),
    (rows(30, slide="1 min"), "[ROWS 30 SLIDE 1 MINUTE]"),
    (range_("3 s", slide=5), "[RANGE 3 SECONDS SLIDE 5 ROWS]"),
    (rows(1).by("a", "b"), "[PARTITION BY a, b ROWS 1]"),
    (last_batch(), "[LAST BATCH]"),
    (unbounded(), "[UNBOUNDED]"),
    (fixed(sec(1), sec(5)), "[FIXED FROM TIMESTAMP '1970-01-01T00:00:01Z' TO TIMESTAMP '1970-01-01T00:00:05Z']"),
    (landmark(sec(0), "5 s"), "[LANDMARK TIMESTAMP '1970-01-01T00:00:00Z' SLIDE 5 SECONDS]"),
    (tumble("1 h"), "[TUMBLE 1 HOUR]"),
    (hop("1 h", "1 min"), "[HOP 1 HOUR EVERY 1 MINUTE]"),
    (tumble("1 day", "6 h"), "[TUMBLE 1 DAY OFFSET 6 HOURS]"),
    (tumble("12 months"), "[TUMBLE 1 YEAR]"),
    (tumble("1 day", "6 h", "Europe/Paris"), "[TUMBLE 1 DAY AT TIME ZONE 'Europe/Paris' OFFSET 6 HOURS]"),
    (hop("1 month", "1 day"), "[HOP 1 MONTH EVERY 1 DAY]"),
    (session("20 min").by("a"), "[PARTITION BY a SESSION 20 MINUTES]"),
    (hop("1 h", "1 min", "61 s"), "[HOP 1 HOUR EVERY 1 MINUTE OFFSET 1 SECOND]"),
    (from_to("10 min", "5 min", slide="1 min"), "[FROM NOW - 10 MINUTES TO NOW - 5 MINUTES SLIDE 1 MINUTE]"),
    (from_to(10, 1, slide=1), "[FROM NOW - 10 ROWS TO NOW - 1 ROW SLIDE 1 ROW]"),
    (general(("2 s", "0 s"), ("2 s", "3 s"), "2 s"), "[ALPHA 2 SECONDS*j BETA 2 SECONDS*j + 3 SECONDS RATE 2 SECONDS]"),
    (general((100, 91), (100, 100), 100), "[ALPHA 100*j + 91 BETA 100*j + 100 RATE 100 ROWS]"),
    (
        two_rates("1 h", "1 min", ("07:00", "20:00"), "30 min", zone="Europe/Paris"),
        "[RANGE 1 HOUR SLIDE 1 MINUTE BETWEEN '07:00' AND '20:00' ELSE SLIDE 30 MINUTES AT TIME ZONE 'Europe/Paris']",
    ),
    (
        two_rates(10, "1 min", ("22:00", "06:00"), "30 min"),
        "[ROWS 10 SLIDE 1 MINUTE BETWEEN '22:00' AND '06:00' ELSE SLIDE 30 MINUTES]",
    ),
    (range_("4 s", slide="2 s").delayed("1 s"), "[RANGE 4 SECONDS SLIDE 2 SECONDS DELAY 1 SECOND]"),
    (rows(4).delayed(2), "[ROWS 4 DELAY 2 ROWS]"),
    (moving("50 km", "10 km"), "[RANGE BY '50 km' RATTR SPACE SLIDE BY '10 km' SATTR SPACE]"),
    (moving("200 m", "1 min"), "[RANGE BY '200 m' RATTR SPACE SLIDE BY '1 MINUTE' SATTR TIME]"),
    (moving("1 h", "10 km"), "[RANGE BY '1 HOUR' RATTR TIME SLIDE BY '10 km' SATTR SPACE]"),
    (rows(3, slide="10 km"), "[ROWS 3 SLIDE 10 km]"),
    (
        for_loop(
            sec(0),
            lambda t: t < sec(9),
            lambda t: Instant(t + sec(3)),
            lambda t: t - sec(1),
            lambda t: t,
            text=("(t = 0; t < 9; t = t + 3)", "t - 1", "t"),
        ),
        "[FOR (t = 0; t < 9; t = t + 3) FROM t - 1 TO t]",
    ),
    (
        at_instants([sec(1), sec(4)], lambda t: 0, lambda t: 0, measure=Measure.POSITION),
        "[AT TIMESTAMP '1970-01-01T00:00:01Z', TIMESTAMP '1970-01-01T00:00:04Z' FROM lo(t) TO hi(t)]",
    ),
]


@pytest.mark.parametrize(("window", "text"), WINDOWS, ids=[t for _, t in WINDOWS])
def test_a_window_prints_as_the_language_writes_it(window: WindowSpec, text: str) -> None:
    assert str(window) == text


def test_a_plan_prints_as_a_tree() -> None:
    s = stream("S", "id INT, v DOUBLE")
    r = relation("R", "key INT, name STRING")
    q = s[rows(10)].where("v > 1.5").join(r, on="id = key", how="left").aggregate("max(v) AS top", by="name").istream()
    assert repr(q) == str(q.operator)
    assert str(q.operator) == (
        "ISTREAM\n"
        "└─ AGGREGATE max(v) AS top BY name\n"
        "   └─ LEFT JOIN ON id = key\n"
        "      ├─ SELECT v > 1.5\n"
        "      │  └─ WINDOW [ROWS 10]\n"
        "      │     └─ STREAM S\n"
        "      └─ RELATION R"
    )


def test_explain_shows_kinds_and_types() -> None:
    q = stream("S", "id INT, v DOUBLE")[last_batch()].aggregate("count(*) AS n", by="id").rstream(every="1 min")
    assert q.explain() == (
        "RSTREAM EVERY 1 MINUTE             stream (id INT, n BIGINT)\n"
        "└─ AGGREGATE count(*) AS n BY id   relation (id INT, n BIGINT)\n"
        "   └─ WINDOW [LAST BATCH]          relation (id INT, v DOUBLE)\n"
        "      └─ STREAM S                  stream (id INT, v DOUBLE)"
    )


def test_every_operator_has_its_line() -> None:
    s, r = stream("S", "a INT, x DOUBLE, y DOUBLE", location=("x", "y")), relation("R", "b INT")
    square = Region("square", "POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))")
    lines = {
        s.spread("a"): "SPREAD BY a",
        s.spread_all(): "SPREAD ALL",
        s.rename({"a": "c"}): "RENAME a AS c",
        s.product(r): "STREAM PRODUCT",
        s.join(r, on="a = b"): "STREAM JOIN ON a = b",
        s.lookup(r, on="a = b", how="anti"): "LOOKUP ANTI JOIN ON a = b",
        s.band(s.select("a AS c"), "5 s", on="a = c"): "BAND JOIN WITHIN 5 SECONDS ON a = c",
        s.band(s.select("a AS c"), rows=2, on="a = c"): "BAND JOIN WITHIN 2 ROWS ON a = c",
        s.band(s.select("a AS c"), on="a = c"): "BAND JOIN WITHIN ∞ ON a = c",
        s[square]: "SELECT inside(x, y, square)",
        r.at(sec(5)): "AT TIMESTAMP '1970-01-01T00:00:05Z'",
        r.at_start(): "AT START",
        r.delayed("1 h"): "DELAYED BY 1 HOUR",
        r.scanned("10 min"): "SCAN 10 MINUTES",
        r.during(sec(1), sec(2)): "DURING [1970-01-01T00:00:01Z, 1970-01-01T00:00:02Z)",
        r.union(r): "UNION BY φ",
        r.difference(r): "EXCEPT BY φ",
        r.except_values(r, all=True): "EXCEPT ALL",
        r.distinct(): "DISTINCT",
        r.dstream("1 s", by_value=True): "DSTREAM EVERY 1 SECOND BY VALUE",
        r.rstream(on_insert=True): "RSTREAM ON INSERT",
        r.scan("1 min"): "SCAN 1 MINUTE",
        s.windows(10, 0, 1): "WINDOWS [FROM NOW - 10 TO NOW SLIDE 1 ROW]",
        s.windows("5 min", "0 s", "5 min").product(r.scan("1 min")): "PRODUCT OF WINDOWS",
        s.started_at(sec(3)): "STARTED AT 1970-01-01T00:00:03Z",
    }
    assert {str(q.operator).splitlines()[0] for q in lines} == set(lines.values())
    assert [str(q.operator).splitlines()[0] for q in lines] == list(lines.values())
