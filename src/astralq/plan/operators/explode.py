"""Explode on Spark: each row once for each element, with the element's place behind the row's order."""

from __future__ import annotations

from dataclasses import replace

from astralq.algebra.explode import Explode
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import col, columns
from astralq.plan.encoding.numbering import numbered
from astralq.plan.encoding.tables import StreamTable, attributes
from astralq.plan.operators.expressions import Names, compiled, reads_position
from astralq.plan.run import Run


def explode(op: Explode, stream: StreamTable, run: Run) -> StreamTable:
    """A MAP is held as its entries, sorted by key, so that it is an array here."""
    if reads_position(op.array, op.child.schema):
        stream = numbered(stream, run)
    made = (
        {"st": col("t")}
        | ({} if stream.one_batch else {"si": col("i")})
        | ({"sn": col("n")} if stream.numbered else {})
    )
    names = Names(op.child.schema, attributes(stream.schema), tuple(made))
    array = compiled(op.array, names).text
    placed = F.expr(f"transform({array}, (x_, k_) -> named_struct('k', k_, 'x', x_))")
    order = {name: f"q{k}" for k, name in enumerate(stream.order)}
    exploded = stream.rows.with_columns(made).select(
        *columns(attributes(stream.schema)),
        *columns(stream.stamp_columns),
        *(col(old).alias(new) for old, new in order.items()),
        F.call("explode_outer" if op.outer else "explode", placed).alias("one"),
    )
    width = len(op.child.schema)
    values = [F.expr("one.k")] if op.has_place else []
    values += [F.expr("one.x")] if op.array.type.name == "ARRAY" else [F.expr("one.x.key"), F.expr("one.x.value")]
    rows = exploded.select(
        *columns(attributes(stream.schema)),
        *(v.alias(f"c{width + k}") for k, v in enumerate(values)),
        *columns(stream.stamp_columns),
        *columns(order.values()),
        F.expr("one.k").alias(f"q{len(order)}"),
    )
    return replace(stream, rows=rows, schema=op.schema, order=(*order.values(), f"q{len(order)}"))
