"""Aggregates over the last distance travelled, every so far: merged between evaluations, the same as the model's."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession

from astralq import RelationQuery, StreamQuery, moving, stream
from astralq.model import Data, Stream
from astralq.spark import Engine
from astralq.spark.batch import Batch
from astralq.timeline import BatchId, Instant
from tests.agree.compare import frames, on_model, on_spark, same

S = stream("S", "k INT, v INT, x DOUBLE, y DOUBLE", location=("x", "y"), planar=True)
EACH = moving("6 m", "2 m").by("k")


def voyages(seed: int) -> Data:
    """Three objects that stand still, creep along, come to whole metres, and leap over several evaluations; some
    reports have no place, and some are simultaneous."""
    rng = random.Random(seed)
    where = {1: 0.0, 2: 0.0, None: 0.0}
    tuples = []
    for t in sorted(rng.choices(range(60), k=80)):
        k = rng.choice([1, 2, None])
        where[k] += rng.choice([0.0, 0.0, 0.3, 1.0, 2.0, 9.0])
        place = None if rng.random() < 0.1 else where[k]
        tuples.append((BatchId(Instant(t), 0), (k, rng.randint(0, 5), place, 0.0)))
    return {"S": Stream.of(tuples)}


QUERIES = {
    "maxima": S[EACH].aggregate("count(*) AS n", "max(v) AS top", "max(_t) AS at", by="k"),
    "what is new": S[EACH].aggregate("avg(v) AS mean", "min(v) AS low", by="k").istream(),
    "by more than the object": S[EACH].aggregate("count(*) AS n", "min(_t) AS since", by=("v", "k")),
    "windows that do not overlap": S[moving("2 m", "2 m").by("k")].aggregate("sum(v) AS s", "count(v) AS n", by="k"),
    "groups without a value": S[EACH].aggregate(by="k").dstream(),
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_what_was_travelled_is_merged_as_in_the_model(spark: SparkSession, query: StreamQuery | RelationQuery) -> None:
    engine = Engine(spark, few_rows=0)
    for seed in range(3):
        data = voyages(seed)
        assert same(on_model(query, data), on_spark(engine, query, data)), seed


@pytest.mark.parametrize(
    ("window", "by", "merged"),
    [
        (EACH, "k", True),
        (EACH, "v", False),
        (moving("5 m", "2 m").by("k"), "k", False),
        (moving("6 m", "2 m"), "k", False),
    ],
    ids=["objects", "not by objects", "no whole number of steps", "one object"],
)
def test_tuples_are_merged_by_steps_of_objects(spark: SparkSession, window: object, by: str, merged: bool) -> None:
    query = S[window].aggregate("count(*) AS n", by=by).operator  # type: ignore[index]
    plan = Batch(query, frames(spark, query, voyages(1)), few_rows=0).plan()
    assert ("by distance, merged by steps" in [strategy for _, strategy, _ in plan.reasons]) is merged
