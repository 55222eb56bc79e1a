"""Aggregates over the sessions of each part: tuples are merged by sessions, and sessions then follow each other.

A session is there from when it is over until the next one of its part is. Its own end is all that its tuples have to
know: which session follows is looked for among what is left of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from astralq.algebra.base import Operator
from astralq.algebra.relational import GroupBy
from astralq.algebra.schedules import Sessions
from astralq.algebra.windows import Window
from astralq.expr.nodes import Column as Attribute
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.aggregate.common_panes import Panes, merged_relation
from astralq.plan.aggregate.group_by import group_by, layouts_of, merged_panes
from astralq.plan.columns import Window as Over
from astralq.plan.columns import col, lit
from astralq.plan.encoding.batches import NEVER
from astralq.plan.encoding.tables import RelationTable, StreamTable, attributes
from astralq.plan.run import Run
from astralq.plan.windows.sessions import with_ends


def merged_by_sessions(op: GroupBy, run: Run, stream: Callable[[Operator], StreamTable]) -> RelationTable | None:
    """An aggregation over the sessions of parts, by these at least; None where it is another one."""
    if not isinstance(op.child, Window):
        return None
    spec = op.child.spec
    names = [e.name if isinstance(e, Attribute) else None for _, e in op.keys]
    if (
        not isinstance(spec.schedule, Sessions)
        or spec.delay
        or not spec.partition
        or not set(spec.partition) <= {*names}
    ):
        return None
    tuples = stream(op.child.children[0])
    if not tuples.one_batch:
        return None
    run.choices.note(op.child.label, "by sessions of each part, merged", "a session comes and goes as a whole")
    columns_of = tuple(f"c{tuples.schema.index(n)}" for n in spec.partition)
    ended = with_ends(tuples.rows, columns_of, spec.schedule.gap)
    over = col("_last") + lit(spec.schedule.gap)
    rows = ended.select(*attributes(tuples.schema), col("t").alias("st"), over.alias("ft"), over.alias("tt"))
    held = merged_relation(tuples, rows, stamp=("st",), unseen=True, separate_by=columns_of)
    # Until when a session is there is not known yet: its own end tells it apart.
    panes, plans = merged_panes(op, replace(held, lifetime=0), run, name="", read_once=True)
    parts = [f"k{names.index(n)}" for n in spec.partition]
    # Latest first, so that a frame of all before ends with the next one: groups of one session have the same end.
    later = Over.partition_by(*parts).order_by(F.desc("ft")).range(None, -1)
    table = panes.with_column("tt", F.coalesce(F.min("ft").over(later), lit(NEVER))).where(col("ft") <= run.end)
    return group_by(op, held, run, panes=Panes(table, layouts_of(plans), merged=True))
