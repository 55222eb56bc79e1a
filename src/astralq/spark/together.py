"""Several queries in one batch run: sources are asked once, and what queries share is computed once."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.base import Operator
from astralq.errors import AstralError
from astralq.laws.lower import lower
from astralq.plan.answer import Plan
from astralq.plan.facts import Facts
from astralq.plan.group_plan import QUERY
from astralq.plan.several import Root, several
from astralq.sharing.common import Note, Rooted, Sizes
from astralq.sharing.queries import share
from astralq.spark.answers import Answered
from astralq.spark.batch import Batch, ask, complete
from astralq.spark.execute import Execution
from astralq.spark.sources.given import Given
from astralq.timeline import Instant

_COMPUTED_BY: weakref.WeakKeyDictionary[DataFrame, Together] = weakref.WeakKeyDictionary()
"""What was computed together stays in memory as long as one of the answers does."""


@dataclass(eq=False)
class Together:
    """Queries over the same sources: their names, and for each a batch run of its own."""

    names: Sequence[str]
    batches: Sequence[Batch]
    facts: Facts = field(default_factory=Facts)
    notes: list[Note] = field(default_factory=list)
    errors: dict[int, AstralError] = field(default_factory=dict)  # of queries that cannot be planned
    plans: dict[int, Plan] = field(default_factory=dict)
    _frames: dict[str, DataFrame] = field(default_factory=dict)  # of group plans, by digest

    def plan(self) -> None:
        """Plans of all queries, with what they have to know of the data asked for in as few jobs as possible."""
        frames: dict[str, DataFrame] = {}
        for b in self.batches:
            frames |= b.frames
        self._given = Given(frames)
        self._learn()
        for b in self.batches:
            b.facts = self.facts
            b.optimize(self.facts.rows)
        self._share()
        self._complete()
        self._roots = self._one_plan()

    def _learn(self) -> None:
        asking: list[tuple[Operator, Instant | None]] = []
        stamps: dict[str, frozenset[str]] = {}
        for k, b in enumerate(self.batches):
            try:
                query = b.optimize().after
                stamps |= self._given.prepare(query)
                asking += [(lower(b.query), b.t0), (query, b.t0)]
            except AstralError as e:
                self.errors[k] = e
        self.facts.stamps, self.facts.few_rows = stamps, self.batches[0].few_rows
        ask(asking, self.facts, Execution(self._given, self._given.session))

    def _share(self) -> None:
        """Rewrites the queries, so that what they can share is equal."""
        places = [k for k in range(len(self.batches)) if k not in self.errors]
        rooted = []
        for k in places:
            optimized = self.batches[k].optimized
            assert optimized is not None
            rooted.append(Rooted(self.names[k], optimized.after, self.batches[k].t0))
        firsts = [t.first.t for t in self.facts.times.values() if t.first is not None]
        lasts = [t.last for t in self.facts.times.values() if t.last is not None]
        before = {key: t.before for key, t in self.facts.times.items()}
        span = max(lasts) - min(firsts) if firsts and lasts else 0
        shared = share(rooted, Sizes(self.facts.rows, before, span))
        self.notes = shared.notes
        for k, one in zip(places, shared.queries, strict=True):
            optimized = self.batches[k].optimized
            assert optimized is not None
            self.batches[k].optimized = replace(optimized, after=one.query)

    def _complete(self) -> None:
        """Plans that can be carried out; what they miss is measured for all of them at once."""
        few = all(p.one_partition for p in self._planned())
        complete(self._planned, self.facts, Execution(self._given, self._given.session, few))

    def _planned(self) -> list[Plan]:
        """The plans of all queries that can be planned."""
        for k, b in enumerate(self.batches):
            try:
                if k not in self.errors:
                    self.plans[k] = b.planned()
            except AstralError as e:
                self.errors[k] = e
        return [p for k, p in self.plans.items() if k not in self.errors]

    def _one_plan(self) -> dict[int, Root]:
        """The answers as roots of one plan; those of few rows and those of many are computed in different ways."""
        roots: dict[int, Root] = {}
        self._executions: dict[bool, Execution] = {}
        for few in (True, False):
            places = [k for k, p in self.plans.items() if k not in self.errors and p.one_partition is few]
            answers = [t for k in places if (t := self.plans[k].answer) is not None]
            rows = [self.plans[k].rows or 2**40 for k in places]
            roots |= dict(zip(places, several(answers, rows), strict=True))
            self._executions[few] = Execution(self._given, self._given.session, few)
        return roots

    def answered(self, k: int) -> Answered:
        """The answer of the k-th query, with its plan."""
        df, optimized = self.answer(k), self.batches[k].optimized
        assert optimized is not None
        return Answered(df, self.plans[k], optimized, self.facts)

    def answer(self, k: int) -> DataFrame:
        """The answer of the k-th query."""
        if k in self.errors:
            raise self.errors[k]
        root = self._roots[k]
        execution = self._executions[self.plans[k].one_partition]
        if root.query is None:
            return execution.frame(root.table)
        try:
            every = self._grouped(root, execution)
        except AnalysisException:
            # Some functions take constants only: then each query is answered for itself.
            answer = self.plans[k].answer
            assert answer is not None
            return execution.frame(answer)
        mine = every.where(F.col(QUERY) == root.query).drop(QUERY)
        _COMPUTED_BY[mine] = self
        return mine

    def frames(self) -> list[tuple[DataFrame, dict[int, int]]]:
        """The group plans as DataFrames, for those who want all answers at once: each row with the number of its query
        as `_q`, and which query has that number."""
        found: dict[str, tuple[DataFrame, dict[int, int]]] = {}
        for k, root in self._roots.items():
            if root.query is not None:
                execution = self._executions[self.plans[k].one_partition]
                digest = root.table.digest
                if digest not in found:
                    found[digest] = (execution.frame(root.table), {})
                found[digest][1][root.query] = k
        return list(found.values())

    def _grouped(self, root: Root, execution: Execution) -> DataFrame:
        """All answers of a group plan, computed once."""
        if root.table.digest not in self._frames:
            every = execution.frame(root.table).persist()
            weakref.finalize(self, every.unpersist)
            self._frames[root.table.digest] = every
        return self._frames[root.table.digest]


def fits_together(batches: Mapping[int, Batch]) -> list[list[int]]:
    """Batch runs in groups whose sources of one name are the same, and that end alike."""
    groups: list[list[int]] = []
    for k, b in batches.items():
        for group in groups:
            other = batches[group[0]]
            merged: dict[str, DataFrame] = {}
            for j in group:
                merged |= batches[j].frames
            same = all(merged.get(name, df) is df for name, df in b.frames.items())
            if same and (b.until, b.at, b.few_rows) == (other.until, other.at, other.few_rows):
                group.append(k)
                break
        else:
            groups.append([k])
    return groups
