"""Words: what is misspelt on the command line is told with what may be meant; one thing, two things."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from typer.core import TyperGroup


class Commands(TyperGroup):
    """The commands; an unknown option is told as an unknown command is, and a query file in place of a command too."""

    def make_context(self, *args: Any, **more: Any) -> Any:
        with _proposed():
            return super().make_context(*args, **more)

    def invoke(self, ctx: Any) -> Any:
        with _proposed():
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0].endswith(".aql") and args[0] not in self.commands:
            ctx.fail(f"No such command {args[0]!r}. Did you mean 'run {args[0]}'?")
        return super().resolve_command(ctx, args)


@contextmanager
def _proposed() -> Iterator[None]:
    try:
        yield
    except Exception as e:
        if type(e).__name__ != "NoSuchOption":  # typer has no public name for it
            raise
        error: Any = e
        likely = f" Did you mean '{error.possibilities[0]}'?" if error.possibilities else ""
        error.message = f"No such option '{error.option_name}'.{likely}"
        error.possibilities = None
        raise


def counted(n: int, what: str) -> str:
    """So many of a thing.

    >>> counted(1, "file"), counted(36, "row")
    ('1 file', '36 rows')
    """
    return f"{n} {what}{'' if n == 1 else 's'}"
