"""Continuous queries that have windows and panes in common: what they keep, who may come and go, and who fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from astralq.errors import AstralError
from astralq.io.files import read_sources
from astralq.language import read_script
from astralq.model import run as on_model
from astralq.runtime.checkpoint.failpoints import POINTS
from astralq.runtime.queries import ContinuousQuery
from astralq.runtime.run import ContinuousRun, Settings
from astralq.runtime.sinks import FileSink
from astralq.timeline import Instant
from tests.runtime.live import Live, Row, crashing, until_it_crashes

S = "CREATE STREAM s (k INT, v INT, ts BIGINT) FROM csv 's' TIMESTAMP BY ts UNIT SECONDS;\n"
LAST = "[PARTITION BY k ROWS 2 SLIDE 2 SECONDS]"
SMALL = f"ISTREAM(SELECT * FROM s {LAST} WHERE v < 5);"
GREAT = f"ISTREAM(SELECT k, v FROM s {LAST} WHERE v >= 5);"
ROUNDS = [
    ["1,1,1", "2,9,2", "1,3,3", "2,2,4"],
    ["1,7,5", "2,8,6", "1,2,8", "2,1,9"],
    ["1,4,11", "2,6,12", "1,9,14", "2,3,17"],
]


@dataclass
class LiveSet:
    """Several queries over one folder, each with an answer of its own."""

    spark: SparkSession
    folder: Path
    texts: dict[str, str]
    sharing: bool = True
    t0: dict[str, Instant] = field(default_factory=dict)
    failures: list[tuple[str, str]] = field(default_factory=list)
    feeder: Live = field(init=False)

    def __post_init__(self) -> None:
        self.feeder = Live(self.spark, self.folder, "")

    def query(self, name: str, text: str) -> ContinuousQuery:
        statement = read_script(S + text).queries[0]
        return ContinuousQuery(name, statement.operator, self.t0.get(name, statement.t0), self.folder)

    @property
    def sink(self) -> FileSink:
        return FileSink(self.folder / "out", "parquet")

    @contextmanager
    def opened(self) -> Iterator[ContinuousRun]:
        settings = Settings(once=True, always_compact=True, sharing=self.sharing)
        failed = lambda name, error: self.failures.append((name, str(error)))  # noqa: E731
        run = ContinuousRun(self.spark, self.folder / "checkpoint", settings, on_failure=failed)
        run.open([(self.query(name, text), self.sink) for name, text in self.texts.items()])
        try:
            yield run
        finally:
            run.close()

    def go_on(self, lines: Sequence[str], *, closing: bool = False) -> ContinuousRun:
        """A file, and an epoch over it."""
        self.feeder.feed("s", lines)
        with self.opened() as run:
            self.feeder.take(run)
            run.step(closing=closing)
            self.t0 |= {q: query.t0 for q, query in run.epochs.queries.items() if query.t0 is not None}
            return run

    def answer(self, name: str) -> list[Row]:
        files = sorted(str(f) for f in (self.folder / "out").glob(f"{name}-*.parquet"))
        if not files:
            return []
        rows = [tuple(r) for r in self.spark.read.parquet(*files).orderBy("_n").collect()]
        assert [r[-1] for r in rows] == list(range(len(rows))), "rows are missing, or there twice"
        return [(int(r[0].timestamp()), *r[2:-1]) for r in rows]

    def wanted(self, name: str, text: str, until: int = 17) -> list[Row]:
        """What the model says to all files."""
        statement = read_script(S + text).queries[0]
        data = read_sources(statement.operator, self.folder)
        t0 = self.t0.get(name, statement.t0)
        found = on_model(statement.operator, data, t0=t0, until=Instant(until * 1_000_000)).rows
        return [(int(str(r[0])) // 1_000_000, *r[2:]) for r in found]


def kept(run: ContinuousRun) -> dict[str, tuple[int, int]]:
    """Of each query the rows and bytes of its state."""
    return {q: run.epochs.kept.size(s.tables) for q, s in run.epochs.query_states.items()}


def test_two_queries_with_the_same_window_keep_its_rows_once(spark: SparkSession, tmp_path: Path) -> None:
    both = LiveSet(spark, tmp_path, {"a": SMALL, "b": GREAT})
    for lines in ROUNDS:
        run = both.go_on(lines, closing=lines is ROUNDS[-1])
    tables = run.epochs.kept.tables
    assert [name for name in tables if name.startswith("window")] == [next(iter(tables))]
    assert kept(run)["a"] == kept(run)["b"]
    assert run.last_progress is not None
    assert run.last_progress.shared_rows == sum(t.rows for t in tables.values()) > 0
    for name, text in both.texts.items():
        assert both.answer(name) == both.wanted(name, text)


def test_without_sharing_each_keeps_its_own(spark: SparkSession, tmp_path: Path) -> None:
    apart = LiveSet(spark, tmp_path, {"a": SMALL, "b": GREAT}, sharing=False)
    for lines in ROUNDS:
        run = apart.go_on(lines, closing=lines is ROUNDS[-1])
    assert run.last_progress is not None
    assert run.last_progress.shared_rows == 0
    for name, text in apart.texts.items():
        assert apart.answer(name) == apart.wanted(name, text)


def test_a_new_query_uses_what_a_running_one_keeps_and_keeps_it_when_that_is_dropped(
    spark: SparkSession, tmp_path: Path
) -> None:
    queries = LiveSet(spark, tmp_path, {"old": SMALL})
    first = queries.go_on(ROUNDS[0])
    before = first.epochs.queries["old"].plan
    queries.texts["new"] = GREAT
    queries.t0["new"] = Instant(4_000_000)  # a whole number of slides after the older one's start
    second = queries.go_on(ROUNDS[1])
    assert second.epochs.queries["old"].plan == before, "a running query is not planned anew because another came"
    states = second.epochs.query_states
    common = set(states["old"].tables) & set(states["new"].tables) & set(second.epochs.kept.tables)
    assert common, "the new query keeps a window of its own"
    del queries.texts["old"]
    third = queries.go_on(ROUNDS[2], closing=True)
    assert common <= set(third.epochs.kept.tables)
    assert queries.answer("new") == queries.wanted("new", GREAT)
    assert queries.answer("old") == [r for r in queries.wanted("old", SMALL) if r[0] <= 8]


def test_a_new_query_that_is_off_by_a_second_keeps_its_own_window(spark: SparkSession, tmp_path: Path) -> None:
    queries = LiveSet(spark, tmp_path, {"old": SMALL})
    queries.go_on(ROUNDS[0])
    queries.texts["new"], queries.t0["new"] = GREAT, Instant(5_000_000)
    second = queries.go_on(ROUNDS[1])
    states = second.epochs.query_states
    assert not set(states["old"].tables) & set(states["new"].tables)
    queries.go_on(ROUNDS[2], closing=True)
    for name, text in queries.texts.items():
        assert queries.answer(name) == queries.wanted(name, text)


def test_windows_of_other_sizes_keep_panes_once(spark: SparkSession, tmp_path: Path) -> None:
    text = "ISTREAM(SELECT k, sum(v) AS s, count(*) AS n FROM s [RANGE {} SECONDS SLIDE {} SECONDS] GROUP BY k);"
    queries = LiveSet(spark, tmp_path, {"a": text.format(4, 2), "b": text.format(8, 4), "c": text.format(2, 2)})
    for lines in ROUNDS:
        run = queries.go_on(lines, closing=lines is ROUNDS[-1])
    assert len(run.epochs.kept.tables) == 1
    for name, one in queries.texts.items():
        assert queries.answer(name) == queries.wanted(name, one)


def test_a_query_that_fails_stops_alone(spark: SparkSession, tmp_path: Path) -> None:
    bad = f"ISTREAM(SELECT k, 10 / (v - 8) AS x FROM s {LAST});"
    queries = LiveSet(spark, tmp_path, {"good": SMALL, "bad": bad, "fine": GREAT})
    for lines in ROUNDS:
        run = queries.go_on(lines, closing=lines is ROUNDS[-1])
    assert queries.failures[0][0] == "bad"
    assert "zero" in queries.failures[0][1].lower()
    assert len(queries.failures) == 2, "told when it failed, and when the run was started again"
    assert set(run.epochs.failed) == {"bad"}
    for name in ("good", "fine"):
        assert queries.answer(name) == queries.wanted(name, queries.texts[name])


def test_the_error_of_the_only_query_ends_the_run(spark: SparkSession, tmp_path: Path) -> None:
    alone = LiveSet(spark, tmp_path, {"bad": "ISTREAM(SELECT 1 / (v - 9) AS x FROM s [ROWS 1]);"})
    with pytest.raises(AstralError, match="zero"):
        alone.go_on(ROUNDS[0])
    assert not alone.failures


@pytest.mark.parametrize("point", [p for p in POINTS if not p.startswith("batch")])
def test_a_crash_after_any_step_changes_nothing_that_queries_share(
    spark: SparkSession, tmp_path: Path, point: str
) -> None:
    text = "ISTREAM(SELECT k, sum(v) AS s FROM s [RANGE {} SECONDS SLIDE 2 SECONDS] GROUP BY k);"
    queries = LiveSet(spark, tmp_path, {"a": SMALL, "b": GREAT, "c": text.format(2), "d": text.format(6)})
    queries.go_on(ROUNDS[0])
    queries.feeder.feed("s", ROUNDS[1])
    with crashing(point, 2), queries.opened() as run:
        queries.feeder.take(run)
        until_it_crashes(lambda run=run: _step(run))  # type: ignore[misc]
    queries.go_on(ROUNDS[2], closing=True)
    for name, one in queries.texts.items():
        assert queries.answer(name) == queries.wanted(name, one)


def _step(run: ContinuousRun) -> None:
    run.step()


U = "CREATE STREAM u (k INT, w INT, ts BIGINT) FROM csv 'u' TIMESTAMP BY ts UNIT SECONDS;\n"
COUNTED = "SELECT k, count(*) AS n FROM s [RANGE {} SECONDS SLIDE 2 SECONDS] GROUP BY k"
JOINED = f"{U}ISTREAM(SELECT a.k, a.n, b.w FROM ({COUNTED}) a JOIN u [RANGE 4 SECONDS SLIDE 2 SECONDS] b ON a.k = b.k);"


def test_queries_that_wait_for_another_source_keep_their_own_panes(spark: SparkSession, tmp_path: Path) -> None:
    """Those that read one stream only are further: what they have seen is not what the others have."""
    counted = f"ISTREAM({COUNTED});"
    texts = {"a": counted.format(4), "b": JOINED.format(4), "c": JOINED.format(8), "d": counted.format(6)}
    queries = LiveSet(spark, tmp_path, texts)
    queries.feeder.feed("u", ["1,7,1"])
    queries.go_on(ROUNDS[0])
    queries.go_on(ROUNDS[1])
    queries.feeder.feed("u", ["1,8,3", "2,9,6"])
    queries.go_on(ROUNDS[2])
    queries.feeder.feed("u", ["1,5,16"])
    queries.go_on(["2,2,18"], closing=True)
    for name, text in texts.items():
        assert queries.answer(name) == queries.wanted(name, text, until=18), name


def test_a_query_waits_for_those_that_keep_state_with_it(spark: SparkSession, tmp_path: Path) -> None:
    """After a restart from Python queries come one by one."""
    queries = LiveSet(spark, tmp_path, {"a": SMALL, "b": GREAT})
    queries.go_on(ROUNDS[0])
    queries.feeder.feed("s", ROUNDS[1])
    run = ContinuousRun(spark, tmp_path / "checkpoint", Settings(once=True, always_compact=True))
    with pytest.warns(UserWarning, match="query a waits"):
        run.open([(queries.query("a", SMALL), queries.sink)], only=False)
    queries.feeder.take(run)
    assert not run.step(), "alone it would take the other's state with it"
    run.add(queries.query("b", GREAT), queries.sink)
    assert run.step()
    run.close()
    queries.go_on(ROUNDS[2], closing=True)
    for name, text in queries.texts.items():
        assert queries.answer(name) == queries.wanted(name, text)


def test_a_query_fails_alone_also_where_its_answer_is_not_due(spark: SparkSession, tmp_path: Path) -> None:
    """Its error is in what it would keep."""
    bad = "RSTREAM(SELECT k FROM (SELECT k, 10 / (v - 2) AS x, ts FROM s) [ROWS 3 SLIDE 10 SECONDS] WHERE x > 1);"
    queries = LiveSet(spark, tmp_path, {"good": SMALL, "bad": bad})
    for lines in ROUNDS:
        queries.go_on(lines, closing=lines is ROUNDS[-1])
    assert [name for name, _ in queries.failures][:1] == ["bad"]
    assert queries.answer("good") == queries.wanted("good", SMALL)
