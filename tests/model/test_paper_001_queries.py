"""Paper 001, sections 2.2 and 7.1: the kinds of queries, each on small data."""

from __future__ import annotations

from astralq.algebra import RelationQuery, last_row, range_, relation, rows, stream, unbounded
from astralq.model import Data
from tests.support import answer, at, sec, single

MINUTE, HOUR = 60, 3600

S = stream("S", "id INT, value INT")
SENSORS = relation("Sensors", "id INT, BuoyId INT, type STRING")
ANCHORED = relation("AnchBuoy", "BuoyId INT, Loc INT")

BUOYS: Data = {
    "S": single(
        (10, 7016, 1),  # buoy 1 enters the zone
        (20, 7016, 2),  # buoy 2 enters the zone
        (11, 7016, 3),  # buoy 1's SST sensor, which measures no zone
        (10, 7020, 4),  # buoy 1 leaves
        (20, 7021, 6),  # buoy 2 leaves
        (10, 7022, 7),
    ),
    "Sensors": [(10, 1, "GPS"), (11, 1, "SST"), (20, 2, "GPS")],
    "AnchBuoy": [(5, 7016), (6, 7020)],
}


def in_zone() -> RelationQuery:
    """The anchored buoys in zone 7016, then the drifting ones whose last position is there."""
    last = S.join(SENSORS)[rows(1).by("id")]
    drifting = last.where("value = 7016 AND type = 'GPS'").select("BuoyId")
    return ANCHORED.where("Loc = 7016").select("BuoyId").union(drifting)


def test_an_instantaneous_query_is_evaluated_at_a_time_on_what_is_there() -> None:
    """[001 D1] [001 §2.2] The same question has another answer at each time."""
    assert [at(in_zone(), BUOYS, t) for t in (1, 2, 4, 6)] == [[(5,), (1,)], [(5,), (1,), (2,)], [(5,), (2,)], [(5,)]]


def test_which_buoys_are_presently_in_zone_7016() -> None:
    """[001 D2] [001 §7.1] At 5 s: the anchored buoy 5 and buoy 2; buoy 1 has left."""
    assert at(in_zone(), BUOYS, 5) == [(5,), (2,)]


def test_selecting_before_the_window_finds_the_buoys_that_ever_were_in_the_zone() -> None:
    """[001 §7.1] The first formula as printed answers another question (SEMANTICS §5)."""
    printed = S.where("value = 7016").join(SENSORS.where("type = 'GPS'"))[rows(1).by("id")].select("BuoyId")
    assert at(printed, BUOYS, 7) == [(1,), (2,)]


def test_which_is_the_last_buoy_being_in_zone_7016() -> None:
    """[001 D1] [001 §2.2] [001 §7.1] [L] over the history: at 7 s the zone is empty, and buoy 2 was the last in it."""
    history = S.join(SENSORS)[unbounded()]
    last = history.istream().where("value = 7016 AND type = 'GPS'")[last_row()].select("BuoyId")
    assert at(last, BUOYS, 1) == [(1,)]
    assert at(last, BUOYS, 7) == [(2,)]


MEASURES = stream("S", "id INT, value DOUBLE")


def test_the_mean_of_two_sensors_yesterday_at_20h() -> None:
    """[001 D3] [001 §2.2] The last measures of 42 and 44 as of 20:00, asked the day after."""
    at_20h = sec(20 * HOUR)
    last = MEASURES[rows(1).by("id")].where("id IN (42, 44)").aggregate("avg(value) AS mean")
    data = {
        "S": single(
            (42, 5.0, 10 * HOUR),
            (43, 99.0, 18 * HOUR),
            (42, 10.0, 19 * HOUR),
            (44, 20.0, 20 * HOUR),
            (42, 50.0, 21 * HOUR),
            (44, 60.0, 30 * HOUR),
        )
    }
    assert at(last.at(at_20h), data, 30 * HOUR) == [(15.0,)]
    assert at(last, data, 30 * HOUR) == [(55.0,)]


HALF_HOURLY = MEASURES[range_("30 min", slide="30 min")].where("id = 42").aggregate("avg(value) AS mean")
SST = {
    "S": single(
        (42, 20.0, 5 * MINUTE),
        (43, 99.0, 10 * MINUTE),
        (42, 22.0, 20 * MINUTE),
        (42, 24.0, 30 * MINUTE),
        (42, 26.0, 45 * MINUTE),
    )
}


def test_every_30_minutes_the_mean_over_30_minutes() -> None:
    """[001 D4] [001 §2.2] [0, 30] has 20, 22, 24; [30, 60] has 24, 26: both bounds are closed."""
    assert answer(HALF_HOURLY.rstream(every="30 min"), SST, until=60 * MINUTE) == [
        (30 * MINUTE, 0, 22.0),
        (60 * MINUTE, 0, 25.0),
    ]


def test_a_continuous_query_goes_on_without_data() -> None:
    """[001 D4] A new item every 30 minutes; the mean over nothing is NULL (SEMANTICS §1)."""
    assert answer(HALF_HOURLY.rstream(every="30 min"), SST, until=120 * MINUTE)[2:] == [
        (90 * MINUTE, 0, None),
        (120 * MINUTE, 0, None),
    ]


def hot() -> RelationQuery:
    """The SST sensors whose last measure is more than 25 °C."""
    last = MEASURES.join(SENSORS)[rows(1).by("id")]
    return last.where("type = 'SST' AND value > 25").select("id")


DESIGNATED: Data = {
    "S": single(
        (1, 26.0, 1 * MINUTE),
        (2, 20.0, 2 * MINUTE),
        (1, 24.0, 10 * MINUTE),
        (2, 30.0, 20 * MINUTE),
        (3, 80.0, 25 * MINUTE),
        (1, 27.0, 40 * MINUTE),
        (2, 19.0, 50 * MINUTE),
    ),
    "Sensors": [(1, 10, "SST"), (2, 10, "SST"), (3, 10, "W")],
}


def test_data_from_sensors_above_25_degrees_at_start_time() -> None:
    """[001 D5] [001 §7.1] At t0 only sensor 1 is hot: its data go on below 25, the others' never come."""
    query = MEASURES.lookup(hot().at_start(), how="semi")
    assert answer(query, DESIGNATED, t0=MINUTE) == [
        (1 * MINUTE, 0, 1, 26.0),
        (10 * MINUTE, 0, 1, 24.0),
        (40 * MINUTE, 0, 1, 27.0),
    ]


def test_without_a_given_start_designation_is_at_the_first_observed_instant() -> None:
    """[001 D5] START is then the first batch of the sources (SEMANTICS §1)."""
    query = MEASURES.lookup(hot().at_start(), how="semi")
    assert [v for *_, v in answer(query, DESIGNATED)] == [26.0, 24.0, 27.0]


def test_data_from_sensors_above_25_degrees() -> None:
    """[001 D5] [001 §7.1] A sensor is removed when it drops under 25 and added when it exceeds it."""
    query = MEASURES.lookup(hot(), how="semi")
    assert answer(query, DESIGNATED) == [
        (1 * MINUTE, 0, 1, 26.0),
        (20 * MINUTE, 0, 2, 30.0),
        (40 * MINUTE, 0, 1, 27.0),
    ]


def test_every_30_minutes_data_from_sensors_above_25_degrees_at_start_time() -> None:
    """[001 D5] [001 §2.2] The designated data of each half hour."""
    designated = MEASURES.lookup(hot().at_start(), how="semi")
    periodic = designated[range_("30 min", slide="30 min")].rstream(every="30 min")
    assert answer(periodic, DESIGNATED, until=60 * MINUTE) == [
        (30 * MINUTE, 0, 1, 26.0),
        (30 * MINUTE, 0, 1, 24.0),
        (60 * MINUTE, 0, 1, 27.0),
    ]


def test_every_30_minutes_data_from_sensors_above_25_degrees() -> None:
    """[001 D5] [001 §2.2] The set of sensors follows their measures."""
    periodic = MEASURES.lookup(hot(), how="semi")[range_("30 min", slide="30 min")].rstream(every="30 min")
    assert answer(periodic, DESIGNATED, until=60 * MINUTE) == [
        (30 * MINUTE, 0, 1, 26.0),
        (30 * MINUTE, 0, 2, 30.0),
        (60 * MINUTE, 0, 1, 27.0),
    ]


def test_a_designated_buoy_sends_all_its_data() -> None:
    """[001 D5] The designating query may speak of other sources: the buoys deployed at start."""
    deployed = relation("Deployed", "op STRING, ts TIMESTAMP, id INT", change="op", at="ts")
    data: Data = {
        "S": single((1, 1.0, 2), (2, 2.0, 3), (1, 3.0, 5), (2, 4.0, 6)),
        "Deployed": [("+", sec(1), 1), ("-", sec(4), 1), ("+", sec(4), 2)],
    }
    at_start, live = (MEASURES.lookup(d, how="semi") for d in (deployed.at_start(), deployed))
    assert answer(at_start, data, t0=1) == [(2, 0, 1, 1.0), (5, 0, 1, 3.0)]
    assert answer(live, data, t0=1) == [(2, 0, 1, 1.0), (6, 0, 2, 4.0)]


def test_designation_at_start_may_look_into_a_history_that_started_earlier() -> None:
    """[001 D5] [001 §7.1] The history began at th = 0; at t0 = 30 min the last measures designate sensor 2."""
    query = MEASURES.lookup(hot().started_at(sec(0)).at_start(), how="semi")
    assert answer(query, DESIGNATED, t0=30 * MINUTE) == [(50 * MINUTE, 0, 2, 19.0)]


def test_without_a_history_a_query_knows_only_what_has_come_since_its_start() -> None:
    """[001 D5] Tuples before t0 are ignored (SEMANTICS §1): at 30 min nothing designates anything."""
    query = MEASURES.lookup(hot().at_start(), how="semi")
    assert answer(query, DESIGNATED, t0=30 * MINUTE) == []
