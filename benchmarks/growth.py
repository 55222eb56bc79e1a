"""How much longer a join takes over twice the history: about twice, where none compares whole histories.

python -m benchmarks.growth [NAME…] [--rows N]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from astralq.spark import Engine
from astralq.spark.session import session

JOINS = {
    "keyed": "ISTREAM(SELECT s.v, u.v AS w FROM s [RANGE 30 SECONDS] JOIN u [RANGE 20 SECONDS] ON s.k = u.k)",
    "keyless": "ISTREAM(SELECT s.v, u.v AS w FROM s [RANGE 2 SECONDS] JOIN u [RANGE 1 SECOND] ON s.v < u.v)",
    "as-of": "SELECT s.v, r.w FROM s LOOKUP JOIN (SELECT v AS w, k FROM u [PARTITION BY k ROWS 1]) AS r ON s.k = r.k",
}


def history(spark: SparkSession, rows: int, seed: int) -> DataFrame:
    """A tuple about every second."""
    return spark.range(0, rows, 1, 4).select(
        F.pmod(F.hash("id", F.lit(seed)), F.lit(50)).cast("int").alias("k"),
        F.pmod(F.hash("id"), F.lit(1000)).cast("int").alias("v"),
        F.timestamp_millis(F.col("id") * 1000 + F.pmod(F.hash("id", F.lit(seed + 1)), F.lit(900))).alias("ts"),
    )


def seconds(spark: SparkSession, query: str, rows: int, rounds: int = 3) -> float:
    """The best time of several rounds."""
    engine = Engine(spark)
    s, u = (
        engine.stream_from(history(spark, rows, seed).localCheckpoint(), timestamp="ts", name=name)
        for seed, name in ((1, "s"), (2, "u"))
    )
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        engine.run(query, s=s, u=u).selectExpr("count(*)").collect()
        times.append(time.perf_counter() - begun)
    return min(times)


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench growth", description="Times joins over twice the history.")
    parser.add_argument("names", nargs="*", choices=[[], *JOINS], metavar="NAME", help=", ".join(JOINS))
    parser.add_argument("--rows", type=int, default=15_000, metavar="N", help="rows of the shorter history (15000)")
    asked = parser.parse_args(given)
    spark = session("local[2]", {"spark.sql.shuffle.partitions": "8"})
    for name in asked.names or JOINS:
        short, long = (seconds(spark, JOINS[name], n) for n in (asked.rows, 2 * asked.rows))
        print(
            f"{name}: {short:.2f} s for {asked.rows:,} rows, {long:.2f} s for twice as many: {long / short:.2f} times"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
