"""What all ways of sharing need: queries with their starts, what is known of sources, and streams without what laws
moved below a window."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from astralq.algebra.base import Operator
from astralq.algebra.observed import Observed, observed
from astralq.algebra.relational import Project, Select
from astralq.algebra.sources import StartedAt
from astralq.expr.conditions import conjuncts
from astralq.expr.nodes import Column, Expr
from astralq.expr.safety import movable
from astralq.laws.optimize import replaced
from astralq.laws.shapes import columns, names, selected, stamps_read
from astralq.timeline import EPOCH, Instant


@dataclass(frozen=True)
class Rooted:
    """One of several queries: its core operators after laws, and its start."""

    name: str
    query: Operator
    t0: Instant | None = None

    @property
    def start(self) -> Instant:
        return EPOCH if self.t0 is None else self.t0


@dataclass(frozen=True)
class Sizes:
    """What is known of sources: rows, rows before starts, and for how long their tuples come."""

    rows: Mapping[str, int] = field(default_factory=dict)
    before: Mapping[tuple[str, Instant], int] = field(default_factory=dict)  # by source and start
    span: int = 0

    def between(self, t0: Instant, t1: Instant) -> dict[str, int]:
        """Of sources, how many tuples are in the half-open interval [t0, t1)."""
        sources = {name for name, _ in self.before}
        known = {n: (self.before.get((n, t0)), self.before.get((n, t1))) for n in sources}
        return {n: b - a for n, (a, b) in known.items() if a is not None and b is not None}


@dataclass(frozen=True)
class Note:
    """What a part of a query is shared with, by which law; or why it is not."""

    query: str
    operator: str
    shared: bool
    how: str
    with_: tuple[str, ...] = ()
    part: str = ""  # what is shared, as text: the same for all that share it

    def __str__(self) -> str:
        others = f" with {', '.join(self.with_)}" if self.with_ else ""
        return f"{self.query}: {self.operator} {'shared' if self.shared else 'not shared'}{others}: {self.how}"


@dataclass
class Shared:
    """Queries with the parts that they share, in the same order as they were given."""

    queries: list[Rooted]
    notes: list[Note] = field(default_factory=list)

    def put(self, query: int, place: int, op: Operator) -> None:
        """Another operator at a place of one of the queries, as `walk` counts."""
        rooted = self.queries[query]
        self.queries[query] = Rooted(rooted.name, replaced(rooted.query, place, op), rooted.t0)


def own_operators(rooted: Rooted) -> Iterator[tuple[int, Operator, Observed]]:
    """The operators of a query, with their places and what is observed of them; not those of views inside it, which
    have their own starts."""
    place = 0
    seen = observed(rooted.query)

    def visit(op: Operator, own: bool) -> Iterator[tuple[int, Operator, Observed]]:
        nonlocal place
        here = place
        place += 1
        if own:
            yield here, op, seen[here][1]
        for child in op.children:
            yield from visit(child, own and not isinstance(op, StartedAt))

    yield from visit(rooted.query, True)


@dataclass(frozen=True)
class Base:
    """A stream below a window, without the projection and the conditions that laws moved there: what was taken off has
    to be done above the window instead."""

    stream: Operator
    names: frozenset[str]  # the attributes that were left
    conditions: tuple[Expr, ...] = ()

    def with_names(self, wanted: Collection[str]) -> Operator:
        """The stream with some of its attributes, in their order."""
        kept = tuple(item for item in columns(self.stream.schema) if item[0] in wanted)
        return self.stream if len(kept) == len(self.stream.schema) else Project(self.stream, kept)

    @property
    def read(self) -> frozenset[str]:
        """The attributes that are read above the window."""
        lower = {n.lower(): n for n in self.stream.schema.names}
        used = {lower[c] for e in self.conditions for c in e.columns if c in lower}
        return self.names | used

    def above(self, window: Operator) -> Operator:
        """What was taken off, over a window of the stream."""
        op = selected(window, list(self.conditions))
        wanted = tuple(item for item in columns(op.schema) if item[0] in self.names)
        return op if len(wanted) == len(op.schema) else Project(op, wanted)


def base_of(stream: Operator, may_move: Callable[[Expr], bool] = lambda _: False) -> Base:
    """A stream without a projection that only leaves attributes out, and without conditions that may stand above."""
    kept = frozenset(stream.schema.names)
    stream = _widest(stream)
    if not isinstance(stream, Select):
        return Base(stream, kept)
    below = _widest(stream.child)
    conditions = conjuncts(stream.condition)
    safe = all(map(movable, conditions))
    stamped = any(stamps_read(c, stream.child.schema) for c in conditions)
    if stamped or any(n not in names(below.schema) for c in conditions for n in c.columns):
        return Base(stream, kept)
    moved = tuple(c for c in conditions if safe and may_move(c))
    left = [c for c in conditions if c not in moved]
    return Base(selected(below, left), kept, moved)


def _widest(stream: Operator) -> Operator:
    """A stream below projections that only leave attributes out."""
    while isinstance(stream, Project) and all(
        isinstance(e, Column) and e.name == name and e.name in stream.child.schema.names for name, e in stream.items
    ):
        stream = stream.child
    return stream
