"""Operators on streams: σ, Π and ρ keep batches, spread splits them, ticks put them together (001 §5.3, §5.4)."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.relational import Project, Select
from astralq.algebra.stream_ops import Spread
from astralq.algebra.ticks import Tick
from astralq.schema import Schema
from astralq.spark.context import Run
from astralq.spark.encoding.columns import col, lit
from astralq.spark.encoding.frames import StreamFrame, attributes, columns
from astralq.spark.encoding.scan import Shares, numbered
from astralq.spark.operators.expressions import Names, bounding_boxes, compiled, reads_position
from astralq.spark.sources.received import spark_type
from astralq.timeline import Instant


def _names(op: Select | Project, stream: StreamFrame, run: Shares) -> tuple[Names, StreamFrame]:
    """Where expressions find what they name; the position only exists once it is counted."""
    exprs = [op.condition] if isinstance(op, Select) else [e for _, e in op.items]
    if any(reads_position(e, op.child.schema) for e in exprs):
        stream = numbered(stream, run)
    made = {"st": col("t")} | ({} if stream.flat else {"si": col("i")})
    if stream.numbered:
        made["sn"] = col("n")
    return Names(op.child.schema, attributes(stream.schema), tuple(made)), replace(
        stream, df=stream.df.withColumns(made)
    )


def _plain(stream: StreamFrame) -> StreamFrame:
    """Without the stamp's copies; positions are counted anew, so that n is an order column only."""
    df = stream.df.drop("st", "si", "sn")
    if stream.numbered:
        return replace(stream, df=df.withColumnRenamed("n", "p0"), order=("p0",))
    return replace(stream, df=df)


def nothing(schema: Schema, run: Run) -> StreamFrame:
    """A stream without tuples."""
    types = [f"c{k} {spark_type(a.type)}" for k, a in enumerate(schema)]
    df = run.sources.session.createDataFrame([], ", ".join([*types, "t bigint"]))
    return StreamFrame(df, schema, (), flat=True)


def select(op: Select, stream: StreamFrame, run: Shares) -> StreamFrame:
    names, stream = _names(op, stream, run)
    df = stream.df
    box = bounding_boxes(op.condition, names)
    if box is not None:
        df = df.where(box)
    return _plain(replace(stream, df=df.where(compiled(op.condition, names))))


def project(op: Project, stream: StreamFrame, run: Shares) -> StreamFrame:
    names, stream = _names(op, stream, run)
    order = {name: f"q{k}" for k, name in enumerate(stream.order)}
    items = [compiled(e, names).alias(f"c{k}") for k, (_, e) in enumerate(op.items)]
    df = stream.df.select(*items, *columns(stream.stamp_columns), *(col(old).alias(new) for old, new in order.items()))
    return replace(stream, df=df, schema=op.schema, order=tuple(order.values()))


def from_start(stream: StreamFrame, t0: Instant, until: Instant | None) -> StreamFrame:
    """Tuples before t0 are ignored, and so are those after the end; positions begin there (000 D3)."""
    df = stream.df.where(col("t") >= t0)
    if until is not None:
        df = df.where(col("t") <= until)
    return _plain(replace(stream, df=df))


def spread(op: Spread, stream: StreamFrame) -> StreamFrame:
    """▷ and ◁: i becomes 0, 1, 2, … within an instant, for each value of the attributes, or each tuple (001 D35)."""
    batch = [] if stream.flat else ["i"]
    by = [f"c{op.child.schema.index(n)}" for n in op.attributes]
    inside = [*batch, *stream.order]
    if by:
        place = [*([] if op.all else batch), *by]
        index = F.dense_rank().over(Window.partitionBy("t").orderBy(*columns(place)))
    else:
        order = dict.fromkeys([*inside, *attributes(stream.schema)])
        index = F.row_number().over(Window.partitionBy("t").orderBy(*columns(order)))
    renamed = {name: f"q{k}" for k, name in enumerate(inside)}
    df = stream.df.select(
        *columns(attributes(stream.schema)),
        "t",
        (index - 1).cast("bigint").alias("i"),
        *(col(old).alias(new) for old, new in renamed.items()),
    )
    return replace(stream, df=df, order=tuple(renamed.values()), flat=False)


def ticked(op: Tick, stream: StreamFrame) -> StreamFrame:
    """The tuples of a tick as one batch at its beginning."""
    inside = [*stream.stamp_columns, *stream.order]
    order = {name: f"q{k}" for k, name in enumerate(inside)}
    df = stream.df.select(
        *columns(attributes(stream.schema)),
        (col("t") - F.pmod("t", lit(op.period))).alias("t"),
        *(col(old).alias(new) for old, new in order.items()),
    )
    return replace(stream, df=df, order=tuple(order.values()), flat=True)
