"""The buoys of paper 001, end to end on the reference model: present, historic and continuous questions.

Run it with `scripts/demo`, or `python examples/buoys.py`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from astralq import instant, last_row, range_, relation, rows, stream, unbounded
from astralq.model import Change, StreamTuple, run, state
from astralq.timeline import Instant, duration, format_instant

START = instant("2026-03-01T00:00:00Z")
MINUTE = duration("1 min")

measurements = stream("S", "sensor INT, value DOUBLE, ts TIMESTAMP", timestamp="ts", position_by="sensor")
sensors = relation("Sensors", "sensor INT, buoy INT, type STRING")
deployed = relation("Buoys", "buoy INT, zone INT, since TIMESTAMP, till TIMESTAMP", valid_from="since", valid_to="till")


def ocean(seed: int = 1) -> dict[str, Any]:
    """Two hours of three buoys: sea surface temperature every five minutes, with gaps; one buoy is picked up."""
    rng = random.Random(seed)
    readings = []
    for minute in range(0, 120, 5):
        for sensor, base in ((41, 23.5), (42, 24.5), (43, 21.0)):
            if rng.random() < 0.9:
                value = base + minute / 60 + rng.gauss(0, 0.3)
                readings.append((sensor, round(value, 2), Instant(START + minute * MINUTE)))
    pick_up = Instant(START + 75 * MINUTE)
    return {
        "S": readings,
        "Sensors": [(41, 1, "SST"), (42, 2, "SST"), (43, 3, "SST")],
        "Buoys": [(1, 7016, START, None), (2, 7016, START, pick_up), (3, 7017, START, None)],
    }


def show(question: str, query: Any, answer: Iterable[tuple[Any, ...]], header: str) -> None:
    """Prints a question, the query as a plan, and its answer as a table."""
    print(f"\n{question}\n")
    print("\n".join(f"    {line}" for line in str(query).splitlines()))
    table = [header.split(), *([str(v) for v in r] for r in answer)]
    widths = [max(len(r[k]) for r in table) for k in range(len(table[0]))]
    print()
    for r in table:
        print("    " + "  ".join(f"{v:>{w}}" for v, w in zip(r, widths, strict=True)))


def stamped(result: list[Any]) -> list[tuple[Any, ...]]:
    """Stream tuples and changes with their time of day first."""
    shown: list[tuple[Any, ...]] = []
    for r in result:
        clock = format_instant(r.t)[11:16]
        if isinstance(r, Change):
            shown.append((clock, r.op, *r.values))
        elif isinstance(r, StreamTuple):
            shown.append((clock, *r.values))
    return shown


def main() -> None:
    data = ocean()
    at = instant("2026-03-01T01:30:00Z")

    present = deployed.where("zone = 7016").select("buoy")
    show("Which buoys are in zone 7016 at 01:30?  (a present query)", present, state(present, data, at), "buoy")

    hour = measurements[range_("10 min")].where("sensor IN (41, 42)").aggregate("round(avg(value), 2) AS mean")
    show(
        "What was the mean of sensors 41 and 42 around 00:30?  (a historic query)",
        hour,
        state(hour, data, instant("2026-03-01T00:30:00Z")),
        "mean",
    )

    mean = (
        measurements[range_("30 min", slide="30 min")]
        .where("sensor = 42")
        .aggregate("round(avg(value), 2) AS mean", "count(*) AS n")
        .rstream(every="30 min")
    )
    show(
        "Every 30 minutes, the mean over 30 minutes of sensor 42.  (a continuous query)",
        mean,
        stamped(run(mean, data)),
        "time mean n",
    )

    warm = measurements.lookup(sensors)[last_row().by("sensor")].where("type = 'SST' AND value >= 25").select("sensor")
    live = measurements.lookup(warm, how="semi")
    show(
        "Data from the sensors that measure 25 °C or more just then.  (by designation)",
        live,
        stamped(run(live.select("sensor", "value"), data))[:8],
        "time sensor value",
    )

    latest = measurements[rows(4, slide="20 min")].aggregate("max(value) AS warmest", "count(*) AS n").rstream()
    show(
        "Every 20 minutes, the warmest of the last 4 measurements.  (rows by time)",
        latest,
        stamped(run(latest, data)),
        "time warmest n",
    )

    gone = deployed.select("buoy").dstream()
    show("Which buoys were picked up, and when?  (a streamer)", gone, stamped(run(gone, data)), "time buoy")

    seen = measurements[unbounded()].aggregate("count(*) AS n", by="sensor")
    show("How many measurements has each sensor sent by 01:30?", seen, state(seen, data, at), "sensor n")


if __name__ == "__main__":
    main()
