"""The law of epochs: for every cut of the input, and every shuffle within the lateness, the answers of the epochs, one
behind the other, are the answer of the historic run."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from random import Random

import pytest
from pyspark.sql import SparkSession

from astralq import StreamQuery, range_, relation, rows, stream, tumble, unbounded
from astralq.model import Data, Stream
from astralq.plan.state.epochs import MANY
from astralq.runtime.ingest.watermark import SourceProgress, watermark
from astralq.spark import Engine
from astralq.timeline import BatchId, Duration, Instant
from tests.agree.compare import on_model, same
from tests.agree.epochs import in_epochs, last_instant, times_of
from tests.agree.minimal import Difference, assert_no_difference, compared
from tests.queries import BASE, C, Case, S


@dataclass(frozen=True)
class Arrival:
    """Tuples and changes in the order in which they arrive, and where the input is cut."""

    watermarks: list[int]
    late: int


def arriving(case: Case, random: Random) -> Arrival:
    """Shuffles what comes within a lateness, cuts it anywhere, and follows the watermark."""
    lateness = Duration(random.choice([0, 0, 1, 3]))
    sources = times_of(case.query, case.data)
    events = [(t + random.uniform(0, lateness), t, name) for name, times in sources.items() for t in times]
    events.sort()
    cuts = sorted(random.sample(range(len(events) + 1), min(len(events) + 1, random.randint(0, 3))))
    seen: dict[str, int] = {}
    released: Instant | None = None
    found: list[int] = []
    late = 0
    for k, (_, t, name) in enumerate(events):
        if k in cuts:
            progress = [
                SourceProgress(Instant(seen[n]) if n in seen else None, None, lateness, waits=bool(sources[n]))
                for n in sources
            ]
            marks = [p.watermark(Instant(0), Instant(0)) for p in progress]
            now = watermark(marks, released, [])
            if now is not None and now != released:
                found.append(now)
                released = now
        late += released is not None and t <= released
        seen[name] = max(seen.get(name, t), t)
    last = last_instant(case.query, case.data)
    return Arrival([*(w for w in found if w < last), last], late)


@pytest.mark.generated(share=0.25, modes=("small", "distributed"))
def test_a_generated_query_gives_the_same_answer_in_any_epochs(spark: SparkSession, seed: int, mode: str) -> None:
    engine = Engine(spark)

    def difference(case: Case) -> Difference | None:
        random = Random(seed)
        arrival = arriving(case, random)
        assert not arrival.late
        options = {
            "always_compact": random.random() < 0.8,
            "new_rows": random.choice([None, MANY]),
            "one_partition": mode == "small",
        }
        call = f"in_epochs(Engine(spark), query, data, {arrival.watermarks}, **{options})"
        return compared(
            case,
            call,
            lambda: in_epochs(engine, case.query, case.data, arrival.watermarks, **options),  # type: ignore[arg-type]
        )

    assert_no_difference(seed, difference)


DATA: Data = {
    "S": Stream.of(
        (BatchId(Instant(t), i), (a, b))
        for t, i, a, b in [
            (1, 0, 1, 4),
            (1, 1, 2, 3),
            (2, 0, 1, 2),
            (2, 0, 1, 9),
            (5, 0, 2, 1),
            (9, 0, 1, 1),
            (9, 1, 2, 2),
        ]
    )
}


@pytest.mark.parametrize(
    "query",
    [
        S[rows(2)].istream()[range_("3 us")].aggregate("sum(b) AS b", by="a"),
        S[range_("2 us")].dstream()[rows(3)].rstream(),
        S[tumble("4 us")].aggregate("count(*) AS n", "avg(b) AS m").rstream("4 us")[rows(1)],
        S[unbounded()].aggregate("max(b) AS b", by="a").istream()[range_("1 us", slide="2 us")].dstream(),
    ],
    ids=["rows", "range", "tumble", "unbounded"],
)
def test_windows_over_streamers_do_not_see_where_epochs_end(spark: SparkSession, query: StreamQuery) -> None:
    expected = on_model(query, DATA)
    for cuts in ([1, 2, 5, 9], [4, 9]):
        assert in_epochs(Engine(spark), query, DATA, cuts) == expected, cuts


@pytest.mark.parametrize("width", [1, 3])
def test_tuples_that_come_and_go_between_two_evaluations_need_not_be_kept(spark: SparkSession, width: int) -> None:
    """Of many new tuples only the last of each part and step are kept, whatever part of a step an epoch has."""
    data: Data = {"S": Stream.of((BatchId(Instant(t // 3), 0), (t % 3 % 2, t)) for t in range(60))}
    query = S[rows(width, slide="6 us").by("a")].rstream()
    expected = on_model(query, data)
    assert len(expected) > 3 * width
    for cuts in ([19], [3, 6, 7, 13, 19]):
        assert in_epochs(Engine(spark), query, data, cuts, new_rows=MANY) == expected, cuts


def test_a_cut_inside_an_instant_releases_none_of_it() -> None:
    """With a lateness of nothing, more tuples of the greatest timestamp may still come."""
    assert watermark([SourceProgress(Instant(7), None, Duration(0)).watermark(Instant(0), Instant(0))], None, []) == 6


D = stream("D", "a INT, v DOUBLE")
GROWING: Data = {
    "D": Stream.of(
        (BatchId(Instant(t), 0), (t % 2, v))
        for t, v in enumerate(
            [1.5, 0.25, 0.1, 3.0, 1e15, -1e15, 1e-9, 2.5, 1e300, float("inf"), None, -0.1, 5e-324, 7.0]
        )
    )
}


@pytest.mark.parametrize(
    "query",
    [
        D[tumble("4 us")].aggregate("sum(v) AS total", "avg(v) AS m", "count(v) AS n", by="a").istream(),
        D[range_("6 us", slide="2 us")].aggregate("avg(v) AS m", "min(v) AS lo", "last(v) AS z", by="a").istream(),
        D[unbounded()].aggregate("sum(v) AS total", by="a").istream(),
        D[unbounded()].aggregate("sum(v * 2) AS total", "first(v) AS f"),
        D[range_("5 us")].aggregate("sum(v) AS total", "stddev(v) AS s").istream(),
        D[tumble("4 us")].aggregate("stddev(v) AS s", "var_pop(v) AS p", by="a").istream(),
        D[unbounded()].aggregate("stddev_pop(v) AS s", by="a").istream(),
    ],
    ids=["tumble", "range", "unbounded", "expression", "continuous", "deviation", "deviation of all"],
)
def test_exact_sums_go_on_when_later_values_need_other_limbs(spark: SparkSession, query: StreamQuery) -> None:
    """Finer bits, greater magnitudes and infinities that come after panes have been kept."""
    expected = on_model(query, GROWING)
    for cuts in ([1, 4, 8, 13],):
        assert same(in_epochs(Engine(spark), query, GROWING, cuts), expected), cuts


P = stream("P", "a INT, d DECIMAL(10, 2), l BIGINT")
PRICES: Data = {
    "P": Stream.of(
        (BatchId(Instant(t), 0), (t % 2, None if t == 4 else Decimal(t * 7 - 30).scaleb(-2), 2**61 if t % 3 else None))
        for t in range(14)
    )
}


@pytest.mark.parametrize("one_partition", [True, False])
def test_sums_of_decimals_and_longs_go_on_too(spark: SparkSession, one_partition: bool) -> None:
    """Over [RANGE 2 us] what leaves is taken off; there are NULLs, and groups that are empty for a while."""
    query = (
        P[range_("2 us")].aggregate("sum(d) AS s", "avg(d) AS m", "sum(l) AS l", "var_pop(d) AS v", by="a").istream()
    )
    found = in_epochs(Engine(spark), query, PRICES, [1, 4, 8, 13], one_partition=one_partition)
    assert same(found, on_model(query, PRICES))


LOG = relation("L", "a INT, op STRING, ts TIMESTAMP", change="op", at="ts")


def some(*rows_: tuple[int, int, int | None, int | None]) -> Data:
    return {"S": Stream.of((BatchId(Instant(t), i), (a, b)) for t, i, a, b in rows_), "C": [(1, 0)]}


@pytest.mark.parametrize(
    ("query", "data", "cuts"),
    [
        (
            S[range_("9 us")].delayed("3 us").aggregate("count(*) AS n"),
            some((1, 0, 1, 2), (1, 0, 1, 2), (12, 0, 0, 0)),
            [2, 12],
        ),
        (
            S.join(C.rename({"a": "a2", "b": "b2"}), on="a = a2", how="semi")[rows(1).by("a")].aggregate(
                "max(b) AS b", by="a"
            ),
            some((1, 0, 1, 5), (1, 0, 1, 2), (9, 0, 1, 7)),
            [1, 9],
        ),
        (
            S[range_("4 us", slide="4 us")].istream()[rows(1).by("a")].aggregate("max(b) AS b", by="a"),
            some((1, 0, 1, 5), (1, 0, 1, 2), (12, 0, 1, 7)),
            [5, 7, 12],
        ),
        (
            S[tumble("10 us")].aggregate("sum(b) AS s").select("100 / s AS q"),
            some((1, 0, 0, 1), (2, 0, 0, -1), (8, 0, 0, 4), (25, 0, 0, 3)),
            [2, 25],
        ),
        (
            LOG.difference(LOG.delayed("4 us")),
            {"L": [(1, "+", 1), (1, "-", 2), (1, "+", 5), (1, "+", 6), (1, "-", 7), (1, "-", 9), (1, "+", 10)]},
            [3, 6, 8, 10],
        ),
    ],
    ids=[
        "equal rows are united",
        "order of a semijoin",
        "order of a quiet streamer",
        "a pane that is not full",
        "rows that come back to a log",
    ],
)
def test_what_a_review_found_stays_mended(spark: SparkSession, query: StreamQuery, data: Data, cuts: list[int]) -> None:
    expected = on_model(query, data)
    assert same(in_epochs(Engine(spark), query, data, cuts), expected)


def test_a_state_at_the_start_is_emitted_at_a_period_after_epochs_without_one(spark: SparkSession) -> None:
    """Found by a generated query: before the start the first tick is never, and Spark counted down to it."""
    query = BASE[1].except_values(BASE[0], all=True).at_start().rstream("3 us")
    data: Data = {"L": [(None, 1, "+", Instant(1)), (1, 1, "+", Instant(9))], "V": [(0, 2, Instant(-3), Instant(11))]}
    for one_partition in (False, True):
        found = in_epochs(Engine(spark), query, data, [-1, 8, 11], one_partition=one_partition)
        assert same(found, on_model(query, data))
