"""What `explain` shows of each query of a file, as text or as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from astralq.cli.answers import Question
from astralq.cli.engines import SparkEngine, rows_in_footers
from astralq.language import Statement
from astralq.laws.rule import Rule
from astralq.plan.explain import Explanation


@dataclass(frozen=True)
class Explained:
    """A query with its explanation; with Spark, it is made from what the sources have, and Spark's own plans are
    there too."""

    query: Statement
    explanation: Explanation

    @staticmethod
    def of(question: Question, engine: SparkEngine | None, rules: Sequence[Rule]) -> Explained:
        query = question.statement
        if engine is not None:
            return Explained(query, engine.explanation(question))
        rows = rows_in_footers(question)
        return Explained(query, Explanation.without_data(query.operator, query.t0, question.end, rules, rows))


def as_text(queries: Sequence[Explained]) -> str:
    """For a person, with a heading for each of several queries."""
    if len(queries) == 1:
        return str(queries[0].explanation)
    return "\n\n".join(f"-- query {q.query.number}\n{q.explanation}" for q in queries)


def json_text(queries: Sequence[Explained]) -> str:
    """For a program: one object for each query."""
    found = [{"query": q.query.number, **q.explanation.json} for q in queries]
    return json.dumps(found, indent=2, ensure_ascii=False)
