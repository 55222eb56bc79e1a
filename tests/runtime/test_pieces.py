"""The small parts of a continuous run: watermarks, records, progress, and what a query keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from astralq.algebra.state import kept_state
from astralq.errors import PlanError
from astralq.language import read_script
from astralq.laws.optimize import optimize
from astralq.runtime.checkpoint.records import CorruptRecordError, newest, read_record, write_record
from astralq.runtime.ingest.log import BatchManifest
from astralq.runtime.ingest.watermark import MAX_WATERMARK, SourceProgress, after_closing, watermark
from astralq.runtime.latency import Latencies, Latency
from astralq.runtime.progress import QueryProgress, RunProgress
from astralq.timeline import Duration, Instant

NEVER_IDLE = (Instant(0), Instant(0))


def source(greatest: int | None, lateness: int = 0, **more: object) -> SourceProgress:
    t = None if greatest is None else Instant(greatest)
    return SourceProgress(t, Instant(0), Duration(lateness), **more)  # type: ignore[arg-type]


def test_a_watermark_is_a_microsecond_before_the_greatest_timestamp_less_the_lateness() -> None:
    assert source(100, 30).watermark(*NEVER_IDLE) == 69


def test_a_query_waits_for_the_slowest_of_its_sources() -> None:
    assert watermark([Instant(10), Instant(7)], None, []) == 7


def test_a_query_waits_for_a_source_that_has_not_come() -> None:
    assert watermark([Instant(10), source(None).watermark(*NEVER_IDLE)], None, []) is None


def test_a_watermark_never_goes_back() -> None:
    assert watermark([Instant(5)], Instant(9), []) == 9


def test_ticks_are_released_as_a_whole() -> None:
    assert watermark([Instant(25)], None, [Duration(10)]) == 19
    assert watermark([Instant(29)], None, [Duration(10)]) == 29


def test_a_closed_run_goes_on_behind_the_tick_that_it_ended_in() -> None:
    assert after_closing(Instant(25), [Duration(10)]) == 29
    assert after_closing(Instant(25), []) == 25


def test_an_idle_source_goes_on_at_the_pace_of_the_clock() -> None:
    idle = source(100, 10, idle=Duration(50))
    assert idle.watermark(Instant(49), Instant(0)) == 89
    assert idle.watermark(Instant(60), Instant(0)) == 149


def test_an_idle_source_that_never_came_does_not_hold_the_watermark_back() -> None:
    never = SourceProgress(None, None, Duration(0), idle=Duration(50))
    assert never.watermark(Instant(49), Instant(0)) is None
    assert never.watermark(Instant(50), Instant(0)) == MAX_WATERMARK
    assert watermark([Instant(3), MAX_WATERMARK], None, []) == 3


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_record(tmp_path / "1.json", {"a": [1, None, "é"]})
    assert read_record(tmp_path / "1.json") == {"a": [1, None, "é"]}


@pytest.mark.parametrize("at", [0, 5, 40, -2])
def test_a_damaged_record_is_not_read(tmp_path: Path, at: int) -> None:
    for n in (1, 2):
        write_record(tmp_path / f"{n}.json", {"number": n, "text": "some text that is long enough"})
    content = bytearray((tmp_path / "2.json").read_bytes())
    content[at] ^= 1
    (tmp_path / "2.json").write_bytes(content)
    with pytest.raises(CorruptRecordError):
        read_record(tmp_path / "2.json")
    assert [n for n, _ in newest(tmp_path)] == [1]


def test_progress_in_one_line_has_all_its_numbers() -> None:
    query = QueryProgress("1", Instant(1_000_000), 90, 2, 7, 12, 3400)
    line = RunProgress(4, 100, 1, Instant(3_500_000), 0.5, (query,)).line()
    assert line == (
        "epoch 4 · 100 rows in · 1 rejected · up to 1970-01-01T00:00:01Z, 2.5 s behind, 2 late, 90 released, "
        "7 rows out · state 12 rows, 3.4 kB · 0.50 s"
    )


def test_progress_tells_how_long_files_waited_for_their_answers() -> None:
    query = QueryProgress("1", Instant(1_000_000), 90, 2, 7, 12, 3400)
    progress = RunProgress(4, 100, 0, None, 0.5, (query,), latency=Latency.of([0.5, 0.7, 2.0]))
    assert "answered 0.7 s after arrival, 95 % within 2.0 s, all within 2.0 s · 0.50 s" in progress.line()
    assert progress.record["latency"] == {"files": 3, "median": 0.7, "most": 2.0, "longest": 2.0}


def manifest(number: int, last: int | None, *came: int, arrived: int = 100) -> BatchManifest:
    return BatchManifest(number, 1, 0, None, None if last is None else Instant(last), Instant(arrived), {}, came=came)


def test_a_file_waits_until_the_last_of_its_tuples_is_answered() -> None:
    """Two files in a batch whose last tuple is at 20; one that was there when the run began waits from then on."""
    latencies = Latencies(Instant(50))
    batches = {0: manifest(0, 20, 40, 90), 1: manifest(1, 30, 120)}
    latencies.note("s", batches, Instant(19), Instant(1_000_000))
    assert list(latencies.last) == []
    latencies.note("s", batches, Instant(20), Instant(1_000_050))
    assert list(latencies.last) == [1.0, 0.99996]
    latencies.note("s", batches, Instant(25), Instant(3_000_000))
    assert len(latencies.last) == 2, "it is counted once"


def test_batches_of_an_earlier_run_and_those_without_tuples_wait_for_nothing() -> None:
    latencies = Latencies(Instant(50))
    latencies.note("s", {0: manifest(0, 20, 10, arrived=40), 1: manifest(1, None)}, Instant(99), Instant(100))
    assert Latency.of(latencies.last) is None


def test_what_is_not_a_file_waits_from_when_it_was_taken() -> None:
    latencies = Latencies(Instant(50))
    latencies.note("s", {0: manifest(0, 20, arrived=1_000_000)}, Instant(99), Instant(3_000_000))
    assert list(latencies.last) == [2.0]


DECLARED = """
CREATE STREAM s (k INT, v DOUBLE, ts TIMESTAMP) FROM csv 's' TIMESTAMP BY ts;
CREATE STREAM q (k INT, v DOUBLE, ts TIMESTAMP) FROM csv 'q' TIMESTAMP BY ts;
CREATE RELATION r (k INT, op STRING, at TIMESTAMP) FROM csv 'r' CHANGES BY op AT at;
"""


def kept(query: str) -> list[str]:
    return [str(k) for k in kept_state(read_script(f"{DECLARED}{query};").queries[0].operator)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "ISTREAM(SELECT k, avg(v) AS m FROM s [HOP 1 HOUR EVERY 1 MINUTE] GROUP BY k)",
            ["AGGREGATE avg(v) AS m BY k: panes of each group that [HOP 1 HOUR EVERY 1 MINUTE] still holds"],
        ),
        ("SELECT count(*) AS n FROM s [UNBOUNDED]", ["AGGREGATE count(*) AS n: one value of each group"]),
        ("ISTREAM(SELECT * FROM s [UNBOUNDED])", []),
        (
            "SELECT * FROM s [PARTITION BY k ROWS 5]",
            ["WINDOW [PARTITION BY k ROWS 5]: the tuples of each part that it holds, or will hold"],
        ),
        (
            "SELECT k, window_start, count(*) AS n FROM s [PARTITION BY k SESSION 5 MINUTES] GROUP BY k",
            ["WINDOW [PARTITION BY k SESSION 5 MINUTES]: the open and the last closed session of each part"],
        ),
        (
            "SELECT k, count(*) AS n FROM s [TUMBLE 1 DAY AT TIME ZONE 'Europe/Paris'] GROUP BY k",
            [
                "AGGREGATE count(*) AS n BY k: panes of each group that "
                "[TUMBLE 1 DAY AT TIME ZONE 'Europe/Paris'] still holds"
            ],
        ),
        ("SELECT * FROM r", ["RELATION r: the rows that hold"]),
        (
            "SELECT s.k FROM s JOIN q ON s.k = q.k WITHIN 1 MINUTE",
            ["BAND JOIN WITHIN 1 MINUTE ON k = k_2: the tuples of both sides of the last 1 MINUTE"],
        ),
    ],
)
def test_what_a_query_keeps_is_told_operator_by_operator(query: str, expected: list[str]) -> None:
    assert kept(query) == expected


@pytest.mark.parametrize(
    ("query", "operator"),
    [
        ("SELECT * FROM s [UNBOUNDED] JOIN q [NOW] ON s.k = q.k", "WINDOW [UNBOUNDED]"),
        ("SELECT median(v) AS m FROM s [LANDMARK '2026-01-01' SLIDE 1 HOUR]", "WINDOW [LANDMARK"),
        ("RSTREAM(SELECT * FROM s [ALPHA 1s*j BETA 2s*j RATE 2s])", "WINDOW [ALPHA"),
    ],
)
def test_a_plan_that_would_keep_everything_is_refused_by_the_operators_name(query: str, operator: str) -> None:
    with pytest.raises(PlanError) as raised:
        optimize(read_script(f"{DECLARED}{query};").queries[0].operator).check_bounded()
    assert operator in str(raised.value)
    assert "--allow-unbounded-state" in str(raised.value)
