"""Aggregation over intervals: a row for each group and each stretch of time in which its values do not change.

Three plans. The sweep adds what enters and takes off what leaves, for sums and counts. The blocks of windows that
hold each row for the same time combine a prefix of what entered with what has not left yet, for minima too, at a cost
that does not depend on how much windows overlap. The direct plan computes every elementary interval by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.relational import GroupBy
from astralq.expr.nodes import Aggregate
from astralq.expr.safety import mergeable
from astralq.spark.aggregate.direct import aggregated
from astralq.spark.aggregate.elementary import Elementary
from astralq.spark.aggregate.exact import Layout, double_range, recut
from astralq.spark.aggregate.partials import Plan, layout_from, plan, prepared
from astralq.spark.context import Run
from astralq.spark.encoding.batches import ALWAYS, NEVER
from astralq.spark.encoding.columns import col, lit, long
from astralq.spark.encoding.frames import Key, RelationFrame, attributes, columns
from astralq.spark.encoding.scan import MERGES, Sequenced, combined, equal
from astralq.spark.operators.expressions import Names
from astralq.spark.sources.provenance import source_column
from astralq.spark.state.tables import current, with_indexes

FEW = 12
"""Up to how many windows hold a tuple if panes are merged into each of them."""


def group_by(op: GroupBy, frame: RelationFrame, run: Run, *, edge: str = "", at_once: bool = False) -> RelationFrame:
    """The groups' rows; φ is the key (SEMANTICS.md §1).

    With an edge, the frame has new rows only, and panes are kept at the edge instead of rows; rows that come to it at
    once are those of the epoch's sources.
    """
    return _Grouping(op, frame, run, edge, at_once).result()


def keep_panes(op: GroupBy, frame: RelationFrame, run: Run, *, edge: str, at_once: bool) -> None:
    """Only merges new rows into the panes of an edge; nobody looks at the groups' rows."""
    grouping = _Grouping(op, frame, run, edge, at_once)
    grouping._with_panes(*grouping._named(grouping.rows()))


@dataclass(frozen=True)
class _Grouping:
    op: GroupBy
    frame: RelationFrame
    run: Run
    edge: str = ""
    at_once: bool = False

    @property
    def keys(self) -> list[str]:
        return [f"k{j}" for j in range(len(self.op.keys))]

    @property
    def always(self) -> bool:
        """Whether there is a row over nothing too: a global aggregate."""
        return not self.op.keys and self.op.empty_row

    def rows(self) -> DataFrame:
        """The rows with their keys and arguments, order columns z…, and intervals."""
        frame = self.frame
        names = Names(self.op.child.schema, attributes(frame.schema), frame.stamp)
        return frame.df.select(
            *prepared(self.op, names),
            *(col(c).alias(f"z{j}") for j, c in enumerate(frame.order)),
            *columns(frame.interval_columns),
        )

    @property
    def order(self) -> list[str]:
        return [f"z{j}" for j in range(len(self.frame.order))]

    def result(self) -> RelationFrame:
        if not all(mergeable(a) for _, a in self.op.aggregates):
            here = replace(self, frame=current(self.frame, self.run))
            return here._directly(here.rows())
        named, plans, merges = self._named(self.rows())
        invertible = all(p.invertible for p in plans)
        if self.edge:
            named = self._with_panes(named, plans, merges)
        states = self._states(self._from_now(named, invertible=invertible), merges, invertible=invertible)
        found = self._relation(states, [p.final for p in plans])
        if self.run.since is not None:
            return current(found, self.run)
        return replace(found, lifetime=self._stride) if self._one_step or self._few_steps else found

    def _named(self, rows: DataFrame) -> tuple[DataFrame, list[Plan], dict[str, str]]:
        """The rows as partial values with their intervals; the aggregates' plans; and how partial values merge."""
        plans = [
            plan(j, a, lambda j, a: self._layout(rows, j, a), self.order) for j, (_, a) in enumerate(self.op.aggregates)
        ]
        partials = {p.name: p for q in plans for p in q.partials}
        named = rows.select(
            *columns(self.keys),
            *columns(self.frame.interval_columns),
            long(1).alias("there"),
            *(p.value.alias(name) for name, p in partials.items()),
        )
        merges = {"there": "sum"} | {name: p.merge for name, p in partials.items()}
        if self.frame.shared and not self.edge:
            # Windows that move in steps: all rows of one step behave alike, and are one from here on.
            named = self._merged(named, merges)
        return named, plans, merges

    def _merged(self, named: DataFrame, merges: dict[str, str]) -> DataFrame:
        """One row for all rows of a group with the same interval."""
        lifetime = self.frame.lifetime if self.frame.flat and self.frame.shared else None
        ends = self.frame.interval_columns if lifetime is None else ["ft"]
        merged = named.groupBy(*columns([*self.keys, *ends])).agg(
            *(MERGES[m](col(name)).alias(name) for name, m in merges.items())
        )
        return merged if lifetime is None else merged.withColumn("tt", col("ft") + lit(lifetime))

    def _with_panes(self, named: DataFrame, plans: Sequence[Plan], merges: dict[str, str]) -> DataFrame:
        """New panes, merged with those that the edge has kept: rows of one group that come and go together."""
        run = self.run
        assert run.memory is not None
        kept = run.memory.kept(self.edge)
        layouts = [p.layout for p in plans]
        if kept is not None and run.since is not None:
            old = with_indexes(kept, flat=self.frame.flat).where(col("tt") > run.since)
            before = [None if x is None else Layout(*x) for x in run.memory.facts[f"layouts {self.edge}"]]
            for k, (a, b) in enumerate(zip(before, layouts, strict=True)):
                if a is not None and b is not None and a != b:
                    cut = recut([col(f"s{k}_{j}") for j in range(a.count)], a, b)
                    old = old.withColumns({f"s{k}_{j}": limb for j, limb in enumerate(cut)})
            if self.frame.endless:
                # What has come before is one value for each group.
                old = old.withColumn("ft", F.greatest("ft", lit(run.since)))
                if not self.frame.flat:
                    old = old.withColumn("fi", F.when(col("ft") > run.since, col("fi")).otherwise(lit(0)))
            named = old.select(*columns(c for c in old.columns if c in named.columns)).unionByName(
                named, allowMissingColumns=True
            )
        run.memory.learn(f"layouts {self.edge}", [None if x is None else list(astuple(x)) for x in layouts])
        return run.memory.replace(self.edge, self._merged(named, merges))

    def _from_now(self, named: DataFrame, *, invertible: bool) -> DataFrame:
        """Rows from (since, 0) on; the plans for windows of one length want their whole intervals."""
        run, frame = self.run, self.frame
        if run.since is None or self._one_step or self._few_steps:
            return named
        if frame.lifetime is not None and frame.flat and not (frame.endless or invertible):
            return named
        made = {"ft": F.greatest("ft", lit(run.since))}
        if not frame.flat:
            made["fi"] = F.when(col("ft") > run.since, col("fi")).otherwise(lit(0))
        return named.withColumns(made)

    def _layout(self, rows: DataFrame, j: int, a: Aggregate) -> Layout:
        """How the argument's values are cut; a source's own column is looked at where it is cheapest to read."""
        if a.args[0].type.name != "DOUBLE":
            return layout_from(rows, j, a, self.run.rows)
        traced = source_column(self.op.child, a.args[0])
        if self.run.memory is None:
            return layout_from(rows, j, a, 0) if traced is None else self.run.sources.layout(*traced)
        if not self.edge:
            return layout_from(rows, j, a, 0)
        if traced is not None:
            found = self.run.range(*traced)
        else:
            found = self.run.known_range(f"{self.edge} {j}", lambda: double_range(rows, col(f"v{j}")))
        if found.layout.fast:
            return found.layout
        # All rows that ever came may be far more than any group has at a time.
        known = self.run.new_rows if traced is not None and self.at_once else None
        most = self.run.most(self.edge, self._largest_group, rows.count() if known is None else known)
        return replace(found, rows=min(found.rows, most)).layout

    def _largest_group(self) -> int:
        """How many rows the largest group has that is kept."""
        assert self.run.memory is not None
        kept = self.run.memory.kept(self.edge)
        if kept is None:
            return 0
        sums = kept.groupBy(*columns(self.keys)).agg(F.sum("there").alias("rows"))
        return sums.agg(F.max("rows")).collect()[0][0] or 0

    def _states(self, named: DataFrame, merges: dict[str, str], *, invertible: bool) -> DataFrame:
        """For each group the merged partials in each interval [ft, tt) between two of its changes."""
        step = self.frame.lifetime
        if self._one_step:
            return named
        if self._few_steps:
            return self._step_by_step(named, merges)
        if self.frame.endless or invertible:
            return self._sweep(named, merges)
        if step is not None and self.frame.flat:
            return self._blocks(named, merges, step)
        return self._merged_directly(named, merges)

    @property
    def _stride(self) -> int | None:
        return None if self.frame.grid is None else self.frame.grid.every

    @property
    def _one_step(self) -> bool:
        """Windows that do not overlap: each step is a state by itself."""
        frame = self.frame
        return frame.shared and frame.lifetime is not None and frame.lifetime == self._stride and not self.always

    @property
    def _few_steps(self) -> bool:
        """Windows that overlap a little: merging each pane into the few windows that hold it is cheapest."""
        frame = self.frame
        if not frame.shared or frame.lifetime is None or self._stride is None or self.always or not frame.flat:
            return False
        return frame.lifetime <= FEW * self._stride

    def _step_by_step(self, named: DataFrame, merges: dict[str, str]) -> DataFrame:
        stride = self._stride
        assert stride is not None
        steps = F.sequence(col("ft"), col("tt") - lit(stride), long(stride))
        exploded = named.withColumn("ft", F.explode(steps))
        merged = exploded.groupBy(*columns(self.keys), "ft").agg(
            *(MERGES[m](col(name)).alias(name) for name, m in merges.items())
        )
        return merged.withColumn("tt", col("ft") + lit(stride))

    def _points(self, named: DataFrame, merges: dict[str, str]) -> DataFrame:
        """Entries, and exits with what they take off: at, and the partials."""
        flat = self.frame.flat
        zero = long(0)

        def event(t: str, i: str, sign: int) -> Column:
            index = [] if flat else [col(i).alias("ai")]
            values = [
                (col(n) if sign > 0 else -col(n) if m == "sum" else self._nothing(named, n)).alias(n)
                for n, m in merges.items()
            ]
            return F.struct(col(t).alias("at"), *index, *values)

        # Both in one pass over the rows.
        both = [event("ft", "fi", 1)] + ([] if self.frame.endless else [event("tt", "ti", -1)])
        found = named.select(*columns(self.keys), F.explode(F.array(*both)).alias("event")).select(
            *columns(self.keys), "event.*"
        )
        found = found.where(col("at") < NEVER)
        if self.always:
            nothing = {n: zero if m == "sum" else self._nothing(named, n) for n, m in merges.items()}
            spark = named.sparkSession
            start = spark.range(1).select(
                long(ALWAYS).alias("at"),
                *([] if flat else [zero.alias("ai")]),
                *(c.alias(n) for n, c in nothing.items()),
            )
            found = found.unionByName(start)
        return found

    def _nothing(self, named: DataFrame, column: str) -> Column:
        return lit(None).cast(named.schema[column].dataType)

    def _sweep(self, named: DataFrame, merges: dict[str, str]) -> DataFrame:
        """Running values over the points of each group; the last event of a point has them all."""
        order = ["at"] if self.frame.flat else ["at", "ai"]
        events = self._points(named, merges)
        events = events if self.keys else self.run.shared(events)
        cut = None if self.keys else self.run.time_cut
        sequence = Sequenced(events, tuple(self.keys), tuple(order), cut)
        swept = sequence.running(merges, order)
        last = col("next_at").isNull() | (col("next_at") > col("at"))
        if not self.frame.flat:
            last = last | (col("next_ai") > col("ai"))
        if not self.always:
            last = last & (col("there") > 0)
        made = [col("at").alias("ft"), F.coalesce("next_at", lit(NEVER)).alias("tt")]
        if not self.frame.flat:
            made = [made[0], col("ai").alias("fi"), made[1], F.coalesce("next_ai", lit(0)).alias("ti")]
        return swept.where(last).select(*columns(self.keys), *made, *columns(merges))

    def _blocks(self, named: DataFrame, merges: dict[str, str], step: int) -> DataFrame:
        """Time in blocks as long as a row holds: at a point q, what entered in q's block up to q, and what leaves
        in it after q, are all that is there. Nothing is taken off, so that any function that merges will do."""
        keys = self.keys
        block = F.floor(col("at") / lit(step)).cast("bigint")

        def events(t: str, entering: bool) -> DataFrame:
            values = []
            for n in merges:
                nothing = lit(None).cast(named.schema[n].dataType)
                values += [(col(n) if entering else nothing).alias(f"in_{n}")]
                values += [(nothing if entering else col(n)).alias(f"out_{n}")]
            return named.select(*columns(keys), col(t).alias("at"), *values)

        both = events("ft", True).union(events("tt", False))
        if self.always:
            start = named.sparkSession.range(1).select(long(ALWAYS).alias("at"))
            both = both.unionByName(start, allowMissingColumns=True)
        merged = (
            both.withColumn("block", block)
            .groupBy(*columns(keys), "block", "at")
            .agg(*(MERGES[m](col(f"{d}_{n}")).alias(f"{d}_{n}") for n, m in merges.items() for d in ("in", "out")))
        )
        parts = [*keys, "block"]
        up = Window.partitionBy(*parts).orderBy("at").rowsBetween(Window.unboundedPreceding, Window.currentRow)
        down = Window.partitionBy(*parts).orderBy(F.desc("at")).rowsBetween(Window.unboundedPreceding, -1)
        values = []
        for n, m in merges.items():
            entered = MERGES[m](col(f"in_{n}")).over(up)
            staying = MERGES[m](col(f"out_{n}")).over(down)
            values.append(combined(m, entered, staying).alias(n))
        valued = merged.select(*columns(parts), "at", *values)
        valued = valued if keys else self.run.shared(valued)
        ahead = Sequenced(valued.drop("block"), tuple(keys), ("at",), None if keys else self.run.time_cut)
        states = ahead.running({}, ["at"])
        states = states.withColumn("tt", F.coalesce("next_at", lit(NEVER))).withColumnRenamed("at", "ft")
        held = states if self.always else states.where(col("there") > 0)
        return held.select(*columns(keys), "ft", "tt", *columns(merges))

    def _merged_directly(self, named: DataFrame, merges: dict[str, str]) -> DataFrame:
        named = self.run.shared(named)
        elementary = Elementary.of([named], self.keys, self.run, flat=self.frame.flat, whole=self.always)
        members = elementary.members(named)
        values = members.groupBy(*columns(self.keys), "e").agg(*(MERGES[m](col(n)).alias(n) for n, m in merges.items()))
        return self._with_intervals(
            values, elementary, list(merges), {"there"} | {n for n in merges if merges[n] == "sum"}
        )

    def _with_intervals(
        self, values: DataFrame, elementary: Elementary, names: Sequence[str], zero: set[str]
    ) -> DataFrame:
        """Values by group and elementary interval, with the intervals; with a row over nothing where it is due."""
        intervals = elementary.intervals
        renamed = values.select(*(col(k).alias(f"_{k}") for k in self.keys), col("e").alias("_e"), *columns(names))
        same = (col("e") == col("_e")) & equal(columns(self.keys), columns(f"_{k}" for k in self.keys))
        joined = intervals.join(renamed, same, "left" if self.always else "inner")
        filled = [F.coalesce(col(n), lit(0)).alias(n) if n in zero else col(n) for n in names]
        return joined.select(*columns(self.keys), *columns(self.frame.interval_columns), *filled)

    def _directly(self, rows: DataFrame) -> RelationFrame:
        """Functions that do not merge, such as medians."""
        rows = self.run.shared(rows)
        elementary = Elementary.of([rows], self.keys, self.run, flat=self.frame.flat, whole=self.always)
        planar = self.op.child.schema.location is not None and self.op.child.schema.location.planar
        values = aggregated(
            elementary.members(rows),
            [*self.keys, "e"],
            [a for _, a in self.op.aggregates],
            self.order,
            lambda j, a: self._layout(rows, j, a),
            planar=planar,
        )
        names = [f"a{j}" for j in range(len(self.op.aggregates))]
        zero = {f"a{j}" for j, (_, a) in enumerate(self.op.aggregates) if a.function == "count"}
        states = self._with_intervals(values, elementary, names, zero)
        return self._relation(states, [col(n) for n in names])

    def _relation(self, states: DataFrame, finals: Sequence[Column]) -> RelationFrame:
        width = len(self.keys)
        made = [col(k).alias(f"c{j}") for j, k in enumerate(self.keys)]
        made += [v.alias(f"c{width + j}") for j, v in enumerate(finals)]
        df = states.select(*made, *columns(self.frame.interval_columns))
        phi = tuple(Key(f"c{j}") for j in range(width))
        return RelationFrame(
            df,
            self.op.schema,
            phi,
            self.frame.flat,
            coalesced=False,
            one_row_per_phi=not self.op.aggregates,
            grid=self.frame.grid,
            unseen=True,
        )
