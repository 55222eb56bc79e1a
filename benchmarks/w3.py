"""W3: every change of an average by group over the last minute, against a range frame over entries and exits."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from astralq.timeline import CHRONON, duration
from benchmarks.case import Case
from benchmarks.data import END, keyed

RANGE = 60


def peer(data: Mapping[str, DataFrame], _: int) -> DataFrame:
    """A row enters at its timestamp and is out one microsecond after the end of its range; NULL marks an exit.

    Rows of one instant have the same frame, so that of several only the first differs from the one before.
    """
    s = data["s"]
    width = duration(f"{RANGE} s")
    return s.sparkSession.sql(
        f"""
        WITH entries AS (SELECT g, unix_micros(ts) AS t, v FROM {{s}}),
        events AS (
            SELECT g, t, v FROM entries
            UNION ALL
            SELECT g, t + {width + CHRONON}, NULL FROM entries WHERE t + {width + CHRONON} <= {END}
        ),
        states AS (
            SELECT g, t, avg(v) OVER (PARTITION BY g ORDER BY t RANGE BETWEEN {width} PRECEDING AND CURRENT ROW) AS mean
            FROM events
        ),
        pairs AS (SELECT g, t, mean, lag(mean) OVER (PARTITION BY g ORDER BY t) AS before FROM states)
        SELECT timestamp_micros(t) AS t, g, mean FROM pairs WHERE mean IS NOT NULL AND NOT mean <=> before
        """,
        s=s,
    )


CASES = (
    Case(
        workload="W3",
        variant=f"{RANGE}",
        dataset=keyed("W3", "g", keys=100),
        query=f"ISTREAM(SELECT g, avg(v) AS mean FROM s [RANGE {RANGE} SECONDS] GROUP BY g)",
        until=END,
        peer=peer,
        columns={"g": "INT", "mean": "DOUBLE"},
        target=0.5,
    ),
)
