"""Spark against the model: generated queries of all operators, nested, on generated data, row for row and in order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pyspark.sql import SparkSession

from astralq.errors import AstralError
from astralq.spark import Engine
from tests.agree.compare import Rows, on_model, on_spark, same
from tests.queries import Case, cases

DEPTH = 4
_calm = list(HealthCheck)


def drawn(count: int) -> list[Case]:
    """So many queries with their data, the same ones each time."""
    found: list[Case] = []

    @settings(max_examples=count, derandomize=True, database=None, phases=[Phase.generate], suppress_health_check=_calm)
    @given(cases(DEPTH))
    def draw(case: Case) -> None:
        found.append(case)

    draw()
    return found


def difference(engine: Engine, case: Case) -> str | None:
    """What differs between the two answers, ready to paste; None if nothing does."""
    try:
        expected: Rows | str = on_model(case.query, case.data)
    except AstralError as e:
        expected = f"{type(e).__name__}: {e}"
    found = on_spark(engine, case.query, case.data)
    if isinstance(expected, list) and same(expected, found):
        return None
    return f"{case}\nmodel {expected}\nspark {found}"


def test_generated_queries_give_the_models_answer(spark: SparkSession, request: pytest.FixtureRequest) -> None:
    """Two at a time, because most of the time is planning. A failure is looked for again and made small."""
    engine = Engine(spark)
    trials = request.config.getoption("--trials")
    with ThreadPoolExecutor(2) as pool:
        wrong = [d for d in pool.map(lambda case: difference(engine, case), drawn(trials)) if d is not None]
    if wrong:

        @settings(max_examples=trials, derandomize=True, database=None, suppress_health_check=_calm)
        @given(cases(DEPTH))
        def shrink(case: Case) -> None:
            assert difference(engine, case) is None, difference(engine, case)

        shrink()
    assert wrong == [], "\n\n".join(wrong)
