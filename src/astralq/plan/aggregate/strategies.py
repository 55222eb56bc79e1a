"""Merging partial values over intervals: for each group a row for each stretch of time in which nothing changes.

| strategy | where | cost |
|---|---|---|
| one step | windows that do not overlap | one aggregation |
| few steps | windows that overlap a little | each pane into the few windows that hold it |
| sweep | sums and counts; or nothing ever leaves | entries add, exits take off: one window function |
| blocks | all rows hold for the same time | a prefix of what entered with what leaves later; no inverse is needed |
| elementary | the rest | each elementary interval by itself: as large as windows overlap |
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from astralq.plan import functions as F  # noqa: N812
from astralq.plan.aggregate.elementary import Elementary
from astralq.plan.columns import Column, Window, col, columns, lit, long
from astralq.plan.encoding.batches import ALWAYS, NEVER
from astralq.plan.encoding.scan import MERGES, Sequenced, combined, equal, presorted
from astralq.plan.encoding.tables import RelationTable
from astralq.plan.run import Run
from astralq.plan.table import ONE_ROW, Table

FEW = 12
"""Up to how many windows hold a tuple if panes are merged into each of them."""


FEW_PANES = 1_000_000
"""Up to how many panes are put together by one task, where there are no groups: a second's work."""


class Strategy(Enum):
    """How partial values are merged."""

    ONE_STEP = "one step"
    FEW_STEPS = "few steps"
    SWEEP = "sweep"
    BLOCKS = "blocks"
    ELEMENTARY = "elementary intervals"


def choose(
    relation: RelationTable, *, always: bool, invertible: bool, keys: Collection[str] = ()
) -> tuple[Strategy, str]:
    """The strategy for partial values over a relation's intervals, and why; `keys` are the columns of its grouping."""
    apart = relation.separate_by is not None and set(relation.separate_by) <= set(keys)
    if relation.pane_aligned and apart and not always:
        return Strategy.ONE_STEP, "the windows of a group do not overlap"
    stride = None if relation.grid is None else relation.grid.every
    if relation.pane_aligned and relation.lifetime is not None and stride is not None and not always:
        if relation.lifetime == stride:
            return Strategy.ONE_STEP, "the windows do not overlap"
        if relation.one_batch and relation.lifetime <= FEW * stride:
            return Strategy.FEW_STEPS, f"a row is in {relation.lifetime // stride} windows"
    if relation.append_only:
        return Strategy.SWEEP, "nothing leaves the window"
    if invertible:
        return Strategy.SWEEP, "what leaves can be taken off again"
    if relation.lifetime is not None and relation.one_batch:
        return Strategy.BLOCKS, "minima and maxima, and every row holds for the same time"
    return Strategy.ELEMENTARY, "minima and maxima, and rows hold for different times"


@dataclass(frozen=True)
class Merging:
    """Partial values by group and interval, and how they merge; `always`: there is a row over nothing, too."""

    relation: RelationTable
    keys: Sequence[str]
    merges: Mapping[str, str]
    run: Run
    always: bool

    @property
    def few(self) -> bool:
        """Whether there are so few panes that one task looks at them one after the other."""
        steps = self.relation.steps
        return not self.keys and self.relation.pane_aligned and steps is not None and steps <= FEW_PANES

    def states(self, named: Table, strategy: Strategy, before: Mapping[str, str] | None = None) -> Table:
        """For each group the merged partials in each interval [ft, tt) between two of its changes; with those just
        before it under other names, where they are swept and somebody asks for them."""
        match strategy:
            case Strategy.ONE_STEP:
                return named
            case Strategy.FEW_STEPS:
                return self._step_by_step(named)
            case Strategy.SWEEP:
                return self.swept(self._events(named), before)
            case Strategy.BLOCKS:
                return self._blocks(named)
        return self._elementary(named)

    def panes(self, named: Table) -> Table:
        """One row for all rows of a group with the same interval."""
        relation = self.relation
        lifetime = relation.lifetime if relation.one_batch and relation.pane_aligned else None
        ends = relation.interval_columns if lifetime is None else ["ft"]
        merged = named.group_by(*self.keys, *ends).agg(*self._merged())
        return merged if lifetime is None else merged.with_column("tt", col("ft") + lit(lifetime))

    def _merged(self) -> list[Column]:
        return [MERGES[m](col(name)).alias(name) for name, m in self.merges.items()]

    def _step_by_step(self, named: Table) -> Table:
        assert self.relation.grid is not None
        stride = self.relation.grid.every
        steps = F.sequence(col("ft"), col("tt") - lit(stride), long(stride))
        # Partitioned by keys first, panes are sent once, and not what becomes of them.
        exploded = named.repartition(self.keys).with_column("ft", F.explode(steps))
        merged = exploded.group_by(*self.keys, "ft").agg(*self._merged())
        return merged.with_column("tt", col("ft") + lit(stride))

    # Sweep

    @property
    def knows_before(self) -> bool:
        """Whether swept states can have the values just before them."""
        return self.relation.one_batch and (bool(self.keys) or self.run.one_partition or self.few)

    def swept(self, events: Table, before: Mapping[str, str] | None = None) -> Table:
        """Entries add, and exits take off: running values over the points of each group; the last event of a point has
        them all."""
        one_batch = self.relation.one_batch
        order = ["at"] if one_batch else ["at", "ai"]
        sequence = Sequenced.of(self._always_one(events), self.keys, order, self.run, self.run.time_cut, few=self.few)
        swept = sequence.running(self.merges, order, before)
        last = col("next_at").is_null() | (col("next_at") > col("at"))
        if not one_batch:
            last = last | (col("next_ai") > col("ai"))
        if not self.always:
            last = last & (col("there") > 0)
        made = [col("at").alias("ft"), F.coalesce("next_at", lit(NEVER)).alias("tt")]
        if not one_batch:
            made = [made[0], col("ai").alias("fi"), made[1], F.coalesce("next_ai", lit(0)).alias("ti")]
        return swept.where(last).select(*self.keys, *made, *self.merges, *(before or {}).values())

    def _events(self, named: Table) -> Table:
        """Entries, and exits with what they take off: at, and the partials; both in one pass over the rows."""
        one_batch = self.relation.one_batch
        if self.relation.append_only:
            stamp = [col("ft").alias("at"), *([] if one_batch else [col("fi").alias("ai")])]
            events = named.select(*self.keys, *stamp, *self.merges)
        else:
            both, enters = self._twice(named), col("_enters")
            stamp = [self._at(enters)]
            if not one_batch:
                stamp.append(F.when(enters, col("fi")).otherwise(col("ti")).alias("ai"))
            # Minima are swept only where nothing leaves.
            assert set(self.merges.values()) == {"sum"}, self.merges
            values = (F.when(enters, col(n)).otherwise(-col(n)).alias(n) for n in self.merges)
            events = both.select(*self.keys, *stamp, *values)
            if self.keys:
                events = presorted(events, self.keys, "at")
        return events if self._stay is not None else events.where(col("at") < NEVER)

    @property
    def _stay(self) -> int | None:
        """For how long each row holds, where an entry alone tells its exit: epochs cut the beginnings off."""
        return self.relation.lifetime if self.relation.one_batch and self.run.since is None else None

    def _twice(self, named: Table) -> Table:
        """Each row once as it enters and once as it leaves. They are partitioned by keys before: all that follows goes
        on in these partitions."""
        sent = named if self._stay is None else named.drop("tt")
        return sent.repartition(self.keys).with_column("_enters", F.explode(F.array(lit(True), lit(False))))

    def _at(self, enters: Column) -> Column:
        """When a row enters or leaves."""
        leaves = col("tt") if self._stay is None else col("ft") + lit(self._stay)
        return F.when(enters, col("ft")).otherwise(leaves).alias("at")

    def _always_one(self, events: Table) -> Table:
        """With the row over nothing where it is due."""
        if not self.always:
            return events
        one_batch = self.relation.one_batch
        values = {n: long(0) if m == "sum" else lit(None) for n, m in self.merges.items()}
        start = {"at": long(ALWAYS)} | ({} if one_batch else {"ai": long(0)}) | values
        return events.union(ONE_ROW.select(*(c.alias(n) for n, c in start.items())))

    # Blocks

    def _blocks(self, named: Table) -> Table:
        """Time in blocks as long as a row holds: at a point q, what entered in q's block up to q, and what leaves
        in it after q, are all that is there. Nothing is taken off, so that any function that merges will do; sums are
        swept on the way."""
        assert self.relation.lifetime is not None
        keys = list(self.keys)
        sums = {n: m for n, m in self.merges.items() if m == "sum"}
        others = {n: m for n, m in self.merges.items() if m != "sum"}
        block = F.floor(col("at") / lit(self.relation.lifetime)).cast("bigint")

        both, enters = self._twice(named), col("_enters")
        values = [F.when(enters, col(n)).otherwise(-col(n)).alias(n) for n in sums]
        for n in others:
            values += [F.when(enters, col(n)).alias(f"in_{n}"), F.when(~enters, col(n)).alias(f"out_{n}")]
        events = both.select(*keys, self._at(enters), *values)
        if self.always:
            start = {"at": long(ALWAYS)} | dict.fromkeys(sums, long(0))
            events = events.union(ONE_ROW.select(*(c.alias(n) for n, c in start.items())), missing=True)
        merged = (
            events.with_column("block", block)
            .group_by(*keys, "block", "at")
            .agg(
                *(F.sum(n).alias(n) for n in sums),
                *(MERGES[m](col(f"{d}_{n}")).alias(f"{d}_{n}") for n, m in others.items() for d in ("in", "out")),
            )
        )
        up = Window.partition_by(*keys, "block").order_by("at").rows(None, 0)
        down = Window.partition_by(*keys, "block").order_by(F.desc("at")).rows(None, -1)
        staying = merged.with_columns({f"out_{n}": MERGES[m](col(f"out_{n}")).over(down) for n, m in others.items()})
        valued = staying.select(
            *keys,
            "block",
            "at",
            *sums,
            *(combined(m, MERGES[m](col(f"in_{n}")).over(up), col(f"out_{n}")).alias(n) for n, m in others.items()),
        )
        # Blocks follow each other: in this order rows are sorted already.
        order = ["block", "at"] if keys else ["at"]
        sequence = Sequenced.of(valued, keys, order, self.run, self.run.time_cut, few=self.few)
        states = sequence.running(sums, ["at"])
        states = states.with_column("tt", F.coalesce("next_at", lit(NEVER))).renamed({"at": "ft"})
        held = states if self.always else states.where(col("there") > 0)
        return held.select(*keys, "ft", "tt", *self.merges)

    # Elementary intervals

    def _elementary(self, named: Table) -> Table:
        named = self.run.materialized(named)
        elementary = Elementary.of([named], self.keys, self.run, one_batch=self.relation.one_batch, whole=self.always)
        values = elementary.members(named).group_by(*self.keys, "e").agg(*self._merged())
        sums = {n for n, m in self.merges.items() if m == "sum"}
        return self.with_intervals(values, elementary, list(self.merges), dict.fromkeys({"there"} | sums, lit(0)))

    def with_intervals(
        self, values: Table, elementary: Elementary, names: Sequence[str], empty: Mapping[str, Column]
    ) -> Table:
        """Values by group and elementary interval, with the intervals; with a row over nothing where it is due."""
        intervals = elementary.intervals
        renamed = values.select(*(col(k).alias(f"_{k}") for k in self.keys), col("e").alias("_e"), *names)
        same = (col("e") == col("_e")) & equal(columns(self.keys), columns(f"_{k}" for k in self.keys))
        joined = intervals.join(renamed, same, "left" if self.always else "inner")
        filled = [F.coalesce(col(n), empty[n]).alias(n) if n in empty else col(n) for n in names]
        return joined.select(*self.keys, *self.relation.interval_columns, *filled)
