"""Facts in the footers of parquet files: rows, first and last timestamps, known without a job."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from astralq.algebra.base import Operator
from astralq.algebra.sources import StreamSource
from astralq.io.files import described, find_files
from astralq.io.parquet import footers
from astralq.plan.facts import Times
from astralq.timeline import EPOCH, BatchId, Instant


def times_in_footers(
    query: Operator, t0: Instant | None, folder: Path, given: Collection[str] = ()
) -> dict[tuple[str, Instant], Times]:
    """What parquet files say of a query's streams without being read, but of those whose rows are `given`.

    Only where every row is one tuple from the start on, and its timestamp is a plain column.
    """
    start = EPOCH if t0 is None else t0
    known: dict[tuple[str, Instant], Times] = {}
    for op in query.walk():
        if not isinstance(op, StreamSource) or op.name in given or op.origin is None or op.unit is not None:
            continue
        if op.timestamp not in op.stored:  # stamped on arrival, or by an expression
            continue
        if op.origin.format != "parquet" or "://" in op.origin.path or op.batch_by is not None or op.batch_each_row:
            continue
        if op.has_heartbeats:
            continue
        said = footers(find_files(op.origin, folder, described(op)), str(op.timestamp))
        if said is not None and start <= said.first:
            known[op.name, start] = Times(BatchId(Instant(said.first), 0), Instant(said.last), said.rows)
    return known
