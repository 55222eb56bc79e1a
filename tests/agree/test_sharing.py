"""Sets of queries that are planned together on Spark, against the model, which answers each alone."""

from __future__ import annotations

from random import Random as Dice

import pytest
from pyspark.sql import DataFrame, SparkSession

from astralq.algebra.answers import answer_columns
from astralq.errors import AstralError
from astralq.sharing import aggregations
from astralq.spark import Engine
from astralq.spark.answers import plain
from astralq.spark.batch import Batch
from astralq.spark.together import Together
from tests.agree.compare import frames, on_model, same
from tests.agree.epochs import Life, lives_in_epochs
from tests.sets import query_set


@pytest.mark.generated(modes=("small", "distributed"), share=0.4)
def test_queries_planned_together_give_the_models_answers(
    spark: SparkSession, seed: int, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aggregations, "panes_pay", lambda *_: True)
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


@pytest.mark.generated(share=0.25)
def test_queries_that_come_and_go_in_epochs_give_the_models_answers(spark: SparkSession, seed: int) -> None:
    given, dice = query_set(seed), Dice(seed)
    marks = sorted(dice.sample(range(1, given.until), dice.randint(1, 4)))
    lives = []
    for k, (query, t0) in enumerate(given.queries):
        begins = 0 if k == 0 else dice.choice([0, 0, 1, 2])
        lives.append(Life(query, t0, min(begins, len(marks)), dice.choice([len(marks), len(marks), begins + 1])))
    common = lives_in_epochs(Engine(spark), lives, given.data, [*marks, given.until], small=seed % 2 == 0)
    for k, life in enumerate(lives):
        if life.until is None:
            continue
        wanted = on_model(life.query, given.data, t0=life.t0, until=life.until)
        assert same(life.rows, wanted), f"{given}\n{marks}\nquery {k}: {life}\n{wanted}\n{common} tables in common"
