"""D_c^f moves intervals: a row is seen where f looks at a state that holds it (001 D21, D22)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.domain import AtInstant, Custom, Domain, Floor, LastBatchOf, Shift
from astralq.algebra.ticks import Tick
from astralq.errors import PlanError
from astralq.spark.context import Run
from astralq.spark.encoding.batches import ALWAYS, NEVER, Id, at, choose, greatest, le, least, literal, lt
from astralq.spark.encoding.columns import col, lit, long
from astralq.spark.encoding.frames import RelationFrame, StreamFrame, columns
from astralq.spark.encoding.scan import first_from
from astralq.spark.operators.relational import united
from astralq.spark.state.store import joined
from astralq.spark.state.tables import current, described, frame_of, with_indexes
from astralq.spark.windows.intervals import quotient_up
from astralq.timeline import LAST_INDEX, BatchId, Instant

Intervals = Sequence[tuple[Instant, Instant | None]]


def domain(op: Domain, frame: RelationFrame, other: StreamFrame | None, run: Run, *, edge: str = "") -> RelationFrame:
    """The relation's past as its present; in an epoch, what is left of the past is kept at the edge."""
    return current(_moved(op, frame, other, run, edge), run)


def _moved(op: Domain, frame: RelationFrame, other: StreamFrame | None, run: Run, edge: str) -> RelationFrame:
    match op.transform_:
        case AtInstant(instant):
            moment = run.start_instant if instant is None else instant
            here = literal(BatchId(moment, 0))
            held = frame.df.where(le(frame.start, here) & lt(here, frame.end) & lit(moment <= run.end))
            always = replace(frame, df=held).with_interval(at(ALWAYS), at(NEVER))
            if run.memory is not None and moment <= run.end:
                always = replace(always, df=run.memory.replace(edge, always.df))
                run.memory.learn(f"frame {edge}", described(always))
            return _fixed(op, always, moment)
        case Shift(by):
            if by > 0 and run.memory is not None:
                frame = _with_past(frame, run, edge, lambda w: Instant(w - by))
            moved = (
                frame
                if by == 0
                else frame.with_interval(
                    frame.start.moved(by), frame.end.moved(by), lifetime=frame.lifetime, endless=frame.endless
                )
            )
            return moved if op.during is None else _during(moved, op.during)
        case Floor(every):
            scanned = scanned_in(frame, every, run, edge)
            return _during(scanned, op.during if op.during is not None else ((run.t0, None),))
        case LastBatchOf():
            assert other is not None
            return _at_batches(frame, other, run, edge)
        case Custom():
            if run.memory is not None:
                f = op.transform_.f
                frame = _with_past(frame, run, edge, lambda w: f(BatchId(w, LAST_INDEX)).t)
            return _custom(op, frame)
    raise AssertionError(op)


def looked_at(op: Domain, moment: BatchId, run: Run) -> BatchId | None:
    """f(moment): which state of its child the relation shows there; None where the data decide it."""
    match op.transform_:
        case AtInstant(instant):
            return BatchId(run.start_instant if instant is None else instant, 0)
        case Shift(by):
            return BatchId(Instant(moment.t - by), moment.i)
        case Floor(every):
            return BatchId(Instant(moment.t - (moment.t - run.t0) % every), 0)
        case Custom():
            return op.transform_.f(moment)
    return None


def seen_at(op: Domain, frame: RelationFrame, moment: BatchId, run: Run) -> RelationFrame:
    """The child's rows at the state that is looked at as the relation's at the moment; none where c does not hold."""
    during: Intervals | None = op.during
    if during is None and isinstance(op.transform_, AtInstant):
        during = ((run.start_instant if op.transform_.at is None else op.transform_.at, None),)
    elif during is None and isinstance(op.transform_, Floor):
        during = ((run.t0, None),)
    if during is not None and not any(a <= moment.t and (b is None or moment.t < b) for a, b in during):
        frame = replace(frame, df=frame.df.where(lit(False)))
    return frame.with_interval(at(moment.t), at(NEVER), endless=True, shared=True)


def _fixed(op: Domain, always: RelationFrame, moment: Instant) -> RelationFrame:
    return _during(always, op.during if op.during is not None else ((moment, None),))


def fixed_before(op: Domain, run: Run, edge: str) -> RelationFrame | None:
    """A relation that was fixed in an epoch before this one; None if it has not been yet."""
    if run.memory is None or not isinstance(op.transform_, AtInstant) or f"frame {edge}" not in run.memory.facts:
        return None
    kept = run.memory.kept(edge)
    assert kept is not None
    moment = run.start_instant if op.transform_.at is None else op.transform_.at
    always = frame_of(run.memory.facts[f"frame {edge}"], run.memory.replace(edge, kept), op.schema)
    return current(_fixed(op, always, moment), run)


def _with_past(frame: RelationFrame, run: Run, edge: str, seen_at: Callable[[Instant], Instant]) -> RelationFrame:
    """The relation's rows with those of epochs before, as far back as it will still be looked at.

    What an epoch adds is cut at its ends, so that the pieces of one row touch.
    """
    assert run.memory is not None
    start = frame.start
    if run.since is not None:
        start = choose(frame.start.t > run.since, frame.start, at(run.since + 1))
    new = frame.with_interval(start, least(frame.end, at(run.end + 1)))
    df = with_indexes(run.memory.grow(edge, new.df), flat=new.flat)
    kept = [c for c in df.columns if c not in new.interval_columns]
    bound = seen_at(run.end)
    run.memory.trim(edge, lambda: united(df.where(col("tt") >= bound), kept, flat=new.flat))
    return replace(new, df=df, coalesced=False)


def floored(frame: RelationFrame, every: int, t0: Instant) -> RelationFrame:
    """What holds at t0 + k·every, from there to the next: from and to go up to the next such instant."""

    def up(b: Id) -> Id:
        # A batch after the first of an instant is seen by the next scan.
        later = b.t if b.i is None else F.when(b.i > 0, b.t + 1).otherwise(b.t)
        k = F.greatest(quotient_up(later - lit(t0), every), lit(0))
        return Id(F.when((b.t == NEVER) | (b.t == ALWAYS), b.t).otherwise(k * lit(every) + lit(t0)))

    return replace(frame.with_interval(up(frame.start), up(frame.end), endless=frame.endless), coalesced=False)


def scanned_in(frame: RelationFrame, every: int, run: Run, edge: str) -> RelationFrame:
    """The relation as of its last scan; in an epoch, what the last scan before it saw holds until the next one."""
    scanned = floored(frame, every, run.t0)
    if run.memory is None:
        return scanned
    first = None if run.since is None else max(run.t0, run.t0 - (run.t0 - run.since - 1) // every * every)
    return _since_then(scanned, run, edge, None if first is None else at(first))


def _since_then(frame: RelationFrame, run: Run, edge: str, first: Id | None) -> RelationFrame:
    """What the edge has kept holds until the first time in this epoch that the relation is looked at."""
    assert run.memory is not None
    seen = frame
    if first is not None:
        seen = frame.with_interval(greatest(frame.start, first), frame.end)
    df = with_indexes(seen.df.where(le(seen.start, literal(run.last))), flat=frame.flat)
    kept = run.memory.kept(edge)
    if kept is not None and first is not None:
        assert run.since is not None
        old = replace(frame, df=with_indexes(kept, flat=frame.flat).where(col("tt") > run.since))
        df = joined(old.with_interval(old.start, least(old.end, first)).df, df)
    df = run.memory.replace(edge, df)
    return replace(seen, df=df, coalesced=False)


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


def _at_batches(frame: RelationFrame, stream: StreamFrame, run: Run, edge: str) -> RelationFrame:
    """f = τ ∘ τ⁻¹: from and to go up to the next batch of the stream; before its first one f is (t0, 0)."""
    zero = long(0)
    batches = stream.df.select("t", stream.batch.index.alias("i")).distinct()
    if run.since is None or run.since < run.t0:
        first = stream.df.sparkSession.range(1).select(long(run.t0).alias("t"), zero.alias("i"))
        batches = batches.union(first)
    elif run.memory is not None:
        batches = run.shared(batches)
    table = batches.select("t", "i", F.struct("t", "i").alias("_batch"))
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
    moved = replace(moved, df=moved.df.drop("_s", "_e"), coalesced=False)
    if run.memory is None:
        return moved
    if run.since is None:
        return _since_then(moved, run, edge, None)
    found = batches.agg(F.min(F.struct("t", "i")).alias("first")).collect()[0].first
    looked = BatchId(Instant(NEVER), 0) if found is None else BatchId(Instant(found.t), found.i)
    return _since_then(moved, run, edge, literal(looked))


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
