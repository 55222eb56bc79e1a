"""The query files of a command: reads them all, or says all that is wrong with them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from astralq.errors import AstralError, nearest
from astralq.language import Script, ScriptError, read_script

STDIN = "-"


class CommandError(Exception):
    """What stops a command, as it is told to its user."""

    def __init__(self, messages: Sequence[str]) -> None:
        super().__init__("\n\n".join(messages))
        self.messages = tuple(messages)


@dataclass(frozen=True)
class Source:
    """A query file that has been read: its name as it was given, and the folder that its paths are relative to."""

    file: str
    folder: Path
    script: Script


def read_all(files: Sequence[str], dialect: str) -> list[Source]:
    """Reads and binds all files; if any is wrong, an error with everything that is wrong in all of them."""
    sources = []
    messages: list[str] = []
    for file in files:
        try:
            with blamed_on(file):
                folder = Path() if file == STDIN else Path(file).parent
                sources.append(Source(file, folder, read_script(_text(file), dialect)))
        except CommandError as e:
            messages += e.messages
    if messages:
        raise CommandError(messages)
    return sources


@contextmanager
def blamed_on(file: str) -> Iterator[None]:
    """Errors inside are those of a file."""
    try:
        yield
    except ScriptError as e:
        raise CommandError([f"{shown(file)}: {one}" for one in e.errors]) from e
    except AstralError as e:
        raise CommandError([f"{shown(file)}: {e}"]) from e


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
