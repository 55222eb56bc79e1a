"""The odometer in SQL: legs between locations in whole millimetres, added up in position order (paper 004)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, col, lit
from astralq.plan.encoding.scan import Sequenced
from astralq.plan.run import Run
from astralq.plan.table import Table
from astralq.space import EARTH_RADIUS_M


def leg(a: Column, b: Column, *, planar: bool) -> Column:
    """The leg between two points (x, y), rounded half up to whole millimetres: `astralq.space.leg` in SQL."""
    if planar:
        dx, dy = b["x"] - a["x"], b["y"] - a["y"]
        metres = F.sqrt(dx * dx + dy * dy)
    else:
        phi1, phi2 = F.radians(a["y"]), F.radians(b["y"])
        s1 = F.sin((phi2 - phi1) / 2)
        s2 = F.sin(F.radians(b["x"] - a["x"]) / 2)
        part = s1 * s1 + F.cos(phi1) * F.cos(phi2) * s2 * s2
        metres = lit(2 * EARTH_RADIUS_M) * F.asin(F.sqrt(F.least(lit(1.0), part)))
    # least() passes over a NULL, so that a point that is not there has to be told apart.
    return F.when(a.is_not_null() & b.is_not_null(), F.floor(metres * 1000 + 0.5).cast("bigint"))


def located_points(rows: Table, at: Sequence[str]) -> Table:
    """With `point`, a struct of x and y; NULL where a tuple has no location."""
    x, y = (col(c).cast("double") for c in at)
    finite = (F.abs(x) < lit(math.inf)) & (F.abs(y) < lit(math.inf))
    return rows.with_column("point", F.when(finite, F.struct(x.alias("x"), y.alias("y"))))


def legs(rows: Table, keys: Sequence[str], order: Sequence[str], run: Run, *, planar: bool) -> Table:
    """With d, the distance travelled up to each row: legs go from the last known point; who has none has not moved.

    Rows that were kept from an epoch before have kd, kx and ky: their d, and the last point that was known then. In an
    epoch all rows get the latter as lx and ly.
    """
    kept = "kd" in rows.columns
    if kept:
        known_then = F.when(col("kx").is_not_null(), F.struct(col("kx").alias("x"), col("ky").alias("y")))
        rows = rows.with_column("point", F.coalesce(col("point"), known_then))
    known = Sequenced.of(rows, keys, order, run, run.time_cut).last_known("point", "_from")
    moved = known.with_column("d", F.coalesce(leg(col("_from"), col("point"), planar=planar), lit(0)))
    merges = {"d": "sum"}
    made = [col("d")]
    if run.state is not None:
        last = F.coalesce(col("point"), col("_from"))
        moved = moved.with_columns({"lx": last["x"], "ly": last["y"]})
        made += [col("lx"), col("ly")]
    if kept:
        merges["_base"] = "max"
        moved = moved.with_columns({"d": F.when(col("kd").is_null(), col("d")).otherwise(lit(0)), "_base": col("kd")})
        made[0] = F.coalesce(col("kd"), col("d") + F.coalesce(col("_base"), lit(0))).alias("d")
    moved = moved.drop("_from", "point")
    total = Sequenced.of(moved, keys, order, run, run.time_cut).running(merges, [])
    return total.select(*(c for c in rows.columns if c != "point"), *made)
