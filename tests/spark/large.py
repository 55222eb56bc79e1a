"""Runs queries over a stream of many millions of rows in a driver of 4 GB, and checks what can be checked at once.

Run by `test_scale.py` in a process of its own, or by hand: python -m tests.spark.large 20000000. Prints what is wrong.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from astralq.spark import Engine
from astralq.spark.session import session

QUERIES = {
    "every change of 100 groups": (
        "ISTREAM(SELECT k, count(*) AS n FROM s [RANGE 60 SECONDS] GROUP BY k)",
        "SELECT count(*) BETWEEN {rows} AND 2 * {rows} FROM answer",
    ),
    "panes": (
        "RSTREAM(SELECT k, count(*) AS n, max(v) AS h FROM s [HOP 1 HOUR EVERY 1 MINUTE] GROUP BY k) EVERY 1 HOUR",
        "SELECT sum(n) BETWEEN {rows} * 0.95 AND {rows} FROM answer",
    ),
    "positions": (
        "RSTREAM(SELECT k, v FROM s [ROWS 30 SLIDE 1 MINUTE]) EVERY 1 MINUTE",
        "SELECT count(*) BETWEEN 30 * (24 * 60 - 1) AND 30 * 24 * 60 FROM answer",
    ),
    "all rows again": (
        "ISTREAM(SELECT k, v FROM s [NOW])",
        "SELECT count(*) = {rows} FROM answer",
    ),
}


def generated(spark: SparkSession, rows: int, path: str) -> DataFrame:
    """A day of tuples, in any order."""
    spark.sql(
        f"SELECT CAST(pmod(hash(id), 100) AS INT) AS k, pmod(hash(id, 1), 100000) / 1000D AS v, "
        f"timestamp_micros(CAST(id * (86400000000D / {rows}) AS BIGINT)) AS ts FROM range(0, {rows}, 1, 16)"
    ).write.parquet(path)
    return spark.read.parquet(path)


def main(rows: int) -> int:
    spark = session("local[2]", {"spark.driver.memory": "4g"})
    engine = Engine(spark)
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        df = generated(spark, rows, str(Path(folder) / "stream"))
        s = engine.stream_from(df, timestamp="ts")
        for name, (query, check) in QUERIES.items():
            begun = time.monotonic()
            target = str(Path(folder) / name.replace(" ", "_"))
            engine.run(query, s=s).write.parquet(target)
            spark.read.parquet(target).createOrReplaceTempView("answer")
            if spark.sql(check.format(rows=rows)).collect()[0][0] is not True:
                wrong.append(f"{name}: {spark.sql('SELECT count(*) FROM answer').collect()}")
            print(f"{name}: {rows} rows in {time.monotonic() - begun:.1f} s", file=sys.stderr)
    print("\n".join(wrong) or "all well")
    spark.stop()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
