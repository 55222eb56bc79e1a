"""W14: tuples inside a polygon, against a user-defined function over Arrow."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from benchmarks.case import Case
from benchmarks.data import END, located

CORNERS = 64
STAR = ", ".join(
    f"{5 + (2 + k % 2 * 2) * math.cos(2 * math.pi * k / CORNERS):.4f} "
    f"{5 + (2 + k % 2 * 2) * math.sin(2 * math.pi * k / CORNERS):.4f}"
    for k in [*range(CORNERS), 0]
)
REGION = f"POLYGON (({STAR}))"


def peer(data: Mapping[str, DataFrame], _: int) -> DataFrame:
    region = REGION

    def inside(x: Any, y: Any) -> Any:
        import pandas as pd  # type: ignore[import-untyped]
        import shapely

        return pd.Series(shapely.intersects_xy(shapely.from_wkt(region), x, y))

    import pandas

    inside.__annotations__ = {"x": pandas.Series, "y": pandas.Series, "return": pandas.Series}
    inside = F.pandas_udf(inside, "boolean")
    return data["s"].where(inside("lon", "lat")).select(F.col("ts").alias("t"), "id", "lon", "lat")


CASES = (
    Case(
        workload="W14",
        variant=f"{CORNERS} corners",
        dataset=located("W14"),
        query=f"CREATE REGION star AS '{REGION}'; SELECT id, lon, lat FROM s WHERE inside(lon, lat, star)",
        until=END,
        peer=peer,
        columns={"id": "BIGINT", "lon": "DOUBLE", "lat": "DOUBLE"},
        target=1.2,
    ),
)
