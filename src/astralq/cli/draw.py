"""`astralq draw`: the queries of a file as a picture, computed by the model."""

from __future__ import annotations

from pathlib import Path

from astralq.cli.output import Write
from astralq.cli.progress import progress
from astralq.cli.scripts import Source, errors_of, shown
from astralq.draw.describe import Shown, describe
from astralq.draw.picture import Picture, PictureError, check_suffix
from astralq.io.files import read_sources
from astralq.timeline import Instant


def drawn(source: Source, out: Path, until: Instant | None) -> Write:
    """All queries of a file above each other, ready to be written in the format that a file's suffix names."""
    suffix = check_suffix(out)
    queries = source.script.queries
    if not queries:
        raise PictureError(f"{shown(source.file)} has no query", hint="declare sources, then write a query")
    end = source.wishes.until if until is None else until
    with progress() as tell, errors_of(source.file):
        tell(f"drawing {shown(source.file)}")
        read = [(q, read_sources(q.operator, source.folder)) for q in queries]
        scene = describe([Shown(q.operator, q.text, data, q.t0, end) for q, data in read])
        contents = Picture(scene).contents(suffix)

    def write(path: Path) -> None:
        path.write_bytes(contents)

    return write
