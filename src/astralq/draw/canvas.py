"""A sheet of paper in inches, y downwards: the one coordinate system in which a time axis and its lanes are drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from astralq.draw.scene import Scene
from astralq.draw.style import EDGE, INK, SMALL, SOFT, TEXT, WIDTH
from astralq.timeline import Instant

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass
class Canvas:
    """Draws on axes whose units are inches, at instants; remembers which marks were used, for the legend."""

    axes: Axes
    start: Instant
    end: Instant
    used: dict[str, None] = field(default_factory=dict)

    @staticmethod
    def of(axes: Axes, scene: Scene) -> Canvas:
        return Canvas(axes, scene.start, scene.end)

    def x(self, t: Instant) -> float:
        """Where an instant is; those outside the axis are at its ends."""
        if self.start == self.end:
            return WIDTH / 2
        share = (min(max(t, self.start), self.end) - self.start) / (self.end - self.start)
        return EDGE + share * (WIDTH - 2 * EDGE)

    def use(self, mark: str) -> None:
        self.used[mark] = None

    def text(self, x: float, y: float, text: str, *, size: float = TEXT, color: str = INK, **more: Any) -> None:
        self.axes.text(x, y, text, fontsize=size, color=color, clip_on=False, **{"va": "center", **more})

    def nothing(self, y: float, before: int = 0) -> None:
        """For a lane that is empty; so many of its marks were before the axis begins."""
        words = f"nothing here; {before:,} before" if before else "nothing"
        self.text(EDGE, y, words, size=SMALL, color=SOFT, style="italic")

    def line(self, x1: float, y1: float, x2: float, y2: float, color: str, width: float, **more: Any) -> None:
        self.axes.plot([x1, x2], [y1, y2], color=color, linewidth=width, **{"solid_capstyle": "butt", **more})

    def box(self, x1: float, y: float, x2: float, height: float, color: str, **more: Any) -> None:
        """A filled bar around a middle line."""
        from matplotlib.patches import Rectangle

        settings = {"facecolor": color, "edgecolor": "none", "linewidth": 0.8, "zorder": 2, **more}
        self.axes.add_patch(Rectangle((x1, y - height / 2), x2 - x1, height, **settings))

    def mark(self, x: float, y: float, marker: str, size: float, **more: Any) -> None:
        self.axes.plot([x], [y], marker=marker, markersize=size, linestyle="none", **{"zorder": 4, **more})
