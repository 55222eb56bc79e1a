"""UNION, INTERSECT and EXCEPT by value, as sets and as bags (docs/decisions.md)."""

from __future__ import annotations

from dataclasses import replace

from astralq.algebra.relational import SetKind, ValueSetOperation
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.aggregate.elementary import Elementary
from astralq.plan.columns import Window, col, columns, lit
from astralq.plan.encoding.scan import equal
from astralq.plan.encoding.tables import RelationTable, attributes, in_order, relabelled, same_batches
from astralq.plan.operators.joins import difference, intersection, same_values
from astralq.plan.operators.relational import by_value
from astralq.plan.run import Run


def bag_operation(op: ValueSetOperation, left: RelationTable, right: RelationTable, run: Run) -> RelationTable:
    """The operation by value; sets are ordered by value, bags keep the left side's φ."""
    left, right = same_batches([left, right])
    if op.all:
        return _bags(op, left, right, run)
    values = attributes(op.schema)
    shown = [columns([*values, *left.interval_columns])]
    if op.how is SetKind.UNION:
        both = left.rows.select(*shown[0]).union(right.rows.select(*shown[0]))
        return by_value(both, op.schema, one_batch=left.one_batch)
    sides = [by_value(f.rows, op.schema, one_batch=f.one_batch) for f in (left, right)]
    matches = same_values(sides[0], sides[1], run)
    return intersection(matches) if op.how is SetKind.INTERSECT else difference(matches)


def _bags(op: ValueSetOperation, left: RelationTable, right: RelationTable, run: Run) -> RelationTable:
    """In each state, of a value that is n times on the right, the n lowest φ of the left are taken (INTERSECT) or
    dropped (EXCEPT). Ranks change with every row, so that each elementary interval of a value is looked at."""
    values = attributes(op.schema)
    phi, order = relabelled(left.phi)
    names = [f"p{k}" for k in range(len(order))]
    mine = left.rows.select(*columns(values), *order, *columns(left.interval_columns))
    theirs = right.rows.select(*columns(values), *columns(right.interval_columns))
    mine, theirs = run.materialized(mine), run.materialized(theirs)
    elementary = Elementary.of([mine, theirs], values, run, one_batch=left.one_batch)
    there = elementary.members(theirs).group_by(*columns(values), "e").agg(F.count(lit(1)).alias("_n"))
    there = there.select(*(col(c).alias(f"_{c}") for c in values), col("e").alias("_e"), "_n")
    turn = Window.partition_by(*columns(values), "e").order_by(*in_order(names))
    ranked = elementary.members(mine).with_column("_rank", F.row_number().over(turn))
    same = equal(columns(values), columns(f"_{c}" for c in values)) & (col("e") == col("_e"))
    joined = ranked.join(there, same, "left").with_column("_n", F.coalesce("_n", lit(0)))
    taken = col("_rank") <= col("_n")
    kept = joined.where(taken if op.how is SetKind.INTERSECT else ~taken).drop(
        *(f"_{c}" for c in values), "_e", "_n", "_rank"
    )
    spans = elementary.intervals.select(
        *(col(c).alias(f"_{c}") for c in values), col("e").alias("_e"), *columns(left.interval_columns)
    )
    rows = kept.join(spans, same).select(*columns(values), *columns(names), *columns(left.interval_columns))
    return replace(left.in_pieces(rows), schema=op.schema, phi=phi, stamp=(), coalesced=False)
