"""Panes that several queries have in common: partial values by group and pane, from which each window is answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from astralq.algebra.panes import CommonPanes, PaneGrid
from astralq.algebra.relational import GroupBy
from astralq.algebra.windows import Window, unbounded
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.aggregate.limbs import Layout
from astralq.plan.aggregate.partials import Plan
from astralq.plan.columns import Column, col, columns, lit, long
from astralq.plan.encoding.tables import INTERVAL, RelationTable, StreamTable, attributes
from astralq.plan.table import Table
from astralq.schema import BIGINT, Attribute, Schema
from astralq.timeline import Instant


@dataclass(frozen=True)
class Panes:
    """What an aggregation is answered from: the panes that its window holds, under its own names, and how its sums
    are cut. Several of a group may come and go together, unless they are `merged`; `in_windows`: into all that a window
    holds, so that a group has but one at a time."""

    rows: Table
    layouts: Mapping[int, Layout]
    merged: bool = False
    in_windows: bool = False


def grouping(common: CommonPanes) -> GroupBy:
    """All keys and aggregates, as if one query had them; over any window, as nobody aggregates a bare stream."""
    keys = tuple((f"k{j}", e) for j, e in enumerate(common.keys))
    return GroupBy(
        Window(common.stream, unbounded()), keys, tuple((f"a{j}", a) for j, a in enumerate(common.aggregates))
    )


def merged_relation(stream: StreamTable, rows: Table, **known: Any) -> RelationTable:
    """The relation of tuples that come and go together and are merged, so that nobody looks at their order; with what
    else is known of it."""
    return RelationTable(
        rows, stream.schema, (), one_batch=True, ordered=False, coalesced=False, pane_aligned=True, **known
    )


def in_panes(common: CommonPanes, stream: StreamTable) -> RelationTable:
    """A stream's tuples from the last instant of their panes on, for as long as a window may need them."""
    ends = {"ft": _last(common.grid)}
    rows = stream.rows.with_columns(ends).with_column("tt", col("ft") + lit(common.age + 1))
    return merged_relation(stream, rows.select(*attributes(stream.schema), "ft", "tt"), lifetime=common.age + 1)


def _last(grid: PaneGrid) -> Column:
    """The last instant of a tuple's pane."""
    cuts = [col("t") + F.pmod(long(c) - col("t"), long(grid.step)) for c in grid.after]
    return cuts[0] if len(cuts) == 1 else F.least(*cuts)


def as_stream(table: Table, t1: Instant) -> tuple[StreamTable, list[str]]:
    """Panes as the tuples of a stream that starts at t1, to put windows over: a pane that ends later is all later.
    Its columns become c0, c1, …, in the order of the names."""
    names = [c for c in table.columns if c not in INTERVAL]
    schema = Schema(tuple(Attribute(n, BIGINT) for n in names))
    later = table.where(col("ft") >= lit(t1))
    tuples = later.select(*(col(n).alias(f"c{k}") for k, n in enumerate(names)), col("ft").alias("t"))
    return StreamTable(tuples, schema, (), one_batch=True), names


def own_panes(op: GroupBy, common: CommonPanes, plans: list[Plan], held: Table, names: list[str]) -> Panes:
    """The panes that a window holds under the names that one aggregation has for its keys and partial values."""
    place = {n: f"c{k}" for k, n in enumerate(names)}
    made = [col(place[f"k{common.keys.index(e)}"]).alias(f"k{j}") for j, (_, e) in enumerate(op.keys)]
    made.append(col(place["there"]).alias("there"))
    for j, (_, a) in enumerate(op.aggregates):
        k = common.aggregates.index(a)
        made += [col(place[p.name]).alias(_renumbered(p.name, k, j)) for p in plans[k].partials]
    rows = held.select(*made, *columns(c for c in held.columns if c in INTERVAL))
    layouts = [plans[common.aggregates.index(a)].layout for _, a in op.aggregates]
    return Panes(rows, {j: cut for j, cut in enumerate(layouts) if cut is not None})


def _renumbered(name: str, k: int, j: int) -> str:
    """The name of a partial value of the k-th aggregate as that of the j-th: s3_1 becomes s0_1."""
    head, _, limb = name.partition("_")
    assert head[1:] == str(k), name
    return f"{head[0]}{j}" + (f"_{limb}" if limb else "")
