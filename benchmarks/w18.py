"""W18: the greatest three of each key in every minute, against row_number over Spark's window()."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from benchmarks.case import Case
from benchmarks.data import END, identified

FIRST = 3


def case(keys: int) -> Case:
    """The greatest three of so many keys."""

    def peer(data: Mapping[str, DataFrame], _: int) -> DataFrame:
        s = data["s"]
        return s.sparkSession.sql(
            f"""
            WITH minutes AS (SELECT *, window(ts, '1 minute').end AS t FROM {{s}}),
            ranked AS (SELECT *, row_number() OVER (PARTITION BY t, k ORDER BY v DESC, ts, id) AS place FROM minutes)
            SELECT t, k, id, v, ts FROM ranked WHERE place <= {FIRST} AND t <= timestamp_micros({END})
            """,
            s=s,
        )

    return Case(
        workload="W18",
        variant=f"{FIRST}/{keys}",
        dataset=identified("W18", keys),
        query=f"""
            ISTREAM(SELECT k, id, v, ts FROM s [TUMBLE 1 MINUTE]
            QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) <= {FIRST})
        """,
        until=END,
        peer=peer,
        columns={"k": "INT", "id": "BIGINT", "v": "DOUBLE", "ts": "TIMESTAMP"},
        target=1.0,
    )


CASES = (case(keys=100),)
