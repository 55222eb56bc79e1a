"""W11: readings that are far from the mean of their key over the last day, against range frames."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from astralq.timeline import Instant, duration
from benchmarks.case import Case, Peer
from benchmarks.data import DAY, START, identified

DAYS, KEYS = 5, 1000
STEP = duration("10 min")
FAR = "abs(v - mean) > 1.5 * spread"
STATISTICS = "avg(v) AS mean, stddev_pop(v) AS spread"


def every_change(data: Mapping[str, DataFrame], _: int) -> DataFrame:
    """A reading against those of the day before it, itself excluded."""
    return data["s"].sparkSession.sql(
        f"""
        SELECT ts AS t, k, id, v FROM (
            SELECT *, avg(v) OVER day AS mean, stddev_pop(v) OVER day AS spread FROM {{s}}
            WINDOW day AS (PARTITION BY k ORDER BY unix_micros(ts) RANGE BETWEEN {DAY + 1} PRECEDING AND 1 PRECEDING)
        ) WHERE {FAR}
        """,
        **data,
    )


def every_step(data: Mapping[str, DataFrame], _: int) -> DataFrame:
    """A reading against the day up to the last full STEP. Readings are put into the step in which they are first seen;
    no reading is on the grid itself."""
    return data["s"].sparkSession.sql(
        f"""
        WITH events AS (
            SELECT k, id, v, ts, unix_micros(ts) DIV {STEP} AS step, CAST(NULL AS DOUBLE) AS held FROM {{s}}
            UNION ALL SELECT k, NULL, NULL, NULL, unix_micros(ts) DIV {STEP} + 1, v FROM {{s}}
        )
        SELECT ts AS t, k, id, v FROM (
            SELECT *, avg(held) OVER day AS mean, stddev_pop(held) OVER day AS spread FROM events
            WINDOW day AS (PARTITION BY k ORDER BY step RANGE BETWEEN {DAY // STEP - 1} PRECEDING AND CURRENT ROW)
        ) WHERE id IS NOT NULL AND {FAR}
        """,
        **data,
    )


def case(variant: str, window: str, peer: Peer) -> Case:
    return Case(
        workload="W11",
        variant=variant,
        dataset=identified("W11", KEYS, DAYS),
        query=f"""
            SELECT s.k, s.id, s.v FROM s LOOKUP JOIN {window} AS w ON s.k = w.k AND {FAR.replace("(v", "(s.v")}
        """,
        until=Instant(START + DAYS * DAY),
        peer=peer,
        columns={"k": "INT", "id": "BIGINT", "v": "DOUBLE"},
        target=1.0,
    )


CASES = (
    case("10 min", f"(SELECT k, {STATISTICS} FROM s [RANGE 1 DAY SLIDE 10 MINUTES] GROUP BY k)", every_step),
    case("each", f"(SELECT k, {STATISTICS} FROM s [RANGE 1 DAY] GROUP BY k) DELAYED BY 1 MICROSECOND", every_change),
)
