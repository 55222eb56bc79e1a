"""How pictures look: colours that colour-blind readers can tell apart (Okabe and Ito), one font, sizes in inches."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

INK = "#222222"
SOFT = "#6b6b6b"
GRID = "#e4e4e4"
RULE = "#b9b9b9"
BLUE = "#0072B2"
ORANGE = "#E69F00"
PALE_ORANGE = "#F8DFA8"
GREEN = "#009E73"
PALE_GREEN = "#BFE3D6"
MIDDLE_GREEN = "#73C8B0"
VERMILION = "#D55E00"
SKY = "#56B4E9"

TEXT = 8.5
SMALL = 7.5
TITLE = 9.5
"""Sizes of letters in points."""

LEFT = 2.3
WIDTH = 8.2
RIGHT = 0.3
EDGE = 0.2
"""The margin for names, the time axis, the right margin, and the room inside the axis before its first instant."""

DPI = 120

_OWN = {
    "font.family": ["DejaVu Sans"],  # comes with matplotlib, so that a picture is the same everywhere
    "font.size": TEXT,
    "text.color": INK,
    "axes.edgecolor": RULE,
    "axes.labelcolor": SOFT,
    "axes.linewidth": 0.8,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelsize": TEXT,
    "ytick.labelsize": TEXT,
    "svg.fonttype": "path",
    "svg.hashsalt": "astralq",
    "text.parse_math": False,  # a $ in a query is a $
}


@contextmanager
def styled() -> Iterator[None]:
    """Matplotlib's own defaults and ours, whatever the user has set; the user's settings are back afterwards."""
    import matplotlib

    settings: Any = {k: v for k, v in matplotlib.rcParamsDefault.items() if not k.startswith("backend")}
    with matplotlib.rc_context(settings | _OWN), warnings.catch_warnings():
        # A letter that the font does not have is a box on the picture, and no news for a terminal.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


@lru_cache(maxsize=4096)
def text_width(text: str, size: float = TEXT, *, bold: bool = False) -> float:
    """How wide a line of text is, in inches."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    properties = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal", size=size)
    width, _, _ = text_to_path.get_text_width_height_descent(text, properties, ismath=False)
    return float(width) / 72


def wrapped(text: str, width: float, size: float = TEXT, *, bold: bool = False) -> list[str]:
    """A text in lines that are at most so wide, broken between words, and inside those that are too long."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if text_width(longer, size, bold=bold) <= width:
            line = longer
            continue
        if line:
            lines.append(line)
        line = word
        while text_width(line, size, bold=bold) > width and len(line) > 1:
            fits = next(
                k for k in range(len(line) - 1, 0, -1) if k == 1 or text_width(line[:k], size, bold=bold) <= width
            )
            lines.append(line[:fits])
            line = line[fits:]
    return [*lines, line] if line else lines or [""]


def line_height(size: float = TEXT) -> float:
    """The distance between two lines of text, in inches."""
    return size * 1.35 / 72
