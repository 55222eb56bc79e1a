"""Aggregates over the last rows of a stream in an epoch: what is summed up to a tuple, less what is summed before them.

New tuples and those that are kept are in one order without a gap. A window that is evaluated in a batch holds the last
tuples up to the end of the batch (001 D28), so that its sums are those up to there, less those up to the tuple that is
as many positions before. Nobody looks up when tuples enter and leave, and batches may go over evaluations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from astralq.algebra.base import Operator
from astralq.algebra.relational import GroupBy
from astralq.algebra.retention import Demand
from astralq.algebra.schedules import Measure, Periodic
from astralq.algebra.scopes import Back
from astralq.algebra.windows import Window, WindowSpec
from astralq.expr.safety import invertible
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.aggregate.common_panes import Panes, merged_relation
from astralq.plan.aggregate.group_by import group_by, layouts_of, merged_panes, merges_of
from astralq.plan.columns import Column, col, columns, lit, long
from astralq.plan.columns import Window as Over
from astralq.plan.encoding.batches import ALWAYS, NEVER
from astralq.plan.encoding.numbering import IN_ONE_TASK, numbered
from astralq.plan.encoding.scan import NO_CUT, Cut, Sequenced
from astralq.plan.encoding.tables import RelationTable, StreamTable, attributes
from astralq.plan.run import Run
from astralq.plan.state.epochs import MANY, clip_to_epoch, with_kept_tuples
from astralq.plan.state.store import StateTables, state_name
from astralq.plan.table import ONE_ROW, Table

REPLACED = 50_000
"""Up to how many tuples are written anew in each epoch, instead of what has come."""

_IN_ORDER = Over().order_by("n")


def over_last_rows(op: GroupBy, run: Run, stream: Callable[[Operator], StreamTable]) -> RelationTable | None:
    """A global aggregation over a window by rows, in an epoch; None where it is another one."""
    rows = LastRows.of(op, run)
    if rows is None:
        return None
    tuples = stream(op.child.children[0])
    if not tuples.one_batch:
        return None
    run.choices.note(op.child.label, "by rows, from sums up to each", "what is before a window is taken off again")
    before = rows.state.metadata.get(f"count {tuples.name}", 0)
    rows = replace(rows, cut=Cut.of(before - rows.kept, before + (run.new_rows or MANY)))
    held = rows.with_kept(numbered(tuples, run))
    marks = (("n", "max"), ("t", "max"))
    values, plans = merged_panes(op, replace(held, marks=marks), run, name="", read_once=True, all_kept=True)
    states = rows.states(values, list(merges_of(plans)), always=op.empty_row)
    known = Panes(states, layouts_of(plans), merged=True, in_windows=True)
    return clip_to_epoch(group_by(op, replace(held, rows=states, stamp=()), run, panes=known), run)


@dataclass(frozen=True)
class LastRows:
    """A window of the last `width` rows that is evaluated at the positions first + j · every."""

    first: int
    every: int
    width: int
    run: Run
    state: StateTables
    name: str  # of the state table with the tuples that later windows may hold
    cut: Cut = NO_CUT  # of the positions of the epoch

    @staticmethod
    def of(op: GroupBy, run: Run) -> LastRows | None:
        """Of an aggregation without keys right over such a window, whose values can be taken off again."""
        match op.child:
            case Window(_, WindowSpec(Periodic(Measure.POSITION, first, every), scope, 0, ())) as window:
                pass
            case _:
                return None
        if run.state is None or op.keys or not all(invertible(a) for _, a in op.aggregates):
            return None
        if scope.measure is not Measure.POSITION or scope.hi != Back(0) or not isinstance(scope.lo, Back):
            return None
        name = state_name("last", run.scope, window)
        # A run that an earlier version has begun goes on as it began.
        begun = state_name("window", run.scope, window, False, Demand.CLIPPED.name) in run.state.before
        if not 0 <= first < every or (begun and name not in run.state.before):
            return None
        return LastRows(first, every, scope.lo.amount + 1, run, run.state, name)

    @property
    def kept(self) -> int:
        """How many of the last tuples later windows, and the one that holds at the end of the epoch, can hold: the last
        evaluation was at most so many positions before."""
        return self.width + self.every

    @property
    def few(self) -> bool:
        """Whether one task looks at all tuples of the epoch."""
        new = self.run.new_rows
        return self.run.one_partition or (new is not None and max(new, self.kept) <= IN_ONE_TASK)

    def with_kept(self, stream: StreamTable) -> RelationTable:
        """The new tuples of a numbered stream behind those that are kept; of all of them the last ones are kept."""
        if self.kept <= REPLACED:
            there = self.state.get(self.name)
            own = [*attributes(stream.schema), "t", "n"]
            rows = stream.rows.select(*own)
            rows = rows if there is None else there.select(*own).union(rows)
            self.state.count(f"count {stream.name}", self.state.replace(self.name, self._last(rows)))
        else:
            rows = with_kept_tuples(stream, self.name, self.state).rows
            self.state.compact(self.name, self._last(rows))
        made = rows.with_columns({"st": col("t"), "ft": col("n"), "tt": col("n")})
        held = merged_relation(stream, made, stamp=("st",), unseen=True)
        return replace(held, pane_aligned=False)

    def _last(self, rows: Table) -> Table:
        greatest = F.max("n")
        if self.few:
            marked = rows.with_column("_greatest", greatest.over(Over()))
        else:
            marked = rows.beside(rows.agg(greatest.alias("_greatest")))
        return marked.where(col("n") > col("_greatest") - lit(self.kept)).select(*rows.columns)

    def states(self, values: Table, names: list[str], *, always: bool) -> Table:
        """The partial values of each window, with the interval [ft, tt) in which it is shown. `always`: before the
        first evaluation there are those of nothing."""
        evaluated = (col("n") >= self.first) & ((col("n") - lit(self.first)) % lit(self.every) == 0)
        marked = values.with_column("_at", F.when(evaluated, col("t"))).drop("ft", "tt")
        summed = self._in_order(marked).running(dict.fromkeys(names, "sum") | {"_at": "max"}, ["t"])
        # The last tuple of a batch with an evaluation; in one with several the last one shows, and they hold the same.
        ends = (col("_at") == col("t")) & (col("next_t").is_null() | (col("next_t") > col("t")))
        windows = self._differences(summed, ends, names)
        if always:
            nothing = {"n": long(-1), "t": long(ALWAYS)} | dict.fromkeys(names, long(0))
            windows = windows.union(ONE_ROW.select(*(c.alias(n) for n, c in nothing.items())))
        followed = self._in_order(windows).neighbours([], ["t"])
        return followed.select(col("t").alias("ft"), F.coalesce(col("next_t"), lit(NEVER)).alias("tt"), *columns(names))

    def _in_order(self, table: Table) -> Sequenced:
        return Sequenced.of(table, [], ["n"], self.run, self.cut, few=self.few)

    def _differences(self, summed: Table, ends: Column, names: list[str]) -> Table:
        """Of the tuples that end a window what is summed up to them, less what is summed before the window."""
        before = {name: f"before_{name}" for name in names}
        if self.few:
            lags = {b: F.lag(col(name), lit(self.width)).over(_IN_ORDER) for name, b in before.items()}
            both = summed.with_columns(lags).where(ends)
        else:
            table = self.run.materialized(summed)
            earlier = table.select(col("n").alias("_n"), *(col(name).alias(b) for name, b in before.items()))
            both = table.where(ends).join(earlier, col("n") - lit(self.width) == col("_n"), "left")
        return both.select("n", "t", *((col(n) - F.coalesce(col(b), lit(0))).alias(n) for n, b in before.items()))
