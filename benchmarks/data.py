"""One day of seeded readings in parquet, made once and kept."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from astralq.timeline import duration, instant

DAY = duration("1 day")
START = instant("2026-03-01T00:00:00Z")
END = instant("2026-03-02T00:00:00Z")
FILES = 8
SEED = 1


@dataclass(frozen=True)
class Dataset:
    """A table of readings: its declared columns, and for a number of rows and a seed the SQL expressions of `id`."""

    name: str
    declared: str
    expressions: Callable[[int, int], list[str]]
    options: dict[str, Any] = field(default_factory=dict, hash=False)
    """Of `stream_from`, besides the timestamp."""

    def read(self, spark: SparkSession, rows: int, seed: int = SEED) -> DataFrame:
        """The table, from its files; they are written if they are not there."""
        expressions = self.expressions(rows, seed)
        # The fingerprint keeps files of an older definition from being taken for those of this one.
        fingerprint = hashlib.sha256("\n".join(expressions).encode()).hexdigest()[:8]
        path = folder() / f"{self.name}-{rows}-{seed}-{fingerprint}.parquet"
        if not path.exists():
            unfinished = path.with_suffix(f".{os.getpid()}.tmp")
            shutil.rmtree(unfinished, ignore_errors=True)
            made = spark.range(0, rows, 1, FILES).selectExpr(*expressions)
            made.write.parquet(str(unfinished))
            unfinished.rename(path)
        return spark.read.parquet(str(path))


def folder() -> Path:
    """Where the files are kept: $ASTRALQ_BENCH, or .bench in the repository."""
    given = os.environ.get("ASTRALQ_BENCH")
    path = Path(given) if given else Path(__file__).parent.parent / ".bench"
    if not path.is_dir():
        path.mkdir(parents=True)
        (path / ".gitignore").write_text("*\n")
    return path.resolve()


def drawn(salt: str, below: int, seed: int, of: str = "id") -> str:
    """A number in [0, below) that depends on the row only, not on how Spark divides the rows."""
    return f"pmod(xxhash64({of}, {seed}, '{salt}'), {below})"


def value(seed: int) -> str:
    """A DOUBLE in 0, 0.25, …, 100: sums of these are exact, so that Spark's averages have the bits of exact ones."""
    return f"CAST({drawn('v', 401, seed)} / 4.0D AS DOUBLE) AS v"


def simultaneous(rows: int, seed: int) -> str:
    """Timestamps over the day, whole milliseconds; four readings come at once, as from a gateway."""
    step = max(1, DAY // -(-rows // 4))
    micros = f"(id DIV 4) * {step} + {drawn('ts', step, seed, of='id DIV 4')}"
    return f"timestamp_micros({START} + ({micros}) DIV 1000 * 1000) AS ts"


def distinct(rows: int, seed: int, days: int = 1) -> str:
    """Timestamps over the day, microseconds, no two the same: each row draws from a part of the day of its own."""
    step = max(1, days * DAY // rows)
    return f"timestamp_micros({START} + id * {step} + {drawn('ts', step, seed)}) AS ts"


def keyed(workload: str, key: str, keys: int) -> Dataset:
    """Values of some keys, several at one time."""

    def expressions(rows: int, seed: int) -> list[str]:
        return [f"CAST({drawn('k', keys, seed)} AS INT) AS {key}", value(seed), simultaneous(rows, seed)]

    return Dataset(workload, f"{key} INT, v DOUBLE, ts TIMESTAMP", expressions)


def identified(workload: str, keys: int, days: int = 1, salt: int = 0) -> Dataset:
    """Values of some keys, each with an id and a time of its own, so that "the last" is never in doubt."""

    def expressions(rows: int, seed: int) -> list[str]:
        seed += salt
        return [f"CAST({drawn('k', keys, seed)} AS INT) AS k", "id", value(seed), distinct(rows, seed, days)]

    return Dataset(workload, "k INT, id BIGINT, v DOUBLE, ts TIMESTAMP", expressions)


def located(workload: str, salt: int = 0) -> Dataset:
    """Places between 0 and 10 degrees east and north, with an id and a time of their own."""

    def expressions(rows: int, seed: int) -> list[str]:
        seed += salt
        places = (f"CAST({drawn(name, 10_000_000, seed)} / 1e6D AS DOUBLE) AS {name}" for name in ("lon", "lat"))
        return ["id", *places, distinct(rows, seed)]

    return Dataset(workload, "id BIGINT, lon DOUBLE, lat DOUBLE, ts TIMESTAMP", expressions)


def voyages(workload: str, ships: int) -> Dataset:
    """Ships that go east by up to two kilometres from one report to the next; coordinates are whole metres."""

    def expressions(rows: int, seed: int) -> list[str]:
        nth = f"id DIV {ships}"
        return [
            f"CAST(id % {ships} AS INT) AS ship",
            "id",
            f"CAST(({nth}) * 1000 + {drawn('x', 1000, seed)} AS DOUBLE) AS x",
            "0.0D AS y",
            distinct(rows, seed),
        ]

    declared = "ship INT, id BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP"
    return Dataset(workload, declared, expressions, {"location": ("x", "y"), "planar": True})
