"""A batch run on Spark: facts in one job, laws, a plan, what it still has to measure, and the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame

from astralq.algebra.base import Kind, Operator
from astralq.algebra.relational import Join, Product
from astralq.algebra.sources import RelationSource
from astralq.algebra.stream_ops import BandJoin
from astralq.laws.lower import lower
from astralq.laws.optimize import Optimized, optimize
from astralq.laws.rule import Rule
from astralq.laws.rules import RULES
from astralq.plan.answer import Plan, plan_history, plan_state
from astralq.plan.facts import FEW_ROWS, Facts, learn, measures, started_sources, summed_columns
from astralq.plan.run import BatchRun
from astralq.spark.execute import Execution
from astralq.spark.functions import register_functions
from astralq.spark.sources.given import Given
from astralq.timeline import Instant


@dataclass
class Batch:
    """A query over the DataFrames of its sources: its facts, its plan, and the answer as a DataFrame."""

    query: Operator
    frames: Mapping[str, DataFrame]
    t0: Instant | None = None
    until: Instant | None = None
    at: Instant | None = None
    few_rows: int = FEW_ROWS
    facts: Facts = field(default_factory=Facts)
    rules: Sequence[Rule] = RULES
    given: Given | None = None  # the same frames, where they were prepared before
    optimized: Optimized | None = None  # the query of the last plan
    execution: Execution | None = None  # of the last plan

    def plan(self) -> Plan:
        """The plan of the answer; what it has to know of the data is asked for first."""
        query = (self.optimized or self.optimize()).after
        given = self.given or Given(self.frames)
        self.facts.stamps = given.prepare(query)
        self.facts.few_rows = self.few_rows
        plan = self._known_plan()
        if plan is None:
            ask([(lower(self.query), self.t0), (query, self.t0)], self.facts, Execution(given, given.session))
            self.optimize(self.facts.rows)
            plan = self.planned()
        self.execution = Execution(given, given.session, plan.one_partition, views=given.views)
        (plan,) = complete(lambda: [self.planned()], self.facts, self.execution, [plan])
        return plan

    def _known_plan(self) -> Plan | None:
        """The plan, where an earlier run has learnt all that it is chosen by. One that depends on when its sources
        begin or end asks anew: rows may have been added since."""
        assert self.optimized is not None
        queries = [(lower(self.query), self.t0), (self.optimized.after, self.t0)]
        starts = [found for query, t0 in queries for found in started_sources(query, t0)]
        summed = [(source.name, place) for query, _ in queries for source, place in summed_columns(query)]
        known = all(self.facts.is_learnt(*start) for start in starts) and all(s in self.facts.ranges for s in summed)
        if not known:
            return None
        self.optimize(self.facts.rows)
        plan = self.planned()
        return None if plan.asks_times else plan

    def optimize(self, rows: Mapping[str, int] | None = None) -> Optimized:
        """The query after laws; once sizes are known, joins may be put in another order."""
        if (
            rows is None
            or self.optimized is None
            or any(isinstance(op, Join | Product | BandJoin) for op in self.optimized.before.walk())
        ):
            self.optimized = optimize(self.query, self.rules, rows)
        return self.optimized

    def planned(self) -> Plan:
        assert self.optimized is not None
        end = self.until if self.at is None else self.at
        run = BatchRun(self.optimized.after, self.facts, self.t0, end)
        state = self.at is not None and run.query.kind is not Kind.STREAM
        plan = plan_state(run, self.at) if state and self.at is not None else plan_history(run)
        # A law may take the start of a view out; what was set aside before it is told all the same.
        return replace(plan, set_aside=tuple(run.set_aside(lower(self.query))))

    def answer(self, plan: Plan) -> DataFrame:
        assert plan.answer is not None
        assert self.execution is not None
        return self.execution.frame(plan.answer)

    @property
    def materialized(self) -> list[DataFrame]:
        """The tables of the answer that are computed once."""
        return [] if self.execution is None else self.execution.materialized


def ask(queries: Sequence[tuple[Operator, Instant | None]], facts: Facts, execution: Execution) -> None:
    """Asks sources in one job for what plans have to know of them, and takes it into the facts; queries come with their
    starts."""
    asked = measures(queries, facts)
    for one, rows in zip(asked, execution.measure([a.table for a in asked]), strict=True):
        learn(facts, one, rows[0])


def complete(
    planned: Callable[[], list[Plan]], facts: Facts, execution: Execution, plans: list[Plan] | None = None
) -> list[Plan]:
    """Plans that can be carried out: as long as something is missing, it is measured, and the plans are made again."""
    plans = plans or planned()
    while True:
        for plan in plans:
            register_functions(execution.session, plan.functions)
        if not any(plan.missing for plan in plans):
            return plans
        asked = {t.digest: t for plan in plans for t in plan.measurable}
        assert asked, "a plan waits for something that cannot be measured"
        for digest, rows in zip(asked, execution.measure(list(asked.values())), strict=True):
            facts.measured[digest] = rows
        plans = planned()


def last_instants(sources: Sequence[RelationSource], frames: Mapping[str, DataFrame], t0: Instant) -> list[Instant]:
    """The greatest timestamps of stored relations, of those that have any."""
    given, facts = Given(frames), Facts()
    for source in sources:
        facts.stamps = given.prepare(source)
        ask([(source, t0)], facts, Execution(given, given.session))
    return [t.last for t in facts.times.values() if t.last is not None]
