"""The moored buoys around Ireland: all measure on the hour, so every tuple has simultaneous ones."""

from __future__ import annotations

from bisect import bisect_left
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path

from tests.real.support import answer, iso, mean, needs_data, path, records

pytestmark = needs_data

FILE = "irish_weather_buoys.csv.gz"

Rows = list[dict[str, str]]


def stream(*attributes: str) -> str:
    """The declaration of the stream with some of the measured attributes."""
    declared = ", ".join(f"{a} DOUBLE" for a in attributes)
    return f"""
        CREATE STREAM buoys (station_id STRING, {declared}, time TIMESTAMP)
          FROM csv '{path(FILE)}' OPTIONS (header = 'true') TIMESTAMP BY time;
        """


def hours() -> list[tuple[str, Rows]]:
    """The rows of each hour, by station."""
    rows = sorted(records(FILE), key=lambda r: (r["time"], r["station_id"]))
    return [(time, list(of_hour)) for time, of_hour in groupby(rows, key=lambda r: r["time"])]


def test_every_six_hours_the_pressure_and_the_waves_of_the_day_before_at_each_buoy(tmp_path: Path) -> None:
    """A pressure of exactly 900 is what a broken barometer of M4 sends. In the gap of 75 hours there is nothing."""
    found = answer(
        tmp_path,
        f"""{stream("atmospheric_pressure", "wave_height")}
        RSTREAM(
          SELECT station_id, count(*) AS n, avg(nullif(atmospheric_pressure, 900.0D)) AS hpa, max(wave_height) AS wave
          FROM buoys [HOP 1 DAY EVERY 6 HOURS] GROUP BY station_id
        );
        """,
    )

    rows = [row for _, of_hour in hours() for row in of_hour]
    times = [datetime.fromisoformat(r["time"]) for r in rows]
    stations = sorted({r["station_id"] for r in rows})
    expected = []
    before: list[tuple[object, ...]] = []
    e = times[0].replace(hour=0)
    while e <= times[-1]:
        window = rows[bisect_left(times, e - timedelta(days=1)) : bisect_left(times, e)]  # [e - 1 day, e)
        now: list[tuple[object, ...]] = []
        for station in stations:
            own = [r for r in window if r["station_id"] == station]
            hpa = [float(r["atmospheric_pressure"]) for r in own if float(r["atmospheric_pressure"]) != 900]
            if own:
                now.append((station, len(own), mean(hpa), max(float(r["wave_height"]) for r in own)))
        if now != before:  # RSTREAM without EVERY speaks when something has changed
            expected += [(iso(e), 0, *row) for row in now]
        before = now
        e += timedelta(hours=6)
    assert found == expected


def test_when_each_buoy_met_its_highest_wave_so_far(tmp_path: Path) -> None:
    found = answer(
        tmp_path,
        f"""{stream("hmax")}
        ISTREAM(SELECT station_id, max(hmax) AS record FROM buoys [UNBOUNDED] GROUP BY station_id);
        """,
    )

    records_: dict[str, float] = {}
    expected = []
    for time, of_hour in hours():
        for row in of_hour:
            station, wave = row["station_id"], float(row["hmax"])
            if wave > records_.get(station, 0.0):
                records_[station] = wave
                expected.append((time, 0, station, wave))
    assert found == expected


def test_when_the_pressure_differs_much_between_the_buoys_of_one_hour(tmp_path: Path) -> None:
    """A large difference over a few hundred kilometres means storm. The last batch is all of the last hour."""
    found = answer(
        tmp_path,
        f"""{stream("atmospheric_pressure")}
        CREATE VIEW sound AS SELECT * FROM buoys WHERE atmospheric_pressure > 900;
        RSTREAM(
          SELECT count(*) AS buoys, max(atmospheric_pressure) - min(atmospheric_pressure) AS difference
          FROM sound [LAST BATCH]
          HAVING max(atmospheric_pressure) - min(atmospheric_pressure) >= 20
        );
        """,
    )

    expected = []
    before = None
    for time, of_hour in hours():
        hpa = [p for p in (float(r["atmospheric_pressure"]) for r in of_hour) if p > 900]
        now = (len(hpa), max(hpa) - min(hpa)) if max(hpa) - min(hpa) >= 20 else None
        if now is not None and now != before:
            expected.append((time, 0, *now))
        before = now
    assert found == expected
    assert len(found) > 10


def test_which_buoys_measure_a_storm_with_one_batch_for_each_buoy_of_an_hour(tmp_path: Path) -> None:
    """A batch that the selection leaves empty keeps its number: i says which buoy of the hour it was."""
    found = answer(
        tmp_path,
        f"""{stream("gust")}
        SELECT station_id, gust FROM SPREAD(buoys BY station_id) WHERE gust >= 55;
        """,
    )

    assert found == [
        (time, i, row["station_id"], float(row["gust"]))
        for time, of_hour in hours()
        for i, row in enumerate(of_hour)
        if float(row["gust"]) >= 55
    ]
    assert {row[1] for row in found} == {0, 1, 2, 3, 4}
