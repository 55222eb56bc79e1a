"""`astralq draw`: the queries of a file as a picture, computed by the model."""

from __future__ import annotations

from pathlib import Path

from astralq.cli.output import write_all
from astralq.cli.progress import progress
from astralq.cli.scripts import Source, blamed_on, shown
from astralq.draw.describe import Shown, describe
from astralq.draw.picture import Picture, PictureError, check_suffix
from astralq.model.files import read_sources
from astralq.timeline import Instant


def draw_file(source: Source, out: Path, until: Instant | None) -> None:
    """Draws all queries of a file above each other, and writes the picture."""
    suffix = check_suffix(out)
    queries = source.script.queries
    if not queries:
        raise PictureError(f"{shown(source.file)} has no query to draw", hint="declare sources, then write a query")
    with progress() as tell, blamed_on(source.file):
        tell(f"drawing {shown(source.file)}")
        end = until or source.wishes.until
        scene = describe(
            [Shown(q.operator, q.text, read_sources(q.operator, source.folder), q.t0, end) for q in queries]
        )
        contents = Picture(scene).bytes(suffix)

    def write(path: Path) -> None:
        path.write_bytes(contents)

    write_all({out: write})
