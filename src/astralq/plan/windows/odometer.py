"""The odometer in SQL: legs between locations in whole millimetres, added up in position order (paper 004)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, col, lit
from astralq.plan.encoding.scan import NO_CUT, Sequenced
from astralq.plan.run import Run
from astralq.plan.table import Table
from astralq.space import EARTH_RADIUS_M

Point = tuple[Column, Column]
"""x and y; NULL, both of them, where a point is not known."""


def leg(a: Point, b: Point, *, planar: bool) -> Column:
    """The leg between two points, rounded half up to whole millimetres: `astralq.space.leg` in SQL."""
    if planar:
        dx, dy = b[0] - a[0], b[1] - a[1]
        metres = F.sqrt(dx * dx + dy * dy)
    else:
        phi1, phi2 = F.radians(a[1]), F.radians(b[1])
        s1 = F.sin((phi2 - phi1) / 2)
        s2 = F.sin(F.radians(b[0] - a[0]) / 2)
        part = s1 * s1 + F.cos(phi1) * F.cos(phi2) * s2 * s2
        metres = lit(2 * EARTH_RADIUS_M) * F.asin(F.sqrt(F.least(lit(1.0), part)))
    # least() passes over a NULL, so that a point that is not there has to be told apart.
    return F.when(a[0].is_not_null() & b[0].is_not_null(), F.floor(metres * 1000 + 0.5).cast("bigint"))


def located_points(rows: Table, at: Sequence[str]) -> Table:
    """With `px` and `py`, both NULL where a tuple has no location."""
    x, y = (col(c).cast("double") for c in at)
    finite = (F.abs(x) < lit(math.inf)) & (F.abs(y) < lit(math.inf))
    return rows.with_columns({"px": F.when(finite, x), "py": F.when(finite, y)})


def legs(rows: Table, keys: Sequence[str], order: Sequence[str], run: Run, *, planar: bool) -> Table:
    """With d, the distance travelled up to each row: legs go from the last known point; who has none has not moved.

    Rows that were kept from an epoch before have kd, kx and ky: their d, and the last point that was known then. In an
    epoch all rows get the latter as lx and ly.
    """
    kept = "kd" in rows.columns
    if kept:
        rows = rows.with_columns({"px": F.coalesce("px", "kx"), "py": F.coalesce("py", "ky")})
    # Objects need no buckets of time, and so not the times of sources.
    cut = NO_CUT if keys else run.time_cut
    known = Sequenced.of(rows, keys, order, run, cut).last_known({"px": "_px", "py": "_py"})
    here, there = (col("px"), col("py")), (col("_px"), col("_py"))
    moved = known.with_column("d", F.coalesce(leg(there, here, planar=planar), lit(0)))
    merges = {"d": "sum"}
    made = [col("d")]
    if run.state is not None:
        moved = moved.with_columns({"lx": F.coalesce("px", "_px"), "ly": F.coalesce("py", "_py")})
        made += [col("lx"), col("ly")]
    if kept:
        merges["_base"] = "max"
        moved = moved.with_columns({"d": F.when(col("kd").is_null(), col("d")).otherwise(lit(0)), "_base": col("kd")})
        made[0] = F.coalesce(col("kd"), col("d") + F.coalesce(col("_base"), lit(0))).alias("d")
    moved = moved.drop("_px", "_py", "px", "py")
    total = Sequenced.of(moved, keys, order, run, cut).running(merges, [])
    return total.select(*(c for c in rows.columns if c not in ("px", "py")), *made)
