"""Rows that an emitter wrote, as DataFrames: stamps and heartbeats become columns of their own (001 §8)."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.sources import StreamSource


def unpacked_frame(source: StreamSource, df: DataFrame) -> DataFrame:
    """The attributes, the stamp that rows bring as _t, _i and _n, and as _heartbeat whether they are heartbeats."""
    names = [F.col(f"`{a.name}`") for a in source.declared]
    return df.select(*names, *(c.alias(n) for n, c in stamps(source, lambda n: F.col(f"`{n}`")).items()))


def stamps(source: StreamSource, column: Callable[[str], Column]) -> dict[str, Column]:
    """The columns of the transport; `column` is an attribute of the files by its name."""
    if source.heartbeat is not None:
        return {"_heartbeat": F.coalesce(column(source.heartbeat), F.lit(False))}
    position = column("_n")
    moment = {"_t": F.unix_micros(column("t")), "_i": F.coalesce(column("i"), F.lit(0)).cast("bigint")}
    return {**moment, "_n": position, "_heartbeat": position.isNull()}
