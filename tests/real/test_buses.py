"""City buses of Austin on one Saturday: local times with an offset, and not in order in the file."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.real.support import answer, iso, needs_data, path, records

pytestmark = needs_data

FILE = "bus_austin_2016-11-26.csv.gz"

BUSES = """
    CREATE STREAM buses (vehicle_id INT, `timestamp` TIMESTAMP, speed DOUBLE, route_id INT, trip_id INT,
                         latitude DOUBLE, longitude DOUBLE, trip_headsign STRING)
      FROM csv '{file}' OPTIONS (header = 'true')
      TIMESTAMP BY `timestamp` POSITION BY vehicle_id;
    """


def buses() -> list[tuple[datetime, int, dict[str, str]]]:
    """The time, the vehicle and the row of each report in the stream's order; a bus reports once in a second."""
    rows = [(datetime.fromisoformat(r["timestamp"]).astimezone(UTC), int(r["vehicle_id"]), r) for r in records(FILE)]
    return sorted(rows, key=lambda row: row[:2])


def test_which_buses_drive_bunched_with_another_one_of_their_line(tmp_path: Path) -> None:
    """Both move, in the same direction, at most five minutes and some 500 metres apart: long waits lie before them."""
    found = answer(
        tmp_path,
        f"""{BUSES.format(file=path(FILE))}
        CREATE VIEW moving AS SELECT * FROM buses WHERE speed > 0;
        SELECT a.trip_headsign, a.vehicle_id AS bus, b.vehicle_id AS other
        FROM moving AS a JOIN moving AS b
          ON a.trip_headsign = b.trip_headsign AND a.vehicle_id < b.vehicle_id
          AND abs(a.latitude - b.latitude) <= 0.005 AND abs(a.longitude - b.longitude) <= 0.005
          WITHIN 5 MINUTES;
        """,
    )

    lines = defaultdict(list)
    for n, (time, bus, row) in enumerate(buses()):
        if float(row["speed"]) > 0 and row["trip_headsign"]:  # a headsign that is not there equals no other
            lines[row["trip_headsign"]].append((time, n, bus, float(row["latitude"]), float(row["longitude"])))
    pairs = [
        (max(t1, t2), n1, n2, sign, bus, other)
        for sign, reports in lines.items()
        for t1, n1, bus, lat1, lon1 in reports
        for t2, n2, other, lat2, lon2 in reports
        if bus < other and abs(t1 - t2) <= timedelta(minutes=5)
        if abs(lat1 - lat2) <= 0.005 and abs(lon1 - lon2) <= 0.005
    ]
    # A pair comes with the later of the two; pairs of one second are in the order of the left report, then the right.
    assert found == [(iso(time), 0, sign, bus, other) for time, _, _, sign, bus, other in sorted(pairs)]
    assert len(found) > 10


def test_when_each_bus_begins_another_trip(tmp_path: Path) -> None:
    """The last two reports of a bus are of different trips. In the file's order there would be 1,485 steps back."""
    found = answer(
        tmp_path,
        f"""{BUSES.format(file=path(FILE))}
        ISTREAM(
          SELECT vehicle_id, first(trip_id) AS ended, last(trip_id) AS begun
          FROM buses [PARTITION BY vehicle_id ROWS 2] GROUP BY vehicle_id
          HAVING first(trip_id) <> last(trip_id)
        );
        """,
    )

    trips: dict[int, int] = {}
    expected = []
    for time, bus, row in buses():
        trip = int(row["trip_id"])
        if trips.get(bus, trip) != trip:
            expected.append((iso(time), 0, bus, trips[bus], trip))
        trips[bus] = trip
    assert found == expected
