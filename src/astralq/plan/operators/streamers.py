"""Streamers: I_S emits where intervals begin, D_S where they end, R_S all that holds at every change (001 §5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from astralq.algebra.properties import Grid
from astralq.algebra.streamers import DStream, Identity, IStream, RStream
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, Window, col, columns, lit, long
from astralq.plan.encoding.batches import Id, greatest, le, literal, lt
from astralq.plan.encoding.scan import asof_forward
from astralq.plan.encoding.tables import RelationTable, StreamTable, attributes, in_order, with_batch_index
from astralq.plan.operators.joins import pairs
from astralq.plan.operators.past import scanned_in
from astralq.plan.operators.relational import marked
from astralq.plan.run import Run
from astralq.plan.state.epochs import clip_to_epoch
from astralq.plan.table import Index, Table
from astralq.plan.windows.arithmetic import quotient_up

Streamer = IStream | DStream | RStream


def stream_of(op: Streamer, relation: RelationTable, run: Run, *, name: str = "") -> StreamTable:
    """The stream of a relation's changes, or of its states; what holds at the start is reported there."""
    if isinstance(op, RStream):
        if op.every is not None:
            return _emitted(_every(relation, op.every, run), relation, run, one_batch=True)
        return _states(op, marked(relation, run), run)
    if op.every is not None:
        relation = _gridded(relation, op.every, run, name)
    if op.identity is Identity.VALUE:
        return _by_value(op, relation, run)
    relation = marked(relation, run)
    if isinstance(op, IStream):
        seen = relation.rows.where(_new(relation, run))
        begun = _at(seen, _begins(relation, run), relation)
        return _emitted(begun, relation, run, one_batch=relation.one_batch and run.emits_one_batch)
    gone = relation.rows.where(
        col("_ends") & lt(literal(run.seen_from), relation.end) & le(relation.end, literal(run.last))
    )
    return _emitted(_at(gone, relation.end, relation), relation, run, one_batch=relation.one_batch)


def _observed(relation: RelationTable, run: Run) -> Column:
    """Whether a run sees the row at all: it begins before the end, and ends after the start."""
    begins_in_time = le(relation.start, literal(run.last)) if not _begins_by_end(relation, run) else lit(True)
    if _begins_from_start(relation, run):
        return begins_in_time
    return begins_in_time & lt(literal(run.seen_from), relation.end)


def _begins_by_end(relation: RelationTable, run: Run) -> bool:
    """Whether it is known that no row begins after the end of a run."""
    return relation.within is not None and relation.within[1] <= run.end


def _begins_from_start(relation: RelationTable, run: Run) -> bool:
    """Whether it is known that no row begins before a run does."""
    return relation.within is not None and (relation.within[0], 0) >= (run.seen_from.t, run.seen_from.i)


def _new(relation: RelationTable, run: Run) -> Column:
    """Whether a run sees the row's identity come: where it begins, or at the start if it holds there already."""
    start = literal(run.seen_from)
    if relation.coalesced and not run.continues and run.seen_from <= run.last:
        return _observed(relation, run)
    begins = col("_begins") & lt(start, relation.start) & le(relation.start, literal(run.last))
    if run.continues:
        return begins
    return begins | (le(relation.start, start) & lt(start, relation.end) & le(start, literal(run.last)))


def _begins(relation: RelationTable, run: Run) -> Id:
    at_once = run.continues or _begins_from_start(relation, run)
    return relation.start if at_once else greatest(relation.start, literal(run.seen_from))


def _at(rows: Table, b: Id, relation: RelationTable) -> Table:
    """Rows emitted at a batch identifier, with their order columns."""
    made = [b.t.alias("t")] + ([] if b.i is None else [b.i.alias("i")])
    return rows.select(*columns(dict.fromkeys([*attributes(relation.schema), *relation.order])), *made)


def _emitted(rows: Table, relation: RelationTable, run: Run, *, one_batch: bool) -> StreamTable:
    """Rows as a stream; all of them are at instants that a run observes."""
    if not one_batch and "i" not in rows.columns:
        rows = rows.with_column("i", long(0))
    within = (run.seen_from.t, run.end)
    return StreamTable(rows, relation.schema, tuple(relation.order), one_batch, within=within)


def _grid(every: int, run: Run) -> tuple[int, int]:
    """The first and the last k with t0 + k·every observed; R(t, 0) is not seen where a run begins at (t, i > 0)."""
    return run.ticks(every, run.seen_from.t + (1 if run.seen_from.i > 0 else 0))


def _every(relation: RelationTable, every: int, run: Run) -> Table:
    """R_S^r: each row at each t0 + k·every at which it holds (001 D25)."""
    first, last = _grid(every, run)
    if relation.one_batch and relation.grid is not None and relation.grid.is_on(Grid(run.t0, every)):
        # Rows begin and end at such instants themselves.
        begin, end = run.t0 + first * every, run.t0 + last * every
        if relation.lifetime == every:
            observed = [] if _begins_by_end(relation, run) else [col("ft") <= end]
            observed += [] if relation.within is not None and relation.within[0] >= begin else [col("ft") >= begin]
            return _all(relation.rows, observed).with_column("t", col("ft"))
        low, high = F.greatest(col("ft"), lit(begin)), F.least(col("tt") - every, lit(end))
        ranged = relation.rows.with_columns({"_low": low, "_high": high})
        return ranged.with_column("t", F.explode(_from_low_to_high(F.sequence("_low", "_high", long(every)))))
    starts, ends = (_reached(b, every, run) for b in (relation.start, relation.end))
    low, high = F.greatest(starts, lit(first)), F.least(ends - 1, lit(last))
    ranged = relation.rows.with_columns({"_low": low, "_high": high})
    exploded = ranged.with_column("_k", F.explode(_from_low_to_high(F.sequence("_low", "_high"))))
    return exploded.with_column("t", col("_k") * every + lit(run.t0))


def _all(rows: Table, conditions: Sequence[Column]) -> Table:
    """The rows for which all conditions are true."""
    for condition in conditions:
        rows = rows.where(condition)
    return rows


def _from_low_to_high(numbers: Column) -> Column:
    """No numbers where _low is above _high; by no filter below, as Spark may look at the size of the sequence first,
    which is beyond all bounds before a run begins."""
    return F.when(col("_low") <= col("_high"), numbers)


def _reached(b: Id, every: int, run: Run) -> Column:
    """The first k with (t0 + k·every, 0) at or after a batch identifier."""
    t = F.least(F.greatest(b.t, lit(run.t0 - every)), lit(run.end + 2 * every))
    later = t if b.i is None else F.when(b.i > 0, t + 1).otherwise(t)
    return quotient_up(later - lit(run.t0), every)


def _gridded(relation: RelationTable, every: int, run: Run, name: str) -> RelationTable:
    """The relation as it is at each t0 + k·every: comparing those states is comparing the others' neighbours."""
    first, last = _grid(every, run)
    scanned = clip_to_epoch(scanned_in(relation, every, run, name), run)
    if run.continues:
        return replace(scanned, coalesced=False)
    begin, end = run.t0 + first * every, run.t0 + (last + 1) * every
    clipped = scanned.with_interval(greatest(scanned.start, Id(lit(begin))), scanned.end)
    return replace(clipped, rows=clipped.rows.where(col("ft") < end), coalesced=False)


# R_S^u


def _states(op: RStream, relation: RelationTable, run: Run) -> StreamTable:
    """The whole state at every change, or at insertions only: change points are numbered, and each row is repeated
    for the numbers from its beginning to its end."""
    seen = with_batch_index(replace(relation, rows=relation.rows.where(_observed(relation, run))))
    one_batch = relation.one_batch and run.emits_one_batch
    begin = _begins(seen, run)
    rows = seen.rows.with_columns(
        {
            "_from": F.struct(begin.t.alias("t"), begin.index.alias("i")),
            "_to": F.struct(seen.end.t.alias("t"), seen.end.index.alias("i")),
        }
    )
    rows = run.materialized(rows)
    points: Table = rows.where(_new(seen, run)).select(col("_from").alias("at"))
    if not op.on_insert:
        gone = rows.where(col("_ends") & le(seen.end, literal(run.last))).select(col("_to").alias("at"))
        points = points.union(gone)
    numbered = run.materialized(Index(points.distinct(), ("at",), "k"))
    kept = dict.fromkeys([*attributes(relation.schema), *relation.order])
    if relation.coalesced and not op.on_insert:
        # Each row is a tuple by itself: it begins and ends at change points, or outside of what is observed.
        for name, end in (("_first", "_from"), ("_last", "_to")):
            rows = _equal_rank(rows, numbered, end, name)
        rows = rows.with_column("_first", F.coalesce("_first", long(0)))
    else:
        for name, end in (("_first", "_from"), ("_last", "_to")):
            rows = _rank(rows, numbered, end, name, run)
    rows = rows.beside(numbered.agg(F.count("k").alias("_count")))
    upto = F.coalesce("_last", "_count") - 1
    exploded = rows.where(col("_first") <= upto).with_column("_k", F.explode(F.sequence("_first", upto)))
    joined = exploded.join(numbered, col("_k") == col("k"))
    stamp = [col("at.t").alias("t")] + ([] if one_batch else [col("at.i").alias("i")])
    return StreamTable(joined.select(*kept, *stamp), relation.schema, tuple(relation.order), one_batch)


def _rank(rows: Table, numbered: Table, end: str, name: str, run: Run) -> Table:
    """The number of the first change point at or after one end of each row; ends need not be such points."""
    table = numbered.select(col("at.t").alias("_t"), col("at.i").alias("_i"), col("k").alias("_number"))
    probes = rows.with_columns({"_t": col(f"{end}.t"), "_i": col(f"{end}.i")})
    ranked = asof_forward(probes, table, keys=[], at=["_t", "_i"], payload="_number", cut=run.time_cut, run=run)
    return ranked.select(*rows.columns, col("_number_found").alias(name))


def _equal_rank(rows: Table, numbered: Table, end: str, name: str) -> Table:
    """The number of the change point at one end of each row; NULL where there is none."""
    table = numbered.select(col("at.t").alias("_t"), col("at.i").alias("_i"), col("k").alias(name))
    ranked = rows.join(table, (col(f"{end}.t") == col("_t")) & (col(f"{end}.i") == col("_i")), "left")
    return ranked.select(*rows.columns, name)


# By value


def _by_value(op: IStream | DStream, relation: RelationTable, run: Run) -> StreamTable:
    """Bags: where a value becomes more frequent (I_S) or less (D_S), as many of its rows as that, highest φ first."""
    relation = with_batch_index(relation)
    values = attributes(relation.schema)
    start = _begins(relation, run)
    rows = relation.rows.where(_observed(relation, run))
    rows = rows.with_columns({"ft": start.t, "fi": start.index})
    rows = run.materialized(rows)
    entries = rows.select(*columns(values), "ft", "fi", lit(1).alias("d"))
    exits = rows.select(*columns(values), "tt", "ti", lit(-1).alias("d"))
    net = entries.union(exits).group_by(*columns(values), "ft", "fi").agg(F.sum("d").alias("d"))
    inserts = isinstance(op, IStream)
    wanted = net.where((col("d") > 0) if inserts else (col("d") < 0))
    wanted = wanted.where(le(Id(col("ft"), col("fi")), literal(run.last)))
    if run.continues:
        wanted = wanted.where(lt(literal(run.seen_from), Id(col("ft"), col("fi"))))
    points = RelationTable(
        wanted.with_columns({"tt": col("ft"), "ti": col("fi") + 1}), relation.schema, (), one_batch=False, lifetime=1
    )
    # I_S looks at the state from the point on, D_S at the one before it: at rows that are moved by one batch.
    moved = rows if inserts else rows.with_columns({"fi": col("fi") + 1, "ti": col("ti") + 1})
    held = replace(relation, rows=moved, lifetime=None, cut_lifetime=None, within=None)
    holding = pairs(held, points, run, [(c, c, True) for c in values]).rows
    point = [*(f"r_{c}" for c in values), "r_ft", "r_fi"]
    high = Window.partition_by(*columns(point)).order_by(*in_order([f"l_{c}" for c in relation.order], down=True))
    ranked = holding.with_column("_rank", F.row_number().over(high)).where(col("_rank") <= F.abs("r_d"))
    kept = dict.fromkeys([*values, *relation.order])
    stamp = [col("r_ft").alias("t"), col("r_fi").alias("i")]
    emitted = ranked.select(*(col(f"l_{c}").alias(c) for c in kept), *stamp)
    return StreamTable(emitted, relation.schema, tuple(relation.order), one_batch=False)


def compares_tuples(op: IStream | DStream | RStream) -> bool:
    """Whether a streamer asks which tuples of two states are the same, where each row is a tuple by itself."""
    return op.every is not None or (isinstance(op, IStream | DStream) and op.identity is Identity.VALUE)
