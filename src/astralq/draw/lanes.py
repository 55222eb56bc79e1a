"""Draws lanes: each kind says how high it is, then puts its marks on the canvas."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from astralq.draw.canvas import Canvas
from astralq.draw.pack import pack
from astralq.draw.scene import Bar, BarLane, CountLane, Dot, DotLane, Held, Lane, Span, SpanLane
from astralq.draw.style import (
    BLUE,
    EDGE,
    GREEN,
    INK,
    LEFT,
    MIDDLE_GREEN,
    ORANGE,
    PALE_GREEN,
    PALE_ORANGE,
    RIGHT,
    SKY,
    SMALL,
    SOFT,
    WIDTH,
    line_height,
    text_width,
    wrapped,
)
from astralq.timeline import Instant, format_duration

PITCH = 0.115
BATCH_GAP = 0.07
ASIDE = 0.09
"""How far a value stands from its dot."""

CLEAR = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
"""Keeps the axis from striking a value through."""

NEAR = 0.05
"""Dots that are nearer to each other, in inches, would cover each other."""

HIGHEST = 12
"""So many tuples are stacked, the last ones; of the others there is the number."""

ANSWERS = 14
"""So many rows of answers with their values; where there are more, answers are stacked without them."""

STAIRS = 10
"""Up to so many windows each have a row of their own."""

COUNTED = 0.42
"""How high the bar of the most tuples is."""

ROW = 0.19
LABELS = 3
PAD = 0.11

DOT_STYLES: dict[Held, dict[str, Any]] = {
    Held.NOW: {"markerfacecolor": BLUE, "markeredgecolor": BLUE},
    Held.BEFORE: {"markerfacecolor": "white", "markeredgecolor": BLUE},
    Held.NEVER: {"markerfacecolor": "white", "markeredgecolor": SOFT, "markeredgewidth": 0.8},
    Held.PLAIN: {"markerfacecolor": SKY, "markeredgecolor": SKY},
}
MARKERS = {Held.NEVER: "x"}


@dataclass
class Heading:
    """What stands left of a lane: its name, and below it in smaller letters its columns or its part."""

    name: str
    below: str = ""
    bold: bool = False
    pitch: float = line_height(SMALL)
    """The distance of the lines below the name."""

    @property
    def lines(self) -> list[tuple[str, bool]]:
        """Each line, and whether it is of the name."""
        width = LEFT - 0.32
        named = [(n, True) for n in wrapped(self.name, width, bold=self.bold)] if self.name else []
        return named + ([(n, False) for n in wrapped(self.below, width, SMALL)] if self.below else [])

    @property
    def height(self) -> float:
        return sum(line_height() if named else self.pitch for _, named in self.lines)

    def draw(self, canvas: Canvas, top: float) -> None:
        y = top
        for text, named in self.lines:
            height = line_height() if named else self.pitch
            style: dict[str, Any] = {"weight": "bold"} if named and self.bold else {}
            style |= {} if named else {"size": SMALL, "color": SOFT}
            canvas.text(-0.12, y + height / 2, text, ha="right", **style)
            y += height


class LaneDrawer:
    """A lane on its way to the canvas: `height` in inches, then `draw` below a top."""

    heading: Heading
    height: float

    def draw(self, canvas: Canvas, top: float) -> None:
        raise NotImplementedError


def drawer(lane: Lane, canvas: Canvas, *, repeated: bool = False) -> LaneDrawer:
    """What draws a lane; a repeated name, that of a window with several parts, is not written again."""
    match lane:
        case DotLane():
            if lane.is_answer and (rows := _answer_rows(lane, canvas)) is not None:
                return Answers(lane, rows)
            return Dots(lane, canvas)
        case BarLane():
            return Bars(lane, canvas, repeated=repeated)
        case SpanLane():
            return Spans(lane)
        case CountLane():
            return Counts(lane)


def _columns(lane: DotLane | SpanLane | CountLane) -> Heading:
    bold = not isinstance(lane, CountLane) and lane.is_answer
    return Heading(lane.name, f"({', '.join(lane.columns)})" if lane.columns else "", bold)


# Tuples


class Dots(LaneDrawer):
    """Tuples as dots; those of one instant are stacked, those of one batch joined.

    Instants that are too near to be told apart are stacked as well, each dot at its own.
    """

    def __init__(self, lane: DotLane, canvas: Canvas) -> None:
        self.lane = lane
        self.heading = _columns(lane)
        self.stacks = _stacks(lane.dots, canvas)
        xs = [canvas.x(s[0].t) for s in self.stacks]
        self.sides = self._label_sides(canvas)
        self.pitch = line_height(SMALL) if self.sides else PITCH
        self.tallest = max((_stacked(s, self.pitch)[-1][1] for s in self.stacks), default=0.0)
        nearest = min((b - a for a, b in pairwise(xs)), default=1.0)
        self.size = min(6.0, max(3.4, nearest * 72 * 0.8))
        self.labels = self._label_rows(xs)
        above = line_height(SMALL) * (max(self.labels, default=-1) + 1)
        counted = line_height(SMALL) if any(len(s) > HIGHEST for s in self.stacks) else 0.0
        self.height = max(self.heading.height, self.tallest + 0.1 + max(above, counted)) + 2 * PAD

    def _label_rows(self, xs: list[float]) -> list[int]:
        """The row of each value above the dots; none where they would not all find room."""
        if self.lane.is_answer or any(len(s) > 1 for s in self.stacks) or not self.lane.columns:
            return []
        widths = [text_width(s[0].label, SMALL) for s in self.stacks]
        if max(widths, default=0.0) > 1.6:
            return []
        self.middles = [min(max(x, w / 2), WIDTH + RIGHT / 2 - w / 2) for x, w in zip(xs, widths, strict=True)]
        rows = pack([(x - w / 2, x + w / 2) for x, w in zip(self.middles, widths, strict=True)], gap=0.06)
        return rows if max(rows, default=0) < LABELS else []

    def _label_sides(self, canvas: Canvas) -> list[str]:
        """Whether stacked tuples have their values at their right or left; none where they would not all find room."""
        tall = max(map(len, self.stacks), default=0)
        if self.lane.is_answer or not self.lane.columns or not 1 < tall <= HIGHEST:
            return []
        sides = []
        free = 0.0  # up to where the axis is taken
        for k, stack in enumerate(self.stacks):
            first, last = canvas.x(stack[0].t), canvas.x(stack[-1].t)
            wide = max(text_width(d.label, SMALL) for d in stack) + 2 * ASIDE
            following = canvas.x(self.stacks[k + 1][0].t) - NEAR if k + 1 < len(self.stacks) else WIDTH + RIGHT
            if last + wide <= following:
                sides.append("left")  # the text's own left end is at the dot
                free = last + wide
            elif first - wide >= free:
                sides.append("right")
                free = last + NEAR
            else:
                return []
        return sides

    def draw(self, canvas: Canvas, top: float) -> None:
        self.heading.draw(canvas, top + PAD)
        base = top + self.height - PAD - 0.05
        canvas.line(0, base, WIDTH, base, "#d0d0d0", 0.8, zorder=1)
        if not self.stacks:
            canvas.nothing(base - 0.1, self.lane.before)
        answers = self.lane.is_answer
        for k, stack in enumerate(self.stacks):
            placed = _stacked(stack, self.pitch)
            for dot, up in placed:
                x = canvas.x(dot.t)
                if self.sides:
                    aside = ASIDE if self.sides[k] == "left" else -ASIDE
                    canvas.text(x + aside, base - up, dot.label, size=SMALL, ha=self.sides[k], bbox=CLEAR)
                if answers:
                    draw_answer(canvas, x, base - up, min(4.6, self.size), "bare answer")
                else:
                    draw_dot(canvas, x, base - up, dot.held, self.size)
            for (t, _), batch in groupby(placed, key=lambda p: (p[0].t, p[0].i)):
                x, ups = canvas.x(t), [up for _, up in batch]
                if len(ups) > 1:
                    color = INK if answers else SKY if stack[0].held is Held.PLAIN else BLUE
                    canvas.line(x, base - ups[0], x, base - ups[-1], color, 1.0, zorder=3)
                    canvas.use("batch")
            if len(stack) > HIGHEST:
                y = base - placed[-1][1] - 0.13
                canvas.text(x, y, f"+{len(stack) - HIGHEST}", size=SMALL, color=SOFT, ha="center")
                canvas.use("more")
            if self.labels:
                y = base - 0.1 - line_height(SMALL) * (self.labels[k] + 0.5)
                if self.labels[k]:
                    canvas.line(x, base - 0.06, x, y + 0.06, "#d0d0d0", 0.6, zorder=1)
                canvas.text(self.middles[k], y, stack[0].label, size=SMALL, ha="center")


class Counts(LaneDrawer):
    """How many tuples there are in each period, as bars side by side."""

    def __init__(self, lane: CountLane) -> None:
        self.lane = lane
        self.heading = _columns(lane)
        self.height = max(self.heading.height, COUNTED + 0.05 + line_height(SMALL)) + 2 * PAD

    def draw(self, canvas: Canvas, top: float) -> None:
        self.heading.draw(canvas, top + PAD)
        base = top + self.height - PAD
        most = max(n for _, n in self.lane.counts)
        for t, n in self.lane.counts:
            x1, x2 = canvas.x(t), canvas.x(Instant(t + self.lane.every))
            gap = 0.15 * (x2 - x1)
            height = max(0.015, COUNTED * n / most)
            canvas.box(x1, base - height / 2, max(x2 - gap, x1 + 0.01), height, SKY)
        canvas.line(0, base, WIDTH, base, "#d0d0d0", 0.8, zorder=1)
        words = f"tuples in each {format_duration(self.lane.every).lower()}, at most {most:,}"
        canvas.text(EDGE, top + PAD + line_height(SMALL) / 2, words, size=SMALL, color=SOFT)
        canvas.use("count")


def _stacks(dots: Iterable[Dot], canvas: Canvas) -> list[list[Dot]]:
    """The tuples of each instant, with those of the instants that their dots would cover."""
    stacks: list[list[Dot]] = []
    for dot in dots:
        if stacks and canvas.x(dot.t) - canvas.x(stacks[-1][0].t) < NEAR:
            stacks[-1].append(dot)
        else:
            stacks.append([dot])
    return stacks


def _stacked(stack: list[Dot], pitch: float) -> list[tuple[Dot, float]]:
    """How high each tuple of a stack stands, with gaps between the batches of an instant."""
    placed = []
    up = 0.0
    before = stack[-HIGHEST:][0]
    for k, dot in enumerate(stack[-HIGHEST:]):
        up += (pitch if k else 0.0) + (BATCH_GAP if dot.t == before.t and dot.i != before.i else 0.0)
        before = dot
        placed.append((dot, up))
    return placed


def draw_dot(canvas: Canvas, x: float, y: float, held: Held, size: float = 6.0) -> None:
    canvas.use(f"dot {held.name}")
    canvas.mark(x, y, MARKERS.get(held, "o"), size, **DOT_STYLES[held])


def draw_answer(canvas: Canvas, x: float, y: float, size: float = 4.6, mark: str = "answer") -> None:
    canvas.use(mark)
    canvas.mark(x, y, "D", size, markerfacecolor=INK, markeredgecolor=INK)


# Answers of a stream, with their values


def _answer_rows(lane: DotLane, canvas: Canvas) -> list[tuple[Dot, int, bool]] | None:
    """Each answer with a row in which its values have room, and whether they stand left of it; None if too many."""
    intervals = []
    sides = []
    for dot in lane.dots:
        x, width = canvas.x(dot.t), text_width(dot.label, SMALL) + 0.12
        left = x + width > WIDTH + 0.1
        sides.append(left)
        intervals.append((x - width, x + 0.06) if left else (x - 0.06, x + width))
    if len(intervals) > 40 * ANSWERS:
        return None
    rows = pack(intervals, gap=0.08)
    if max(rows, default=0) >= ANSWERS:
        return None
    return list(zip(lane.dots, rows, sides, strict=True))


class Answers(LaneDrawer):
    """The tuples of an answer with their values; simultaneous ones stand below each other, in their order."""

    def __init__(self, lane: DotLane, rows: list[tuple[Dot, int, bool]]) -> None:
        self.rows = rows
        self.before = lane.before
        self.heading = _columns(lane)
        count = max((r for _, r, _ in rows), default=0) + 1
        self.height = max(self.heading.height, count * 0.165) + 2 * PAD

    def draw(self, canvas: Canvas, top: float) -> None:
        self.heading.draw(canvas, top + PAD)
        if not self.rows:
            canvas.nothing(top + PAD + 0.08, self.before)
        for dot, row, left in self.rows:
            x, y = canvas.x(dot.t), top + PAD + (row + 0.5) * 0.165
            draw_answer(canvas, x, y)
            canvas.text(x + (-0.08 if left else 0.08), y, dot.label, size=SMALL, ha="right" if left else "left")


# Windows


class Bars(LaneDrawer):
    """Windows: a bar for what each spans, a mark where it is evaluated, a line for how long it is shown.

    A few windows are a flight of stairs, as in 001's figure 4; many, and those of parts, share rows where they can.
    """

    def __init__(self, lane: BarLane, canvas: Canvas, *, repeated: bool) -> None:
        self.lane = lane
        # A part stands beside its first row.
        pitch = line_height(SMALL) if lane.part is None else ROW
        self.heading = Heading("" if repeated else lane.name, lane.part or "", pitch=pitch)
        stairs = lane.part is None and len(lane.bars) <= STAIRS
        self.rows = list(range(len(lane.bars))) if stairs else pack([self._extent(b, canvas) for b in lane.bars])
        count = max(self.rows, default=0) + 1
        self.pad = 0.05 if lane.part is not None else PAD
        # The name of a partitioned window stands above its parts.
        self.above = Heading(self.heading.name).height if lane.part is not None else 0.0
        self.height = max(self.heading.height, self.above + count * ROW) + 2 * self.pad

    def _extent(self, bar: Bar, canvas: Canvas) -> tuple[float, float]:
        first = canvas.x(bar.at if bar.start is None else min(bar.start, bar.at))
        return first - 0.03, (canvas.x(bar.until) - 0.03 if bar.until is not None else WIDTH)

    def draw(self, canvas: Canvas, top: float) -> None:
        self.heading.draw(canvas, top + self.pad)
        if not self.lane.bars:
            canvas.nothing(top + self.pad + self.above + ROW / 2)
        for bar, row in zip(self.lane.bars, self.rows, strict=True):
            self._bar(canvas, bar, top + self.pad + self.above + (row + 0.5) * ROW)

    def _bar(self, canvas: Canvas, bar: Bar, y: float) -> None:
        at = canvas.x(bar.at)
        until = canvas.x(bar.until) if bar.until is not None else WIDTH - EDGE / 2
        canvas.line(at, y, until, y, SOFT, 1.0, zorder=1.5)
        canvas.use("shown")
        if bar.start is not None and bar.end is not None and bar.end >= canvas.start:
            self._span(canvas, bar, y)
        if bar.at >= canvas.start:
            canvas.line(at, y - 0.08, at, y + 0.08, INK, 1.8, zorder=5)
            canvas.use("evaluation")

    def _span(self, canvas: Canvas, bar: Bar, y: float) -> None:
        assert bar.start is not None
        assert bar.end is not None
        last = bar.until is None
        x1, x2 = canvas.x(bar.start), canvas.x(bar.end)
        if x2 - x1 < 0.07:
            x1, x2 = (x1 + x2) / 2 - 0.035, (x1 + x2) / 2 + 0.035
        if bar.start < canvas.start:  # it began before the axis does
            x1 = 0.0
            canvas.use("before")
            canvas.mark(x1 + 0.07, y, "<", 4, color=INK, zorder=5)
        canvas.use("window last" if last else "window")
        canvas.box(x1, y, x2, 0.13, ORANGE if last else PALE_ORANGE)
        for text in (f"{bar.count} tuple{'' if bar.count == 1 else 's'}", str(bar.count)):
            if text_width(text, SMALL) < x2 - x1 - 0.3:
                canvas.text((x1 + x2) / 2, y, text, size=SMALL, ha="center", zorder=6)
                break


# Rows of relations


class Spans(LaneDrawer):
    """Rows of a relation as bars from when they are gained until they are lost."""

    def __init__(self, lane: SpanLane) -> None:
        self.lane = lane
        self.heading = _columns(lane)
        lines = max((s.line for s in lane.spans), default=0) + 1
        self.height = max(self.heading.height, lines * ROW) + 2 * PAD

    def draw(self, canvas: Canvas, top: float) -> None:
        self.heading.draw(canvas, top + PAD)
        if not self.lane.spans:
            canvas.nothing(top + PAD + ROW / 2, self.lane.before)
        for _, group in groupby(self.lane.spans, key=lambda s: s.line):
            line = list(group)
            taken = 0.0
            for k, span in enumerate(line):
                free = canvas.x(line[k + 1].start) if k + 1 < len(line) else WIDTH + RIGHT / 2
                taken = self._row(canvas, span, top + PAD + (span.line + 0.5) * ROW, taken, free)

    def _row(self, canvas: Canvas, span: Span, y: float, taken: float, free: float) -> float:
        """One row; its values stand in its bar, or else behind it or before it, where there is room between its
        neighbours. Gives up to where the line is taken."""
        before = span.start < canvas.start
        x1 = 0.0 if before else canvas.x(span.start)
        x2 = WIDTH - EDGE / 2 if span.end is None else max(canvas.x(span.end), x1 + 0.04)
        answer = self.lane.is_answer
        canvas.box(x1, y, x2, 0.14, MIDDLE_GREEN if answer else PALE_GREEN)
        canvas.use("row answer" if answer else "row")
        if not before:
            canvas.line(x1, y - 0.07, x1, y + 0.07, GREEN, 1.4, zorder=3)
        if span.end is None:
            canvas.mark(x2 - 0.01, y, ">", 5, color=GREEN)
            canvas.use("lasting")
        else:
            canvas.line(x2, y - 0.07, x2, y + 0.07, GREEN, 1.4, zorder=3)
        width = text_width(span.label, SMALL)
        if width < x2 - x1 - 0.14:
            canvas.text(x1 + 0.07, y, span.label, size=SMALL, ha="left", zorder=6)
        elif width < free - x2 - 0.12:
            canvas.text(x2 + 0.06, y, span.label, size=SMALL, ha="left", zorder=6)
            return x2 + 0.06 + width
        elif width < x1 - taken - 0.12:
            canvas.text(x1 - 0.06, y, span.label, size=SMALL, ha="right", zorder=6)
        return x2
