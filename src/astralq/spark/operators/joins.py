"""Joins intersect intervals: pairs are found by their keys and by buckets of time, never by comparing all with all.

There is one size of bucket for each magnitude of interval: a row is in the buckets that it covers on its own level,
at most two, and on all coarser ones. A pair meets on the coarser of its two levels, in the bucket of its beginning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.relational import Join, JoinKind
from astralq.expr.nodes import TRUE, Call, Cast, Column, Expr
from astralq.schema import Schema
from astralq.spark.context import Run
from astralq.spark.encoding.batches import Id, greatest, least, lt
from astralq.spark.encoding.columns import col, lit, long
from astralq.spark.encoding.frames import (
    Choice,
    Phi,
    RelationFrame,
    attributes,
    columns,
    interval,
    mapped,
    path,
    relabelled,
    same_flatness,
)
from astralq.spark.operators.expressions import Names, compiled
from astralq.spark.operators.relational import tagged, united

_STEP = 8
"""How much finer each level of buckets is than the one before."""

_KEYLESS = 32
"""Into how many buckets the coarsest level is cut where no key distributes the rows."""


@dataclass(frozen=True)
class Levels:
    """Bucket widths from coarse to fine over the time of a run."""

    first: int
    span: int
    coarsest: int  # how many buckets level 0 has

    @property
    def widths(self) -> list[int]:
        found = [max(1, self.span)]
        while found[-1] > 1 and len(found) < 8:
            found.append(max(1, found[-1] // _STEP))
        return found

    def buckets(self, level: int) -> tuple[int, int]:
        """The width and the number of buckets of a level."""
        width = self.widths[level] if level else max(1, -(-self.span // self.coarsest))
        return width, -(-self.span // width)

    def bucket(self, t: SparkColumn, level: int) -> SparkColumn:
        """The bucket of an instant; those outside the run are in the first and the last one."""
        width, count = self.buckets(level)
        inside = F.greatest(F.least(t, lit(self.first + self.span - 1)), lit(self.first))
        place = F.floor((inside - lit(self.first)) / lit(width))
        return F.least(place, lit(count - 1)).cast("bigint")

    def own(self, start: SparkColumn, end: SparkColumn) -> SparkColumn:
        """The level of an interval: the finest whose buckets are not shorter than it."""
        low, high = lit(self.first), lit(self.first + self.span)
        length = F.greatest(F.least(end, high) - F.greatest(start, low), lit(0))
        found = lit(0)
        for level in range(1, len(self.widths)):
            found = F.when(length <= self.widths[level], lit(level)).otherwise(found)
        return found

    def possible(self, frame: RelationFrame) -> set[int]:
        """The levels that rows of a frame can have, as far as is known."""
        if frame.endless:
            # A row that has just come may be short still: its end is cut off at the end of the run.
            return set(range(len(self.widths)))
        if frame.lifetime is not None:
            fits = [k for k, w in enumerate(self.widths) if w >= frame.lifetime]
            longest = max(fits, default=0)
            return set(range(longest, len(self.widths)))
        return set(range(len(self.widths)))

    def with_buckets(self, frame: RelationFrame, needed: Sequence[int], prefix: str) -> DataFrame:
        """Each row once for each of the needed levels and buckets that it is in.

        On its own level a row is at home, on coarser ones a guest, and two guests never meet: by the role, left rows
        at home (0) meet all right ones, left guests (1) only right rows at home. A place is a level and a role.
        """
        start, last = col("ft"), col("tt") - 1
        if not frame.flat:
            last = F.when(col("ti") > 0, col("tt")).otherwise(col("tt") - 1)
        df = frame.df.withColumn("_own", self.own(start, last + 1))
        own, places = col("_own"), []
        for level in needed:
            covered = [self.bucket(start, level).alias("low"), self.bucket(last, level).alias("high")]
            roles = (own == level, own > level) if prefix == "l_" else (own >= level, own == level)
            for role, has_it in enumerate(roles):
                places.append(F.when(has_it, F.struct(lit(2 * level + role).alias("place"), *covered)))
        df = df.withColumn("_place", F.explode(F.array_compact(F.array(*places))))
        return df.select(
            *(col(c).alias(f"{prefix}{c}") for c in frame.df.columns),
            col("_place.place").alias(f"{prefix}place"),
            F.explode(F.sequence("_place.low", "_place.high")).alias(f"{prefix}bucket"),
        )


KeyPair = tuple[str, str, bool]
"""A column of the left side, one of the right, and whether NULL is equal to NULL."""


@dataclass(frozen=True)
class Pairs:
    """The pairs of two relations that hold together: columns l_… and r_…, and the intersection as ft, tt, …"""

    df: DataFrame
    left: RelationFrame
    right: RelationFrame

    @property
    def flat(self) -> bool:
        return self.left.flat

    @property
    def interval_columns(self) -> list[str]:
        return self.left.interval_columns


def pairs(
    left: RelationFrame,
    right: RelationFrame,
    run: Run,
    keys: Sequence[KeyPair] = (),
    condition: SparkColumn | None = None,
) -> Pairs:
    """All pairs with equal keys whose intervals meet, and for which a condition on l_ and r_ columns is true."""
    left, right = same_flatness([left, right])
    levels = Levels(run.first_instant, max(1, run.end - run.first_instant + 1), 1 if keys else _KEYLESS)
    both = (levels.possible(left), levels.possible(right))
    needed = sorted({min(a, b) for a in both[0] for b in both[1]})
    a, b = (levels.with_buckets(f, needed, p) for f, p in ((left, "l_"), (right, "r_")))
    flat = left.flat
    starts = [Id(col(f"{p}ft"), None if flat else col(f"{p}fi")) for p in ("l_", "r_")]
    ends = [Id(col(f"{p}tt"), None if flat else col(f"{p}ti")) for p in ("l_", "r_")]
    meet = (col("l_place") == col("r_place")) & (col("l_bucket") == col("r_bucket"))
    for x, y, null_safe in keys:
        p, q = col(f"l_{x}"), col(f"r_{y}")
        meet = meet & (p.eqNullSafe(q) if null_safe else p == q)
    overlap = lt(starts[0], ends[1]) & lt(starts[1], ends[0])
    begins = F.greatest("l_ft", "r_ft")
    home = long(None)
    for level in needed:
        home = F.when(F.shiftright("l_place", 1) == level, levels.bucket(begins, level)).otherwise(home)
    together = overlap & (col("l_bucket") == home)
    matched = together if condition is None else together & F.coalesce(F.when(together, condition), lit(False))
    joined = a.join(b, meet & matched)
    hidden = ("ft", "fi", "tt", "ti")
    kept = [f"l_{c}" for c in left.df.columns if c not in hidden] + [
        f"r_{c}" for c in right.df.columns if c not in hidden
    ]
    sides = [col(f"{p}{c}").alias(f"{p}{c}") for p in ("l_", "r_") for c in left.interval_columns]
    start, end = greatest(*starts), least(*ends)
    return Pairs(joined.select(*columns(kept), *sides, *interval(start, end, flat=flat)), left, right)


def join(op: Join, left: RelationFrame, right: RelationFrame, run: Run) -> RelationFrame:
    """⋈_θ in all its kinds (001 §4.4)."""
    if op.how not in (JoinKind.INNER, JoinKind.SEMI):
        left = replace(left, df=run.shared(left.df))
    if op.how in (JoinKind.RIGHT, JoinKind.FULL):
        right = replace(right, df=run.shared(right.df))
    found = matching(op, left, right, run)
    if op.how not in (JoinKind.INNER, JoinKind.SEMI, JoinKind.ANTI):
        found = replace(found, df=run.shared(found.df))
    match op.how:
        case JoinKind.SEMI:
            return _semi(found)
        case JoinKind.ANTI:
            return _unmatched(found, "l_")
        case JoinKind.INNER:
            return _inner(found, op.both)
    nothing_right = [lit(None).cast(t).alias(f"c{k}") for k, t in _types(found.right, len(op.left.schema))]
    inner = _inner(found, op.both)
    result = inner
    if op.how in (JoinKind.LEFT, JoinKind.FULL):
        result = _outer(inner, _unmatched(found, "l_"), op.both, nothing_right)
    if op.how in (JoinKind.RIGHT, JoinKind.FULL):
        alone = _unmatched(found, "r_")
        moved = [col(c).alias(f"c{k + len(op.left.schema)}") for k, c in enumerate(attributes(alone.schema))]
        nothing = [lit(None).cast(t).alias(f"c{k}") for k, t in _types(found.left, 0)]
        df = alone.df.select(*nothing, *moved, *columns(alone.order), *columns(alone.interval_columns))
        result = tagged(_unstamped(result), replace(alone, df=df, schema=op.both, stamp=()), op.both)
    return result


def _unstamped(frame: RelationFrame) -> RelationFrame:
    return replace(frame, stamp=())


def _types(frame: RelationFrame, first: int) -> list[tuple[int, object]]:
    """The attributes' places in a result, and their types."""
    return [(first + k, frame.df.schema[c].dataType) for k, c in enumerate(attributes(frame.schema))]


def join_near(op: Join, left: RelationFrame, right: RelationFrame, rows: int, run: Run) -> RelationFrame:
    """An inner join of stamped rows whose positions differ by at most so many: a stretch of positions is a key."""
    stretch = F.call_function("div", col("sn"), long(rows + 1))
    beside = F.explode(F.array(stretch - 1, stretch, stretch + 1))
    sides = [
        replace(left, df=left.df.withColumn("near", beside)),
        replace(right, df=right.df.withColumn("near", stretch)),
    ]
    return _inner(matching(op, sides[0], sides[1], run, [("near", "near", False)]), op.both)


def matching(op: Join, left: RelationFrame, right: RelationFrame, run: Run, further: Sequence[KeyPair] = ()) -> Pairs:
    """The pairs that satisfy the join's condition, by its keys where it has any."""
    width = len(op.left.schema)
    names = [f"l_c{k}" for k in range(width)] + [f"r_c{k}" for k in range(len(op.right.schema))]
    keys = [k for part in conjuncts(op.condition) if (k := _key(part, op.both, width)) is not None]
    condition = None if op.condition == TRUE else compiled(op.condition, Names(op.both, names))
    # Order columns can be attributes; give each side its own copies before attributes are moved.
    kept = [a for a, _, _ in further]
    return pairs(_own_order(left, kept), _own_order(right, kept), run, [*keys, *further], condition)


def _own_order(frame: RelationFrame, further: Sequence[str] = ()) -> RelationFrame:
    phi, order = relabelled(frame.phi, "x")
    df = frame.df.select(
        *columns(attributes(frame.schema)),
        *order,
        *columns(frame.stamp),
        *columns(frame.interval_columns),
        *columns(further),
    )
    return replace(frame, df=df, phi=phi)


def conjuncts(condition: Expr) -> list[Expr]:
    if isinstance(condition, Call) and condition.function == "and":
        return [part for c in condition.args for part in conjuncts(c)]
    return [condition]


def _key(part: Expr, both: Schema, width: int) -> KeyPair | None:
    """A comparison of an attribute of the left side with one of the right: a key."""
    if not isinstance(part, Call) or part.function not in ("=", "<=>"):
        return None
    places = [both.find(c.name) if isinstance(c := _uncast(a), Column) else None for a in part.args]
    if places[0] is None or places[1] is None or (places[0] < width) == (places[1] < width):
        return None
    left, right = sorted(p for p in places if p is not None)
    return f"c{left}", f"c{right - width}", part.function == "<=>"


def _uncast(e: Expr) -> Expr:
    while isinstance(e, Cast) and e.implicit and e.type.is_numeric and e.operand.type.is_numeric:
        e = e.operand
    return e


def _inner(found: Pairs, both: Schema) -> RelationFrame:
    left, right = found.left, found.right
    phi: Phi = (
        *mapped(left.phi, lambda c: f"l_{c}"),
        *mapped(right.phi, lambda c: f"r_{c}"),
    )
    values = [*(f"l_{c}" for c in attributes(left.schema)), *(f"r_{c}" for c in attributes(right.schema))]
    made = [col(c).alias(f"c{k}") for k, c in enumerate(values)]
    order = [*(f"l_{c}" for c in left.order), *(f"r_{c}" for c in right.order)]
    df = found.df.select(*made, *columns(order), *columns(found.interval_columns))
    return RelationFrame(
        df,
        both,
        phi,
        found.flat,
        ordered=left.ordered and right.ordered,
        coalesced=left.coalesced and right.coalesced,
        one_row_per_phi=left.one_row_per_phi and right.one_row_per_phi,
    )


def _semi(found: Pairs) -> RelationFrame:
    """A left row holds where any of its partners does: the union of the intersections."""
    left = found.left
    kept = [*attributes(left.schema), *left.order, *left.stamp]
    df = found.df.select(*(col(f"l_{c}").alias(c) for c in kept), *columns(found.interval_columns))
    return replace(left.in_pieces(united(df, kept, flat=left.flat)), coalesced=left.ordered)


def _unmatched(found: Pairs, side: str) -> RelationFrame:
    """A row holds where none of its partners does: the gaps between the intersections, and around them."""
    frame = found.left if side == "l_" else found.right
    flat = frame.flat
    whole = frame.df.columns
    bounds = ["ft", "tt"] if flat else ["ft", "fi", "tt", "ti"]
    start, end = (["ft"], ["tt"]) if flat else (["ft", "fi"], ["tt", "ti"])
    pieces = found.df.select(
        *(col(f"{side}{c}").alias(c) for c in whole),
        _pair(start, "ft", "fi").alias("_from"),
        _pair(end, "tt", "ti").alias("_to"),
    )
    # A last piece of no length, so that the gap at the end is one like the others.
    behind = frame.df.select(
        *columns(whole), _pair(end, "tt", "ti").alias("_from"), _pair(end, "tt", "ti").alias("_to")
    )
    row = Window.partitionBy(*columns(whole)).orderBy("_from", "_to")
    before = row.rowsBetween(Window.unboundedPreceding, -1)
    covered = F.coalesce(F.max("_to").over(before), _pair(start, "ft", "fi"))
    gaps = pieces.union(behind).withColumn("_covered", covered).where(col("_covered") < col("_from"))
    kept = [c for c in whole if c not in bounds]
    made = [col("_covered.t").alias("ft"), col("_from.t").alias("tt")]
    if not flat:
        made = [
            col("_covered.t").alias("ft"),
            col("_covered.i").alias("fi"),
            col("_from.t").alias("tt"),
            col("_from.i").alias("ti"),
        ]
    df = gaps.select(*columns(kept), *made)
    return frame.in_pieces(df)


def _pair(present: Sequence[str], t: str, i: str) -> SparkColumn:
    index = col(i) if i in present else long(0)
    return F.struct(col(t).alias("t"), index.alias("i"))


def _outer(inner: RelationFrame, alone: RelationFrame, both: Schema, nothing: Sequence[SparkColumn]) -> RelationFrame:
    """Pairs, and left rows without a partner: φ_left ++ (⊥), before all pairs of that row."""
    left_order = alone.order
    right_order = [c for c in inner.order if c.startswith("r_")]
    types = {c: inner.df.schema[c].dataType for c in right_order}
    matched = inner.df.select(
        *columns(attributes(both)),
        *(col(f"l_{c}").alias(f"l_{c}") for c in left_order),
        lit(1).alias("some"),
        *columns(right_order),
        *columns(inner.interval_columns),
    )
    padded = alone.df.select(
        *columns(attributes(alone.schema)),
        *nothing,
        *(col(c).alias(f"l_{c}") for c in left_order),
        lit(0).alias("some"),
        *(lit(None).cast(types[c]).alias(c) for c in right_order),
        *columns(alone.interval_columns),
    )
    left_phi = tuple(inner.phi[: len(alone.phi)])
    right_phi = tuple(inner.phi[len(alone.phi) :])
    phi: Phi = (*left_phi, Choice("some", ((), right_phi), ("⊥", None)))
    return replace(inner, df=matched.unionByName(padded), phi=phi)


def same_identity(left: RelationFrame, right: RelationFrame, run: Run) -> Pairs:
    """The pairs that are the same tuple: equal φ, as a path, and equal values (001 D18)."""
    sides = [replace(f, df=f.df.withColumn("path", path(f.phi))) for f in (_own_order(left), _own_order(right))]
    keys = [("path", "path", True), *((c, c, True) for c in attributes(left.schema))]
    return pairs(sides[0], sides[1], run, keys)


def same_values(left: RelationFrame, right: RelationFrame, run: Run) -> Pairs:
    """The pairs with equal values, NULL equal to NULL."""
    return pairs(_own_order(left), _own_order(right), run, [(c, c, True) for c in attributes(left.schema)])


def intersection(found: Pairs) -> RelationFrame:
    """The left rows where they have a partner."""
    return without_path(_semi(found))


def difference(found: Pairs) -> RelationFrame:
    """The left rows where they have none."""
    return without_path(_unmatched(found, "l_"))


def without_path(frame: RelationFrame) -> RelationFrame:
    return replace(frame, df=frame.df.drop("path"))
