"""The query files of a command: reads them all, or says all that is wrong with them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from astralq.errors import AstralError, DataError, nearest
from astralq.language import Declared, Script, ScriptError, Statement, read_script
from astralq.timeline import Instant, instant

STDIN = "-"


class CommandError(Exception):
    """What stops a command, as it is told to its user; the sources of a wrong file that nothing is wrong with."""

    def __init__(self, messages: Sequence[str], sources: Sequence[Declared] = ()) -> None:
        super().__init__("\n\n".join(messages))
        self.messages = tuple(messages)
        self.sources = tuple(sources)


@dataclass(frozen=True)
class Wishes:
    """How a file wants to be run, unless the command line says otherwise: its dialect, and an instant to stop at.

    They stand in the comments at its top, as `-- dialect: cql` and `-- until: 2026-03-01T12:00:00Z`.
    """

    dialect: str = "astral"
    until: Instant | None = None


@dataclass(frozen=True)
class Source:
    """A query file that has been read: its name as it was given, and the folder that its paths are relative to."""

    file: str
    folder: Path
    script: Script
    wishes: Wishes = field(default_factory=Wishes)
    text: str = field(default="", repr=False)


_WISH = re.compile(r"--\s*(dialect|until)\s*:\s*(\S+)\s*", re.IGNORECASE)


def wishes(text: str) -> Wishes:
    """What the comments at the top of a file ask for.

    >>> wishes("-- Bids in ticks of a second.\\n-- dialect: cql\\nSET TICK 1 SECOND;").dialect
    'cql'
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("--"):
            break
        if match := _WISH.fullmatch(line.strip()):
            found[match[1].lower()] = match[2]
    until = instant(found["until"]) if "until" in found else None
    return Wishes(found.get("dialect", "astral").lower(), until)


def read_all(
    files: Sequence[str], dialect: str | None, *, asked: bool = False, bind: Sequence[str] = ()
) -> list[Source]:
    """Reads and binds all files; if any is wrong, an error with everything that is wrong in all of them.

    `asked`: a file without a query is wrong, too; `bind` has sources of declared names.
    """
    sources = []
    messages: list[str] = []
    declared: list[Declared] = []
    for file in files:
        try:
            with errors_of(file):
                folder = Path() if file == STDIN else Path(file).parent
                text = _text(file)
                wished = wishes(text)
                script = read_script(text, dialect or wished.dialect, bind=bind, folder=folder)
                source = Source(file, folder, script, wished, text)
                if asked:
                    check_asked(source)
                sources.append(source)
        except CommandError as e:
            messages += e.messages
            declared += e.sources
    if messages:
        raise CommandError(messages, declared)
    return sources


def check_asked(source: Source) -> None:
    """A file of declarations only asks nothing."""
    if not source.script.queries:
        raise DataError("there is no query", hint="declare sources, then write a query")


@contextmanager
def errors_of(file: str, query: Statement | None = None) -> Iterator[None]:
    """Errors raised inside become those of a file, or of one of its queries."""
    try:
        yield
    except ScriptError as e:
        raise CommandError([f"{shown(file)}: {one}" for one in e.errors], e.sources) from e
    except AstralError as e:
        raise CommandError([f"{place(file, query)}: {e}"]) from e


def place(file: str, query: Statement | None) -> str:
    """Where a message is about: a file, or one of its queries."""
    return shown(file) if query is None else f"{shown(file)}: query {query.number}, line {query.line}"


def shown(file: str) -> str:
    """What a file is called."""
    return "standard input" if file == STDIN else file


def _text(file: str) -> str:
    try:
        if file == STDIN:
            return sys.stdin.read()
        return Path(file).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        folder = Path(file).parent
        names = [f.name for f in folder.iterdir()] if folder.is_dir() else []
        raise AstralError("there is no such file", hint=nearest(Path(file).name, names)) from None
    except UnicodeDecodeError as e:
        raise AstralError(f"this is not UTF-8 text: {e.reason} at byte {e.start}") from None
    except IsADirectoryError:
        raise AstralError("this is a folder", hint=f"name its files: {file.rstrip('/')}/*.aql") from None
    except OSError as e:
        raise AstralError(f"this cannot be read: {e.strerror or e}") from None
