"""Evaluations as a table: the instants of a schedule, and the batches at which positions or distances are reached."""

from __future__ import annotations

from astralq.algebra.evaluations import Evaluations
from astralq.algebra.schedules import Continuous, Measure, Periodic, TimeSchedule
from astralq.algebra.windows import WindowSpec
from astralq.plan.columns import Column, col, lit, long
from astralq.plan.encoding.tables import StreamTable
from astralq.plan.run import Run
from astralq.plan.table import Numbers, Table, Values
from astralq.timeline import Instant


def evaluations(op: Evaluations, streams: list[StreamTable], also: StreamTable | None, run: Run) -> StreamTable:
    """One row for each batch, without attributes; `streams` are those of `op.batches`."""
    schedule, on_time = op.spec.schedule, None
    if isinstance(schedule, TimeSchedule) and schedule.measure is Measure.TIME and not isinstance(schedule, Continuous):
        on_time = schedule
    every = [*streams, *([] if also is None else [also])]
    one_batch = all(s.one_batch for s in every)
    found: list[Table] = []
    if on_time is not None:
        found.append(_instants(on_time, op.spec, run))
        # A batch at an instant of the schedule is an evaluation too; the first one of it is there already.
        later = (s for s in streams if not s.one_batch)
        found += [s.rows.where((col("i") > 0) & _at_instant(on_time, op.spec, run)) for s in later]
        every = [] if also is None else [also]
    found += [s.rows for s in every]
    stamps = ["t"] if one_batch else ["t", "i"]
    tables = [(t if one_batch or "i" in t.columns else t.with_column("i", long(0))).select(*stamps) for t in found]
    both = tables[0]
    for other in tables[1:]:
        both = both.union(other)
    return StreamTable(both.distinct(), op.schema, (), one_batch)


def _observed(run: Run, delay: int) -> tuple[Instant, Instant]:
    """The closed interval of instants e with (e + delay, 0) observed."""
    after = run.seen_from.i > 0
    return Instant(run.seen_from.t + after - delay), Instant(run.end - delay)


def _instants(schedule: TimeSchedule, spec: WindowSpec, run: Run) -> Table:
    first, last = _observed(run, spec.delay)
    if isinstance(schedule, Periodic):
        origin = schedule.origin(run.t0)
        low, high = max(0, -((origin - first) // schedule.every)), (last - origin) // schedule.every
        instant = col("id") * schedule.every + lit(origin + spec.delay)
        return Numbers(low, max(low, high + 1)).select(instant.alias("t"))
    instants = schedule.between(run.t0, first, last) if run.has_started else iter(())
    return Values(tuple((e + spec.delay,) for e in instants), (("t", "bigint"),))


def _at_instant(schedule: TimeSchedule, spec: WindowSpec, run: Run) -> Column:
    """Whether a batch is at an instant of the schedule, delayed."""
    if isinstance(schedule, Periodic):
        since = col("t") - lit(schedule.origin(run.t0) + spec.delay)
        return (since >= 0) & (since % schedule.every == 0)
    first, last = _observed(run, spec.delay)
    instants = [e + spec.delay for e in schedule.between(run.t0, Instant(first - 1), last)] if run.has_started else []
    return col("t").is_in(*instants) if instants else lit(False)
