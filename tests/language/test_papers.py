"""The queries of papers 001, 003 and 004 in text: they give the answers of those built by hand."""

from __future__ import annotations

from astralq.algebra.base import Operator
from astralq.algebra.fluent import relation, sensed, stream
from astralq.algebra.windows import moving, range_
from astralq.model import Data
from astralq.space import Region
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
    text = "SELECT road.time, road.site, road.vibration FROM road WHERE road.temp < 50 AND road.vibration > 20"
    by_hand = sensed("road", ROAD, every="1 min", sites=(1, 2)).where("temp < 50 AND vibration > 20")
    data: Data = {"road": sensor(READINGS)}
    found = answer(roads(text), data, t0=0, until=120)
    assert found == answer(by_hand.select("time, site, vibration"), data, t0=0, until=120)
    assert found == [(0, 0, sec(0), 1, 25), (60, 0, sec(60), 2, 28), (120, 0, sec(120), 2, 30)]


def test_q2_gives_the_extremes_where_and_when_a_vehicle_passed() -> None:
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
    text = "SELECT RStream(AvgSpd(R)) FROM R=Stream_car [RANGE ‘60 minutes’ SLIDE ‘10 minutes’] WHERE R.ID='mycar'"
    by_hand = CARS[range_("60 min", slide="10 min")].where("ID = 'mycar'").aggregate("average_speed() AS v").rstream()
    found = answer(moved(text), TRIP)
    assert found == answer(by_hand, TRIP)
    assert found == [
        (0, 0, None),
        (10 * MINUTE, 0, 60.0),
        (20 * MINUTE, 0, 80.0),  # 20 km in 15 min; at 30 min it is 40 km in 30 min
        (60 * MINUTE, 0, 50.0),
        (70 * MINUTE, 0, 48.0),  # 40 km from minute 10 to 60
        (80 * MINUTE, 0, 20 / (35 / 60)),  # 20 km from minute 25 to 60
    ]


def test_q2_gives_the_trajectory_inside_the_sea() -> None:
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
    text = """SELECT RStream(AvgSpd(R)) FROM R=Stream_car
      [RANGE BY ’50 km’ RATTR SPACE SLIDE BY ’10 km’ SATTR SPACE]"""
    by_hand = CARS[moving("50 km", "10 km")].aggregate("average_speed() AS v").rstream()
    assert answer(moved(text), TRIP) == answer(by_hand, TRIP)
    speeds = [None, 60.0, 80.0, 72.0, 80.0, 50.0, 40.0]
    assert answer(moved(text), TRIP) == [(m * MINUTE, 0, v) for (_, m), v in zip(DRIVE, speeds, strict=True)]
