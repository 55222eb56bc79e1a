"""Aggregations over windows of different size, slide and start that are answered from common panes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from astralq.algebra.base import Operator
from astralq.algebra.panes import CommonPanes, PaneGrid
from astralq.algebra.properties import expressions, properties
from astralq.algebra.relational import GroupBy
from astralq.algebra.schedules import Measure, format_measure
from astralq.algebra.sources import sources_of
from astralq.algebra.windows import Window
from astralq.expr.conditions import conjunction
from astralq.expr.nodes import Aggregate, Column, Expr
from astralq.expr.safety import can_fail, depends_on_order, mergeable
from astralq.laws.estimate import selectivity
from astralq.laws.rules.transposition import is_the_same
from astralq.laws.shapes import selected, stamps_read
from astralq.sharing.common import Base, Note, Rooted, Shared, Sizes, base_of, own_operators
from astralq.sharing.panes import fits_grid, lets_go, needed_for, pane_grid, panes_are_fewer, panes_pay, too_fine
from astralq.timeline import Instant

GROUPS = 100
"""How many groups an aggregation is taken to have, where nobody knows."""

MANY_ROWS = 2**40


@dataclass(frozen=True)
class _Grouped:
    """An aggregation over a window by time, in one of the queries."""

    query: int
    place: int
    op: GroupBy
    window: Window
    base: Base
    t0: Instant

    @property
    def keys(self) -> frozenset[Expr]:
        return frozenset(e for _, e in self.op.keys)

    @property
    def part(self) -> float:
        """About which part of the rows it aggregates: conditions on its keys may stand above it."""
        return selectivity(conjunction(self.base.conditions))

    def answered(self, common: CommonPanes) -> Operator:
        """The aggregation from panes; conditions on its keys stand above it."""
        # A partition changes nothing in a window by time.
        spec = replace(self.window.spec, partition=())
        panes = replace(self.op, child=Window(common.stream, spec), panes=common)
        return selected(panes, list(self.base.conditions))


def share_panes(shared: Shared, sizes: Sizes, *, live: bool) -> None:
    """Gives aggregations over the same stream panes in common, where that is cheaper."""
    by_stream: dict[Operator, list[_Grouped]] = {}
    for k, rooted in enumerate(shared.queries):
        for one in _found(k, rooted, live=live):
            by_stream.setdefault(one.base.stream, []).append(one)
    chosen: list[tuple[_Grouped, CommonPanes]] = []
    for stream, found in by_stream.items():
        for group in _by_keys(found):
            chosen += _from_panes(shared, stream, group, sizes)
    for one, common in sorted(chosen, key=lambda c: -c[0].place):
        shared.put(one.query, one.place, one.answered(common))


def join_panes(shared: Shared, running: Sequence[tuple[Rooted, Instant]]) -> None:
    """Lets aggregations of a new query, the only one, use panes that running queries keep; each of these comes with the
    instant up to which it has answered."""
    (new,) = shared.queries
    kept = {
        op.panes: rooted.name
        for rooted, since in running
        for op in rooted.query.walk()
        if isinstance(op, GroupBy) and op.panes is not None and since < new.start
    }
    for one in reversed(list(_found(0, new, live=True))):
        for common, owner in kept.items():
            if _fits(one, common):
                shared.put(0, one.place, one.answered(common))
                shared.notes.append(Note(new.name, one.op.label, True, _panes_of(common), (owner,), _text(common)))
                break


def _fits(one: _Grouped, common: CommonPanes) -> bool:
    """Whether panes that are there already have all that an aggregation needs."""
    same = base_of(common.stream).stream == one.base.stream and one.base.read <= set(common.stream.schema.names)
    has_all = one.keys <= set(common.keys) and {a for _, a in one.op.aggregates} <= set(common.aggregates)
    spec = one.window.spec
    return same and has_all and fits_grid(spec, one.t0, common.grid) and needed_for(spec, one.t0) <= common.age


def _found(k: int, rooted: Rooted, *, live: bool) -> list[_Grouped]:
    """The aggregations of a query that could be answered from panes."""
    found = []
    for place, op, _ in own_operators(rooted):
        match op:
            case GroupBy(Window() as window) if op.panes is None and _is_mergeable(op, window):
                if live and not lets_go(window.spec):
                    continue  # what never leaves is folded into one value
                keys = {e.name.lower() for name, e in op.keys if isinstance(e, Column) and e.name == name}
                keys = set() if any(map(_may_overflow, (a for _, a in op.aggregates))) else keys
                base = base_of(window.child, lambda c, keys=keys: bool(c.columns) and c.columns <= keys)  # type: ignore[misc]
                wanted = {c for e in expressions(op) for c in e.columns}
                read = frozenset(n for n in base.stream.schema.names if n.lower() in wanted) or base.names
                found.append(_Grouped(k, place, op, window, replace(base, names=read), rooted.start))
    return found


def _is_mergeable(op: GroupBy, window: Window) -> bool:
    """Whether an aggregation depends on nothing but the bag of values of each pane."""
    if not is_the_same(window.child) or not properties(window.child).one_batch_per_instant:
        return False
    if any(not mergeable(a) or depends_on_order(a) for _, a in op.aggregates):
        return False
    return not any(can_fail(e) or stamps_read(e, window.schema) for e in expressions(op))


def _may_overflow(a: Aggregate) -> bool:
    """Whether an aggregate can fail over a group that a condition on the keys would leave out."""
    return a.function in ("sum", "avg") and a.args[0].type.name in ("BIGINT", "DECIMAL")


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


def _from_panes(
    shared: Shared, stream: Operator, group: list[_Grouped], sizes: Sizes
) -> list[tuple[_Grouped, CommonPanes]]:
    """Panes for all of them if that is cheaper, else for as many as it is; of the others it is said why not."""
    rows = min((sizes.rows.get(s.name, MANY_ROWS) for s in sources_of(stream)), default=MANY_ROWS)
    if len(group) == 1:
        return []

    def note(one: _Grouped, why: str) -> None:
        shared.notes.append(Note(shared.queries[one.query].name, one.op.label, False, why))

    fitting = []
    for one in sorted(group, key=lambda g: (g.t0, -getattr(g.window.spec.schedule, "every", 0))):
        grid = pane_grid([(one.window.spec, one.t0)])
        if isinstance(grid, str):
            note(one, grid)
        else:
            fitting.append(one)
    chosen = fitting
    if not _pays(fitting, rows, sizes.span):
        chosen = []
        for one in fitting:
            if not chosen or _pays([*chosen, one], rows, sizes.span):
                chosen.append(one)
            else:
                windows = [(g.window.spec, g.t0) for g in (chosen[0], one)]
                note(one, too_fine(_grid([chosen[0], one]), windows))
    if len({(g.op, g.t0) for g in chosen}) < 2:
        return []
    common = _panes(shared, chosen)
    in_order = sorted(chosen, key=lambda g: g.query)
    users = tuple(dict.fromkeys(shared.queries[g.query].name for g in in_order))
    for g in in_order:
        name = shared.queries[g.query].name
        others = tuple(u for u in users if u != name)
        shared.notes.append(Note(name, g.op.label, True, _panes_of(common), others, _text(common)))
    return [(g, common) for g in chosen]


def _grid(group: Sequence[_Grouped]) -> PaneGrid:
    grid = pane_grid([(g.window.spec, g.t0) for g in group])
    assert not isinstance(grid, str), grid
    return grid


def _pays(group: Sequence[_Grouped], rows: int, span: int) -> bool:
    """Whether panes in common are cheaper than each aggregation for itself."""
    if not group:
        return False
    grid, alone = _grid(group), sum(g.part for g in group)
    if rows < MANY_ROWS and span > 0:
        return panes_pay(grid, len(group), alone, rows, span, GROUPS)
    # Of an endless stream: what an epoch costs whatever it reads is worth more than conditions on keys spare.
    return panes_are_fewer(grid, [(g.window.spec, g.t0) for g in group])


def _panes(shared: Shared, chosen: Sequence[_Grouped]) -> CommonPanes:
    """All keys, all aggregates, from the start of the oldest."""
    oldest = min((shared.queries[g.query] for g in chosen), key=lambda r: r.start)
    finest = sorted(chosen, key=lambda g: -len(g.keys))
    wanted = frozenset().union(*(g.base.read for g in chosen))
    return CommonPanes(
        chosen[0].base.with_names(wanted),
        oldest.t0,
        _grid(chosen),
        tuple(dict.fromkeys(e for g in finest for _, e in g.op.keys)),
        tuple(dict.fromkeys(a for g in chosen for _, a in g.op.aggregates)),
        max((needed_for(g.window.spec, g.t0) for g in chosen if lets_go(g.window.spec)), default=0),
    )


def _panes_of(common: CommonPanes) -> str:
    return f"common panes of {format_measure(Measure.TIME, common.grid.step)}"


def _text(common: CommonPanes) -> str:
    """The panes as a part of a plan."""
    by = f" BY {', '.join(map(str, common.keys))}" if common.keys else ""
    values = ", ".join(map(str, common.aggregates)) or "rows"
    head = f"PANES OF {format_measure(Measure.TIME, common.grid.step)}: {values}{by}"
    first, *rest = str(common.stream).splitlines()
    return "\n".join([head, f"└─ {first}", *(f"   {line}" for line in rest)])
