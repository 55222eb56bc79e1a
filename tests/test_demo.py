"""The demo: an ocean that is the same every time, answers that follow from its data, on a terminal of 80 columns."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from rich.cells import cell_len

from astralq.cli.answers import Question
from astralq.cli.demo import show
from astralq.cli.demo.ocean import DAY, LATENESS, PERIOD, SECOND, START, Ocean, minutes_of
from astralq.cli.demo.questions import LIVE, QUESTIONS, Asked
from astralq.cli.engines import ModelEngine
from astralq.errors import DataError
from astralq.language import read_script
from astralq.model.values import Values
from astralq.timeline import Instant, instant

OCEAN = Ocean.of(5_000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("ocean")
    OCEAN.write(made)
    return made


def answer(name: str, folder: Path) -> list[Values]:
    asked = next(q for q in QUESTIONS if q.name == name)
    return list(ModelEngine().answer(_question(asked, folder)).rows)


def _question(asked: Asked, folder: Path) -> Question:
    at, until = (None if t is None else instant(t) for t in (asked.at, asked.until))
    return Question(1, asked.name, folder, read_script(asked.text).queries[0], at, until)


# The ocean


def test_the_same_seed_makes_the_same_ocean(tmp_path: Path) -> None:
    for name in ("a", "b"):
        Ocean.of(5_000).write(tmp_path / name)
    files = sorted(f.relative_to(tmp_path / "a") for f in (tmp_path / "a").rglob("*.csv"))
    assert len(files) == 4
    for f in files:
        assert (tmp_path / "a" / f).read_bytes() == (tmp_path / "b" / f).read_bytes()


def test_there_are_about_as_many_measures_as_asked_for() -> None:
    for rows in (5_000, 50_000):
        assert rows * 0.7 < sum(1 for _ in Ocean.of(rows).measures()) < rows


def test_some_measures_are_missing_some_come_twice_and_some_late() -> None:
    measures = list(OCEAN.measures())
    expected = sum(
        b.is_deployed(Instant(t)) for b in OCEAN.buoys for t in range(START, START + DAY, PERIOD) for _ in b.types
    ) - sum(1 for _ in OCEAN.positions())
    twice = [m for m, count in Counter(measures).items() if count == 2]
    late = [m for m in measures if m[3] - m[2] > 2 * SECOND]
    assert twice
    assert len(set(measures)) < expected
    assert late
    assert max(arrives - taken for _, _, taken, arrives in measures) <= LATENESS


def test_what_arrives_live_is_what_the_files_have() -> None:
    portions = list(minutes_of(OCEAN, 3600 * SECOND))
    assert sorted(m for p in portions for m in p) == sorted(m[:3] for m in OCEAN.measures())
    assert len(portions) == 24


# The answers


def test_the_present_buoys_are_those_anchored_there_and_those_last_seen_there(folder: Path) -> None:
    noon = START + DAY // 2
    anchored = [b for op, b, _, zone, t in OCEAN.changes() if op == "+" and zone == 7016 and t <= noon]
    last = {b: zone for b, _, _, zone, t in OCEAN.positions() if t <= noon}
    assert answer("1_present", folder) == [(b,) for b in anchored] + [(b,) for b in sorted(last) if last[b] == 7016]


def test_the_last_buoy_of_a_zone_is_found_in_the_past(folder: Path) -> None:
    there = [(t, b) for b, _, _, zone, t in OCEAN.positions() if zone == 7015 and t <= START + DAY // 2]
    assert answer("2_past_and_present", folder) == [(max(there)[1], max(there)[0])]


def test_the_means_are_those_of_half_hours_with_closed_ends(folder: Path) -> None:
    values = [(t, v) for sensor, v, t, _ in OCEAN.measures() if sensor == 42]
    for t, _, mean, n in answer("4_continuous", folder):
        assert isinstance(t, int)
        held = [v for at, v in values if t - 1800 * SECOND <= at <= t]
        assert n == len(held)
        assert mean == pytest.approx(sum(held) / len(held), abs=0.0051)


def test_who_is_designated_at_the_start_stays_and_who_is_live_may_go(folder: Path) -> None:
    fixed, live = answer("5_designated_at_start", folder), answer("6_designated_live", folder)
    by_time = {t: {r[2] for r in fixed if r[0] == t} for t in sorted({r[0] for r in fixed}, key=str)}
    assert len(set(map(frozenset, by_time.values()))) == 1
    assert {r[2] for r in live if r[0] == live[-1][0]} < {r[2] for r in live}


def test_the_last_thirty_are_never_more(folder: Path) -> None:
    counts = [row[2] for row in answer("7_last_30_every_minute", folder)]
    assert len(counts) == 10
    assert counts == sorted(counts)  # type: ignore[type-var]


def test_a_window_of_fifty_kilometres_is_evaluated_every_ten(folder: Path) -> None:
    speeds = [row[2] for row in answer("8_last_50_km", folder)]
    assert speeds[0] is None
    assert all(isinstance(s, float) and 2 < s < 9 for s in speeds[1:])


# What a person sees


def test_every_query_fits_a_terminal_of_80_columns() -> None:
    for line in [line for q in QUESTIONS for line in q.text.splitlines()] + LIVE.splitlines():
        assert len(line) <= 78, line


def test_a_folder_that_is_not_empty_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(DataError) as e:
        show.show_all(10, tmp_path, None)
    assert str(e.value) == f"{tmp_path} is there already\n  hint: name a folder that is new or empty"


def test_the_whole_demo_fits_a_terminal_and_leaves_files_to_play_with(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On Spark, with half of the questions: the others differ in their queries only."""
    monkeypatch.setattr(show, "SECONDS", 1.0)
    monkeypatch.setattr(show, "QUESTIONS", [q for q in QUESTIONS if q.name[0] in "148"])
    monkeypatch.chdir(tmp_path)
    show.show_all(1, Path("kept"), None)
    printed = capsys.readouterr().out
    assert max(map(cell_len, printed.splitlines())) <= 80
    assert "4. The same kind of query, live" in printed
    assert "◎" in printed
    assert "rows out" in printed
    assert {f.name for f in (tmp_path / "kept").glob("*.aql")} >= {"1_present.aql", "9_live.aql"}
