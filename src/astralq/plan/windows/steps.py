"""Evaluations every so many positions: one row for each, in which the entry and the exit of a tuple are looked up.

A tuple enters with the first evaluation whose upper bound is in its batch or behind it, and leaves when that is true of
the position that follows its last window. Between two upper bounds all positions wait for the same evaluation, but for
those whose batch holds the first of the two: these went with it. So tuples need neither their batches nor each other,
only a table that is as much shorter than the stream as the steps are long.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from astralq.algebra.schedules import Measure, Periodic
from astralq.algebra.scopes import Back, Linear, fixed_width
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, Window, col, columns, lit, long
from astralq.plan.encoding.batches import NEVER
from astralq.plan.encoding.scan import equal
from astralq.plan.table import Table
from astralq.plan.windows.arithmetic import first_at_least
from astralq.plan.windows.positions import Positions
from astralq.plan.windows.result import WindowOf

SMALL = 1_000_000
"""Up to how many evaluations are sent to every executor: some 50 MB."""


def moves_in_steps(window: WindowOf) -> bool:
    """Whether entries and exits are looked up here: a window of fixed width in positions, every so many of them, over
    many rows. Few rows have their neighbours at hand, and an epoch has none but the tuples that are in a window."""
    spec, run = window.spec, window.run
    scope, schedule = spec.scope, spec.schedule
    if run.state is not None or run.one_partition or not isinstance(schedule, Periodic) or schedule.every == 1:
        return False
    if not schedule.measure is scope.measure is Measure.POSITION or not isinstance(scope.hi, Linear | Back):
        return False
    return fixed_width(schedule, scope) is not None and window.linear(scope.hi).slope > 0


@dataclass(frozen=True)
class Steps:
    """The evaluations of a window in parts, by the number m ≥ −1 of the upper bound before: `next_t` and `next_i`, the
    batch of evaluation m + 1. Where the batch that holds bound m goes on behind it, `last` is its last position, and
    `with_t` and `with_i` are the batch of the first evaluation whose bound is in it. NULL: there is none."""

    hi: Linear
    rows: Table
    small: bool

    @staticmethod
    def of(window: WindowOf, positions: Positions) -> Steps:
        spec, run = window.spec, window.run
        assert isinstance(spec.schedule, Periodic)
        hi = window.linear(spec.scope.hi)
        evaluations = Linear(spec.schedule.every, spec.schedule.first + spec.delay)
        small = run.expected_rows // min(hi.slope, evaluations.slope) <= SMALL
        parts, batch = list(positions.parts), positions.batch_columns
        # Often bounds and evaluations are the same positions, all found in one pass.
        own, after = _number(hi), _number(Linear(hi.slope, hi.offset + 1))
        at, next_ = _number(evaluations), _number(evaluations) - 1
        roles = {"own": own, "after": after, "at": at, "next": next_}
        marked = positions.table.where(own.is_not_null() | after.is_not_null() | at.is_not_null())
        each = []
        for name, m in roles.items():
            stamps = [(col(c) if name == role else long(None)).alias(f"{role}_{c}") for role in roles for c in batch]
            each.append(F.struct(m.alias("m"), *stamps))
        exploded = marked.select(*parts, F.explode(F.array(*each)).alias("event"))
        found = [f"{role}_{c}" for role in roles for c in batch]
        taken = exploded.select(*parts, *(col(f"event.{c}") for c in ["m", *found])).where(col("m").is_not_null())
        grouped = taken.group_by(*parts, "m").agg(*(F.max(c).alias(c) for c in found))
        bounds = run.materialized(grouped)
        cut = _cut_batches(positions, bounds, small=small)
        same = equal(columns(parts), columns(f"_{g}" for g in parts)) & (col("m") == col("_m"))
        joined = bounds.join(cut, same, "left", broadcast=small)
        kept = [f"{name}_{c}" for name in ("next", "with") for c in batch]
        return Steps(hi, joined.select(*parts, "m", *kept, "last"), small)

    def reaching(self, positions: Positions, position: Column, which: str) -> Positions:
        """The batch of the first evaluation whose upper bound has reached the batch of a position, as which_t and
        which_i; never, if there is none."""
        parts, batch = positions.parts, positions.batch_columns
        probes = positions.rows.with_columns({"_at": position, "_m": first_at_least(self.hi, position) - 1})
        table = self.rows.renamed({c: f"_{c}" for c in parts})
        same = equal(columns(parts), columns(f"_{g}" for g in parts)) & (col("_m") == col("m"))
        joined = probes.join(table, same, "left", broadcast=self.small)
        never = {"t": NEVER, "i": 0}
        made = []
        for c in batch:
            found = F.when(col("_at") <= col("last"), col(f"with_{c}")).otherwise(col(f"next_{c}"))
            made.append(F.coalesce(found, lit(never[c])).alias(f"{which}_{c}"))
        return replace(positions, rows=joined.select(*columns(positions.rows.columns), *made))


def _number(at: Linear) -> Column:
    """The number j ≥ 0 of a position p among at(0), at(1), …; NULL where it is none of them."""
    behind = col("p") - lit(at.offset)
    return F.when((behind >= 0) & (behind % lit(at.slope) == 0), behind // lit(at.slope))


def _cut_batches(positions: Positions, bounds: Table, *, small: bool) -> Table:
    """The bounds behind which their batch goes on, with the first evaluation that has one in it, and its end."""
    parts, batch = list(positions.parts), positions.batch_columns
    cut = bounds.where(equal(columns(f"own_{c}" for c in batch), columns(f"after_{c}" for c in batch)))
    cut = cut.where(col("own_t").is_not_null())
    first = F.min(F.struct("m", *(f"at_{c}" for c in batch)))
    cut = cut.with_column("_first", first.over(Window.partition_by(*parts, *(f"own_{c}" for c in batch))))
    cut = cut.select(
        *(col(c).alias(f"_{c}") for c in [*parts, "m"]),
        *(col(f"own_{c}") for c in batch),
        *(col(f"_first.at_{c}").alias(f"with_{c}") for c in batch),
    )
    tuples = positions.table.select(*parts, *batch, "p")
    in_batch = equal(columns(parts), columns(f"_{g}" for g in parts))
    for c in batch:
        in_batch = in_batch & (col(f"own_{c}") == col(c))
    kept = [*(f"_{c}" for c in [*parts, "m"]), *(f"with_{c}" for c in batch)]
    return tuples.join(cut, in_batch, broadcast=small).group_by(*kept).agg(F.max("p").alias("last"))
