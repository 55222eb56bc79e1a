"""Aggregations whose tuples are merged before it is known when their windows hold them: by rows, distance, sessions."""

from __future__ import annotations

from collections.abc import Callable

from astralq.algebra.base import Operator
from astralq.algebra.relational import GroupBy
from astralq.plan.aggregate.distance_panes import merged_by_distance
from astralq.plan.aggregate.group_by import merges_in_any_order
from astralq.plan.aggregate.last_rows import over_last_rows
from astralq.plan.aggregate.session_panes import merged_by_sessions
from astralq.plan.aggregate.step_panes import merged_by_steps
from astralq.plan.encoding.tables import RelationTable, StreamTable
from astralq.plan.run import Run


def merged_first(op: GroupBy, run: Run, stream: Callable[[Operator], StreamTable]) -> RelationTable | None:
    """An aggregation over such a window; None where it is another one. An epoch has windows by rows only."""
    if not merges_in_any_order(op):
        return None
    if run.state is not None:
        return over_last_rows(op, run, stream)
    for merged in (merged_by_steps, merged_by_distance, merged_by_sessions):
        if (found := merged(op, run, stream)) is not None:
            return found
    return None
