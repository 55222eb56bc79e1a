"""W12: keys that have been silent for 20 minutes, against lead."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from astralq.timeline import CHRONON, duration
from benchmarks.case import Case
from benchmarks.data import END, identified

SILENCE = duration("20 min") + CHRONON


def peer(data: Mapping[str, DataFrame], _: int) -> DataFrame:
    return data["s"].sparkSession.sql(
        f"""
        WITH pairs AS (
            SELECT k, unix_micros(ts) AS at, lead(unix_micros(ts)) OVER (PARTITION BY k ORDER BY ts) AS next FROM {{s}}
        )
        SELECT timestamp_micros(at + {SILENCE}) AS t, k FROM pairs
        WHERE coalesce(next > at + {SILENCE}, TRUE) AND at + {SILENCE} <= {END}
        """,
        **data,
    )


CASES = (
    Case(
        workload="W12",
        variant="20 min",
        dataset=identified("W12", keys=20_000),
        query="ISTREAM(SELECT k FROM s [UNBOUNDED] EXCEPT SELECT k FROM s [RANGE 20 MINUTES])",
        until=END,
        peer=peer,
        columns={"k": "INT"},
        target=1.2,
    ),
)
