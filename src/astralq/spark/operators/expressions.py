"""Expressions as Spark columns: an expression's text is Spark SQL, once its names are those of the frame."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.base import STAMP
from astralq.expr.nodes import Call, Column, Expr, Inside
from astralq.schema import BOOLEAN, Schema
from astralq.space import Region

PSEUDO = {"_t": "timestamp_micros(st)", "_i": "si", "_n": "sn"}
"""The pseudo-columns in terms of a stamp's columns."""


@dataclass(frozen=True, repr=False)
class _Raw(Expr):
    """A piece of Spark SQL."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Names:
    """Where a frame has what expressions name: attributes by their place in the schema, pseudo-columns by their stamp.

    A stamp without si is one of batches whose i is always 0.
    """

    schema: Schema
    columns: Sequence[str]
    stamp: Sequence[str] = ()

    def text(self, column: Column) -> str:
        found = self.schema.find(column.name)
        if found is not None:
            return self.columns[found]
        assert column.name in {a.name for a in STAMP}, column.name
        return "0L" if column.name == "_i" and "si" not in self.stamp else PSEUDO[column.name]


def reads_position(expr: Expr, schema: Schema) -> bool:
    """Whether it reads the position _n, and not an attribute of that name."""
    return "_n" in expr.columns and schema.find("_n") is None


def compiled(expr: Expr, names: Names) -> SparkColumn:
    """The expression as a column of a frame."""
    return F.expr(str(_rewritten(expr, names)))


def _rewritten(expr: Expr, names: Names) -> Expr:
    if isinstance(expr, Column):
        return _Raw(expr.type, names.text(expr))
    if isinstance(expr, Inside):
        x, y = (f"CAST({_rewritten(e, names)} AS DOUBLE)" for e in expr.children)
        return _Raw(BOOLEAN, f"{_region_function(expr.region)}({x}, {y})")
    return expr.rebuilt(tuple(_rewritten(c, names) for c in expr.children))


def bounding_boxes(condition: Expr, names: Names) -> SparkColumn | None:
    """What every location that satisfies the condition satisfies in plain SQL; None where it tests no region.

    Only those tests count that stand in a conjunction: the others may be false.
    """
    if isinstance(condition, Call) and condition.function == "and":
        found = [b for b in (bounding_boxes(c, names) for c in condition.args) if b is not None]
        return None if not found else found[0] if len(found) == 1 else found[0] & found[1]
    if not isinstance(condition, Inside):
        return None
    x, y = (compiled(e, names).cast("double") for e in condition.children)
    west, south, east, north = condition.region.shape.bounds
    return x.between(west, east) & y.between(south, north)


_registered: dict[tuple[int, str], str] = {}


def _region_function(region: Region) -> str:
    """The name of the session's function that tests a region; it is the only one that runs Python."""
    session = SparkSession.getActiveSession()
    assert session is not None
    name = "astralq_inside_" + hashlib.sha256(region.wkt.encode()).hexdigest()[:16]
    key = (id(session), name)
    if key not in _registered:
        session.udf.register(name, _point_in_polygon(region.wkt))
        _registered[key] = name
    return name


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

    import pyarrow

    inside.__annotations__ = {"x": pyarrow.Array, "y": pyarrow.Array, "return": pyarrow.Array}
    return F.arrow_udf(inside, "boolean")


def substituted(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """The expression with attributes replaced by other expressions."""
    if isinstance(expr, Column):
        return values.get(expr.name.lower(), expr)
    return expr.rebuilt(tuple(substituted(c, values) for c in expr.children))
