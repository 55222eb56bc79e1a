"""Explode on Spark: each row once for each element, with the element's place behind the row's order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from astralq.algebra.explode import Explode
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, col, columns, lit
from astralq.plan.encoding.numbering import numbered
from astralq.plan.encoding.tables import (
    Choice,
    Key,
    Phi,
    RelationTable,
    StreamTable,
    attributes,
    holds,
    order_columns,
    relabelled,
)
from astralq.plan.operators.expressions import Names, compiled, reads_position
from astralq.plan.run import Run
from astralq.plan.table import Table


def of_stream(op: Explode, stream: StreamTable, run: Run) -> StreamTable:
    """The elements of a tuple are in its batch, behind each other."""
    if reads_position(op.array, op.child.schema):
        stream = numbered(stream, run)
    made = (
        {"st": col("t")}
        | ({} if stream.one_batch else {"si": col("i")})
        | ({"sn": col("n")} if stream.numbered else {})
    )
    names = Names(op.child.schema, attributes(stream.schema), tuple(made))
    order = {f"q{k}": col(name) for k, name in enumerate((*stream.order, "copy"))}
    kept = {c: col(c) for c in (*attributes(stream.schema), *stream.stamp_columns)} | order
    # Tuples that the order does not tell apart are equal: any number will do, so that their elements are not mixed.
    numbers = made | {"copy": F.expr("monotonically_increasing_id()")}
    rows = _elements(op, stream.rows.with_columns(numbers), kept, compiled(op.array, names))
    return replace(stream, rows=rows, schema=op.schema, order=(*order, "place"), time=None)


def of_relation(op: Explode, relation: RelationTable) -> RelationTable:
    """φ ++ (place), or φ ++ (⊥) for a row without elements; the array is computed only where a state holds the row."""
    names = Names(op.child.schema, attributes(relation.schema), relation.stamp)
    array = F.when(holds(relation.one_batch), compiled(op.array, names))
    phi, order = relabelled(relation.phi)
    own = dict(zip(order_columns(phi), order, strict=True))
    kept = {c: col(c) for c in (*attributes(relation.schema), *relation.stamp, *relation.interval_columns)}
    rows = _elements(op, relation.rows, kept | own, array)
    place: Phi = (Key("place"),)
    if op.outer:
        rows = rows.with_column("some", F.when(col("place").is_null(), lit(0)).otherwise(lit(1)))
        place = (Choice("some", ((), place), ("⊥", None)),)
    phi, order = relabelled((*phi, *place))
    made = [*columns(attributes(op.schema)), *order, *columns(relation.stamp), *columns(relation.interval_columns)]
    return replace(relation, rows=rows.select(*made), schema=op.schema, phi=phi)


def _elements(op: Explode, rows: Table, kept: Mapping[str, Column], array: Column) -> Table:
    """Each row once for each element, with its attributes behind those of the row, and its place; a MAP is held as its
    entries, sorted by key, so that it is an array here."""
    placed = F.expr(f"transform({array.text}, (x_, k_) -> named_struct('k', k_, 'x', x_))")
    one = F.call("explode_outer" if op.outer else "explode", placed).alias("one")
    values = [F.expr("one.k")] if op.has_place else []
    values += [F.expr("one.x")] if op.array.type.name == "ARRAY" else [F.expr("one.x.key"), F.expr("one.x.value")]
    width = len(op.child.schema)
    return rows.select(*(c.alias(name) for name, c in kept.items()), one).select(
        *columns(kept), *(v.alias(f"c{width + k}") for k, v in enumerate(values)), F.expr("one.k").alias("place")
    )
