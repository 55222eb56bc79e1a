"""A window's relation: tuples with the intervals in which it holds them, and what of them is needed later."""

from __future__ import annotations

from dataclasses import dataclass

from astralq.algebra.properties import Grid
from astralq.algebra.retention import Demand
from astralq.algebra.schedules import Measure, Periodic
from astralq.algebra.scopes import Back, Bound, Linear
from astralq.algebra.windows import WindowSpec
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, col, lit
from astralq.plan.encoding.batches import Id
from astralq.plan.encoding.tables import Key, Phi, RelationTable, StreamTable, attributes, holds, interval
from astralq.plan.run import Run
from astralq.plan.state.epochs import needed_tuples
from astralq.plan.table import Table
from astralq.timeline import Instant


@dataclass(frozen=True)
class WindowOf:
    """A window over a stream in a run; in an epoch, with the name of the state table that has its tuples."""

    spec: WindowSpec
    run: Run
    name: str = ""
    demand: Demand = Demand.CLIPPED
    by_stamp: bool = False  # φ is where the stream's order has a tuple, not a number
    copies: bool = False  # and equal tuples are told apart, by any number

    def linear(self, bound: Bound) -> Linear:
        """A bound on the schedule's own measure as a function of j."""
        schedule = self.spec.schedule
        assert isinstance(schedule, Periodic)
        if isinstance(bound, Linear):
            return Linear(bound.slope, bound.value(0, self.run.t0, self.spec.scope.measure))
        assert isinstance(bound, Back)
        return Linear(schedule.every, schedule.origin(self.run.t0) - bound.amount)

    def relation(
        self,
        stream: StreamTable,
        rows: Table,
        start: Id,
        end: Id,
        *,
        lifetime: int | None = None,
        append_only: bool = False,
        pane_aligned: bool = False,
        steps: int | None = None,
        separate_by: tuple[str, ...] | None = None,
        within: tuple[Instant, Instant] | None = None,
    ) -> RelationTable:
        """The relation of tuples that a window holds in [start, end)."""
        if self.spec.schedule.measure is Measure.TIME:
            start, end = start.moved(self.spec.delay), end.moved(self.spec.delay)
        if self.name:
            assert self.run.state is not None
            needed = needed_tuples(rows, self.spec, self.demand, start, end, self.run.end)
            self.run.state.compact(self.name, needed)
        if "gone" in rows.columns:
            rows = rows.where(~F.coalesce(col("gone"), lit(False)))
        one_batch = start.i is None and end.i is None
        stamp = {"st": "t"} | ({} if stream.one_batch else {"si": "i"}) | ({"sn": "n"} if stream.numbered else {})
        phi, order = self._phi(stream)
        held: Table = rows.select(
            *attributes(stream.schema),
            *(col(c).alias(name) for name, c in stamp.items()),
            *order,
            *interval(start, end, one_batch=one_batch),
        )
        return RelationTable(
            held if lifetime is not None and one_batch else held.where(holds(one_batch)),
            stream.schema,
            phi,
            one_batch,
            tuple(stamp),
            ordered=bool(phi),
            coalesced=bool(phi),
            lifetime=lifetime,
            append_only=append_only,
            pane_aligned=pane_aligned,
            unseen=within is None,
            within=within,
            grid=self._grid if pane_aligned else None,
            steps=steps,
            separate_by=separate_by,
        )

    def _phi(self, stream: StreamTable) -> tuple[Phi, list[Column]]:
        if stream.numbered:
            return (Key("o0"),), [col("n").alias("o0")]
        if not self.by_stamp:
            return (), []
        # What is there as an attribute or a stamp is not copied.
        there = {"t": stream.time or "st", "i": "si"} | {c: c for c in attributes(stream.schema)}
        names = [*stream.stamp_columns, *stream.order_columns]
        new = {c: there.get(c, f"p{k}") for k, c in enumerate(names)}
        made = [col(c).alias(n) for c, n in new.items() if c not in there]
        phi = [Key(c) for c in new.values()]
        if self.copies:
            phi.append(Key("copy"))
            made.append(F.expr("monotonically_increasing_id()").alias("copy"))
        return tuple(phi), made

    @property
    def _grid(self) -> Grid | None:
        """The instants of evaluations, where they are periodic in time."""
        schedule = self.spec.schedule
        if not isinstance(schedule, Periodic) or schedule.measure is not Measure.TIME:
            return None
        return Grid(schedule.origin(self.run.t0) + self.spec.delay, schedule.every)
