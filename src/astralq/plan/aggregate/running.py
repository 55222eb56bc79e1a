"""Sums that go on from epoch to epoch, over windows that tuples enter at once and leave one by one, as [RANGE 1 HOUR].

Two state tables: what each group has at the end of an epoch, and partial values with the instants at which they leave,
to which new ones are appended. An epoch reads the first, what is new, and what leaves in it, however long the window.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from astralq.plan import functions as F  # noqa: N812
from astralq.plan.aggregate.strategies import Merging
from astralq.plan.columns import Column, col, columns, lit, long
from astralq.plan.run import Run
from astralq.plan.state.epochs import with_indexes
from astralq.plan.state.store import StateTables
from astralq.plan.table import Between, Table, is_soon_computed


def sums_table(name: str) -> str:
    """The name of the table of sums beside that of what will leave."""
    return f"sums-{name.partition('-')[2]}"


@dataclass(frozen=True)
class Running:
    """New partial values of an epoch, which merge, and the name of the state table of those that will leave."""

    new: Table
    merging: Merging
    run: Run
    name: str
    rescaled: Callable[[Table], Table] | None  # what was kept, cut as sums are cut now; None: as it was before

    @property
    def state(self) -> StateTables:
        assert self.run.state is not None
        return self.run.state

    def states(self, before: Mapping[str, str] | None = None) -> Table:
        """For each group its merged partials in each interval between two changes in the epoch, the first from its end
        before on; with those just before it under other names, where these are given."""
        new = self.new if is_soon_computed(self.new) else self.run.materialized(self.new)
        entries = self._events(new, "ft", "fi", enters=True)
        exits = self._events(self._leaving(new), "tt", "ti", enters=False)
        both = entries.union(exits)
        sums = self.state.get(sums_table(self.name))
        if sums is not None and self.run.since is not None:
            held = sums if self.rescaled is None else self.rescaled(sums)
            both = both.union(self._at(held, {"at": long(self.run.since), "ai": long(0)}, enters=True))
        both = self.run.materialized(both)
        merged = both.group_by(*columns(self.merging.keys)).agg(
            *(F.coalesce(F.sum(col(n)), lit(0)).alias(n) for n in self.merging.merges)
        )
        self.state.replace(sums_table(self.name), merged.where(col("there") > 0))
        return self.merging.swept(both, before)

    def _leaving(self, new: Table) -> Table:
        """What leaves in the epoch, of that which was there and of that which has come."""
        since, until = self.run.since, self.run.end
        kept = self.state.get(self.name)
        after = -(2**62) if since is None else since
        if kept is not None and self.rescaled is not None:
            before = self.rescaled(kept.where(col("tt") > after))
            leaving = self.state.replace(self.name, before.union(new, missing=True))
        else:
            self.state.append(self.name, new, ahead=True)
            leaving = new if kept is None else Between(kept, after, until).union(new, missing=True)
        self.state.expire(self.name, until)
        leaving = leaving.where((col("tt") > after) & (col("tt") <= until))
        return with_indexes(leaving, one_batch=self.merging.relation.one_batch)

    def _events(self, rows: Table, t: str, i: str, *, enters: bool) -> Table:
        index = long(0) if self.merging.relation.one_batch else col(i)
        return self._at(rows, {"at": col(t), "ai": index}, enters=enters)

    def _at(self, rows: Table, stamp: dict[str, Column], *, enters: bool) -> Table:
        """Events with what they add or take off."""
        if self.merging.relation.one_batch:
            stamp = {"at": stamp["at"]}
        missing: Sequence[str] = [n for n in self.merging.merges if n not in rows.columns]
        rows = rows.with_columns({n: long(0) for n in missing})
        values = [F.coalesce(col(n), lit(0)) for n in self.merging.merges]
        signed = [(v if enters else -v).alias(n) for n, v in zip(self.merging.merges, values, strict=True)]
        return rows.select(*columns(self.merging.keys), *(c.alias(n) for n, c in stamp.items()), *signed)
