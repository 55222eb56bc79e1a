"""Sensed streams: a Python data source that reads every site at every tick, at most once, in parallel on the executors.

A reading is claimed before the sensor is called, and recorded afterwards. So no sensor is called twice for a tick, also
if Spark reads a batch again after a crash. A sensor that fails or times out gives a rejected row with the reason; it
does not delay the others.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
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

from astralq.algebra.sources import RelationSource, SensedSource, sources_of
from astralq.errors import DataError
from astralq.io.files import read_sensor, read_sources
from astralq.io.reading import SUFFIXES
from astralq.model import state
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

    def sites(self, first: int, end: int) -> dict[Any, list[tuple[int, int]]]:
        """The sites that are asked at the ticks of the half-open interval [first, end), each with those ticks and its
        place among the sites of the tick."""
        found: dict[Any, list[tuple[int, int]]] = {}
        held = self._held()
        for k in range(first, end):
            for place, site in enumerate(held(self.tick(k))):
                found.setdefault(site, []).append((k, place))
        return found

    def _held(self) -> Callable[[Instant], Iterable[Any]]:
        designation = self.source.designation
        if designation is None:
            return lambda _: self.source.sites
        relation = designation.relation
        data = read_sources(relation, self.folder)

        def held(tick: Instant) -> Iterable[Any]:
            rows = state(relation, data, tick, i=0, t0=self.t0)
            return dict.fromkeys(r[0] for r in rows if r[0] is not None)

        return held

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
            *("_t bigint", "_n bigint", "_heartbeat boolean", f"{PROBLEM} string", f"{ROW} string"),
        ]

    @property
    def declared(self) -> Schema:
        return self.source.declared


def sensed_input(spark: SparkSession, source: SensedSource, folder: Path, readings: Path, t0: Instant | None) -> Input:
    """The input of a sensed stream; at a tick the sites of a designation are those that its relation holds then."""
    check_designation(source)
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


def check_designation(source: SensedSource) -> None:
    """An error if a continuous run cannot tell at a tick which sites are meant: only stored relations and change logs
    are known then, whatever streams will bring later."""
    for op in () if source.designation is None else sources_of(source.designation.relation):
        stored = isinstance(op, RelationSource) and op.origin is not None and op.origin.format in (*SUFFIXES, "python")
        if not stored:
            raise DataError(
                f"the sites of stream {source.name} come from {op.name}, which is not known when a sensor is asked",
                hint="AT SITES takes relations from files; write the sites with INSERT INTO, and read them back",
            )


@dataclass
class Site(InputPartition):  # type: ignore[misc]
    """A site, and the ticks at which it is asked, each with its place among the sites of the tick; without a site, a
    heartbeat."""

    site: Any
    ticks: list[tuple[int, int]]


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
        asked = self.sensing.sites(start["ticks"], end["ticks"])
        # Also where nobody is asked, time passes.
        return [*(Site(site, ticks) for site, ticks in asked.items()), Site(None, [(end["ticks"] - 1, 0)])]

    def read(self, partition: Site) -> Iterator[tuple[Any, ...]]:
        for k, place in partition.ticks:
            if partition.site is None:
                yield (*(None for _ in self.sensing.declared), self.sensing.tick(k), place, True, None, None)
            else:
                yield _row(self.sensing, partition.site, k, place, _reading(self.sensing, partition.site, k))

    def commit(self, end: dict[str, int]) -> None:
        """Removes recorded readings that are in the ingest log by now."""
        for path in self.sensing.readings.glob("*-*"):
            if int(path.name.split("-")[0]) < end["ticks"]:
                path.unlink(missing_ok=True)


def _reading(sensing: Sensing, site: Any, k: int) -> dict[str, Any]:
    """The reading of a site at a tick: {"values": …} or {"problem": …}. The sensor is called at most once."""
    name = f"{k}-{hashlib.sha256(repr(site).encode()).hexdigest()[:16]}"
    done = sensing.readings / name
    claim = sensing.readings / f"{name}-asked"
    if done.exists():
        recorded: dict[str, Any] = json.loads(done.read_text())
        return recorded
    try:
        os.close(os.open(claim, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return {"problem": "the run was interrupted while this sensor was asked"}
    reading = _call_sensor(sensing, site, k)
    temporary = sensing.readings / f"{name}-new"
    temporary.write_text(json.dumps(reading))
    temporary.replace(done)
    return reading


def _call_sensor(sensing: Sensing, site: Any, k: int) -> dict[str, Any]:
    """Calls a sensor, with a timeout."""
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


def _row(sensing: Sensing, site: Any, k: int, place: int, reading: dict[str, Any]) -> tuple[Any, ...]:
    """A reading as a row with the columns of `Sensing.columns`."""
    source, t = sensing.source, sensing.tick(k)
    shown = f"site {site} at {format_instant(t)}"
    if "problem" in reading:
        return (*(None for _ in source.declared), t, place, False, reading["problem"], shown)
    measured = iter(reading["values"])
    row: list[Any] = []
    for a in source.declared:
        if a.name.lower() == source.site.lower():
            value: Any = site
        elif a.name.lower() == source.time.lower():
            value = t if a.type.name == "TIMESTAMP" else t // 1_000_000
        else:
            value = next(measured)
        row.append(Decimal(value) if a.type.name == "DECIMAL" and value is not None else value)
    return (*row, t, place, False, None, shown)
