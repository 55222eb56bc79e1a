"""Sets of queries that are planned together on Spark, against the model, which answers each alone."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from astralq.algebra.answers import answer_columns
from astralq.errors import AstralError
from astralq.sharing import queries
from astralq.spark.answers import plain
from astralq.spark.batch import Batch
from astralq.spark.together import Together
from tests.agree.compare import frames, on_model, same
from tests.sets import query_set


@pytest.mark.generated(modes=("small", "distributed"))
def test_queries_planned_together_give_the_models_answers(
    spark: SparkSession, seed: int, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "panes_pay", lambda *_: True)
    given = query_set(seed)
    wanted = []
    for query, t0 in given.queries:
        try:
            wanted.append(on_model(query, given.data, t0=t0, until=given.until))
        except AstralError:
            return  # a query that fails is answered alone, which tests/cli tells
    sources: dict[str, DataFrame] = {}
    for query, _ in given.queries:
        sources |= frames(spark, query, given.data) if not sources.keys() >= {"S", "W"} else {}
    few = 10**9 if mode == "small" else 0
    batches = [Batch(query, sources, t0, given.until, few_rows=few) for query, t0 in given.queries]
    together = Together([f"q{k}" for k in range(len(batches))], batches)
    together.plan()
    for k, (query, _) in enumerate(given.queries):
        found = [tuple(r) for r in plain(together.answer(k), answer_columns(query)).collect()]
        assert same(found, wanted[k]), f"{given}\nquery {k}\n{found}\n{wanted[k]}\n{together.notes}"
