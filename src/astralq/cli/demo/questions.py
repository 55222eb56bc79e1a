"""The questions of the demo: in words, as queries, and how their answers are shown."""

from __future__ import annotations

from dataclasses import dataclass

DECLARED = """\
CREATE STREAM measures (sensor INT, value DOUBLE, ts TIMESTAMP)
  FROM csv 'measures' OPTIONS (header = 'true')
  TIMESTAMP BY ts POSITION BY sensor LATENESS 2 MINUTES;
CREATE STREAM positions (buoy INT, lon DOUBLE, lat DOUBLE, zone INT,
                         ts TIMESTAMP)
  FROM csv 'positions.csv' OPTIONS (header = 'true')
  TIMESTAMP BY ts LOCATION BY (lon, lat);
CREATE RELATION buoys (op STRING, buoy INT, kind STRING, zone INT,
                       ts TIMESTAMP)
  FROM csv 'buoys.csv' OPTIONS (header = 'true')
  CHANGES BY op AT ts KEY (buoy);
CREATE RELATION sensors (sensor INT, buoy INT, type STRING, unit STRING)
  FROM csv 'sensors.csv' OPTIONS (header = 'true');
"""

HOT = """\
START AT TIMESTAMP '2026-03-01T00:00:00Z';
CREATE VIEW hot AS
  SELECT sensor FROM measures [PARTITION BY sensor LAST ROW]
  JOIN sensors USING (sensor) WHERE type = 'SST' AND value >= 25;
START AT TIMESTAMP '2026-03-01T16:00:00Z';
"""
"""The sensors that designate, with the history since midnight, and the start of what they designate."""


@dataclass(frozen=True)
class Asked:
    """A question; a state is asked for at an instant, anything else up to one."""

    name: str
    words: str
    query: str
    at: str | None = None
    until: str | None = None
    bars: str | None = None  # the column that is drawn as bars
    track: int | None = None  # the buoy whose track is drawn
    remark: str = ""

    @property
    def text(self) -> str:
        """The file: how it is to be run, the question, the sources, and the query."""
        comments = [f"-- {line}" for line in self.words.splitlines()]
        if self.until is not None:
            comments = [f"-- until: {self.until}", *comments]
        return "\n".join([*comments, "", DECLARED, self.query, ""])


QUESTIONS = (
    Asked(
        "1_present",
        "Which buoys are presently, at noon, in zone 7016?\n(a present query, 001 §7.1)",
        """\
SELECT buoy FROM buoys WHERE zone = 7016
UNION ALL
SELECT buoy FROM positions [PARTITION BY buoy LAST ROW]
  WHERE zone = 7016;""",
        at="2026-03-01T12:00:00Z",
        remark="Anchored ones by their deployment, drifting ones by their last position.",
    ),
    Asked(
        "2_past_and_present",
        "Which drifting buoy was last in zone 7015, and when?\n(past and present, 001 §7.1)",
        """\
SELECT buoy, ts FROM (SELECT * FROM positions WHERE zone = 7015) [LAST ROW];""",
        at="2026-03-01T12:00:00Z",
    ),
    Asked(
        "3_historic",
        "What was the mean of sensors 42 and 44 at 8 o'clock?\n(a historic query, 001 §2.2)",
        """\
SELECT mean
FROM (SELECT avg(value) AS mean
      FROM measures [PARTITION BY sensor LAST ROW]
      WHERE sensor IN (42, 44))
  AT TIMESTAMP '2026-03-01T08:00:00Z';""",
        at="2026-03-01T20:00:00Z",
        remark="Asked at 20:00; what is past stays known.",
    ),
    Asked(
        "4_continuous",
        "Every 30 minutes, the mean over 30 minutes of the temperature\n"
        "measured by sensor 42. (a continuous query, 001 §2.2)",
        """\
RSTREAM(
  SELECT round(avg(value), 2) AS mean, count(*) AS n
  FROM measures [RANGE 30 MINUTES SLIDE 30 MINUTES]
  WHERE sensor = 42
) EVERY 30 MINUTES;""",
        until="2026-03-01T12:00:00Z",
        bars="mean",
    ),
    Asked(
        "5_designated_at_start",
        "Every 30 minutes, data from the temperature sensors that measured\n"
        "more than 25 °C when the query began.\n(by designation, fixed at the start, 001 §7.1)",
        HOT
        + """\
RSTREAM(
  SELECT sensor, round(avg(value), 2) AS mean
  FROM (SELECT sensor, value FROM measures
        WHERE sensor IN (SELECT sensor FROM hot) AT START)
    [RANGE 30 MINUTES SLIDE 30 MINUTES]
  GROUP BY sensor
) EVERY 30 MINUTES;""",
        until="2026-03-01T18:00:00Z",
        remark="The same sensors to the end, also when it gets colder.",
    ),
    Asked(
        "6_designated_live",
        "The same for the sensors that measure more than 25 °C just then.\n(by designation, live, 001 §7.1)",
        HOT
        + """\
RSTREAM(
  SELECT sensor, round(avg(value), 2) AS mean, count(*) AS n
  FROM (SELECT sensor, value FROM measures
        WHERE sensor IN (SELECT sensor FROM hot))
    [RANGE 30 MINUTES SLIDE 30 MINUTES]
  GROUP BY sensor
) EVERY 30 MINUTES;""",
        until="2026-03-01T18:00:00Z",
        remark="Sensors drop out when they get colder, and come back.",
    ),
    Asked(
        "7_last_30_every_minute",
        "Every minute, the warmest of the last 30 temperatures, and since when\n"
        "they are: counted in rows, evaluated by the clock. (000 §6.1.5)",
        """\
RSTREAM(
  SELECT count(*) AS n, max(value) AS warmest, min(ts) AS oldest
  FROM (SELECT m.value, m.ts FROM measures m
        LOOKUP JOIN sensors s ON m.sensor = s.sensor WHERE s.type = 'SST')
    [ROWS 30 SLIDE 1 MINUTE]
) EVERY 1 MINUTE;""",
        until="2026-03-01T00:10:00Z",
    ),
    Asked(
        "8_last_50_km",
        "Every 10 km, how fast drifting buoy 3 was on its last 50 km, in km/h.\n"
        "(a window that moves with the distance travelled, 004 §3.2.2)",
        """\
RSTREAM(
  SELECT round(average_speed(), 2) AS speed, count(*) AS fixes
  FROM (SELECT * FROM positions WHERE buoy = 3)
    [RANGE BY '50 km' RATTR SPACE SLIDE BY '10 km' SATTR SPACE]
);""",
        track=3,
    ),
)

LIVE = """\
RSTREAM(
  SELECT s.type, count(*) AS n, round(avg(m.value), 2) AS mean
  FROM measures [TUMBLE 30 MINUTES] m JOIN sensors s ON m.sensor = s.sensor
  GROUP BY s.type
) EVERY 30 MINUTES;"""
"""What is answered live: closed half hours, by kind of sensor."""
