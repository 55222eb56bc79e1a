"""The options that several commands have, and what is checked of their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from astralq.errors import AstralError, nearest
from astralq.language.script import DIALECTS


def one_of(what: str, known: Sequence[str]) -> Callable[[str | None], str | None]:
    """A check that an option's value is one of those known, in any case."""

    def check(value: str | None) -> str | None:
        if value is None or value.lower() in known:
            return None if value is None else value.lower()
        meant = nearest(value, known)
        raise typer.BadParameter(f"{value!r} is no {what}; " + (meant or f"use {', '.join(known)}"))

    return check


def pairs(given: list[str] | None) -> list[str]:
    for pair in given or []:
        if not pair.partition("=")[0].strip() or "=" not in pair:
            raise typer.BadParameter(f"{pair!r} is not of the form k=v")
    return given or []


Files = Annotated[list[str], typer.Argument(metavar="FILE", hidden=True)]
File = Annotated[str, typer.Argument(metavar="FILE", hidden=True)]
Checkpoint = Annotated[Path, typer.Argument(metavar="DIR", hidden=True)]
NoLaws = Annotated[bool, typer.Option("--no-laws", help="Run queries as they are written.")]
Without = Annotated[
    list[str] | None, typer.Option(metavar="LAW", help="Leave a law out.", callback=lambda names: _known_laws(names))
]
NoSharing = Annotated[bool, typer.Option("--no-sharing", help="Answer each query for itself.")]
Master = Annotated[str | None, typer.Option(metavar="M", help="Spark's master.")]
Conf = Annotated[list[str] | None, typer.Option(metavar="K=V", help="A setting of Spark.", callback=pairs)]
Remote = Annotated[str | None, typer.Option(metavar="URL", help="A Spark Connect server, sc://host:port.")]
Dialect = Annotated[
    str | None,
    typer.Option(metavar="D", help=" | ".join(DIALECTS), callback=one_of("dialect", DIALECTS)),
]
Bind = Annotated[
    list[str] | None,
    typer.Option(metavar="S", help="A name's source: s TO csv 's.csv'"),
]


def _known_laws(names: list[str] | None) -> list[str]:
    from astralq.laws.optimize import rules_without

    try:
        rules_without(names or ())
    except AstralError as e:
        raise typer.BadParameter(f"{e.message}; {e.hint}" if e.hint else e.message) from None
    return names or []
