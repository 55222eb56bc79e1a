"""Every comparison runs twice: planned as few rows are, in one partition, and as many are, distributed."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from astralq.spark import Engine

MANY = 10**9


@pytest.fixture(scope="session", params=["small", "distributed"])
def engine(spark: SparkSession, request: pytest.FixtureRequest) -> Engine:
    """An engine whose plans are all of one kind, however many rows there are."""
    return Engine(spark, few_rows=MANY if request.param == "small" else 0)
