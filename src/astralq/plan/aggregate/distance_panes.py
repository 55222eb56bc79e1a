"""Aggregates over the last distance travelled, every so far: tuples are merged between evaluations, then into windows.

All that an object reports between two multiples of the step enters with the next evaluation and leaves together some
steps later; reports exactly at a multiple are there from their own instants on. So tuples are merged in the pass that
adds up their distances, and what is left is put into the few windows that hold it by their numbers. Only after that
are evaluations looked for: j is at the first report that has travelled so far, and is over at the next one that there
is, which may be a later one than j + 1 (004 §3.2.2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from astralq.algebra.base import Operator
from astralq.algebra.relational import GroupBy
from astralq.algebra.schedules import Measure, Periodic
from astralq.algebra.scopes import Back, Linear
from astralq.algebra.windows import Window
from astralq.expr.nodes import Column as Attribute
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.aggregate.common_panes import Panes, merged_relation
from astralq.plan.aggregate.group_by import group_by, layouts_of, merged_panes, merges_of
from astralq.plan.aggregate.strategies import FEW
from astralq.plan.columns import Window as Over
from astralq.plan.columns import col, columns, lit
from astralq.plan.encoding.batches import NEVER
from astralq.plan.encoding.scan import MERGES, combined
from astralq.plan.encoding.tables import RelationTable, StreamTable, attributes
from astralq.plan.run import Run
from astralq.plan.table import Table
from astralq.plan.windows.arithmetic import first_at_least, first_beyond
from astralq.plan.windows.odometer import legs, located_points
from astralq.plan.windows.result import WindowOf


def merged_by_distance(op: GroupBy, run: Run, stream: Callable[[Operator], StreamTable]) -> RelationTable | None:
    """An aggregation over a window of each object by its distance; None where it is another one."""
    panes = DistancePanes.of(op, run)
    if panes is None:
        return None
    tuples = stream(op.child.children[0])
    if not tuples.one_batch:
        return None
    run.choices.note(op.child.label, "by distance, merged by steps", "all tuples of a step leave together")
    table, plans = merged_panes(op, panes.relation(tuples), run, name="", read_once=True)
    keys, merges = [f"k{j}" for j in range(len(op.keys))], merges_of(plans)
    by_object = set(keys) == set(panes.parts)
    rows = panes.of_objects(table, merges) if by_object else panes.of_groups(table, keys, merges)
    return group_by(
        op,
        merged_relation(tuples, rows, unseen=True),
        run,
        panes=Panes(rows, layouts_of(plans), merged=True, in_windows=True),
    )


@dataclass(frozen=True)
class DistancePanes:
    """A window over the distance travelled that holds a whole number of steps."""

    window: WindowOf
    hi: Linear  # the upper bound of evaluation j, which is when an object has travelled so far
    steps: int  # how many steps a tuple stays
    parts: tuple[str, ...]  # the columns of the grouping that tell objects apart

    @staticmethod
    def of(op: GroupBy, run: Run) -> DistancePanes | None:
        """Of an aggregation right over such a window, by its objects at least, over many rows; None if it is another
        one."""
        if run.one_partition or not isinstance(op.child, Window):
            return None
        spec = op.child.spec
        schedule, scope = spec.schedule, spec.scope
        if not isinstance(schedule, Periodic) or spec.measures != {Measure.DISTANCE} or spec.delay:
            return None
        if not isinstance(scope.lo, Linear | Back) or not isinstance(scope.hi, Linear | Back) or not spec.partition:
            return None
        window = WindowOf(spec, run)
        lo, hi = window.linear(scope.lo), window.linear(scope.hi)
        steps, rest = divmod(hi.offset - lo.offset, schedule.every)
        if lo.slope != schedule.every or hi != Linear(schedule.every, schedule.first) or hi.offset >= hi.slope:
            return None
        names = [e.name if isinstance(e, Attribute) else None for _, e in op.keys]
        if rest or not 0 < steps < FEW or not set(spec.partition) <= set(names):
            return None
        return DistancePanes(window, hi, steps, tuple(f"k{names.index(name)}" for name in spec.partition))

    def relation(self, stream: StreamTable) -> RelationTable:
        """A stream's tuples with the number q of the last evaluation that they have reached, −1 before the first, as
        `ft`; with their own instants as `tt` if they are exactly there; and the instant of the first of them."""
        spec, run = self.window.spec, self.window.run
        location = stream.schema.location
        assert location is not None
        names = {name: f"c{stream.schema.index(name)}" for name in (*spec.partition, location.x, location.y)}
        order = stream.order_columns if stream.numbered else [*stream.stamp_columns, *stream.order_columns]
        parts = [names[name] for name in spec.partition]
        # Sent to their partitions before anything is computed, rows are as short as they can be.
        located = located_points(stream.rows.repartition(parts), [names[location.x], names[location.y]])
        moved = legs(located, parts, order, run, planar=location.planar)
        reached = first_beyond(self.hi, col("d")) - 1
        exactly = first_at_least(self.hi, col("d"), least=0) == col("ft")
        rows = moved.with_column("ft", reached).select(
            *attributes(stream.schema),
            col("t").alias("st"),
            "ft",
            F.when(exactly, col("t")).alias("tt"),
            F.when(col("ft") >= 0, col("t")).alias("first_t"),
        )
        return merged_relation(stream, rows, stamp=("st",), marks=(("first_t", "min"),))

    def of_objects(self, panes: Table, merges: dict[str, str]) -> Table:
        """The partial values of each window of each object, with the interval [ft, tt) in which they are there.

        An evaluation that no report is at or right behind is over at once, so that those are enough for which there are
        panes: of its reports those exactly there come first, and are in one by one; those behind are in the next one.
        """
        own = columns(merges)
        ordered = panes.with_column("own_t", col("tt")).select(*self.parts, "ft", "own_t", *own, "first_t")
        in_turn = Over.partition_by(*self.parts).order_by("ft", F.expr("own_t ASC NULLS LAST"))
        exactly = Over.partition_by(*self.parts, "ft").order_by(F.expr("own_t ASC NULLS LAST")).rows(None, 0)
        before = Over.partition_by(*self.parts).order_by("ft").range(-self.steps, -1)
        # Behind those exactly at an evaluation is one row of those after it, which begins no state.
        follows = F.lead("ft").over(in_turn) == col("ft")
        behind = follows & F.lead("own_t").over(in_turn).is_null()
        next_t = F.when(behind, F.lead("first_t", 2).over(in_turn)).otherwise(F.lead("first_t").over(in_turn))
        is_state = col("own_t").is_not_null() | ~F.lag("ft").over(in_turn).same_as(col("ft"))
        there = {n: F.when(col("own_t").is_not_null(), MERGES[m](col(n)).over(exactly)) for n, m in merges.items()}
        windows = ordered.select(
            *self.parts,
            F.when((col("ft") >= 0) & is_state, col("first_t")).alias("ft"),
            F.coalesce(next_t, lit(NEVER)).alias("tt"),
            *(combined(m, MERGES[m](col(n)).over(before), there[n]).alias(n) for n, m in merges.items()),
        )
        return windows.where((col("ft") < col("tt")) & (col("there") > 0))

    def of_groups(self, panes: Table, keys: list[str], merges: dict[str, str]) -> Table:
        """The same for each group, where objects have several: one has windows in which it reports nothing itself."""
        own = F.when(col("m") == col("ft"), col("tt"))
        # With the evaluation that they have reached, tuples are there only if they are exactly at it.
        inside = (col("m") > col("ft")) | col("tt").is_not_null()
        begun = F.when(col("m") == col("ft"), col("first_t"))
        windows = panes.with_column("m", F.explode(F.sequence(col("ft"), col("ft") + lit(self.steps)))).select(
            *keys,
            "m",
            own.alias("own_t"),
            begun.alias("first_t"),
            *(F.when(inside, col(n)).alias(n) for n in merges),
        )
        merged = windows.group_by(*keys, "m", "own_t").agg(
            F.min("first_t").alias("first_t"), *(MERGES[m](col(n)).alias(n) for n, m in merges.items())
        )
        # An object's instants never go back: the first at or behind evaluation j is the least of all from there on.
        back = Over.partition_by(*self.parts).order_by(F.desc("m"))
        evaluated = merged.with_columns(
            {
                "at_t": F.min("first_t").over(back.range(None, 0)),
                "next_t": F.min("first_t").over(back.range(None, -1)),
            }
        )
        in_window = Over.partition_by(*keys, "m").order_by("own_t")
        grown = evaluated.select(
            *keys,
            F.greatest("own_t", "at_t").alias("ft"),
            F.coalesce(F.lead("own_t").over(in_window), "next_t", lit(NEVER)).alias("tt"),
            *(MERGES[m](col(n)).over(in_window.rows(None, 0)).alias(n) for n, m in merges.items()),
        )
        return grown.where((col("ft") < col("tt")) & (col("there") > 0))
