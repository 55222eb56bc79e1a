"""One buoy off Boston, in NDBC's fixed columns, newest first.

Its columns are filled with one, two or more blanks and its time is in five of them, which no csv option can read; the
test writes the same fields with commas, and leaves MM for what is missing, and plus signs, as they are.
"""

from __future__ import annotations

import gzip
from datetime import datetime, timedelta
from pathlib import Path

from tests.real.support import answer, iso, needs_data, path

pytestmark = needs_data

FILE = "ndbc_44013_realtime.txt.gz"


def observations() -> list[dict[str, str]]:
    """The fields of each line by their name, with the time as one of them, in the file's order."""
    with gzip.open(path(FILE), "rt", encoding="utf-8") as text:
        names, _units, *lines = (line.lstrip("#").split() for line in text)
    fields = [dict(zip(names, line, strict=True)) for line in lines]
    return [{**f, "time": "{YY}-{MM}-{DD}T{hh}:{mm}:00Z".format_map(f)} for f in fields]


def test_when_the_pressure_has_fallen_by_3_hpa_in_three_hours(tmp_path: Path) -> None:
    """The pressure now is compared with what the last observation was three hours ago, if one was made just then."""
    rows = observations()
    columns = ("time", "PRES", "PTDY")
    lines = [",".join(columns), *(",".join(r[c] for c in columns) for r in rows)]
    (tmp_path / "buoy.csv").write_text("\n".join(lines))
    found = answer(
        tmp_path,
        """
        CREATE STREAM buoy (time TIMESTAMP, PRES DOUBLE, PTDY DOUBLE)
          FROM csv 'buoy.csv' OPTIONS (header = 'true', nullValue = 'MM') TIMESTAMP BY time;

        SELECT now.PRES, now.PRES - past.PRES AS change, PTDY AS reported
        FROM buoy AS now LOOKUP JOIN (SELECT time, PRES FROM buoy [LAST ROW]) DELAYED BY 3 HOURS AS past
          ON past.time = now.time - INTERVAL '3' HOURS
        WHERE now.PRES - past.PRES <= -3;
        """,
    )

    pressure = {datetime.fromisoformat(r["time"]): float(r["PRES"]) for r in rows if r["PRES"] != "MM"}
    reported = {datetime.fromisoformat(r["time"]): float(r["PTDY"]) for r in rows if r["PTDY"] != "MM"}
    expected = []
    for time in sorted(pressure):
        past = pressure.get(time - timedelta(hours=3))
        if past is not None and pressure[time] - past <= -3:
            expected.append((iso(time), 0, pressure[time], pressure[time] - past, reported.get(time)))
    assert found == expected
    # NDBC's own tendency says the same, up to the rounding of pressures to a tenth.
    told = [(change, ptdy) for _, _, _, change, ptdy in found if ptdy is not None]
    assert told
    assert all(abs(change - ptdy) < 0.2 for change, ptdy in told)
