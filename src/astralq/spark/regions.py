"""The functions that test regions: point-in-polygon by shapely, the only Python in the path of tuples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from astralq.space import Region

_registered: set[tuple[int, str]] = set()


def register_regions(session: SparkSession, regions: Mapping[str, Region]) -> None:
    """Makes the functions of a plan known to a session, each once."""
    for name, region in regions.items():
        if (id(session), name) not in _registered:
            session.udf.register(name, _point_in_polygon(region.wkt))
            _registered.add((id(session), name))


def _point_in_polygon(wkt: str) -> Any:
    # A nested function travels to the executors by value: they need shapely and pyarrow, not this package.
    def inside(x: Any, y: Any) -> Any:
        import numpy as np
        import pyarrow as pa  # type: ignore[import-untyped]
        import shapely

        unknown = np.logical_or(x.is_null().to_numpy(zero_copy_only=False), y.is_null().to_numpy(zero_copy_only=False))
        xs, ys = (v.to_numpy(zero_copy_only=False).astype(float) for v in (x, y))
        known = np.isfinite(xs) & np.isfinite(ys)
        found = np.zeros(len(xs), dtype=bool)
        found[known] = shapely.intersects_xy(shapely.from_wkt(wkt), xs[known], ys[known])
        return pa.array(found, mask=unknown)

    if not hasattr(F, "arrow_udf"):  # before Spark 4.1
        return _over_pandas(inside)
    import pyarrow

    inside.__annotations__ = {"x": pyarrow.Array, "y": pyarrow.Array, "return": pyarrow.Array}
    return F.arrow_udf(inside, "boolean")


def _over_pandas(inside: Any) -> Any:
    """The same function, for a Spark whose functions take pandas only."""

    def converted(x: Any, y: Any) -> Any:
        import pyarrow as pa

        return inside(pa.Array.from_pandas(x), pa.Array.from_pandas(y)).to_pandas()

    import pandas  # type: ignore[import-untyped]

    converted.__annotations__ = {"x": pandas.Series, "y": pandas.Series, "return": pandas.Series}
    return F.pandas_udf(converted, "boolean")
