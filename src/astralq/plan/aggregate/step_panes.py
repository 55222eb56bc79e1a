"""Aggregates over the last rows, every so many of them: tuples are merged by steps, which are looked up afterwards.

A step is what lies between two evaluations. Where no batch goes over its end, all tuples of a step enter with the
evaluation at its end, and leave together some steps later, whatever their order in a batch: they are merged in the pass
that numbers them, and only the panes that are left, one for each step and group, need the instants of evaluations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from astralq.algebra.base import Operator
from astralq.algebra.relational import GroupBy
from astralq.algebra.schedules import Measure, Periodic
from astralq.algebra.scopes import Back, Linear
from astralq.algebra.windows import Window, WindowSpec
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.aggregate.common_panes import Panes, merged_relation
from astralq.plan.aggregate.group_by import group_by, layouts_of, merged_panes, merges_of
from astralq.plan.aggregate.strategies import FEW
from astralq.plan.columns import Column, col, columns, lit, long
from astralq.plan.columns import Window as Over
from astralq.plan.encoding.batches import ALWAYS, NEVER
from astralq.plan.encoding.numbering import numbered_by_batch
from astralq.plan.encoding.scan import MERGES
from astralq.plan.encoding.tables import RelationTable, StreamTable, attributes, holds
from astralq.plan.run import Run
from astralq.plan.sources.stamps import CHANGED, failing
from astralq.plan.table import ONE_ROW, Assumed, Table
from astralq.plan.windows.arithmetic import first_at_least
from astralq.plan.windows.steps import SMALL

_MARKS = (("first_t", "min"), ("last_t", "max"))
"""The first and the last instant of a step's tuples; these are the same whatever the order in a batch is."""

_IN_TURN = Over().order_by("ft")


def merged_by_steps(op: GroupBy, run: Run, stream: Callable[[Operator], StreamTable]) -> RelationTable | None:
    """An aggregation over a window by rows; None where it is another one, or where a batch goes over a step's end."""
    panes = StepPanes.of(op, run)
    if panes is None:
        return None
    tuples = stream(op.child.children[0])
    if not tuples.one_batch:
        return None
    tuples = numbered_by_batch(tuples, run)
    table, plans = merged_panes(op, panes.relation(tuples), run, name="", read_once=True)
    keys = [f"k{j}" for j in range(len(op.keys))]
    table, whole = panes.whole(table, keys)
    if not whole:
        return None
    run.choices.note(op.child.label, "by rows, merged by steps", "all tuples of a step enter and leave together")
    if panes.at_once(keys):
        rows = panes.states(table, merges_of(plans), always=op.empty_row)
    else:
        rows = panes.resolved(table, keys)
    known = Panes(rows, layouts_of(plans), merged=True, in_windows=panes.at_once(keys))
    return group_by(op, panes.held(tuples, rows), run, panes=known)


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
        if run.one_partition or every == 1 or not 0 <= first < every:
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
        return merged_relation(stream, rows, stamp=("st",), lifetime=self.steps, marks=_MARKS)

    def at_once(self, keys: list[str]) -> bool:
        """Whether the few steps of a window are merged for each of them anew."""
        return not keys and self.steps <= FEW

    def whole(self, panes: Table, keys: list[str]) -> tuple[Table, bool]:
        """The panes, and whether no batch goes over the end of a step; where one does, tuples of one step come and go
        at different times."""
        together = self.run.materialized(panes)
        cut = F.count(F.when(col("last_t") == col("next_t"), lit(1))).alias("cut")
        asked = self._steps(together, keys).with_column("next_t", F.lead("first_t").over(_IN_TURN)).agg(cut)
        counted = self.run.measure(asked, guarded=True)
        if counted is None:
            return Assumed(together), True
        return panes if self.at_once(keys) and self.run.is_learnt(asked) else together, counted[0]["cut"] == 0

    def states(self, panes: Table, merges: Mapping[str, str], *, always: bool) -> Table:
        """The partial values of each window where there are no groups, with the interval [ft, tt) in which they are
        there: those of its last steps. `always`: before the first evaluation there are those of nothing."""
        steps = self._steps(panes, [])
        if always:
            nothing = {n: long(0) if m == "sum" else lit(None) for n, m in merges.items()}
            start = {"ft": long(-1), "enter_t": long(ALWAYS)} | nothing
            steps = steps.union(ONE_ROW.select(*(c.alias(n) for n, c in start.items())), missing=True)
        frame = _IN_TURN.rows(1 - self.steps, 0)
        windows = steps.select(
            *self._guarded(before=int(always)),
            F.lead("enter_t").over(_IN_TURN).alias("tt"),
            *(MERGES[m](col(n)).over(frame).alias(n) for n, m in merges.items()),
        )
        reached = windows.where(col("enter_t").is_not_null())
        return reached.select(
            col("enter_t").alias("ft"), F.coalesce(col("tt"), lit(NEVER)).alias("tt"), *columns(merges)
        )

    def resolved(self, panes: Table, keys: list[str]) -> Table:
        """Panes with the instants between which they are there."""
        reached = self._steps(panes, keys).select(
            "ft", *self._guarded(), F.lead("enter_t", self.steps).over(_IN_TURN).alias("leave_t")
        )
        evaluated = reached.renamed({"ft": "_m"})
        rows = panes.join(evaluated, col("ft") == col("_m"), broadcast=True)
        rows = rows.where(col("enter_t").is_not_null()).select(
            *columns(c for c in panes.columns if c not in ("ft", "tt", *dict(_MARKS))),
            col("enter_t").alias("ft"),
            F.coalesce("leave_t", lit(NEVER)).alias("tt"),
        )
        return rows.where(holds(one_batch=True))

    def _steps(self, panes: Table, keys: list[str]) -> Table:
        """The steps, with the instants of their evaluations; the last one has none unless it is whole."""
        merged = {"there": "sum"} | dict(_MARKS)
        steps = panes.group_by("ft").agg(*(MERGES[m](n).alias(n) for n, m in merged.items())) if keys else panes
        return steps.with_column("enter_t", F.when(col("there") == self._size, col("last_t")))

    @property
    def _size(self) -> Column:
        return F.when(col("ft") == 0, lit(self.hi.offset + 1)).otherwise(lit(self.hi.slope))

    def _guarded(self, before: int = 0) -> list[Column]:
        """`enter_t`, or an error where steps are not whole, or do not follow each other: what was counted in an earlier
        run does not hold any more. So many rows are before the first step."""
        next_t, place = F.lead("first_t").over(_IN_TURN), F.row_number().over(_IN_TURN) - (1 + before)
        wrong = (col("last_t") == next_t) | (next_t.is_not_null() & (col("there") < self._size))
        wrong = wrong | (col("there") > self._size) | (col("ft") != place)
        wrong = F.coalesce(wrong, lit(False)) & (col("ft") >= 0)
        return [failing(wrong, CHANGED, col("enter_t")).alias("enter_t")]

    def held(self, stream: StreamTable, rows: Table) -> RelationTable:
        """What is known of the relation whose tuples the panes are of."""
        return merged_relation(stream, rows, unseen=True, steps=self.run.expected_rows // self.hi.slope)
