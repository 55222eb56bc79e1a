"""Hypothesis profiles, and one Spark session for the whole run.

200 repeatable examples per property by default, `--hypothesis-profile explore` for more.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession

from astralq.spark import Engine
from astralq.spark.session import SETTINGS, session

_quiet = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile("default", max_examples=200, deadline=None, derandomize=True, suppress_health_check=_quiet)
settings.register_profile("explore", max_examples=5000, deadline=None, suppress_health_check=_quiet)
settings.load_profile("default")


NORMAL = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.subexpressionElimination.enabled": "true",
    "spark.sql.constraintPropagation.enabled": "true",
    "spark.sql.shuffle.partitions": "8",
}


@pytest.fixture
def normal(spark: SparkSession) -> Iterator[SparkSession]:
    """The session with Spark's own settings, for data that are large enough for them."""
    before = {name: spark.conf.get(name) for name in NORMAL}
    for name, value in NORMAL.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, str(value))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--scale", action="store_true", help="also what needs the machine for itself")
    parser.addoption("--trials", type=int, default=80, help="how many generated queries both engines answer")


@pytest.fixture(scope="session")
def trials(request: pytest.FixtureRequest) -> int:
    """How many generated cases are tried."""
    return int(request.config.getoption("--trials"))


@pytest.fixture
def alone(request: pytest.FixtureRequest) -> None:
    """For tests that need the machine for themselves: those that time, and those that kill executors."""
    if not request.config.getoption("--scale"):
        pytest.skip("needs an idle machine: scripts/test tests/spark/test_scale.py --scale")


TINY = {
    # Interpreted and planned once: compiling and re-planning take far longer than computing a few rows.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.subexpressionElimination.enabled": "false",
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.shuffle.partitions": "1",
}
ROOMY = {
    # Thousands of plans in one process: room for them, and no memory of those that are over.
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
    "spark.sql.ui.retainedExecutions": "1",
    "spark.ui.retainedJobs": "1",
    "spark.ui.retainedStages": "1",
    "spark.ui.retainedTasks": "1",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """On two cores, with one partition: the data of tests are small, and most of the time is planning."""
    found = session("local[2]", TINY | ROOMY)
    yield found
    found.stop()


@pytest.fixture(scope="session")
def several(spark: SparkSession) -> SparkSession:
    """Another session in the same Spark, with three partitions."""
    found = spark.newSession()
    for name, value in {**SETTINGS, **TINY, "spark.sql.shuffle.partitions": "3"}.items():
        if name.startswith("spark.sql."):
            found.conf.set(name, value)
    return found


@pytest.fixture(scope="session")
def engine(spark: SparkSession) -> Engine:
    return Engine(spark)
