"""Sources: late and unusable rows, idle sources, old files, stored relations, change logs, sensors."""

from __future__ import annotations

import json
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from astralq.engine import Engine
from astralq.errors import AstralError, DataError, PlanError
from astralq.language import read_script
from astralq.runtime import run as running
from astralq.runtime.checkpoint.folders import CheckpointError
from astralq.runtime.handle import Handle
from astralq.runtime.queries import ContinuousQuery
from astralq.runtime.run import ContinuousRun, Settings
from astralq.runtime.sinks import FileSink
from astralq.timeline import Instant, duration
from tests.processes import PATIENCE, wait_until
from tests.runtime.live import Live

S = "CREATE STREAM s (k INT, v DOUBLE, ts BIGINT) FROM csv 's' TIMESTAMP BY ts UNIT SECONDS;\n"


def live(spark: SparkSession, folder: Path, text: str, idle: str | None = None) -> Live:
    (folder / "s").mkdir(exist_ok=True)
    return Live(spark, folder, text, None if idle is None else duration(idle))


def test_an_answer_in_epochs_and_to_the_end_is_that_of_a_batch_run(spark: SparkSession, tmp_path: Path) -> None:
    """A file ends in the middle of an instant, with a lateness of nothing: none of it is late."""
    found = live(spark, tmp_path, S + "SELECT k, sum(v) AS total FROM s [ROWS 3] GROUP BY k;")
    for lines in (["1,1,1", "2,2,1", "1,3,2"], ["2,4,2", "1,5,2", "1,6,3"], ["2,7,3"]):
        found.feed("s", lines)
        with found.opened() as run:
            found.go_on(run)
    found.close()
    assert found.answer() == found.historic()
    assert not (found.checkpoint / "late").exists()


def test_what_comes_too_late_is_set_aside_and_counted(spark: SparkSession, tmp_path: Path) -> None:
    found = live(spark, tmp_path, S + "ISTREAM(SELECT k, v FROM s [RANGE 2 SECONDS]);")
    for lines in (["1,1,1", "1,2,9"], ["1,3,4", "2,4,3", "1,5,10"], ["1,6,12"]):
        found.feed("s", lines)
        with found.opened() as run:
            found.go_on(run)
            progress = run.last_progress
    assert progress is not None
    assert progress.queries[0].late == 2
    late = spark.read.parquet(str(found.checkpoint / "late" / "s" / "1-2")).collect()
    assert sorted((r.k, r.v, r.ts) for r in late) == [(1, 3.0, 4), (2, 4.0, 3)]


def test_progress_tells_from_arrival_to_answer_of_each_file(spark: SparkSession, tmp_path: Path) -> None:
    """Three files that come together have a tuple that waits for others of its instant, until the run is closed."""
    found = live(spark, tmp_path, S + "ISTREAM(SELECT k, v FROM s [RANGE 2 SECONDS]);")
    for t in (1, 2, 3):
        found.feed("s", [f"1,1,{t}"], modified=time.time())
    with found.opened() as run:
        found.go_on(run)
        assert run.last_progress is not None
        assert run.last_progress.latency is None
        run.step(closing=True)
        assert run.last_progress.latency is not None
        assert run.last_progress.latency.files == 3
        assert 0 < run.last_progress.latency.median < 60


def test_late_tuples_alone_are_counted_too(spark: SparkSession, tmp_path: Path) -> None:
    found = live(spark, tmp_path, S + "ISTREAM(SELECT k, v FROM s [RANGE 2 SECONDS]);")
    for lines in (["1,1,1", "1,2,9"], ["1,3,4"]):
        found.feed("s", lines)
        with found.opened() as run:
            found.go_on(run)
            state = run.epochs.query_states["1"]
    assert state.late == 1
    assert spark.read.parquet(str(found.checkpoint / "late" / "s" / "1-2")).count() == 1


def test_rows_that_cannot_be_used_are_set_aside_with_the_reason(spark: SparkSession, tmp_path: Path) -> None:
    found = live(spark, tmp_path, S + "ISTREAM(SELECT k, v FROM s [RANGE 2 SECONDS]);")
    found.feed("s", ["1,1.5,1", "one,2,2", "1,2", "1,2.5,", "1,3.5,3"])
    with found.opened() as run:
        found.go_on(run)
        assert run.last_progress is not None
        assert (run.last_progress.rows, run.last_progress.rejected) == (5, 3)
    found.close()
    assert [r[2:] for r in found.answer()] == [(1, 1.5), (1, 3.5)]
    lines = [
        json.loads(line)
        for f in (found.checkpoint / "rejected" / "s" / "0").glob("part-*")
        for line in f.read_text().splitlines()
    ]
    reasons = {r["row"]: r["reason"] for r in lines}
    assert set(reasons) == {"one,2,2", "1,2", "1,2.5,"}
    assert "'one' in 'k' is not an INT" in reasons["one,2,2"]
    assert "is not 3 values" in reasons["1,2"]
    assert "it has no 'ts', so no timestamp" in reasons["1,2.5,"]


def rejected_by(found: Live, source: str) -> dict[str, str]:
    """The rows that the query could not use, with the reasons."""
    files = sorted((found.checkpoint / "rejected" / source).glob("1-*/part-*"))
    lines = [json.loads(line) for f in files for line in f.read_text().splitlines()]
    return {r["row"]: r["reason"] for r in lines}


def test_tuples_before_the_start_are_set_aside_and_counted(spark: SparkSession, tmp_path: Path) -> None:
    found = live(spark, tmp_path, S + "ISTREAM(SELECT k, v FROM s [NOW]);")
    for lines in (["1,1,-5", "2,2,-1"], ["3,3,-1", "4,4,2"], ["5,5,9"]):
        found.feed("s", lines)
        with found.opened() as run:
            found.go_on(run)
    found.close()
    with found.opened() as run:
        assert run.epochs.query_states["1"].rejected == 3
    assert [r[2] for r in found.answer()] == [4, 5]
    reasons = rejected_by(found, "s")
    assert sorted(json.loads(row)["k"] for row in reasons) == [1, 2, 3]
    assert set(reasons.values()) == {"it is before the start, 1970-01-01T00:00:00Z"}


def test_deletions_that_find_nothing_are_set_aside_and_counted(spark: SparkSession, tmp_path: Path) -> None:
    text = "CREATE RELATION r (op STRING, id INT, ts BIGINT) FROM csv 'r' CHANGES BY op AT ts UNIT SECONDS;"
    found = live(spark, tmp_path, text + "SELECT * FROM r;")
    for lines in (["+,1,1", "-,2,1"], ["-,1,3", "-,1,4"], ["+,3,5", "-,3,5", "+,4,9"]):
        found.feed("r", lines)
        with found.opened() as run:
            found.go_on(run)
    found.close()
    with found.opened() as run:
        assert run.epochs.query_states["1"].rejected == 2
    assert found.answer() == found.historic()
    reasons = rejected_by(found, "r")
    assert sorted((json.loads(row)["id"], json.loads(row)["t"]) for row in reasons) == [
        (1, "1970-01-01T00:00:04.000Z"),
        (2, "1970-01-01T00:00:01.000Z"),
    ]
    assert set(reasons.values()) == {"its '-' found no row to take out"}


def test_files_are_read_however_old_they_are(spark: SparkSession, tmp_path: Path) -> None:
    found = live(spark, tmp_path, S + "ISTREAM(SELECT k FROM s [NOW]);")
    found.feed("s", ["1,1,1"], modified=1_700_000_000.0)
    found.feed("s", ["2,1,2"], modified=1_000_000_000.0)
    found.close()
    assert [r[2] for r in found.answer()] == [1, 2]


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = Instant(1_700_000_000_000_000)

    def __call__(self) -> Instant:
        return self.now


def test_an_idle_source_lets_windows_expire_within_two_triggers(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of two sources is idle: it does not hold the watermark back, and its event time goes on with the clock."""
    text = S + S.replace("STREAM s", "STREAM q").replace("'s'", "'q'")
    found = live(
        spark, tmp_path, text + "DSTREAM(SELECT * FROM s [RANGE 3 SECONDS] UNION ALL SELECT * FROM q [NOW]);", "5 s"
    )
    (tmp_path / "q").mkdir()
    clock = Clock()
    monkeypatch.setattr(running, "clock", clock)
    monkeypatch.setattr("astralq.runtime.ingest.log.clock", clock)
    found.feed("s", ["1,1,10"])
    with found.opened() as run:
        found.go_on(run)
        assert run.last_progress is None, "q has not come, and is not idle yet"
        clock.now = Instant(clock.now + duration("6 s"))
        steps = [run.step() for _ in range(2)]
        assert any(steps)
    assert [(r[0].second, *r[2:]) for r in found.answer()] == [(13, 1, 1.0, 10)]


def test_what_is_stamped_on_arrival_does_not_wait_for_the_next_tuples(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No later tuple gets a timestamp before now, even if the clock is put back."""
    declared = "CREATE STREAM s (k INT, v DOUBLE) FROM csv 's' TIMESTAMP ON ARRIVAL;\n"
    found = live(spark, tmp_path, declared + "ISTREAM(SELECT k, count(*) AS n FROM s [UNBOUNDED] GROUP BY k);")
    clock = Clock()
    for module in ("run", "ingest.log", "ingest.inputs"):
        monkeypatch.setattr(f"astralq.runtime.{module}.clock", clock)
    for lines, stamped, later in ((["1,1", "2,2"], "0 s", "10 s"), (["1,3"], "-5 s", "20 s")):
        found.feed("s", lines)
        clock.now = Instant(Clock().now + duration(stamped))
        with found.opened() as run:
            found.take(run)
            clock.now = Instant(Clock().now + duration(later))
            run.step()
    assert [r[2:] for r in found.answer()] == [(1, 1), (2, 1), (1, 2)]
    assert not (found.checkpoint / "late").exists()


def test_a_heartbeat_says_that_nothing_comes_any_more(spark: SparkSession, tmp_path: Path) -> None:
    found = live(spark, tmp_path, S + "DSTREAM(SELECT k FROM s [RANGE 3 SECONDS]);")
    found.feed("s", ["1,1,10"])
    with found.opened() as run:
        found.go_on(run)
        assert found.answer() == []
        run.heartbeat("s", Instant(20_000_000))
        run.step()
    assert [(r[0].second, r[2]) for r in found.answer()] == [(13, 1)]


def test_a_stored_relation_is_read_again_by_every_scan(spark: SparkSession, tmp_path: Path) -> None:
    text = S + "CREATE RELATION r (k INT, name STRING) FROM csv 'r.csv';\n"
    text += "ISTREAM(SELECT s.k, name FROM s [NOW] JOIN r [SCAN 10 SECONDS] ON s.k = r.k);"
    found = live(spark, tmp_path, text)
    (tmp_path / "r.csv").write_text("1,old\n")
    found.feed("s", ["1,1,5", "1,1,8"])
    with found.opened() as run:
        found.go_on(run)
    (tmp_path / "r.csv").write_text("1,new\n")
    found.feed("s", ["1,1,9", "1,1,12"])
    found.close()
    assert [r[3] for r in found.answer()] == ["old", "old", "old", "new"]


def test_a_stored_relation_is_otherwise_as_it_was_when_the_query_began(spark: SparkSession, tmp_path: Path) -> None:
    text = S + "CREATE RELATION r (k INT, name STRING) FROM csv 'r.csv';\n"
    text += "ISTREAM(SELECT s.k, name FROM s [NOW] JOIN r ON s.k = r.k);"
    found = live(spark, tmp_path, text)
    (tmp_path / "r.csv").write_text("1,old\n")
    found.feed("s", ["1,1,5", "1,1,8"])
    with found.opened() as run:
        found.go_on(run)
    (tmp_path / "r.csv").write_text("1,new\n")
    found.feed("s", ["1,1,12"])
    found.close()
    assert [r[3] for r in found.answer()] == ["old", "old", "old"]


def test_a_relation_follows_its_log_of_changes(spark: SparkSession, tmp_path: Path) -> None:
    text = S + "CREATE RELATION r (k INT, name STRING, op STRING, at BIGINT) FROM csv 'r' "
    text += "CHANGES BY op AT at UNIT SECONDS KEY (k);\nISTREAM(SELECT s.k, name FROM s [NOW] JOIN r ON s.k = r.k);"
    found = live(spark, tmp_path, text)
    found.feed("r", ["1,a,+,1", "2,b,+,2"])
    found.feed("s", ["1,1,3", "2,1,4"])
    with found.opened() as run:
        found.go_on(run)
    found.feed("r", ["1,c,+,6", "2,b,-,7"])
    found.feed("s", ["1,1,5", "1,1,8", "2,1,9"])
    with found.opened() as run:
        found.go_on(run)
    found.close()
    assert found.answer() == found.historic()
    assert [r[2:] for r in found.answer()] == [(1, "a"), (2, "b"), (1, "a"), (1, "c")]


SENSOR = """
import pathlib, time
def measure(site, t):
    with open(pathlib.Path(__file__).parent / "calls.txt", "a") as f:
        f.write(f"{site} {t}\\n")
    if site == 2:
        raise ValueError("broken")
    if site == 3:
        time.sleep(30)
    return (site * 1.5,)
"""


def test_a_sensor_is_asked_once_at_every_tick_and_a_broken_or_slow_one_stops_no_other(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "sensor_of_this_test.py").write_text(SENSOR)
    text = (
        "CREATE STREAM road (site INT, time TIMESTAMP, temp DOUBLE) SENSED EVERY 3 SECONDS AT SITES (1, 2, 3, 4) "
        "FROM python 'sensor_of_this_test:measure' OPTIONS (timeout = '2 seconds');\n"
        "ISTREAM(SELECT site, temp FROM road [NOW]);"
    )
    out: list[tuple[object, ...]] = []
    engine = Engine(spark)

    def started() -> Handle:
        return engine.start(
            text,
            checkpoint=tmp_path / "c",
            folder=tmp_path,
            sink=lambda df, _: out.extend(tuple(r) for r in df.collect()),
        )

    handle = started()
    wait_until(lambda: len(out) >= 4)
    handle.run.close()  # as a crash would, without ending the epoch in good order
    handle.run.stopping.set()
    with suppress(AstralError):
        handle.run.join(PATIENCE)
    before = len(out)
    handle = started()
    wait_until(lambda: len(out) >= before + 4)
    handle.stop()
    calls = Counter((tmp_path / "calls.txt").read_text().splitlines())
    assert set(calls.values()) == {1}
    ticks = sorted({int(c.split()[1]) for c in calls})
    assert ticks == list(range(ticks[0], ticks[-1] + 1, 3_000_000)), "no tick is left out"
    assert {r[2] for r in out} == {1, 4}
    rejected = "".join(f.read_text() for f in (tmp_path / "c" / "rejected" / "road").rglob("part-*"))
    assert "broken" in rejected
    assert "took longer than 2 s" in rejected


COUNTED = """
import pathlib
def measure(site, t):
    with open(pathlib.Path(__file__).parent / "calls.txt", "a") as f:
        f.write(f"{site} {t}\\n")
    return (site * 1.5,)
"""


def test_only_the_designated_sensors_are_asked_and_they_may_come_and_go(spark: SparkSession, tmp_path: Path) -> None:
    """[001 D5] "Data from sensors" of a relation: a log of changes says which, while the run goes on."""
    (tmp_path / "counting_sensor.py").write_text(COUNTED)
    (tmp_path / "watched").mkdir()
    began = time.time_ns() // 1_000_000_000

    def log(number: int, *changes: tuple[str, int, int]) -> None:
        lines = "".join(f"{op},{site},{at}\n" for op, site, at in changes)
        (tmp_path / "watched" / f"{number}.csv").write_text(lines)

    log(1, ("+", 1, 0), ("+", 2, 0))
    text = (
        "CREATE RELATION watched (op STRING, site INT, at BIGINT) FROM csv 'watched' "
        "CHANGES BY op AT at UNIT SECONDS;\n"
        "CREATE STREAM road (site INT, time TIMESTAMP, temp DOUBLE) SENSED EVERY 1 SECOND "
        "AT SITES (SELECT site FROM watched) FROM python 'counting_sensor:measure';\n"
        "SELECT site, temp FROM road;"
    )
    out: list[tuple[object, ...]] = []
    handle = Engine(spark).start(
        text,
        checkpoint=tmp_path / "c",
        folder=tmp_path,
        sink=lambda df, _: out.extend(tuple(r) for r in df.collect()),
    )

    def calls() -> list[tuple[int, int]]:
        path = tmp_path / "calls.txt"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(int(site), int(t) // 1_000_000) for site, t in (line.split() for line in lines)]

    wait_until(lambda: {1, 2} <= {site for site, _ in calls()})
    leaves = max(t for _, t in calls()) + 4
    log(2, ("-", 1, leaves), ("-", 2, leaves), ("+", 3, leaves + 2))
    wait_until(lambda: any(site == 3 for site, _ in calls()) and any(r[2] == 3 for r in out))
    handle.stop()
    asked: dict[int, list[int]] = {}
    for site, t in calls():
        asked.setdefault(site, []).append(t)
    assert began <= min(asked[1])
    assert max(asked[1]) < leaves
    assert max(asked[2]) < leaves
    assert min(asked[3]) >= leaves + 2
    assert set(Counter(calls()).values()) == {1}


def test_sites_that_a_stream_designates_are_not_known_when_a_sensor_is_asked(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "counting_sensor.py").write_text(COUNTED)
    text = (
        S + "CREATE STREAM road (site INT, time TIMESTAMP, temp DOUBLE) SENSED EVERY 1 SECOND "
        "AT SITES (SELECT k FROM s [PARTITION BY k ROWS 1]) FROM python 'counting_sensor:measure'; SELECT * FROM road;"
    )
    with pytest.raises(DataError, match="not known when a sensor is asked"):
        Engine(spark).start(text, checkpoint=tmp_path / "c", folder=tmp_path, sink=lambda *_: None)


def test_a_query_with_a_new_source_joins_a_run_and_another_leaves_it(spark: SparkSession, tmp_path: Path) -> None:
    found = live(spark, tmp_path, S)
    found.feed("s", ["1,1,1", "1,2,3"])
    found.feed("q", ["7,1,1", "8,2,3"])
    first: list[object] = []
    second: list[object] = []
    handle = Engine(spark).start(
        S + "ISTREAM(SELECT k, v FROM s [NOW]);",
        checkpoint=tmp_path / "c",
        folder=tmp_path,
        sink=lambda df, _: first.extend(r.v for r in df.collect()),
    )
    wait_until(lambda: first == [1.0])
    other = S.replace("STREAM s", "STREAM q").replace("'s'", "'q'")
    handle.add_query(
        other + "ISTREAM(SELECT k FROM q [NOW]);",
        name="2",
        sink=lambda df, _: second.extend(r.k for r in df.collect()),
    )
    wait_until(lambda: second == [7])
    assert list(handle.status.queries) == ["1", "2"]
    handle.drop_query("1")
    found.feed("q", ["9,1,5"])
    wait_until(lambda: second == [7, 8])
    assert handle.status.active
    handle.stop()
    assert list(handle.status.queries) == ["2"]
    assert first == [1.0]


def test_what_would_keep_everything_is_refused_with_what_to_write_instead(spark: SparkSession, tmp_path: Path) -> None:
    text = S + "ISTREAM(SELECT s.k FROM s [UNBOUNDED] JOIN s [NOW] AS n ON s.k = n.k);"
    with pytest.raises(PlanError, match=r"WINDOW \[UNBOUNDED\] keeps the tuples") as raised:
        Engine(spark).start(text, checkpoint=tmp_path / "c", folder=tmp_path, sink="out")
    assert "[RANGE 1 DAY]" in str(raised.value)
    assert "--allow-unbounded-state" in str(raised.value)


def test_answers_of_another_run_are_not_mixed_with_those_of_a_new_one(spark: SparkSession, tmp_path: Path) -> None:
    found = live(spark, tmp_path, S + "ISTREAM(SELECT k FROM s [NOW]);")
    found.feed("s", ["1,1,1", "2,1,2"])
    found.close()
    (found.checkpoint).rename(tmp_path / "before")
    with pytest.raises(CheckpointError, match="has answers of another run"):
        found.open()


def test_a_name_is_one_source_in_a_run(spark: SparkSession, tmp_path: Path) -> None:
    found = live(spark, tmp_path, S + "ISTREAM(SELECT k FROM s [NOW]);")
    with found.opened() as run:
        other = read_script(S.replace("SECONDS", "MILLISECONDS") + "ISTREAM(SELECT k FROM s [NOW]);").queries[0]
        with pytest.raises(PlanError, match="'s' is another source in this run"):
            run.add(ContinuousQuery("2", other.operator, None, tmp_path), found.sink)
        with pytest.raises(PlanError, match="'a/b' cannot be the name of a query"):
            run.add(ContinuousQuery("a/b", found.query.operator, None, tmp_path), found.sink)


def test_a_query_that_was_added_goes_on_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    """Without START AT it began where the others stood, and that is where it began after a restart as well."""
    found = live(spark, tmp_path, S + "ISTREAM(SELECT k FROM s [NOW]);")
    added = read_script(S + "SELECT count(*) AS n FROM s [UNBOUNDED];").queries[0].operator
    query, sink = ContinuousQuery("2", added, None, tmp_path), FileSink(tmp_path / "second", "parquet")
    found.feed("s", ["1,1,1", "2,1,2", "3,1,3"])
    with found.opened() as run:
        found.go_on(run)
        run.add(query, sink)
        found.feed("s", ["4,1,4", "5,1,5"])
        found.go_on(run)
    found.feed("s", ["6,1,6"])
    run = ContinuousRun(spark, found.checkpoint, Settings(once=True))
    run.open([(found.query, found.sink), (query, sink)])
    found.take(run)
    run.step(closing=True)
    run.close()
    rows = spark.read.parquet(str(tmp_path / "second")).orderBy("_n").collect()
    assert [(r.op, r.n) for r in rows if r.op == "+"][-1] == ("+", 4)


def test_a_folder_that_is_not_there_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file or folder 's' for the stream s"):
        Engine(spark).start(S + "ISTREAM(SELECT k FROM s [NOW]);", checkpoint=tmp_path / "c", folder=tmp_path, sink="o")
