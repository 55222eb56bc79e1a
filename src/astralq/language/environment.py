"""What a statement can name: sources, views, regions and functions, the start in force, and the dialect."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from astralq.algebra.base import Operator
from astralq.callables import PythonFunction
from astralq.space import Region
from astralq.timeline import Duration, Instant


@dataclass(frozen=True)
class NamedOperator:
    """A source or a view: its name as it was written, and the start in force where it was created."""

    name: str
    operator: Operator | None
    t0: Instant | None
    is_view: bool = False


@dataclass(frozen=True)
class Environment:
    """What a statement can name, and the dialect that it is in."""

    source: str
    dialect: str = "astral"
    t0: Instant | None = None
    tick: Duration = Duration(1_000_000)  # noqa: RUF009  (a number with a type of its own)
    named: dict[str, NamedOperator] = field(default_factory=dict)
    known: dict[str, Region | PythonFunction] = field(default_factory=dict)  # what expressions can name

    def with_named(self, name: str, operator: Operator | None, *, is_view: bool = True) -> Environment:
        """The environment with a source or view; None for one that could not be bound."""
        return replace(self, named={**self.named, name.lower(): NamedOperator(name, operator, self.t0, is_view)})
