"""How the tests run: hypothesis profiles, the marker `spark`, generated cases as items, one Spark session per process.

150 repeatable examples per property by default, `--hypothesis-profile explore` for 5,000 new ones.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession

from astralq.spark import Engine, server
from astralq.spark.session import SETTINGS, connected, is_remote, session

_quiet = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile("default", max_examples=150, deadline=None, derandomize=True, suppress_health_check=_quiet)
settings.register_profile("explore", max_examples=5000, deadline=None, suppress_health_check=_quiet)
settings.load_profile("default")

# A shell that starts the tests in the background has them ignore interrupts, and so would all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--scale", action="store_true", help="also what needs the machine for itself")
    parser.addoption("--trials", type=int, default=15, help="how many generated queries both engines answer")
    parser.addoption("--connect", action="store_true", help="over Spark Connect: for tests of batch queries")
    parser.addoption("--remote", metavar="URL", help="over a Spark Connect server that is running: sc://host:port")
    parser.addoption("--seed", type=int, default=0, help="the first seed of generated queries")


# Which tests there are


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Makes a test that is marked `generated` one item for each seed, and for each mode if it has several."""
    marker = metafunc.definition.get_closest_marker("generated")
    if marker is None:
        return
    first, trials = (int(metafunc.config.getoption(name)) for name in ("--seed", "--trials"))
    count = max(1, round(trials * marker.kwargs.get("share", 1)))
    seeds, modes = range(first, first + count), marker.kwargs.get("modes", ())
    if modes:
        cases = [pytest.param(seed, mode, id=f"{seed}-{mode}") for seed in seeds for mode in modes]
        metafunc.parametrize(("seed", "mode"), cases)
    else:
        metafunc.parametrize("seed", seeds, ids=str)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what starts Spark in this process, and begins with it: what is left at the end is quick, and fills gaps."""
    for item in items:
        if isinstance(item, pytest.DoctestItem) and _starts_spark(item):
            item.fixturenames.append("spark")  # so that it finds the session of the tests
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)


def _starts_spark(item: pytest.DoctestItem) -> bool:
    return any("session(" in example.source or "SparkSession" in example.source for example in item.dtest.examples)


@pytest.fixture(autouse=True)
def _no_spark_without_its_marker(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that starts Spark and does not say so finds no Java."""
    if request.node.get_closest_marker("spark") is None:
        monkeypatch.setenv("JAVA_HOME", "/this test needs the marker spark")


@pytest.fixture(autouse=True)
def _the_usual_session(request: pytest.FixtureRequest) -> None:
    """Makes the session of the tests the active one: continuous runs have others, and leave them active."""
    if "spark" in request.fixturenames:
        request.getfixturevalue("spark").createDataFrame([], "x int")


@pytest.fixture(scope="session")
def trials(request: pytest.FixtureRequest) -> int:
    """How many generated cases are tried."""
    return int(request.config.getoption("--trials"))


@pytest.fixture
def alone(request: pytest.FixtureRequest) -> None:
    """For tests that need the machine for themselves: those that time, and those that kill executors."""
    if not request.config.getoption("--scale"):
        pytest.skip("needs an idle machine: scripts/test tests/spark/test_scale.py --scale")


# Spark

NORMAL = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.subexpressionElimination.enabled": "true",
    "spark.sql.constraintPropagation.enabled": "true",
    "spark.sql.shuffle.partitions": "8",
}
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
    "spark.driver.memory": "6g",
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
    "spark.sql.ui.retainedExecutions": "1",
    "spark.ui.retainedJobs": "1",
    "spark.ui.retainedStages": "1",
    "spark.ui.retainedTasks": "1",
}


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """On two cores, with one partition: the data of tests are small, and most of the time is planning."""
    if request.config.getoption("--remote"):
        yield connected(request.config.getoption("--remote"), {})
        return
    if request.config.getoption("--connect"):
        os.environ["SPARK_LOCAL_CONNECT_DISCOVERY"] = str(tmp_path_factory.mktemp("server") / "connect.json")
        started = server.start("local[2]", ROOMY)
        found = started.session(TINY)
        yield found
        found.stop()  # before the server: it would be told so again and again
        server.stop()
        return
    found = session("local[2]", TINY | ROOMY)
    yield found
    found.stop()


@pytest.fixture
def classic(request: pytest.FixtureRequest) -> None:
    """For tests of what Spark Connect does not have: continuous queries."""
    if request.config.getoption("--connect") or request.config.getoption("--remote"):
        pytest.skip("needs a classic session")


@pytest.fixture
def normal(spark: SparkSession) -> Iterator[SparkSession]:
    """The session with Spark's own settings, for data that are large enough for them."""
    before = {name: spark.conf.get(name) for name in NORMAL}
    for name, value in NORMAL.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, str(value))


@pytest.fixture(scope="session")
def several(spark: SparkSession) -> SparkSession:
    """Another session in the same Spark, with three partitions; a process can have but one of Spark Connect."""
    if is_remote(spark):
        return spark
    found = spark.newSession()
    for name, value in {**SETTINGS, **TINY, "spark.sql.shuffle.partitions": "3"}.items():
        if name.startswith("spark.sql."):
            found.conf.set(name, value)
    return found


@pytest.fixture(scope="session")
def engine(spark: SparkSession) -> Engine:
    return Engine(spark)
