"""A picture of queries over their data, to be looked at in a notebook or saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from astralq.algebra.base import HasOperator, Operator, operator_of
from astralq.draw.describe import Shown, describe
from astralq.draw.render import png, svg
from astralq.draw.scene import Scene
from astralq.draw.words import query_text
from astralq.errors import DataError, nearest
from astralq.model.sources import Data
from astralq.timeline import Instant, instant

FORMATS: dict[str, Callable[[Scene, str], bytes]] = {".svg": svg, ".png": png}
"""What a picture can be saved as, by the suffix of its file."""


class PictureError(DataError):
    """A picture that cannot be drawn."""


def check_suffix(path: Path) -> str:
    """The suffix of a picture's file, in lower case; an error if it is none that a picture can have."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        has = f"ends with {path.suffix!r}" if path.suffix else "has no suffix"
        raise PictureError(
            f"{path} {has}, which is no format of a picture",
            hint=(nearest(suffix, FORMATS) if suffix else None) or f"name a file that ends with {' or '.join(FORMATS)}",
        )
    return suffix


@dataclass(frozen=True)
class Picture:
    """A scene and how it is seen: as SVG in a notebook, as SVG or PNG in a file."""

    scene: Scene

    @property
    def title(self) -> str:
        return "; ".join(" ".join(p.title.split()) for p in self.scene.panels)

    @cached_property
    def svg(self) -> str:
        """The picture as the text of an SVG file; the same scene always gives the same text."""
        return svg(self.scene, self.title).decode()

    def contents(self, suffix: str) -> bytes:
        """The contents of a file with a suffix, .svg or .png."""
        return self.svg.encode() if suffix == ".svg" else FORMATS[suffix](self.scene, self.title)

    def save(self, path: str | Path) -> None:
        """Writes the picture as SVG or PNG, by the suffix of the file."""
        target = Path(path)
        contents = self.contents(check_suffix(target))
        try:
            target.write_bytes(contents)
        except OSError as e:
            raise PictureError(f"{target} cannot be written: {e.strerror or e}") from None

    def _repr_svg_(self) -> str:
        return self.svg


def picture(
    query: Operator | HasOperator | Iterable[Operator | HasOperator],
    data: Data,
    *,
    start_at: str | Instant | None = None,
    until: str | Instant | None = None,
) -> Picture:
    """A picture of a query over its data, or of several above each other on one time axis.

    The data are what `astralq.model.run` takes: for each source its rows. The picture goes from the first tuple, or
    from `start_at`, to the last, or to `until`.

    >>> from astralq import instant, rows, stream
    >>> s = stream("S", "v INT, ts TIMESTAMP", timestamp="ts")
    >>> seen = picture(s[rows(2)], {"S": [(v, instant(v * 1_000_000)) for v in (1, 2, 3)]})
    >>> [(dot.label, dot.held.value) for dot in seen.scene.panels[0].lanes[0].dots]
    [('1', 'no longer held'), ('2', 'held at the end'), ('3', 'held at the end')]
    >>> seen.svg.count("</svg>")
    1
    """
    operators = [operator_of(q) for q in (query if isinstance(query, Iterable) else [query])]
    if not operators:
        raise PictureError("there is no query to draw", hint="give at least one")
    t0, end = (None if t is None else instant(t) for t in (start_at, until))
    return Picture(describe([Shown(op, query_text(op), data, t0, end) for op in operators]))
