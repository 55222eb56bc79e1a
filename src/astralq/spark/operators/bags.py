"""UNION, INTERSECT and EXCEPT by value, as sets and as bags (SEMANTICS.md §1)."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.relational import SetKind, ValueSetOperation
from astralq.spark.aggregate.elementary import Elementary
from astralq.spark.context import Run
from astralq.spark.encoding.columns import col, lit
from astralq.spark.encoding.frames import RelationFrame, attributes, columns, in_order, relabelled, same_flatness
from astralq.spark.encoding.scan import equal
from astralq.spark.operators.joins import difference, intersection, same_values
from astralq.spark.operators.relational import by_value


def bag_operation(op: ValueSetOperation, left: RelationFrame, right: RelationFrame, run: Run) -> RelationFrame:
    """The operation by value; sets are ordered by value, bags keep the left side's φ."""
    left, right = same_flatness([left, right])
    if op.all:
        return _bags(op, left, right, run)
    values = attributes(op.schema)
    shown = [columns([*values, *left.interval_columns])]
    if op.how is SetKind.UNION:
        both = left.df.select(*shown[0]).union(right.df.select(*shown[0]))
        return by_value(both, op.schema, flat=left.flat)
    sides = [by_value(f.df, op.schema, flat=f.flat) for f in (left, right)]
    found = same_values(sides[0], sides[1], run)
    return intersection(found) if op.how is SetKind.INTERSECT else difference(found)


def _bags(op: ValueSetOperation, left: RelationFrame, right: RelationFrame, run: Run) -> RelationFrame:
    """In each state, of a value that is n times on the right, the n lowest φ of the left are taken (INTERSECT) or
    dropped (EXCEPT). Ranks change with every row, so that each elementary interval of a value is looked at."""
    values = attributes(op.schema)
    phi, order = relabelled(left.phi)
    names = [f"p{k}" for k in range(len(order))]
    mine = left.df.select(*columns(values), *order, *columns(left.interval_columns))
    theirs = right.df.select(*columns(values), *columns(right.interval_columns))
    mine, theirs = run.shared(mine), run.shared(theirs)
    elementary = Elementary.of([mine, theirs], values, run, flat=left.flat)
    there = elementary.members(theirs).groupBy(*columns(values), "e").agg(F.count(lit(1)).alias("_n"))
    there = there.select(*(col(c).alias(f"_{c}") for c in values), col("e").alias("_e"), "_n")
    turn = Window.partitionBy(*columns(values), "e").orderBy(*in_order(names))
    ranked = elementary.members(mine).withColumn("_rank", F.row_number().over(turn))
    same = equal(columns(values), columns(f"_{c}" for c in values)) & (col("e") == col("_e"))
    joined = ranked.join(there, same, "left").withColumn("_n", F.coalesce("_n", lit(0)))
    taken = col("_rank") <= col("_n")
    kept = joined.where(taken if op.how is SetKind.INTERSECT else ~taken).drop(
        *(f"_{c}" for c in values), "_e", "_n", "_rank"
    )
    spans = elementary.intervals.select(
        *(col(c).alias(f"_{c}") for c in values), col("e").alias("_e"), *columns(left.interval_columns)
    )
    df = kept.join(spans, same).select(*columns(values), *columns(names), *columns(left.interval_columns))
    return replace(left.in_pieces(df), schema=op.schema, phi=phi, stamp=(), coalesced=False)
