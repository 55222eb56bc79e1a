"""From a list of expressions with aggregates in them to an aggregation, and a projection above it where needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from astralq.algebra.base import Operator
from astralq.algebra.bounds import with_bounds
from astralq.algebra.ordering import Chosen, Step
from astralq.algebra.relational import GroupBy, Join, JoinKind, Named, Project, Select
from astralq.algebra.session_bounds import BOUNDS
from astralq.errors import PlanError
from astralq.expr.aggregates import aggregate
from astralq.expr.conditions import conjunction
from astralq.expr.functions import call
from astralq.expr.nodes import Aggregate, Column, Expr
from astralq.schema import INT, TIMESTAMP


def unique(name: str, taken: set[str]) -> str:
    """The name, or name_2, name_3, … where it is taken already."""
    found, k = name, 1
    while found.lower() in taken:
        k += 1
        found = f"{name}_{k}"
    taken.add(found.lower())
    return found


def uniquely_named(items: Sequence[Named]) -> tuple[Named, ...]:
    """The items with repeated names numbered: b, b_2, b_3."""
    taken: set[str] = set()
    return tuple((unique(name, taken), e) for name, e in items)


@dataclass(frozen=True)
class Beside:
    """A relation of which at most one row stands beside a tuple: what a subquery in an expression gives.

    `on` says what of the tuple is equal, by = or <=>, to which of its attributes.
    """

    relation: Operator
    on: tuple[tuple[Expr, str, str], ...] = ()

    @property
    def condition(self) -> Expr:
        schema = self.relation.schema
        return conjunction(call(sign, e, Column(schema[name].type, name)) for e, sign, name in self.on)


def put_beside(relation: Operator, beside: Beside) -> Join:
    """A relation with a row, or NULLs, beside each tuple."""
    return Join(relation, beside.relation, beside.condition, JoinKind.SINGLE)


def group(
    child: Operator,
    keys: Sequence[Named],
    items: Sequence[Named],
    having: Expr | None = None,
    *,
    empty_row: bool = True,
    steps: Sequence[Step] = (),
    beside: Sequence[Beside] = (),
    bounds: bool = False,
) -> Operator:
    """Groups by the keys and computes the items, which are made of keys, aggregates and what stands beside a group.

    max(v) - min(v) becomes an aggregation of both below a projection; orders and choices stand between the two. With
    `bounds` all of these may name window_start and window_end.
    """
    items = uniquely_named(items)
    names = {name.lower(): e for name, e in items}
    taken = {name for name, e in names.items() if isinstance(e, Aggregate) or e in [k for _, k in keys]}
    found: dict[Expr, str] = {}
    unnamed = [*([] if having is None else [having]), *(e for step in steps for e in step.expressions)]
    unnamed += [e for b in beside for e, _, _ in b.on]
    for name, e in (*items, *(("", e) for e in unnamed)):
        for part in e.walk():
            if isinstance(part, Aggregate) and part not in found:
                found[part] = name if part is e and name else unique(f"_{part.function}", taken)
    key_names: dict[Expr, str] = {}
    for name, key in keys:
        shown = next((n for n, e in items if e == key), None)
        key_names[key] = shown if shown is not None else unique(name, taken)
    if not keys and not found and items:
        found[aggregate("count", (), child.readable)] = unique("_count", taken)  # its one row is all that is asked for
    aggregates = tuple((name, a) for a, name in found.items() if isinstance(a, Aggregate))
    grouped = GroupBy(child, tuple((key_names[k], k) for _, k in keys), aggregates, empty_row)
    result: Operator = with_bounds(grouped) if bounds else grouped
    known = {**key_names, **found} | ({Column(TIMESTAMP, name): name for name in BOUNDS} if bounds else {})
    for b in beside:
        result = put_beside(result, replace(b, on=tuple((_above(e, known), sign, n) for e, sign, n in b.on)))
        known |= {Column(a.type, a.name): a.name for a in b.relation.schema}
    if having is not None:
        result = Select(result, _above(having, known))
    for step in steps:
        result = step.over(result, lambda e: _above(e, known))
        if isinstance(step, Chosen) and step.rank is not None:
            known[Column(INT, step.rank)] = step.rank
    above = tuple((name, _above(e, known)) for name, e in items)
    same = [name for name, _ in above] == list(result.schema.names)
    if same and all(isinstance(e, Column) and e.name == name for name, e in above):
        return result
    return Project(result, above)


def as_written(e: Expr, child: Operator) -> Expr:
    """An expression over groups as somebody wrote it: count(*) / count(k), not _count / _count_2.

    >>> from astralq import relation
    >>> means = relation("R", "id INT, v INT").aggregate("sum(v) / count(v) AS mean")
    >>> ((_, mean),) = means.operator.items
    >>> mean, as_written(mean, means.operator.child)
    (_sum / _count, sum(v) / count(v))
    """
    while isinstance(child, Select):
        child = child.child
    if not isinstance(child, GroupBy):
        return e
    made = {name: a for name, a in child.aggregates if name.startswith("_")}
    if isinstance(e, Column):
        return made.get(e.name, e)
    return e.rebuilt(tuple(as_written(c, child) for c in e.children))


def _above(e: Expr, known: dict[Expr, str]) -> Expr:
    """The expression over the groups' rows: aggregates and keys become attributes."""
    name = known.get(e)
    if name is not None:
        return Column(e.type, name)
    if isinstance(e, Column):
        raise PlanError(
            f"{e.name!r} is neither a grouping key nor in an aggregate",
            hint=f"group by {e.name}, or take an aggregate of it, for example max({e.name})",
        )
    return e.rebuilt(tuple(_above(c, known) for c in e.children))
