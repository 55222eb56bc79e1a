"""The edges of a plan where an epoch meets what the epochs before it left: remembered tuples, and clipped intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.retention import Want
from astralq.schema import Schema
from astralq.spark.batches import at, choose, le, literal
from astralq.spark.columns import col, lit, long
from astralq.spark.context import Run
from astralq.spark.frames import Choice, Key, Phi, RelationFrame, StreamFrame, attributes, columns, interval
from astralq.spark.memory import Memory


def remembered(stream: StreamFrame, edge: str, memory: Memory) -> StreamFrame:
    """The new tuples of a stream behind those that an edge has kept."""
    kept = dict.fromkeys([*attributes(stream.schema), *stream.stamp_columns, *stream.order])
    df = memory.grow(edge, stream.df.select(*columns(kept)))
    if stream.flat and "i" in df.columns:
        stream = replace(stream, flat=False)
    if not stream.flat:
        df = df.withColumn("i", F.coalesce(col("i"), lit(0)))
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
