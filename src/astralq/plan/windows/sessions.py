"""Sessions: a tuple is held from when its session is over until the next one of its part is.

Within parts, and over few rows, these are window functions, latest tuples first: where a session ends is known when its
last tuple is seen. Over many rows without parts sessions are numbered by a running sum over buckets, and looked up.
"""

from __future__ import annotations

from collections.abc import Sequence

from astralq.algebra.schedules import Sessions
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, Window, col, columns, lit, long
from astralq.plan.encoding.scan import Sequenced
from astralq.plan.encoding.tables import StreamTable
from astralq.plan.table import Table
from astralq.plan.windows.result import WindowOf


def in_sessions(window: WindowOf, stream: StreamTable) -> Table:
    """The tuples with `enter` and `leave`, when their session is over and when the next one is; NULL if that is not
    known at the end of the run, for a tuple may still come."""
    schedule = window.spec.schedule
    assert isinstance(schedule, Sessions)
    parts = [f"c{stream.schema.index(n)}" for n in window.spec.partition]
    if parts or window.run.one_partition:
        found = _within_parts(stream.rows, parts, schedule.gap)
    else:
        found = _numbered(window, stream.rows, schedule.gap)

    def over(last: str) -> Column:
        end = col(last) + lit(schedule.gap)
        return F.when(end <= window.run.end, end)

    return found.with_columns({"enter": over("_last"), "leave": over("_next")}).drop("_last", "_next")


def with_ends(rows: Table, parts: Sequence[str], gap: int) -> Table:
    """The tuples of each part with the last instant of their session, as `_last`."""
    last_of_session = F.min("_end").over(_backwards(parts).rows(None, 0))
    return _marked(rows, parts, gap).with_column("_last", last_of_session).drop("_end")


def _within_parts(rows: Table, parts: Sequence[str], gap: int) -> Table:
    """With the last instant of each tuple's session, and of the one that follows it."""
    backwards = _backwards(parts)
    sofar = backwards.rows(None, 0)
    # Instants decrease, so that the least end so far is that of this session, and the least before it the next one's.
    ends = {"_last": F.min("_end").over(sofar), "_after": F.min("_end").over(backwards.rows(None, -1))}
    known = _marked(rows, parts, gap).with_columns(ends)
    known = known.with_column("_after", F.when(col("_end").is_not_null(), col("_after")))
    return known.with_column("_next", F.min("_after").over(sofar)).drop("_end", "_after")


def _backwards(parts: Sequence[str]) -> Window:
    return Window.partition_by(*parts).order_by(F.desc("t"))


def _marked(rows: Table, parts: Sequence[str], gap: int) -> Table:
    """With the instants of the last tuples of sessions, as `_end`."""
    later = rows.with_column("_later", F.lag("t").over(_backwards(parts)))
    is_last = col("_later").is_null() | (col("_later") - col("t") >= lit(gap))
    return later.with_column("_end", F.when(is_last, col("t"))).drop("_later")


def _numbered(window: WindowOf, rows: Table, gap: int) -> Table:
    """The same without parts: sessions have numbers, by which their ends and those of their successors are found."""
    run = window.run
    beside = Sequenced.of(rows, (), ("t",), run, run.time_cut).neighbours(["t"], ["t"])
    begins = col("last_t").is_null() | (col("t") - col("last_t") >= lit(gap))
    ends = col("next_t").is_null() | (col("next_t") - col("t") >= lit(gap))
    made = {"_s": F.when(begins, long(1)).otherwise(long(0)), "_end": F.when(ends, col("t"))}
    # Of the tuples of one instant that with the beginning comes first.
    marked = beside.with_columns(made | {"_order": -F.when(begins, long(1)).otherwise(long(0))})
    numbered = Sequenced.of(marked, (), ("t", "_order"), run, run.time_cut).running({"_s": "sum"}, [])
    numbered = run.materialized(numbered)
    last = F.struct(col("_s").alias("s"), col("_end").alias("last"), long(None).alias("next"))
    before = F.struct((col("_s") - 1).alias("s"), long(None).alias("last"), col("_end").alias("next"))
    each = numbered.where(col("_end").is_not_null()).select(F.explode(F.array(last, before)).alias("event"))
    taken = each.select(*(col(f"event.{c}") for c in ("s", "last", "next")))
    table = taken.group_by("s").agg(F.max("last").alias("_last"), F.max("next").alias("_next"))
    joined = numbered.join(table, col("_s") == col("s"))
    return joined.select(*columns(rows.columns), "_last", "_next")
