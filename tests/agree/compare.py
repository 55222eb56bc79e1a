"""Runs a query on both engines over the same data, and says where their answers differ."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.answers import answer_columns
from astralq.algebra.base import HasOperator, Operator, operator_of
from astralq.algebra.sources import RelationSource, SensedSource, StreamSource
from astralq.expr.order import order_key
from astralq.model import Data, Stream, run, state
from astralq.model.sources import acquire
from astralq.plan.sql_types import spark_type
from astralq.schema import Attribute, Schema
from astralq.spark import Engine
from astralq.spark.answers import plain
from astralq.spark.sources.sensed import sensed_frame
from astralq.timeline import Instant

Rows = list[tuple[Any, ...]]


def frames(
    spark: SparkSession,
    query: Operator,
    data: Data,
    partitions: int | None = None,
    ends: tuple[Instant | None, Instant | None] = (None, None),
) -> dict[str, DataFrame]:
    """The data of a query's sources as DataFrames; streams that are stamped already keep their stamps."""
    found: dict[str, DataFrame] = {}
    for op in query.walk():
        if isinstance(op, SensedSource):
            assert ends[0] is not None
            assert ends[1] is not None
            found[op.name] = sensed_frame(spark, op, acquire(op, data[op.name], *ends))  # type: ignore[arg-type]
        if not isinstance(op, StreamSource | RelationSource) or op.name in found:
            continue
        given = data[op.name]
        stamp: tuple[str, ...] = ()
        if isinstance(given, Stream):
            rows: Rows = [(*s.values, s.t, s.i, s.n) for s in given.tuples]
            stamp = ("_t", "_i", "_n")
            if all(s.i == 0 for s in given.tuples):  # as most sources are
                rows, stamp = [(*s.values, s.t, s.n) for s in given.tuples], ("_t", "_n")
        elif isinstance(op, StreamSource) and op.timestamp is None:
            rows, stamp = [(*values, t) for t, values in given], ("_t",)  # type: ignore[union-attr]
        else:
            rows = [tuple(r) for r in given]  # type: ignore[union-attr]
        # What is computed is left to the engine, as it is to the model.
        computed = not isinstance(given, Stream) and all(len(r) == len(op.stored) + len(stamp) for r in rows)
        df = frame(spark, op.stored if computed else op.declared, rows, stamp)
        found[op.name] = df.coalesce(1) if partitions is None else df.repartition(partitions)
    return found


def frame(spark: SparkSession, schema: Schema, rows: Rows, stamp: tuple[str, ...] = ()) -> DataFrame:
    types = [f"`{a.name}` {'bigint' if a.type.name == 'TIMESTAMP' else spark_type(a.type)}" for a in schema]
    df = spark.createDataFrame(rows, ", ".join([*types, *(f"{s} bigint" for s in stamp)]))
    times = {f"{a.name}": F.timestamp_micros(f"`{a.name}`") for a in schema if a.type.name == "TIMESTAMP"}
    return df.withColumns(times) if times else df


def on_spark(
    engine: Engine,
    query: Operator | HasOperator,
    data: Data,
    *,
    t0: Instant | None = None,
    until: Instant | None = None,
    at: Instant | None = None,
    partitions: int | None = None,
) -> Rows:
    op = operator_of(query)
    if partitions is not None:
        engine = Engine(engine.spark, few_rows=0)  # as large data are: in as many partitions as are given
    given = frames(engine.spark, op, data, partitions, (t0, until))
    answer = engine.answered(op, given, t0=t0, until=until, at=at).df
    columns: tuple[Attribute, ...] = op.schema.attributes if at is not None else answer_columns(op)
    return [tuple(r) for r in plain(answer, columns).collect()]


def on_model(
    query: Operator | HasOperator,
    data: Data,
    *,
    t0: Instant | None = None,
    until: Instant | None = None,
    at: Instant | None = None,
) -> Rows:
    if at is not None:
        return state(query, data, at, t0=t0)
    return run(query, data, t0=t0, until=until).rows


def same(a: Rows, b: Rows) -> bool:
    """Equal row for row and bit for bit, in order."""
    return [tuple(map(order_key, r)) for r in a] == [tuple(map(order_key, r)) for r in b]
