"""The legend: says what each mark means that a picture has, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

from astralq.draw.canvas import Canvas
from astralq.draw.scene import Held
from astralq.draw.style import (
    BLUE,
    GREEN,
    INK,
    LEFT,
    MIDDLE_GREEN,
    ORANGE,
    PALE_GREEN,
    PALE_ORANGE,
    RULE,
    SKY,
    SMALL,
    SOFT,
    VERMILION,
    WIDTH,
    text_width,
)

Draw = Callable[[Canvas, float, float], None]
ROOM = 0.34
"""The width of a mark in the legend, in inches."""


def _dot(held: Held) -> Draw:
    from astralq.draw.lanes import draw_dot

    return lambda c, x, y: draw_dot(c, x + ROOM / 2, y, held)


def _answer(c: Canvas, x: float, y: float) -> None:
    from astralq.draw.lanes import draw_answer

    draw_answer(c, x + ROOM / 2, y)


def _batch(c: Canvas, x: float, y: float) -> None:
    from astralq.draw.lanes import draw_dot

    held = next((h for h in (Held.BEFORE, Held.NOW) if f"dot {h.name}" in c.used), Held.PLAIN)
    c.line(x + ROOM / 2, y - 0.055, x + ROOM / 2, y + 0.055, SKY if held is Held.PLAIN else BLUE, 1.0)
    for dy in (-0.055, 0.055):
        draw_dot(c, x + ROOM / 2, y + dy, held, 4.0)


def _more(c: Canvas, x: float, y: float) -> None:
    c.text(x + ROOM / 2, y, "+n", size=SMALL, color=SOFT, ha="center")


def _box(color: str, edge: str | None = None) -> Draw:
    def draw(c: Canvas, x: float, y: float) -> None:
        c.box(x, y, x + ROOM, 0.12, color)
        if edge is not None:
            for end in (x, x + ROOM):
                c.line(end, y - 0.06, end, y + 0.06, edge, 1.4)

    return draw


def _stroke(color: str, width: float) -> Draw:
    return lambda c, x, y: c.line(x, y, x + ROOM, y, color, width)


def _evaluation(c: Canvas, x: float, y: float) -> None:
    c.line(x + ROOM / 2, y - 0.07, x + ROOM / 2, y + 0.07, INK, 1.8)


def _marker(marker: str, color: str, size: float) -> Draw:
    return lambda c, x, y: c.mark(x + ROOM / 2, y, marker, size, color=color)


def _region(c: Canvas, x: float, y: float) -> None:
    c.box(x, y, x + ROOM, 0.12, SKY, alpha=0.18)
    c.box(x, y, x + ROOM, 0.12, "none", edgecolor=BLUE, linewidth=1.0)


def entries(end: str) -> dict[str, tuple[str, Draw]]:
    """All marks in the order of the legend; the end of the time that is shown has a text."""
    return {
        "dot NOW": (f"tuple held at the end ({end})", _dot(Held.NOW)),
        "dot BEFORE": ("tuple no longer held", _dot(Held.BEFORE)),
        "dot NEVER": ("tuple in no window so far", _dot(Held.NEVER)),
        "dot PLAIN": ("tuple", _dot(Held.PLAIN)),
        "count": ("tuples, counted", _box(SKY)),
        "batch": ("tuples of one batch", _batch),
        "window": ("what a window spans", _box(PALE_ORANGE)),
        "window last": ("what the last window spans", _box(ORANGE)),
        "before": ("begins before the axis", _marker("<", INK, 4)),
        "evaluation": ("evaluated", _evaluation),
        "shown": ("its window holds until the next evaluation", _stroke(SOFT, 1.0)),
        "row": ("a row of the relation holds", _box(PALE_GREEN, GREEN)),
        "row answer": ("a row of the answer holds", _box(MIDDLE_GREEN, GREEN)),
        "lasting": ("holds beyond the end", _marker(">", GREEN, 5)),
        "answer": ("answer, with its values", _answer),
        "bare answer": ("answer, whose values have no room", _answer),
        "more": ("so many more just before these", _more),
        "track": ("track", _stroke(RULE, 1.4)),
        "stretch": ("the stretch in the last window's scope", _stroke(ORANGE, 5)),
        "reached": ("distance of an evaluation", _marker("|", VERMILION, 8)),
        "region": ("region", _region),
        "other": ("tuple that is not asked for", _marker("o", RULE, 4)),
    }


def draw_legend(canvas: Canvas, y: float, end: str) -> float:
    """Draws what was used, in as many rows as it takes; gives the height."""
    used = dict(canvas.used)
    shown = [e for key, e in entries(end).items() if key in used]
    x, height = -LEFT + 0.2, 0.24
    top = y
    for text, draw in shown:
        width = ROOM + 0.08 + text_width(text, SMALL) + 0.28
        if x + width > WIDTH + 0.25:
            x, y = -LEFT + 0.2, y + height
        draw(canvas, x, y + height / 2)
        canvas.text(x + ROOM + 0.08, y + height / 2, text, size=SMALL, ha="left")
        x += width
    return y + height - top if shown else 0.0
