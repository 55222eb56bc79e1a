"""D_c^f moves intervals: a row is seen where f looks at a state that holds it (001 D21, D22)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from astralq.algebra.domain import AtInstant, Custom, Domain, Floor, LastBatchOf, Shift
from astralq.algebra.ticks import Tick
from astralq.errors import PlanError
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import col, columns, lit, long
from astralq.plan.encoding.batches import ALWAYS, NEVER, Id, at, choose, greatest, le, least, literal, lt
from astralq.plan.encoding.scan import asof_forward
from astralq.plan.encoding.tables import RelationTable, StreamTable
from astralq.plan.operators.relational import united
from astralq.plan.run import Run
from astralq.plan.state.epochs import clip_to_epoch, described, relation_of, with_indexes
from astralq.plan.table import ONE_ROW, Assumed, Table, Values
from astralq.plan.windows.arithmetic import quotient_up
from astralq.timeline import LAST_INDEX, BatchId, Instant

Intervals = Sequence[tuple[Instant, Instant | None]]


def domain(
    op: Domain, relation: RelationTable, other: StreamTable | None, run: Run, *, name: str = ""
) -> RelationTable:
    """The relation's past as its present; in an epoch, what is left of the past is in a state table."""
    return clip_to_epoch(_moved(op, relation, other, run, name), run)


def _moved(op: Domain, relation: RelationTable, other: StreamTable | None, run: Run, name: str) -> RelationTable:
    match op.transform_:
        case AtInstant(instant):
            moment = run.start_instant if instant is None else instant
            here = literal(BatchId(moment, 0))
            held = relation.rows.where(le(relation.start, here) & lt(here, relation.end) & lit(moment <= run.end))
            always = replace(relation, rows=held).with_interval(at(ALWAYS), at(NEVER))
            if run.state is not None and moment <= run.end:
                always = replace(always, rows=run.state.replace(name, always.rows))
                run.state.put(f"relation {name}", described(always))
            return _fixed(op, always, moment)
        case Shift(by):
            if by > 0 and run.state is not None:
                relation = _with_past(relation, run, name, lambda w: Instant(w - by))
            moved = (
                relation
                if by == 0
                else relation.with_interval(
                    relation.start.moved(by),
                    relation.end.moved(by),
                    lifetime=relation.lifetime,
                    append_only=relation.append_only,
                )
            )
            return moved if op.during is None else _during(moved, op.during)
        case Floor(every):
            scanned = scanned_in(relation, every, run, name)
            return _during(scanned, op.during if op.during is not None else ((run.t0, None),))
        case LastBatchOf():
            assert other is not None
            return _at_batches(relation, other, run, name)
        case Custom():
            if run.state is not None:
                f = op.transform_.f
                relation = _with_past(relation, run, name, lambda w: f(BatchId(w, LAST_INDEX)).t)
            return _custom(op, relation, run)
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


def seen_at(op: Domain, relation: RelationTable, moment: BatchId, run: Run) -> RelationTable:
    """The child's rows at the state that is looked at as the relation's at the moment; none where c does not hold."""
    during: Intervals | None = op.during
    if during is None and isinstance(op.transform_, AtInstant):
        during = ((run.start_instant if op.transform_.at is None else op.transform_.at, None),)
    elif during is None and isinstance(op.transform_, Floor):
        during = ((run.t0, None),)
    if during is not None and not any(a <= moment.t and (b is None or moment.t < b) for a, b in during):
        relation = replace(relation, rows=relation.rows.where(lit(False)))
    return relation.with_interval(at(moment.t), at(NEVER), append_only=True, pane_aligned=True)


def _fixed(op: Domain, always: RelationTable, moment: Instant) -> RelationTable:
    return _during(always, op.during if op.during is not None else ((moment, None),))


def fixed_before(op: Domain, run: Run, name: str) -> RelationTable | None:
    """A relation that was fixed in an epoch before this one; None if it has not been yet."""
    if run.state is None or not isinstance(op.transform_, AtInstant) or f"relation {name}" not in run.state.metadata:
        return None
    kept = run.state.get(name)
    assert kept is not None
    moment = run.start_instant if op.transform_.at is None else op.transform_.at
    always = relation_of(run.state.metadata[f"relation {name}"], run.state.replace(name, kept), op.schema)
    return clip_to_epoch(_fixed(op, always, moment), run)


def _with_past(relation: RelationTable, run: Run, name: str, seen_at: Callable[[Instant], Instant]) -> RelationTable:
    """The relation's rows with those of epochs before, as far back as it will still be looked at.

    What an epoch adds is cut at its ends, so that the pieces of one row touch.
    """
    assert run.state is not None
    start = relation.start
    if run.since is not None:
        start = choose(relation.start.t > run.since, relation.start, at(run.since + 1))
    new = relation.with_interval(start, least(relation.end, at(run.end + 1)))
    rows = with_indexes(run.state.append(name, new.rows), one_batch=new.one_batch)
    kept = [c for c in rows.columns if c not in new.interval_columns]
    bound = seen_at(run.end)
    run.state.compact(name, united(rows.where(col("tt") >= bound), kept, one_batch=new.one_batch))
    return replace(new, rows=rows, coalesced=False)


def floored(relation: RelationTable, every: int, t0: Instant) -> RelationTable:
    """What holds at t0 + k·every, from there to the next: from and to go up to the next such instant."""

    def up(b: Id) -> Id:
        # A batch after the first of an instant is seen by the next scan.
        later = b.t if b.i is None else F.when(b.i > 0, b.t + 1).otherwise(b.t)
        k = F.greatest(quotient_up(later - lit(t0), every), lit(0))
        return Id(F.when((b.t == NEVER) | (b.t == ALWAYS), b.t).otherwise(k * lit(every) + lit(t0)))

    return replace(
        relation.with_interval(up(relation.start), up(relation.end), append_only=relation.append_only), coalesced=False
    )


def scanned_in(relation: RelationTable, every: int, run: Run, name: str) -> RelationTable:
    """The relation as of its last scan; in an epoch, what the last scan before it saw holds until the next one."""
    scanned = floored(relation, every, run.t0)
    if run.state is None:
        return scanned
    first = None if run.since is None else max(run.t0, run.t0 - (run.t0 - run.since - 1) // every * every)
    return _since_then(scanned, run, name, None if first is None else at(first))


def _since_then(relation: RelationTable, run: Run, name: str, first: Id | None) -> RelationTable:
    """What the state table has holds until the first time in this epoch that the relation is looked at."""
    assert run.state is not None
    seen = relation
    if first is not None:
        seen = relation.with_interval(greatest(relation.start, first), relation.end)
    rows = with_indexes(seen.rows.where(le(seen.start, literal(run.last))), one_batch=relation.one_batch)
    kept = run.state.get(name)
    if kept is not None and first is not None:
        assert run.since is not None
        old = replace(relation, rows=with_indexes(kept, one_batch=relation.one_batch).where(col("tt") > run.since))
        rows = old.with_interval(old.start, least(old.end, first)).rows.union(rows, missing=True)
    return replace(seen, rows=run.state.replace(name, rows), coalesced=False)


def _during(relation: RelationTable, during: Intervals) -> RelationTable:
    """Only in half-open intervals [from, to) of instants, merged first where they overlap."""
    merged: list[tuple[int, int]] = []
    for a, b in sorted((int(a), NEVER if b is None else int(b)) for a, b in during):
        if merged and a <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], b))
        else:
            merged.append((a, b))
    if len(merged) == 1:
        a, b = merged[0]
        return relation.with_interval(
            greatest(relation.start, at(a)), least(relation.end, at(b)), append_only=relation.append_only and b == NEVER
        )
    parts = F.array(*(F.struct(lit(a).alias("a"), lit(b).alias("b")) for a, b in merged))
    exploded = replace(relation, rows=relation.rows.with_column("_during", F.explode(parts)))
    clipped = exploded.with_interval(
        greatest(relation.start, at(col("_during.a"))), least(relation.end, at(col("_during.b")))
    )
    return replace(clipped, rows=clipped.rows.drop("_during"))


def _at_batches(relation: RelationTable, stream: StreamTable, run: Run, name: str) -> RelationTable:
    """f = τ ∘ τ⁻¹: from and to go up to the next batch of the stream; before its first one f is (t0, 0)."""
    zero = long(0)
    batches: Table = stream.rows.select("t", stream.batch.index.alias("i")).distinct()
    if run.since is None or run.since < run.t0:
        batches = batches.union(ONE_ROW.select(long(run.t0).alias("t"), zero.alias("i")))
    elif run.state is not None:
        batches = run.materialized(batches)
    table = batches.select("t", "i", F.struct("t", "i").alias("_batch"))
    rows = relation.rows
    for end, b in {"_s": relation.start, "_e": relation.end}.items():
        probes = rows.with_columns({"t": b.t, "i": b.index})
        looked_up = asof_forward(probes, table, keys=[], at=["t", "i"], payload="_batch", cut=run.time_cut, run=run)
        rows = looked_up.select(*columns(rows.columns), col("_batch_found").alias(end))
    one_batch = relation.one_batch and stream.one_batch

    def reached(end: str) -> Id:
        t = F.coalesce(col(f"{end}.t"), lit(NEVER))
        return Id(t, None if one_batch else F.coalesce(col(f"{end}.i"), zero))

    moved = replace(relation, rows=rows).with_interval(reached("_s"), reached("_e"))
    moved = replace(moved, rows=moved.rows.drop("_s", "_e"), coalesced=False)
    if run.state is None:
        return moved
    if run.since is None:
        return _since_then(moved, run, name, None)
    return _from_first_batch(moved, batches, run, name)


def _from_first_batch(moved: RelationTable, batches: Table, run: Run, name: str) -> RelationTable:
    """In an epoch the relation is looked at from the stream's first batch in it on."""
    least = F.min(F.struct("t", "i"))
    measured = run.measure(batches.agg(least["t"].alias("first"), least["i"].alias("index")))
    if measured is None:
        moved = replace(moved, rows=Assumed(moved.rows))
    first = None if measured is None else measured[0]["first"]
    looked = BatchId(Instant(NEVER), 0)
    if measured is not None and first is not None:
        looked = BatchId(Instant(first), measured[0]["index"])
    return _since_then(moved, run, name, literal(looked))


def _custom(op: Domain, relation: RelationTable, run: Run) -> RelationTable:
    """A user's f: its generalised inverse, a Python function, is asked once for each point at which the relation
    changes. Only these points come to the driver, never tuples."""
    assert isinstance(op.transform_, Custom)
    ends = [(relation.start.t, relation.start.index), (relation.end.t, relation.end.index)]
    both = [relation.rows.select(t.alias("t"), i.alias("i")) for t, i in ends]
    points = run.measure(both[0].union(both[1]).distinct())
    inverse = [_inverse_at(op, op.transform_, p["t"], p["i"]) for p in points or ()]
    table = Values(tuple(inverse), tuple((n, "bigint") for n in ("_t", "_i", "_x", "_y")))
    rows = relation.rows if points is not None else Assumed(relation.rows)
    for name, (t, i) in zip(("_s", "_e"), ends, strict=True):
        joined = rows.join(table, (t == col("_t")) & (i == col("_i")), broadcast=True)
        rows = joined.select(*columns(rows.columns), F.struct(col("_x").alias("t"), col("_y").alias("i")).alias(name))
    start, end = (Id(col(f"{n}.t"), col(f"{n}.i")) for n in ("_s", "_e"))
    moved = replace(relation, rows=rows).with_interval(start, end)
    result = replace(moved, rows=moved.rows.drop("_s", "_e"), coalesced=False)
    return result if op.during is None else _during(result, op.during)


def _inverse_at(op: Domain, custom: Custom, t: int, i: int) -> tuple[int, int, int, int]:
    """A point, and the first batch identifier at which f looks at it or at a later one."""
    if t in (ALWAYS, NEVER):
        return t, i, t, 0
    b = BatchId(Instant(t), i)
    first = custom.inverse(b)
    if first is not None and first < b:
        raise PlanError(f"{op.label}: f{first} = {custom.f(first)} is in the future", hint="f(t, i) ≤ (t, i)")
    return (t, i, NEVER, 0) if first is None else (t, i, first.t, first.i)


def ticked(op: Tick, relation: RelationTable) -> RelationTable:
    """What holds at the end of each tick, from its beginning on: both ends go down to the tick."""

    def down(b: Id) -> Id:
        finite = (b.t > ALWAYS) & (b.t < NEVER)
        return Id(F.when(finite, b.t - F.pmod(b.t, lit(op.period))).otherwise(b.t))

    return replace(
        relation.with_interval(down(relation.start), down(relation.end), append_only=relation.append_only),
        coalesced=False,
    )


def held_at(relation: RelationTable, moment: BatchId) -> RelationTable:
    """The rows that hold at a batch identifier, from it on: one state, however long the history is."""
    here = literal(moment)
    held = relation.rows.where(le(relation.start, here) & lt(here, relation.end))
    fixed = replace(relation, rows=held).with_interval(at(moment.t), at(NEVER), append_only=True, pane_aligned=True)
    return replace(fixed, coalesced=relation.ordered)
