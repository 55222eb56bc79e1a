"""W5: the last ten of each key every minute, against row_number per key and minute over a bounded look-back."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from astralq.timeline import duration
from benchmarks.case import Case
from benchmarks.data import DAY, END, identified

LAST = 10
MINUTE = duration("1 min")
ENOUGH = 125 / 3
"""How many rows of a key a look-back holds on average: 30 minutes of 2 million rows a day of 1,000 keys.

Plain SQL cannot look back for ten rows, only for a time that surely has them: fewer come about once in 10⁹ times.
"""


def look_back(rows: int, keys: int) -> int:
    """The minutes a row can be among the last ten for, at most the whole day."""
    minutes = DAY // MINUTE
    return min(minutes, -int(-ENOUGH * minutes * keys // rows))


def case(keys: int) -> Case:
    """The last ten of so many keys."""

    def peer(data: Mapping[str, DataFrame], rows: int) -> DataFrame:
        s = data["s"]
        # A row belongs to the minutes m at or after it with m − look-back < ts; until the day is that old, to all.
        first = f"(unix_micros(ts) + {MINUTE - 1}) DIV {MINUTE}"
        return s.sparkSession.sql(
            f"""
            WITH bounds AS (SELECT *, {first} AS first FROM {{s}}),
            copies AS (
                SELECT k, id, v, ts,
                    explode(sequence(first, least(first + {look_back(rows, keys) - 1}, {END // MINUTE}))) AS minute
                FROM bounds
            ),
            ranked AS (
                SELECT *, row_number() OVER (PARTITION BY k, minute ORDER BY ts DESC, id DESC) AS rank FROM copies
            )
            SELECT timestamp_micros(minute * {MINUTE}) AS t, k, id, v, ts FROM ranked WHERE rank <= {LAST}
            """,
            s=s,
        )

    return Case(
        workload="W5",
        variant=f"{LAST}/{keys}",
        dataset=identified("W5", keys),
        query=f"""
            RSTREAM(SELECT k, id, v, ts FROM s [PARTITION BY k ROWS {LAST} SLIDE 1 MINUTE])
            EVERY 1 MINUTE
        """,
        until=END,
        peer=peer,
        columns={"k": "INT", "id": "BIGINT", "v": "DOUBLE", "ts": "TIMESTAMP"},
        target=0.5,
    )


CASES = (case(keys=1000),)
