"""Operators on streams: σ, Π and ρ keep batches, spread splits them, ticks put them together (001 §5.3, §5.4)."""

from __future__ import annotations

from dataclasses import replace

from astralq.algebra.base import Operator
from astralq.algebra.relational import Project, Select
from astralq.algebra.stream_ops import Spread
from astralq.algebra.ticks import Tick
from astralq.expr.nodes import Column as Attribute
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Window, col, columns, lit
from astralq.plan.encoding.numbering import numbered
from astralq.plan.encoding.tables import StreamTable, attributes
from astralq.plan.operators.expressions import Names, bounding_boxes, compiled, reads_position
from astralq.plan.run import Run
from astralq.plan.sources.stamps import CHANGED
from astralq.plan.sql_types import spark_type
from astralq.plan.table import Values
from astralq.schema import Schema
from astralq.timeline import Instant


def _names(op: Select | Project, stream: StreamTable, run: Run) -> tuple[Names, StreamTable]:
    """Where expressions find what they name; the position only exists once it is counted."""
    exprs = [op.condition] if isinstance(op, Select) else [e for _, e in op.items]
    if any(reads_position(e, op.child.schema) for e in exprs):
        stream = numbered(stream, run)
    made = {"st": col("t")} | ({} if stream.one_batch else {"si": col("i")})
    if stream.numbered:
        made["sn"] = col("n")
    names = Names(op.child.schema, attributes(stream.schema), tuple(made))
    return names, replace(stream, rows=stream.rows.with_columns(made))


def _plain(stream: StreamTable) -> StreamTable:
    """Without the stamp's copies; positions are counted anew, so that n is an order column only."""
    rows = stream.rows.drop("st", "si", "sn")
    if stream.numbered:
        return replace(stream, rows=rows.renamed({"n": "p0"}), order=("p0",))
    return replace(stream, rows=rows)


def nothing(schema: Schema) -> StreamTable:
    """A stream without tuples."""
    types = [(f"c{k}", spark_type(a.type)) for k, a in enumerate(schema)]
    return StreamTable(Values((), (*types, ("t", "bigint"))), schema, (), one_batch=True)


def row_by_row(op: Operator, stream: StreamTable, run: Run) -> StreamTable:
    """σ, Π or ρ of a stream."""
    match op:
        case Select():
            return select(op, stream, run)
        case Project():
            return project(op, stream, run)
    return replace(stream, schema=op.schema)


def select(op: Select, stream: StreamTable, run: Run) -> StreamTable:
    names, stream = _names(op, stream, run)
    rows = stream.rows
    box = bounding_boxes(op.condition, names)
    if box is not None:
        rows = rows.where(box)
    return _plain(replace(stream, rows=rows.where(compiled(op.condition, names))))


def project(op: Project, stream: StreamTable, run: Run) -> StreamTable:
    names, stream = _names(op, stream, run)
    items = [compiled(e, names).alias(f"c{k}") for k, (_, e) in enumerate(op.items)]
    # What is still there as an attribute is not copied; the columns of state tables stay as they are.
    there = _attributes_of(op, stream) if run.state is None else {}
    order = {name: there.get(name, f"q{k}") for k, name in enumerate(stream.order)}
    copied = [col(old).alias(new) for old, new in order.items() if old not in there]
    rows = stream.rows.select(*items, *columns(stream.stamp_columns), *copied)
    time = None if stream.time is None else there.get(stream.time)
    return replace(stream, rows=rows, schema=op.schema, order=tuple(order.values()), time=time)


def _attributes_of(op: Project, stream: StreamTable) -> dict[str, str]:
    """The columns of attributes that a projection keeps, with those that they become."""
    kept: dict[str, str] = {}
    for k, (_, e) in enumerate(op.items):
        if isinstance(e, Attribute) and e.name in stream.schema:
            kept.setdefault(f"c{stream.schema.index(e.name)}", f"c{k}")
    return kept


def from_start(
    stream: StreamTable, t0: Instant, until: Instant | None, *, guarded: bool = False, ended: bool = False
) -> StreamTable:
    """Tuples before t0 are ignored, and so are those after the end; positions begin there (000 D3). `guarded`: there
    should be none before t0, and one that is there is an error; `ended`: those after the end are left out already."""
    seen = col("t") >= t0
    rows = stream.rows.where(seen | F.raise_error(lit(CHANGED)).cast("boolean") if guarded else seen)
    if until is not None and not ended:
        rows = rows.where(col("t") <= until)
    return replace(_plain(replace(stream, rows=rows)), within=None if until is None else (t0, until))


def spread(op: Spread, stream: StreamTable) -> StreamTable:
    """▷ and ◁: i becomes 0, 1, 2, … within an instant, for each value of the attributes, or each tuple (001 D35)."""
    batch = [] if stream.one_batch else ["i"]
    by = [f"c{op.child.schema.index(n)}" for n in op.attributes]
    inside = [*batch, *stream.order]
    if by:
        place = [*([] if op.all else batch), *by]
        index = F.dense_rank().over(Window.partition_by("t").order_by(*columns(place)))
    else:
        order = dict.fromkeys([*inside, *attributes(stream.schema)])
        index = F.row_number().over(Window.partition_by("t").order_by(*columns(order)))
    renamed = {name: f"q{k}" for k, name in enumerate(inside)}
    rows = stream.rows.select(
        *columns(attributes(stream.schema)),
        "t",
        (index - 1).cast("bigint").alias("i"),
        *(col(old).alias(new) for old, new in renamed.items()),
    )
    return replace(stream, rows=rows, order=tuple(renamed.values()), one_batch=False)


def ticked(op: Tick, stream: StreamTable) -> StreamTable:
    """The tuples of a tick as one batch at its beginning."""
    inside = [*stream.stamp_columns, *stream.order]
    order = {name: f"q{k}" for k, name in enumerate(inside)}
    rows = stream.rows.select(
        *columns(attributes(stream.schema)),
        (col("t") - F.pmod("t", lit(op.period))).alias("t"),
        *(col(old).alias(new) for old, new in order.items()),
    )
    return replace(stream, rows=rows, order=tuple(order.values()), one_batch=True, within=None, time=None)
