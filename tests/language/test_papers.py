"""The queries of papers 001, 003 and 004 in text: they give the answers of those built by hand."""

from __future__ import annotations

import pytest

from astralq.algebra.base import Operator
from astralq.algebra.extents import relation, sensed, stream
from astralq.algebra.sources import Origin, RelationSource, SensedSource, StreamSource
from astralq.algebra.windows import moving, range_
from astralq.errors import AstralError
from astralq.language.script import ScriptError, read_script
from astralq.model import Data
from astralq.space import Region
from astralq.timeline import duration
from tests.language.support import bound
from tests.model.test_paper_001_queries import BUOYS, DESIGNATED, HALF_HOURLY, MEASURES, MINUTE, SST, hot, in_zone
from tests.model.test_paper_003 import ROAD, sensor
from tests.support import answer, at, given, sec, single

# 001 §2.2 and §7.1

BUOY_SOURCES = """
CREATE STREAM S (id INT, value {type}) FROM csv 's.csv' TIMESTAMP ON ARRIVAL;
CREATE RELATION Sensors (id INT, BuoyId INT, type STRING) FROM csv 'sensors.csv';
CREATE RELATION AnchBuoy (BuoyId INT, Loc INT) FROM csv 'buoys.csv';
CREATE VIEW known AS SELECT S.id, value, BuoyId, type FROM S JOIN Sensors ON S.id = Sensors.id;
"""


def zones(text: str) -> Operator:
    return bound(text, declared=BUOY_SOURCES.format(type="INT"))


def measures(text: str) -> Operator:
    return bound(text, declared=BUOY_SOURCES.format(type="DOUBLE"))


IN_ZONE = """SELECT BuoyId FROM AnchBuoy WHERE Loc = 7016
UNION ALL SELECT BuoyId FROM known [PARTITION BY id LAST ROW] WHERE value = 7016 AND type = 'GPS'"""
HOT = "SELECT id FROM known [PARTITION BY id LAST ROW] WHERE type = 'SST' AND value > 25"


def test_which_buoys_are_presently_in_zone_7016() -> None:
    for t in range(1, 8):
        assert at(zones(IN_ZONE), BUOYS, t) == at(in_zone(), BUOYS, t)
    assert at(zones(IN_ZONE), BUOYS, 5) == [(5,), (2,)]


def test_which_is_the_last_buoy_being_in_zone_7016() -> None:
    text = "SELECT BuoyId FROM (SELECT BuoyId FROM known WHERE value = 7016 AND type = 'GPS') [LAST ROW]"
    assert [at(zones(text), BUOYS, t) for t in (1, 7)] == [[(1,)], [(2,)]]


def test_the_mean_of_two_sensors_yesterday_at_20h() -> None:
    text = """SELECT mean FROM (SELECT avg(value) AS mean FROM S [PARTITION BY id LAST ROW] WHERE id IN (42, 44))
      AT TIMESTAMP '1970-01-01T20:00:00Z'"""
    hours = ((42, 5.0, 10), (43, 99.0, 18), (42, 10.0, 19), (44, 20.0, 20), (42, 50.0, 21), (44, 60.0, 30))
    data: Data = {"S": single(*((i, v, h * 3600) for i, v, h in hours))}
    assert at(measures(text), data, 30 * 3600) == [(15.0,)]


def test_every_30_minutes_the_mean_over_30_minutes() -> None:
    text = """RSTREAM(SELECT avg(value) AS mean FROM S [RANGE 30 MINUTES SLIDE 30 MINUTES] WHERE id = 42)
      EVERY 30 MINUTES"""
    by_hand = HALF_HOURLY.rstream(every="30 min")
    for until in (60, 120):
        assert answer(measures(text), SST, until=until * MINUTE) == answer(by_hand, SST, until=until * MINUTE)
    assert answer(measures(text), SST, until=60 * MINUTE) == [(30 * MINUTE, 0, 22.0), (60 * MINUTE, 0, 25.0)]


def test_data_from_sensors_above_25_degrees_at_start_time() -> None:
    found = answer(measures(f"SELECT id, value FROM S WHERE id IN ({HOT}) AT START"), DESIGNATED, t0=MINUTE)
    assert found == answer(MEASURES.lookup(hot().at_start(), how="semi"), DESIGNATED, t0=MINUTE)
    assert found == [(MINUTE, 0, 1, 26.0), (10 * MINUTE, 0, 1, 24.0), (40 * MINUTE, 0, 1, 27.0)]


def test_data_from_sensors_above_25_degrees() -> None:
    found = answer(measures(f"SELECT id, value FROM S WHERE id IN ({HOT})"), DESIGNATED)
    assert found == answer(MEASURES.lookup(hot(), how="semi"), DESIGNATED)
    assert found == [(MINUTE, 0, 1, 26.0), (20 * MINUTE, 0, 2, 30.0), (40 * MINUTE, 0, 1, 27.0)]


def test_every_30_minutes_data_from_designated_sensors() -> None:
    half_hour = range_("30 min", slide="30 min")
    for start, designated in (("", hot()), ("AT START", hot().at_start())):
        text = f"""RSTREAM(SELECT * FROM (SELECT * FROM S WHERE id IN ({HOT}) {start})
          [RANGE 30 MINUTES SLIDE 30 MINUTES]) EVERY 30 MINUTES"""
        by_hand = MEASURES.lookup(designated, how="semi")[half_hour].rstream(every="30 min")
        found = answer(measures(text), DESIGNATED, until=60 * MINUTE)
        assert found == answer(by_hand, DESIGNATED, until=60 * MINUTE) != []


# 003 Q1 to Q3

ROADS = """
CREATE STREAM road (site INT, time TIMESTAMP, temp INT, vibration INT)
  SENSED EVERY {every} AT SITES (1, 2) FROM python 'module:callable';
CREATE STREAM traffic (site INT, time TIMESTAMP, weight INT, vehicle INT) FROM csv 't.csv' TIMESTAMP ON ARRIVAL;
CREATE RELATION tempClass (op STRING, ts TIMESTAMP, temp INT, category STRING) FROM csv 'c.csv' CHANGES BY op AT ts;
"""
READINGS = {
    (1, 0): (10, 25),
    (2, 0): (60, 26),
    (1, 60): (12, 9),
    (2, 60): (7, 28),
    (1, 120): (15, 1),
    (2, 120): (9, 30),
}


def roads(text: str, every: str = "1 MINUTE") -> Operator:
    return bound(text, "sneeql", ROADS.format(every=every))


def test_q1_gives_the_strong_vibrations_of_cold_roads() -> None:
    """[003 §5] A stream query is a projection of a selection of what is acquired."""
    text = "SELECT road.time, road.site, road.vibration FROM road WHERE road.temp < 50 AND road.vibration > 20"
    by_hand = sensed("road", ROAD, every="1 min", sites=(1, 2)).where("temp < 50 AND vibration > 20")
    data: Data = {"road": sensor(READINGS)}
    found = answer(roads(text), data, t0=0, until=120)
    assert found == answer(by_hand.select("time, site, vibration"), data, t0=0, until=120)
    assert found == [(0, 0, sec(0), 1, 25), (60, 0, sec(60), 2, 28), (120, 0, sec(120), 2, 30)]


def test_q2_gives_the_extremes_where_and_when_a_vehicle_passed() -> None:
    """[003 §4] [003 §5] A window query is an aggregation of a selection of a product of windows."""
    text = """SELECT MIN(temp), MAX(vibration)
      FROM road [FROM NOW-10 TO NOW SLIDE 1 MIN], traffic [FROM NOW-10 TO NOW SLIDE 1 ROW]
      WHERE road.site=traffic.site AND road.time=traffic.time"""
    traffic = stream("traffic", "at_site INT, at_time TIMESTAMP, weight INT, vehicle INT")
    by_hand = (
        sensed("road", ROAD, every="1 min", sites=(1, 2))
        .windows("10 min", "0 min", "1 min")
        .product(traffic.windows(10, 0, 1))
        .where("site = at_site AND time = at_time")
        .aggregate("min(temp) AS coldest, max(vibration) AS strongest")
    )
    passing = given(
        (60, 0, (1, sec(60), 900, 1)),
        (60, 0, (2, sec(60), 800, 1)),
        (90, 0, (1, sec(90), 700, 2)),
        (120, 0, (2, sec(120), 600, 1)),
    )
    data: Data = {"road": sensor(READINGS), "traffic": passing}
    found = answer(roads(text), data, t0=0, until=120)
    assert found == answer(by_hand, data, t0=0, until=120)
    assert found == [(60, 0, [(12, 9)]), (60, 1, [(7, 28)]), (90, 0, [(7, 28)]), (120, 0, [(7, 30)])]
    assert roads(text).schema.names == ("MIN(temp)", "MAX(vibration)")


def test_q3_gives_the_new_categories_of_the_sites() -> None:
    text = """ISTREAM( SELECT road.site, tempClass.category
      FROM road [FROM NOW-5 TO NOW SLIDE 5 MIN], tempClass [SCAN 10 MIN] WHERE tempClass.temp = road.temp)"""
    classes = relation("tempClass", "op STRING, ts TIMESTAMP, class_temp INT, category STRING", change="op", at="ts")
    by_hand = (
        sensed("road", ROAD, every="5 min", sites=(1, 2))
        .windows("5 min", "0 min", "5 min")
        .product(classes.scan("10 min"))
        .where("class_temp = temp")
        .select("site, category")
        .istream()
    )
    readings = {
        (1, 0): (20, 0),
        (2, 0): (30, 0),
        (1, 300): (20, 0),
        (2, 300): (10, 0),
        (1, 600): (30, 0),
        (2, 600): (10, 0),
    }
    log = [("+", sec(0), 10, "cold"), ("+", sec(0), 20, "mild"), ("+", sec(0), 30, "hot")]
    data: Data = {"road": sensor(readings), "tempClass": log}
    found = answer(roads(text, "5 MINUTES"), data, t0=0, until=600)
    assert found == answer(by_hand, data, t0=0, until=600)
    assert found[:4] == [(0, 0, 1, "mild"), (0, 0, 2, "hot"), (300, 0, 1, "mild"), (300, 0, 2, "cold")]


# 003 §3, as it is printed

PRINTED = """
road: sensed (site:integer, time:integer, temp:integer, vibration:integer)
traffic: pushed (site:integer, time:integer, weight:integer, vehicle:integer)
tempClass: stored (temp:integer, category:string)
"""
SENSORS = "road TO python 'sensors:measure' EVERY 1 MINUTE AT SITES (1, 2)"


def test_the_three_declarations_are_read_as_they_are_printed() -> None:
    """[003 §3] A declared acquisition rate, a stream, a stored table; the sources are bound elsewhere."""
    text = f"{PRINTED} BIND {SENSORS}; BIND traffic TO csv 't.csv'; BIND tempClass TO csv 'c.csv';"
    road, traffic, classes = (d.source for d in read_script(text, "sneeql").sources)
    assert isinstance(road, SensedSource)
    assert (road.every, road.sites) == (duration("1 min"), (1, 2))
    assert isinstance(traffic, StreamSource)
    assert (traffic.timestamp, traffic.unit) == ("time", "SECONDS")
    assert isinstance(classes, RelationSource)
    assert classes.origin == Origin("csv", "c.csv")


def test_a_source_can_be_bound_from_outside() -> None:
    """[003 §3]"""
    script = read_script(f"{PRINTED} SELECT site FROM road", "sneeql", bind=[SENSORS])
    data: Data = {"road": sensor({(1, 0): (10, 25), (2, 0): (60, 26)})}
    assert answer(script.queries[0].operator, data, t0=0, until=0) == [(0, 0, 1), (0, 0, 2)]


def test_a_sensed_extent_needs_an_acquisition_rate() -> None:
    """[003 §3]"""
    with pytest.raises(AstralError, match="road has no acquisition rate"):
        read_script(PRINTED, "sneeql")


def test_only_what_is_declared_is_bound_and_once() -> None:
    """[003 §3]"""
    for wrong, message in {
        "rod TO csv 'x'": "'rod' is not declared",
        "tempClass TO csv 'x' LATENESS 1 SECOND": "tempClass is a relation, which has no LATENESS",
        "traffic TO csv 'x'": "'traffic' is bound twice",
    }.items():
        with pytest.raises(ScriptError) as e:
            read_script(f"{PRINTED} BIND traffic TO csv 't.csv'", "sneeql", bind=[SENSORS, wrong])
        assert message in str(e.value)


def test_tick_and_index_are_attributes_of_every_tuple() -> None:
    """[003 §3] "tick and index are implicitly-defined attributes of tagged tuples"; an index counts from 1."""
    text = f"{PRINTED} SELECT tick, road.index, site FROM road"
    query = read_script(text, "sneeql", bind=[SENSORS]).queries[0].operator
    found = answer(query, {"road": sensor(READINGS)}, t0=0, until=60)
    assert found == [(0, 0, sec(0), 1, 1), (0, 0, sec(0), 2, 2), (60, 0, sec(60), 3, 1), (60, 0, sec(60), 4, 2)]


def test_windows_are_joined_on_the_ticks_of_their_tuples() -> None:
    """[003 §3]"""
    text = """RSTREAM(SELECT road.site AS a, traffic.site AS b, traffic.index AS n
      FROM road [FROM NOW-1 TO NOW SLIDE 1 MIN], traffic [FROM NOW-1 TO NOW SLIDE 1 ROW]
      WHERE road.tick = traffic.tick AND road.site = traffic.site)"""
    query = read_script(f"{PRINTED} {text}", "sneeql", bind=[SENSORS]).queries[0].operator
    passing = [(1, 0, 900, 1), (2, 60, 800, 1)]
    data: Data = {"road": sensor(READINGS), "traffic": passing}
    assert answer(query, data, t0=0, until=60) == [(0, 0, 1, 1, 1), (60, 0, 1, 1, 1), (60, 0, 2, 2, 2)]


# 004 Q1 to Q3, in the paper's own words

MOVING = """
CREATE REGION East_China_Sea AS 'POLYGON ((0 0, 10 0, 10 10, 0 10, 0 0))';
CREATE STREAM Stream_car (ID STRING, x DOUBLE, y DOUBLE)
  FROM csv 'c.csv' TIMESTAMP ON ARRIVAL LOCATION BY (x, y) PLANAR;
CREATE STREAM Moving_Objects_Stream (ID STRING, x DOUBLE, y DOUBLE)
  FROM csv 'm.csv' TIMESTAMP ON ARRIVAL LOCATION BY (x, y) PLANAR;
"""
CARS = stream("Stream_car", "ID STRING, x DOUBLE, y DOUBLE", location=("x", "y"), planar=True)
OBJECTS = stream("Moving_Objects_Stream", "ID STRING, x DOUBLE, y DOUBLE", location=("x", "y"), planar=True)
DRIVE = ((0.0, 0), (10.0, 10), (20.0, 15), (30.0, 25), (40.0, 30), (50.0, 60), (60.0, 85))
TRIP: Data = {"Stream_car": single(*(("mycar", km * 1000, 0.0, minute * MINUTE) for km, minute in DRIVE))}


def moved(text: str) -> Operator:
    return bound(text, declared=MOVING)


def test_q1_gives_the_average_speed_of_the_last_hour_every_ten_minutes() -> None:
    """[004 Q1] [004 M_R2R AvgSpd] Spd = distance ÷ 60 minutes; mycar stands there without quotes."""
    text = "SELECT RStream(AvgSpd(R)) FROM R=Stream_car [RANGE ‘60 minutes’ SLIDE ‘10 minutes’] WHERE R.ID=mycar"
    found = answer(moved(text), TRIP)
    assert found == answer(moved(text.replace("mycar", "‘mycar’")), TRIP)
    assert found == [
        (0, 0, 0.0),
        (10 * MINUTE, 0, 10.0),
        (20 * MINUTE, 0, 20.0),
        (30 * MINUTE, 0, 40.0),
        (60 * MINUTE, 0, 50.0),
        (70 * MINUTE, 0, 40.0),  # from 10 km at minute 10 to 50 km at minute 60
        (80 * MINUTE, 0, 20.0),  # from 30 km at minute 25 to 50 km at minute 60
    ]


def test_avgspd_over_rows_is_by_the_time_between_the_first_and_the_last_tuple() -> None:
    text = "SELECT RStream(AvgSpd(R)) FROM R=Stream_car [ROWS 2]"
    assert [v for _, _, v in answer(moved(text), TRIP)] == [None, 60.0, 120.0, 60.0, 120.0, 20.0, 24.0]


def test_a_name_that_looks_like_an_attribute_is_no_text() -> None:
    with pytest.raises(AstralError, match="unknown attribute 'IDs'"):
        moved("SELECT RStream(AvgSpd(R)) FROM R=Stream_car [ROWS 2] WHERE R.ID = IDs")


def test_q2_gives_the_trajectory_inside_the_sea() -> None:
    """[004 M_R2R Stamps] [004 M_R2S RStream] "Re-evaluate completely its output" for each tuple that is added."""
    text = """SELECT RStream(Stamps(*)) FROM Moving_Objects_Stream [RANGE BY East_China_Sea RATTR SPACE]
      WHERE ID='o1'"""
    sea = Region("East_China_Sea", "POLYGON ((0 0, 10 0, 10 10, 0 10, 0 0))")
    by_hand = OBJECTS[sea].where("ID = 'o1'").select("x, y, _t AS t").rstream()
    places = single(("o1", 1.0, 1.0, 1), ("o2", 2.0, 2.0, 2), ("o1", 15.0, 5.0, 3), ("o1", 4.0, 4.0, 4))
    data: Data = {"Moving_Objects_Stream": places}
    assert answer(moved(text), data) == answer(by_hand, data)
    assert answer(moved(text), data) == [
        (1, 0, 1.0, 1.0, sec(1)),
        (4, 0, 1.0, 1.0, sec(1)),
        (4, 0, 4.0, 4.0, sec(4)),
    ]


def test_q3_gives_the_average_speed_of_the_last_50_km_every_10_km() -> None:
    """[004 Q3] As it is printed, mycar among the results."""
    by_hand = CARS[moving("50 km", "10 km")].aggregate("average_speed() AS v").select("'mycar' AS mycar, v")
    assert answer(moved(Q3), TRIP) == answer(by_hand.rstream(on_evaluation=True), TRIP)
    speeds = [None, 60.0, 80.0, 72.0, 80.0, 50.0, 40.0]
    assert answer(moved(Q3), TRIP) == [(m * MINUTE, 0, "mycar", v) for (_, m), v in zip(DRIVE, speeds, strict=True)]


Q3 = (
    """SELECT RStream(mycar, AvgSpd(R)) FROM R=Stream_car [RANGE BY ’50 km’ RATTR SPACE SLIDE BY ’10 km’ SATTR SPACE]"""
)


def test_q3_answers_every_10_km_also_at_a_constant_speed() -> None:
    """[004 Q3] "Every time the monitored car moves 10 km ahead the output result is re-evaluated"."""
    cruise: Data = {"Stream_car": single(*(("mycar", km * 1000.0, 0.0, km * MINUTE) for km in range(0, 35, 5)))}
    assert answer(moved(Q3), cruise) == [
        (0, 0, "mycar", None),
        (10 * MINUTE, 0, "mycar", 60.0),
        (20 * MINUTE, 0, "mycar", 60.0),
        (30 * MINUTE, 0, "mycar", 60.0),
    ]


def test_a_spatial_window_can_stand_over_what_q3_emits() -> None:
    """[004 §3.1] R2S adds a spatial stamp: where the car is when a result is emitted."""
    text = f"SELECT * FROM ({Q3}) [RANGE BY '20 km' RATTR SPACE SLIDE BY '20 km' SATTR SPACE]"
    query = moved(text)
    assert query.schema.names == ("mycar", "AvgSpd(R)", "x", "y")
    assert at(query, TRIP, 30 * MINUTE) == [
        ("mycar", speed, km * 1000.0, 0.0) for speed, km in ((80.0, 20), (72.0, 30), (80.0, 40))
    ]


def test_each_object_has_its_own_spatial_stamp() -> None:
    """[004 §3.1] What tells objects apart has to be among the results."""
    inner = "RSTREAM(SELECT {} AvgSpd(R) AS v FROM R = Stream_car [PARTITION BY ID ROWS 2] GROUP BY ID)"
    outer = "SELECT * FROM ({}) [PARTITION BY ID RANGE BY '5 m' RATTR SPACE SLIDE BY '1 m' SATTR SPACE]"
    data: Data = {"Stream_car": single(("a", 0.0, 0.0, 0), ("b", 9.0, 0.0, 0), ("a", 1.0, 0.0, 1), ("b", 8.0, 0.0, 2))}
    places = {(r[0], r[2]) for r in at(moved(outer.format(inner.format("ID,"))), data, 2)}
    assert places == {("a", 0.0), ("a", 1.0), ("b", 9.0), ("b", 8.0)}
    with pytest.raises(AstralError, match="has no location"):
        moved("SELECT * FROM (" + inner.format("") + ") [RANGE BY '5 m' RATTR SPACE SLIDE BY '1 m' SATTR SPACE]")


def test_a_region_is_looked_at_every_ten_minutes() -> None:
    """[004 §3.2.1] With a slide the tuples inside so far are shown at its instants."""
    text = "SELECT x FROM Moving_Objects_Stream [RANGE BY East_China_Sea RATTR SPACE SLIDE BY '10 minutes' SATTR TIME]"
    data: Data = {"Moving_Objects_Stream": single(("o1", 1.0, 1.0, 0), ("o1", 2.0, 1.0, 60), ("o1", 20.0, 1.0, 700))}
    assert answer(moved(text), data) == [("+", 0, 0, 1.0), ("+", 600, 0, 2.0)]
