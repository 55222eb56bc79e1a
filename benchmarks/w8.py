"""W8: W2 against DuckDB on two threads, which joins panes that are written by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote, urlparse

from pyspark.sql import DataFrame

from benchmarks import w2
from benchmarks.case import Case

THREADS = 2


def case(size: int, slide: int) -> Case:
    def peer(data: Mapping[str, DataFrame], _: int) -> Any:
        files = [unquote(urlparse(name).path) for name in data["s"].inputFiles()]
        return in_duckdb(
            f"""
            WITH panes AS (
                SELECT k, epoch_us(ts) // {slide * 1_000_000} AS p, sum(v) AS total, min(v) AS low, max(v) AS high,
                    count(*) AS n
                FROM read_parquet({files}) GROUP BY ALL
            ),
            windows AS (SELECT * EXCLUDE p, p + 1 + of.range AS e FROM panes, range({size // slide}) AS of)
            SELECT to_timestamp(e * {slide}) AS t, k, sum(total) / sum(n) AS mean, min(low) AS low, max(high) AS high,
                sum(n)::BIGINT AS n
            FROM windows GROUP BY e, k
            """
        )

    return replace(w2.case(size, slide), workload="W8", peer=peer, target=4.0)


def in_duckdb(query: str) -> Any:
    import duckdb  # type: ignore[import-not-found,unused-ignore]

    with duckdb.connect(config={"threads": THREADS}) as db:
        db.execute("SET TimeZone = 'UTC'")
        return db.sql(query).to_arrow_table()


CASES = (case(600, 600), case(600, 60), case(3600, 60), case(3600, 10))
