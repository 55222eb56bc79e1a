"""Answers as DataFrames in their order: streams, changes of relations, states, and the windows of window streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.answers import answer_columns
from astralq.algebra.base import Kind
from astralq.algebra.retention import Want, want_of_changes
from astralq.errors import PlanError
from astralq.schema import Attribute
from astralq.spark.compile import Compiler
from astralq.spark.context import Run
from astralq.spark.encoding.batches import Id, greatest, le, literal, lt
from astralq.spark.encoding.columns import col, lit
from astralq.spark.encoding.frames import RelationFrame, attributes, columns, order_columns
from astralq.spark.operators.relational import marked
from astralq.timeline import LAST_INDEX, BatchId, Instant


def history(run: Run) -> DataFrame:
    """All that happens in a run, in order: t, i and the attributes; of a relation its changes, with op before them."""
    run.settle()
    df, by = _happened(run)
    if run.has_few_rows:
        # A sort of its own would be two more jobs: one to find ranges, one to shuffle.
        return _shown(df.coalesce(1).sortWithinPartitions(*by), run)
    return _shown(df.sort(*by), run)


def numbered_history(run: Run, first: int, *, small: bool) -> DataFrame | None:
    """The same with each row's place in the answer as _n, from a first one on; a small one is sorted by one task.

    None where it is known that nothing happens.
    """
    compiler = Compiler(run)
    if compiler.is_silent():
        op, want = run.query, Want.HELD
        if op.kind is Kind.STREAM:
            compiler.stream(op)
        else:
            want = want_of_changes(op)
            compiler.advance(op, want)
        return None
    df, by = _happened(run)
    if small:
        df = df.repartition(1).sortWithinPartitions(*by).withColumn("_n", F.monotonically_increasing_id())
    else:
        df = run.shared(df).sort(*by).zipWithIndex("_n")
    return _shown(df.withColumn("_n", col("_n") + lit(first)), run, ["_n"])


def _happened(run: Run) -> tuple[DataFrame, list[Column]]:
    """The rows of the answer, and what they are ordered by."""
    compiler = Compiler(run)
    match run.query.kind:
        case Kind.STREAM:
            stream = compiler.stream(run.query)
            seen = stream.df.where(le(literal(run.seen_from), stream.batch) & le(stream.batch, literal(run.last)))
            df = seen.withColumn("i", stream.batch.index)
            return df, columns(dict.fromkeys(["t", "i", *stream.order, *attributes(stream.schema)]))
        case Kind.RELATION:
            want = Want.HELD if run.memory is None else want_of_changes(run.query)
            return _changes(marked(compiler.relation(run.query, want=want), run), run)
    windows = compiler.windows(run.query)
    seen = windows.df.where(run.observed(col("wt")))
    df = seen.withColumns({"t": col("wt"), "i": col("wi")})
    return df, columns(["t", "i", *order_columns(windows.phi)])


def _shown(df: DataFrame, run: Run, further: Sequence[str] = ()) -> DataFrame:
    """The columns under their names."""
    wanted = answer_columns(run.query)
    first = [col("op")] if run.query.kind is Kind.RELATION else []
    made = [*first, F.timestamp_micros("t"), col("i").cast("bigint"), *columns(attributes(run.query.schema))]
    return df.select(*(c.alias(a.name) for c, a in zip(made, wanted, strict=True)), *further)


def _changes(frame: RelationFrame, run: Run) -> tuple[DataFrame, list[Column]]:
    """Deletions first, each in the order of φ."""
    frame = replace(frame, df=run.shared(frame.df))
    start, last = literal(run.seen_from), literal(run.last)
    begins = greatest(frame.start, start)
    # What holds already at the start is new to those who look from there on.
    held = lit(False) if run.continues else le(frame.start, start) & lt(start, frame.end) & le(start, last)

    def part(op: str, rank: int, condition: Column, at: Id) -> DataFrame:
        df = frame.df.where(condition)
        made = {"op": lit(op), "_rank": lit(rank), "t": at.t, "i": at.index}
        order = [col(c).alias(f"_o{k}") for k, c in enumerate(frame.order)]
        return df.select(*columns(attributes(frame.schema)), *order, *(v.alias(k) for k, v in made.items()))

    gained = part("+", 1, (col("_begins") & lt(start, frame.start) & le(frame.start, last)) | held, begins)
    lost = part("-", 0, col("_ends") & lt(start, frame.end) & le(frame.end, last), frame.end)
    both = lost.union(gained)
    order = [f"_o{k}" for k in range(len(frame.order))]
    return both, columns(["t", "i", "_rank", *order, *attributes(frame.schema)])


def state(run: Run, at: Instant, i: int = LAST_INDEX) -> DataFrame:
    """A relation's state at (at, i), in the order of φ."""
    if run.query.kind is not Kind.RELATION:
        raise PlanError("a stream of windows has no state of its own", hint="stream it first, with RSTREAM")
    run.settle()
    frame = Compiler(run, BatchId(at, i)).relation(run.query)
    here = literal(BatchId(at, i))
    held = frame.df.where(le(frame.start, here) & lt(here, frame.end))
    order = dict.fromkeys([*frame.order, *attributes(frame.schema)])
    names = run.query.schema.names
    return held.sort(*columns(order)).select(
        *(col(c).alias(n) for c, n in zip(attributes(frame.schema), names, strict=True))
    )


def plain(df: DataFrame, wanted: tuple[Attribute, ...]) -> DataFrame:
    """Instants and durations as microseconds: what the rest of the program calls values."""
    made = []
    for a in wanted:
        column = col(f"`{a.name}`")
        if a.type.name == "TIMESTAMP":
            column = F.unix_micros(column)
        elif a.type.name == "INTERVAL":
            column = F.unix_micros(F.timestamp_micros(lit(0)) + column)
        made.append(column.alias(a.name))
    return df.select(*made)
