"""Spark against the model: generated queries of all operators, nested, on generated data, row for row and in order."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from astralq.spark import Engine
from tests.agree.compare import on_spark
from tests.agree.minimal import Difference, assert_no_difference, compared
from tests.queries import Case

MANY = 10**9
PARTITIONS = 3


@pytest.mark.generated(modes=("small", "distributed"))
def test_a_generated_query_gives_the_models_answer(
    spark: SparkSession, several: SparkSession, seed: int, mode: str
) -> None:
    """Each as few rows are answered, and as many are; of the latter every fourth on three partitions."""
    few_rows = MANY if mode == "small" else 0
    parted = mode == "distributed" and seed % 4 == 3
    engine, partitions = Engine(several if parted else spark, few_rows=few_rows), PARTITIONS if parted else None

    def difference(case: Case) -> Difference | None:
        session = "several" if parted else "spark"
        call = f"on_spark(Engine({session}, few_rows={few_rows}), query, data, partitions={partitions})"
        return compared(case, call, lambda: on_spark(engine, case.query, case.data, partitions=partitions))

    assert_no_difference(seed, difference)
