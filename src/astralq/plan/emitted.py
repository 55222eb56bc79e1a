"""What I_S emits, where that is found without comparing states: lookups, groups that say themselves whether they begin,
and in epochs the pairs that are new."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from astralq.algebra.base import Operator
from astralq.algebra.domain import Domain
from astralq.algebra.explode import Explode
from astralq.algebra.properties import expressions
from astralq.algebra.relational import GroupBy, Join, JoinKind, Product, Project, Rename, Select, peel
from astralq.algebra.retention import enters_at_once, known_at_once, window_below
from astralq.algebra.stream_ops import BandJoin
from astralq.algebra.streamers import DStream, IStream, RStream
from astralq.plan.encoding.tables import RelationTable, StreamTable
from astralq.plan.operators import joins, lookup, relational, streamers, streams
from astralq.plan.run import Run
from astralq.plan.state.epochs import Halves

if TYPE_CHECKING:
    from astralq.plan.planner import Planner

_MULTIPLY = Explode | Join | Product | BandJoin | RStream
"""Operators that may make many rows of one."""


def looked_up(op: IStream | DStream | RStream, planner: Planner) -> StreamTable | None:
    """A lookup of single rows, and what is selected and projected of it."""
    if not isinstance(op, IStream) or streamers.compares_tuples(op):
        return None
    above, child = peel(op.child)
    if any(e.columns - {n.lower() for n in a.child.schema.names} for a in above for e in expressions(a)):
        return None  # of a relation's tuple these are its stamp
    keys, run = lookup.lookup_keys(child), planner.run
    if not keys or run.first_possible < run.t0:  # a tick can begin before the relation is looked at
        return None
    assert isinstance(child, Join) and isinstance(child.right, Domain)  # noqa: PT018
    if run.state is not None and not begins_or_goes_on(run, f"looked_up {planner.table_name('lookup', child)}"):
        return None
    back = planner.looking_back(child.right)
    # An epoch has the new tuples of a stream only; what its windows hold has the last ones of before.
    of_stream = back.stream if run.state is None else None
    there, why = lookup.rows_of(child, keys, of_stream, lambda op: back.relation(op, ordered=False))
    run.choices.note(child.label, "one pass by key and time", why)
    found = lookup.looked_up(child, planner.stream(child.left.children[0]), there, keys)
    for a in reversed(above):
        found = streams.row_by_row(a, found, run)
    return found


def begins_or_goes_on(run: Run, mark: str) -> bool:
    """Whether a run is in its first epoch, or has been planned in the way that a mark tells from there on. What an
    earlier version has begun goes on as it began: it keeps other tables."""
    state = run.state
    assert state is not None
    if run.continues and mark not in state.metadata:
        return False
    state.put(mark, True)
    return True


def begun(op: Operator, planner: Planner) -> RelationTable | None:
    """A grouping whose rows are asked only whether they begin, and what names its values; or the pairs of an inner
    join that begin in an epoch, and what is over them. None if it is anything else."""
    above, grouping = peel(op, Project, Rename)
    if isinstance(grouping, GroupBy):
        found: RelationTable | None = planner.grouped(grouping, begins=True)
    else:
        above, join = peel(op)
        found = _pairs_begun(join, planner)
    if found is None:
        return None
    for a in reversed(above):
        seen = planner.seen(found, expressions(a))
        match a:
            case Select():
                found = relational.select(a, seen)
            case Project():
                found = relational.project(a, seen)
            case _:
                found = replace(found, schema=a.schema)
    return found


def _pairs_begun(op: Operator, planner: Planner) -> RelationTable | None:
    """The pairs of an inner join of windows that begin in an epoch after the first; None where it is something
    else, or what its windows held before would have to be computed twice."""
    run = planner.run
    if run.since is None or not run.continues or not isinstance(op, Product | Join):
        return None
    join = Join(op.left, op.right) if isinstance(op, Product) else op
    if join.how is not JoinKind.INNER or not all(map(_is_kept_as_it_is, op.children)):
        return None
    left, right = (planner.seen(f, [join.condition]) for f in planner.both(op, ordered=True, identity=False))
    if not (left.coalesced and right.coalesced):  # a row may begin where an equal one ends
        return joins.join(join, left, right, run)
    sent = not any(isinstance(below, _MULTIPLY) for below in op.walk() if below is not op)
    return joins.begun(join, Halves.of(left, run.since), Halves.of(right, run.since), run, sent=sent)


def _is_kept_as_it_is(op: Operator) -> bool:
    """Whether a relation's rows are tuples of a stream's window, each in from its own batch on and out when its own
    stamp says, so that those that hold are those of the window's state table."""
    window = window_below(op)
    return window is not None and enters_at_once(window.spec) and known_at_once(window.spec)
