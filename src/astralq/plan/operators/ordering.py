"""ORDER BY and LIMIT: order columns that sort ascending with NULLs first, and places of rows in each state.

A state is the same between two changes, so that places are counted once for each elementary interval of a group. Where
changes come in steps, each step will do. Where all rows that meet have the same interval, as where windows tumble, the
interval itself says which rows are together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from astralq.algebra.ordering import Limit, OrderBy, SortKey
from astralq.algebra.properties import Grid
from astralq.expr.nodes import Column as Attribute
from astralq.expr.nodes import Expr
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.aggregate.elementary import Elementary
from astralq.plan.columns import Column, Window, col, columns, lit
from astralq.plan.encoding.descending import reversed_columns
from astralq.plan.encoding.scan import equal
from astralq.plan.encoding.tables import Key, RelationTable, attributes, relabelled
from astralq.plan.operators.expressions import Names, compiled
from astralq.plan.run import Run
from astralq.plan.table import Table
from astralq.plan.windows.arithmetic import quotient_down
from astralq.plan.windows.bounds import LookedAt


def order_by(op: OrderBy, relation: RelationTable) -> RelationTable:
    """φ becomes (x, φ); rows and intervals stay."""
    phi, order = relabelled(relation.phi)
    kept = [*columns(attributes(relation.schema)), *columns(relation.stamp), *columns(relation.interval_columns)]
    names = Names(op.child.schema, attributes(relation.schema), relation.stamp)
    made = _sort_columns(op.keys, names)
    rows = relation.rows.select(*kept, *order, *(c.alias(f"q{k}") for k, c in enumerate(made)))
    phi, order = relabelled((*(Key(f"q{k}") for k in range(len(made))), *phi))
    return replace(relation, rows=rows.select(*kept, *order), phi=phi)


def _sort_columns(keys: Sequence[SortKey], names: Names) -> list[Column]:
    """Columns that sort as the keys do, ascending with NULLs first: so that every order of φ is one of columns."""
    found: list[Column] = []
    for key in keys:
        value = compiled(key.expr, names)
        found += [] if key.nulls_first else [value.is_null()]
        found += reversed_columns(value, key.expr.type) if key.descending else [value]
    return found


def limit(op: Limit, relation: RelationTable, run: Run, looked_at: LookedAt, *, at_once: bool) -> RelationTable:
    """The rows at some places of each group, in each state; `at_once`: it is known that rows that meet have the
    same interval."""
    names = Names(op.child.schema, attributes(relation.schema), relation.stamp)
    found = [_column(e, names, relation) for e in op.per]
    rows = relation.rows.with_columns(
        {f"g{k}": compiled(e, names) for k, (e, c) in enumerate(zip(op.per, found, strict=True)) if c is None}
    )
    per = [c or f"g{k}" for k, c in enumerate(found)]
    turn = _turn(op, relation, names, per)
    kept = list(dict.fromkeys([*attributes(relation.schema), *relation.order, *relation.stamp]))
    bounds = relation.interval_columns
    one_step = relation.grid is not None and relation.lifetime == relation.grid.every
    if relation.one_batch and (at_once or one_step):
        run.choices.note(op.label, "places in each window", "rows that hold at the same time have the same interval")
        chosen = _in_each_window(rows, relation, per, turn, op)
        result = replace(relation, append_only=False)
    elif relation.one_batch and relation.grid is not None and looked_at.is_known_from(run.t0):
        run.choices.note(op.label, "places in each step", "states change at the evaluations of its windows only")
        rows = _first_of_panes(op, relation, rows, per, turn)
        pieces = _in_steps(rows, relation.grid, looked_at.first, run.end)
        chosen = _at_places(pieces, [*per, "ft"], turn, op)
        result = replace(relation.in_pieces(chosen), coalesced=False)
    else:
        run.choices.note(op.label, "places in each elementary interval", "a row's place changes with each other row")
        rows = run.materialized(_first_of_panes(op, relation, rows, per, turn))
        elementary = Elementary.of([rows], per, run, one_batch=relation.one_batch)
        ranked = _at_places(elementary.members(rows), [*per, "e"], turn, op)
        spans = elementary.intervals.select(
            *(col(c).alias(f"_{c}") for c in per), col("e").alias("_e"), *columns(bounds)
        )
        same = equal(columns(per), columns(f"_{c}" for c in per)) & (col("e") == col("_e"))
        chosen = ranked.join(spans, same)
        result = replace(relation.in_pieces(chosen), coalesced=False)
    shown = [] if op.rank is None else [col("_rank").alias(f"c{len(relation.schema)}")]
    return replace(
        result,
        rows=chosen.select(*columns(kept), *shown, *columns(bounds)),
        schema=op.schema,
        one_row_per_phi=relation.one_row_per_phi and op.rank is None,
    )


def _in_each_window(
    rows: Table, relation: RelationTable, per: Sequence[str], turn: Sequence[Column], op: Limit
) -> Table:
    """At places among the rows of a group that begin together, of which the ends are the same, too.

    Rows come about in the order of time: by that first, they are sorted sooner. Spark compares a first column of whole
    numbers much faster than others: where rows begin in steps, it tells most groups apart as well, as there is room for
    a hash between two steps.
    """
    grid, lifetime = relation.grid, relation.lifetime
    # Where ends follow, they need not be carried along.
    ends = {"tt": col("ft") + lit(lifetime)} if lifetime is not None else {}
    carried = rows.select(*(c for c in rows.columns if c not in ends))
    hashed = [c for c, e in zip(per, op.per, strict=True) if e.type.name in _HASHED]
    if grid is None or grid.every != lifetime or not hashed:
        return _at_places(carried, ["ft", *per], turn, op).with_columns(ends)
    between = F.pmod(F.expr(f"hash({', '.join(hashed)})"), lit(grid.every))
    chosen = _at_places(carried.with_column("ft", col("ft") + between), ["ft", *per], turn, op)
    begins = col("ft") - F.pmod(col("ft") - lit(grid.origin), lit(grid.every))
    return chosen.with_column("ft", begins).with_columns(ends)


_HASHED = ("INT", "BIGINT", "SMALLINT", "TINYINT", "STRING", "BOOLEAN", "DATE", "TIMESTAMP")
"""Types whose equal values have equal hashes; zeros of doubles have not."""


def _column(e: Expr, names: Names, relation: RelationTable) -> str | None:
    """The column of a relation's table that an expression is, if it is one."""
    text = names.text(e) if isinstance(e, Attribute) else None
    return text if text in relation.rows.columns else None


def _turn(op: Limit, relation: RelationTable, names: Names, per: Sequence[str]) -> list[Column]:
    """What places go by: the keys, then φ; a column that is the same in the whole group, or has been compared, is not
    compared again."""
    keys = [(compiled(k.expr, names), k.descending, k.nulls_first) for k in op.order]
    seen = {*per, *(_column(k.expr, names, relation) for k in op.order)}
    keys += [(col(c), False, True) for c in relation.order if c not in seen]
    found = []
    for value, descending, nulls_first in keys:
        direction = "DESC" if descending != op.last else "ASC"
        found.append(F.expr(f"{value.text} {direction} NULLS {'FIRST' if nulls_first != op.last else 'LAST'}"))
    return found or [lit(0)]


def _in_steps(rows: Table, grid: Grid, first: int, last: int) -> Table:
    """Each row once for each step in which it holds, of those in the closed interval [first, last] of instants."""
    seen = rows.with_columns({"_low": F.greatest(col("ft"), lit(first)), "_high": F.least(col("tt") - 1, lit(last))})
    numbers = (quotient_down(col(c) - lit(grid.origin), grid.every) for c in ("_low", "_high"))
    cut = seen.where(col("_low") <= col("_high")).with_column("_k", F.explode(F.sequence(*numbers)))
    begins = col("_k") * lit(grid.every) + lit(grid.origin)
    made = {"ft": F.greatest(col("ft"), begins), "tt": F.least(col("tt"), begins + lit(grid.every))}
    return cut.with_columns(made).drop("_low", "_high", "_k")


def _at_places(rows: Table, together: Sequence[str], turn: Sequence[Column], op: Limit) -> Table:
    """The rows with their places in their group, as `_rank`, at those places that are wanted."""
    place = F.row_number().over(Window.partition_by(*together).order_by(*turn))
    ranked = rows.with_column("_rank", place)
    first, last = op.places
    if last is not None:
        ranked = ranked.where(col("_rank") <= last)
    return ranked if first == 1 else ranked.where(col("_rank") >= first)


def _first_of_panes(
    op: Limit, relation: RelationTable, rows: Table, per: Sequence[str], turn: Sequence[Column]
) -> Table:
    """Without rows that so many others with the same interval are before that they have no place in any state."""
    last = op.places[1]
    if last is None or not relation.pane_aligned:
        return rows
    pane = [*relation.interval_columns, *per]
    return _at_places(rows, pane, turn, replace(op, count=last, skip=0)).drop("_rank")
