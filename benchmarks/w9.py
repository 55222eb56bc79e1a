"""W9: each tuple with the last one of its key in another stream, against Spark's own as-of join."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from benchmarks.case import Case
from benchmarks.data import END, identified

KEYS = 10_000


def peer(data: Mapping[str, DataFrame], _: int) -> DataFrame:
    """pandas on Spark's merge_asof, without the pandas."""
    s, u = data["s"], data["u"].withColumnRenamed("v", "w").withColumnRenamed("ts", "us").drop("id")
    joined = s._joinAsOf(u, F.col("ts"), F.col("us"), on="k", how="inner", direction="backward")
    return joined.select(s["ts"].alias("t"), s["id"], s["v"], "w")


CASES = (
    Case(
        workload="W9",
        variant="as-of",
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
    ),
)
