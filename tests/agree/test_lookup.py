"""Lookups of single rows in one pass, and joins by equal expressions: the model's answers, and its errors."""

from __future__ import annotations

import random

import pyspark
import pytest

from astralq.algebra.base import Operator
from astralq.algebra.sources import sources_of
from astralq.errors import EvaluationError
from astralq.laws.optimize import optimize
from astralq.model import Data
from astralq.plan.explain import explained, plan_without_data
from astralq.spark import Engine
from tests.agree.compare import on_model, on_spark, same
from tests.language.support import bound
from tests.support import sec, single

DECLARED = """
CREATE STREAM s (k INT, v DOUBLE, ts TIMESTAMP) FROM csv 's.csv' TIMESTAMP BY ts;
CREATE STREAM u (k INT, w DOUBLE, ts TIMESTAMP) FROM csv 'u.csv' TIMESTAMP BY ts;
CREATE STREAM b (k INT, v DOUBLE, i INT, ts TIMESTAMP) FROM csv 'b.csv' TIMESTAMP BY ts BATCH BY i;
"""
LOOKUPS = {
    "the last row": "SELECT s.v, r.w FROM s LOOKUP JOIN (SELECT k, w FROM u [PARTITION BY k LAST ROW]) r ON s.k = r.k",
    "the mean of the last ten seconds": """
        SELECT s.v, m FROM s LOOKUP JOIN (SELECT k, avg(w) AS m FROM u [RANGE 10 SECONDS] GROUP BY k) r ON s.k = r.k""",
    "the mean, with what is not there": """
        SELECT s.v, m FROM s
        LOOKUP LEFT JOIN (SELECT k, avg(w) AS m FROM u [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY k) r
        ON s.k = r.k AND s.v > m""",
    "itself excluded": """
        SELECT s.v, m FROM s LOOKUP JOIN (SELECT k, avg(v) AS m FROM s [RANGE 10 SECONDS] GROUP BY k)
        DELAYED BY 1 MICROSECOND r ON s.k = r.k WHERE s.v > m""",
    "in batches of one instant": """
        SELECT b.v, r.w FROM b LOOKUP JOIN (SELECT k, v AS w FROM b [PARTITION BY k LAST ROW]) r ON b.k = r.k""",
}


def of(query: str) -> Operator:
    return bound(query, declared=DECLARED)


def drawn(seed: int) -> Data:
    rng = random.Random(seed)

    def rows(n: int) -> list[tuple[object, ...]]:
        times = sorted(rng.randrange(30) for _ in range(n))
        return [(rng.choice([1, 2, 3, None]), float(rng.randrange(9)), sec(t), t) for t in times]

    batched = [(k, v, rng.randrange(2), ts, t) for k, v, ts, t in rows(20)]
    return {"s": single(*rows(20)), "u": single(*rows(25)), "b": [r[:-1] for r in batched]}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("query", LOOKUPS.values(), ids=LOOKUPS.keys())
def test_a_lookup_in_one_pass_gives_the_models_answer(engine: Engine, query: str, seed: int) -> None:
    op = of(query)
    lines = "\n".join(explained(plan_without_data(optimize(op).after, None)))
    assert "one pass by key and time: " in lines
    read = {source.name for source in sources_of(op)}
    data = {name: rows for name, rows in drawn(seed).items() if name in read}
    assert same(on_model(op, data), on_spark(engine, op, data))


CELLS = "ISTREAM(SELECT s.v, u.w FROM s [RANGE 5 SECONDS] JOIN u [RANGE 5 SECONDS] ON {})"


@pytest.mark.parametrize(
    "condition",
    [
        "floor(s.v / 2) = floor(u.w / 2)",
        "s.k * 2 = u.k * 2",
        "s.k + 1 <=> u.k + 1",
        "s.v * 2 = u.w * 2 AND s.k = u.k",
        "CAST(s.v AS INT) = u.k + 1",
    ],
)
def test_a_join_by_equal_expressions_gives_the_models_answer(engine: Engine, condition: str) -> None:
    op = of(CELLS.format(condition))
    data = {name: rows for name, rows in drawn(1).items() if name != "b"}
    assert same(on_model(op, data), on_spark(engine, op, data))


FAR = 1e300
"""floor of it is out of range."""


@pytest.mark.skipif(pyspark.__version__ < "4.2", reason="before, floor gives the limit of BIGINT instead")
@pytest.mark.parametrize(("t", "fails"), [(3, True), (20, False)])
def test_a_key_that_fails_does_so_only_where_there_is_a_partner(engine: Engine, t: int, fails: bool) -> None:
    op = of(CELLS.format("floor(s.v) = floor(u.w)"))
    data: Data = {"s": single((1, 2.0, sec(1), 1), (1, FAR, sec(t), t)), "u": single((1, 2.5, sec(2), 2))}
    if not fails:
        assert same(on_model(op, data), on_spark(engine, op, data))
        return
    with pytest.raises(EvaluationError):
        on_model(op, data)
    with pytest.raises(Exception, match=r"OVERFLOW|overflow|out of range"):
        on_spark(engine, op, data)


@pytest.mark.parametrize(
    ("condition", "k"),
    [
        ("1 / u.w > 0 AND floor(s.v) = floor(u.w)", 1),  # computed before the key
        ("floor(s.v) = u.k AND 1 / u.w > 0", 1),
        ("s.k = u.k AND 1 / u.w > 0", None),  # the key is NULL, which does not end the condition
    ],
)
def test_a_part_that_fails_does_so_for_all_pairs_that_come_to_it(engine: Engine, condition: str, k: int | None) -> None:
    op = of(CELLS.format(condition))
    data: Data = {"s": single((k, 1.0, sec(1), 1)), "u": single((1, 0.0, sec(2), 2))}
    with pytest.raises(EvaluationError):
        on_model(op, data)
    with pytest.raises(Exception, match=r"DIVIDE_BY_ZERO|Division by zero"):
        on_spark(engine, op, data)


def test_the_last_tuple_of_a_key_is_looked_up_in_its_stream() -> None:
    """When it ends need not be computed: the next tuple of the key says it."""
    lines = "\n".join(explained(plan_without_data(optimize(of(LOOKUPS["the last row"])).after, None)))
    assert "one pass by key and time: the last tuple of a key holds until the next comes" in lines
