"""Spark against the model: generated queries of all operators, nested, on generated data, row for row and in order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from pyspark.sql import SparkSession

from astralq.errors import AstralError
from astralq.plan.facts import FEW_ROWS
from astralq.spark import Engine
from tests.agree.compare import Rows, on_model, on_spark, same
from tests.queries import Case, cases

DEPTH = 4
_alone = settings(
    # The first example that Hypothesis draws is the simplest one; later ones resemble each other. So: one per seed.
    max_examples=2,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def drawn(count: int) -> list[Case]:
    """So many queries with their data, the same ones each time."""
    return [_nth(k) for k in range(count)]


def _nth(k: int) -> Case:
    found: list[Case] = []

    @seed(k)
    @settings(_alone, phases=[Phase.generate])
    @given(cases(DEPTH))
    def draw(case: Case) -> None:
        found.append(case)

    draw()
    return found[-1]


def difference(engine: Engine, case: Case, partitions: int | None = None) -> str | None:
    """What differs between the two answers, ready to paste; None if nothing does."""
    try:
        expected: Rows | str = on_model(case.query, case.data)
    except AstralError as e:
        expected = f"{type(e).__name__}: {e}"
    found: Rows | str
    try:
        found = on_spark(engine, case.query, case.data, partitions=partitions)
    except Exception as e:
        found = f"{type(e).__name__}: {e}"
    if isinstance(expected, list) and isinstance(found, list) and same(expected, found):
        return None
    return f"{case}\nmodel {expected}\nspark {found}"


def test_generated_queries_give_the_models_answer(
    spark: SparkSession, several: SparkSession, request: pytest.FixtureRequest
) -> None:
    """Half of them as few rows are answered, half as many are, every fourth of all on three partitions; two at a time,
    because Python waits for Spark. A failure is made small."""

    def compared(k: int, case: Case) -> str | None:
        if k % 4 == 3:
            return difference(Engine(several), case, 3)
        return difference(Engine(spark, few_rows=0 if k % 4 == 1 else FEW_ROWS), case)

    trials = drawn(request.config.getoption("--trials"))
    with ThreadPoolExecutor(2) as pool:
        differences = list(pool.map(compared, range(len(trials)), trials))
    wrong = [k for k, d in enumerate(differences) if d is not None]
    if wrong:

        @seed(wrong[0])
        @settings(_alone, report_multiple_bugs=False)
        @given(cases(DEPTH))
        def shrink(case: Case) -> None:
            found = compared(wrong[0], case)
            assert found is None, found

        shrink()
    assert wrong == [], "\n\n".join(str(differences[k]) for k in wrong)
