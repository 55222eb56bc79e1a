"""Spark against the model: generated queries of all operators, nested, on generated data, row for row and in order."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from astralq.errors import AstralError
from astralq.spark import Engine
from tests.agree.compare import on_model, on_spark, same
from tests.agree.minimal import Difference, answer, differing
from tests.queries import Case

PARTITIONS = 3


def difference(session: SparkSession, case: Case, few_rows: int, partitions: int | None) -> Difference | None:
    """What differs between the two answers, if anything does."""
    expected = answer(lambda: on_model(case.query, case.data), AstralError)
    engine = Engine(session, few_rows=few_rows)
    found = answer(lambda: on_spark(engine, case.query, case.data, partitions=partitions))
    if isinstance(expected, list) and isinstance(found, list) and same(expected, found):
        return None
    call = f"on_spark(Engine(spark, few_rows={few_rows}), query, data, partitions={partitions})"
    return Difference(case, call, expected, found)


@pytest.mark.generated(modes=("small", "distributed"))
def test_a_generated_query_gives_the_models_answer(
    spark: SparkSession, several: SparkSession, seed: int, mode: str
) -> None:
    """Each as few rows are answered, and as many are; of the latter every fourth on three partitions."""
    session, few_rows, partitions = spark, 10**9, None
    if mode == "distributed":
        few_rows = 0
        if seed % 4 == 3:
            session, partitions = several, PARTITIONS
    found = differing(seed, lambda case: difference(session, case, few_rows, partitions))
    if found:
        pytest.fail(found, pytrace=False)
