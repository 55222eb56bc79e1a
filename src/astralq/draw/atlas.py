"""Draws maps: tracks, regions and places, with the right proportions on a plane and on the globe."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from astralq.draw.canvas import Canvas
from astralq.draw.lanes import DOT_STYLES, MARKERS
from astralq.draw.maps import unwrapped
from astralq.draw.scene import Line, Map, Track
from astralq.draw.style import BLUE, INK, ORANGE, RULE, SKY, SMALL, SOFT, VERMILION, WIDTH, line_height, text_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOWEST, HIGHEST, NARROWEST = 1.4, 4.2, 4.0
"""Limits for the size of a map, in inches."""

Ring = list[tuple[float, float]]
Box = tuple[float, float, float, float]
"""x from, x to, y from, y to."""


@dataclass
class Area:
    """A region on that turn of the globe that the places are on: its outlines, those of its holes among them."""

    name: str
    rings: list[Ring]


@dataclass
class Sheet:
    """A map with its areas, its size in inches, and the limits of its axes."""

    map: Map
    areas: list[Area]
    width: float
    height: float
    limits: Box

    def inches(self, x: float, y: float) -> tuple[float, float]:
        """Where a point is, from the lower left corner."""
        x1, x2, y1, y2 = self.limits
        return (x - x1) / (x2 - x1) * self.width, (y - y1) / (y2 - y1) * self.height


def sheet(shown: Map) -> Sheet:
    """How large a map is: as wide as the time axis if it can be, with room around what is on it."""
    shown = _unwrapped(shown)
    points = [(p.x, p.y) for t in shown.tracks for p in t.places] + [(p.x, p.y) for p in shown.others]
    areas = [Area(r.name, _rings(r.shape, points, planar=shown.planar)) for r in shown.regions]
    x1, x2, y1, y2 = _around([*points, *(p for area in areas for ring in area.rings for p in ring)])
    # A degree of longitude is shorter than one of latitude, the more so the further from the equator.
    unit = 1.0 if shown.planar else max(0.05, math.cos(math.radians(min(85.0, abs((y1 + y2) / 2)))))
    across, up = (x2 - x1) * unit, y2 - y1
    if across == up == 0:
        across = up = 1.0
    height = min(HIGHEST, max(LOWEST, WIDTH * up / across if across else HIGHEST))
    width = min(WIDTH, max(NARROWEST, height * across / up if up else WIDTH))
    scale = max(across / width, up / height) * 1.12  # so much on an inch, with a margin
    dx, dy = width * scale / unit / 2, height * scale / 2
    cx, cy = (x1 + x2) / 2, (y1 + y2) / 2
    return Sheet(shown, areas, width, height, (cx - dx, cx + dx, cy - dy, cy + dy))


def _around(points: Sequence[tuple[float, float]]) -> Box:
    if not points:
        return 0.0, 1.0, 0.0, 1.0
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs), max(xs), min(ys), max(ys)


def _unwrapped(shown: Map) -> Map:
    """The map with longitudes that go on beyond ±180, so that a track that crosses it does not go round the globe."""
    if shown.planar:
        return shown
    first = next((p.x for t in shown.tracks for p in t.places), None)
    if first is None:
        return shown

    def line(points: Iterable[tuple[float, float]]) -> Line:
        return tuple(unwrapped(list(points), first))

    def moved(track: Track) -> Track:
        way = line((p.x, p.y) for p in track.places)
        places = tuple(replace(p, x=x) for p, (x, _) in zip(track.places, way, strict=True))
        return replace(track, places=places, stretch=line(track.stretch), evaluations=line(track.evaluations))

    others = tuple(replace(p, x=unwrapped([(p.x, p.y)], first)[0][0]) for p in shown.others)
    return replace(shown, tracks=tuple(moved(t) for t in shown.tracks), others=others)


def _rings(shape: Any, points: Iterable[tuple[float, float]], *, planar: bool) -> list[Ring]:
    """The outlines of a region: those around it turn left, those of its holes right, so that holes stay empty."""
    from shapely.geometry.polygon import orient

    polygons = [orient(p) for p in getattr(shape, "geoms", [shape])]
    rings = [[(c[0], c[1]) for c in ring.coords] for p in polygons for ring in (p.exterior, *p.interiors)]
    xs = [x for x, _ in points]
    if planar or not xs:
        return rings
    x1, x2, _, _ = _around([p for ring in rings for p in ring])
    turn = 360 * round(((min(xs) + max(xs)) / 2 - (x1 + x2) / 2) / 360)
    return [[(x + turn, y) for x, y in ring] for ring in rings]


def draw_map(axes: Axes, paper: Sheet, canvas: Canvas) -> None:
    """Fills axes that have the sheet's size; the marks that are used go into the canvas's legend."""
    shown = paper.map
    x1, x2, y1, y2 = paper.limits
    axes.set_xlim(x1, x2)
    axes.set_ylim(y1, y2)
    axes.grid(color="#eeeeee", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    _label_axes(axes, shown, x2 - x1)
    for area in paper.areas:
        _draw_area(axes, area)
        canvas.use("region")
    for place in shown.others:
        axes.plot([place.x], [place.y], "o", color=RULE, markersize=4, zorder=2)
        canvas.use("other")
    for track in shown.tracks:
        _draw_track(axes, track, paper, canvas)
    _name_tracks(axes, paper)
    for area in paper.areas:
        _name_area(axes, area, paper)


def _draw_area(axes: Axes, area: Area) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    outlines = Path.make_compound_path(*(Path(ring, closed=True) for ring in area.rings))
    axes.add_patch(PathPatch(outlines, facecolor=SKY, alpha=0.18, edgecolor="none", zorder=1))
    axes.add_patch(PathPatch(outlines, facecolor="none", edgecolor=BLUE, linewidth=1.0, zorder=1))


def _name_area(axes: Axes, area: Area, paper: Sheet) -> None:
    """The name inside a region, as far as it can be from all places."""
    import shapely

    x1, x2, y1, y2 = paper.limits
    inch_x, inch_y = (x2 - x1) / paper.width, (y2 - y1) / paper.height
    width, height = text_width(area.name, SMALL) * inch_x, line_height(SMALL) * inch_y
    places = [p for t in paper.map.tracks for p in t.places] + list(paper.map.others)
    # Even and odd: a point in a hole is inside two outlines.
    shape = shapely.Polygon(area.rings[0])
    for ring in area.rings[1:]:
        shape = shape.symmetric_difference(shapely.Polygon(ring))

    def room(point: tuple[float, float]) -> float:
        """The distance to the nearest place, in inches."""
        x, y = point
        apart = (math.hypot(max(0.0, abs(p.x - x) - width / 2) / inch_x, (p.y - y) / inch_y) for p in places)
        return min(apart, default=0.0)

    left, right, low, high = _around([p for ring in area.rings for p in ring])
    steps = [k / 24 for k in range(25)]
    points = [(left + (right - left) * a, low + (high - low) * b) for b in reversed(steps) for a in steps]
    margin = 0.04
    inside = [
        (x, y)
        for x, y in points
        if shape.contains(
            shapely.box(
                x - width / 2 - margin * inch_x, y - height / 2, x + width / 2 + margin * inch_x, y + height / 2
            )
        )
    ]
    x, y = max(inside, key=room) if inside else ((left + right) / 2, (low + high) / 2)
    axes.text(x, y, area.name, fontsize=SMALL, color=BLUE, ha="center", va="center", zorder=5, path_effects=_halo())


def _halo() -> list[Any]:
    """A light border that keeps letters apart from lines behind them."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=2.0, foreground="white", alpha=0.85)]


def _draw_track(axes: Axes, track: Track, paper: Sheet, canvas: Canvas) -> None:
    from matplotlib.markers import MarkerStyle

    xs, ys = [p.x for p in track.places], [p.y for p in track.places]
    way = [paper.inches(x, y) for x, y in zip(xs, ys, strict=True)]
    if len(xs) > 1:
        axes.plot(xs, ys, color=RULE, linewidth=1.4, zorder=2)
        canvas.use("track")
    if track.stretch:
        xs_, ys_ = [x for x, _ in track.stretch], [y for _, y in track.stretch]
        axes.plot(xs_, ys_, color=ORANGE, linewidth=7, alpha=0.75, solid_capstyle="butt", zorder=2.5)
        canvas.use("stretch")
    size = dot_size(way)
    for place in track.places:
        style = DOT_STYLES[place.held] | ({"markeredgewidth": 0.5} if size < LARGEST / 2 else {})
        axes.plot([place.x], [place.y], marker=MARKERS.get(place.held, "o"), markersize=size, zorder=4, **style)
        canvas.use(f"dot {place.held.name}")
    for x, y in track.evaluations:
        across = MarkerStyle("|").rotated(deg=direction(way, paper.inches(x, y)))
        axes.plot([x], [y], marker=across, markersize=13, markeredgewidth=1.2, color=VERMILION, zorder=3)
        canvas.use("reached")


LARGEST, SMALLEST = 6.0, 2.2
"""Sizes of dots on a map, in points."""


def dot_size(way: Sequence[tuple[float, float]]) -> float:
    """As large as leaves most dots of a track apart: else they hide it, and the stretch of a window."""
    gaps = sorted(math.dist(a, b) for a, b in pairwise(way))
    return LARGEST if not gaps else min(LARGEST, max(SMALLEST, gaps[len(gaps) // 2] * 72 * 0.9))


def direction(way: Sequence[tuple[float, float]], point: tuple[float, float]) -> float:
    """Where a track goes near a point, in degrees: 0 is to the right."""
    steps = [(a, b) for a, b in pairwise(way) if a != b]
    if not steps:
        return 0.0
    (x1, y1), (x2, y2) = min(steps, key=lambda s: math.dist(s[0], point) + math.dist(point, s[1]) - math.dist(*s))
    return math.degrees(math.atan2(y2 - y1, x2 - x1))


def named_by(shown: Map) -> str | None:
    """The attribute that all objects of a map are named by: it is said once, and not at each of them."""
    named = {t.name.partition(" = ")[0] if t.name.count(" = ") == 1 else "" for t in shown.tracks if t.name}
    only = named.pop() if len(named) == 1 else ""
    return only or None


def _name_tracks(axes: Axes, paper: Sheet) -> None:
    """The name of each object at the end of its track, beside its last place, where it covers neither another name nor
    a place; those that find no room are left out, and counted."""
    x1, x2, y1, y2 = paper.limits
    by = named_by(paper.map)
    tracks = [t for t in paper.map.tracks if t.name]
    points = [paper.inches(p.x, p.y) for t in paper.map.tracks for p in t.places]
    taken: list[Box] = [(x - DOT, x + DOT, y - DOT, y + DOT) for x, y in points]
    left_out = 0
    for track in tracks:
        name = track.name if by is None else track.name.partition(" = ")[2]
        x, y = paper.inches(track.places[-1].x, track.places[-1].y)
        width, height = text_width(name, SMALL), line_height(SMALL)
        sides = [(dx, dy) for dy in (0.1, -0.1, 0.0, 0.24, -0.24) for dx in (0.09, -0.09 - width, -width / 2)]
        boxes = [(x + dx, x + dx + width, y + dy - height / 2, y + dy + height / 2) for dx, dy in sides]
        inside = (b for b in boxes if b[0] >= 0 and b[1] <= paper.width and b[2] >= 0 and b[3] <= paper.height)
        box = next((b for b in inside if not any(_overlap(b, t) for t in taken)), None)
        if box is None:
            left_out += 1
            continue
        taken.append(box)
        place = (x1 + box[0] / paper.width * (x2 - x1), y1 + (box[2] + box[3]) / 2 / paper.height * (y2 - y1))
        axes.text(*place, name, fontsize=SMALL, color=INK, ha="left", va="center", zorder=6, path_effects=_halo())
    if left_out:
        words = f"{left_out} of {len(tracks)} names have no room"
        soft: dict[str, Any] = {"fontsize": SMALL, "color": SOFT, "style": "italic", "path_effects": _halo()}
        axes.text(0.99, 0.02, words, transform=axes.transAxes, ha="right", va="bottom", zorder=6, **soft)


DOT = 0.03
"""Half of the room that a place takes, in inches."""


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def _label_axes(axes: Axes, shown: Map, width: float) -> None:
    """Degrees with their directions, or metres and kilometres."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=6 if axis is axes.xaxis else 5, steps=[1, 2, 5, 10]))
    axes.tick_params(length=0, labelsize=SMALL)
    if shown.planar:
        size, unit = (1000.0, "km") if width >= 5000 else (1.0, "m")
        for axis, name in ((axes.xaxis, shown.x), (axes.yaxis, shown.y)):
            axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v / size:g}"))
            axis.set_label_text(f"{name}, {unit}", fontsize=SMALL)
        return
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: degrees((v + 180) % 360 - 180, "E", "W")))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: degrees(v, "N", "S")))


def degrees(value: float, positive: str, negative: str) -> str:
    """A longitude or latitude with its direction.

    >>> degrees(-0.5, "E", "W")
    '0.5°W'
    """
    return f"{abs(value):.6g}°{'' if value in (0, -180) else positive if value > 0 else negative}"
