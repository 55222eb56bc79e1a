"""Road segments of Aarhus: stored facts about each, late and repeated rows, and the weather beside them.

The extID of the measurements is not that of the metadata; what joins them is REPORT_ID.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.real.support import answer, needs_data, path, records

pytestmark = needs_data

FILE = "aarhus_traffic_20sensors.csv.gz"
METADATA = "aarhus_traffic_metadata.csv"
WEATHER = "aarhus_weather.csv"

TRAFFIC = """
    CREATE STREAM traffic (REPORT_ID INT, `TIMESTAMP` TIMESTAMP, avgSpeed INT, vehicleCount INT)
      FROM csv '{file}' OPTIONS (header = 'true') TIMESTAMP BY `TIMESTAMP`;
    """

Measured = tuple[str, int, int, int]


def traffic() -> list[Measured]:
    """(time, segment, speed, vehicles) in the stream's order, which is by all values among simultaneous ones."""
    return sorted(
        (r["TIMESTAMP"], int(r["REPORT_ID"]), int(r["avgSpeed"]), int(r["vehicleCount"])) for r in records(FILE)
    )


def test_where_traffic_jams_according_to_what_is_normal_on_that_road(tmp_path: Path) -> None:
    """A jam: ten vehicles or more in five minutes, and less than 40 % of the segment's usual speed."""
    found = answer(
        tmp_path,
        f"""{TRAFFIC.format(file=path(FILE))}
        CREATE RELATION segments (REPORT_ID INT, POINT_1_STREET STRING, POINT_2_STREET STRING, NDT_IN_KMH INT)
          FROM csv '{path(METADATA)}' OPTIONS (header = 'true');

        SELECT POINT_1_STREET AS street, POINT_2_STREET AS towards, avgSpeed, NDT_IN_KMH AS usual
        FROM traffic AS t LOOKUP JOIN segments AS s ON t.REPORT_ID = s.REPORT_ID
        WHERE vehicleCount >= 10 AND 100 * avgSpeed < 40 * NDT_IN_KMH;
        """,
    )

    segments = {int(r["REPORT_ID"]): r for r in records(METADATA)}
    expected = []
    for time, segment, speed, vehicles in traffic():
        s = segments[segment]
        if vehicles >= 10 and 100 * speed < 40 * int(s["NDT_IN_KMH"]):
            expected.append((f"{time}Z", 0, s["POINT_1_STREET"], s["POINT_2_STREET"], speed, int(s["NDT_IN_KMH"])))
    assert found == expected
    assert len(found) > 10


def test_how_many_vehicles_each_segment_has_counted_by_the_end_of_august(tmp_path: Path) -> None:
    """Rows that are there twice count twice: a stream is a bag. Where a row stands in the file does not matter."""
    found = answer(
        tmp_path,
        f"""{TRAFFIC.format(file=path(FILE))}
        SELECT REPORT_ID, count(*) AS n, sum(vehicleCount) AS vehicles FROM traffic [UNBOUNDED] GROUP BY REPORT_ID;
        """,
        *("--at", "2014-08-31T23:59:59Z"),
    )

    n: Counter[int] = Counter()
    counted: Counter[int] = Counter()
    for time, segment, _, vehicles in traffic():
        if time < "2014-09-01":
            n[segment] += 1
            counted[segment] += vehicles
    assert found == [(segment, n[segment], counted[segment]) for segment in sorted(n)]


def test_how_fast_much_traffic_goes_in_strong_wind(tmp_path: Path) -> None:
    """The weather that counts is the last report when the traffic is measured, one of that very minute included."""
    found = answer(
        tmp_path,
        f"""{TRAFFIC.format(file=path(FILE))}
        CREATE STREAM weather (wspdm DOUBLE, `TIMESTAMP` TIMESTAMP)
          FROM csv '{path(WEATHER)}' OPTIONS (header = 'true') TIMESTAMP BY `TIMESTAMP`;

        SELECT REPORT_ID, avgSpeed, vehicleCount, wspdm
        FROM traffic LOOKUP JOIN (SELECT wspdm FROM weather [LAST ROW]) AS w ON wspdm > 30
        WHERE vehicleCount >= 20;
        """,
    )

    reports = sorted((r["TIMESTAMP"], float(r["wspdm"] or "nan")) for r in records(WEATHER))  # one at a time
    expected = []
    k = 0  # the weather begins before the traffic
    for time, segment, speed, vehicles in traffic():
        while k + 1 < len(reports) and reports[k + 1][0] <= time:
            k += 1
        wind = reports[k][1]
        if wind > 30 and vehicles >= 20:  # not so if the last report has no wind
            expected.append((f"{time}Z", 0, segment, speed, vehicles, wind))
    assert found == expected
    assert len(found) > 10
