"""Aggregates over the last rows, every so many of them: tuples are merged by steps, which are looked up afterwards.

A step is what lies between two evaluations. Where no batch goes over its end, all tuples of a step enter with the
evaluation at its end, and leave together some steps later, whatever their order in a batch: they are merged in the pass
that numbers them, and only the panes that are left, one for each step and group, need the instants of evaluations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from astralq.algebra.base import Operator
from astralq.algebra.relational import GroupBy
from astralq.algebra.schedules import Measure, Periodic
from astralq.algebra.scopes import Back, Linear
from astralq.algebra.windows import Window, WindowSpec
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.aggregate.common_panes import Panes
from astralq.plan.aggregate.group_by import group_by, layouts_of, merged_panes, merges_in_any_order
from astralq.plan.columns import Window as Over
from astralq.plan.columns import col, columns, lit
from astralq.plan.encoding.batches import NEVER
from astralq.plan.encoding.numbering import numbered_by_batch
from astralq.plan.encoding.scan import MERGES
from astralq.plan.encoding.tables import RelationTable, StreamTable, attributes, holds
from astralq.plan.run import Run
from astralq.plan.table import Assumed, Table
from astralq.plan.windows.arithmetic import first_at_least
from astralq.plan.windows.steps import SMALL

_MARKS = (("first_t", "min"), ("last_t", "max"))
"""The first and the last instant of a step's tuples; these are the same whatever the order in a batch is."""


def merged_by_steps(op: GroupBy, run: Run, stream: Callable[[Operator], StreamTable]) -> RelationTable | None:
    """An aggregation over a window by rows; None where it is another one, or where a batch goes over a step's end."""
    panes = StepPanes.of(op, run)
    if panes is None or not merges_in_any_order(op):
        return None
    tuples = stream(op.child.children[0])
    if not tuples.one_batch:
        return None
    tuples = numbered_by_batch(tuples, run)
    table, plans = merged_panes(op, panes.relation(tuples), run, name="")
    rows, whole = panes.resolved(table, [f"k{j}" for j in range(len(op.keys))])
    if not whole:
        return None
    run.choices.note(op.child.label, "by rows, merged by steps", "all tuples of a step enter and leave together")
    return group_by(op, panes.held(tuples, rows), run, panes=Panes(rows, layouts_of(plans), merged=True))


@dataclass(frozen=True)
class StepPanes:
    """A window by rows that holds a whole number of steps."""

    hi: Linear  # the upper bound of evaluation j, which is at that position
    steps: int  # how many steps a tuple stays
    run: Run

    @staticmethod
    def of(op: GroupBy, run: Run) -> StepPanes | None:
        """Of an aggregation right over such a window, over many rows; None if it is another one."""
        match op.child:
            case Window(_, WindowSpec(Periodic(Measure.POSITION, first, every), scope, 0, ())):
                pass
            case _:
                return None
        if run.state is not None or run.one_partition or every == 1 or not 0 <= first < every:
            return None
        if scope.measure is not Measure.POSITION or scope.hi != Back(0) or not isinstance(scope.lo, Back):
            return None
        rows = scope.lo.amount + 1
        if rows % every or run.expected_rows // every > SMALL:
            return None
        return StepPanes(Linear(every, first), rows // every, run)

    def relation(self, stream: StreamTable) -> RelationTable:
        """The tuples of a numbered stream with the interval of steps in which they are there, in place of instants, and
        their own instants as marks."""
        rows = stream.rows.select(
            *attributes(stream.schema),
            col("t").alias("st"),
            *(col("t").alias(name) for name, _ in _MARKS),
            first_at_least(self.hi, col("n"), least=0).alias("ft"),
        ).with_column("tt", col("ft") + lit(self.steps))
        return RelationTable(
            rows,
            stream.schema,
            (),
            one_batch=True,
            stamp=("st",),
            ordered=False,
            coalesced=False,
            lifetime=self.steps,
            pane_aligned=True,
            marks=_MARKS,
        )

    def resolved(self, panes: Table, keys: list[str]) -> tuple[Table, bool]:
        """Panes with the instants between which they are there, and whether no batch goes over the end of a step; where
        one does, tuples of one step come and go at different times."""
        merged = {"there": "sum"} | dict(_MARKS)
        steps = panes.group_by("ft").agg(*(MERGES[m](n).alias(n) for n, m in merged.items())) if keys else panes
        in_turn = Over().order_by("ft")
        cut = F.count(F.when(col("last_t") == col("next_t"), lit(1))).alias("cut")
        counted = self.run.measure(steps.with_column("next_t", F.lead("first_t").over(in_turn)).agg(cut))
        # The last step is evaluated only if it is whole.
        size = F.when(col("ft") == 0, lit(self.hi.offset + 1)).otherwise(lit(self.hi.slope))
        reached = steps.with_column("enter_t", F.when(col("there") == size, col("last_t")))
        leaves = F.lead("enter_t", self.steps).over(in_turn).alias("leave_t")
        if keys:
            evaluated = reached.select(col("ft").alias("_m"), "enter_t", leaves)
            rows = panes.join(evaluated, col("ft") == col("_m"), broadcast=True)
        else:
            rows = reached.select(*reached.columns, leaves)
        rows = rows.where(col("enter_t").is_not_null()).select(
            *columns(c for c in panes.columns if c not in ("ft", "tt", *dict(_MARKS))),
            col("enter_t").alias("ft"),
            F.coalesce("leave_t", lit(NEVER)).alias("tt"),
        )
        rows = rows.where(holds(one_batch=True))
        return (Assumed(rows), True) if counted is None else (rows, counted[0]["cut"] == 0)

    def held(self, stream: StreamTable, rows: Table) -> RelationTable:
        """What is known of the relation whose tuples the panes are of."""
        return RelationTable(
            rows,
            stream.schema,
            (),
            one_batch=True,
            ordered=False,
            coalesced=False,
            pane_aligned=True,
            unseen=True,
            steps=self.run.expected_rows // self.hi.slope,
        )
