"""W9: each tuple with the last one of its key in another stream, against Spark's own as-of join."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from benchmarks.case import Case, Peer
from benchmarks.data import END, identified

KEYS = 10_000


def as_of(data: Mapping[str, DataFrame], _: int) -> DataFrame:
    """pandas on Spark's merge_asof, without the pandas: it compares all with all."""
    s, u = data["s"], data["u"].withColumnRenamed("v", "w").withColumnRenamed("ts", "us").drop("id")
    joined = s._joinAsOf(u, F.col("ts"), F.col("us"), on="k", how="inner", direction="backward")
    return joined.select(s["ts"].alias("t"), s["id"], s["v"], "w")


def last_value(data: Mapping[str, DataFrame], _: int) -> DataFrame:
    """What one writes by hand: both streams in one, and the last value that is not NULL."""
    return data["s"].sparkSession.sql(
        """
        WITH both AS (
            SELECT k, ts, id, v, CAST(NULL AS DOUBLE) AS w, 1 AS side FROM {s}
            UNION ALL SELECT k, ts, NULL, NULL, v, 0 FROM {u}
        ),
        filled AS (SELECT ts AS t, id, v, last(w, TRUE) OVER (PARTITION BY k ORDER BY ts, side) AS w FROM both)
        SELECT * FROM filled WHERE id IS NOT NULL AND w IS NOT NULL
        """,
        **data,
    )


def case(variant: str, peer: Peer, one_of: int) -> Case:
    return Case(
        workload="W9",
        variant=variant,
        dataset=identified("W9", KEYS),
        query="""
            SELECT s.id, s.v, r.v AS w FROM s
            LOOKUP JOIN (SELECT k, v FROM u [PARTITION BY k LAST ROW]) AS r ON s.k = r.k
        """,
        until=END,
        peer=peer,
        columns={"id": "BIGINT", "v": "DOUBLE", "w": "DOUBLE"},
        others={"u": identified("W9u", KEYS, salt=1)},
        target=1.0,
        one_of=one_of,
    )


CASES = (case("last", last_value, 1), case("as-of", as_of, 500))
