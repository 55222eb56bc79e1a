"""Drifting buoys of the Global Drifter Program: the file goes buoy by buoy, the stream by time."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path

from tests.real.geometry import odometer_mm
from tests.real.support import answer, iso, mean, needs_data, path, records

pytestmark = needs_data

FILE = "gdp_drifters_2005_2008.csv.gz"


def fixes() -> dict[int, list[dict[str, str]]]:
    """The rows of each drifter by time, the drifters by number; all times are written alike, so text sorts as time."""
    found: dict[int, list[dict[str, str]]] = defaultdict(list)
    for row in sorted(records(FILE), key=lambda r: (int(r["buoy_id"]), r["time"])):
        found[int(row["buoy_id"])].append(row)
    return found


def test_every_day_the_mean_temperature_of_the_last_three_fixes_of_each_drifter(tmp_path: Path) -> None:
    """A fix of midnight counts at that midnight; a drifter that fell silent keeps its last three; no SST, no mean."""
    found = answer(
        tmp_path,
        f"""
        CREATE STREAM drifters (buoy_id INT, time TIMESTAMP, sst DOUBLE)
          FROM csv '{path(FILE)}' OPTIONS (header = 'true') TIMESTAMP BY time;

        RSTREAM(
          SELECT buoy_id, max(time) AS last_fix, count(sst) AS known, avg(sst) AS mean
          FROM drifters [PARTITION BY buoy_id ROWS 3] GROUP BY buoy_id
        ) EVERY 1 DAY;
        """,
    )

    drifters = {
        buoy: ([r["time"] for r in rows], [float(r["sst"]) if r["sst"] else None for r in rows])
        for buoy, rows in fixes().items()
    }
    day = datetime.fromisoformat(min(times[0] for times, _ in drifters.values())).replace(hour=0)
    end = max(times[-1] for times, _ in drifters.values())
    expected = []
    while iso(day) <= end:
        for buoy, (times, temperatures) in drifters.items():
            n = bisect_right(times, iso(day))
            known = [x for x in temperatures[max(0, n - 3) : n] if x is not None]
            if n > 0:
                expected.append((iso(day), 0, buoy, times[n - 1], len(known), mean(known)))
        day += timedelta(days=1)
    assert found == expected


def test_how_far_each_drifter_has_travelled_in_all(tmp_path: Path) -> None:
    """One of them crosses ±180°, where longitudes jump and distances do not."""
    rows = fixes()
    end = max(r["time"] for of_buoy in rows.values() for r in of_buoy)
    found = answer(
        tmp_path,
        f"""
        CREATE STREAM drifters (buoy_id INT, time TIMESTAMP, lat DOUBLE, lon DOUBLE)
          FROM csv '{path(FILE)}' OPTIONS (header = 'true') TIMESTAMP BY time LOCATION BY (lon, lat);

        SELECT buoy_id, count(*) AS fixes, path_length() AS metres FROM drifters [UNBOUNDED] GROUP BY buoy_id;
        """,
        *("--at", end),
    )

    assert found == [
        (buoy, len(of_buoy), odometer_mm([(float(r["lon"]), float(r["lat"])) for r in of_buoy])[-1] / 1000)
        for buoy, of_buoy in rows.items()
    ]
