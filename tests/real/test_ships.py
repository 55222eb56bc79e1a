"""Ships off British Columbia: jumps of over 50 km, and several positions of a ship in one minute.

The times are local, without an offset, and never go back or forth by an hour between July and October; they are read as
UTC, which moves every answer by the same hours.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from datetime import datetime
from itertools import groupby
from pathlib import Path

from tests.real.geometry import odometer_mm
from tests.real.support import answer, iso, needs_data, path, records

pytestmark = needs_data

FILE = "ais_bc_2018.csv.gz"
KM = 1_000_000

SHIPS = """
    CREATE STREAM ships (rowid BIGINT, local_time TIMESTAMP, vessel_id INT, type STRING, lat DOUBLE, lon DOUBLE)
      FROM csv '{file}' OPTIONS (header = 'true')
      TIMESTAMP BY local_time POSITION BY rowid LOCATION BY (lon, lat);
    """


def test_every_10_km_how_fast_each_fishing_vessel_was_on_its_last_50_km(tmp_path: Path) -> None:
    """A position that overshoots the 10 km is not in the window; a jump of over 60 km leaves it empty, 26 times."""
    found = answer(
        tmp_path,
        f"""{SHIPS.format(file=path(FILE))}
        CREATE VIEW fishing AS SELECT * FROM ships WHERE type = 'Fishing';
        ISTREAM(
          SELECT vessel_id, count(*) AS positions, path_length() AS metres, average_speed() AS kmh
          FROM fishing [PARTITION BY vessel_id RANGE BY '50 km' RATTR SPACE SLIDE BY '10 km' SATTR SPACE]
          GROUP BY vessel_id
        );
        """,
    )

    vessels: dict[int, list[dict[str, str]]] = defaultdict(list)
    for row in sorted(records(FILE), key=lambda r: (r["local_time"], int(r["rowid"]))):
        if row["type"] == "Fishing":
            vessels[int(row["vessel_id"])].append(row)
    expected = []
    for vessel, rows in vessels.items():
        times = [datetime.fromisoformat(r["local_time"]) for r in rows]
        travelled = odometer_mm([(float(r["lon"]), float(r["lat"])) for r in rows])
        before: tuple[object, ...] | None = None
        for time, minute in groupby(range(len(rows)), key=times.__getitem__):
            n = max(minute) + 1  # so many positions have come
            reached = travelled[n - 1] // (10 * KM) * (10 * KM)
            first, after = bisect_left(travelled, reached - 50 * KM), bisect_right(travelled, reached, hi=n)
            now = None
            if first < after:
                path_mm = travelled[after - 1] - travelled[first]
                seconds = int((times[after - 1] - times[first]).total_seconds())
                now = (after - first, path_mm / 1000, path_mm * 3600 / (seconds * KM) if seconds else None)
            if now is not None and now != before:
                expected.append((iso(time), 0, vessel, *now))
            before = now
    assert found == sorted(expected, key=lambda row: (row[0], row[2]))


def test_which_ships_come_to_hartley_bay_for_the_first_time_and_when(tmp_path: Path) -> None:
    """The border is in the bay, and some positions are exactly on it."""
    west, south, east, north = -129.2601, 53.41801, -129.24, 53.42901
    found = answer(
        tmp_path,
        f"""{SHIPS.format(file=path(FILE))}
        CREATE REGION hartley_bay AS
          'POLYGON (({west} {south}, {east} {south}, {east} {north}, {west} {north}, {west} {south}))';
        ISTREAM(SELECT DISTINCT vessel_id FROM ships [RANGE BY hartley_bay RATTR SPACE]);
        """,
    )

    first: dict[int, str] = {}
    on_border = 0
    for row in records(FILE):
        vessel, lon, lat = int(row["vessel_id"]), float(row["lon"]), float(row["lat"])
        if west <= lon <= east and south <= lat <= north:
            first[vessel] = min(row["local_time"], first.get(vessel, row["local_time"]))
            on_border += lon in (west, east) or lat in (south, north)
    assert found == [(f"{time}Z", 0, vessel) for time, vessel in sorted((t, v) for v, t in first.items())]
    assert on_border > 0
