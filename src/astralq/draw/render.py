"""From a scene to a figure of matplotlib: queries above each other, one time axis, maps, the legend, and notes."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from astralq.draw.atlas import Sheet, draw_map, named_by, sheet
from astralq.draw.canvas import Canvas
from astralq.draw.clock import Clock
from astralq.draw.lanes import drawer
from astralq.draw.legend import draw_legend
from astralq.draw.scene import BarLane, Panel, Scene
from astralq.draw.style import (
    DPI,
    GRID,
    LEFT,
    RIGHT,
    RULE,
    SMALL,
    SOFT,
    TEXT,
    TITLE,
    WIDTH,
    line_height,
    styled,
    text_width,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FULL = LEFT + WIDTH + RIGHT
MARGIN = 0.2


def figure(scene: Scene) -> Figure:
    """The whole picture; to be called, and its result saved, in the style of style.py."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(FULL, 4), dpi=DPI, facecolor="white")
    axes = made.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    canvas = Canvas.of(axes, scene)
    clock = Clock(scene.start, scene.end)
    ticks = clock.ticks()
    y = MARGIN
    for panel in scene.panels:
        y = _panel(canvas, panel, y, [canvas.x(t) for t, _ in ticks])
    y = _axis(canvas, clock, y)
    sheets: list[tuple[Sheet, float]] = []
    for panel in scene.panels:
        for shown in panel.maps:
            paper = sheet(shown)
            by = named_by(shown)
            title = f"map of {shown.name}" + ("" if by is None else f", by {by}")
            canvas.text(-LEFT + MARGIN, y + 0.1, title, size=TITLE, weight="bold", ha="left")
            sheets.append((paper, y + 0.28))
            y += 0.28 + paper.height + 0.55
    placed = [(paper, made.add_axes((0, 0, 1, 1)), top) for paper, top in sheets]
    for paper, on, _ in placed:
        draw_map(on, paper, canvas)
    y += draw_legend(canvas, y, clock.text(scene.end)) + 0.05
    for note in scene.notes:
        for line in wrapped(f"Left out: {note}.", FULL - 4 * MARGIN, SMALL):
            canvas.text(-LEFT + MARGIN, y + 0.08, line, size=SMALL, color=SOFT, style="italic", ha="left")
            y += line_height(SMALL)
    height = y + 0.12
    made.set_size_inches(FULL, height)
    axes.set_xlim(-LEFT, WIDTH + RIGHT)
    axes.set_ylim(height, 0)
    for paper, on, top in placed:
        rect = (LEFT / FULL, 1 - (top + paper.height) / height, paper.width / FULL, paper.height / height)
        on.set_position(rect)
    return made


def _panel(canvas: Canvas, panel: Panel, y: float, ticks: list[float]) -> float:
    """A query's title and lanes; gives where they end."""
    for line in wrapped(panel.title, FULL - 3 * MARGIN, TITLE, bold=True):
        canvas.text(-LEFT + MARGIN, y + 0.08, line, size=TITLE, weight="bold", ha="left")
        y += line_height(TITLE)
    y += 0.08
    top = y
    before = None
    for lane in panel.lanes:
        repeated = isinstance(lane, BarLane) and isinstance(before, BarLane) and before.name == lane.name
        if not repeated and before is not None:
            canvas.line(-LEFT + MARGIN, y, WIDTH, y, GRID, 0.8, zorder=0)
        drawn = drawer(lane, canvas, repeated=repeated)
        drawn.draw(canvas, y)
        y += drawn.height
        before = lane
    for x in ticks:
        canvas.line(x, top, x, y, GRID, 0.8, zorder=0)
    canvas.line(0, y, WIDTH, y, RULE, 0.8, zorder=1)
    return y + 0.22


def _axis(canvas: Canvas, clock: Clock, y: float) -> float:
    """The ticks below the last lane; gives where they end."""
    y -= 0.22
    lines, left = 1, 0.0
    for t, text in clock.ticks():
        x = canvas.x(t)
        canvas.line(x, y, x, y + 0.05, RULE, 0.8)
        canvas.text(x, y + 0.08, text, color=SOFT, ha="center", va="top")
        lines = max(lines, text.count("\n") + 1)
        left = min(left, x - max(text_width(line) for line in text.split("\n")) / 2)
    canvas.text(left - 0.12, y + 0.08, clock.title, color=SOFT, ha="right", va="top")
    return y + 0.28 + lines * line_height(TEXT)


def svg(scene: Scene, title: str) -> bytes:
    """The picture as SVG: the same bytes for the same scene."""
    return _saved(scene, "svg", {"Title": title, "Date": None, "Creator": "astralq"})


def png(scene: Scene, title: str) -> bytes:
    """The picture as PNG."""
    return _saved(scene, "png", {"Title": title, "Software": "astralq"})


def _saved(scene: Scene, format_: str, metadata: dict[str, str | None]) -> bytes:
    with styled():
        out = io.BytesIO()
        figure(scene).savefig(out, format=format_, dpi=DPI, metadata=metadata)
        return out.getvalue()
