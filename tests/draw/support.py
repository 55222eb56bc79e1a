"""What the tests of pictures share: scenes of small queries, and their marks in a form that reads well."""

from __future__ import annotations

from typing import Any

from astralq.algebra.base import HasOperator
from astralq.draw import picture
from astralq.draw.scene import Bar, BarLane, DotLane, Lane, Panel, Scene, Span, SpanLane
from astralq.model import Data
from tests.support import Seconds, sec, seconds


def scene(*queries: HasOperator, data: Data, t0: Seconds | None = None, until: Seconds | None = None) -> Scene:
    start, end = (None if t is None else sec(t) for t in (t0, until))
    return picture(list(queries), data, start_at=start, until=end).scene


def panel(query: HasOperator, data: Data, **more: Any) -> Panel:
    return scene(query, data=data, **more).panels[0]


def held(shown: Panel, number: int = 0) -> list[tuple[str, str]]:
    """The tuples of a lane: values, and what has become of them."""
    found = shown.lanes[number]
    assert isinstance(found, DotLane)
    return [(d.label, d.held.name) for d in found.dots]


def labels(shown: Lane) -> list[str]:
    assert isinstance(shown, DotLane)
    return [d.label for d in shown.dots]


def bars(shown: Panel, number: int = 1) -> list[tuple[Any, ...]]:
    """The windows of a lane in seconds: (at, start, end, until, count)."""
    found = shown.lanes[number]
    assert isinstance(found, BarLane)
    return [_bar(b) for b in found.bars]


def _bar(b: Bar) -> tuple[Any, ...]:
    return (*(None if t is None else seconds(t) for t in (b.at, b.start, b.end, b.until)), b.count)


def spans(shown: Lane) -> list[tuple[Any, ...]]:
    """The rows of a lane: (line, start, end, values)."""
    assert isinstance(shown, SpanLane)
    return [_span(s) for s in shown.spans]


def _span(s: Span) -> tuple[Any, ...]:
    return (s.line, seconds(s.start), None if s.end is None else seconds(s.end), s.label)
