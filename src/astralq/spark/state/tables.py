"""The edges of a plan where an epoch meets what the epochs before it left: remembered tuples, and clipped intervals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.retention import Want, is_over, known_at_once
from astralq.algebra.windows import WindowSpec
from astralq.schema import Schema
from astralq.spark.context import Run
from astralq.spark.encoding.batches import NEVER, Id, at, choose, le, literal, lt
from astralq.spark.encoding.columns import col, lit, long
from astralq.spark.encoding.frames import Choice, Key, Phi, RelationFrame, StreamFrame, attributes, columns, interval
from astralq.spark.state.store import Memory
from astralq.timeline import Instant


def remembered(stream: StreamFrame, edge: str, memory: Memory) -> StreamFrame:
    """The new tuples of a stream behind those that an edge has kept."""
    kept = dict.fromkeys([*attributes(stream.schema), *stream.stamp_columns, *stream.order])
    df = memory.grow(edge, stream.df.select(*columns(kept)))
    if stream.numbered:
        memory.count(f"count {stream.name}", df)  # cheaper to look at than the sort that numbered it
    if stream.flat and "i" in df.columns:
        stream = replace(stream, flat=False)
    if not stream.flat:
        df = df.withColumn("i", F.coalesce(col("i"), lit(0)))
    return replace(stream, df=df)


MANY = 100_000
"""From so many new tuples on it is worth to look first which of them a window can hold at all."""


def last_of_steps(stream: StreamFrame, partition: Sequence[str], width: int, step: Column) -> StreamFrame:
    """Of a numbered stream's tuples those among the last width + 1 of their part in a step between two evaluations.

    A window of the last rows can hold no others. Nor do they decide when one leaves it: the step in which so many
    have come after a tuple is the same when every step has at most so many.
    """
    parts = [col(f"c{stream.schema.index(n)}") for n in partition]
    last = F.row_number().over(Window.partitionBy(*parts, step).orderBy(F.desc("n")))
    df = stream.df.withColumn("_last", last).where(col("_last") <= width + 1).drop("_last")
    return replace(stream, df=df)


def current(frame: RelationFrame, run: Run, want: Want = Want.HELD) -> RelationFrame:
    """Of a relation's rows those that an epoch looks at.

    What holds after the last batch of `since` is seen from (since, 0) on: that is a true state, and what is before
    it may not be one any more. All further rows begin after that instant.
    """
    if run.since is None:
        if want is Want.NEW and run.memory is not None:
            return replace(frame, df=frame.df.where(le(frame.start, literal(run.last))))
        return frame
    since = run.since
    held = frame.df.where(frame.end.t > since)
    if want is Want.SOON:
        return frame
    if want is Want.WHOLE:
        return replace(frame, df=held)
    if want is Want.NEW:
        new = frame.df.where((frame.start.t > since) & le(frame.start, literal(run.last)))
        return replace(frame, df=new)
    start = choose(frame.start.t > since, frame.start, at(since))
    kept = [c for c in held.columns if c not in ("ft", "fi", "tt", "ti")]
    clipped = held.select(*columns(kept), *interval(start, frame.end, flat=frame.flat))
    return replace(frame, df=clipped, lifetime=None)


def with_indexes(df: DataFrame, *, flat: bool) -> DataFrame:
    """A table of intervals with or without fi and ti, as it is wanted."""
    if flat:
        return df
    missing = {c: long(0) for c in ("fi", "ti") if c not in df.columns}
    filled = {c: F.coalesce(col(c), lit(0)) for c in ("fi", "ti") if c in df.columns}
    return df.withColumns(missing | filled)


def described(frame: RelationFrame) -> dict[str, Any]:
    """All of a frame but its rows, for JSON."""

    def parts(phi: Phi) -> list[Any]:
        return [
            p.column if isinstance(p, Key) else {"tag": p.tag, "sides": [parts(s) for s in p.sides], "marks": p.marks}
            for p in phi
        ]

    names = ("flat", "stamp", "ordered", "coalesced", "one_row_per_phi")
    return {"phi": parts(frame.phi)} | {n: getattr(frame, n) for n in names}


def frame_of(description: Mapping[str, Any], df: DataFrame, schema: Schema) -> RelationFrame:
    """A frame that was described, with these rows."""

    def phi(parts: Sequence[Any]) -> Phi:
        return tuple(
            Key(p) if isinstance(p, str) else Choice(p["tag"], (phi(p["sides"][0]), phi(p["sides"][1])), (*p["marks"],))
            for p in parts
        )

    rest: dict[str, Any] = {k: tuple(v) if k == "stamp" else v for k, v in description.items() if k != "phi"}
    return RelationFrame(df, schema, phi(description["phi"]), **rest)


_TUPLE = re.compile(r"t|i|n|[cqpo]\d+")
"""The columns of a stream's own tuples: their stamp, their attributes, and what they are ordered by."""

_KEPT = ("kp", "kd", "kx", "ky", "gone")
"""What a kept tuple knows of itself: its position in its part, how far that had travelled, the last place that was
known, and whether it is only there for the others."""


def needed_tuples(df: DataFrame, spec: WindowSpec, want: Want, start: Id, end: Id, last: Instant) -> DataFrame:
    """The tuples of a window that are wanted after an epoch, given where each one enters and leaves it.

    Where positions count, these are the last ones of each part without a gap: from the batch of the first that is
    wanted, and the position before it, which lookups may ask for.
    """
    needed = (start.t if want is Want.NEW else end.t) > last
    if known_at_once(spec):
        needed = needed & lt(start, end)
    else:
        # A tuple that leaves where it would enter is in no window; as long as it is not known, it may be.
        needed = needed & (lt(start, end) | (end.t == NEVER))
        if is_over(spec.schedule, last):
            needed = needed & (start.t < NEVER)
    df = df.withColumn("_needed", F.coalesce(needed, lit(False)))
    own = [c for c in df.columns if _TUPLE.fullmatch(c)]
    if "p" not in df.columns:
        return df.where("_needed").select(*columns(own))
    if "gone" in df.columns:
        df = df.withColumn("_needed", col("_needed") & ~F.coalesce(col("gone"), lit(False)))
    df = df.drop(*(c for c in _KEPT if c in df.columns))
    parts = [c for c in df.columns if re.fullmatch(r"g\d+", c)]
    if "b0" not in df.columns:
        batch = [c for c in ("t", "i") if c in df.columns]
        df = df.withColumn("b0", F.min("p").over(Window.partitionBy(*parts, *batch)))
    ends = {"_first": F.min(F.when(col("_needed"), col("b0"))), "_last": F.max("p")}
    if parts:
        df = df.withColumns({name: c.over(Window.partitionBy(*parts)) for name, c in ends.items()})
    else:
        df = df.crossJoin(F.broadcast(df.agg(*(c.alias(name) for name, c in ends.items()))))
    made = [col("p").alias("kp"), (~col("_needed")).alias("gone")]
    if "d" in df.columns:
        made += [col("d").alias("kd"), col("lx").alias("kx"), col("ly").alias("ky")]
    kept = df.where((col("p") >= col("_first") - 1) | (col("p") == col("_last")))
    return kept.select(*columns(own), *made)
