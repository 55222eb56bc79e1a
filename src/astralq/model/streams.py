"""The meaning of streamers, spread and the unary operators on streams (001 §5.1, §5.3.1, §5.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from astralq.algebra.explode import Explode
from astralq.algebra.relational import Project, Rename, Select
from astralq.algebra.schedules import Measure, Periodic
from astralq.algebra.stream_ops import Spread
from astralq.algebra.streamers import DStream, Identity, IStream, RStream
from astralq.algebra.ticks import Tick
from astralq.expr.evaluate import condition, evaluator
from astralq.expr.order import OrderKey, row_key
from astralq.model.relations import Rows, elements, take_out
from astralq.model.values import Context, Relation, Stream, StreamTuple, TupleSet
from astralq.timeline import BatchId, Instant

Streamer = IStream | DStream | RStream


def stamp(emitted: Iterable[tuple[BatchId, Rows]]) -> Stream:
    """Ψ: t and i are the moment of emission, the position a counter, the order the relation's (001 D23, 002 D12)."""
    return Stream.of((b, r.values) for b, rows in emitted for r in rows)


def states(relation: Relation, ctx: Context) -> Iterator[tuple[BatchId, TupleSet]]:
    """The states that a run observes: at its start, and wherever the relation can change."""
    if ctx.start <= ctx.end:
        for b in sorted({ctx.start} | relation.changes(ctx.start, ctx.end)):
            yield b, relation.at(b)


def stream_of(op: Streamer, relation: Relation, ctx: Context) -> Stream:
    """I_S, D_S and R_S. What holds before the first observed instant is reported there."""
    observed = states(relation, ctx) if op.every is None else _periodic(op, relation, ctx)
    emitted = []
    before: TupleSet = ()
    for b, now in observed:
        emitted.append((b, _emits(op, before, now)))
        before = now
    return stamp(emitted)


def _periodic(op: Streamer, relation: Relation, ctx: Context) -> Iterator[tuple[BatchId, TupleSet]]:
    """The states R(t, 0) for t − t0 ∈ rℕ (001 D25)."""
    assert op.every is not None
    for t in Periodic(Measure.TIME, 0, op.every).between(ctx.t0, ctx.start.t, ctx.end.t):
        b = BatchId(t, 0)
        if ctx.start <= b:
            yield b, relation.at(b)


def _emits(op: Streamer, before: TupleSet, now: TupleSet) -> Rows:
    """What is emitted between one observed state and the next."""
    match op:
        case IStream():
            return difference(now, before, op.identity)
        case DStream():
            return difference(before, now, op.identity)
        case RStream(on_insert=True):
            return now if difference(now, before, Identity.PHI) else ()
        case RStream(every=None):
            return now if [r.identity for r in now] != [r.identity for r in before] else ()
    return now


def difference(a: Rows, b: Rows, identity: Identity) -> Rows:
    """The rows of a that are not in b, in a's order."""
    if identity is Identity.PHI:
        there = {r.identity for r in b}
        return [r for r in a if r.identity not in there]
    bag: Counter[OrderKey] = Counter(row_key(r.values) for r in b)
    return take_out(a, bag)[1]


def unary_on_stream(op: Select | Project | Rename, stream: Stream) -> Stream:
    """σ, Π and ρ on a stream: batches stay, positions are numbered anew (001 D30)."""
    tuples: Iterable[tuple[BatchId, StreamTuple]] = ((s.batch, s) for s in stream.tuples)
    readable = op.child.readable
    match op:
        case Select():
            keeps = condition(op.condition, readable)
            return Stream.of((b, s.values) for b, s in tuples if keeps((*s.values, *s.stamp)))
        case Project():
            items = [evaluator(e, readable) for _, e in op.items]
            return Stream.of((b, tuple(f((*s.values, *s.stamp)) for f in items)) for b, s in tuples)
        case Rename():
            return stream


def explode(op: Explode, stream: Stream) -> Stream:
    """Each tuple once for each element, in its batch; positions are numbered anew."""
    found = elements(op)
    return Stream.of((s.batch, s.values + new) for s in stream.tuples for _, new in found((*s.values, *s.stamp)))


def ticked(op: Tick, stream: Stream) -> Stream:
    """The tuples of a tick as one batch at its beginning."""
    return Stream.of((BatchId(Instant(s.t - s.t % op.period), 0), s.values) for s in stream.tuples)


def spread(op: Spread, stream: Stream) -> Stream:
    """▷ and ◁: batches split by the attributes' values, or by position; i is 0, 1, 2, … in an instant (001 D35).

    Positions are numbered anew inside a timestamp, so that they stay coherent with the new batches.
    """
    columns = [op.child.schema.index(name) for name in op.attributes]

    def key(s: StreamTuple) -> tuple[object, ...]:
        by = row_key(tuple(s.values[c] for c in columns)) if columns else (s.n,)
        return (s.t, 0 if op.all else s.i, by)

    index: dict[tuple[object, ...], int] = {}
    counts: Counter[int] = Counter()
    stamped = []
    for s in sorted(stream.tuples, key=lambda s: (key(s), s.n)):
        k = key(s)
        if k not in index:
            index[k] = counts[s.t]
            counts[s.t] += 1
        stamped.append((BatchId(s.t, index[k]), s.values))
    return Stream.of(stamped)
