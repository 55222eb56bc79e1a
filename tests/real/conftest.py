"""Real files are large enough for Spark's own settings, which the session of the small tests turns off."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

NORMAL = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}


@pytest.fixture(autouse=True)
def normal_session(spark: SparkSession) -> Iterator[None]:
    before = {name: spark.conf.get(name) for name in NORMAL}
    for name, value in NORMAL.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, str(value))
