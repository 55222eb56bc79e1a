"""Panes that several queries have in common: partial values by group and pane, from which each window is answered."""

from __future__ import annotations

from dataclasses import dataclass

from astralq.algebra.relational import GroupBy
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.aggregate.layouts import Layouts, layouts
from astralq.plan.aggregate.partials import Plan, plan
from astralq.plan.columns import Column, col, columns, lit, long
from astralq.plan.encoding.scan import MERGES
from astralq.plan.encoding.tables import INTERVAL, StreamTable, attributes
from astralq.plan.operators.expressions import Names, compiled
from astralq.plan.run import Run
from astralq.plan.table import Assumed, Table
from astralq.schema import BIGINT, Attribute, Schema
from astralq.sharing.panes import CommonPanes, PaneGrid
from astralq.timeline import Instant


@dataclass(frozen=True)
class Panes:
    """What an aggregation is answered from: the panes that its window holds, under its own names, and how its sums
    are cut."""

    rows: Table
    layouts: Layouts


def panes(common: CommonPanes, stream: StreamTable, run: Run) -> tuple[Table, Layouts, list[Plan]]:
    """One row for each group and pane: keys k0, …, the pane's last instant as t, and partial values."""
    names = Names(common.stream.schema, attributes(stream.schema), ())
    keys = [f"k{j}" for j in range(len(common.keys))]
    made = [compiled(e, names).alias(k) for k, e in zip(keys, common.keys, strict=True)]
    made += [compiled(a.args[0], names).alias(f"v{j}") for j, a in enumerate(common.aggregates) if a.args]
    rows: Table = stream.rows.select(*made, _last(common.grid).alias("t"))
    cut = layouts(common.aggregates, rows, run, below=common.stream)
    plans = [plan(j, a, cut.by_place.get(j), ()) for j, a in enumerate(common.aggregates)]
    partials = {p.name: p for one in plans for p in one.partials}
    rows = rows.select(*keys, "t", long(1).alias("there"), *(p.value.alias(name) for name, p in partials.items()))
    if cut.assumed:
        rows = Assumed(rows)
    merged = [F.sum("there").alias("there"), *(MERGES[p.merge](col(n)).alias(n) for n, p in partials.items())]
    return rows.group_by(*keys, "t").agg(*merged), cut, plans


def _last(grid: PaneGrid) -> Column:
    """The last instant of a tuple's pane."""
    cuts = [col("t") + F.pmod(long(c) - col("t"), long(grid.step)) for c in grid.after]
    return cuts[0] if len(cuts) == 1 else F.least(*cuts)


def as_stream(table: Table, t1: Instant) -> tuple[StreamTable, list[str]]:
    """Panes as the tuples of a stream that starts at t1, to put windows over: a pane that ends later is all later.
    Its columns become c0, c1, …, in the order of the names."""
    names = [c for c in table.columns if c != "t"]
    schema = Schema(tuple(Attribute(n, BIGINT) for n in names))
    later = table.where(col("t") >= lit(t1))
    return StreamTable(
        later.select(*(col(n).alias(f"c{k}") for k, n in enumerate(names)), "t"), schema, (), one_batch=True
    ), names


def own_panes(
    op: GroupBy, common: CommonPanes, cut: Layouts, plans: list[Plan], held: Table, names: list[str]
) -> Panes:
    """The panes that a window holds under the names that one aggregation has for its keys and partial values."""
    place = {n: f"c{k}" for k, n in enumerate(names)}
    made = [col(place[f"k{common.keys.index(e)}"]).alias(f"k{j}") for j, (_, e) in enumerate(op.keys)]
    made.append(col(place["there"]).alias("there"))
    for j, (_, a) in enumerate(op.aggregates):
        k = common.aggregates.index(a)
        made += [col(place[p.name]).alias(_renumbered(p.name, k, j)) for p in plans[k].partials]
    rows = held.select(*made, *columns(c for c in held.columns if c in INTERVAL))
    places = [common.aggregates.index(a) for _, a in op.aggregates]
    mine = {j: cut.by_place[k] for j, k in enumerate(places) if k in cut.by_place}
    return Panes(rows, Layouts(mine, cut.assumed))


def _renumbered(name: str, k: int, j: int) -> str:
    """The name of a partial value of the k-th aggregate as that of the j-th: s3_1 becomes s0_1."""
    head, _, limb = name.partition("_")
    assert head[1:] == str(k), name
    return f"{head[0]}{j}" + (f"_{limb}" if limb else "")
