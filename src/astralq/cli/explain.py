"""What `explain` shows: operators with their types, the plan with its reasons, and the state of a continuous run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from astralq.algebra.state import kept_state
from astralq.cli.answers import Question
from astralq.cli.engines import SparkEngine
from astralq.language import Statement
from astralq.plan.answer import Plan
from astralq.plan.explain import as_json, explained, plan_without_data
from astralq.timeline import format_instant


@dataclass(frozen=True)
class Explained:
    """A query with its plan; with Spark, the plan is made from what the sources have, and Spark's own are there too."""

    query: Statement
    plan: Plan
    spark: str | None = None

    @staticmethod
    def of(question: Question, engine: SparkEngine | None) -> Explained:
        query = question.statement
        if engine is None:
            return Explained(query, plan_without_data(query.operator, query.t0, question.end))
        plan, physical = engine.plan(question)
        return Explained(query, plan, physical)

    @property
    def text(self) -> str:
        operator, t0 = self.query.operator, self.query.t0
        start = "1970-01-01T00:00:00Z, as there is no START AT" if t0 is None else format_instant(t0)
        state = [str(k) for k in kept_state(operator)] or ["nothing"]
        sections = [
            f"kind  {operator.kind.value}\nt0    {start}",
            operator.explain(),
            _section("plan", explained(self.plan)),
            _section("kept by a continuous run", state),
        ]
        return "\n\n".join(sections if self.spark is None else [*sections, self.spark])


def _section(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, *(f"  {line}" for line in lines)])


def as_text(queries: Sequence[Explained]) -> str:
    """For a person, with a heading for each of several queries."""
    if len(queries) == 1:
        return queries[0].text
    return "\n\n".join(f"-- query {q.query.number}\n{q.text}" for q in queries)


def json_text(queries: Sequence[Explained]) -> str:
    """For a program: one object for each query."""
    found = []
    for q in queries:
        described = {"query": q.query.number, **as_json(q.query.operator, q.query.t0, q.plan)}
        found.append(described if q.spark is None else {**described, "spark": q.spark})
    return json.dumps(found, indent=2, ensure_ascii=False)
