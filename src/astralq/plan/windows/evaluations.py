"""The table of evaluations: an aperiodic schedule's instants with their bounds, where there is no formula."""

from __future__ import annotations

from dataclasses import dataclass

from astralq.algebra.calendar import Calendar
from astralq.algebra.schedules import Measure, TimeSchedule
from astralq.algebra.scopes import Back, Bound, Linear, OfInstant, Scope
from astralq.algebra.windows import WindowSpec
from astralq.errors import WindowError
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, col, columns, lit
from astralq.plan.encoding.batches import NEVER, Id, at, lt
from astralq.plan.encoding.scan import Cut, asof_forward, equal
from astralq.plan.run import Run
from astralq.plan.table import Assumed, Table, Values
from astralq.plan.windows.positions import Positions
from astralq.timeline import Instant, format_instant


@dataclass(frozen=True)
class Evaluations:
    """Evaluations e with their closed bounds lo and hi, NULL where a bound depends on the data."""

    rows: Table
    run: Run
    assumed: bool = False  # which evaluations there are has to be measured first

    @staticmethod
    def of(spec: WindowSpec, run: Run, tuples: Table, *, kept: bool = True) -> Evaluations:
        """Those that a run can see: from its first instant, before which there are no tuples, to its end; in an epoch
        where tuples are kept from the oldest of them. By the calendar, up to where all tuples have left."""
        assert isinstance(spec.schedule, TimeSchedule)
        first, assumed = run.first_instant, False
        if run.state is not None and kept:
            measured = run.measure(tuples.agg(F.min("t").alias("oldest")))
            oldest = None if measured is None else measured[0]["oldest"]
            first, assumed = first if oldest is None else min(first, oldest), measured is None
        last = spec.schedule.settles(run.end) if isinstance(spec.schedule, Calendar) else run.end
        instants = spec.schedule.between(run.t0, first, last)
        rows = [
            (e, _value(spec.scope, spec.scope.lo, e, run), _value(spec.scope, spec.scope.hi, e, run)) for e in instants
        ]
        return Evaluations(Values(tuple(rows), tuple((n, "bigint") for n in ("e", "lo", "hi"))), run, assumed)

    def entering(self, probes: Table, cut: Cut, name: str) -> Table:
        """The first evaluation with hi ≥ _v."""
        return self._first(probes, col("hi"), cut, name, strict=False)

    def leaving(self, probes: Table, cut: Cut, name: str) -> Table:
        """The first evaluation with lo > _v."""
        return self._first(probes, col("lo"), cut, name, strict=True)

    def following(self, probes: Table, cut: Cut, name: str) -> Table:
        """The first evaluation at or after _v."""
        return self._first(probes, col("e"), cut, name, strict=False)

    def _first(self, probes: Table, bound: Column, cut: Cut, name: str, *, strict: bool) -> Table:
        table = self.rows.select(bound.alias("_v"), col("e").alias("_e")).where(col("_v").is_not_null())
        if self.assumed:
            probes = Assumed(probes)
        looked_up = asof_forward(probes, table, keys=[], at=["_v"], payload="_e", cut=cut, run=self.run, strict=strict)
        return looked_up.renamed({"_e_found": name})

    def check_reached(self, positions: Positions) -> None:
        """An upper bound in positions or distance that has not come by its evaluation is an error, as in the model."""
        parts = positions.table.select(*positions.parts).distinct()
        in_positions = "d" not in positions.rows.columns
        measure = "p" if in_positions else "d"
        wanted: Table = self.rows.where(col("hi") >= 0)
        if self.assumed:
            wanted = Assumed(wanted)
        wanted = wanted.pairs(parts, lit(True)) if positions.parts else wanted
        if self.run.since is not None:
            # What came in the epochs before was looked at then, and the tuples that it met may be gone.
            first = positions.table.group_by(*positions.parts).agg(F.min(measure).alias("_least"))
            same = equal(columns(positions.parts), columns(f"_{g}" for g in positions.parts))
            first = first.select(*(col(g).alias(f"_{g}") for g in positions.parts), "_least")
            wanted = wanted.join(first, same) if positions.parts else wanted.beside(first)
            wanted = wanted.where((col("e") > self.run.since) & (col("hi") >= F.coalesce("_least", lit(0))))
            wanted = wanted.select("e", "lo", "hi", *positions.parts)
        reached = wanted.with_column("_v", col("hi"))
        table = positions.table.select(
            *positions.parts, col(measure).alias("_v"), F.struct(*positions.batch_columns).alias("_batch")
        )
        looked_up = asof_forward(
            reached, table, keys=positions.parts, at=["_v"], payload="_batch", cut=self.run.position_cut, run=self.run
        )
        batch = Id(
            F.coalesce(col("_batch_found.t"), lit(NEVER)),
            None if positions.one_batch else F.coalesce(col("_batch_found.i"), lit(0)),
        )
        late = looked_up.where(lt(at(col("e")), batch)).agg(F.min(F.struct("e", "hi")).alias("late"))
        measured = self.run.measure(late)
        if measured is not None and measured[0]["late"] is not None:
            e, hi = measured[0]["late"]
            what = f"position {hi}, which has not come" if in_positions else f"{hi} mm, which has not been travelled"
            raise WindowError(f"the window evaluated at {format_instant(Instant(e))} ends at {what} by then")


def _value(scope: Scope, bound: Bound, e: Instant, run: Run) -> int | None:
    match bound:
        case OfInstant():
            return bound.function(e)
        case Linear():
            return bound.value(0, run.t0, scope.measure)
        case Back() if scope.measure is Measure.TIME:
            return e - bound.amount
    return None
