"""Maps of located streams: tracks, regions, and the stretch of the way that a window of distance holds (004)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from astralq.algebra.schedules import Measure, Periodic
from astralq.algebra.windows import WindowSpec
from astralq.draw.scene import Held, Line, Map, Place, Track
from astralq.draw.windows import part_name
from astralq.expr.evaluate import condition
from astralq.expr.nodes import Column, Expr, Inside
from astralq.model.values import Context, Stream, StreamTuple
from astralq.model.windows import Windows, odometer, parts
from astralq.schema import Schema
from astralq.space import Region, located

Point = tuple[float, float]


@dataclass(frozen=True)
class Asked:
    """What a query asks of the tuples of a window: conditions, regions among them, and groups of objects."""

    conditions: tuple[Expr, ...] = ()
    regions: tuple[Region, ...] = ()
    groups: tuple[str, ...] = ()

    def where(self, found: Expr) -> Asked:
        """One more condition; a region shows as an area, so that it does not choose objects."""
        if isinstance(found, Inside):
            return replace(self, regions=(*self.regions, found.region))
        return replace(self, conditions=(*self.conditions, found))


def grouped_by(keys: Sequence[tuple[str, Expr]], schema: Schema) -> tuple[str, ...]:
    """The attributes of a stream among the keys of an aggregation."""
    return tuple(e.name for _, e in keys if isinstance(e, Column) and e.name in schema)


def map_of(
    stream: Stream, spec: WindowSpec, readable: Schema, ctx: Context, held: dict[int, Held], asked: Asked, name: str
) -> Map:
    """The map of a window over a located stream.

    Tuples that are asked for are joined, object by object: the parts of the window or else the groups of the query. The
    odometer counts all tuples of a part, whatever a query asks of them, so that its tracks have them all.
    """
    location = readable.location
    assert location is not None
    by_distance = Measure.DISTANCE in spec.measures
    tests = [] if by_distance else [condition(c, readable) for c in asked.conditions]
    wanted = [s for s in stream.tuples if all(keeps((*s.values, *s.stamp)) for keeps in tests)]
    chosen = {s.n for s in wanted}
    objects = spec.partition if by_distance else spec.partition or asked.groups
    tracks = []
    for part in parts(wanted, replace(spec, partition=objects), readable, ctx.t0):
        places = tuple(p for s in part.tuples if (p := _place(s, readable, held.get(s.n, Held.PLAIN))) is not None)
        label = part_name(part, objects) or ""
        way = _stretch(part, ctx) if by_distance else ((), ())
        tracks.append(Track(label, places, *way))
    others = (_place(s, readable, Held.NEVER) for s in stream.tuples if s.n not in chosen)
    return Map(
        name,
        location.x,
        location.y,
        location.planar,
        tuple(t for t in tracks if t.places),
        tuple(p for p in others if p is not None),
        tuple(dict.fromkeys(asked.regions)),
    )


def _point(s: StreamTuple, schema: Schema) -> Point | None:
    location = schema.location
    assert location is not None
    x, y = (s.values[schema.index(n)] for n in (location.x, location.y))
    number = int | float | Decimal
    if not (isinstance(x, number) and isinstance(y, number) and located(float(x), float(y))):
        return None
    return float(x), float(y)


def _place(s: StreamTuple, schema: Schema, held: Held) -> Place | None:
    point = _point(s, schema)
    return None if point is None else Place(*point, held)


def _stretch(part: Windows, ctx: Context) -> tuple[Line, Line]:
    """The way in the scope of the last evaluation, and the points of the way at which windows were evaluated."""
    travelled = odometer(part.tuples, part.schema)
    way = [(d, p) for d, s in zip(travelled, part.tuples, strict=True) if (p := _point(s, part.schema)) is not None]
    assert part.schema.location is not None
    if not part.schema.location.planar:
        way = list(zip((d for d, _ in way), unwrapped([p for _, p in way]), strict=True))
    if not way:
        return (), ()
    schedule, scope = part.spec.schedule, part.spec.scope
    marks: Line = ()
    if schedule.measure is Measure.DISTANCE:
        assert isinstance(schedule, Periodic)
        reached = range(schedule.first, way[-1][0] + 1, schedule.every)
        marks = tuple(_at(way, d) for d in reached[-50:])
    evaluation = part.evaluation(part.undelayed(ctx.end))
    if evaluation is None or scope.measure is not Measure.DISTANCE:
        return (), marks
    lo, hi = part.bounds(evaluation)
    if lo is None or hi is None or hi < 0:
        return (), marks
    first, last = max(lo, 0), min(hi, way[-1][0])
    return tuple(_along(way, first, last)), marks


def unwrapped(points: Sequence[Point], near: float | None = None) -> list[Point]:
    """Longitudes that go on beyond ±180, so that a way that crosses it does not go round the globe.

    >>> unwrapped([(179.0, 5.0), (-179.0, 6.0)])
    [(179.0, 5.0), (181.0, 6.0)]
    """
    found = []
    here = points[0][0] if near is None and points else near or 0.0
    for x, y in points:
        here = x + 360 * round((here - x) / 360)
        found.append((here, y))
    return found


def _along(way: list[tuple[int, Point]], first: int, last: int) -> Iterator[Point]:
    """The way from one distance to another, both inclusive, beginning and ending between tuples where it does."""
    yield _at(way, first)
    yield from (p for d, p in way if first < d < last)
    yield _at(way, last)


def _at(way: list[tuple[int, Point]], distance: int) -> Point:
    """The point of the way at a distance: on the straight line between the tuples around it."""
    k = bisect_left(way, distance, key=lambda w: w[0])
    if k == len(way):
        return way[-1][1]
    (after, b) = way[k]
    if k == 0 or after == distance:
        return b
    (before, a) = way[k - 1]
    share = (distance - before) / (after - before)
    return a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share
