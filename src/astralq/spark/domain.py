"""D_c^f moves intervals: a row is seen where f looks at a state that holds it (001 D21, D22)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.domain import AtInstant, Custom, Domain, Floor, LastBatchOf, Shift
from astralq.algebra.ticks import Tick
from astralq.errors import PlanError
from astralq.spark.batches import ALWAYS, NEVER, Id, at, greatest, le, least, literal, lt
from astralq.spark.columns import col, lit, long
from astralq.spark.context import Run
from astralq.spark.frames import RelationFrame, StreamFrame, columns
from astralq.spark.scan import first_from
from astralq.spark.windows import quotient_up
from astralq.timeline import BatchId, Instant

Intervals = Sequence[tuple[Instant, Instant | None]]


def domain(op: Domain, frame: RelationFrame, other: StreamFrame | None, run: Run) -> RelationFrame:
    """The relation's past as its present."""
    match op.transform_:
        case AtInstant(instant):
            moment = run.start_instant if instant is None else instant
            here = literal(BatchId(moment, 0))
            held = frame.df.where(le(frame.start, here) & lt(here, frame.end))
            always = replace(frame, df=held).with_interval(at(ALWAYS), at(NEVER))
            return _during(always, op.during if op.during is not None else ((moment, None),))
        case Shift(by):
            moved = (
                frame
                if by == 0
                else frame.with_interval(
                    frame.start.moved(by), frame.end.moved(by), lifetime=frame.lifetime, endless=frame.endless
                )
            )
            return moved if op.during is None else _during(moved, op.during)
        case Floor(every):
            scanned = floored(frame, every, run.t0)
            return _during(scanned, op.during if op.during is not None else ((run.t0, None),))
        case LastBatchOf():
            assert other is not None
            return _at_batches(frame, other, run)
        case Custom():
            return _custom(op, frame)
    raise AssertionError(op)


def floored(frame: RelationFrame, every: int, t0: Instant) -> RelationFrame:
    """What holds at t0 + k·every, from there to the next: from and to go up to the next such instant."""

    def up(b: Id) -> Id:
        # A batch after the first of an instant is seen by the next scan.
        later = b.t if b.i is None else F.when(b.i > 0, b.t + 1).otherwise(b.t)
        k = F.greatest(quotient_up(later - lit(t0), every), lit(0))
        return Id(F.when((b.t == NEVER) | (b.t == ALWAYS), b.t).otherwise(k * lit(every) + lit(t0)))

    return replace(frame.with_interval(up(frame.start), up(frame.end), endless=frame.endless), coalesced=False)


def _during(frame: RelationFrame, during: Intervals) -> RelationFrame:
    """Only in half-open intervals [from, to) of instants, merged first where they overlap."""
    merged: list[tuple[int, int]] = []
    for a, b in sorted((int(a), NEVER if b is None else int(b)) for a, b in during):
        if merged and a <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], b))
        else:
            merged.append((a, b))
    if len(merged) == 1:
        a, b = merged[0]
        return frame.with_interval(
            greatest(frame.start, at(a)), least(frame.end, at(b)), endless=frame.endless and b == NEVER
        )
    parts = F.array(*(F.struct(lit(a).alias("a"), lit(b).alias("b")) for a, b in merged))
    exploded = replace(frame, df=frame.df.withColumn("_during", F.explode(parts)))
    clipped = exploded.with_interval(
        greatest(frame.start, at(col("_during.a"))), least(frame.end, at(col("_during.b")))
    )
    return replace(clipped, df=clipped.df.drop("_during"))


def _at_batches(frame: RelationFrame, stream: StreamFrame, run: Run) -> RelationFrame:
    """f = τ ∘ τ⁻¹: from and to go up to the next batch of the stream; before its first one f is (t0, 0)."""
    zero = long(0)
    batches = stream.df.select("t", stream.batch.index.alias("i")).distinct()
    first = stream.df.sparkSession.range(1).select(long(run.t0).alias("t"), zero.alias("i"))
    table = batches.union(first).select("t", "i", F.struct("t", "i").alias("_batch"))
    df = frame.df
    ids = {"_s": frame.start, "_e": frame.end}
    for name, b in ids.items():
        probes = df.withColumns({"t": b.t, "i": b.index})
        found = first_from(probes, table, keys=[], at=["t", "i"], payload="_batch", cut=run.time_cut, run=run)
        df = found.select(*columns(df.columns), col("_batch_found").alias(name))
    flat = frame.flat and stream.flat

    def reached(name: str) -> Id:
        t = F.coalesce(col(f"{name}.t"), lit(NEVER))
        return Id(t, None if flat else F.coalesce(col(f"{name}.i"), zero))

    moved = replace(frame, df=df).with_interval(reached("_s"), reached("_e"))
    return replace(moved, df=moved.df.drop("_s", "_e"), coalesced=False)


def _custom(op: Domain, frame: RelationFrame) -> RelationFrame:
    """A user's f: its generalised inverse, a Python function, is asked once for each point at which the relation
    changes. Only these points come to the driver, never tuples."""
    assert isinstance(op.transform_, Custom)
    custom = op.transform_
    ends = [(frame.start.t, frame.start.index), (frame.end.t, frame.end.index)]
    points = None
    for t, i in ends:
        part = frame.df.select(t.alias("t"), i.alias("i"))
        points = part if points is None else points.union(part)
    assert points is not None
    inverse = []
    for t, i in points.distinct().collect():
        if t in (ALWAYS, NEVER):
            inverse.append((t, i, t, 0))
            continue
        b = BatchId(Instant(t), i)
        found = custom.inverse(b)
        if found is not None and found < b:
            raise PlanError(f"{op.label}: f{found} = {custom.f(found)} is in the future", hint="f(t, i) ≤ (t, i)")
        inverse.append((t, i, NEVER, 0) if found is None else (t, i, found.t, found.i))
    table = frame.df.sparkSession.createDataFrame(inverse, "_t bigint, _i bigint, _x bigint, _y bigint")
    df = frame.df
    for name, (t, i) in zip(("_s", "_e"), ends, strict=True):
        joined = df.join(F.broadcast(table), (t == col("_t")) & (i == col("_i")))
        df = joined.select(*columns(df.columns), F.struct(col("_x").alias("t"), col("_y").alias("i")).alias(name))
    start, end = (Id(col(f"{n}.t"), col(f"{n}.i")) for n in ("_s", "_e"))
    moved = replace(frame, df=df).with_interval(start, end)
    result = replace(moved, df=moved.df.drop("_s", "_e"), coalesced=False)
    return result if op.during is None else _during(result, op.during)


def ticked(op: Tick, frame: RelationFrame) -> RelationFrame:
    """What holds at the end of each tick, from its beginning on: both ends go down to the tick."""

    def down(b: Id) -> Id:
        finite = (b.t > ALWAYS) & (b.t < NEVER)
        return Id(F.when(finite, b.t - F.pmod(b.t, lit(op.period))).otherwise(b.t))

    return replace(frame.with_interval(down(frame.start), down(frame.end), endless=frame.endless), coalesced=False)
