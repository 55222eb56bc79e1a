"""Queries that laws rewrite: Spark with laws against the model, which knows none; in one run and in epochs."""

from __future__ import annotations

from random import Random as Dice

import pytest
from pyspark.sql import SparkSession

from astralq.algebra.base import Kind
from astralq.algebra.fluent import RelationQuery, StreamQuery
from astralq.errors import AstralError
from astralq.laws.optimize import optimize
from astralq.laws.rules import RULES
from astralq.laws.samples import Random
from astralq.spark import Engine
from tests.agree.compare import Rows, on_model, on_spark, same
from tests.agree.epochs import in_epochs, last_instant
from tests.queries import Case


def case_of(seed: int) -> Case:
    """A query in the shape of one law, with something above it, and its data."""
    random = Random(seed)
    query = random.above(RULES[seed % len(RULES)].drawn(random))
    return Case(StreamQuery(query) if query.kind is Kind.STREAM else RelationQuery(query), random.data())


def expected(case: Case) -> Rows | None:
    """The model's answer; None for an error."""
    try:
        return on_model(case.query, case.data)
    except AstralError:
        return None


@pytest.mark.generated(modes=("small", "distributed"))
def test_a_rewritten_query_gives_the_models_answer(spark: SparkSession, seed: int, mode: str) -> None:
    case = case_of(seed)
    wanted = expected(case)
    engine = Engine(spark, few_rows=10**9 if mode == "small" else 0)
    if wanted is None:
        return  # Spark's own optimizer may leave out what fails; tests/laws/test_rules.py compares errors on the model
    found = on_spark(engine, case.query, case.data)
    assert same(found, wanted), f"{case}\n{optimize(case.query.operator).after}\n{found}\n{wanted}"


@pytest.mark.generated(share=0.5)
def test_a_rewritten_query_gives_the_models_answer_in_epochs(spark: SparkSession, seed: int) -> None:
    case = case_of(seed)
    wanted = expected(case)
    if wanted is None:
        return
    dice = Dice(seed)
    last = last_instant(case.query, case.data)
    cuts = sorted(dice.sample(range(last), min(last, dice.randint(0, 3)))) if last > 0 else []
    small = seed % 2 == 0
    found = in_epochs(Engine(spark), case.query, case.data, [*cuts, last], one_partition=small)
    assert same(found, wanted), f"{case}\n{optimize(case.query.operator).after}\n{found}\n{wanted}"
