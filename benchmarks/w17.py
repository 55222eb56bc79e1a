"""W17: the sessions of each key, against Spark's session_window()."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from astralq.timeline import Instant, duration
from benchmarks.case import Case
from benchmarks.data import END, identified

AGGREGATES = "count(*) AS n, max(v) AS high"
GAP = 20


def peer(data: Mapping[str, DataFrame], _: int) -> DataFrame:
    return data["s"].sparkSession.sql(
        f"""
        SELECT w.end AS t, w.start AS window_start, k, n, high
        FROM (SELECT session_window(ts, '{GAP} minutes') AS w, k, {AGGREGATES} FROM {{s}} GROUP BY 1, 2)
        """,
        **data,
    )


CASES = (
    Case(
        workload="W17",
        variant=f"{GAP} min",
        dataset=identified("W17", keys=20_000),
        query=f"""
            ISTREAM(SELECT window_start, k, {AGGREGATES} FROM s [PARTITION BY k SESSION {GAP} MINUTES] GROUP BY k)
        """,
        until=Instant(END + duration(f"{GAP} min")),
        peer=peer,
        columns={"window_start": "TIMESTAMP", "k": "INT", "n": "BIGINT", "high": "DOUBLE"},
        target=1.0,
    ),
)
