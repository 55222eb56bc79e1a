"""Sensed streams: a Python data source that reads every site at every tick, at most once, in parallel on the executors.

A reading is claimed before the sensor is called, and recorded afterwards. So no sensor is called twice for a tick, also
if Spark reads a batch again after a crash. A sensor that fails or times out gives a rejected row with the reason; it
does not delay the others.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLongError
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from astralq.algebra.sources import SensedSource
from astralq.io.files import read_sensor
from astralq.plan.sql_types import spark_type
from astralq.runtime.ingest.inputs import Input, log_schema
from astralq.runtime.ingest.log import PROBLEM, ROW
from astralq.schema import Schema
from astralq.spark.columns import col
from astralq.timeline import EPOCH, Instant, duration, format_instant


@dataclass(frozen=True)
class Sensing:
    """What executors need to read the sensors of a stream."""

    source: SensedSource
    folder: Path
    readings: Path
    t0: Instant

    def tick(self, k: int) -> Instant:
        return Instant(self.t0 + k * self.source.every)

    @property
    def patience(self) -> float:
        """The timeout of a sensor in seconds: OPTIONS (timeout = '5 seconds'), else the period of the ticks."""
        given = "" if self.source.origin is None else self.source.origin.option("timeout", "")
        return (duration(given) if given else self.source.every) / 1e6

    @property
    def columns(self) -> list[str]:
        """The columns of a row as executors return it: instants are microseconds."""
        return [
            *(f"`{a.name}` {'bigint' if a.type.name == 'TIMESTAMP' else spark_type(a.type)}" for a in self.declared),
            *("_t bigint", "_n bigint", f"{PROBLEM} string", f"{ROW} string"),
        ]

    @property
    def declared(self) -> Schema:
        return self.source.declared


def sensed_input(spark: SparkSession, source: SensedSource, folder: Path, readings: Path, t0: Instant | None) -> Input:
    """The input of a sensed stream."""
    readings.mkdir(parents=True, exist_ok=True)
    sensing = Sensing(source, folder.resolve(), readings.resolve(), EPOCH if t0 is None else t0)
    name = f"astralq_sensed_{source.name}"

    class Sensors(DataSource):  # type: ignore[misc]
        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> str:
            return ", ".join(sensing.columns)

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  (Spark's name)
            return Ticks(sensing)

    spark.dataSource.register(Sensors)
    stream = spark.readStream.format(name).load()
    times = [a.name for a in source.declared if a.type.name == "TIMESTAMP"]

    def read(df: DataFrame, batch: int) -> DataFrame:
        return df.withColumns({n: F.timestamp_micros(col(f"`{n}`")) for n in times})

    doubles = tuple(a.name for a in source.declared if a.type.name == "DOUBLE")
    return Input(stream, read, log_schema(spark, source, "_n"), doubles)


@dataclass
class Site(InputPartition):  # type: ignore[misc]
    """A site, by its place among the sites, and the half-open interval [first, end) of ticks to read."""

    place: int
    first: int
    end: int


class Ticks(DataSourceStreamReader):  # type: ignore[misc]
    """Spark's offsets are the ticks t0 + k·every; a tick is available once its instant has passed."""

    def __init__(self, sensing: Sensing) -> None:
        self.sensing = sensing

    def _due(self) -> int:
        """How many ticks have passed."""
        return max(0, (time.time_ns() // 1000 - self.sensing.t0) // self.sensing.source.every + 1)

    def initialOffset(self) -> dict[str, int]:  # noqa: N802  (Spark's names)
        return {"ticks": self._due()}

    def latestOffset(self, start: dict[str, int], limit: object = None) -> dict[str, int]:  # noqa: N802
        return {"ticks": max(start["ticks"], self._due())}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Site]:
        return [Site(place, start["ticks"], end["ticks"]) for place in range(len(self.sensing.source.sites))]

    def read(self, partition: Site) -> Iterator[tuple[Any, ...]]:
        for k in range(partition.first, partition.end):
            yield _row(self.sensing, partition.place, k, _reading(self.sensing, partition.place, k))

    def commit(self, end: dict[str, int]) -> None:
        """Removes recorded readings that are in the ingest log by now."""
        for path in self.sensing.readings.glob("*-*"):
            if int(path.name.split("-")[0]) < end["ticks"]:
                path.unlink(missing_ok=True)


def _reading(sensing: Sensing, place: int, k: int) -> dict[str, Any]:
    """The reading of a site at a tick: {"values": …} or {"problem": …}. The sensor is called at most once."""
    done = sensing.readings / f"{k}-{place}"
    claim = sensing.readings / f"{k}-{place}-asked"
    if done.exists():
        recorded: dict[str, Any] = json.loads(done.read_text())
        return recorded
    try:
        os.close(os.open(claim, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return {"problem": "the run was interrupted while this sensor was asked"}
    reading = _call_sensor(sensing, place, k)
    temporary = sensing.readings / f"{k}-{place}-new"
    temporary.write_text(json.dumps(reading))
    temporary.replace(done)
    return reading


def _call_sensor(sensing: Sensing, place: int, k: int) -> dict[str, Any]:
    """Calls a sensor, with a timeout."""
    site = sensing.source.sites[place]
    pool = ThreadPoolExecutor(1)
    try:
        sensor = read_sensor(sensing.source, sensing.folder)
        values = pool.submit(sensor, site, sensing.tick(k)).result(sensing.patience)
    except TooLongError:
        return {"problem": f"the sensor took longer than {sensing.patience:g} s"}
    except Exception as e:
        return {"problem": str(e)}
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return {"values": [str(v) if isinstance(v, Decimal) else v for v in values]}


def _row(sensing: Sensing, place: int, k: int, reading: dict[str, Any]) -> tuple[Any, ...]:
    """A reading as a row with the columns of `Sensing.columns`."""
    source, t = sensing.source, sensing.tick(k)
    shown = f"site {source.sites[place]} at {format_instant(t)}"
    if "problem" in reading:
        return (*(None for _ in source.declared), t, place, reading["problem"], shown)
    measured = iter(reading["values"])
    row: list[Any] = []
    for a in source.declared:
        if a.name.lower() == source.site.lower():
            value: Any = source.sites[place]
        elif a.name.lower() == source.time.lower():
            value = t if a.type.name == "TIMESTAMP" else t // 1_000_000
        else:
            value = next(measured)
        row.append(Decimal(value) if a.type.name == "DECIMAL" and value is not None else value)
    return (*row, t, place, None, shown)
