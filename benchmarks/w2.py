"""W2: aggregates by key over sliding windows, against Spark's window(), which copies a row into each of its windows."""

from __future__ import annotations

from pyspark.sql import DataFrame

from astralq.timeline import Instant, duration
from benchmarks.case import Case
from benchmarks.data import END, keyed

AGGREGATES = "avg(v) AS mean, min(v) AS low, max(v) AS high, count(*) AS n"
READINGS = keyed("W2", "k", keys=100)


def case(size: int, slide: int) -> Case:
    """Windows of `size` seconds every `slide` seconds."""

    def peer(s: DataFrame, _: int) -> DataFrame:
        return s.sparkSession.sql(
            f"""
            SELECT w.end AS t, k, mean, low, high, n
            FROM (SELECT window(ts, '{size} seconds', '{slide} seconds') AS w, k, {AGGREGATES} FROM {{s}} GROUP BY 1, 2)
            """,
            s=s,
        )

    return Case(
        workload="W2",
        variant=f"{size}/{slide}",
        dataset=READINGS,
        # A window [k·slide, k·slide + size) is evaluated at its end, which is on the grid of EVERY.
        query=f"""
            RSTREAM(SELECT k, {AGGREGATES} FROM s [HOP {size} SECONDS EVERY {slide} SECONDS] GROUP BY k)
            EVERY {slide} SECONDS
        """,
        until=Instant(END + duration(f"{size} s")),
        peer=peer,
        columns={"k": "INT", "mean": "DOUBLE", "low": "DOUBLE", "high": "DOUBLE", "n": "BIGINT"},
    )


CASES = (case(600, 600), case(600, 60), case(3600, 60), case(3600, 10))
