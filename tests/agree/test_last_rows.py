"""Aggregates over the last rows in epochs: whatever the cut, and wherever batches go over evaluations."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from astralq import StreamQuery, rows, stream
from astralq.algebra.retention import Demand
from astralq.model import Data, Stream
from astralq.plan import epoch_run
from astralq.plan.aggregate import last_rows
from astralq.plan.answer import plan_epoch
from astralq.plan.epoch_run import EpochRun
from astralq.plan.facts import Facts
from astralq.plan.state.store import state_name
from astralq.spark import Engine
from astralq.timeline import BatchId, Instant
from tests.agree.compare import on_model, same
from tests.agree.epochs import in_epochs

S = stream("S", "a INT, v DOUBLE")
ONE_BATCH = Facts(stamps={"S": frozenset({"_t"})})


def data(*, every: int) -> Data:
    """So many tuples at a time; every third value is NULL, and magnitudes change on the way."""
    values = [None if n % 3 == 1 else 0.1 * n if n < 25 else 1e12 + n for n in range(40)]
    return {"S": Stream.of((BatchId(Instant(n // every), 0), (n % 4, v)) for n, v in enumerate(values))}


def totals(width: int, every: int) -> StreamQuery:
    return S[rows(width, slide=every)].aggregate("sum(v) AS s", "avg(a) AS m", "count(v) AS n").istream()


@pytest.mark.parametrize("mode", ["one partition", "one task", "many rows"])
@pytest.mark.parametrize(
    ("width", "every", "together"), [(6, 3, 1), (4, 3, 2), (3, 7, 1), (5, 2, 4), (4, 1, 3), (2, 5, 9)]
)
def test_windows_go_on_from_epoch_to_epoch(
    spark: SparkSession, width: int, every: int, together: int, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if mode == "many rows":  # what is kept is appended to, and compacted
        monkeypatch.setattr(last_rows, "REPLACED", 0)
    last = 39 // together
    expected = on_model(totals(width, every), data(every=together))
    assert len(expected) > 3
    for cuts in ([last], [0, 1, last // 3, last // 2, last]):
        found = in_epochs(
            Engine(spark),
            totals(width, every),
            data(every=together),
            sorted(set(cuts)),
            one_partition=mode == "one partition",
            new_rows=None if mode == "many rows" else 40,
        )
        assert same(found, expected), cuts


def test_the_state_before_the_first_window_has_a_row_of_nothing(spark: SparkSession) -> None:
    query = S[rows(6, slide=6)].aggregate("count(*) AS n", "sum(a) AS s")
    expected = on_model(query, data(every=2))
    assert same(in_epochs(Engine(spark), query, data(every=2), [1, 2, 9, 19], new_rows=40), expected)


def strategies(query: StreamQuery, *tables: str) -> list[str]:
    """What an epoch chooses, that finds these state tables."""
    run = EpochRun(query.operator, ONE_BATCH, None, Instant(9), coming=10)
    run.tables.before = dict.fromkeys(tables, ("c0", "c1", "t", "n"))
    plan_epoch(run, 0, small=True)
    return [strategy for _, strategy, _ in run.choices.reasons]


def test_only_what_can_be_taken_off_again_is_summed_up() -> None:
    summed = "by rows, from sums up to each"
    assert summed in strategies(totals(6, 3))
    assert summed not in strategies(S[rows(6, slide=3)].aggregate("max(v) AS m").istream())
    assert summed not in strategies(S[rows(6, slide=3)].aggregate("sum(v) AS s", by="a").istream())
    assert summed not in strategies(S[rows(6, slide=3).by("a")].aggregate("sum(v) AS s").istream())


def test_a_run_that_keeps_the_tuples_of_a_window_goes_on_with_these() -> None:
    """As an earlier version has begun it."""
    window = S[rows(6, slide=3)]
    scope = EpochRun(totals(6, 3).operator, ONE_BATCH, None, Instant(9)).scope
    kept = state_name("window", scope, window.operator, False, Demand.CLIPPED.name)
    assert "by rows, from sums up to each" not in strategies(totals(6, 3), kept)


def test_values_that_are_in_no_window_yet_are_summed_exactly_later(spark: SparkSession) -> None:
    """What an epoch has measured is not all that later ones add up."""
    values = [0.5, 0.25, 1.0, 0.1 + 2**50, 3.0, 1e-9, 0.5]
    far: Data = {"S": Stream.of((BatchId(Instant(n), 0), (n % 2, v)) for n, v in enumerate(values))}
    window = S[rows(3, slide=3)]
    for query in (
        window.aggregate("sum(v) AS s").istream(),
        window.aggregate("sum(v) AS s", by="a").istream(),
        window.aggregate("sum(v) AS s", "max(v) AS m").istream(),
    ):
        expected = on_model(query, far)
        for cuts in ([3, 6], [1, 3, 4, 6]):
            assert same(in_epochs(Engine(spark), query, far, cuts, new_rows=4), expected), (query, cuts)


def test_a_sum_of_many_epochs_is_measured_again(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epoch_run, "OUTGROWN", 7)
    found = in_epochs(Engine(spark), totals(6, 3), data(every=2), list(range(2, 20)), new_rows=2)
    assert same(found, on_model(totals(6, 3), data(every=2)))
