"""A seeded ocean: anchored and drifting buoys, their sensors, a day of what they send, and what goes wrong with it.

The world of paper 001, §2.1: sea surface temperature (SST), sea level pressure (SLP), wind (W) and salinity (SSS), and
positions (GPS) of those that drift. Zones are the squares of ten degrees of the WMO: 7016 is 0-10° N, 160-170° W.
"""

from __future__ import annotations

import csv
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from astralq.timeline import Instant, format_instant, instant

START = instant("2026-03-01T00:00:00Z")
SECOND = 1_000_000
PERIOD = 300 * SECOND
"""How often a sensor measures."""

DAY = 86_400 * SECOND
LATENESS = 120 * SECOND
"""How much later than others a measure may arrive."""

UNITS = {"SST": "°C", "SLP": "hPa", "W": "m/s", "SSS": "PSU", "GPS": "°"}
ANCHORED, DRIFTING = ("SST", "SLP", "W", "SSS"), ("SST", "GPS")


@dataclass(frozen=True)
class Buoy:
    """A buoy: where it is deployed and when, in the half-open interval [since, till)."""

    number: int
    drifts: bool
    lon: float
    lat: float
    since: Instant
    till: Instant | None = None

    @property
    def types(self) -> Sequence[str]:
        return DRIFTING if self.drifts else ANCHORED

    def sensor(self, type_: str) -> int:
        """The number of its sensor of a type: 41, 42, … measure temperatures, 1,000,041, … pressures, and so on."""
        return list(UNITS).index(type_) * 1_000_000 + 40 + self.number

    def is_deployed(self, t: Instant) -> bool:
        return self.since <= t and (self.till is None or t < self.till)


def zone(lon: float, lat: float) -> int:
    """The WMO's number of a square of ten degrees.

    >>> zone(-163.2, 5.0), zone(12.0, -34.0)
    (7016, 3301)
    """
    quadrant = {(True, True): 1, (False, True): 3, (False, False): 5, (True, False): 7}[lat >= 0, lon >= 0]
    return quadrant * 1000 + int(abs(lat) // 10) * 100 + int(abs(lon) // 10)


@dataclass(frozen=True)
class Ocean:
    """So many buoys and a day of their measures; the same for the same seed."""

    buoys: tuple[Buoy, ...]
    seed: int

    @staticmethod
    def of(rows: int, seed: int = 1) -> Ocean:
        """About as many measures as that: three buoys of five are anchored."""
        per_buoy = (3 * len(ANCHORED) + 2 * len(DRIFTING)) / 5 * (DAY // PERIOD)
        count = max(5, round(rows / per_buoy))
        rng = random.Random(seed)
        buoys = []
        for number in range(1, count + 1):
            drifts = number % 5 in (2, 3)
            # Two that drift begin just east of 160° W, and leave their zone during the day.
            lon = -159.9 + rng.uniform(0, 0.1) if number in (2, 3) else rng.uniform(-186, -161 if drifts else -150)
            lon, lat = (lon + 180) % 360 - 180, 5 + rng.uniform(-4, 4)
            since, till = START, None
            if number == 5:  # deployed in the morning, as that of paper 001, example 1
                since = Instant(START + DAY // 4)
            elif number == 6:  # picked up in the evening
                till = Instant(START + DAY * 3 // 4)
            buoys.append(Buoy(number, drifts, round(lon, 3), round(lat, 3), since, till))
        return Ocean(tuple(buoys), seed)

    # What is sent

    def measures(self) -> Iterator[tuple[int, float, Instant, Instant]]:
        """Of each measure the sensor, the value, when it was taken and when it arrives; some are missing, some come
        twice, some late."""
        rng = random.Random(self.seed + 1)
        for t in range(START, START + DAY, PERIOD):
            for buoy in self.buoys:
                if not buoy.is_deployed(Instant(t)):
                    continue
                for type_ in buoy.types:
                    if type_ == "GPS" or rng.random() < 0.03:
                        continue
                    taken = Instant(t + (buoy.number * 7 % 60) * SECOND)
                    delay = rng.randrange(LATENESS) if rng.random() < 0.05 else rng.randrange(2 * SECOND)
                    row = (buoy.sensor(type_), self._value(buoy, type_, t, rng), taken, Instant(taken + delay))
                    yield row
                    if rng.random() < 0.005:
                        yield row

    def _value(self, buoy: Buoy, type_: str, t: int, rng: random.Random) -> float:
        day = math.sin(2 * math.pi * ((t - START) / DAY - 0.3))
        match type_:
            case "SST":
                return round(24.4 + 0.12 * (buoy.number % 7) + 0.6 * day + rng.gauss(0, 0.08), 2)
            case "SLP":
                return round(1011 + 1.5 * day + 0.2 * (buoy.number % 5) + rng.gauss(0, 0.3), 1)
            case "W":
                return round(max(0.0, 6 + 2.5 * day + rng.gauss(0, 0.9)), 1)
        return round(35.1 + 0.05 * (buoy.number % 4) + rng.gauss(0, 0.02), 3)

    def positions(self) -> Iterator[tuple[int, float, float, int, Instant]]:
        """Of each drifting buoy every five minutes: the equatorial current takes it to the west, eddies aside."""
        for buoy in self.buoys:
            if not buoy.drifts:
                continue
            rng = random.Random(self.seed * 1000 + buoy.number)
            lon, lat = buoy.lon, buoy.lat
            heading, speed = rng.uniform(2.6, 3.5), rng.uniform(1.1, 1.6)  # radians from the east, m/s
            for t in range(START, START + DAY, PERIOD):
                if buoy.is_deployed(Instant(t)):
                    yield buoy.number, round(lon, 5), round(lat, 5), zone(lon, lat), Instant(t)
                heading += rng.gauss(0, 0.06) + 0.02 * math.sin(2 * math.pi * (t - START) / (DAY / 3))
                metres = speed * (1 + 0.3 * math.sin(2 * math.pi * (t - START) / (DAY / 2))) * PERIOD / SECOND
                lat += metres * math.sin(heading) / 111_195
                lon += metres * math.cos(heading) / (111_195 * math.cos(math.radians(lat)))

    def changes(self) -> list[tuple[str, int, str, int | None, Instant]]:
        """The log of deployments and pick-ups; a buoy that drifts has no zone of its own."""
        log: list[tuple[str, int, str, int | None, Instant]] = []
        for b in self.buoys:
            row = (b.number, "drifting" if b.drifts else "anchored", None if b.drifts else zone(b.lon, b.lat))
            log.append(("+", *row, b.since))
            if b.till is not None:
                log.append(("-", *row, b.till))
        return sorted(log, key=lambda change: (change[-1], change[1]))

    def sensors(self) -> list[tuple[int, int, str, str]]:
        return [(b.sensor(type_), b.number, type_, UNITS[type_]) for b in self.buoys for type_ in b.types]

    # Files

    def write(self, folder: Path) -> dict[str, int]:
        """Writes all files; how many rows each has."""
        arrived = sorted(self.measures(), key=lambda m: m[-1])
        tables: dict[str, tuple[str, Iterable[Sequence[Any]]]] = {
            "buoys.csv": ("op,buoy,kind,zone,ts", self.changes()),
            "sensors.csv": ("sensor,buoy,type,unit", self.sensors()),
            "positions.csv": ("buoy,lon,lat,zone,ts", self.positions()),
            "measures/day.csv": ("sensor,value,ts", (m[:3] for m in arrived)),
        }
        return {name: _write(folder / name, header, rows) for name, (header, rows) in tables.items()}


def _write(path: Path, header: str, rows: Iterable[Sequence[Any]]) -> int:
    """A csv file; the last column is an instant if it is called ts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    stamped = header.endswith(",ts")
    count = 0
    with path.open("w", encoding="utf-8", newline="") as f:
        writer = csv.writer(f, lineterminator="\n")
        writer.writerow(header.split(","))
        for row in rows:
            writer.writerow([*row[:-1], format_instant(row[-1])] if stamped else row)
            count += 1
    return count


def minutes_of(ocean: Ocean, every: int) -> Iterator[list[tuple[int, float, Instant]]]:
    """The measures in the order of their arrival, in portions of so many microseconds of the day."""
    portion: list[tuple[int, float, Instant]] = []
    until = START + every
    for sensor, value, taken, arrives in sorted(ocean.measures(), key=lambda m: m[-1]):
        while arrives >= until:
            yield portion
            portion, until = [], until + every
        portion.append((sensor, value, taken))
    yield portion
