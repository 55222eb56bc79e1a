"""Files of answers: written completely or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from astralq.errors import AstralError

Write = Callable[[Path], None]
"""Writes a whole file at a path."""


class OutputError(AstralError):
    """An answer that cannot be written where it should be."""


def make_folder(path: Path) -> None:
    """A folder for the files of several queries, if it is not there yet."""
    try:
        path.mkdir(exist_ok=True)
    except FileExistsError:
        raise OutputError(f"{path} is a file", hint="several queries need a folder for their files") from None
    except FileNotFoundError:
        raise OutputError(f"the folder {path.parent} does not exist", hint="make it first") from None
    except OSError as e:
        raise OutputError(f"the folder {path} cannot be made: {e.strerror or e}") from None


def check_target(target: Path) -> None:
    """An error where a file cannot be written, before anything is computed for it."""
    path = target.resolve()
    if path.is_dir():
        raise OutputError(f"{target} is a folder", hint="give the name of a file")
    if not path.parent.is_dir():
        raise OutputError(f"the folder {path.parent} does not exist", hint="make it first")


def write_all(files: dict[Path, Write]) -> None:
    """Writes every file under another name, and gives them their own names when all are complete.

    What is no ordinary file, a pipe or a device, is written to directly.
    """
    waiting: list[tuple[Path, Path]] = []
    try:
        for target, write in files.items():
            check_target(target)
            path = target.resolve()
            if path.exists() and not path.is_file():
                write(path)
                continue
            temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
            waiting.append((temporary, path))
            write(temporary)
        for temporary, path in waiting:
            temporary.replace(path)
    except OSError as e:
        raise OutputError(f"{e.filename or 'the answer'} cannot be written: {e.strerror or e}") from None
    finally:
        for temporary, _ in waiting:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
