"""`astralq new`: a folder to begin with, two queries and the data that they run on."""

from __future__ import annotations

import re
import shlex
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from astralq.errors import AstralError

COMMANDS = (
    "astralq check queries.aql",
    "astralq run queries.aql",
    "astralq start queries.aql --checkpoint checkpoint --once",
)
"""What to type in the new folder; its README says what each does."""


class StarterError(AstralError):
    """A folder that cannot be made."""


def make_starter(name: str) -> str:
    """Makes the folder; what to do next, as it is told to the user."""
    folder = Path(name)
    _check_name(folder.name, name)
    try:
        _check_free(folder)
        folder.mkdir(exist_ok=True)
        _copy(files("astralq.cli") / "starter", folder)
    except OSError as e:
        raise StarterError(f"{name} cannot be made: {e.strerror or e}") from None
    made = sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file())
    listed = "\n".join(f"  {f}" for f in made)
    steps = "\n".join(f"  {command}" for command in (f"cd {shlex.quote(name)}", *COMMANDS))
    return f"{name} is there, with\n{listed}\n\nNext:\n{steps}"


def _check_name(name: str, given: str) -> None:
    """Letters, digits, - _ and . only: all else is something to a shell, or a pattern to a reader of files."""
    if re.fullmatch(r"\w[\w.-]*", name):
        return
    likely = re.sub(r"[^\w.-]+", "-", name).strip("-.")
    hint = f"for example {likely}" if likely else "for example my-sensors"
    raise StarterError(f"{given!r} is no name for a folder of queries", hint=f"use letters, digits, - and _, {hint}")


def _check_free(folder: Path) -> None:
    if not folder.parent.is_dir():
        raise StarterError(f"the folder {folder.parent} does not exist", hint="make it first")
    if folder.is_dir() and any(folder.iterdir()):
        raise StarterError(f"{folder} is there already, and not empty", hint="choose another name")
    if folder.exists() and not folder.is_dir():
        raise StarterError(f"{folder} is a file", hint="choose another name")


def _copy(source: Traversable, target: Path) -> None:
    for item in source.iterdir():
        if item.is_dir():
            (target / item.name).mkdir(exist_ok=True)
            _copy(item, target / item.name)
        else:
            (target / item.name).write_bytes(item.read_bytes())
