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
from astralq.sharing.common import Note, Rooted, Sizes
from astralq.sharing.explain import as_json, sharing_lines
from astralq.sharing.queries import share


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
    """For a person, with a heading for each of several queries, and what they share at the end."""
    if len(queries) == 1:
        return str(queries[0].explanation)
    parts = [f"-- query {q.query.number}\n{q.explanation}" for q in queries]
    for heading, notes in (("run", shared_by(queries)), ("start", shared_by(queries, live=True))):
        lines = sharing_lines(notes) or ["nothing"]
        parts.append("\n".join([f"-- what `{heading}` shares between them", *(f"  {x}" for x in lines)]))
    return "\n\n".join(parts)


def json_text(queries: Sequence[Explained]) -> str:
    """For a program: one object for each query."""
    notes = {"run": shared_by(queries), "start": shared_by(queries, live=True)} if len(queries) > 1 else {}
    found = []
    for q in queries:
        shared = {name: as_json(of, f"query {q.query.number}") for name, of in notes.items()}
        found.append({"query": q.query.number, **q.explanation.json, "shared": shared})
    return json.dumps(found, indent=2, ensure_ascii=False)


def shared_by(queries: Sequence[Explained], *, live: bool = False) -> list[Note]:
    """What queries share in one run, by what their sources' files say of themselves; or in a continuous run."""
    rooted = [Rooted(f"query {q.query.number}", q.explanation.optimized.after, q.explanation.t0) for q in queries]
    rows = {name: count for q in queries for name, count in q.explanation.rows.items()}
    return share(rooted, Sizes(rows), live=live).notes
