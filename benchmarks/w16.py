"""W16: one row for each window and key, with where the window begins, against Spark's window()."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from astralq.timeline import Instant, duration
from benchmarks.case import Case
from benchmarks.data import END, keyed

AGGREGATES = "count(*) AS n, max(v) AS high"
READINGS = keyed("W16", "k", keys=1_000)


def case(size: int, slide: int) -> Case:
    """Windows of `size` seconds every `slide` seconds."""

    def peer(data: Mapping[str, DataFrame], _: int) -> DataFrame:
        s = data["s"]
        return s.sparkSession.sql(
            f"""
            SELECT w.end AS t, w.start AS window_start, k, n, high
            FROM (SELECT window(ts, '{size} seconds', '{slide} seconds') AS w, k, {AGGREGATES} FROM {{s}} GROUP BY 1, 2)
            """,
            s=s,
        )

    return Case(
        workload="W16",
        variant=f"{size}/{slide}",
        dataset=READINGS,
        query=f"""
            ISTREAM(SELECT window_start, k, {AGGREGATES} FROM s [HOP {size} SECONDS EVERY {slide} SECONDS]
                    GROUP BY window_start, k)
        """,
        until=Instant(END + duration(f"{size} s")),
        peer=peer,
        columns={"window_start": "TIMESTAMP", "k": "INT", "n": "BIGINT", "high": "DOUBLE"},
        target=1.0,
    )


CASES = (case(600, 600), case(3600, 600))
