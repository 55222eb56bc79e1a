"""Every pair of measures for schedule and scope, with delays, parts and rules: when tuples come in and go out."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from astralq import (
    WindowSpec,
    at_instants,
    duration,
    for_loop,
    from_to,
    general,
    hop,
    instant,
    landmark,
    moving,
    range_,
    rows,
    sensed,
    session,
    stream,
    tumble,
    two_rates,
)
from astralq.algebra.schedules import Measure, Periodic
from astralq.algebra.scopes import Back, BatchStart, Linear, Scope
from astralq.errors import WindowError
from astralq.model import Stream
from astralq.spark import Engine
from astralq.timeline import BatchId, Instant
from tests.agree.compare import on_model, on_spark, same
from tests.agree.epochs import in_epochs

S = stream("S", "k INT, x DOUBLE, y DOUBLE", location=("x", "y"), planar=True)


def _specs() -> Iterator[tuple[str, WindowSpec]]:
    """All pairs of measures; amounts are µs, rows, and metres."""
    rates: dict[str, list[str | int]] = {"time": ["2 us", "3 us"], "rows": [1, 2], "distance": ["2 m", "5 m"]}
    for on, slides in rates.items():
        for slide in slides:
            yield f"range every {slide}", range_("4 us", slide=slide)
            yield f"rows every {slide}", rows(3, slide=slide)
            yield f"distance every {slide}", moving("6 m", str(slide)) if on != "rows" else _distance_every(int(slide))
        delays: dict[str, str | int] = {"time": "3 us", "rows": 2, "distance": "3 m"}
        delay = delays[on]
        yield f"rows every {slides[0]} delayed", rows(2, slide=slides[0]).delayed(delay)
        yield f"range every {slides[0]} delayed", range_("3 us", slide=slides[0]).delayed(delay)
    yield "rows back", from_to(4, 2, slide=2)
    yield "time back", from_to("5 us", "2 us", slide="2 us")
    yield "rows back every time", WindowSpec(Periodic(Measure.TIME, 0, 3), Scope(Measure.POSITION, Back(4), Back(1)))
    yield "batch every time", WindowSpec(Periodic(Measure.TIME, 1, 3), Scope(Measure.POSITION, BatchStart(), Back(1)))
    yield (
        "batch every rows",
        WindowSpec(Periodic(Measure.POSITION, 1, 2), Scope(Measure.POSITION, BatchStart(), Back(1))),
    )
    yield "landmark rows", WindowSpec(Periodic(Measure.TIME, 0, 2), Scope(Measure.POSITION, Linear(0, 3), Back(0)))
    yield (
        "landmark distance",
        WindowSpec(Periodic(Measure.TIME, 0, 2), Scope(Measure.DISTANCE, Linear(0, 4000), Back(0))),
    )
    yield (
        "landmark time by rows",
        WindowSpec(Periodic(Measure.POSITION, 0, 2), Scope(Measure.TIME, Linear(0, 4), Back(0))),
    )
    yield "linear rows", general((2, 1), (2, 3), 2)
    yield "landmark", landmark(Instant(4), "3 us")
    yield "two rates", two_rates(3, "2 us", ("07:00", "20:00"), "3 us")
    yield "two rates in time", two_rates("4 us", "2 us", ("07:00", "20:00"), "5 us")
    yield "instants", at_instants([Instant(3), Instant(7), Instant(8)], lambda t: t - 3, lambda t: t - 1)
    yield (
        "instants in rows",
        at_instants([Instant(9), Instant(11)], lambda t: t - 9, lambda t: t - 8, measure=Measure.POSITION),
    )
    yield (
        "loop",
        for_loop(
            Instant(2),
            lambda t: t < 12,
            lambda t: Instant(t + 4),
            lambda t: t - 5,
            lambda t: t,
            text=("(…)", "t-5", "t"),
        ),
    )


def _distance_every(rate: int) -> WindowSpec:
    return WindowSpec(Periodic(Measure.POSITION, rate - 1, rate), Scope(Measure.DISTANCE, Back(6000), Back(1000)))


SPECS = dict(_specs())


def _stream(seed: int) -> Stream:
    """Some thirty tuples in up to three batches per instant; some have no place, some stand still."""
    rng = random.Random(seed)
    stamps = sorted((rng.randint(0, 14), rng.randint(0, 2)) for _ in range(26))
    where = (0.0, 0.0)
    tuples = []
    for t, i in stamps:
        if rng.random() < 0.6:
            where = (where[0] + rng.choice([0.0, 1.5, 3.0]), where[1] + rng.choice([0.0, 0.7]))
        place = (None, None) if rng.random() < 0.2 else where
        tuples.append((BatchId(Instant(t), i), (rng.choice([1, 2, None]), *place)))
    return Stream.of(tuples)


@pytest.mark.parametrize("parted", [False, True], ids=["whole", "parted"])
@pytest.mark.parametrize("name", SPECS)
def test_tuples_enter_and_leave_as_in_the_model(engine: Engine, name: str, parted: bool) -> None:
    spec = SPECS[name].by("k") if parted else SPECS[name]
    query = S[spec].select("_n AS n", "k")
    data = {"S": _stream(len(name))}
    try:
        expected = on_model(query, data)
    except WindowError as e:
        with pytest.raises(WindowError, match=e.message.split(" ends at ")[0]):
            on_spark(engine, query, data)
        return
    assert same(expected, on_spark(engine, query, data))


def test_sensed_streams_are_streams_like_others(engine: Engine) -> None:
    """003's acquire: the sites are asked in order at every tick."""
    source = sensed("P", "site STRING, v INT, ts TIMESTAMP", every="2 us", sites=["b", "a"], site="site", time="ts")
    query = source[rows(3)].select("site", "v")

    def measure(site: str, t: int) -> tuple[int]:
        return (t * 10 + len(site),)

    expected = on_model(query, {"P": measure}, t0=Instant(0), until=Instant(8))
    found = on_spark(engine, query, {"P": measure}, t0=Instant(0), until=Instant(8))
    assert same(expected, found)
    assert len(expected) == 17


def test_windows_by_the_calendar_and_sessions_agree_where_clocks_change(engine: Engine) -> None:
    """Readings every 7 hours of March and April, and every 20 minutes where clocks change in Paris; those on Lord Howe
    Island change by half an hour."""
    s = stream("C", "k INT")
    day, hour = duration("1 day"), duration("1 h")
    first = instant("2024-03-01")
    times = {first + 7 * hour * n for n in range(45 * 24 // 7)}
    times |= {instant("2024-03-31") - day + hour // 3 * n for n in range(100)}
    data = {"C": Stream.of((BatchId(Instant(t), 0), (t // hour % 2,)) for t in sorted(times))}
    specs = [
        tumble("1 day", zone="Europe/Paris"),
        tumble("1 month", "6 h", "America/New_York").delayed("1 h"),
        hop("1 month", "1 week", zone="Europe/Paris"),
        hop("36 h", "1 day", "4 h", "Australia/Lord_Howe"),
        session("25 min"),
        session("1 h").by("k"),
    ]
    counted = [s[w].aggregate("count(*) AS n", by="k").window_bounds() for w in specs]
    query = counted[0]
    for other in counted[1:]:
        query = query.union(other)
    partitions = None if engine.few_rows else 3
    expected = on_model(query.istream(), data)
    assert same(on_spark(engine, query.istream(), data, partitions=partitions), expected)
    if partitions is None:  # one of the two is enough for epochs
        assert same(in_epochs(engine, query.istream(), data, [instant("2024-03-31T20:00:00Z"), max(times)]), expected)


@pytest.mark.parametrize("until", [60, 200])
def test_sessions_that_are_merged_first_agree(engine: Engine, until: int) -> None:
    """By their parts, by more than these, and where the order of tuples or their intervals are looked at."""
    s = stream("C", "k INT, g INT, v INT")
    rng = random.Random(until)
    times = sorted(rng.randrange(120) for _ in range(60))
    drawn = ((rng.choice([1, 2, None]), rng.randrange(2), rng.randrange(9)) for _ in times)
    data = {"C": Stream.of((BatchId(Instant(t), 0), values) for t, values in zip(times, drawn, strict=True))}
    window = s[session("7 us").by("k")]
    queries = [
        window.aggregate("count(*) AS n", "max(v) AS top", by="k").window_bounds().istream(),
        window.aggregate("count(*) AS n", "sum(v) AS s", by="k").dstream(),
        window.aggregate("avg(v) AS m", "min(_t) AS first", by=["g", "k"]),
        window.aggregate("count(DISTINCT v) AS n", by="k"),
        window.aggregate("count(*) AS n", by="g"),
        s[session("7 us").by("k").delayed("3 us")].aggregate("count(*) AS n", by="k"),
    ]
    for query in queries:
        expected = on_model(query, data, until=Instant(until))
        assert same(on_spark(engine, query, data, until=Instant(until)), expected), query
        assert expected


@pytest.mark.parametrize("until", range(0, 14, 3))
def test_runs_that_end_between_and_at_evaluations_agree(engine: Engine, until: int) -> None:
    """Tuples that enter after the end are left out by their timestamps, where windows move in steps."""
    s = stream("C", "k INT")
    data = {"C": Stream.of((BatchId(Instant(t), 0), (t % 2,)) for t in range(12))}
    specs = [tumble("3 us"), hop("4 us", "2 us"), range_("6 us", slide="3 us").delayed("2 us"), tumble("3 us", "1 us")]
    specs.append(from_to("5 us", "2 us", slide="2 us"))
    for window in specs:
        counted = s[window].aggregate("count(*) AS n", by="k")
        for query in (counted.istream(), counted.rstream(every="1 us"), s[window].istream(), s[window].dstream()):
            expected = on_model(query, data, until=Instant(until))
            assert same(on_spark(engine, query, data, until=Instant(until)), expected), (query, until)
