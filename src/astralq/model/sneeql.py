"""The meaning of SNEEql's streams of windows, after the Haskell definitions of 003 §6.2 and §6.3."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from astralq.algebra.schedules import Measure, Periodic
from astralq.algebra.sneeql import RowWindows, Scan, TimeWindows
from astralq.algebra.streamers import DStream, Identity, IStream, RStream
from astralq.expr.order import order_key
from astralq.model.relations import Rows, product
from astralq.model.streams import difference, stamp
from astralq.model.values import Context, Relation, Row, Stream, StreamTuple, TupleSet, WindowAt
from astralq.timeline import BatchId, Duration, Instant


def _ticks(every: Duration, ctx: Context) -> list[Instant]:
    """The ticks t0 + k·every that a run observes, and the last one before it: it is still the latest then."""
    schedule = Periodic(Measure.TIME, 0, every)
    ticks = list(schedule.between(ctx.t0, ctx.start.t, ctx.end.t))
    before = schedule.last(ctx.t0, Instant(ctx.start.t - 1))
    return [before, *ticks] if before is not None else ticks


def scan(op: Scan, relation: Relation, ctx: Context) -> list[WindowAt]:
    """The whole relation at every tick, after all batches of the tick (003 figure 5)."""
    return [WindowAt(tick, relation.at(BatchId(tick).end_of_instant())) for tick in _ticks(op.every, ctx)]


def _rows(tuples: Iterable[StreamTuple]) -> TupleSet:
    return tuple(Row((order_key(s.n),), s.values, s.stamp) for s in tuples)


def create_time_window(op: TimeWindows, stream: Stream, ctx: Context) -> list[WindowAt]:
    """At every tick, all tuples with tick − start ≤ t ≤ tick − end; it sees all tuples of the tick (003 §6.2)."""
    return [
        WindowAt(tick, _rows(s for s in stream.tuples if tick - op.start <= s.t <= tick - op.end))
        for tick in _ticks(op.slide, ctx)
    ]


def create_row_window(op: RowWindows, stream: Stream) -> list[WindowAt]:
    """After every slide rows, those from index − start to index − end; its tick is the last row's (003 figure 6)."""
    windows = []
    for index in range(op.slide, len(stream.tuples) + 1, op.slide):
        last = stream.tuples[index - 1]
        first = max(1, index - op.start)
        windows.append(WindowAt(last.t, _rows(stream.tuples[first - 1 : max(0, index - op.end)])))
    return windows


def cross_product(left: list[WindowAt], right: list[WindowAt]) -> list[WindowAt]:
    """At every tick of either side, the latest windows of both, all pairs, left-major (003 figure 7)."""
    return [
        WindowAt(max(a.tick, b.tick), tuple(product(a.rows, b.rows)))
        for tick in sorted({w.tick for w in (*left, *right)})
        for a in _latest(left, tick)
        for b in _latest(right, tick)
    ]


def _latest(windows: list[WindowAt], tick: Instant) -> list[WindowAt]:
    """All windows of the last tick at or before a tick; none before the first."""
    last = max((w.tick for w in windows if w.tick <= tick), default=None)
    return [w for w in windows if w.tick == last]


def stream_of_windows(op: IStream | DStream | RStream, windows: list[WindowAt], ctx: Context) -> Stream:
    """rStream, iStream and dStream (003 figure 8): by value, against the window before; i numbers a tick's windows."""
    emitted = []
    before: Rows = ()
    for b, now in numbered(windows, ctx):
        match op:
            case RStream():
                rows: Rows = now
            case IStream():
                rows = difference(now, before, Identity.VALUE)
            case DStream():
                rows = difference(before, now, Identity.VALUE)
        emitted.append((b, rows))
        before = now
    return stamp(emitted)


def numbered(windows: list[WindowAt], ctx: Context) -> list[tuple[BatchId, TupleSet]]:
    """The observed windows with their batch identifiers: i numbers the windows of a tick from 0."""
    return [
        (BatchId(tick, i), w.rows)
        for tick, group in groupby(windows, key=lambda w: w.tick)
        if ctx.start.t <= tick <= ctx.end.t
        for i, w in enumerate(group)
    ]
