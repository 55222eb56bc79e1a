"""UNION, INTERSECT and EXCEPT by value, as sets and as bags (docs/decisions.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from astralq.algebra.relational import SetKind, ValueSetOperation
from astralq.algebra.windows import Window, range_, range_of, unbounded
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.aggregate.elementary import Elementary
from astralq.plan.columns import Column, col, columns, lit
from astralq.plan.columns import Window as Over
from astralq.plan.encoding.batches import NEVER
from astralq.plan.encoding.scan import equal
from astralq.plan.encoding.tables import Key, RelationTable, attributes, in_order, relabelled, same_batches
from astralq.plan.operators.joins import difference, intersection, same_values
from astralq.plan.operators.relational import by_value
from astralq.plan.run import Run
from astralq.plan.table import Table
from astralq.schema import DOUBLE
from astralq.timeline import Duration


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
    if any(a.type == DOUBLE for a in op.schema):
        # 0.0 and -0.0 are equal: what is shown is the left side's.
        sides = [by_value(f.rows, op.schema, one_batch=f.one_batch) for f in (left, right)]
        matches = same_values(sides[0], sides[1], run)
        return intersection(matches) if op.how is SetKind.INTERSECT else difference(matches)
    if op.how is SetKind.EXCEPT and left.append_only and left.one_batch:
        # An epoch, and a single state, have no rows on the right of a value that has been silent for long.
        whole = run.state is None and right.lifetime is not None
        return _gaps(op, left, right, together=whole and _enter_together(op))
    return _swept(op, left, right)


def _enter_together(op: ValueSetOperation) -> bool:
    """Whether both sides are windows over one stream that each tuple enters when it comes: then a value is on the
    left from its first row on the right on, and the left side need not be looked at."""
    match op:
        case ValueSetOperation(Window(stream, left), Window(other, right)):
            return stream == other and left == unbounded() and right == range_(range_of(right) or Duration(0))
    return False


def _gaps(op: ValueSetOperation, left: RelationTable, right: RelationTable, *, together: bool) -> RelationTable:
    """EXCEPT of a side that nothing leaves: a value is there from its first row on, but where the right side has it.

    The first row counts as an interval of no length, so that in the order of their beginnings each gap is between the
    latest end so far and the next beginning: one pass over the right side's rows, none of them taken apart. `together`:
    a value is on both sides from its first row on, and there it stays for the same time, whichever row it is of.
    """
    values = attributes(op.schema)
    rows = right.rows.where(col("ft") < col("tt")).select(*columns(values), col("ft").alias("at"), "tt")
    latest, there = col("tt"), lit(True)
    in_turn = Over.partition_by(*columns(values)).order_by("at")
    so_far = in_turn.rows(None, 0)
    if not together:
        first = left.rows.group_by(*columns(values)).agg(F.min("ft").alias("at"))
        mine = first.select(*columns(values), "at", col("at").alias("tt"), lit(True).alias("mine"))
        rows = mine.union(rows.with_column("mine", lit(False)))
        latest, there = F.max("tt").over(so_far), F.max("mine").over(so_far)
    gaps = rows.select(
        *columns(values),
        latest.alias("ft"),
        F.coalesce(F.lead("at").over(in_turn), lit(NEVER)).alias("tt"),
        there.alias("_there"),
    )
    rows = gaps.where(col("_there") & (col("ft") < col("tt"))).select(*columns(values), "ft", "tt")
    unseen = left.unseen or right.unseen
    return RelationTable(rows, op.schema, tuple(Key(c) for c in values), one_batch=True, unseen=unseen)


def _swept(op: ValueSetOperation, left: RelationTable, right: RelationTable) -> RelationTable:
    """INTERSECT and EXCEPT as sets: how many rows of either side have a value, from one change of it to the next."""
    values, one_batch = attributes(op.schema), left.one_batch
    points = ["at"] if one_batch else ["at", "ai"]
    changes = _changes(left, values, "mine").union(_changes(right, values, "theirs"), missing=True)
    in_turn = Over.partition_by(*columns(values)).order_by(*points)
    upto = {side: F.coalesce(F.sum(side).over(in_turn), lit(0)) for side in ("mine", "theirs")}
    following = F.lead(F.struct(*columns(points))).over(in_turn)
    last = changes.with_columns({**upto, "_next": following})
    # The last of several changes at one time has them all.
    last = last.where(col("_next").is_null() | (col("_next") > F.struct(*columns(points))))
    there = (col("mine") > 0) & ((col("theirs") > 0) if op.how is SetKind.INTERSECT else (col("theirs") <= 0))
    marked = last.select(*columns(values), *columns(points), there.alias("_there"))
    before = F.coalesce(F.lag("_there").over(in_turn), lit(False))
    turns = marked.with_column("_before", before).where(col("_there") != col("_before"))
    ends = {"tt": F.coalesce(F.lead("at").over(in_turn), lit(NEVER))}
    if not one_batch:
        ends["ti"] = F.coalesce(F.lead("ai").over(in_turn), lit(0))
    held = turns.with_columns(ends).where(col("_there"))
    starts = [col(a).alias(b) for a, b in zip(points, ("ft", "fi"), strict=False)]
    rows = held.select(*columns(values), *starts, *columns(ends))
    unseen = left.unseen or right.unseen
    return RelationTable(rows, op.schema, tuple(Key(c) for c in values), one_batch, unseen=unseen)


def _changes(side: RelationTable, values: Sequence[str], name: str) -> Table:
    """When a row with a value is one more, and when one less."""

    def change(t: str, i: str, by: int) -> Column:
        index = [] if side.one_batch else [col(i).alias("ai")]
        return F.struct(col(t).alias("at"), *index, lit(by).alias("by"))

    if side.append_only and side.one_batch:  # then only the first one counts
        first = side.rows.group_by(*columns(values)).agg(F.min("ft").alias("at"))
        return first.with_column(name, lit(1))
    both = F.explode(F.array(change("ft", "fi", 1), change("tt", "ti", -1))).alias("_change")
    points = ["at"] if side.one_batch else ["at", "ai"]
    exploded = side.rows.select(*columns(values), both)
    made = exploded.select(*columns(values), *(col(f"_change.{c}") for c in points), col("_change.by").alias(name))
    return made.where(col("at") < NEVER)


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
    turn = Over.partition_by(*columns(values), "e").order_by(*in_order(names))
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
