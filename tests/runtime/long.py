"""A week in minutes: many epochs of simulated days, and whether state, files, memory and time stay what they were.

python -m tests.runtime.long [--rows 2000000] [--epochs 70] [--days 7] [--queries week|hop]
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from astralq.language import read_script
from astralq.runtime.ingest.log import clock
from astralq.runtime.queries import ContinuousQuery
from astralq.runtime.run import ContinuousRun, Settings
from astralq.runtime.sinks import FileSink
from astralq.spark.session import session
from tests.processes import running

DECLARED = "CREATE STREAM s (k INT, v DOUBLE, ts TIMESTAMP) FROM parquet 's' TIMESTAMP BY ts;\n"
WEEK = {
    "range": "ISTREAM(SELECT k, avg(v) AS m FROM s [RANGE 10 MINUTES] WHERE k < 3 GROUP BY k);",
    "rows": "ISTREAM(SELECT count(*) AS n, avg(v) AS m FROM s [ROWS 1000 SLIDE 1 HOUR]);",
    "partitioned": "RSTREAM(SELECT k, avg(v) AS m FROM s [PARTITION BY k ROWS 10 SLIDE 1 HOUR] GROUP BY k);",
    "landmark": "ISTREAM(SELECT k, count(*) AS n, avg(v) AS m FROM s [LANDMARK '2026-01-01' SLIDE 1 HOUR] GROUP BY k);",
}
HOP = {"hop": "ISTREAM(SELECT k, avg(v) AS m, min(v) AS lo FROM s [HOP 1 HOUR EVERY 1 MINUTE] GROUP BY k);"}
KEYS = 20
START = 1_767_225_600_000_000  # 2026-01-01


@dataclass(frozen=True)
class After:
    """How things are after an epoch."""

    seconds: float
    rows: dict[str, int]  # that each query keeps
    files: int  # in the checkpoint
    memory: int  # of the JVM, in MB


def live_through(
    spark: SparkSession, folder: Path, queries: dict[str, str], *, rows: int, epochs: int, days: float
) -> list[After]:
    """So many rows in so many epochs; what was kept after each of them."""
    (folder / "s").mkdir()
    run = ContinuousRun(spark, folder / "c", Settings())
    named = [
        (
            ContinuousQuery(name, read_script(DECLARED + q).queries[0].operator, None, folder),
            FileSink(folder / name, "parquet"),
        )
        for name, q in queries.items()
    ]
    run.open(list(named))
    log = run.epochs.ingest_logs["s"]
    rng = np.random.default_rng(5)
    each, span = rows // epochs, int(days * 86_400_000_000 / epochs)
    found: list[After] = []
    jvm = _jvm()
    for e in range(epochs):
        ts = START + e * span + np.sort(rng.integers(0, span, each))
        table = pa.table(
            {
                "k": pa.array(rng.integers(0, KEYS, each).astype("int32")),
                "v": pa.array(np.round(rng.normal(20, 5, each), 2)),
                "ts": pa.array(ts, pa.timestamp("us", tz="UTC")),
            }
        )
        path = folder / "s" / f"{e}.parquet"
        pq.write_table(table, path)
        log.take(spark.createDataFrame([(f"file://{path}", clock())], "path string, came bigint"), e)
        run.step()
        path.unlink()
        assert run.last_progress is not None
        kept = {q.query: q.state_rows for q in run.last_progress.queries}
        files = sum(1 for f in (folder / "c").rglob("*") if f.is_file())
        found.append(After(run.last_progress.seconds, kept, files, _memory(jvm)))
    run.close()
    return found


def _jvm() -> int:
    """The JVM of this process."""
    found = running("org.apache.spark.deploy.SparkSubmit")
    return found[-1] if found else 0


def _memory(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmRSS")), 0)


@dataclass(frozen=True)
class Growth:
    """What the last tenth of the epochs has, in terms of the second tenth."""

    seconds: float
    rows: dict[str, float]
    files: float
    memory: float


def growth(found: list[After]) -> Growth:
    tenth = max(1, len(found) // 10)
    early, late = found[tenth : 2 * tenth], found[-tenth:]

    def ratio(values: tuple[list[float], list[float]]) -> float:
        return median(values[1]) / max(1e-9, median(values[0]))

    return Growth(
        fmean(a.seconds for a in late) / fmean(a.seconds for a in early),
        # Tables grow and are trimmed, so that the greatest one is what counts.
        {q: max(a.rows[q] for a in late) / max(a.rows[q] for a in early) for q in found[0].rows},
        ratio(([a.files for a in early], [a.files for a in late])),
        ratio(([a.memory for a in early], [a.memory for a in late])),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--epochs", type=int, default=70)
    parser.add_argument("--days", type=float, default=7)
    parser.add_argument("--queries", choices=["week", "hop"], default="week")
    given = parser.parse_args()
    spark = session("local[2]", {"spark.sql.shuffle.partitions": "2"})
    with tempfile.TemporaryDirectory() as folder:
        queries = WEEK if given.queries == "week" else HOP
        found = live_through(spark, Path(folder), queries, rows=given.rows, epochs=given.epochs, days=given.days)
    tenth = max(1, len(found) // 10)
    for k in range(0, len(found), tenth):
        part = found[k : k + tenth]
        kept = {q: max(a.rows[q] for a in part) for q in part[0].rows}
        seconds = fmean(a.seconds for a in part)
        print(f"epoch {k + 1}: {seconds:.2f} s, {kept}, {part[-1].files} files, {part[-1].memory} MB")
    print(growth(found))


if __name__ == "__main__":
    main()
