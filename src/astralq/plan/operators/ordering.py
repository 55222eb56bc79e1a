"""ORDER BY and LIMIT: order columns that sort ascending with NULLs first, and places of rows in each state.

A state is the same between two changes, so that places are counted once for each elementary interval of a group. Where
all rows that meet have the same interval, as in windows that tumble, the interval itself says which rows are together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from astralq.algebra.ordering import Limit, OrderBy, SortKey
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.aggregate.elementary import Elementary
from astralq.plan.columns import Column, Window, col, columns, lit
from astralq.plan.encoding.scan import equal
from astralq.plan.encoding.tables import Key, RelationTable, attributes, in_order, relabelled
from astralq.plan.operators.expressions import Names, compiled
from astralq.plan.run import Run
from astralq.plan.table import Table
from astralq.schema import Type


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
        found += _reversed(value, key.expr.type) if key.descending else [value]
    return found


_DIGITS = "0123456789ABCDEF"


def _reversed(value: Column, type_: Type) -> list[Column]:
    """What sorts ascending as the value does descending; NULL stays NULL."""
    match type_.name:
        case "TINYINT" | "SMALLINT" | "INT" | "BIGINT":
            return [F.expr(f"(~{value.text})")]  # unlike -x it cannot overflow
        case "DATE":
            return [F.expr(f"(~unix_date({value.text}))")]
        case "TIMESTAMP":
            return [F.expr(f"(~unix_micros({value.text}))")]
        case "BOOLEAN":
            return [~value]
        case "FLOAT" | "DOUBLE":
            return [~F.expr(f"isnan({value.text})"), -value]  # NaN is the greatest value, and its negative is NaN
        case "STRING" | "BINARY":
            # Each byte as the digits of its complement; the end is behind them all, as a longer text comes first.
            digits = f"translate(hex({value.text}), '{_DIGITS}', '{_DIGITS[::-1]}')"
            return [F.concat(F.expr(digits), lit("G"))]
        case "NULL":
            return [value]
    return [-value]


def limit(op: Limit, relation: RelationTable, run: Run, *, at_once: bool) -> RelationTable:
    """The rows at some places of each group, in each state; `at_once`: rows that meet have the same interval."""
    names = Names(op.child.schema, attributes(relation.schema), relation.stamp)
    per = {f"g{k}": compiled(e, names) for k, e in enumerate(op.per)}
    by = {f"q{k}": c for k, c in enumerate(_sort_columns(op.order, names))}
    phi, order = relabelled(relation.phi)
    kept = [*attributes(relation.schema), *relation.stamp]
    rows = relation.rows.select(
        *columns(kept), *order, *(c.alias(n) for n, c in (per | by).items()), *columns(relation.interval_columns)
    )
    kept += [c.name for c in order]
    turn = in_order([*by, *(c.name for c in order)], down=op.last)
    place = F.row_number()
    if at_once:
        run.choices.note(op.label, "places in each window", "rows that hold at the same time have the same interval")
        together = Window.partition_by(*per, *relation.interval_columns).order_by(*turn)
        chosen = _at_places(rows.with_column("_rank", place.over(together)), op)
        result = replace(relation, append_only=False)
    else:
        run.choices.note(op.label, "places in each elementary interval", "a row's place changes with each other row")
        rows = _first_of_panes(op, relation, rows, list(per), turn)
        rows = run.materialized(rows)
        elementary = Elementary.of([rows], list(per), run, one_batch=relation.one_batch)
        together = Window.partition_by(*per, "e").order_by(*turn)
        ranked = _at_places(elementary.members(rows).with_column("_rank", place.over(together)), op)
        spans = elementary.intervals.select(
            *(col(c).alias(f"_{c}") for c in per), col("e").alias("_e"), *columns(relation.interval_columns)
        )
        same = equal(columns(per), columns(f"_{c}" for c in per)) & (col("e") == col("_e"))
        chosen = ranked.join(spans, same)
        result = replace(relation.in_pieces(chosen), coalesced=False)
    shown = [] if op.rank is None else [col("_rank").alias(f"c{len(relation.schema)}")]
    return replace(
        result,
        rows=chosen.select(*columns(kept), *shown, *columns(relation.interval_columns)),
        schema=op.schema,
        phi=phi,
        one_row_per_phi=relation.one_row_per_phi and op.rank is None,
    )


def _at_places(ranked: Table, op: Limit) -> Table:
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
    pane = Window.partition_by(*per, *relation.interval_columns).order_by(*turn)
    return rows.with_column("_rank", F.row_number().over(pane)).where(col("_rank") <= last).drop("_rank")
