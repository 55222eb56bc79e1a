"""W6: pairs of two streams within two seconds, with a key and without, against Spark's join."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from benchmarks.case import Case
from benchmarks.data import END, identified

KEYS = 1_000


def case(variant: str, condition: str, target: float, one_of: int) -> Case:
    def peer(data: Mapping[str, DataFrame], _: int) -> DataFrame:
        return data["s"].sparkSession.sql(
            f"""
            SELECT greatest(s.ts, u.ts) AS t, s.id AS a, u.id AS b FROM {{s}} AS s JOIN {{u}} AS u
            ON {condition} AND u.ts BETWEEN s.ts - INTERVAL 2 SECONDS AND s.ts + INTERVAL 2 SECONDS
            """,
            **data,
        )

    return Case(
        workload="W6",
        variant=variant,
        dataset=identified("W6", KEYS),
        query=f"SELECT s.id AS a, u.id AS b FROM s JOIN u ON {condition} WITHIN 2 SECONDS",
        until=END,
        peer=peer,
        columns={"a": "BIGINT", "b": "BIGINT"},
        others={"u": identified("W6u", KEYS, salt=1)},
        target=target,
        one_of=one_of,
    )


CASES = (case("key", "s.k = u.k", 1.0, 1), case("none", "s.v < u.v", 0.2, 50))
