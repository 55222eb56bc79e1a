"""Where an epoch meets what the epochs before it left: kept tuples, and intervals that are clipped to the epoch."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from astralq.algebra.retention import Demand, is_over, known_at_once
from astralq.algebra.windows import WindowSpec
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, Window, col, columns, lit, long
from astralq.plan.encoding.batches import NEVER, Id, at, choose, le, literal, lt
from astralq.plan.encoding.tables import Choice, Key, Phi, RelationTable, StreamTable, attributes, interval
from astralq.plan.run import Run
from astralq.plan.state.store import StateTables
from astralq.plan.table import Keep, Select, State, Table, Where
from astralq.schema import Schema
from astralq.timeline import Instant


def with_kept_tuples(stream: StreamTable, name: str, state: StateTables) -> StreamTable:
    """The new tuples of a stream behind those that a state table has."""
    kept = dict.fromkeys([*attributes(stream.schema), *stream.stamp_columns, *stream.order])
    rows = state.append(name, stream.rows.select(*kept), ahead=True)
    if stream.numbered:
        state.count(f"count {stream.name}", rows)  # cheaper to look at than the sort that numbered it
    if stream.one_batch and "i" in rows.columns:
        stream = replace(stream, one_batch=False)
    if not stream.one_batch:
        rows = rows.with_column("i", F.coalesce(col("i"), lit(0)))
    return replace(stream, rows=rows)


MANY = 100_000
"""From so many new tuples on it is worth to look first which of them a window can hold at all."""


def last_of_steps(stream: StreamTable, partition: Sequence[str], width: int, step: Column) -> StreamTable:
    """Of a numbered stream's tuples those among the last width + 1 of their part in a step between two evaluations.

    A window of the last rows can hold no others. Nor do they decide when one leaves it: the step in which so many
    have come after a tuple is the same when every step has at most so many.
    """
    parts = [col(f"c{stream.schema.index(n)}") for n in partition]
    last = F.row_number().over(Window.partition_by(*parts, step).order_by(F.desc("n")))
    rows = stream.rows.with_column("_last", last).where(col("_last") <= width + 1).drop("_last")
    return replace(stream, rows=rows)


def clip_to_epoch(relation: RelationTable, run: Run, demand: Demand = Demand.CLIPPED) -> RelationTable:
    """Of a relation's rows those that an epoch looks at.

    What holds after the last batch of `since` is seen from (since, 0) on: that is a true state, and what is before
    it may not be one any more. All further rows begin after that instant.
    """
    if run.since is None:
        if demand is Demand.DELTA and run.state is not None:
            return replace(relation, rows=relation.rows.where(le(relation.start, literal(run.last))))
        return relation
    since = run.since
    held = relation.rows.where(relation.end.t > since)
    if demand is Demand.EARLY:
        return relation
    if demand is Demand.FULL:
        return replace(relation, rows=held)
    if demand is Demand.DELTA:
        new = relation.rows.where((relation.start.t > since) & le(relation.start, literal(run.last)))
        return replace(relation, rows=new)
    start = choose(relation.start.t > since, relation.start, at(since))
    kept = [c for c in held.columns if c not in ("ft", "fi", "tt", "ti")]
    clipped = held.select(*columns(kept), *interval(start, relation.end, one_batch=relation.one_batch))
    return replace(relation, rows=clipped, lifetime=None, cut_lifetime=relation.longest)


@dataclass(frozen=True)
class Halves:
    """A window's relation in an epoch, whole and in two parts: tuples that begin in it, and those that held before."""

    whole: RelationTable
    new: RelationTable
    held: RelationTable

    @staticmethod
    def of(relation: RelationTable, since: Instant) -> Halves:
        """Tuples that are in from their own batch on: those that held are those that the state table has."""
        new = _over(relation.rows.where(relation.start.t > since), _what_has_come)
        held = _over(relation.rows.where(relation.start.t <= since), _what_was_there)
        return Halves(relation, replace(relation, rows=new), replace(relation, rows=held))


def _over(rows: Table, part: Callable[[Keep], Table]) -> Table:
    """The same of a part of the state table that rows are read from, if nothing but selections is between."""
    if isinstance(rows, Keep):
        return part(rows)
    if not isinstance(rows, Select | Where):
        return rows
    return rows.with_children({id(rows.child): _over(rows.child, part)})


def _what_has_come(kept: Keep) -> Table:
    """New rows, unless it takes longer to compute them again than to read what was written."""
    return _padded(kept.child, kept.columns) if kept.ahead else kept


def _what_was_there(kept: Keep) -> Table:
    return _padded(State(kept.state, kept.before), kept.columns) if kept.before else kept


def _padded(rows: Table, names: Sequence[str]) -> Table:
    return rows.select(*(col(c) if c in rows.columns else lit(None).alias(c) for c in names))


def with_indexes(table: Table, *, one_batch: bool) -> Table:
    """A table of intervals with or without fi and ti, as it is wanted."""
    if one_batch:
        return table
    missing = {c: long(0) for c in ("fi", "ti") if c not in table.columns}
    filled = {c: F.coalesce(col(c), lit(0)) for c in ("fi", "ti") if c in table.columns}
    return table.with_columns(missing | filled)


def described(relation: RelationTable) -> dict[str, Any]:
    """All of a relation but its rows, for JSON."""

    def parts(phi: Phi) -> list[Any]:
        return [
            p.column if isinstance(p, Key) else {"tag": p.tag, "sides": [parts(s) for s in p.sides], "marks": p.marks}
            for p in phi
        ]

    names = ("one_batch", "stamp", "ordered", "coalesced", "one_row_per_phi")
    return {"phi": parts(relation.phi)} | {n: getattr(relation, n) for n in names}


def relation_of(description: Mapping[str, Any], rows: Table, schema: Schema) -> RelationTable:
    """A relation that was described, with these rows."""

    def phi(parts: Sequence[Any]) -> Phi:
        return tuple(
            Key(p) if isinstance(p, str) else Choice(p["tag"], (phi(p["sides"][0]), phi(p["sides"][1])), (*p["marks"],))
            for p in parts
        )

    rest: dict[str, Any] = {k: tuple(v) if k == "stamp" else v for k, v in description.items() if k != "phi"}
    return RelationTable(rows, schema, phi(description["phi"]), **rest)


_TUPLE = re.compile(r"t|i|n|[cqpo]\d+")
"""The columns of a stream's own tuples: their stamp, their attributes, and what they are ordered by."""

_KEPT = ("kp", "kd", "kx", "ky", "gone")
"""What a kept tuple knows of itself: its position in its part, how far that had travelled, the last place that was
known, and whether it is only there for the others."""


def needed_tuples(table: Table, spec: WindowSpec, demand: Demand, start: Id, end: Id, last: Instant) -> Table:
    """The tuples of a window that are wanted after an epoch, given where each one enters and leaves it."""
    marked = table.with_column("_needed", F.coalesce(_is_needed(spec, demand, start, end, last), lit(False)))
    own = [c for c in table.columns if _TUPLE.fullmatch(c)]
    if "p" not in table.columns:
        return marked.where(col("_needed")).select(*own)
    return _without_gaps(marked, own)


def _is_needed(spec: WindowSpec, demand: Demand, start: Id, end: Id, last: Instant) -> Column:
    """Whether a tuple enters or leaves after an instant."""
    needed = (start.t if demand is Demand.DELTA else end.t) > last
    if known_at_once(spec):
        return needed & lt(start, end)
    # A tuple that leaves where it would enter is in no window; as long as it is not known, it may be.
    needed = needed & (lt(start, end) | (end.t == NEVER))
    return needed & (start.t < NEVER) if is_over(spec.schedule, last) else needed


def _without_gaps(marked: Table, own: Sequence[str]) -> Table:
    """Where positions count: the last tuples of each part without a gap, from the batch of the first that is needed,
    and the position before it, which lookups may ask for. Each knows its position, and how far its part had come."""
    if "gone" in marked.columns:
        marked = marked.with_column("_needed", col("_needed") & ~F.coalesce(col("gone"), lit(False)))
    marked = marked.drop(*_KEPT)
    parts = [c for c in marked.columns if re.fullmatch(r"g\d+", c)]
    if "b0" not in marked.columns:
        batch = [c for c in ("t", "i") if c in marked.columns]
        marked = marked.with_column("b0", F.min("p").over(Window.partition_by(*parts, *batch)))
    ends = {"_first": F.min(F.when(col("_needed"), col("b0"))), "_last": F.max("p")}
    if parts:
        marked = marked.with_columns({name: c.over(Window.partition_by(*parts)) for name, c in ends.items()})
    else:
        marked = marked.beside(marked.agg(*(c.alias(name) for name, c in ends.items())))
    made = [col("p").alias("kp"), (~col("_needed")).alias("gone")]
    if "d" in marked.columns:
        made += [col("d").alias("kd"), col("lx").alias("kx"), col("ly").alias("ky")]
    kept = marked.where((col("p") >= col("_first") - 1) | (col("p") == col("_last")))
    return kept.select(*own, *made)
