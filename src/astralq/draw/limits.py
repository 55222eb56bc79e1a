"""How much a picture can show: it ends before the model would work for ever, and leaves out what nobody could read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from astralq.algebra.base import Operator
from astralq.algebra.schedules import Measure, Periodic, TimeOfDay
from astralq.algebra.sources import SensedSource, StartedAt, StreamSource
from astralq.algebra.windows import Window
from astralq.draw.clock import SECOND, Clock, round_step
from astralq.draw.scene import BarLane, CountLane, DotLane, Lane, Scene, Span, SpanLane
from astralq.draw.words import several
from astralq.errors import DataError
from astralq.io.progress import Stamped, WithHeartbeats
from astralq.model.sources import Data, receive
from astralq.model.values import Context, Stream, StreamTuple
from astralq.timeline import Instant

TUPLES = 5_000
"""The model computes what a picture shows, and takes seconds for so many tuples."""

EVALUATIONS = 20_000
INSTANTS = 120
"""So many different timestamps of a stream can be told apart on the axis."""

BARS = 40
OVERLAPS = 10
LINES = 24
PARTS = 8
PERIODS = 120
"""So many periods tuples are counted in, where they are too many to be told apart."""


def ends(query: Operator, data: Data, t0: Instant | None, until: Instant | None) -> tuple[Instant | None, list[str]]:
    """Where a picture has to end for the model to compute it: what comes later changes nothing before it. And what is
    left out by that, in words."""
    end, notes = until, []
    for op in query.walk():
        match op:
            case StreamSource() if op.name in data:
                times = [s.t for s in _kept(op, query, data, t0, until)]
                if len(times) > TUPLES:
                    last = _before(times, op)
                    end = last if end is None else min(end, last)
                    notes.append(f"{sum(t > last for t in times):,} of {len(times):,} tuples of {op.name}")
            case SensedSource() if t0 is not None and until is not None:
                ticks = max(1, TUPLES // op.size)
                if (until - t0) // op.every + 1 > ticks:
                    last = Instant(t0 + (ticks - 1) * op.every)
                    end = last if end is None else min(end, last)
                    count = ((until - t0) // op.every + 1) * op.size
                    notes.append(f"{count - ticks * op.size:,} of {count:,} tuples of {op.name}")
    return end, notes


def _before(times: Sequence[Instant], op: StreamSource) -> Instant:
    """The last instant up to which there are not too many."""
    fitting = [t for t in times[:TUPLES] if t < times[TUPLES]]
    if not fitting:
        raise DataError(
            f"the stream {op.name} has {several(len(times), 'tuple')}, all of them at once, more than the "
            f"{TUPLES:,} that a picture is computed from",
            hint="draw fewer of them: FROM (SELECT * FROM … WHERE …)",
        )
    return fitting[-1]


def _kept(
    op: StreamSource, query: Operator, data: Data, t0: Instant | None, until: Instant | None
) -> list[StreamTuple]:
    """The tuples that matter: what comes after the end changes nothing before it, what comes before t0 is not looked
    at."""
    own_start = any(isinstance(o, StartedAt) for o in query.walk())
    stream = receive(op, data[op.name])  # type: ignore[arg-type]
    kept = [s for s in stream.tuples if until is None or s.t <= until]
    return kept if t0 is None or own_start else [s for s in kept if s.t >= t0]


def received(query: Operator, data: Data, t0: Instant | None, until: Instant | None) -> Data:
    """The data that matter up to an end."""
    found: dict[str, Any] = dict(data)
    for op in query.walk():
        if isinstance(op, StreamSource) and op.name in data:
            kept, given = _kept(op, query, data, t0, until), data[op.name]
            found[op.name] = Stream.of((s.batch, s.values) for s in kept)
            if isinstance(given, WithHeartbeats):
                rows = Stamped(tuple((s.t, s.i, s.values) for s in kept))
                found[op.name] = WithHeartbeats(rows, given.heartbeats)
    return found


def evaluations_end(query: Operator, ctx: Context) -> tuple[Instant | None, list[str]]:
    """Where a picture has to end because windows move so often, and what is left out by that."""
    end: Instant | None = None
    notes: list[str] = []
    for op in query.walk():
        if not isinstance(op, Window):
            continue
        schedule = op.spec.schedule
        rates = []
        if isinstance(schedule, Periodic) and schedule.measure is Measure.TIME:
            rates = [schedule.every]
        elif isinstance(schedule, TimeOfDay):
            rates = [schedule.inside, schedule.outside]
        for rate in rates:
            count = (ctx.end.t - ctx.start.t) // rate
            if count > EVALUATIONS:
                last = Instant(ctx.start.t + EVALUATIONS * rate)
                end = last if end is None else min(end, last)
                notes.append(f"{count - EVALUATIONS:,} of {count:,} evaluations of {op.spec}")
    return end, notes


def readable(scene: Scene) -> Scene:
    """The scene without what nobody could read, and with words that say what that is."""
    notes: list[str] = []
    start = max([scene.start, *(_first_instant(lane) for p in scene.panels for lane in p.lanes)])
    if start > scene.start:
        if scene.end - start > 100 * SECOND:
            start = max(scene.start, Instant(start - start % SECOND))  # a rounder beginning
        gone = dict.fromkeys(_missing([(lane, _from(lane, start)) for p in scene.panels for lane in p.lanes]))
        notes.append(f"what was before {Clock(start, scene.end).text(start)}: {listed(gone)}")
    panels = tuple(
        replace(
            p,
            lanes=tuple(
                _few_parts([_counted(_thinned(_from(n, start), notes), start, scene.end) for n in p.lanes], notes)
            ),
        )
        for p in scene.panels
    )
    return Scene(panels, start, scene.end, (*scene.notes, *dict.fromkeys(notes)))


def _missing(cut: Sequence[tuple[Lane, Lane]]) -> Iterator[str]:
    """How much of each lane is left out; the parts of a window, and a stream that several queries read, count once."""
    counts: dict[str, list[int]] = {}
    for lane, kept in cut:
        what = {BarLane: "windows", SpanLane: "rows"}.get(type(lane), "tuples")
        key = f"{what} of {_called(lane)}"
        is_part = isinstance(lane, BarLane) and lane.part is not None
        all_, left = counts.get(key, [0, 0]) if is_part else (0, 0)
        counts[key] = [all_ + _count(lane), left + _count(kept)]
    return (f"{all_ - left:,} of {all_:,} {what}" for what, (all_, left) in counts.items() if left < all_)


def _count(lane: Lane) -> int:
    match lane:
        case DotLane():
            return len(lane.dots)
        case BarLane():
            return len(lane.bars)
        case SpanLane():
            return len(lane.spans)
        case CountLane():
            return sum(n for _, n in lane.counts)


def _first_instant(lane: Lane) -> Instant:
    """From where on a lane can be read: its answers, evaluations or rows can be told apart. Tuples that a query reads
    are counted where they cannot, so that its windows and answers are seen."""
    match lane:
        case DotLane() if lane.is_answer:
            times, most = sorted({d.t for d in lane.dots}), INSTANTS
        case DotLane() | CountLane():
            times, most = [], INSTANTS
        case BarLane():
            times, most = [b.at for b in lane.bars], BARS
        case SpanLane():
            # Rows with one φ are in one line, and need no further room.
            times, most = sorted({s.line: s.start for s in lane.spans}.values()), LINES
    return times[-most] if len(times) > most else Instant(-(2**62))


def _from(lane: Lane, start: Instant) -> Lane:
    """What of a lane is seen from an instant on."""
    match lane:
        case DotLane():
            dots = tuple(d for d in lane.dots if d.t >= start)
            return replace(lane, dots=dots, before=len(lane.dots) - len(dots))
        case BarLane():
            return replace(lane, bars=tuple(b for b in lane.bars if b.at >= start or b.until is None))
        case SpanLane():
            spans = _in_lines(s for s in lane.spans if s.end is None or s.end >= start)
            return replace(lane, spans=spans, before=len(lane.spans) - len(spans))
        case CountLane():
            return lane


def _counted(lane: Lane, start: Instant, end: Instant) -> Lane:
    """A lane of tuples that cannot be told apart as their numbers in periods of a round length."""
    if not isinstance(lane, DotLane) or lane.is_answer or len({d.t for d in lane.dots}) <= INSTANTS:
        return lane
    every = round_step((end - start) // PERIODS + 1)
    counts = Counter(Instant(d.t - d.t % every) for d in lane.dots)
    return CountLane(lane.name, lane.columns, tuple(sorted(counts.items())), every, lane.before)


def _thinned(lane: Lane, notes: list[str]) -> Lane:
    """A lane that is not too high."""
    if isinstance(lane, BarLane):
        kept = lane.bars[-BARS:]
        while _overlaps(kept) > OVERLAPS:
            kept = kept[1:]
        if len(kept) < len(lane.bars):
            part = "" if lane.part is None else f" for {lane.part}"
            gone = len(lane.bars) - len(kept)
            notes.append(f"{gone:,} of {len(lane.bars):,} windows of {lane.name}{part}, all but the last")
        return replace(lane, bars=kept)
    if isinstance(lane, SpanLane):
        last: dict[int, tuple[bool, Instant]] = {}
        for s in lane.spans:
            last[s.line] = max(last.get(s.line, (False, s.start)), (s.end is None, s.start))
        if len(last) > LINES:
            newest = set(sorted(last, key=lambda k: last[k])[-LINES:])
            kept_spans = tuple(s for s in lane.spans if s.line in newest)
            gone = len(lane.spans) - len(kept_spans)
            notes.append(f"{gone:,} of {len(lane.spans):,} rows of {_called(lane)}, all but those that came last")
            return replace(lane, spans=_in_lines(kept_spans))
    return lane


def _called(lane: Lane) -> str:
    return "the answer" if isinstance(lane, DotLane | SpanLane) and lane.is_answer else lane.name


def _in_lines(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The spans with lines that have no gaps."""
    kept = list(spans)
    order = {line: k for k, line in enumerate(sorted({s.line for s in kept}))}
    return tuple(replace(s, line=order[s.line]) for s in kept)


def _overlaps(bars: Iterable[Any]) -> int:
    """How many bars lie above one another at most."""
    edges = []
    for b in bars:
        first = b.at if b.start is None else min(b.start, b.at)
        last = b.until if b.until is not None else Instant(2**62)
        edges += [(first, 1), (last, -1)]
    deepest = depth = 0
    for _, step in sorted(edges):
        depth += step
        deepest = max(deepest, depth)
    return deepest


def _few_parts(lanes: list[Lane], notes: list[str]) -> list[Lane]:
    """The first parts of a partitioned window."""
    kept: list[Lane] = []
    counts: dict[str, int] = {}
    for lane in lanes:
        if isinstance(lane, BarLane) and lane.part is not None:
            counts[lane.name] = counts.get(lane.name, 0) + 1
            if counts[lane.name] > PARTS:
                continue
        kept.append(lane)
    notes += [f"{n - PARTS} of {n} parts of {name}, all but the first" for name, n in counts.items() if n > PARTS]
    return kept


def listed(texts: Iterable[str]) -> str:
    """Texts in one sentence."""
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last
