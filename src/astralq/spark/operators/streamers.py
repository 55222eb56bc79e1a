"""Streamers: I_S emits where intervals begin, D_S where they end, R_S all that holds at every change (001 §5.1)."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.properties import Grid
from astralq.algebra.streamers import DStream, Identity, IStream, RStream
from astralq.spark.context import Run
from astralq.spark.encoding.batches import Id, greatest, le, literal, lt
from astralq.spark.encoding.columns import col, lit, long
from astralq.spark.encoding.frames import RelationFrame, StreamFrame, attributes, columns, in_order, unflattened
from astralq.spark.encoding.scan import first_from, indexed
from astralq.spark.operators.joins import pairs
from astralq.spark.operators.past import scanned_in
from astralq.spark.operators.relational import marked
from astralq.spark.state.tables import current
from astralq.spark.windows.intervals import quotient_up

Streamer = IStream | DStream | RStream


def stream_of(op: Streamer, frame: RelationFrame, run: Run, *, edge: str = "") -> StreamFrame:
    """The stream of a relation's changes, or of its states; what holds at the start is reported there."""
    if isinstance(op, RStream):
        if op.every is not None:
            return _emitted(_every(frame, op.every, run), frame, flat=True)
        return _states(op, marked(frame, run), run)
    if op.every is not None:
        frame = _gridded(frame, op.every, run, edge)
    if op.identity is Identity.VALUE:
        return _by_value(op, frame, run)
    frame = marked(frame, run)
    if isinstance(op, IStream):
        seen = frame.df.where(_new(frame, run))
        return _emitted(_at(seen, _begins(frame, run), frame), frame, flat=frame.flat and run.emits_flat)
    gone = frame.df.where(col("_ends") & lt(literal(run.seen_from), frame.end) & le(frame.end, literal(run.last)))
    return _emitted(_at(gone, frame.end, frame), frame, flat=frame.flat)


def _observed(frame: RelationFrame, run: Run) -> Column:
    """Whether a run sees the row at all: it begins before the end, and ends after the start."""
    return le(frame.start, literal(run.last)) & lt(literal(run.seen_from), frame.end)


def _new(frame: RelationFrame, run: Run) -> Column:
    """Whether a run sees the row's identity come: where it begins, or at the start if it holds there already."""
    start = literal(run.seen_from)
    begins = col("_begins") & lt(start, frame.start) & le(frame.start, literal(run.last))
    if run.continues:
        return begins
    return begins | (le(frame.start, start) & lt(start, frame.end) & le(start, literal(run.last)))


def _begins(frame: RelationFrame, run: Run) -> Id:
    return frame.start if run.continues else greatest(frame.start, literal(run.seen_from))


def _at(df: DataFrame, b: Id, frame: RelationFrame) -> DataFrame:
    """Rows emitted at a batch identifier, with their order columns."""
    made = [b.t.alias("t")] + ([] if b.i is None else [b.i.alias("i")])
    return df.select(*columns(dict.fromkeys([*attributes(frame.schema), *frame.order])), *made)


def _emitted(df: DataFrame, frame: RelationFrame, *, flat: bool) -> StreamFrame:
    if not flat and "i" not in df.columns:
        df = df.withColumn("i", long(0))
    return StreamFrame(df, frame.schema, tuple(frame.order), flat)


def _grid(every: int, run: Run) -> tuple[int, int]:
    """The first and the last k with t0 + k·every observed; R(t, 0) is not seen where a run begins at (t, i > 0)."""
    return run.ticks(every, run.seen_from.t + (1 if run.seen_from.i > 0 else 0))


def _every(frame: RelationFrame, every: int, run: Run) -> DataFrame:
    """R_S^r: each row at each t0 + k·every at which it holds (001 D25)."""
    first, last = _grid(every, run)
    if frame.flat and frame.grid is not None and frame.grid.is_on(Grid(run.t0, every)):
        # Rows begin and end at such instants themselves.
        begin, end = run.t0 + first * every, run.t0 + last * every
        if frame.lifetime == every:
            return frame.df.where(col("ft").between(begin, end)).withColumn("t", col("ft"))
        low, high = F.greatest(col("ft"), lit(begin)), F.least(col("tt") - every, lit(end))
        ranged = frame.df.withColumns({"_low": low, "_high": high}).where(col("_low") <= col("_high"))
        return ranged.withColumn("t", F.explode(F.sequence("_low", "_high", long(every))))
    starts, ends = (_reached(b, every, run) for b in (frame.start, frame.end))
    low, high = F.greatest(starts, lit(first)), F.least(ends - 1, lit(last))
    ranged = frame.df.withColumns({"_low": low, "_high": high}).where(col("_low") <= col("_high"))
    exploded = ranged.withColumn("_k", F.explode(F.sequence("_low", "_high")))
    return exploded.withColumn("t", col("_k") * every + lit(run.t0))


def _reached(b: Id, every: int, run: Run) -> Column:
    """The first k with (t0 + k·every, 0) at or after a batch identifier."""
    t = F.least(F.greatest(b.t, lit(run.t0 - every)), lit(run.end + 2 * every))
    later = t if b.i is None else F.when(b.i > 0, t + 1).otherwise(t)
    return quotient_up(later - lit(run.t0), every)


def _gridded(frame: RelationFrame, every: int, run: Run, edge: str) -> RelationFrame:
    """The relation as it is at each t0 + k·every: comparing those states is comparing the others' neighbours."""
    first, last = _grid(every, run)
    scanned = current(scanned_in(frame, every, run, edge), run)
    if run.continues:
        return replace(scanned, coalesced=False)
    begin, end = run.t0 + first * every, run.t0 + (last + 1) * every
    clipped = scanned.with_interval(greatest(scanned.start, Id(lit(begin))), scanned.end)
    return replace(clipped, df=clipped.df.where(col("ft") < end), coalesced=False)


# R_S^u


def _states(op: RStream, frame: RelationFrame, run: Run) -> StreamFrame:
    """The whole state at every change, or at insertions only: change points are numbered, and each row is repeated
    for the numbers from its beginning to its end."""
    seen = unflattened(replace(frame, df=frame.df.where(_observed(frame, run))))
    flat = frame.flat and run.emits_flat
    begin = _begins(seen, run)
    rows = seen.df.withColumns(
        {
            "_from": F.struct(begin.t.alias("t"), begin.index.alias("i")),
            "_to": F.struct(seen.end.t.alias("t"), seen.end.index.alias("i")),
        }
    )
    rows = run.shared(rows)
    points = rows.where(_new(seen, run)).select(col("_from").alias("at"))
    if not op.on_insert:
        gone = rows.where(col("_ends") & le(seen.end, literal(run.last))).select(col("_to").alias("at"))
        points = points.union(gone)
    numbered = run.shared(indexed(points.distinct(), ["at"], "k", run))
    keys = dict.fromkeys([*attributes(frame.schema), *frame.order])
    if frame.coalesced and not op.on_insert:
        # Each row is a tuple by itself: it begins and ends at change points, or outside of what is observed.
        for name, end in (("_first", "_from"), ("_last", "_to")):
            rows = _equal_rank(rows, numbered, end, name)
        rows = rows.withColumn("_first", F.coalesce("_first", long(0)))
    else:
        for name, end in (("_first", "_from"), ("_last", "_to")):
            rows = _rank(rows, numbered, end, name, run)
    count = numbered.agg(F.count("k").alias("_count"))
    rows = rows.crossJoin(F.broadcast(count))
    upto = F.coalesce("_last", "_count") - 1
    repeated = rows.where(col("_first") <= upto)
    exploded = repeated.withColumn("_k", F.explode(F.sequence("_first", upto)))
    joined = exploded.join(numbered, col("_k") == col("k"))
    stamp = [col("at.t").alias("t")] + ([] if flat else [col("at.i").alias("i")])
    return StreamFrame(joined.select(*columns(keys), *stamp), frame.schema, tuple(frame.order), flat)


def _rank(rows: DataFrame, numbered: DataFrame, end: str, name: str, run: Run) -> DataFrame:
    """The number of the first change point at or after one end of each row; ends need not be such points."""
    table = numbered.select(col("at.t").alias("_t"), col("at.i").alias("_i"), col("k").alias("_number"))
    probes = rows.withColumns({"_t": col(f"{end}.t"), "_i": col(f"{end}.i")})
    found = first_from(probes, table, keys=[], at=["_t", "_i"], payload="_number", cut=run.time_cut, run=run)
    return found.select(*columns(rows.columns), col("_number_found").alias(name))


def _equal_rank(rows: DataFrame, numbered: DataFrame, end: str, name: str) -> DataFrame:
    """The number of the change point at one end of each row; NULL where there is none."""
    table = numbered.select(col("at.t").alias("_t"), col("at.i").alias("_i"), col("k").alias(name))
    found = rows.join(table, (col(f"{end}.t") == col("_t")) & (col(f"{end}.i") == col("_i")), "left")
    return found.select(*columns(rows.columns), name)


# By value


def _by_value(op: IStream | DStream, frame: RelationFrame, run: Run) -> StreamFrame:
    """Bags: where a value becomes more frequent (I_S) or less (D_S), as many of its rows as that, highest φ first."""
    frame = unflattened(frame)
    values = attributes(frame.schema)
    start = _begins(frame, run)
    df = frame.df.where(_observed(frame, run))
    df = df.withColumns({"ft": start.t, "fi": start.index})
    df = run.shared(df)
    entries = df.select(*columns(values), "ft", "fi", lit(1).alias("d"))
    exits = df.select(*columns(values), "tt", "ti", lit(-1).alias("d"))
    net = entries.union(exits).groupBy(*columns(values), "ft", "fi").agg(F.sum("d").alias("d"))
    inserts = isinstance(op, IStream)
    wanted = net.where((col("d") > 0) if inserts else (col("d") < 0))
    wanted = wanted.where(le(Id(col("ft"), col("fi")), literal(run.last)))
    if run.continues:
        wanted = wanted.where(lt(literal(run.seen_from), Id(col("ft"), col("fi"))))
    points = RelationFrame(
        wanted.withColumns({"tt": col("ft"), "ti": col("fi") + 1}), frame.schema, (), flat=False, lifetime=1
    )
    # I_S looks at the state from the point on, D_S at the one before it: at rows that are moved by one batch.
    moved = df if inserts else df.withColumns({"fi": col("fi") + 1, "ti": col("ti") + 1})
    found = pairs(replace(frame, df=moved, lifetime=None), points, run, [(c, c, True) for c in values]).df
    point = [*(f"r_{c}" for c in values), "r_ft", "r_fi"]
    high = Window.partitionBy(*columns(point)).orderBy(*in_order([f"l_{c}" for c in frame.order], down=True))
    ranked = found.withColumn("_rank", F.row_number().over(high)).where(col("_rank") <= F.abs("r_d"))
    kept = dict.fromkeys([*values, *frame.order])
    stamp = [col("r_ft").alias("t"), col("r_fi").alias("i")]
    emitted = ranked.select(*(col(f"l_{c}").alias(c) for c in kept), *stamp)
    return StreamFrame(emitted, frame.schema, tuple(frame.order), flat=False)
