"""Operators over one relation, unions, and what keeps the encoding tidy: merging the intervals of one identity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.relational import Project, Select
from astralq.schema import Schema
from astralq.spark.context import Run
from astralq.spark.encoding.columns import col, lit, long
from astralq.spark.encoding.frames import (
    Choice,
    Key,
    Phi,
    RelationFrame,
    attributes,
    columns,
    holds,
    mapped,
    relabelled,
    same_flatness,
)
from astralq.spark.encoding.scan import Sequenced, equal
from astralq.spark.operators.expressions import Names, bounding_boxes, compiled


def united(df: DataFrame, identity: Sequence[str], *, flat: bool) -> DataFrame:
    """For each identity the union of its intervals: overlapping and touching ones become one."""
    start, end = (["ft"], ["tt"]) if flat else (["ft", "fi"], ["tt", "ti"])
    packed = df.select(
        *columns(identity), F.struct(*columns(start)).alias("_start"), F.struct(*columns(end)).alias("_end")
    )
    window = Window.partitionBy(*columns(identity)).orderBy("_start")
    before = window.rowsBetween(Window.unboundedPreceding, -1)
    upto = window.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    # Both structs are compared by their fields, which have other names: cast one to the other.
    reached = F.max("_end").over(before)
    fresh = reached.isNull() | (_fields(reached, end) < _fields(col("_start"), start))
    marked = packed.withColumn("_fresh", F.when(fresh, 1).otherwise(0))
    grouped = marked.withColumn("_run", F.sum("_fresh").over(upto))
    merged = grouped.groupBy(*columns(identity), "_run").agg(
        F.min("_start").alias("_start"), F.max("_end").alias("_end")
    )
    return merged.select(
        *columns(identity),
        *(col(f"_start.{c}").alias(c) for c in start),
        *(col(f"_end.{c}").alias(c) for c in end),
    )


def _fields(struct: Column, names: Sequence[str]) -> Column:
    return F.struct(*(struct[n].alias(f"f{k}") for k, n in enumerate(names)))


def marked(frame: RelationFrame, run: Run) -> RelationFrame:
    """The frame with `_begins` and `_ends`: whether a row's identity is new at its beginning, and gone at its end.

    In every state φ is unique, so that the rows of one φ follow each other in time: neighbours with equal values that
    touch are the same tuple.
    """
    if frame.coalesced:
        return replace(frame, df=frame.df.withColumns({"_begins": lit(True), "_ends": lit(True)}))
    assert frame.ordered
    values = attributes(frame.schema)
    start, end = (["ft"], ["tt"]) if frame.flat else (["ft", "fi"], ["tt", "ti"])
    keys = tuple(frame.order)
    df = frame.df if keys else run.shared(frame.df)
    sequence = Sequenced(df, keys, tuple(start), None if keys else run.time_cut)
    found = sequence.neighbours([*values, *end], [*values, *start])

    def continues(side: str, mine: Sequence[str], theirs: Sequence[str]) -> Column:
        same = equal(columns(values), columns(f"{side}_{c}" for c in values))
        return (
            col(f"{side}_{theirs[0]}").isNotNull() & same & equal(columns(mine), columns(f"{side}_{c}" for c in theirs))
        )

    made = {"_begins": ~continues("last", start, end), "_ends": ~continues("next", end, start)}
    return replace(frame, df=found.select(*columns(frame.df.columns), *(c.alias(n) for n, c in made.items())))


def select(op: Select, frame: RelationFrame) -> RelationFrame:
    """σ: the condition is computed only where a state holds the row, for it could fail elsewhere."""
    names = Names(op.child.schema, attributes(frame.schema), frame.stamp)
    df = frame.df
    box = bounding_boxes(op.condition, names)
    if box is not None:
        df = df.where(F.when(holds(frame.flat), box))
    return replace(frame, df=df.where(F.when(holds(frame.flat), compiled(op.condition, names))))


def project(op: Project, frame: RelationFrame) -> RelationFrame:
    """Π: φ, intervals and stamps stay."""
    names = Names(op.child.schema, attributes(frame.schema), frame.stamp)
    # Order columns may be attributes that Π replaces.
    phi, order = relabelled(frame.phi)
    items = [compiled(e, names).alias(f"c{k}") for k, (_, e) in enumerate(op.items)]
    df = frame.df.select(*items, *order, *columns(frame.stamp), *columns(frame.interval_columns))
    return replace(frame, df=df, schema=op.schema, phi=phi, coalesced=frame.coalesced and frame.one_row_per_phi)


def distinct(frame: RelationFrame) -> RelationFrame:
    """The different values, ordered and identified by themselves."""
    return by_value(frame.df, frame.schema, flat=frame.flat)


def by_value(df: DataFrame, schema: Schema, *, flat: bool) -> RelationFrame:
    values = attributes(schema)
    phi = tuple(Key(c) for c in values)
    return RelationFrame(united(df, values, flat=flat), schema, phi, flat)


def tagged(
    left: RelationFrame, right: RelationFrame, schema: Schema, *, marks: tuple[str, str] = ("0", "1")
) -> RelationFrame:
    """Both sides, the left one first: φ = (0) ++ φ_left or (1) ++ φ_right (001 D19)."""
    left, right = same_flatness([left, right])
    stamp = tuple(n for n in ("st", "si", "sn") if n in left.stamp and n in right.stamp)
    if left.stamp and right.stamp and ("si" in left.stamp) != ("si" in right.stamp):
        # A stamp without si is one with 0.
        left, right = (_with_index(side) for side in (left, right))
        stamp = tuple(n for n in ("st", "si", "sn") if n in left.stamp and n in right.stamp)
    names = [[f"p{k}_{side}" for k, _ in enumerate(frame.order)] for side, frame in enumerate((left, right))]
    phis = [
        mapped(frame.phi, dict(zip(frame.order, new, strict=True)).__getitem__)
        for frame, new in zip((left, right), names, strict=True)
    ]
    sides = []
    for tag, frame in enumerate((left, right)):
        own = [col(old).alias(new) for old, new in zip(frame.order, names[tag], strict=True)]
        other = (right, left)[tag]
        foreign = [
            lit(None).cast(other.df.schema[old].dataType).alias(new)
            for old, new in zip(other.order, names[1 - tag], strict=True)
        ]
        order = [*own, *foreign] if tag == 0 else [*foreign, *own]
        sides.append(
            frame.df.select(
                *columns(attributes(schema)),
                lit(tag).alias("tag"),
                *order,
                *columns(stamp),
                *columns(frame.interval_columns),
            )
        )
    phi: Phi = (Choice("tag", (phis[0], phis[1]), marks),)
    phi, order = relabelled(phi)
    df = sides[0].union(sides[1])
    df = df.select(*columns(attributes(schema)), *order, *columns(stamp), *columns(left.interval_columns))
    return RelationFrame(
        df,
        schema,
        phi,
        left.flat,
        stamp,
        ordered=left.ordered and right.ordered,
        coalesced=left.coalesced and right.coalesced,
        one_row_per_phi=left.one_row_per_phi and right.one_row_per_phi,
        endless=left.endless and right.endless,
    )


def _with_index(frame: RelationFrame) -> RelationFrame:
    if "si" in frame.stamp:
        return frame
    return replace(frame, df=frame.df.withColumn("si", long(0)), stamp=(frame.stamp[0], "si", *frame.stamp[1:]))
