"""Positions: the tuples of a stream numbered 0, 1, 2, … in their order.

Over many rows time is cut into ranges of about as many tuples each, which are sorted side by side; how many tuples are
in the ranges before, is counted first. Where a short time has a great part of all tuples, ranges of time would not
share the work: then Spark sorts by samples of all that the order looks at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, col, columns, lit
from astralq.plan.encoding.scan import Cut
from astralq.plan.encoding.tables import StreamTable, attributes
from astralq.plan.run import Run
from astralq.plan.table import Assumed, Index, Table

FINE = 1024
"""Into how many equal parts a run is cut to count what is in them; ranges are made of these."""

ROWS_IN_RANGE = 250_000
"""How many tuples a range should have at most: a task sorts some of them in memory."""

FEWEST = 8
"""Into how many ranges tuples are put at least."""

RANGED = 200_000
"""From how many tuples on it pays to count them first."""

IN_ONE_TASK = 200_000
"""Up to how many new tuples of an epoch one task sorts: several would have to draw samples and count first."""

SKEWED = 0.2
"""Which part of all tuples may be in one of the equal parts."""


def numbered(stream: StreamTable, run: Run) -> StreamTable:
    """The stream with its positions n = 0, 1, 2, …

    The order is total, or it ends with all attributes: rows that are still equal are the same tuple, so that any
    partitioning gives the same positions.
    """
    if stream.numbered:
        return stream
    if stream in run.numbered:
        return run.numbered[stream]
    by = (*stream.stamp_columns, *stream.order_columns)
    kept = [*stream.stamp_columns, *attributes(stream.schema)]
    if run.state is not None:
        # In an epoch these are the new tuples, and the positions go on where the last epoch's ended.
        before = run.state.metadata.get(f"count {stream.name}", 0)
        soon = run.new_rows is not None and run.new_rows <= IN_ONE_TASK
        rows = Index(stream.rows, by, "n", one_task=soon).with_column("n", col("n") + lit(before))
        rows = run.materialized(rows.select(*columns(kept), "n"))
        run.state.count(f"count {stream.name}", rows)
    elif run.one_partition:
        rows = run.materialized(Index(stream.rows, by, "n").select(*columns(kept), "n"))
    else:
        rows = run.materialized(_placed(stream.rows, by, run).select(*columns(kept), "n"))
    run.numbered[stream] = replace(stream, rows=rows, order=("n",))
    return run.numbered[stream]


def numbered_by_batch(stream: StreamTable, run: Run) -> StreamTable:
    """The stream with positions that are right up to the order in a batch, for one reader to whom that is all the same
    and who goes on with what he reads: much less is sorted and sent. A task that runs twice may order a batch in
    another way. The tuples of ranges may have been counted in an earlier run; the reader has to see if they are others
    by now."""
    if stream.numbered or stream in run.numbered:
        return numbered(stream, run)
    kept = [*stream.stamp_columns, *attributes(stream.schema)]
    rows = _placed(stream.rows, tuple(stream.stamp_columns), run, guarded=True).select(*columns(kept), "n")
    return replace(stream, rows=rows, order=("n",))


def _placed(rows: Table, by: tuple[str, ...], run: Run, *, guarded: bool = False) -> Table:
    """Rows with their places n; the first thing that they are ordered by is their instant t."""
    if run.expected_rows < RANGED:
        return Index(rows, by, "n")
    fine = Cut.of(*run.expected_interval, FINE)
    part = fine.bucket(col(by[0]))
    counts = rows.select(part.alias("_bucket")).group_by("_bucket").agg(F.count(lit(1)).alias("_count"))
    counted = run.measure(counts, guarded=guarded)
    if counted is None:
        return Assumed(Index(rows, by, "n"))
    ranges = Ranges.of({row["_bucket"]: row["_count"] for row in counted})
    if ranges is None:
        return Index(rows, by, "n")
    bounds = [fine.first + part * fine.width for part in ranges.first_parts]
    return Index(
        rows.with_column("_bucket", _range(col(by[0]), bounds)), by, "n", range="_bucket", before=ranges.before
    )


def _range(t: Column, bounds: Sequence[int], number: int = 0) -> Column:
    """The number of the range in which an instant is; `bounds` has where ranges begin, but for the first one."""
    if not bounds:
        return lit(number)
    half = len(bounds) // 2
    below, above = _range(t, bounds[:half], number), _range(t, bounds[half + 1 :], number + half + 1)
    return F.when(t < lit(bounds[half]), below).otherwise(above)


@dataclass(frozen=True)
class Ranges:
    """Equal parts −1, 0, …, FINE of time put together, −1 and FINE being what lies outside: with which part each range
    but the first begins, and how many rows are in the ranges before each range."""

    first_parts: tuple[int, ...]
    before: tuple[int, ...]

    @staticmethod
    def of(counts: dict[int, int]) -> Ranges | None:
        """Ranges of about as many rows each; None where one part has too many of them.

        >>> Ranges.of(dict.fromkeys(range(1024), 10))
        Ranges(first_parts=(128, 256, 384, 512, 640, 768, 896), before=(0, 1280, 2560, 3840, 5120, 6400, 7680, 8960))
        """
        total = sum(counts.values())
        if max(counts.values(), default=0) > max(SKEWED * total, ROWS_IN_RANGE):
            return None
        enough = total / max(FEWEST, -(-total // ROWS_IN_RANGE))
        first_parts: list[int] = []
        before, seen, here = [0], 0, 0
        for part in sorted(counts):
            if here >= enough:
                first_parts.append(part)
                before.append(seen)
                here = 0
            here += counts[part]
            seen += counts[part]
        return Ranges(tuple(first_parts), tuple(before))
