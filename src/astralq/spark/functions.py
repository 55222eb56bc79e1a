"""The functions that run Python on the executors, over Arrow: tests of regions by shapely, and users' callables."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from astralq.callables import PythonFunction, from_arrow
from astralq.errors import AstralError, PlanError
from astralq.io.parquet import arrow_type, arrow_value
from astralq.plan.sql_types import spark_type
from astralq.space import Region


def register_functions(session: SparkSession, functions: Mapping[str, Region | PythonFunction]) -> None:
    """Makes the functions of a plan known to a session, each once."""
    # A callable that is kept here keeps its place in memory, by which it is named.
    known: dict[str, Region | PythonFunction] = vars(session).setdefault("_astralq_functions", {})
    for name, function in functions.items():
        if name not in known:
            made = _point_in_polygon(function.wkt) if isinstance(function, Region) else _called(function)
            session.udf.register(name, made)
            known[name] = function


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

    return _over_arrow(inside, "boolean")


def _called(function: PythonFunction) -> Any:
    """A user's callable, row by row: its value, or the error that it comes to. Executors need this package for it."""
    import pyarrow as pa

    if not hasattr(F, "arrow_udf"):
        # Over pandas a whole number beside a NULL is a float, and NaN is NULL: answers would not be the model's.
        raise PlanError(f"the Python function {function.name} needs Spark 4.1 or later", hint="use --engine model")
    function.prepared()  # what is wrong with it is told before anything runs
    type_ = pa.duration("us") if function.result.name == "INTERVAL" else arrow_type(function.result)
    prepared: list[Any] = []

    def call(*columns: Any) -> Any:
        if not prepared:
            prepared.append(function.prepared())
        given = [[from_arrow(v, c.type) for v in c.to_pylist()] for c in columns]
        rows = zip(*given, strict=True) if function.parameters != () else [()] * len(columns[0])
        values: list[Any] = []
        errors: list[str | None] = []
        for row in rows:
            try:
                values.append(arrow_value(prepared[0](row), function.result))
                errors.append(None)
            except AstralError as e:
                values.append(None)
                errors.append(e.message)
        made = [pa.array(values, type_), pa.array(errors, pa.string())]
        return pa.StructArray.from_arrays(made, names=["value", "error"])

    return _over_arrow(call, f"struct<value: {spark_type(function.result)}, error: string>")


def _over_arrow(f: Callable[..., Any], returns: str) -> Any:
    """A function of Spark that is computed over Arrow's arrays."""
    import pyarrow

    if not hasattr(F, "arrow_udf"):  # before Spark 4.1
        return _over_pandas(f, returns)
    f.__annotations__ = dict.fromkeys([*inspect.signature(f).parameters, "return"], pyarrow.Array)
    return F.arrow_udf(f, returns)


def _over_pandas(f: Callable[..., Any], returns: str) -> Any:
    """The same function, for a Spark whose functions take pandas only."""
    import pandas  # type: ignore[import-untyped]

    def converted(*columns: Any) -> Any:
        import pyarrow as pa

        return f(*map(pa.Array.from_pandas, columns)).to_pandas()

    converted.__annotations__ = {"columns": pandas.Series, "return": pandas.Series}
    return F.pandas_udf(converted, returns)
