"""Joins and lookups in epochs: the model's answers, wherever an epoch ends; what held before meets only what is new."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession

from astralq.algebra.base import Operator
from astralq.algebra.sources import sources_of
from astralq.model import Data
from astralq.plan import emitted
from astralq.plan.run import Run
from astralq.spark import Engine
from tests.agree.compare import on_model, same
from tests.agree.epochs import in_epochs, last_instant
from tests.agree.test_lookup import LOOKUPS, drawn, of

JOINS = {
    "windows by time, by key": """
        ISTREAM(SELECT s.v, u.w FROM s [RANGE 5 SECONDS] JOIN u [RANGE 3 SECONDS] ON s.k = u.k)""",
    "by an equal expression": """
        ISTREAM(SELECT s.v, u.w FROM s [RANGE 5 SECONDS]
                JOIN u [RANGE 5 SECONDS] ON floor(s.v / 2) = floor(u.w / 2))""",
    "by nothing that is equal": """
        ISTREAM(SELECT s.v, u.w FROM s [RANGE 2 SECONDS] JOIN u [RANGE 2 SECONDS] ON s.v > u.w)""",
    "a product": "ISTREAM(SELECT s.v, u.w FROM s [RANGE 2 SECONDS], u [RANGE 1 SECOND])",
    "a stream with itself": """
        ISTREAM(SELECT x.v, y.v AS w FROM s [RANGE 5 SECONDS] AS x JOIN s [RANGE 2 SECONDS] AS y ON x.k = y.k)""",
    "a selection that can fail": """
        ISTREAM(SELECT s.v, 1 / u.w AS q FROM s [RANGE 5 SECONDS]
                JOIN (SELECT * FROM u [RANGE 5 SECONDS] WHERE w > 0) AS u ON s.k = u.k WHERE 1 / u.w < 0.9)""",
    "what moves in steps": """
        ISTREAM(SELECT s.v, u.w FROM s [RANGE 6 SECONDS SLIDE 2 SECONDS] JOIN u [RANGE 3 SECONDS] ON s.k = u.k)""",
    "the last rows": "ISTREAM(SELECT s.v, u.w FROM s [PARTITION BY k ROWS 2] JOIN u [RANGE 3 SECONDS] ON s.k = u.k)",
    "all rows": "ISTREAM(SELECT s.v, u.w FROM s [UNBOUNDED] AS s JOIN u [RANGE 3 SECONDS] ON s.k = u.k)",
    "an aggregation": """
        ISTREAM(SELECT s.v, n FROM s [RANGE 3 SECONDS]
                JOIN (SELECT k, count(*) AS n FROM u [RANGE 5 SECONDS] GROUP BY k) AS u ON s.k = u.k)""",
    "different rows": """
        ISTREAM(SELECT s.v, u.w FROM (SELECT DISTINCT k, v FROM s [RANGE 5 SECONDS]) AS s
                JOIN u [RANGE 5 SECONDS] ON s.k = u.k)""",
    "three windows": """
        ISTREAM(SELECT x.v, u.w, y.v AS z FROM s [RANGE 3 SECONDS] AS x JOIN u [RANGE 3 SECONDS] ON x.k = u.k
                JOIN s [RANGE 1 SECOND] AS y ON u.k = y.k)""",
    "several batches at an instant": """
        ISTREAM(SELECT b.v, u.w FROM b [RANGE 5 SECONDS] JOIN u [RANGE 3 SECONDS] ON b.k = u.k)""",
    "elements of arrays": """
        ISTREAM(SELECT s.e, u.w FROM
                (SELECT k, e FROM s [RANGE 5 SECONDS], LATERAL explode(array(v, v + 1)) AS x(e)) AS s
                JOIN u [RANGE 3 SECONDS] ON s.k = u.k)""",
    "a band": "SELECT s.v, u.w FROM s JOIN u ON s.k = u.k WITHIN 2 SECONDS",
}


def cut(query: Operator, data: Data, seed: int) -> list[int]:
    """Some instants at which epochs end, anywhere between the first and the last timestamp."""
    rng, last = random.Random(seed), last_instant(query, data)
    return [*sorted(rng.sample(range(1, last), rng.randrange(1, 4))), last]


@pytest.mark.parametrize("mode", ["few rows", "many rows", "many rows, few new ones"])
@pytest.mark.parametrize(
    "query", [*JOINS.values(), *LOOKUPS.values()], ids=[*JOINS, *(f"lookup of {n}" for n in LOOKUPS)]
)
def test_a_join_in_epochs_gives_the_models_answer(spark: SparkSession, query: str, mode: str) -> None:
    op, seed = of(query), len(query)
    data = {name: rows for name, rows in drawn(seed).items() if name in {s.name for s in sources_of(op)}}
    expected = on_model(op, data)
    assert expected
    few = {"one_partition": mode == "few rows", "new_rows": 40 if mode.endswith("new ones") else None}
    found = in_epochs(Engine(spark), op, data, cut(op, data, seed), **few)  # type: ignore[arg-type]
    assert same(found, expected)


@pytest.mark.parametrize("query", LOOKUPS.values(), ids=LOOKUPS.keys())
def test_a_lookup_that_an_earlier_version_has_begun_goes_on_as_it_began(
    spark: SparkSession, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it was a join of states, which keeps other tables."""
    asked, decided = emitted.begins_or_goes_on, []

    def begun_before(run: Run, mark: str) -> bool:
        decided.append(run.continues and asked(run, mark))
        return decided[-1]

    monkeypatch.setattr(emitted, "begins_or_goes_on", begun_before)
    op, seed = of(query), len(query)
    data = {name: rows for name, rows in drawn(seed).items() if name in {s.name for s in sources_of(op)}}
    assert same(in_epochs(Engine(spark), op, data, cut(op, data, seed)), on_model(op, data))
    assert len(decided) > 1
    assert not any(decided)
