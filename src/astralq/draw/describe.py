"""From queries and their data to a scene: what a picture of them shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from astralq.algebra.base import Operator
from astralq.draw.clock import Clock, round_step
from astralq.draw.collect import Collector
from astralq.draw.limits import ends, evaluations_end, listed, readable, received
from astralq.draw.scene import DotLane, Scene
from astralq.draw.words import shortened
from astralq.model.run import Run, prepare
from astralq.model.sources import Data
from astralq.timeline import Instant


@dataclass(frozen=True)
class Shown:
    """A query to draw: its operator and text, its data, and what START AT and --until say."""

    operator: Operator
    text: str
    data: Data
    t0: Instant | None = None
    until: Instant | None = None


def describe(queries: Sequence[Shown]) -> Scene:
    """All queries above each other, on one time axis: the last stretch of it that can be read and has answers."""
    scene = _described(queries)
    last = _last_answer(scene)
    shown = readable(scene)
    if last is None or any(lane.dots for lane in _answers(shown)):
        return shown
    end = min(scene.end, Instant(last + round_step((shown.end - shown.start) // 8)))
    earlier = [replace(q, until=_least((q.until, end))) for q in queries]
    note = f"what is after {Clock(scene.start, end).text(end)}, up to {Clock(scene.start, scene.end).text(scene.end)}"
    ended = _described(earlier)
    return readable(replace(ended, notes=(f"{note}: it has no answers", *scene.notes)))


def _answers(scene: Scene) -> list[DotLane]:
    return [lane for p in scene.panels for lane in p.lanes if isinstance(lane, DotLane) and lane.is_answer]


def _last_answer(scene: Scene) -> Instant | None:
    """The last answer, if all answers are streams."""
    times = [d.t for lane in _answers(scene) for d in lane.dots]
    return max(times) if times and len(_answers(scene)) == len(scene.panels) else None


def _described(queries: Sequence[Shown]) -> Scene:
    found = [ends(q.operator, q.data, q.t0, q.until) for q in queries]
    runs = _runs(queries, _least(end for end, _ in found))
    late = [evaluations_end(q.operator, run.ctx) for q, run in zip(queries, runs, strict=True)]
    if any(end is not None for end, _ in late):
        runs = _runs(queries, _least(end for end, _ in (*found, *late)))
    gone = [n for _, notes in (*found, *late) for n in notes]
    start = min(run.ctx.start.t for run in runs)
    end = max([start, *(run.ctx.end.t for run in runs)])
    clock = Clock(start, end)
    panels = []
    for k, (q, run) in enumerate(zip(queries, runs, strict=True), start=1):
        number = f"{k}   " if len(runs) > 1 else ""
        panels.append(Collector(run, clock).panel(number + shortened(q.text)))
    notes = (f"what is after {clock.text(end)}: {listed(dict.fromkeys(gone))}",) if gone else ()
    return Scene(tuple(panels), start, end, notes)


def _runs(queries: Sequence[Shown], end: Instant | None) -> list[Run]:
    """The queries up to an end."""
    runs = []
    for q in queries:
        until = _least((q.until, end))
        runs.append(prepare(q.operator, received(q.operator, q.data, q.t0, until), q.t0, until))
    return runs


def _least(ends: Iterable[Instant | None]) -> Instant | None:
    return min((e for e in ends if e is not None), default=None)
