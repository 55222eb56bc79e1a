"""Every aggregate over every kind of window, with doubles that binary cannot hold: the same bits as the model."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from astralq import (
    RelationQuery,
    WindowSpec,
    fixed,
    hop,
    landmark,
    last_batch,
    moving,
    now,
    range_,
    rows,
    stream,
    two_rates,
    unbounded,
)
from astralq.errors import EvaluationError
from astralq.model import Data, Stream
from astralq.spark import Engine
from astralq.timeline import BatchId, Instant
from tests.agree.compare import on_model, on_spark, same

S = stream("S", "k INT, v DOUBLE, d DECIMAL(10, 2), l BIGINT, lon DOUBLE, lat DOUBLE", location=("lon", "lat"))

MERGEABLE = ("count(*) AS n", "count(v) AS nv", "sum(v) AS s", "avg(v) AS a", "min(v) AS lo", "max(v) AS hi")
OTHERS = (
    *("sum(l) AS sl", "avg(l) AS al", "sum(d) AS sd", "avg(d) AS ad", "avg(k) AS ak", "first(v) AS f", "last(v) AS la"),
    *(
        "count(DISTINCT v) AS cd",
        "median(v) AS me",
        "percentile(v, 0.25) AS p",
        "stddev(v) AS sd1",
        "variance(v) AS va",
    ),
    *("variance(v) AS va", "stddev_pop(v) AS sp", "var_pop(d) AS vp", "path_length() AS pl", "average_speed() AS sp2"),
)

WINDOWS: dict[str, WindowSpec] = {
    "range": range_("5 us"),
    "range slide": range_("5 us", slide="2 us"),
    "hop": hop("6 us", "2 us"),
    "tumble": hop("4 us", "4 us"),
    "now": now(),
    "rows": rows(3),
    "rows slide": rows(4, slide="3 us"),
    "range by rows": range_("6 us", slide=2),
    "unbounded": unbounded(),
    "batch": last_batch(),
    "landmark": landmark(Instant(4), "3 us"),
    "fixed": fixed(Instant(3), Instant(9)),
    "moving": moving("300 km", "100 km"),
    "parted": rows(2).by("k"),
    "two rates": two_rates("4 us", "2 us", ("07:00", "20:00"), "3 us"),
}


def _data(seed: int, count: int = 14) -> Data:
    rng = random.Random(seed)
    batches = sorted((rng.randint(0, 14), rng.randint(0, 2)) for _ in range(count))

    def value() -> Any:
        return rng.choice([0.1, 0.2, 0.3, -0.1, 1e10, 1e-9, 2.5, 7.7, None, 0.1])

    def tuple_() -> tuple[Any, ...]:
        place = rng.choice([(None, None), *[(rng.uniform(-3, 3), rng.uniform(50, 53)) for _ in range(4)]])
        d = Decimal(rng.randint(-500, 500)).scaleb(-2)
        return (rng.choice([1, 1, 2, None]), value(), d, rng.choice([2**62, -5, 7, None]) if seed else 3, *place)

    return {"S": Stream.of((BatchId(Instant(t), i), tuple_()) for t, i in batches)}


@pytest.mark.parametrize(
    ("window", "by"),
    [*((w, "") for w in WINDOWS), *((w, "k") for w in ("range", "hop", "rows slide", "moving", "parted"))],
)
def test_mergeable_aggregates_agree_bit_for_bit(engine: Engine, window: str, by: str) -> None:
    query = S[WINDOWS[window]].aggregate(*MERGEABLE, by=by or ())
    data = _data(0)
    assert same(on_model(query, data), on_spark(engine, query, data))


@pytest.mark.parametrize(("window", "by"), [("range", ""), ("hop", ""), ("rows", "k"), ("parted", "k")])
def test_sums_and_counts_alone_agree_bit_for_bit(engine: Engine, window: str, by: str) -> None:
    """They are swept: what leaves is taken off again."""
    query = S[WINDOWS[window]].aggregate("avg(v) AS a", "sum(v) AS s", "count(*) AS n", "sum(l) AS l", by=by or ())
    data = _data(0, 25)
    assert same(on_model(query, data), on_spark(engine, query, data))


@pytest.mark.parametrize(("window", "by"), [("range", ""), ("hop", "k"), ("rows slide", "k")])
def test_all_other_aggregates_agree_bit_for_bit(engine: Engine, window: str, by: str) -> None:
    query = S[WINDOWS[window]].aggregate(*OTHERS, by=by or ())
    data = _data(0)
    assert same(on_model(query, data), on_spark(engine, query, data))


def _averages() -> RelationQuery:
    return S[range_("6 us")].aggregate("sum(v) AS s", "avg(v) AS a", "stddev(v) AS sd", by="k")


@pytest.mark.parametrize("partitions", [1, 3, 7])
def test_answers_have_the_same_bits_for_any_number_of_partitions(spark: SparkSession, partitions: int) -> None:
    data = _data(3, 40)
    query = _averages()
    assert same(on_model(query, data), on_spark(Engine(spark), query, data, partitions=partitions))


def test_magnitudes_far_apart_are_added_exactly(engine: Engine) -> None:
    """1e300 and 1e-300 in one window: limbs for everything between them."""
    values = [1e300, 1e-300, -1e300, 0.1, 5e-324, 1e16, -0.1, float("inf"), float("nan"), 1.0]
    tuples = [(BatchId(Instant(t), 0), (1, v, None, None, None, None)) for t, v in enumerate(values)]
    query = S[rows(3)].aggregate("sum(v) AS s", "avg(v) AS a")
    data = {"S": Stream.of(tuples)}
    assert same(on_model(query, data), on_spark(engine, query, data))


NEAR_AND_FAR: dict[str, list[float]] = {
    "quarters": [0.25 * k for k in range(12)],
    "decimals": [21.37, 21.4, 20.99, 21.37, -0.01, 21.37, 19.5, 21.37],
    "far from 0": [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16, 1e9 + 4.001, -1e9],
    "equal": [0.1] * 6,
    "tiny": [-1e-60, 3e-60, 2.5e-60, -7e-61],
    "finer than the grid": [5e-324, 1.5, 1e-100, 2.5, -3e-80],
    "out of reach": [1.0, 2.0, 1e78, 3.0, 4.0, float("inf"), 5.0, 6.0, float("nan"), 7.0, 8.0, 9.0],
    "wide": [1e-70, 1e76, -1e76, 1.0, 1e-3, 1e40],
}


@pytest.mark.parametrize("values", NEAR_AND_FAR.values(), ids=NEAR_AND_FAR)
def test_variances_agree_bit_for_bit(engine: Engine, values: list[float]) -> None:
    """They are swept: what leaves is taken off again."""
    tuples = [(BatchId(Instant(t), 0), (1, v, None, None, None, None)) for t, v in enumerate(values)]
    query = S[range_("2 us")].aggregate("stddev(v) AS s", "var_pop(v) AS p")
    data = {"S": Stream.of(tuples)}
    assert same(on_model(query, data), on_spark(engine, query, data))


def test_equal_values_count_once_in_a_distinct_deviation(engine: Engine) -> None:
    query = S[range_("5 us")].aggregate("stddev(DISTINCT v) AS s", by="k")
    data = _data(0)
    assert same(on_model(query, data), on_spark(engine, query, data))


def _longs(*values: int) -> Data:
    return {"S": Stream.of((BatchId(Instant(t), 0), (1, None, None, v, None, None)) for t, v in enumerate(values))}


@pytest.mark.parametrize("values", [(2**63 - 1, -1, 1), (-(2**63), 5, -5), (2**62, 2**62 - 1), (-(2**62), -(2**62))])
def test_sums_of_longs_are_exact_up_to_their_limits(engine: Engine, values: tuple[int, ...]) -> None:
    query = S[rows(len(values))].aggregate("sum(l) AS s").istream()
    found = on_spark(engine, query, _longs(*values))
    assert found[-1] == (len(values) - 1, 0, sum(values))


def test_a_sum_of_longs_that_does_not_fit_fails_on_both_engines(engine: Engine) -> None:
    query = S[rows(2)].aggregate("sum(l) AS s")
    with pytest.raises(EvaluationError, match="out of range for BIGINT"):
        on_model(query, _longs(2**62, 2**62))
    with pytest.raises((PySparkException, Py4JJavaError), match="ARITHMETIC_OVERFLOW"):
        on_spark(engine, query, _longs(2**62, 2**62))


def test_the_average_of_a_constant_is_that_constant(engine: Engine) -> None:
    tuples = [(BatchId(Instant(t), 0), (1, 0.1, None, None, None, None)) for t in range(30)]
    query = S[unbounded()].aggregate("avg(v) AS a").istream()
    found = on_spark(engine, query, {"S": Stream.of(tuples)})
    assert found == [(0, 0, 0.1)]


def test_a_division_that_no_state_holds_does_not_fail(engine: Engine) -> None:
    """Windows [0, 1), [3, 4), …: the tuple at 2 is in none of them, and that at 12 is evaluated after the end."""
    tuples = [(1, 4), (2, 0), (3, 2), (12, 0)]
    data = {"S": Stream.of((BatchId(Instant(t), 0), (k, 1.0, None, None, None, None)) for t, k in tuples)}
    query = S[hop("1 us", "3 us")].where("100 / k > 10").select("100 / k AS q")
    assert on_spark(engine, query, data) == [("+", 4, 0, 50.0), ("-", 7, 0, 50.0)]
    assert same(on_model(query, data), on_spark(engine, query, data))
