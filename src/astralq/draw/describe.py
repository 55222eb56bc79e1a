"""From queries and their data to a scene: what a picture of them shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from astralq.algebra.base import Operator
from astralq.draw.clock import Clock
from astralq.draw.collect import Collector
from astralq.draw.limits import check_evaluations, readable, received
from astralq.draw.scene import Scene
from astralq.draw.words import shortened
from astralq.model.run import prepare
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
    """All queries above each other, on one time axis."""
    runs = []
    for q in queries:
        run = prepare(q.operator, received(q.operator, q.data, q.t0, q.until), q.t0, q.until)
        check_evaluations(q.operator, run.ctx)
        runs.append(run)
    start = min(run.ctx.start.t for run in runs)
    end = max([start, *(run.ctx.end.t for run in runs)])
    clock = Clock(start, end)
    panels = []
    for k, (q, run) in enumerate(zip(queries, runs, strict=True), start=1):
        number = f"{k}   " if len(runs) > 1 else ""
        panels.append(Collector(run, clock).panel(number + shortened(q.text)))
    return readable(Scene(tuple(panels), start, end))
