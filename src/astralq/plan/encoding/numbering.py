"""Positions: the tuples of a stream numbered 0, 1, 2, … in their order.

Over many rows time is cut into ranges of about as many tuples each, which are sorted side by side; how many tuples are
in the ranges before, is counted first. Where a short time has a great part of all tuples, ranges of time would not
share the work: then Spark sorts by samples of all that the order looks at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, Window, col, columns, lit
from astralq.plan.encoding.scan import BUCKETS, Cut
from astralq.plan.encoding.tables import StreamTable, attributes
from astralq.plan.run import Run
from astralq.plan.table import Assumed, Index, Table

FINE = 1024
"""Into how many equal parts a run is cut to count what is in them; ranges are made of these."""

ROWS_IN_RANGE = 250_000
"""How many tuples a range should have at most: a task sorts some of them in memory."""

RANGED = 200_000
"""From how many tuples on it pays to count them first."""

SKEWED = 0.2
"""Which part of all tuples may be in one of the equal parts."""


def numbered(stream: StreamTable, run: Run) -> StreamTable:
    """The stream with its positions n = 0, 1, 2, …

    The order ends with all attributes: rows that are still equal are the same tuple, so that any partitioning gives
    the same positions.
    """
    if stream.numbered:
        return stream
    if stream in run.numbered:
        return run.numbered[stream]
    by = tuple(dict.fromkeys([*stream.sort_columns, *attributes(stream.schema)]))
    kept = [*stream.stamp_columns, *attributes(stream.schema)]
    if run.state is not None:
        # In an epoch these are the new tuples, and the positions go on where the last epoch's ended.
        before = run.state.metadata.get(f"count {stream.name}", 0)
        rows = Index(stream.rows, by, "n").with_column("n", col("n") + lit(before))
        rows = run.materialized(rows.select(*columns(kept), "n"))
        run.state.count(f"count {stream.name}", rows)
    elif run.one_partition:
        rows = run.materialized(Index(stream.rows, by, "n").select(*columns(kept), "n"))
    else:
        rows = run.materialized(_placed(stream.rows, by, run).select(*columns(kept), "n"))
    run.numbered[stream] = replace(stream, rows=rows, order=("n",))
    return run.numbered[stream]


def _placed(rows: Table, by: tuple[str, ...], run: Run) -> Table:
    """Rows with their places n; the first thing that they are ordered by is their instant t."""
    if run.expected_rows < RANGED:
        return Index(rows, by, "n")
    fine = Cut.of(*run.expected_interval, FINE)
    part = fine.bucket(col(by[0]))
    counted = run.measure(rows.select(part.alias("_bucket")).group_by("_bucket").agg(F.count(lit(1)).alias("_count")))
    if counted is None:
        return Assumed(Index(rows, by, "n"))
    ranges = Ranges.of({row["_bucket"]: row["_count"] for row in counted})
    if ranges is None:
        return Index(rows, by, "n")
    # What lies outside of what the run looks at is in the parts −1 and FINE.
    placed = rows.with_column("_bucket", _at(ranges.of_part, part + 1))
    place = F.row_number().over(Window.partition_by("_bucket").order_by(*by))
    return placed.with_column("n", place.cast("bigint") - 1 + _at(ranges.before, col("_bucket")))


def _at(values: Sequence[int], place: Column) -> Column:
    """The value at a place, counted from 0."""
    return F.expr(f"element_at(array({', '.join(f'{v}L' for v in values)}), CAST({place.text} + 1 AS INT))")


@dataclass(frozen=True)
class Ranges:
    """Equal parts −1, 0, …, FINE of time put together: the range of each part, and how many rows are in the ranges
    before each range."""

    of_part: tuple[int, ...]
    before: tuple[int, ...]

    @staticmethod
    def of(counts: dict[int, int]) -> Ranges | None:
        """Ranges of about as many rows each; None where one part has too many of them.

        >>> ranges = Ranges.of(dict.fromkeys(range(1024), 10))
        >>> len(ranges.before), ranges.before[:3], ranges.of_part[:4], ranges.of_part[-1]
        (65, (0, 160, 320), (0, 0, 0, 0), 64)
        """
        total = sum(counts.values())
        if max(counts.values(), default=0) > max(SKEWED * total, ROWS_IN_RANGE):
            return None
        enough = total / max(BUCKETS, -(-total // ROWS_IN_RANGE))
        of_part: list[int] = []
        before, seen, here = [0], 0, 0
        for part in range(-1, FINE + 1):
            if here >= enough:
                before.append(seen)
                here = 0
            of_part.append(len(before) - 1)
            here += counts.get(part, 0)
            seen += counts.get(part, 0)
        return Ranges(tuple(of_part), tuple(before))
