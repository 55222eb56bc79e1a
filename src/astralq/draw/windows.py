"""Windows as bars: each evaluation of the model's windows, what it spans in time, and which tuples are held."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from astralq.algebra.schedules import Continuous, Measure
from astralq.algebra.sneeql import RowWindows, TimeWindows
from astralq.draw.scene import Bar, Held
from astralq.model.values import Context, Stream, StreamTuple, WindowAt
from astralq.model.windows import Evaluation, Windows
from astralq.timeline import Instant

Keeps = Callable[[StreamTuple], bool]
"""Whether a window keeps a tuple of its scope: a stationary window keeps those inside its region."""


@dataclass
class Seen:
    """What one sequence of windows shows: its bars, and the positions that it held ever and holds at the end."""

    bars: tuple[Bar, ...] = ()
    ever: set[int] = field(default_factory=set)
    now: set[int] = field(default_factory=set)


@dataclass
class _State:
    """An evaluation, when it shows, and the tuples that it held at that instant."""

    evaluation: Evaluation
    at: Instant
    tuples: Sequence[StreamTuple]


def seen(windows: Windows, ctx: Context, keeps: Keeps | None = None) -> Seen:
    """The evaluations that a run observes of the windows of one part."""
    found = Seen()
    states: list[_State] = []
    points = sorted({ctx.start} | windows.changes(ctx.start, ctx.end)) if ctx.start <= ctx.end else []
    for b in points:
        evaluation = windows.evaluation(windows.undelayed(b))
        if evaluation is None:
            continue
        tuples = [s for s in windows.at(b) if keeps is None or keeps(s)]
        found.ever |= {s.n for s in tuples}
        found.now = {s.n for s in tuples}
        on_time = windows.spec.schedule.measure is Measure.TIME
        at = Instant(evaluation.value + windows.spec.delay) if on_time else b.t
        if states and states[-1].evaluation.value == evaluation.value:
            if b.t == states[-1].at:  # a further batch of the instant of the evaluation
                states[-1].tuples = tuples
        elif at >= ctx.start.t or tuples:
            states.append(_State(evaluation, at, tuples))
    bars = []
    for state, following in pairwise([*states, None]):
        assert state is not None
        start, end = _spanned(windows, state)
        if start == end and not state.tuples and isinstance(windows.spec.schedule, Continuous):
            continue  # [NOW], a chronon after its tuples have gone
        bars.append(Bar(state.at, start, end, None if following is None else following.at, len(state.tuples)))
    found.bars = tuple(bars)
    return found


def _spanned(windows: Windows, state: _State) -> tuple[Instant | None, Instant | None]:
    if windows.spec.scope.measure is Measure.TIME:
        lo, hi = windows.bounds(state.evaluation)
        return (None, None) if lo is None or hi is None else (Instant(lo), Instant(hi))
    return _from_oldest_to_newest(s.t for s in state.tuples)


def _from_oldest_to_newest(times: Iterable[Instant]) -> tuple[Instant | None, Instant | None]:
    known = list(times)
    return (min(known), max(known)) if known else (None, None)


def seen_at_ticks(op: TimeWindows | RowWindows, windows: list[WindowAt], ctx: Context) -> Seen:
    """SNEEql's windows, one or several at each tick (003 §6.2)."""
    found = Seen()
    observed = [w for w in windows if ctx.start.t <= w.tick <= ctx.end.t]
    last = max((w.tick for w in observed), default=None)
    bars = []
    for k, w in enumerate(observed):
        stamps = [r.stamp for r in w.rows if r.stamp is not None]
        positions = {n for _, _, n in stamps if isinstance(n, int)}
        found.ever |= positions
        found.now |= positions if w.tick == last else set()
        if isinstance(op, TimeWindows):
            start, end = Instant(w.tick - op.start), Instant(w.tick - op.end)
            span: tuple[Instant | None, Instant | None] = (start, end)
        else:
            span = _from_oldest_to_newest(Instant(t) for t, _, _ in stamps if isinstance(t, int))
        until = next((o.tick for o in observed[k + 1 :] if o.tick > w.tick), None)
        bars.append(Bar(w.tick, *span, until, len(w.rows)))
    found.bars = tuple(bars)
    return found


def held(stream: Stream, of_parts: Iterable[Seen]) -> dict[int, Held]:
    """What has become of each position of a stream."""
    parts = list(of_parts)
    now: set[int] = set().union(*(p.now for p in parts))
    ever: set[int] = set().union(*(p.ever for p in parts))
    return {s.n: Held.NOW if s.n in now else Held.BEFORE if s.n in ever else Held.NEVER for s in stream.tuples}


def part_name(windows: Windows, names: Sequence[str]) -> str | None:
    """The values that the tuples of a part share."""
    if not names or not windows.tuples:
        return None
    values = windows.tuples[0].values
    return ", ".join(f"{n} = {values[windows.schema.index(n)]!s}" for n in names)
