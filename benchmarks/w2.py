"""W2: aggregates by key over sliding windows, against Spark's window(), which copies a row into each of its windows."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from astralq.timeline import Instant, duration
from benchmarks.case import Case
from benchmarks.data import END, keyed

AGGREGATES = "avg(v) AS mean, min(v) AS low, max(v) AS high, count(*) AS n"
TARGETS = {1: 1.0, 10: 0.8, 60: 0.25, 360: 0.05}
"""By overlap."""
READINGS = keyed("W2", "k", keys=100)


def case(size: int, slide: int) -> Case:
    """Windows of `size` seconds every `slide` seconds."""

    def peer(data: Mapping[str, DataFrame], _: int) -> DataFrame:
        s = data["s"]
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
        target=TARGETS.get(size // slide),
    )


CASES = (case(600, 600), case(600, 60), case(3600, 60), case(3600, 10))
