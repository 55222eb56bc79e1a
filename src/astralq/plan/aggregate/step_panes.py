"""Aggregates over the last rows, every so many of them: tuples are merged by steps, which are looked up afterwards.

A step is what lies between two evaluations. Where no batch goes over its end, all tuples of a step enter with the
evaluation at its end, and leave together some steps later, whatever their order in a batch: they are merged in the pass
that numbers them, and only the panes that are left, one for each step and group, need the instants of evaluations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from astralq.algebra.base import Operator
from astralq.algebra.properties import expressions
from astralq.algebra.relational import GroupBy
from astralq.algebra.schedules import Measure, Periodic
from astralq.algebra.scopes import Back, Linear
from astralq.algebra.windows import Window, WindowSpec
from astralq.expr.safety import can_fail, mergeable
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.aggregate.common_panes import Panes
from astralq.plan.aggregate.group_by import group_by, merged_panes
from astralq.plan.columns import Window as Over
from astralq.plan.columns import col, columns, lit
from astralq.plan.encoding.batches import NEVER
from astralq.plan.encoding.numbering import numbered_by_batch
from astralq.plan.encoding.tables import RelationTable, StreamTable, attributes, holds
from astralq.plan.operators.expressions import looks_at_order
from astralq.plan.run import Run
from astralq.plan.table import Assumed, Table
from astralq.plan.windows.arithmetic import first_at_least
from astralq.plan.windows.steps import SMALL

_MARKS = ("first", "last")


def merged_by_steps(op: GroupBy, run: Run, stream: Callable[[Operator], StreamTable]) -> RelationTable | None:
    """An aggregation over a window by rows; None where it is another one, or where a batch goes over a step's end."""
    panes = StepPanes.of(op, run)
    merges = all(mergeable(a) for _, a in op.aggregates) and not looks_at_order(op)
    if panes is None or not merges or any(can_fail(e) for e in expressions(op)):
        return None
    tuples = numbered_by_batch(stream(op.child.children[0]), run)
    table, plans = merged_panes(op, panes.relation(tuples), run, name="")
    rows, whole = panes.resolved(table, [f"k{j}" for j in range(len(op.keys))], tuples)
    if not whole:
        return None
    run.choices.note(op.child.label, "by rows, merged by steps", "all tuples of a step enter and leave together")
    layouts = {j: p.layout for j, p in enumerate(plans) if p.layout is not None}
    return group_by(op, panes.held(tuples, rows), run, panes=Panes(rows, layouts, merged=True))


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
        """The tuples of a numbered stream with the interval of steps in which they are there, in place of batches; and
        the batches of the first and the last tuple of a step, as marks."""
        every, offset, place = self.hi.slope, self.hi.offset, col("n")
        step = first_at_least(self.hi, place, least=0)
        at = {"first": (place - (offset + 1)) % lit(every) == 0, "last": (place - offset) % lit(every) == 0}
        marks = [F.when(at[m], col(c)).alias(f"{m}_{c}") for m in _MARKS for c in stream.stamp_columns]
        rows = stream.rows.select(
            *attributes(stream.schema),
            col("t").alias("st"),
            *([] if stream.one_batch else [col("i").alias("si")]),
            *marks,
            step.alias("ft"),
        ).with_column("tt", col("ft") + lit(self.steps))
        return RelationTable(
            rows,
            stream.schema,
            (),
            one_batch=True,
            stamp=("st",) if stream.one_batch else ("st", "si"),
            ordered=False,
            coalesced=False,
            lifetime=self.steps,
            pane_aligned=True,
            marks=_marks(stream),
        )

    def resolved(self, panes: Table, keys: list[str], stream: StreamTable) -> tuple[Table, bool]:
        """Panes with the batches between which they are there, and whether no batch goes over the end of a step; where
        one does, tuples of one step come and go at different times."""
        batch = stream.stamp_columns
        marks = _marks(stream)
        steps = panes.group_by("ft").agg(*(F.min(m).alias(m) for m in marks)) if keys else panes
        in_turn = Over().order_by("ft")
        following = {f"next_{c}": F.lead(f"first_{c}").over(in_turn) for c in batch}
        same = lit(True)
        for c in batch:
            same = same & (col(f"last_{c}") == col(f"next_{c}"))
        cut = steps.with_columns(following).agg(F.count(F.when(same, lit(1))).alias("cut"))
        counted = self.run.measure(cut)
        leaves = [F.lead(f"last_{c}", self.steps).over(in_turn).alias(f"leave_{c}") for c in batch]
        kept = columns([c for c in panes.columns if c not in ("ft", "tt", *marks)])
        if keys:
            evaluated = steps.select(
                col("ft").alias("_m"), *(col(f"last_{c}").alias(f"enter_{c}") for c in batch), *leaves
            )
            rows = panes.join(evaluated, col("ft") == col("_m"), broadcast=True)
        else:
            rows = panes.select(*panes.columns, *(col(f"last_{c}").alias(f"enter_{c}") for c in batch), *leaves)
        never = {"t": NEVER, "i": 0}
        ends = [F.coalesce(f"leave_{c}", lit(never[c])).alias(f"t{c}") for c in batch]
        rows = rows.where(col("enter_t").is_not_null())
        rows = rows.select(*kept, *(col(f"enter_{c}").alias(f"f{c}") for c in batch), *ends)
        rows = rows.where(holds(stream.one_batch))
        return (Assumed(rows), True) if counted is None else (rows, counted[0]["cut"] == 0)

    def held(self, stream: StreamTable, rows: Table) -> RelationTable:
        """What is known of the relation whose tuples the panes are of."""
        return RelationTable(
            rows,
            stream.schema,
            (),
            stream.one_batch,
            ordered=False,
            coalesced=False,
            pane_aligned=True,
            unseen=True,
            steps=self.run.expected_rows // self.hi.slope,
        )


def _marks(stream: StreamTable) -> tuple[str, ...]:
    return tuple(f"{m}_{c}" for m in _MARKS for c in stream.stamp_columns)
