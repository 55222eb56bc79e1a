"""What a run observes: the rules for its first batch, the same for every engine (docs/decisions.md)."""

from __future__ import annotations

from collections.abc import Iterable

from astralq.algebra.base import Operator
from astralq.algebra.sources import SensedSource
from astralq.algebra.stream_ops import Spread
from astralq.algebra.ticks import Tick
from astralq.errors import PlanError
from astralq.timeline import EPOCH, BatchId, Instant


def first_observed(query: Operator, batches: Iterable[BatchId], t0: Instant | None) -> BatchId:
    """Where observation begins: at t0 if it is given, else with the first batch of any source."""
    start = BatchId(t0, 0) if t0 is not None else min(batches, default=BatchId(EPOCH, 0))
    if any(isinstance(op, Spread) for op in query.walk()):
        start = BatchId(start.t, 0)  # a spread numbers an instant's batches from 0, whatever its source does
    for tick in (op.period for op in query.walk() if isinstance(op, Tick)):
        start = min(start, BatchId(Instant(start.t - start.t % tick), 0))
    return start


def check_ends(query: Operator, t0: Instant | None, until: Instant | None) -> None:
    """A sensed stream is acquired from t0 to an end: without both there is nothing to acquire."""
    for op in query.walk():
        if isinstance(op, SensedSource) and (t0 is None or until is None):
            raise PlanError(
                f"the sensed stream {op.name} has no beginning or no end of its own",
                hint="give the start t0 and an end: START AT … and --until",
            )
