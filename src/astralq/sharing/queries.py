"""Which parts of several queries are computed once for all of them, by which law, and why others are not.

A window by rows that an older query has serves younger ones (transposition). Aggregations over windows of different
size, slide and start are answered from common panes. What queries select on top of the shared part stays theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from astralq.algebra.base import Operator
from astralq.algebra.observed import Observed, observed
from astralq.algebra.panes import CommonPanes
from astralq.algebra.properties import expressions
from astralq.algebra.relational import GroupBy, Project
from astralq.algebra.retention import holds_all_at_once
from astralq.algebra.schedules import Measure, format_measure
from astralq.algebra.sources import StartedAt, StreamSource, sources_of
from astralq.algebra.windows import Window
from astralq.expr.nodes import SPATIAL_AGGREGATES, Aggregate, Column
from astralq.expr.safety import can_fail, mergeable
from astralq.laws.optimize import replaced
from astralq.laws.rule import Site
from astralq.laws.rules.transposition import Started, is_the_same, served
from astralq.laws.shapes import columns, stamps_read
from astralq.sharing.panes import lets_go, needed_for, pane_grid, panes_pay, too_fine
from astralq.timeline import EPOCH, Instant

GROUPS = 100
"""How many groups an aggregation is taken to have, where nobody knows."""


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
        names = {name for name, _ in self.before}
        known = {n: (self.before.get((n, t0)), self.before.get((n, t1))) for n in names}
        return {n: b - a for n, (a, b) in known.items() if a is not None and b is not None}


@dataclass(frozen=True)
class Note:
    """What a part of a query is shared with, by which law; or why it is not."""

    query: str
    operator: str
    shared: bool
    how: str
    with_: tuple[str, ...] = ()


@dataclass
class Shared:
    """Queries with the parts that they share, in the same order as they were given."""

    queries: list[Rooted]
    notes: list[Note] = field(default_factory=list)


def share(queries: Sequence[Rooted], sizes: Sizes | None = None) -> Shared:
    """The queries, rewritten so that what they can share is the same in all of them."""
    sizes = sizes or Sizes()
    shared = Shared(list(queries))
    _share_panes(shared, sizes)
    _share_windows(shared, sizes)
    return shared


# Windows over narrowed streams: laws leave columns out that a query does not read


def _base(stream: Operator) -> tuple[Operator, frozenset[str]]:
    """A stream without a projection that only leaves attributes out, and the attributes that it keeps."""
    match stream:
        case Project(child, items) if all(isinstance(e, Column) and e.name == name for name, e in items):
            inner, _ = _base(child)
            if all(name in inner.schema.names for name, _ in items):
                return inner, frozenset(name for name, _ in items)
    return stream, frozenset(stream.schema.names)


def _widened(base: Operator, names: frozenset[str]) -> Operator:
    """A stream with some of its attributes, in their order."""
    kept = tuple(item for item in columns(base.schema) if item[0] in names)
    return base if len(kept) == len(base.schema) else Project(base, kept)


# Common panes


@dataclass(frozen=True)
class _Grouped:
    """An aggregation over a window by time, in one of the queries."""

    query: int
    place: int  # of the operator, as `walk` counts
    op: GroupBy
    window: Window
    t0: Instant

    @property
    def keys(self) -> frozenset[object]:
        return frozenset(e for _, e in self.op.keys)


def _share_panes(shared: Shared, sizes: Sizes) -> None:
    by_base: dict[Operator, list[_Grouped]] = {}
    for k, rooted in enumerate(shared.queries):
        for place, op in enumerate(rooted.query.walk()):
            if _no_panes(op) is not None:
                continue
            assert isinstance(op, GroupBy)
            assert isinstance(op.child, Window)
            base, _ = _base(op.child.child)
            if not _inside_another(rooted.query, place):
                by_base.setdefault(base, []).append(_Grouped(k, place, op, op.child, rooted.start))
    for base, found in by_base.items():
        for group in _by_keys(found):
            _use_panes(shared, base, group, sizes)


def _inside_another(query: Operator, place: int) -> bool:
    """Whether the operator at a place belongs to a view with its own start."""
    first = 0
    while place > first:
        if isinstance(query, StartedAt):
            return True
        first += 1
        for child in query.children:
            size = sum(1 for _ in child.walk())
            if place < first + size:
                query = child
                break
            first += size
    return False


def _no_panes(op: Operator) -> str | None:
    """Why an operator is not an aggregation that could be answered from panes."""
    match op:
        case GroupBy(Window(stream, _) as window):
            if not is_the_same(stream) or not _one_batch(stream):
                return "its stream depends on where it starts, or has several batches at an instant"
            if any(not mergeable(a) or _looks_at_order(a) for _, a in op.aggregates):
                return "an aggregate does not merge"
            exprs = expressions(op)
            if any(can_fail(e) or stamps_read(e, window.schema) for e in exprs):
                return "an expression can fail, or reads a stamp"
            return None
    return "no aggregation over a window"


def _one_batch(stream: Operator) -> bool:
    return all(
        isinstance(op, StreamSource) and op.timestamp is not None and op.batch_by is None and not op.batch_each_row
        for op in stream.walk()
        if not op.children
    ) and all(type(op).__name__ != "Spread" for op in stream.walk())


def _looks_at_order(a: Aggregate) -> bool:
    return a.function in ("first", "last", *SPATIAL_AGGREGATES)


def _by_keys(found: Sequence[_Grouped]) -> list[list[_Grouped]]:
    """Those whose panes the finest of them has: its keys are all that the others have, and more."""
    groups: list[list[_Grouped]] = []
    for one in sorted(found, key=lambda g: -len(g.keys)):
        for group in groups:
            if one.keys <= group[0].keys:
                group.append(one)
                break
        else:
            groups.append([one])
    return groups


def _use_panes(shared: Shared, base: Operator, group: list[_Grouped], sizes: Sizes) -> None:
    """Panes for as many of them as it is cheaper for; the others are told why not."""
    rows = min((sizes.rows.get(s.name, 2**40) for s in sources_of(base)), default=2**40)
    chosen: list[_Grouped] = []
    for one in sorted(group, key=lambda g: (g.t0, -_slide(g.window))):
        windows = [(g.window.spec, g.t0) for g in (*chosen, one)]
        grid = pane_grid(windows)
        if isinstance(grid, str):
            shared.notes.append(Note(_name(shared, one), one.op.label, False, grid))
        elif len(windows) > 1 and not panes_pay(grid, len(windows), rows, sizes.span, GROUPS):
            shared.notes.append(Note(_name(shared, one), one.op.label, False, too_fine(grid, windows[-2:])))
        else:
            chosen.append(one)
    if len({(g.op, g.t0) for g in chosen}) < 2:
        return
    grid = pane_grid([(g.window.spec, g.t0) for g in chosen])
    assert not isinstance(grid, str)
    oldest = min((shared.queries[g.query] for g in chosen), key=lambda r: r.start)
    finest = max(chosen, key=lambda g: len(g.keys))
    names = frozenset().union(*(_base(g.window.child)[1] for g in chosen))
    common = CommonPanes(
        _widened(base, names),
        oldest.t0,
        grid,
        tuple(e for _, e in finest.op.keys),
        tuple(dict.fromkeys(a for g in chosen for _, a in g.op.aggregates)),
        max((needed_for(g.window.spec, g.t0) for g in chosen if lets_go(g.window.spec)), default=0),
    )
    users = tuple(dict.fromkeys(_name(shared, g) for g in chosen))
    for g in sorted(chosen, key=lambda g: -g.place):
        rooted = shared.queries[g.query]
        noted = replaced(rooted.query, g.place, replace(g.op, panes=common))
        shared.queries[g.query] = Rooted(rooted.name, noted, rooted.t0)
        others = tuple(u for u in users if u != _name(shared, g))
        shared.notes.append(Note(_name(shared, g), g.op.label, True, f"common panes of {_step(common)}", others))


def _step(common: CommonPanes) -> str:
    return format_measure(Measure.TIME, common.grid.step)


def _slide(window: Window) -> int:
    return getattr(window.spec.schedule, "every", 0)


def _name(shared: Shared, one: _Grouped | _Held) -> str:
    return shared.queries[one.query].name


# Windows by rows


@dataclass(frozen=True)
class _Held:
    """A window whose tuples are numbered, in one of the queries."""

    query: int
    place: int
    window: Window
    base: Operator
    names: frozenset[str]
    t0: Instant
    seen: Observed

    def over(self, stream: Operator) -> Started:
        return Started(Window(stream, self.window.spec), self.t0)


def _share_windows(shared: Shared, sizes: Sizes) -> None:
    """Windows by rows of equal streams: the oldest that fits serves the others."""
    by_base: dict[Operator, list[_Held]] = {}
    for k, rooted in enumerate(shared.queries):
        for place, (op, seen) in enumerate(observed(rooted.query)):
            if isinstance(op, Window) and _is_numbered(op) and not _inside_another(rooted.query, place):
                base, names = _base(op.child)
                by_base.setdefault(base, []).append(_Held(k, place, op, base, names, rooted.start, seen))
    made: dict[tuple[int, int], Operator] = {}
    for base, found in by_base.items():
        if len(found) > 1:
            made |= _served(shared, base, sorted(found, key=lambda h: (h.t0, h.query)), sizes)
    for (query, place), op in sorted(made.items(), reverse=True):
        rooted = shared.queries[query]
        shared.queries[query] = Rooted(rooted.name, replaced(rooted.query, place, op), rooted.t0)


def _is_numbered(op: Window) -> bool:
    return op.spec.measures != {Measure.TIME} and not holds_all_at_once(op.spec)


def _served(shared: Shared, base: Operator, found: list[_Held], sizes: Sizes) -> dict[tuple[int, int], Operator]:
    servers: dict[int, tuple[_Held, list[tuple[_Held, bool]]]] = {}
    for k, new in enumerate(found):
        for j, (old, users) in servers.items():
            site = Site(new.seen)
            before = sizes.between(old.t0, new.t0)
            same = old.t0 == new.t0 and old.window.spec == new.window.spec
            if same or (new.t0 > old.t0 and _fits(old, new, base, site, before)):
                servers[j][1].append((new, same))
                break
            for r in site.refusals:
                shared.notes.append(Note(_name(shared, new), new.window.label, False, r.why, (_name(shared, old),)))
            assert users is not None
        else:
            servers[k] = (new, [])
    made: dict[tuple[int, int], Operator] = {}
    for old, users in servers.values():
        if users:
            made |= _from_one(shared, base, old, users)
    return made


def _fits(old: _Held, new: _Held, base: Operator, site: Site, before: Mapping[str, int]) -> bool:
    if new.seen.phi or "_n" in new.seen.columns:
        site.require("φ is not observed", False, "somebody above looks at φ itself", new.window.label)
        return False
    return served(old.over(base), new.over(base), site, before) is not None


def _from_one(
    shared: Shared, base: Operator, old: _Held, users: Sequence[tuple[_Held, bool]]
) -> dict[tuple[int, int], Operator]:
    """The older window over all attributes that any of them reads, and each younger one made of it."""
    stream = _widened(base, old.names.union(*(new.names for new, _ in users)))
    first = old.over(stream)
    # Of the same start the windows are equal as they stand; else all name the start of the oldest.
    oldest: Operator = first.window
    if not all(same for _, same in users):
        oldest = StartedAt(first.window, shared.queries[old.query].t0)
    made = {(old.query, old.place): _narrowed(oldest, old)}
    for new, same in users:
        window = oldest if same else _younger(first, new, stream, oldest)
        made[new.query, new.place] = _narrowed(window, new)
        law = "the same window" if same else "transposition (001 P9)"
        shared.notes.append(Note(_name(shared, new), new.window.label, True, law, (_name(shared, old),)))
    return made


def _younger(first: Started, new: _Held, stream: Operator, oldest: Operator) -> Operator:
    """A younger window made of the oldest one; that it can be was found out before."""
    window = served(first, new.over(stream), Site(new.seen, forced=_ALREADY))
    assert window is not None
    return window.transform(lambda op: oldest if isinstance(op, StartedAt) else op)


_ALREADY = ("K is a whole number", "the same bounds")
"""Side conditions that were looked at with the number of tuples before the start."""


def _narrowed(op: Operator, held: _Held) -> Operator:
    """With the attributes that the query had there."""
    wanted = tuple(item for item in columns(op.schema) if item[0] in held.names)
    return op if len(wanted) == len(op.schema) else Project(op, wanted)
