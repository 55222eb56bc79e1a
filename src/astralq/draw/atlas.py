"""Draws maps: tracks, regions and places, with the right proportions on a plane and on the globe."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from astralq.draw.canvas import Canvas
from astralq.draw.lanes import DOT_STYLES, MARKERS
from astralq.draw.maps import unwrapped
from astralq.draw.scene import Line, Map, Track
from astralq.draw.style import BLUE, INK, ORANGE, RULE, SKY, SMALL, VERMILION, WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOWEST, HIGHEST, NARROWEST = 1.4, 4.2, 4.0
"""Limits for the size of a map, in inches."""

Box = tuple[float, float, float, float]
"""x from, x to, y from, y to."""


@dataclass
class Sheet:
    """A map with its outlines, its size in inches, and the limits of its axes."""

    map: Map
    outlines: list[list[tuple[float, float]]]
    width: float
    height: float
    limits: Box


def sheet(shown: Map) -> Sheet:
    """How large a map is: as wide as the time axis if it can be, with room around what is on it."""
    shown = _unwrapped(shown)
    points = [(p.x, p.y) for t in shown.tracks for p in t.places] + [(p.x, p.y) for p in shown.others]
    outlines = [ring for region in shown.regions for ring in _rings(region.shape, points, planar=shown.planar)]
    x1, x2, y1, y2 = _around([*points, *(p for ring in outlines for p in ring)])
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
    return Sheet(shown, outlines, width, height, (cx - dx, cx + dx, cy - dy, cy + dy))


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


def _rings(shape: object, points: Iterable[tuple[float, float]], *, planar: bool) -> list[list[tuple[float, float]]]:
    """The outlines of a region, on that turn of the globe that the places are on."""
    polygons = getattr(shape, "geoms", [shape])
    rings = [list(ring.coords) for p in polygons for ring in (p.exterior, *p.interiors)]
    xs = [x for x, _ in points]
    if planar or not xs or not rings:
        return [[(c[0], c[1]) for c in ring] for ring in rings]
    middle = sum(x for x, *_ in rings[0]) / len(rings[0])
    turn = 360 * round(((min(xs) + max(xs)) / 2 - middle) / 360)
    return [[(c[0] + turn, c[1]) for c in ring] for ring in rings]


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
    for ring in paper.outlines:
        axes.fill([x for x, _ in ring], [y for _, y in ring], facecolor=SKY, alpha=0.18, edgecolor="none", zorder=1)
        axes.plot([x for x, _ in ring], [y for _, y in ring], color=BLUE, linewidth=1.0, zorder=1)
        canvas.use("region")
    for place in shown.others:
        axes.plot([place.x], [place.y], "o", color=RULE, markersize=4, zorder=2)
        canvas.use("other")
    for track in shown.tracks:
        _draw_track(axes, track, canvas)
    for region, ring in zip(shown.regions, paper.outlines, strict=False):
        _name_region(axes, region.name, ring, shown)


def _name_region(axes: Axes, name: str, ring: Sequence[tuple[float, float]], shown: Map) -> None:
    """The name in that corner of a region that is furthest from all places."""
    x1, x2, y1, y2 = _around(ring)
    places = [p for t in shown.tracks for p in t.places] + list(shown.others)

    def room(corner: tuple[float, float]) -> float:
        return min((math.hypot(p.x - corner[0], p.y - corner[1]) for p in places), default=0.0)

    x, y = max([(x1, y2), (x2, y2), (x1, y1), (x2, y1)], key=room)
    axes.annotate(
        name,
        (x, y),
        xytext=(4 if x == x1 else -4, 4 if y == y1 else -4),
        textcoords="offset points",
        ha="left" if x == x1 else "right",
        va="bottom" if y == y1 else "top",
        fontsize=SMALL,
        color=BLUE,
    )


def _draw_track(axes: Axes, track: Track, canvas: Canvas) -> None:
    xs, ys = [p.x for p in track.places], [p.y for p in track.places]
    if len(xs) > 1:
        axes.plot(xs, ys, color=RULE, linewidth=1.4, zorder=2)
        canvas.use("track")
    if track.stretch:
        xs_, ys_ = [x for x, _ in track.stretch], [y for _, y in track.stretch]
        axes.plot(xs_, ys_, color=ORANGE, linewidth=6, alpha=0.75, solid_capstyle="butt", zorder=2.5)
        canvas.use("stretch")
    for x, y in track.evaluations:
        axes.plot([x], [y], marker="|", markersize=13, markeredgewidth=1.2, color=VERMILION, zorder=3)
        canvas.use("reached")
    for place in track.places:
        style = DOT_STYLES[place.held]
        axes.plot([place.x], [place.y], marker=MARKERS.get(place.held, "o"), markersize=6, zorder=4, **style)
        canvas.use(f"dot {place.held.name}")
    if track.name:
        axes.annotate(
            track.name, (xs[-1], ys[-1]), xytext=(6, 5), textcoords="offset points", fontsize=SMALL, color=INK
        )


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
