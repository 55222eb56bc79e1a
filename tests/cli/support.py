"""What the tests of the command line share: query files whose text names a script that is built by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from typer.testing import CliRunner, Result

from astralq.algebra.base import HasOperator
from astralq.algebra.fluent import RelationQuery, StreamQuery
from astralq.algebra.sources import Origin, RelationSource, StreamSource
from astralq.cli.app import app
from astralq.errors import AstralError
from astralq.language import Script, Statement
from astralq.schema import Schema
from astralq.timeline import Instant

READINGS = """sensor,value,ts
1,20.5,1970-01-01T00:00:05Z
2,,1970-01-01T00:00:05Z
1,21.25,1970-01-01T00:00:07.5Z
"""
HEADER = (("header", "true"),)


def readings(path: str = "readings.csv", attributes: str = "sensor INT, value DOUBLE, ts TIMESTAMP") -> StreamQuery:
    return StreamQuery(StreamSource("s", Schema.parse(attributes), "ts", origin=Origin("csv", path, HEADER)))


def stored(attributes: str, path: str) -> RelationQuery:
    return RelationQuery(RelationSource("r", Schema.parse(attributes), origin=Origin("json", path)))


@dataclass
class Desk:
    """A folder with readings, and query files that stand for scripts."""

    folder: Path
    scripts: dict[str, Callable[[], Script]] = field(default_factory=dict)
    dialects: list[str] = field(default_factory=list)

    def read_script(
        self, text: str, dialect: str = "astral", bind: Sequence[str] = (), folder: Path | None = None
    ) -> Script:
        self.dialects.append(dialect)
        return self.scripts[text]()

    def file(
        self, name: str, *queries: HasOperator, t0: Instant | None = None, sinks: Sequence[Origin | None] = ()
    ) -> str:
        """A query file with some queries."""
        into = [*sinks, *(None for _ in queries)]
        bound = [Statement(k, q.operator, t0, name, into[k - 1]) for k, q in enumerate(queries, start=1)]
        self.scripts[name] = lambda: Script(tuple(bound))
        return self._write(name)

    def wrong(self, name: str, error: AstralError) -> str:
        """A query file with an error in it."""

        def fail() -> Script:
            raise error

        self.scripts[name] = fail
        return self._write(name)

    def _write(self, name: str) -> str:
        (self.folder / name).write_text(name)
        return str(self.folder / name)


def astralq(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin, prog_name="astralq")


def printed(*arguments: str) -> str:
    """What a command prints that succeeds, without a word beside it."""
    result = astralq(*arguments)
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    return result.stdout


def refused(*arguments: str) -> str:
    """What a command says that fails, without any other output."""
    result = astralq(*arguments)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    return result.stderr
