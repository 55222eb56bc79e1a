"""W10: the last 50 km of each ship every 10 km, against pandas per ship."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from benchmarks.case import Case
from benchmarks.data import END, voyages

SIZE, SLIDE = 50_000, 10_000  # in metres


def last_of_ship(reports: Any) -> Any:
    """At the first report that reaches a multiple of SLIDE: those of the SIZE metres up to it, and none beyond."""
    import numpy as np
    import pandas as pd  # type: ignore[import-untyped]

    ordered = reports.sort_values("ts")
    x = ordered["x"].to_numpy()
    odometer = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(x)))])
    reached = np.unique(odometer // SLIDE, return_index=True)[1]
    at = odometer[reached] // SLIDE * SLIDE
    first, end = np.searchsorted(odometer, at - SIZE, side="left"), np.searchsorted(odometer, at, side="right")
    return pd.DataFrame(
        {
            "t": ordered["ts"].to_numpy()[reached],
            "ship": ordered["ship"].to_numpy()[reached],
            "n": end - first,
            "last": ordered["id"].to_numpy()[end - 1],
        }
    )


def peer(data: Mapping[str, DataFrame], _: int) -> DataFrame:
    return data["s"].groupBy("ship").applyInPandas(last_of_ship, "t TIMESTAMP, ship INT, n BIGINT, last BIGINT")


CASES = (
    Case(
        workload="W10",
        variant="50/10 km",
        dataset=voyages("W10", ships=1000),
        query="""
            ISTREAM(SELECT ship, count(*) AS n, max(id) AS last
                    FROM s [PARTITION BY ship RANGE BY '50 km' RATTR SPACE SLIDE BY '10 km' SATTR SPACE] GROUP BY ship)
        """,
        until=END,
        peer=peer,
        columns={"ship": "INT", "n": "BIGINT", "last": "BIGINT"},
        target=0.5,
    ),
)
