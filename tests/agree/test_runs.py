"""What generated queries do not vary: starts and ends, dialects, streams of windows, and how sources are stamped."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from astralq import RelationQuery, StreamQuery, WindowsQuery, range_, relation, rows, unbounded
from astralq.algebra.base import HasOperator, Operator
from astralq.algebra.sources import RelationSource, StreamSource
from astralq.algebra.ticks import Tick
from astralq.errors import DataError
from astralq.model import Data, Stream
from astralq.schema import Schema
from astralq.spark import Engine
from astralq.timeline import BatchId, Instant
from tests.agree.compare import on_model, on_spark, same
from tests.agree.minimal import Difference, assert_no_difference, compared
from tests.queries import BASE, Case, S, T


def _rich() -> Data:
    """Data with several tuples for every source, and several batches at some instants."""
    rng = random.Random(11)
    found: dict[str, Any] = {}
    for name, count in (("S", 20), ("T", 10)):
        ids = sorted((rng.randint(0, 11), rng.randint(0, 1)) for _ in range(count))
        found[name] = Stream.of((BatchId(Instant(t), i), (rng.randint(0, 2), rng.randint(0, 2))) for t, i in ids)
    found["V"] = [(rng.randint(0, 2), rng.randint(0, 2), t, t + rng.randint(1, 6)) for t in range(0, 10, 2)]
    found["L"] = [(t % 3, t % 2, "+" if t < 6 else "-", t) for t in range(10)]
    found["K"] = [(t % 3, t % 2, "+" if t < 6 else "-", t) for t in range(9)]
    found["C"] = [(0, 1), (1, None), (2, 2)]
    return found


RICH: Data = _rich()


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Engine:
    return Engine(spark)


def agree(engine: Engine, query: Operator | HasOperator, data: Data, **how: Any) -> bool:
    expected, found = on_model(query, data, **how), on_spark(engine, query, data, **how)
    assert same(expected, found), f"{query}\nmodel {expected}\nspark {found}"
    return bool(expected)


@pytest.mark.generated(share=0.2)
def test_a_start_and_an_end_that_are_given(engine: Engine, seed: int) -> None:
    assert_no_difference(seed, lambda case: with_options(engine, case, t0=Instant(3), until=Instant(9)))


@pytest.mark.generated(share=0.2)
def test_the_state_at_an_instant(engine: Engine, seed: int) -> None:
    """Of a stream, the state of its last row."""

    def difference(case: Case) -> Difference | None:
        query = case.query if isinstance(case.query, RelationQuery) else case.query[rows(1)]
        return with_options(engine, Case(query, case.data), at=Instant(6))

    assert_no_difference(seed, difference)


def with_options(engine: Engine, case: Case, **options: Instant) -> Difference | None:
    told = ", ".join(f"{name}={value}" for name, value in options.items())
    call = f"on_spark(Engine(spark), query, data, {told})"
    return compared(case, call, lambda: on_spark(engine, case.query, case.data, **options), **options)


# SNEEql

V, L = BASE[0], BASE[1]
WINDOWS: dict[str, WindowsQuery] = {
    "time": S.windows("4 us", "1 us", "2 us"),
    "rows": S.windows(3, 1, 2),
    "rows that overlap": S.windows(4, 0, 1),
    "scan": L.scan("3 us"),
    "select": S.windows("4 us", "0 us", "3 us").where("a > 0").select("b AS a", "_n AS b"),
    "aggregate": S.windows("4 us", "0 us", "3 us").aggregate("count(*) AS n", "sum(b) AS s"),
    "groups": S.windows(3, 0, 2).aggregate("count(*) AS n", by="a"),
    "distinct": S.windows(4, 0, 3).select("a").distinct(),
    "product": S.windows("3 us", "0 us", "2 us").product(T.select("a AS a2").windows(2, 0, 1)),
    "product with scan": S.windows("3 us", "0 us", "2 us").product(V.select("b AS b2").scan("3 us")),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_streams_of_windows(engine: Engine, name: str) -> None:
    """Each of them as it is, and streamed in all three ways."""
    data = RICH
    found = WINDOWS[name]
    some = [agree(engine, q, data) for q in (found, found.rstream(), found.istream(), found.dstream())]
    assert any(some)


# Ticks, queries inside queries, custom pasts


def test_ticks_put_batches_together(engine: Engine) -> None:
    data = RICH
    for source in (S, L):
        ticked = Tick(source.operator, 4)  # type: ignore[arg-type]
        agree(engine, ticked, data)
    agree(engine, StreamQuery(Tick(S.operator, 3))[rows(2)].aggregate("count(*) AS n"), data)  # type: ignore[arg-type]


def test_a_query_inside_another_keeps_its_own_start(engine: Engine) -> None:
    data = RICH
    inner = S[range_("3 us", slide="2 us")].istream().started_at(Instant(5))
    agree(engine, inner[unbounded()], data, t0=Instant(1))
    agree(engine, S[rows(2)].started_at(Instant(4)).join(T[rows(2)].rename({"a": "a2", "b": "b2"}), on="a = a2"), data)


def test_a_past_given_as_a_function(engine: Engine) -> None:
    """f(t, i) = (t − t mod 3, 0), with its generalised inverse."""

    def f(b: BatchId) -> BatchId:
        return BatchId(Instant(b.t - b.t % 3), 0)

    def inverse(b: BatchId) -> BatchId:
        late = b.t + (1 if b.i > 0 else 0)
        return BatchId(Instant(-(-late // 3) * 3), 0)

    past = S[range_("4 us")].past("t - t mod 3", f, inverse)
    agree(engine, past, RICH)


# How rows become streams and relations


def _rows(seed: int, make: Any, count: int = 30) -> list[tuple[Any, ...]]:
    rng = random.Random(seed)
    return [make(rng) for _ in range(count)]


STREAMS = {
    "one batch": StreamSource("R", Schema.parse("k INT, v DOUBLE, ts TIMESTAMP"), "ts"),
    "duplicate positions": StreamSource("R", Schema.parse("k INT, v DOUBLE, ts TIMESTAMP"), "ts", position_by=("k",)),
    "batch by": StreamSource("R", Schema.parse("k INT, v DOUBLE, ts TIMESTAMP"), "ts", batch_by="k"),
    "each row": StreamSource("R", Schema.parse("k INT, v DOUBLE, ts TIMESTAMP"), "ts", batch_each_row=True),
}


@pytest.mark.parametrize("name", STREAMS)
def test_rows_are_stamped_and_ordered_as_in_the_model(engine: Engine, name: str) -> None:
    """Many rows at an instant, with equal positions and duplicates; batches are larger than the slide."""
    data = {"R": _rows(5, lambda r: (r.randint(0, 2), r.choice([0.1, 0.2, None]), r.randint(0, 4)))}
    s = StreamQuery(STREAMS[name])
    assert agree(engine, s.select("k", "v", "_n AS n", "_i AS i"), data)
    assert agree(engine, s[rows(2)].select("k", "v", "_n AS n"), data)
    assert agree(engine, s[rows(3, slide=2).by("k")].aggregate("sum(v) AS s", "last(v) AS l", by="k"), data)


@pytest.mark.parametrize(
    ("type_", "unit", "value"),
    [
        ("BIGINT", "SECONDS", lambda r: r.randint(0, 9)),
        ("INT", "MILLISECONDS", lambda r: r.randint(0, 9000)),
        ("DOUBLE", "SECONDS", lambda r: r.randint(0, 9_000_000) / 1e6),
        ("DECIMAL(12, 4)", "SECONDS", lambda r: Decimal(r.randint(0, 90000)).scaleb(-4)),
    ],
)
def test_numbers_are_times(engine: Engine, type_: str, unit: str, value: Any) -> None:
    source = StreamSource("R", Schema.parse(f"k INT, ts {type_}"), "ts", unit=unit)
    data = {"R": _rows(6, lambda r: (r.randint(0, 2), value(r)), 12)}
    assert agree(engine, StreamQuery(source)[range_("2 s")].select("k", "_n AS n"), data)


RELATIONS = {
    "constant": relation("R", "a INT, b INT"),
    "by position": RelationQuery(RelationSource("R", Schema.parse("a INT, b INT"), position_by=("b",))),
}


@pytest.mark.parametrize("name", RELATIONS)
def test_duplicates_of_a_constant_relation_are_told_apart(engine: Engine, name: str) -> None:
    data: Data = {**RICH, "R": [(1, 2), (1, 2), (None, 1), (1, None), (1, 2)]}
    assert agree(engine, RELATIONS[name], data)
    agree(engine, S.join(RELATIONS[name].rename({"a": "a2", "b": "b2"}), on="a = a2"), data)


@pytest.mark.generated(share=0.08)
@pytest.mark.parametrize("key", [(), ("a",)])
@pytest.mark.parametrize("by", [(), ("b",)])
def test_a_log_of_changes_is_replayed_as_in_the_model(
    engine: Engine, key: tuple[str, ...], by: tuple[str, ...], seed: int
) -> None:
    schema = Schema.parse("a INT, b INT, op STRING, ts TIMESTAMP")
    log = RelationQuery(RelationSource("R", schema, change="op", at="ts", key=key, position_by=by))
    make = lambda r: (r.randint(0, 1), r.choice([0, 1, None]), r.choice("++-"), r.randint(0, 6))  # noqa: E731
    data = {"R": _rows(seed, make, 25)}
    assert agree(engine, log, data)
    assert agree(engine, log.rstream(), data)


def test_a_stream_given_to_the_plain_api_is_declared_by_its_columns(spark: SparkSession) -> None:
    """Types are those of the columns; what no attribute can be is refused by name."""
    engine = Engine(spark)
    text = "SELECT CAST(id AS SMALLINT) AS k, CAST(id AS FLOAT) AS v, timestamp_seconds(id) AS ts FROM range(3)"
    df = spark.sql(text)
    s = engine.stream_from(df, timestamp="ts")
    assert str(s.schema) == "k SMALLINT, v FLOAT, ts TIMESTAMP"
    found = engine.run("RSTREAM(SELECT k, v FROM s [ROWS 1])", s=s)
    assert [(r.k, r.v) for r in found.collect()] == [(0, 0.0), (1, 1.0), (2, 2.0)]
    with pytest.raises(DataError, match="the column 'j' is variant, which no attribute can be"):
        engine.stream_from(spark.sql("SELECT parse_json('1') AS j, timestamp_seconds(1) AS ts"), timestamp="ts")
