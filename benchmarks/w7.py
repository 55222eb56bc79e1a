"""W7: an average of the last 1,000 of all tuples, every 100 of them, against row_number over all."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from benchmarks.case import Case
from benchmarks.data import END, identified

ROWS, SLIDE = 1000, 100


def peer(data: Mapping[str, DataFrame], _: int) -> DataFrame:
    """Panes of SLIDE rows; the average changes with each of them, or it is not emitted."""
    return data["s"].sparkSession.sql(
        f"""
        WITH numbered AS (SELECT ts, v, row_number() OVER (ORDER BY ts) - 1 AS n FROM {{s}}),
        panes AS (
            SELECT n DIV {SLIDE} AS p, max(ts) AS t, sum(v) AS total, count(*) AS n FROM numbered GROUP BY n DIV {SLIDE}
        ),
        means AS (
            SELECT t, n, sum(total) OVER last / sum(n) OVER last AS mean FROM panes
            WINDOW last AS (ORDER BY p ROWS BETWEEN {ROWS // SLIDE - 1} PRECEDING AND CURRENT ROW)
        ),
        changes AS (SELECT t, n, mean, lag(mean) OVER (ORDER BY t) AS before FROM means WHERE n = {SLIDE})
        SELECT t, mean FROM changes WHERE NOT mean <=> before
        """,
        **data,
    )


CASES = (
    Case(
        workload="W7",
        variant=f"{ROWS}/{SLIDE}",
        dataset=identified("W7", keys=100),
        query=f"ISTREAM(SELECT avg(v) AS mean FROM s [ROWS {ROWS} SLIDE {SLIDE}] HAVING count(*) > 0)",
        until=END,
        peer=peer,
        columns={"mean": "DOUBLE"},
        target=1.0,
    ),
)
