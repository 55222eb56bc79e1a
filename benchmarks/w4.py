"""W4: pairs of two streams with the same key within a minute, against Spark's join with a condition on time."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from benchmarks.case import Case
from benchmarks.data import END, identified

KEYS = 10_000


def peer(data: Mapping[str, DataFrame], _: int) -> DataFrame:
    return data["s"].sparkSession.sql(
        """
        SELECT greatest(s.ts, u.ts) AS t, s.id AS a, u.id AS b FROM {s} AS s JOIN {u} AS u
        ON s.k = u.k AND u.ts BETWEEN s.ts - INTERVAL 60 SECONDS AND s.ts + INTERVAL 60 SECONDS
        """,
        **data,
    )


CASES = (
    Case(
        workload="W4",
        variant="60",
        dataset=identified("W4", KEYS),
        query="""
            ISTREAM(SELECT s.id AS a, u.id AS b FROM s [RANGE 60 SECONDS] JOIN u [RANGE 60 SECONDS] ON s.k = u.k)
        """,
        until=END,
        peer=peer,
        columns={"a": "BIGINT", "b": "BIGINT"},
        others={"u": identified("W4u", KEYS, salt=1)},
        target=1.0,
    ),
)
