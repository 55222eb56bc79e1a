"""`astralq compare`: one query under the conventions of several systems, as a table and as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from astralq.algebra.base import Operator
from astralq.cli.formats import aligned
from astralq.cli.output import Write
from astralq.cli.scripts import Source, errors_of
from astralq.compare.comparison import Answered, Asked, compare
from astralq.compare.systems import System, systems
from astralq.draw.clock import Clock
from astralq.draw.collect import Collector
from astralq.draw.limits import ends, evaluations_end, listed, readable, received
from astralq.draw.picture import Picture, check_suffix
from astralq.draw.scene import Lane, Panel, Scene
from astralq.draw.words import shortened
from astralq.errors import AstralError, DataError
from astralq.io.files import read_sources
from astralq.language.script import Statement, read_script
from astralq.model.run import prepare
from astralq.printing.answers import Answer
from astralq.schema import STRING, Attribute
from astralq.timeline import Duration, Instant, format_duration

COLUMNS = tuple(Attribute(n, STRING) for n in ("system", "rows", "first difference from astral"))

CHRONONS = (Duration(1_000_000), Duration(60_000_000))
"""The ticks of CQL that are tried unless others are asked for."""


class Comparisons:
    """The queries of a file, each under all conventions."""

    def __init__(
        self, source: Source, chronons: Sequence[Duration], until: Instant | None, bind: Sequence[str] = ()
    ) -> None:
        self.source = source
        self.bind = bind
        self.systems = systems(chronons or CHRONONS)
        self.until = source.wishes.until if until is None else until
        self.asked = [self._asked(q) for q in source.script.queries]
        self.found = [compare(a, self.systems) for a in self.asked]

    def _asked(self, query: Statement) -> Asked:
        with errors_of(self.source.file, query):
            read = read_sources(query.operator, self.source.folder)
            _check_size(ends(query.operator, read, query.t0, self.until)[1])
            data = received(query.operator, read, query.t0, self.until)
            asked = Asked(query.operator, {}, data, query.t0, self.until)
            _check_size(evaluations_end(query.operator, prepare(query.operator, data, query.t0, self.until).ctx)[1])
        dialects = {s: self._in_dialect(s, query.number) for s in self.systems if s.dialect is not None}
        return replace(asked, dialects=dialects)

    def _in_dialect(self, system: System, number: int) -> Operator | AstralError:
        """The query as another dialect reads its text."""
        assert system.dialect is not None
        tick = "" if system.tick is None else f"SET TICK {format_duration(system.tick)};\n"
        try:
            text, folder = tick + self.source.text, self.source.folder
            read = read_script(text, system.dialect, bind=self.bind, only=number, folder=folder)
            return read.queries[0].operator
        except AstralError as e:
            return e

    # ---- words

    def lines(self) -> Iterator[str]:
        """For each query a table, the first differences with their causes, and where the conventions come from."""
        for k, (query, found) in enumerate(zip(self.source.script.queries, self.found, strict=True)):
            if len(self.found) > 1:
                yield from [*([""] if k else []), f"-- query {query.number}"]
            yield from aligned(Answer(query.number, "", COLUMNS, [_summary(f) for f in found]), "iso")
            for one in found:
                yield from _difference(found[0], one)
        yield ""
        yield "conventions"
        for system in self.systems:
            yield f"  {system.name}: {system.source}"

    # ---- picture

    def picture(self, out: Path) -> Write:
        """All answers of each query above each other, on one time axis."""
        suffix = check_suffix(out)
        runs = [
            [(f, prepare(f.operator, a.data, a.t0, a.until)) for f in found if f.operator is not None]
            for a, found in zip(self.asked, self.found, strict=True)
        ]
        start = min(r.ctx.start.t for one in runs for _, r in one)
        end = max(r.ctx.end.t for one in runs for _, r in one)
        clock = Clock(start, end)
        panels = []
        for query, one in zip(self.source.script.queries, runs, strict=True):
            first = Collector(one[0][1], clock)
            panel = first.panel(shortened(query.text))
            answers = [_named(Collector(run, clock).answer(), found.system.name) for found, run in one]
            panels.append(Panel(panel.title, (*panel.lanes[:-1], *answers)))
        contents = Picture(readable(Scene(tuple(panels), start, end))).contents(suffix)

        def write(path: Path) -> None:
            path.write_bytes(contents)

        return write


def _check_size(gone: Sequence[str]) -> None:
    """An error if the model would compute for too long: what would have to be left out."""
    if gone:
        raise DataError(
            f"too much to compare: {listed(gone)} would have to be left out",
            hint="compare a part of them: --until T ends it earlier, START AT begins it later",
        )


def _named(lane: Lane, name: str) -> Lane:
    return replace(lane, name=name)


def _summary(found: Answered) -> tuple[str, str, str]:
    if found.refused is not None:
        return found.system.name, "", f"cannot be asked: {found.refused}"
    if found.differs_at is None:
        return found.system.name, str(len(found.rows)), "" if found.system.name == "astral" else "none"
    because = " and ".join(c.about for c in found.because) or "what it is"
    return found.system.name, str(len(found.rows)), f"row {found.differs_at + 1}, by {because}"


def _difference(base: Answered, found: Answered) -> Iterator[str]:
    if found.differs_at is None:
        return
    yield ""
    yield f"{found.system.name} differs first in row {found.differs_at + 1}"
    for one in (base, found):
        there = found.differs_at < len(one.rows)
        shown = "nothing more"
        if there:
            names = [a.name for a in one.columns]
            shown = ", ".join(f"{n} {v}" for n, v in zip(names, one.rows[found.differs_at], strict=True))
        yield f"  {one.system.name}: {shown}"
    for choice in found.because:
        yield f"  because of {choice}"
    if not found.because and found.operator is not None and base.operator is not None:
        yield f"  because it is a {found.operator.kind.value} there, and a {base.operator.kind.value} in astral"
