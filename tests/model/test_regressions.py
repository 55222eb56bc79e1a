"""What once went wrong, in its smallest form."""

from __future__ import annotations

from decimal import Decimal

import pytest

from astralq import at_instants, for_loop, relation, rows, stream, two_rates
from astralq.algebra.schedules import Measure, TimeOfDay
from astralq.errors import AstralError
from astralq.schema import Schema
from astralq.timeline import Instant, duration, instant
from tests.support import answer, at, given, sec, single

S = stream("S", "v INT")
THREE = {"S": single((1, 1), (2, 3), (3, 5))}


def test_a_scan_at_instant_zero_is_a_scan() -> None:
    r = relation("R", "a INT, since TIMESTAMP", valid_from="since").select("a")
    assert at(r.scanned("10 s"), {"R": [(1, sec(-10)), (2, sec(-3))]}, 5, t0=-10) == [(1,), (2,)]


def test_a_run_that_ends_before_it_starts_observes_nothing() -> None:
    assert answer(S, THREE, until=0) == []
    assert answer(S[rows(1)].rstream(), THREE, t0=3, until=1) == []


def test_unmatched_right_tuples_come_last_in_nested_outer_joins() -> None:
    a, b, c = relation("A", "a INT"), relation("B", "b INT"), relation("C", "c INT")
    joined = a.join(b, on="a = b", how="full").join(c, on="b = c + 100", how="full")
    assert at(joined, {"A": [(1,)], "B": [(7,)], "C": [(3,), (9,)]}, 0) == [
        (1, None, None),
        (None, 7, None),
        (None, None, 3),
        (None, None, 9),
    ]


def test_an_aperiodic_window_of_fixed_width_holds_the_last_tuples_of_its_batch() -> None:
    two = S[at_instants([sec(2)], lambda _: 0, lambda _: 1, measure=Measure.POSITION)]
    assert at(two, {"S": given((1, 0, (1,)), (1, 0, (2,)), (1, 0, (3,)), (1, 0, (4,)))}, 2) == [(3,), (4,)]


@pytest.mark.parametrize(
    ("zone", "start", "end", "begin", "finish"),
    [
        ("Europe/Paris", "02:30", "04:00", "2024-10-26T12:00Z", "2024-10-27T06:00Z"),
        ("Europe/Paris", "01:30", "02:30", "2024-03-30T12:00Z", "2024-03-31T06:00Z"),
        ("America/New_York", "01:30", "02:30", "2024-11-02T12:00Z", "2024-11-03T12:00Z"),
        ("America/New_York", "22:00", "02:15", "2024-03-09T12:00Z", "2024-03-10T12:00Z"),
    ],
)
def test_two_rates_are_right_when_clocks_change(zone: str, start: str, end: str, begin: str, finish: str) -> None:
    schedule = two_rates("1 h", "5 min", (start, end), "7 min", zone=zone).schedule
    assert isinstance(schedule, TimeOfDay)
    t0, last = instant(begin), instant(finish)
    evaluations = list(schedule.between(t0, t0, last))
    for t in range(t0, last, duration("1 min")):
        assert schedule.last(t0, Instant(t)) == max(e for e in evaluations if e <= t)


def test_a_bound_that_goes_back_late_is_an_error_in_the_run_that_sees_it() -> None:
    late = for_loop(
        sec(0),
        lambda t: t < sec(5000),
        lambda t: Instant(t + sec(1)),
        lambda _: sec(0),
        lambda t: t if t < sec(2000) else sec(0),
    )
    assert at(S[late], THREE, 1999) == [(1,), (2,), (3,)]
    with pytest.raises(AstralError, match="window 2000, evaluated at 1970-01-01T00:33:20Z, has its upper bound before"):
        at(S[late], THREE, 3000)


def test_names_change_all_at_once() -> None:
    r = relation("R", "a INT, b INT")
    assert r.rename({"a": "b", "b": "a"}).schema == Schema.parse("b INT, a INT")
    with pytest.raises(AstralError, match="unknown attribute 'c'"):
        r.rename({"a": "c", "c": "d"})


def test_a_change_that_changes_nothing_still_lengthens_the_run() -> None:
    r = relation("R", "a INT, op STRING, ts TIMESTAMP", change="op", at="ts", key="a")
    log = [(1, "+", sec(1)), (2, "-", sec(3))]
    assert [t for t, *_ in answer(r.rstream(every="1 s"), {"R": log})] == [1, 2, 3]


def test_a_spread_of_a_stream_that_begins_at_a_later_batch_loses_nothing() -> None:
    assert answer(S.spread(), {"S": given((0, 1, (7,)))}) == [(0, 0, 7)]


def test_a_location_that_is_not_finite_has_not_moved() -> None:
    s = stream("S", "x DOUBLE, y DOUBLE", location=("x", "y"))
    path = s[rows(9)].aggregate("path_length() AS d")
    assert at(path, {"S": single((0.0, 0.0, 1), (float("nan"), 0.0, 2), (float("inf"), 0.0, 3))}, 3) == [(0.0,)]


def test_decimals_of_38_digits_are_exact() -> None:
    s = relation("R", "d DECIMAL(38, 0)")
    big = Decimal("1" * 30)
    total = s.aggregate("sum(d) AS s", "min(-d) AS m")
    expected = [(Decimal("1" * 28 + "21"), Decimal("-" + "1" * 30))]
    assert at(total, {"R": [(big,), (Decimal(3),), (Decimal(7),)]}, 0) == expected


def test_averages_are_rounded_once() -> None:
    r = relation("R", "d DOUBLE")
    assert at(r.aggregate("avg(d) AS a"), {"R": [(0.1,), (0.2,), (0.3,)]}, 0) == [(0.2,)]
    assert at(r.aggregate("avg(d) AS a"), {"R": [(1.7e308,), (1.7e308,)]}, 0) == [(1.7e308,)]
