"""What a picture shows, as plain values: lanes of tuples, windows and rows on one time axis, and maps."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from astralq.space import Region
from astralq.timeline import Duration, Instant


class Held(Enum):
    """What has become of a tuple at the end of the time that is shown."""

    NOW = "held at the end"
    BEFORE = "no longer held"
    NEVER = "in no window so far"
    PLAIN = "a tuple"  # no window is over its stream


@dataclass(frozen=True)
class Dot:
    """A tuple: its timestamp, batch index and position, its values as text, and whether a window holds it."""

    t: Instant
    i: int
    n: int
    label: str
    held: Held = Held.PLAIN


@dataclass(frozen=True)
class Bar:
    """A window: evaluated `at`, shown until the next evaluation, spanning the closed interval [start, end] in time.

    The span is the scope if that is on time, else from the oldest to the newest tuple held; a window that holds nothing
    and has no scope on time spans nothing. Without `until` it is still shown at the end.
    """

    at: Instant
    start: Instant | None
    end: Instant | None
    until: Instant | None
    count: int


@dataclass(frozen=True)
class Span:
    """A row of a relation, valid in [start, end); without an end it still is. Rows with the same φ share a line."""

    line: int
    start: Instant
    end: Instant | None
    label: str


@dataclass(frozen=True)
class DotLane:
    """The tuples of a stream."""

    name: str
    columns: tuple[str, ...]
    dots: tuple[Dot, ...]
    is_answer: bool = False
    before: int = 0
    """How many were before the beginning of the axis, and are left out."""


@dataclass(frozen=True)
class BarLane:
    """The windows of a stream or of one of its parts, in the order of their evaluations."""

    name: str
    bars: tuple[Bar, ...]
    part: str | None = None


@dataclass(frozen=True)
class SpanLane:
    """The rows of a relation."""

    name: str
    columns: tuple[str, ...]
    spans: tuple[Span, ...]
    is_answer: bool = False
    before: int = 0
    """How many were before the beginning of the axis, and are left out."""


@dataclass(frozen=True)
class CountLane:
    """The tuples of a stream that are too many to be told apart: how many there are in each period [t, t + every)."""

    name: str
    columns: tuple[str, ...]
    counts: tuple[tuple[Instant, int], ...]
    every: Duration
    before: int = 0
    """How many were before the beginning of the axis, and are left out."""


Lane = DotLane | BarLane | SpanLane | CountLane


@dataclass(frozen=True)
class Place:
    """Where a tuple is on a map: x and y are longitude and latitude, or metres on a plane."""

    x: float
    y: float
    held: Held


Line = tuple[tuple[float, float], ...]
"""Points that are joined on a map."""


@dataclass(frozen=True)
class Track:
    """An object's way: its places in the order of their positions, and what a window of distance makes of it.

    `stretch` is the part of the way in the scope of the last evaluation, `evaluations` are the points at which the
    distances of the schedule were reached.
    """

    name: str
    places: tuple[Place, ...]
    stretch: Line = ()
    evaluations: Line = ()


@dataclass(frozen=True)
class Map:
    """The places of a stream's tuples, the regions that are asked for, and those tuples that are not asked for."""

    name: str
    x: str
    y: str
    planar: bool
    tracks: tuple[Track, ...]
    others: tuple[Place, ...] = ()
    regions: tuple[Region, ...] = ()


@dataclass(frozen=True)
class Panel:
    """A query: its text, its lanes from the sources to the answer, and its maps."""

    title: str
    lanes: tuple[Lane, ...]
    maps: tuple[Map, ...] = ()


@dataclass(frozen=True)
class Scene:
    """All queries of a picture above each other, on one time axis from start to end, both inclusive."""

    panels: tuple[Panel, ...]
    start: Instant
    end: Instant
    notes: tuple[str, ...] = field(default=())
    """What was left out, in words."""
