"""Positions by ranges of time, which are counted first: over as many tuples as one likes, the same as the model's."""

from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession

from astralq import RelationQuery, StreamQuery, range_, rows, stream
from astralq.model import Data, Stream
from astralq.plan.encoding import numbering
from astralq.spark import Engine
from astralq.spark.batch import Batch
from astralq.timeline import BatchId, Instant
from tests.agree.compare import frames, on_model, on_spark, same

S = stream("S", "k INT, v INT")


def drawn(seed: int, last: int, batches: int = 1) -> Data:
    """Forty tuples, several of an instant and some of them equal, up to an instant, in so many batches of each."""
    rng = random.Random(seed)
    stamps = sorted((rng.randint(0, last), rng.randrange(batches)) for _ in range(40))
    return {"S": Stream.of((BatchId(Instant(t), i), (rng.choice([1, 2, None]), rng.randint(0, 3))) for t, i in stamps)}


QUERIES = {
    "rows": S[rows(3)].select("_n AS n", "k"),
    "rows in steps": S[rows(7, slide=3)].select("_n AS n", "k"),
    "rows in steps, later": S[rows(2, slide=4).delayed(3)].select("_n AS n", "v"),
    "rows of parts in steps": S[rows(3, slide=2).by("k")].aggregate("count(*) AS n", "sum(v) AS s", by="k"),
    "an average of rows in steps": S[rows(9, slide=2)].aggregate("avg(v) AS m", "max(v) AS top").istream(),
    "an average of rows in whole steps": S[rows(6, slide=3)].aggregate("avg(v) AS m", "min(v) AS low").istream(),
    "sums of rows in whole steps, and over none": S[rows(6, slide=3)].aggregate("sum(v) AS s", "max(v) AS top"),
    "sums of rows in many steps": S[rows(26, slide=2)].aggregate("sum(v) AS s", "avg(v) AS m"),
    "counts by key of rows in whole steps": S[rows(8, slide=4)].aggregate("count(*) AS n", "max(_t) AS at", by="k"),
    "a window by time with positions": S[range_("5 us")].select("_n AS n"),
}


@pytest.mark.parametrize(("last", "batches"), [(3, 2), (9, 1), (100_000, 1)], ids=["crowded", "in instants", "spread"])
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_positions_are_the_models(
    spark: SparkSession, query: StreamQuery | RelationQuery, last: int, batches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numbering, "RANGED", 0)
    monkeypatch.setattr(numbering, "ROWS_IN_RANGE", 2)
    data = drawn(last, last, batches)
    assert same(on_model(query, data), on_spark(Engine(spark, few_rows=0), query, data))


@pytest.mark.parametrize(
    ("last", "batches", "merged"),
    [(3, 1, False), (100_000, 2, False), (100_000, 1, True)],
    ids=["crowded", "several batches of an instant", "spread"],
)
def test_tuples_are_merged_by_steps_unless_a_batch_goes_over_the_end_of_one(
    spark: SparkSession, last: int, batches: int, merged: bool
) -> None:
    query = QUERIES["an average of rows in whole steps"].operator
    plan = Batch(query, frames(spark, query, drawn(last, last, batches)), few_rows=0).plan()
    assert ("by rows, merged by steps" in [strategy for _, strategy, _ in plan.reasons]) is merged


def test_ranges_have_about_as_many_rows_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred rows in four parts of time, and none elsewhere."""
    monkeypatch.setattr(numbering, "FEWEST", 4)
    ranges = numbering.Ranges.of({10: 30, 11: 20, 500: 25, 900: 25})
    assert ranges is not None
    assert (ranges.first_parts, ranges.before) == ((11, 900), (0, 30, 75))


def test_ranges_of_time_are_not_for_rows_that_come_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbering, "ROWS_IN_RANGE", 10)
    assert numbering.Ranges.of({3: 90, 700: 10}) is None
    assert numbering.Ranges.of(dict.fromkeys(range(0, 1000, 10), 1)) is not None
