"""Aggregation over intervals: a row for each group and each stretch of time in which its values do not change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace

from astralq.algebra.properties import expressions
from astralq.algebra.relational import GroupBy
from astralq.expr.nodes import VARIANCES
from astralq.expr.nodes import Column as Attribute
from astralq.expr.safety import can_fail, mergeable
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.aggregate.common_panes import Panes
from astralq.plan.aggregate.direct import aggregated, empty_value
from astralq.plan.aggregate.elementary import Elementary
from astralq.plan.aggregate.layouts import Layouts, aggregates_of, integer_layouts, layout_of, layouts, ranges_of
from astralq.plan.aggregate.limbs import Layout, rescale_limbs
from astralq.plan.aggregate.moments import squares_layout
from astralq.plan.aggregate.partials import Plan, plan, prepared, with_steps
from astralq.plan.aggregate.running import Running, sums_table
from astralq.plan.aggregate.strategies import Merging, Strategy, choose
from astralq.plan.columns import Column, col, columns, lit, long
from astralq.plan.encoding.scan import equal
from astralq.plan.encoding.tables import Key, RelationTable, attributes
from astralq.plan.epoch_run import EpochRun
from astralq.plan.operators.expressions import Names, looks_at_order
from astralq.plan.run import Run
from astralq.plan.sources.provenance import source_column
from astralq.plan.state.epochs import clip_to_epoch, with_indexes
from astralq.plan.state.store import state_name
from astralq.plan.table import Assumed, Table

_THERE_BEFORE = "before"
"""The partial value that counts the rows of the state before."""

_SHORT = 2_000
"""How long values are, in characters, that are compared with those of the state before: Spark writes a condition into
each selection below it."""

_ROOM = 8
"""For how many epochs like the present one the greatest number of rows of a sum need not be counted again."""


def group_by(
    op: GroupBy,
    relation: RelationTable,
    run: Run,
    *,
    name: str = "",
    early: bool = False,
    panes: Panes | None = None,
    begins: bool = False,
) -> RelationTable:
    """The groups' rows; φ is the key. With panes, their partial values take the place of the relation's rows.

    With a state table, the relation has new rows only, and panes are kept instead of rows; `early`: rows come with the
    epoch's sources, before their windows are evaluated. `begins`: rows should tell whether they differ from what was
    before, if that is known.
    """
    return _Grouping(op, relation, run, name, early, panes, begins).result()


def keep_panes(op: GroupBy, relation: RelationTable, run: Run, *, name: str, early: bool) -> None:
    """Only merges new rows into the panes of a state table; nobody looks at the groups' rows."""
    grouping = _Grouping(op, relation, run, name, early)
    parts = grouping.partials(grouping.rows())
    grouping.with_panes(parts)


def merges_in_any_order(op: GroupBy) -> bool:
    """Whether tuples can be merged before it is known in which windows they are: whatever their order, and for windows
    that nobody sees, too, so that nothing may fail."""
    mergeable_all = all(mergeable(a) for _, a in op.aggregates)
    return mergeable_all and not looks_at_order(op) and not any(can_fail(e) for e in expressions(op))


def layouts_of(plans: Sequence[Plan]) -> dict[int, Layout]:
    """How the sums of aggregates are cut, by their places."""
    return {j: p.layout for j, p in enumerate(plans) if p.layout is not None}


def merges_of(plans: Sequence[Plan]) -> dict[str, str]:
    """How the partial values of aggregates merge, by their names, and that of how many rows there are."""
    return {"there": "sum"} | {p.name: p.merge for q in plans for p in q.partials}


def merged_panes(
    op: GroupBy, relation: RelationTable, run: Run, *, name: str, read_once: bool = False, all_kept: bool = False
) -> tuple[Table, list[Plan]]:
    """Rows merged into panes, which in an epoch are a state table; and what their partial values mean. `all_kept`: the
    rows are all that has come and that any later window may hold."""
    grouping = _Grouping(op, relation, run, name, early=True, all_kept=all_kept)
    parts = grouping.partials(grouping.rows())
    if name:
        return grouping.with_panes(parts), parts.plans
    return parts.named if read_once else run.materialized(parts.named), parts.plans


@dataclass(frozen=True)
class _Partials:
    """Rows as partial values with their intervals, the aggregates' plans, and how partial values merge."""

    named: Table
    plans: list[Plan]
    merging: Merging

    @property
    def invertible(self) -> bool:
        return all(p.invertible for p in self.plans)


@dataclass(frozen=True)
class _Grouping:
    op: GroupBy
    relation: RelationTable
    run: Run
    name: str = ""
    early: bool = False
    panes: Panes | None = None
    begins: bool = False
    all_kept: bool = False

    @property
    def keys(self) -> list[str]:
        return [f"k{j}" for j in range(len(self.op.keys))]

    @property
    def _key_columns(self) -> set[str]:
        """The columns of the relation that are keys as they are."""
        schema = self.relation.schema
        found = (e.name for _, e in self.op.keys if isinstance(e, Attribute))
        return {f"c{schema.index(name)}" for name in found if name in schema}

    @property
    def order(self) -> list[str]:
        return [f"z{j}" for j in range(len(self.relation.order))]

    @property
    def always(self) -> bool:
        """Whether there is a row over nothing too: a global aggregate."""
        return not self.op.keys and self.op.empty_row

    @property
    def _there(self) -> str | None:
        """The partial value that counts rows, for those who need no count of their own; the columns of state tables
        stay as they are."""
        return "there" if self.run.state is None else None

    def rows(self) -> Table:
        """The rows with their keys and arguments, order columns z…, and intervals."""
        relation = self.relation
        names = Names(self.op.child.schema, attributes(relation.schema), relation.stamp)
        return relation.rows.select(
            *prepared(self.op, names),
            *(col(c).alias(f"z{j}") for j, c in enumerate(relation.order)),
            *relation.interval_columns,
            *(name for name, _ in relation.marks),
        )

    def result(self) -> RelationTable:
        if not all(mergeable(a) for a in aggregates_of(self.op)):
            return replace(self, relation=clip_to_epoch(self.relation, self.run))._directly()
        parts = self.partials(self.rows()) if self.panes is None else self._merged_partials(self.panes)
        if self.panes is not None and self.panes.in_windows:
            finished = with_steps(parts.named, parts.plans)
            return self._relation(finished, [p.final for p in parts.plans], few=parts.merging.few)
        strategy, reason = choose(
            self.relation, always=self.always, invertible=parts.invertible, keys=self._key_columns
        )
        self.run.choices.note(self.op.label, strategy.value, reason)
        before = self._before(parts) if strategy is Strategy.SWEEP else None
        names = None if before is None else _named_before(parts.plans, before)
        if self.goes_on:
            states = self._running(parts).states(names)
        else:
            named = self.with_panes(parts) if self.name else parts.named
            states = parts.merging.states(self._from_now(named, strategy), strategy, names)
        finished = with_steps(states, [*parts.plans, *(before or ())])
        finals = [p.final for p in parts.plans]
        begins = None if before is None else self._differs(finals, [p.final for p in before])
        groups = self._relation(finished, finals, few=parts.merging.few, begins=begins)
        if self.run.since is not None:
            return clip_to_epoch(groups, self.run)
        stepwise = strategy in (Strategy.ONE_STEP, Strategy.FEW_STEPS)
        lifetime = self.relation.grid.every if stepwise and self.relation.grid is not None else None
        # Of windows that do not overlap each has tuples of a time of its own.
        times = self._times if strategy is Strategy.ONE_STEP and self.relation.one_batch else ()
        within = self.relation.within if strategy is Strategy.ONE_STEP else None
        return replace(groups, lifetime=lifetime, coalesced=bool(times), window_columns=times, within=within)

    def _before(self, parts: _Partials) -> list[Plan] | None:
        """The aggregates over the state just before, where somebody asks whether it was another one."""
        if not self.begins or not parts.merging.knows_before:
            return None
        if any(p.steps for p in parts.plans) or sum(len(p.final.text) for p in parts.plans) > _SHORT:
            return None
        own = enumerate(zip(aggregates_of(self.op), parts.plans, strict=True), len(parts.plans))
        there = None if self._there is None else _THERE_BEFORE
        return [plan(k, a, p.layout, (), there) for k, (a, p) in own]

    def _differs(self, finals: Sequence[Column], before: Sequence[Column]) -> Column:
        """Whether there was no row just before, or one with other values."""
        there = col(_THERE_BEFORE)
        nothing = there.is_null() if self.always else there.is_null() | (there == 0)
        return nothing | ~equal(finals, before)

    @property
    def _times(self) -> tuple[str, ...]:
        """The columns with the first or the last timestamp of a group's tuples."""
        found = []
        for k, (_, a) in enumerate(self.op.aggregates, start=len(self.keys)):
            of_t = [isinstance(e, Attribute) and e.name == "_t" and "_t" not in self.relation.schema for e in a.args]
            if a.function in ("min", "max") and of_t == [True]:
                found.append(f"c{k}")
        return tuple(found)

    def partials(self, rows: Table) -> _Partials:
        cut = self._layouts(rows)
        plans = [plan(j, a, cut.by_place.get(j), self.order, self._there) for j, a in enumerate(aggregates_of(self.op))]
        partials = {p.name: p for q in plans for p in q.partials}
        before = {name: c for p in plans for name, c in p.before.items()}
        named: Table = rows.with_columns(before).select(
            *self.keys,
            *self.relation.interval_columns,
            *(name for name, _ in self.relation.marks),
            long(1).alias("there"),
            *(p.value.alias(name) for name, p in partials.items()),
        )
        if cut.assumed:
            named = Assumed(named)
        merging = self._merging(plans)
        if self.relation.pane_aligned and not self.name:
            # Windows that move in steps: all rows of one step behave alike, and are one from here on.
            named = merging.panes(named)
        return _Partials(named, plans, merging)

    def _merging(self, plans: Sequence[Plan]) -> Merging:
        merges = merges_of(plans) | dict(self.relation.marks)
        return Merging(self.relation, self.keys, merges, self.run, self.always)

    def _merged_partials(self, panes: Panes) -> _Partials:
        """Of panes that are there already."""
        plans = [plan(j, a, panes.layouts.get(j), (), self._there) for j, a in enumerate(aggregates_of(self.op))]
        merging = self._merging(plans)
        return _Partials(panes.rows if panes.merged else merging.panes(panes.rows), plans, merging)

    # State

    @property
    def goes_on(self) -> bool:
        """Whether tuples enter at once, and leave one by one: then sums go on, and what leaves is taken off."""
        return self.early and not self.relation.pane_aligned and not self.relation.append_only

    def _running(self, parts: _Partials) -> Running:
        now, before = [p.layout for p in parts.plans], self._layouts_before
        changed = before is not None and before != now
        self._put_layouts(now)
        rescaled = (lambda old: self._cut_again(old, before, now)) if changed and before is not None else None
        return Running(parts.named, parts.merging, self.run, self.name, rescaled)

    @property
    def _layouts_before(self) -> list[Layout | None] | None:
        assert self.run.state is not None
        before = self.run.state.metadata.get(f"layouts {self.name}")
        return None if before is None else [None if x is None else Layout(*x) for x in before]

    def _put_layouts(self, now: Sequence[Layout | None]) -> None:
        assert self.run.state is not None
        self.run.state.put(f"layouts {self.name}", [None if x is None else list(astuple(x)) for x in now])

    def _cut_again(self, old: Table, before: Sequence[Layout | None], now: Sequence[Layout | None]) -> Table:
        """Sums that were kept, cut as new ones are."""
        for k, (a, b) in enumerate(zip(before, now, strict=True)):
            if a is not None and b is not None and a != b:
                old = _rescaled(old, f"s{k}", a, b)
                if aggregates_of(self.op)[k].function in VARIANCES:
                    old = _rescaled(old, f"q{k}", squares_layout(a), squares_layout(b))
        return old

    def with_panes(self, parts: _Partials) -> Table:
        """New panes, merged with those of the state table: rows of one group that come and go together."""
        run, named = self.run, parts.named
        assert run.state is not None
        now = [p.layout for p in parts.plans]
        kept = run.state.get(self.name)
        if kept is not None and run.since is not None:
            named = self._kept_panes(kept, named, now).union(named, missing=True)
        self._put_layouts(now)
        return run.state.replace(self.name, parts.merging.panes(named))

    def _kept_panes(self, kept: Table, named: Table, now: Sequence[Layout | None]) -> Table:
        """The panes of epochs before that still hold something, their sums cut as the new ones are."""
        run, one_batch = self.run, self.relation.one_batch
        assert run.state is not None
        assert run.since is not None
        old = with_indexes(kept, one_batch=one_batch).where(col("tt") > run.since)
        before = self._layouts_before
        assert before is not None
        old = self._cut_again(old, before, now)
        if self.relation.append_only:
            # What has come before is one value for each group.
            old = old.with_columns(self._since(run.since))
        return old.select(*(c for c in old.columns if c in named.columns))

    def _since(self, since: int) -> dict[str, Column]:
        """Beginnings from (since, 0) on."""
        made = {"ft": F.greatest("ft", lit(since))}
        if not self.relation.one_batch:
            made["fi"] = F.when(col("ft") > since, col("fi")).otherwise(lit(0))
        return made

    def _from_now(self, named: Table, strategy: Strategy) -> Table:
        """Rows from (since, 0) on; the strategies for windows of one length want their whole intervals."""
        if self.run.since is None or strategy in (Strategy.ONE_STEP, Strategy.FEW_STEPS, Strategy.BLOCKS):
            return named
        return named.with_columns(self._since(self.run.since))

    # Layouts of sums

    def _layouts(self, rows: Table) -> Layouts:
        aggregates = aggregates_of(self.op)
        if self.run.state is None:
            return layouts(aggregates, rows, self.run, below=self.op.child)
        if not self.name:
            return self._layouts_of_held(rows) if self.all_kept else layouts(aggregates, rows, self.run)
        new, assumed = ranges_of(aggregates, rows, self.run, below=self.op.child)
        cut = integer_layouts(aggregates, self.run.expected_rows)
        for k, range_ in new.items():
            traced = source_column(self.op.child, aggregates[k].args[0])
            source = f"{self.name} {k}" if traced is None else f"{traced[0].name} {traced[1]}"
            assert isinstance(self.run, EpochRun)
            known = self.run.known_range(source, range_)
            if not (layout_of(aggregates[k], known).fast and aggregates[k].function not in VARIANCES):
                coming = self.run.new_rows if traced is not None and self.early else None
                most, measured = self._most(rows, coming)
                assumed = assumed or not measured
                known = replace(known, rows=min(known.rows, most))
            cut[k] = layout_of(aggregates[k], known)
        return Layouts(cut, assumed)

    def _layouts_of_held(self, rows: Table) -> Layouts:
        """Of all tuples that a window keeps, and new ones. Values of a source's own column are known from the facts of
        every epoch; in the first one, and when many have come, all rows are measured."""
        aggregates, run, below = aggregates_of(self.op), self.run, self.op.child
        assert isinstance(run, EpochRun)
        name = state_name("values", run.scope, self.op)
        known = run.knows_ranges(name, range(len(aggregates)))
        ranges, assumed = ranges_of(aggregates, rows, run, below=below if known else None)
        if not assumed:
            own = [k for k in ranges if source_column(below, aggregates[k].args[0]) is not None]
            ranges |= {k: run.known_range(f"{name} {k}", ranges[k], afresh=not known) for k in own}
            run.put_known_ranges(name)
        cut = {k: layout_of(aggregates[k], r) for k, r in ranges.items()}
        return Layouts(cut | integer_layouts(aggregates, run.expected_rows), assumed)

    def _most(self, rows: Table, coming: int | None) -> tuple[int, bool]:
        """At most how many rows one sum has, and whether that is measured: all rows that ever came may be far more
        than any group has at a time. Counted again when it could have become twice as many, not in every epoch."""
        state = self.run.state
        assert state is not None
        name = f"most {self.name}"
        if coming is None:
            counted = self.run.measure(rows.agg(F.count(lit(1)).alias("rows")))
            if counted is None:
                return 1, False
            coming = counted[0]["rows"]
        before, room = state.metadata.get(name, (0, 0))
        if coming > room:
            largest = self._largest_group()
            if largest is None:
                return 1, False
            before, room = largest, max(largest, _ROOM * coming)
        state.put(name, [before + coming, room - coming])
        return before + coming, True

    def _largest_group(self) -> int | None:
        """How many rows the largest group has that is kept."""
        assert self.run.state is not None
        kept = self.run.state.get(sums_table(self.name) if self.goes_on else self.name)
        if kept is None:
            return 0
        sums = kept.group_by(*self.keys).agg(F.sum("there").alias("rows"))
        measured = self.run.measure(sums.agg(F.max("rows").alias("rows")))
        return None if measured is None else measured[0]["rows"] or 0

    # Functions that do not merge

    def _directly(self) -> RelationTable:
        """Each elementary interval by itself, for functions that do not merge, such as medians."""
        self.run.choices.note(self.op.label, Strategy.ELEMENTARY.value, "a function that does not merge")
        rows = self.run.materialized(self.rows())
        one_batch = self.relation.one_batch
        elementary = Elementary.of([rows], self.keys, self.run, one_batch=one_batch, whole=self.always)
        aggregates = aggregates_of(self.op)
        below = self.op.child if self.run.state is None else None
        cut = layouts(aggregates, rows, self.run, below=below)
        location = self.op.child.schema.location
        members = elementary.members(rows)
        values = aggregated(
            Assumed(members) if cut.assumed else members,
            [*self.keys, "e"],
            aggregates,
            self.order,
            cut.by_place,
            planar=location is not None and location.planar,
        )
        names = [f"a{j}" for j in range(len(aggregates))]
        values_of_nothing = ((f"a{j}", empty_value(a)) for j, a in enumerate(aggregates))
        empty = {n: v for n, v in values_of_nothing if v is not None}
        merging = Merging(self.relation, self.keys, {}, self.run, self.always)
        return self._relation(merging.with_intervals(values, elementary, names, empty), columns(names))

    def _relation(
        self, states: Table, finals: Sequence[Column], *, few: bool = False, begins: Column | None = None
    ) -> RelationTable:
        width = len(self.keys)
        made = [col(k).alias(f"c{j}") for j, k in enumerate(self.keys)]
        made += [v.alias(f"c{width + j}") for j, v in enumerate(finals)]
        made += [] if begins is None else [begins.alias("_begins")]
        return RelationTable(
            states.select(*made, *self.relation.interval_columns),
            self.op.schema,
            tuple(Key(f"c{j}") for j in range(width)),
            self.relation.one_batch,
            coalesced=False,
            one_row_per_phi=not self.op.aggregates,
            grid=self.relation.grid,
            few=few,
            unseen=True,
            knows_begins=begins is not None,
        )


def _named_before(plans: Sequence[Plan], before: Sequence[Plan]) -> dict[str, str]:
    """The partial values of a state, and what those of the state before are called."""
    both = zip(plans, before, strict=True)
    pairs = (pair for p, q in both for pair in zip(p.partials, q.partials, strict=True))
    return {"there": _THERE_BEFORE} | {p.name: q.name for p, q in pairs}


def _rescaled(table: Table, name: str, old: Layout, new: Layout) -> Table:
    """A table whose sums name_0, name_1, … were cut in another way."""
    cut = rescale_limbs([col(f"{name}_{j}") for j in range(old.count)], old, new)
    return table.with_columns({f"{name}_{j}": limb for j, limb in enumerate(cut)})
