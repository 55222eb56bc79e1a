"""Bad input: what cannot be valid cannot be built, and the message says what, where, why and what to do."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from astralq import (
    Region,
    at_instants,
    distance,
    duration,
    fixed,
    for_loop,
    from_to,
    general,
    hop,
    instant,
    landmark,
    last_batch,
    moving,
    range_,
    relation,
    rows,
    sensed,
    session,
    stream,
    tumble,
    two_rates,
)
from astralq.algebra.domain import Custom, Domain
from astralq.algebra.relational import GroupBy
from astralq.algebra.streamers import IStream
from astralq.algebra.windows import Window
from astralq.errors import AstralError
from astralq.model import Stream, StreamTuple, run, state
from astralq.schema import Schema, decimal, parse_type
from astralq.timeline import BatchId, Instant
from tests.support import sec, single

S = stream("S", "sensor INT, value DOUBLE, name STRING")
R = relation("R", "id INT, place STRING")

CASES: dict[str, tuple[Callable[[], Any], str]] = {
    # The calendar
    "hours of a zone": (
        lambda: tumble("1 h", zone="Europe/Paris"),
        "windows of a time zone begin at its midnights, not every 1 HOUR\n"
        "  hint: give EVERY in days, weeks, months, quarters or years, or leave out AT TIME ZONE",
    ),
    "no such zone": (
        lambda: tumble("1 day", zone="Europe/Pariss"),
        "unknown time zone 'Europe/Pariss'\n  hint: give a name such as 'Europe/Paris'",
    ),
    "no month": (
        lambda: tumble("0 months"),
        "a window has a size and a step\n  hint: give lengths of time greater than 0",
    ),
    # Sessions
    "no gap": (
        lambda: session("0 s"),
        "the gap between sessions is 0 SECONDS\n  hint: give a duration greater than 0",
    ),
    "a session with other bounds": (
        lambda: replace(session("1 s"), scope=range_("1 s").scope),
        "a session is held from its first tuple to its last, when it is over\n  hint: use session(…)",
    ),
    "bounds of sessions of unknown parts": (
        lambda: S[session("1 min").by("sensor")].aggregate("count(*) AS n").window_bounds(),
        "window_start and window_end of [PARTITION BY sensor SESSION 1 MINUTE] are those of each sensor, which is not "
        "there\n  hint: group by sensor",
    ),
    # The bounds of windows
    "bounds at entries and exits": (
        lambda: S[range_("1 min")].window_bounds(),
        "[RANGE 1 MINUTE] has no window_start and window_end: it is evaluated at every entry and exit\n"
        "  hint: give it a SLIDE, or use TUMBLE or HOP",
    ),
    "bounds at instants": (
        lambda: S[fixed("2026-03-01", "2026-03-02")].aggregate("count(*) AS n").window_bounds(),
        "[FIXED FROM TIMESTAMP '2026-03-01T00:00:00Z' TO TIMESTAMP '2026-03-02T00:00:00Z'] has no window_start and "
        "window_end: it is not evaluated at a period\n"
        "  hint: use TUMBLE, HOP, RANGE … SLIDE or SESSION",
    ),
    "bounds in rows": (
        lambda: S[rows(3, slide="1 min")].window_bounds(),
        "[ROWS 3 SLIDE 1 MINUTE] has no window_start and window_end: it does not go by time alone\n"
        "  hint: give it a range and a slide of time",
    ),
    "an upper bound that stays": (
        lambda: S[general(("0 s", "0 s"), ("0 s", "5 s"), "1 s")].window_bounds(),
        "[ALPHA 0 SECONDS BETA 5 SECONDS RATE 1 SECOND] has no window_start and window_end: its upper bound does not "
        "move\n"
        "  hint: use TUMBLE, HOP, RANGE … SLIDE or SESSION",
    ),
    "bounds of no window": (
        lambda: R.window_bounds(),
        "window_start and window_end are those of a window, and here is none\n"
        "  hint: give the stream a window: FROM s [TUMBLE 10 MINUTES]; a view or subquery selects its own",
    ),
    "bounds of two windows": (
        lambda: S[tumble("1 h")].product(S[tumble("2 h")].rename({n: f"{n}2" for n in S.schema.names})).window_bounds(),
        "window_start and window_end are those of one window, and here are 2: [TUMBLE 1 HOUR] and [TUMBLE 2 HOURS]\n"
        "  hint: select them in a subquery over one of the windows",
    ),
    "bounds twice": (
        lambda: S[tumble("1 h")].window_bounds().window_bounds(),
        "there is an attribute window_start already\n  hint: rename it below the window",
    ),
    # Names and types
    "unknown attribute": (
        lambda: S.where("sensr = 42"),
        "line 1, column 1: unknown attribute 'sensr': the attributes are sensor, value, name, _t, _i, _n\n"
        "1 | sensr = 42\n"
        "  | ^^^^^\n"
        "  hint: did you mean 'sensor'?",
    ),
    "unknown attribute in a projection": (
        lambda: R.select("id", "plac"),
        "line 1, column 1: unknown attribute 'plac': the attributes are id, place\n"
        "1 | plac\n"
        "  | ^^^^\n"
        "  hint: did you mean 'place'?",
    ),
    "unknown partition attribute": (
        lambda: S[rows(1).by("snsor")],
        "unknown attribute 'snsor': the attributes are sensor, value, name\n  hint: did you mean 'sensor'?",
    ),
    "unknown spread attribute": (
        lambda: S.spread("x"),
        "unknown attribute 'x': the attributes are sensor, value, name",
    ),
    "type mismatch in a comparison": (
        lambda: S.where("name > value"),
        "line 1, column 1: in the comparison: name is STRING, value is DOUBLE\n"
        "1 | name > value\n"
        "  | ^^^^^^^^^^^^\n"
        "  hint: CAST one of them to the other's type",
    ),
    "type mismatch in arithmetic": (
        lambda: S.select("name + 1 AS x"),
        "line 1, column 1: in name + 1: name is STRING, 1 is INT\n"
        "1 | name + 1 AS x\n"
        "  | ^^^^^^^^\n"
        "  hint: CAST one of them to the other's type",
    ),
    "a condition that is not one": (
        lambda: S.where("value + 1"),
        "the condition value + 1 of a selection is DOUBLE, not BOOLEAN\n  hint: compare it with something",
    ),
    "a constant of the wrong type": (
        lambda: S.where("sensor = 'abc'"),
        "line 1, column 1: in the comparison: 'abc' is not a BIGINT\n"
        "1 | sensor = 'abc'\n"
        "  | ^^^^^^^^^^^^^^\n"
        "  hint: write a constant of that type",
    ),
    "an attribute twice": (
        lambda: stream("S", "a INT, A DOUBLE"),
        "the attribute 'A' is there twice\n  hint: names differ in more than their case; rename one of them",
    ),
    "a pseudo-column declared": (
        lambda: stream("S", "_t TIMESTAMP"),
        "stream S declares '_t', which is the name of a pseudo-column of every stream\n"
        "  hint: give the attribute another name",
    ),
    "an unknown type": (
        lambda: parse_type("GEOMETRY"),
        "unknown type 'GEOMETRY'\n"
        "  hint: the types are TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, BINARY, BOOLEAN, DATE, "
        "TIMESTAMP, DECIMAL(p, s), INTERVAL, ARRAY<…>, MAP<…> and STRUCT<…>",
    ),
    "a misspelt type in an array": (
        lambda: parse_type("ARRAY<FLOTE>"),
        "unknown type 'FLOTE'\n  hint: did you mean 'FLOAT'?",
    ),
    "a struct without names": (
        lambda: parse_type("STRUCT<INT>"),
        "'STRUCT<INT>' is not a type\n  hint: write for example STRUCT<x: INT, y: STRING>",
    ),
    "a map with one type": (
        lambda: parse_type("MAP<INT>"),
        "'MAP<INT>' is not a type\n  hint: write for example MAP<STRING, INT>",
    ),
    "a map as a key": (
        lambda: parse_type("MAP<MAP<INT, INT>, INT>"),
        "the keys of a MAP cannot be MAP<INT, INT>\n  hint: a MAP has no order, so it is no key",
    ),
    "an attribute without a type": (
        lambda: Schema.parse("a INT, b"),
        "'b' has no type\n  hint: write each attribute as `name TYPE`",
    ),
    "a decimal that cannot be": (
        lambda: decimal(39, 2),
        "DECIMAL(39, 2) cannot be\n  hint: the precision is 1 to 38, and the scale 0 to the precision",
    ),
    "the same name on both sides": (
        lambda: R.product(R),
        "both sides have an attribute 'id'\n  hint: rename it on one side before joining",
    ),
    "a union of different attributes": (
        lambda: R.union(R.select("id")),
        "UNION: the left side has 2 attributes (id INT, place STRING), the right side 1 (id INT)\n"
        "  hint: project both sides to the same attributes",
    ),
    "a union of different types": (
        lambda: R.select("id").union(R.select("place")),
        "UNION: id is INT on the left, place is STRING on the right",
    ),
    "an unknown function": (
        lambda: S.select("uper(name)"),
        "line 1, column 1: unknown function 'uper'\n1 | uper(name)\n  | ^^^^\n  hint: did you mean 'upper'?",
    ),
    "a function that reaches outside": (
        lambda: S.select("reflect('java.lang.System', 'getenv', name)"),
        "line 1, column 1: the function 'reflect' is refused: it reaches outside the query, "
        "whose text is not trusted\n1 | reflect('java.lang.System', 'getenv', name)\n  | ^^^^^^^",
    ),
    "an expression that cannot be read": (
        lambda: S.where("value >"),
        "line 1, column 7: cannot read the expression 'value >'\n1 | value >\n  |       ^",
    ),
    "an attribute outside its group": (
        lambda: S[rows(3)].aggregate("avg(value) - sensor AS x"),
        "'sensor' is neither a grouping key nor in an aggregate\n"
        "  hint: group by sensor, or take an aggregate of it, for example max(sensor)",
    ),
    "an aggregate in a condition": (
        lambda: S[rows(3)].where("max(value) > 3"),
        "max(value) stands in a selection\n  hint: aggregate first: aggregate(…), or GROUP BY and HAVING",
    ),
    # Windows
    "a decreasing lower bound": (
        lambda: general((-1, 5), (1, 5), 1),
        "the lower bound decreases: window 1 has it at position 4, window 0 at position 5\n"
        "  hint: bounds never move back; use a factor of j that is not negative",
    ),
    "a decreasing upper bound": (
        lambda: general(("0 s", "0 s"), ("-2 s", "3 s"), "2 s"),
        "the upper bound decreases: window 1 has it at t0 + 1 SECOND, window 0 at t0 + 3 SECONDS\n"
        "  hint: bounds never move back; use a factor of j that is not negative",
    ),
    "a beginning after the end": (
        lambda: general((3, 0), (2, 4), 2),
        "window 5 begins at position 15, after its end at position 14\n"
        "  hint: the lower bound is at or before the upper one in every window",
    ),
    "an end that cannot be reached": (
        lambda: general(("2 s", "0 s"), ("3 s", "3 s"), "2 s"),
        "window 1 ends at t0 + 6 SECONDS but is evaluated at t0 + 5 SECONDS, before its end\n"
        "  hint: the end moves by at most the rate, so that it can be reached",
    ),
    "an end in the future": (
        lambda: from_to(5, -1, slide=2),
        "window 0 ends at position 2 but is evaluated at position 1, before its end\n"
        "  hint: the end moves by at most the rate, so that it can be reached",
    ),
    "a fixed window that ends before it begins": (
        lambda: fixed("2024-01-02", "2024-01-01"),
        "window 0 begins at 2024-01-02T00:00:00Z, after its end at 2024-01-01T00:00:00Z\n"
        "  hint: the lower bound is at or before the upper one in every window",
    ),
    "a rate of zero": (
        lambda: range_("1 min", slide="0 s"),
        "the rate is 0 SECONDS\n  hint: windows move on at a rate greater than 0",
    ),
    "a rate of zero rows": (
        lambda: rows(5, slide=0),
        "the rate is 0 ROWS\n  hint: windows move on at a rate greater than 0",
    ),
    "a negative rate": (
        lambda: general((1, 0), (1, 0), -1),
        "the rate is -1 ROW\n  hint: windows move on at a rate greater than 0",
    ),
    "a negative rate in time": (
        lambda: landmark("2024-01-01", "-5 min"),
        "the rate is -5 MINUTES\n  hint: windows move on at a rate greater than 0",
    ),
    "rows of nothing": (lambda: rows(0), "ROWS 0 holds nothing\n  hint: give a number of at least 1"),
    "a hop of nothing": (
        lambda: hop("0 s", "1 s"),
        "the size '0 s' is not positive\n  hint: give a duration greater than 0",
    ),
    "a tumble of nothing": (
        lambda: tumble("0 s"),
        "the size '0 s' is not positive\n  hint: give a duration greater than 0",
    ),
    "a negative delay": (
        lambda: rows(3).delayed(-1),
        "the delay is -1 ROW\n  hint: a window cannot be early",
    ),
    "an aperiodic schedule that goes back": (
        lambda: at_instants([sec(1), sec(3), sec(2)], lambda e: 0, lambda e: e),
        "evaluation 2 at 1970-01-01T00:00:02Z is not after evaluation 1 at 1970-01-01T00:00:03Z\n"
        "  hint: a schedule is an increasing list of instants",
    ),
    "an aperiodic bound that goes back": (
        lambda: at_instants([sec(1), sec(2)], lambda e: sec(1) - e, lambda e: e),
        "window 1, evaluated at 1970-01-01T00:00:02Z, has its lower bound before that of the window before it",
    ),
    "an aperiodic window that ends in the future": (
        lambda: at_instants([sec(1)], lambda e: 0, lambda e: e + 1),
        "window 0, evaluated at 1970-01-01T00:00:01Z, ends at 1970-01-01T00:00:01.000001Z, "
        "before which it cannot be known",
    ),
    "a loop that stands still": (
        lambda: for_loop(sec(1), lambda t: True, lambda t: t, lambda t: t, lambda t: t),
        "the loop (t = …; …; …) steps from 1970-01-01T00:00:01Z to 1970-01-01T00:00:01Z\n"
        "  hint: each value of the loop has to be later than the one before",
    ),
    "an unknown time zone": (
        lambda: two_rates("1 h", "1 min", ("07:00", "20:00"), "1 h", zone="Mars/Olympus"),
        "unknown time zone 'Mars/Olympus'\n  hint: give a name such as 'Europe/Paris'",
    ),
    "a distance without a location": (
        lambda: S[moving("50 km", "10 km")],
        "[RANGE BY '50 km' RATTR SPACE SLIDE BY '10 km' SATTR SPACE] measures distance, "
        "but the stream has no location\n"
        "  hint: declare LOCATION BY (lon, lat) on the stream",
    ),
    "a speed without a location": (
        lambda: S[rows(3)].aggregate("average_speed() AS v"),
        "line 1, column 1: average_speed() needs to know where a tuple is\n"
        "1 | average_speed() AS v\n"
        "  | ^^^^^^^^^^^^^\n"
        "  hint: declare LOCATION BY (lon, lat) on the stream, and keep both attributes",
    ),
    # Streams and relations
    "an aggregate over a bare stream": (
        lambda: GroupBy(S.operator, (), ()),
        "an aggregate over a bare stream never ends:\nSTREAM S\n"
        "  hint: take a window first, for example [RANGE 10 MINUTES] or [UNBOUNDED]",
    ),
    "a period of zero": (
        lambda: R.rstream(every="0 s"),
        "the period is 0 SECONDS\n  hint: emit at a period greater than 0",
    ),
    "a scan of period zero": (
        lambda: R.scanned("0 s"),
        "the scan is every 0 SECONDS\n  hint: scan at a period greater than 0",
    ),
    "a look into the future": (
        lambda: R.delayed("-1 min"),
        "D looks 1 MINUTE into the future\n  hint: f(t, i) ≤ (t, i): look back",
    ),
    "a right join of a stream": (
        lambda: S.join(R, on="sensor = id", how="right"),
        "a RIGHT JOIN of a stream with a relation would emit the relation's unmatched tuples\n"
        "  hint: take a window of the stream, and a streamer on top of the join",
    ),
    "a negative band": (
        lambda: S.band(S.select("sensor AS s2"), rows=-1, on="sensor = s2"),
        "the band is negative\n  hint: two tuples differ by at least 0",
    ),
    "sites that repeat": (
        lambda: sensed("road", "site INT, time TIMESTAMP, temp INT", every="1 min", sites=[1, 1]),
        "stream road: the sites (1, 1) are not a list of different sites",
    ),
    "a timestamp that is none": (
        lambda: stream("S", "ts STRING", timestamp="ts"),
        "stream S: 'ts' is STRING, not TIMESTAMP\n"
        "  hint: say how it is written: TIMESTAMP BY to_timestamp(ts, 'yyyy-MM-dd HH:mm'), or declare it TIMESTAMP "
        "with OPTIONS (timestampFormat = 'yyyy-MM-dd HH:mm')",
    ),
    # Time and space
    "a time that is NaN": (
        lambda: instant(math.nan),  # type: ignore[arg-type]
        "nan is not an exact time\n"
        "  hint: give ISO 8601 text, a datetime, or a whole number of microseconds since 1970",
    ),
    "a time as a float": (
        lambda: instant(1.5),  # type: ignore[arg-type]
        "1.5 is not an exact time\n"
        "  hint: give ISO 8601 text, a datetime, or a whole number of microseconds since 1970",
    ),
    "a time out of range": (
        lambda: instant(2**60),
        "the time 1152921504606846976 is out of range\n"
        "  hint: the timeline goes from 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999999Z",
    ),
    "a time that cannot be read": (
        lambda: instant("yesterday"),
        "cannot read 'yesterday' as a time (Invalid isoformat string: 'yesterday')\n"
        "  hint: write for example '2024-05-01T12:00:00Z'",
    ),
    "a time finer than microseconds": (
        lambda: instant("2024-05-01T12:00:00.1234567Z"),
        "'2024-05-01T12:00:00.1234567Z' is not a whole number of microseconds\n"
        "  hint: time is exact to the microsecond; give at most six decimals",
    ),
    "a duration finer than microseconds": (
        lambda: duration("0.0000001 s"),
        "'0.0000001 s' is not a whole number of microseconds\n"
        "  hint: time is exact to the microsecond; round the duration",
    ),
    "a duration without a unit": (
        lambda: duration("30"),
        "cannot read '30' as a duration\n  hint: write for example '30 seconds'",
    ),
    "a duration in months": (
        lambda: duration("2 months"),
        "unknown unit of time 'months' in '2 months'\n  hint: months and years have no fixed length; use days",
    ),
    "minutes that might be metres": (
        lambda: range_("10 m"),
        "unknown unit of time 'm' in '10 m'\n  hint: write 'min' for minutes; 'm' is metres",
    ),
    "a distance without a unit": (
        lambda: distance("50"),
        "cannot read '50' as a distance\n  hint: write for example '50 km' or '200 m'",
    ),
    "a region that is a line": (
        lambda: Region("coast", "LINESTRING (0 0, 1 1)"),
        "region coast is a LineString, which has no inside\n  hint: give a POLYGON or a MULTIPOLYGON",
    ),
    "a negative batch index": (lambda: BatchId(Instant(0), -1), "a batch index is 0, 1, 2, …, not -1"),
    # Data
    "positions that are not coherent with batches": (
        lambda: Stream((StreamTuple((1,), sec(6), 0, 0), StreamTuple((2,), sec(5), 0, 1))),
        "positions are not coherent with batches: position 1 is in (1970-01-01T00:00:05Z, 0), "
        "position 0 before it in (1970-01-01T00:00:06Z, 0)\n"
        "  hint: order the tuples by timestamp and batch before numbering them",
    ),
    "positions with a gap": (
        lambda: Stream((StreamTuple((1,), sec(6), 0, 1),)),
        "the tuple (1,) has position 1 where 0 is due\n  hint: number from 0",
    ),
    "a value of the wrong type": (
        lambda: run(R, {"R": [(1, "a"), ("2", "b")]}),
        "row 2 of relation R: '2' in 'id' is not an INT",
    ),
    "a value out of range": (
        lambda: run(R, {"R": [(2**31, "a")]}),
        "row 1 of relation R: 2147483648 in 'id' is not an INT",
    ),
    "a row that is too short": (
        lambda: run(R, {"R": [(1,)]}),
        "row 1 of relation R has 1 values, but 2 attributes are declared (id INT, place STRING)",
    ),
    "a row without a timestamp": (
        lambda: run(stream("T", "ts TIMESTAMP", timestamp="ts"), {"T": [(sec(1),), (None,)]}),
        "row 2 of stream T has no 'ts', so no timestamp",
    ),
    "a change that is neither": (
        lambda: run(relation("L", "a INT, op STRING, ts TIMESTAMP", change="op", at="ts"), {"L": [(1, "x", sec(1))]}),
        "row 1 of relation L: the change 'x' is neither '+' nor '-'",
    ),
    "a source without data": (
        lambda: run(S, {"T": []}),
        "there are no data for the source 'S'",
    ),
    "a sensed stream without an end": (
        lambda: run(sensed("road", "site INT, time TIMESTAMP, temp INT", every="1 min", sites=[1]), {}, t0=sec(0)),
        "the sensed stream road has no beginning or no end of its own\n"
        "  hint: give the start t0 and an end: START AT … and --until",
    ),
    "a division by zero": (
        lambda: run(S.select("value / (sensor - sensor) AS x"), {"S": single((1, 2.0, "a", 1))}),
        "division by zero, in value / (sensor - sensor)\n  hint: guard it: x / nullif(y, 0)",
    ),
    "an overflow": (
        lambda: run(S.select("sensor + 1 AS x"), {"S": single((2**31 - 1, 2.0, "a", 1))}),
        "2147483648 is out of range for INT, in sensor + 1\n  hint: CAST an operand to a wider type",
    ),
    "a past state that is in the future": (
        lambda: state(
            Domain(R.operator, Custom("tomorrow", lambda b: BatchId(Instant(b.t + 1), b.i), lambda b: b)),
            {"R": []},
            sec(1),
        ),
        "AT tomorrow: f(1970-01-01T00:00:01Z, ∞) = (1970-01-01T00:00:01.000001Z, ∞) is in the future\n"
        "  hint: f(t, i) ≤ (t, i)",
    ),
}


@pytest.mark.parametrize(("build", "message"), CASES.values(), ids=CASES.keys())
def test_bad_input_is_refused_with_a_message_that_helps(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(AstralError) as refused:
        build()
    assert str(refused.value) == message


def test_a_window_over_a_relation_is_refused() -> None:
    with pytest.raises(AstralError, match="a window takes a stream, and this is a relation:\nRELATION R\n"):
        Window(R.operator, last_batch())


def test_a_streamer_over_a_stream_is_refused() -> None:
    with pytest.raises(AstralError, match="a streamer takes a relation, and this is a stream:\nSTREAM S\n"):
        IStream(S.operator)


def test_two_bare_streams_without_a_band_are_refused() -> None:
    with pytest.raises(AstralError, match="two streams are joined within a band"):
        S.join(S.select("sensor AS s2"), on="sensor = s2")  # type: ignore[arg-type]
