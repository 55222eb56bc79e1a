"""Exactly once: whatever step a run is stopped at, after a restart no row is lost and none is there twice."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from astralq.laws.optimize import optimize
from astralq.laws.rule import Rule
from astralq.laws.rules import RULES
from astralq.plan.state.store import state_name
from astralq.runtime.checkpoint.failpoints import POINTS
from astralq.runtime.checkpoint.folders import CheckpointError
from astralq.runtime.checkpoint.records import numbers
from tests.runtime.live import Live, crashing, until_it_crashes

QUERY = """
CREATE STREAM s (k INT, v DOUBLE, ts BIGINT) FROM csv 's' TIMESTAMP BY ts UNIT SECONDS LATENESS 2 SECONDS;
ISTREAM(SELECT k, avg(v) AS m, count(*) AS n FROM s [RANGE 5 SECONDS SLIDE 2 SECONDS] GROUP BY k);
"""
SELECTED = """
CREATE STREAM s (k INT, v DOUBLE, ts BIGINT) FROM csv 's' TIMESTAMP BY ts UNIT SECONDS LATENESS 2 SECONDS;
ISTREAM(SELECT k, v FROM s [RANGE 5 SECONDS SLIDE 2 SECONDS] WHERE k = 1);
"""
ROUNDS = [
    ["1,1.5,1", "2,2.5,2", "1,0.1,4", "2,7.0,3"],
    ["1,0.2,6", "1,0.3,5", "2,1.0,8", "1,4.0,7", "2,2.0,12", "1,9.5,11", "2,3.5,14"],
]


@pytest.fixture
def live(spark: SparkSession, tmp_path: Path) -> Live:
    return Live(spark, tmp_path, QUERY)


def all_rounds(live: Live) -> None:
    """What is left of the rounds, each in a run of its own, then the end."""
    while live.fed.get("s", 0) < len(ROUNDS):
        live.feed("s", ROUNDS[live.fed.get("s", 0)])
        with live.opened() as run:
            live.go_on(run)
    live.close()


@pytest.mark.parametrize("point", POINTS)
def test_a_crash_after_any_step_changes_nothing(live: Live, point: str) -> None:
    live.feed("s", ROUNDS[0])
    with live.opened() as run:
        live.go_on(run)
    live.feed("s", ROUNDS[1])
    number = 1 if point.startswith("batch") else 2
    with crashing(point, number):
        run = live.open()
        until_it_crashes(lambda: live.go_on(run))
        run.close()
    all_rounds(live)
    assert live.answer() == live.historic()


def test_a_disk_that_is_full_while_committing_stops_the_run_and_loses_nothing(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    live.feed("s", ROUNDS[0])

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with live.opened() as run:
        live.take(run)
        with monkeypatch.context() as context:
            real = os.fsync
            calls: list[int] = []

            def fsync(handle: int) -> None:
                calls.append(handle)
                real(handle) if len(calls) < 3 else full()

            context.setattr(os, "fsync", fsync)
            with pytest.raises(OSError, match="No space left"):
                run.step()
    assert live.answer() == []
    assert numbers(live.checkpoint / "commit") == []
    all_rounds(live)
    assert live.answer() == live.historic()


@pytest.mark.parametrize("what", ["state", "commit"])
def test_damaged_files_of_the_newest_commit_are_not_used(live: Live, what: str) -> None:
    for lines in ROUNDS[:2]:
        live.feed("s", lines)
        with live.opened() as run:
            live.go_on(run)
    if what == "state":
        damaged = max((live.checkpoint / "state").rglob("part-*.parquet"), key=lambda f: f.stat().st_mtime_ns)
        assert "/2-" in str(damaged)
    else:
        damaged = live.checkpoint / "commit" / "2.json"
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 0xFF
    damaged.write_bytes(content)
    with live.opened() as run:
        assert run.epochs.epoch == 2, "the commit before was taken, and the epoch done again"
    all_rounds(live)
    assert live.answer() == live.historic()


def test_a_changed_query_is_refused_with_what_has_changed(live: Live) -> None:
    live.feed("s", ROUNDS[0])
    with live.opened() as run:
        live.go_on(run)
    live.text = QUERY.replace("SLIDE 2 SECONDS", "SLIDE 3 SECONDS").replace("LATENESS 2", "LATENESS 1")
    with pytest.raises(CheckpointError) as raised:
        live.open()
    assert "WINDOW [RANGE 5 SECONDS SLIDE 2 SECONDS]" in str(raised.value)
    assert "WINDOW [RANGE 5 SECONDS SLIDE 3 SECONDS]" in str(raised.value)
    assert "lateness=2000000" in str(raised.value)
    assert "a checkpoint directory of its own" in str(raised.value)


def first_epochs(live: Live) -> None:
    """An epoch, and further input that no epoch has read."""
    live.feed("s", ROUNDS[0])
    with live.opened() as run:
        live.go_on(run)
    live.feed("s", ROUNDS[1])


def test_a_query_goes_on_with_the_plan_that_it_started_with(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version may plan otherwise: then its state tables would have other names."""
    first_epochs(live)
    monkeypatch.setattr("astralq.runtime.queries.optimize", lambda *_: pytest.fail("it is planned anew"))
    live.close()
    assert live.answer() == live.historic()


@pytest.mark.parametrize(("before", "after"), [((), RULES), (RULES, ())], ids=["began without", "began with"])
def test_a_checkpoint_goes_on_with_the_laws_that_it_began_with(
    spark: SparkSession, tmp_path: Path, before: Sequence[Rule], after: Sequence[Rule]
) -> None:
    """Tuples of k = 2 are kept, or not, as the run began: the state fits the plan that the checkpoint has."""
    live = Live(spark, tmp_path, SELECTED, rules=before)
    first_epochs(live)
    live.rules = after
    with live.opened() as run:
        assert run.epochs.queries["1"].core == optimize(live.statement.operator, before).after
    live.close()
    assert live.answer() == live.historic()


def test_a_selection_below_a_window_keeps_less(spark: SparkSession, tmp_path: Path) -> None:
    kept = {}
    for name, rules in (("with", RULES), ("without", ())):
        live = Live(spark, tmp_path / name, SELECTED, rules=rules)
        live.feed("s", [line for lines in ROUNDS for line in lines])
        with live.opened() as run:
            live.go_on(run)
            kept[name] = run.epochs.kept.size(run.epochs.query_states["1"].tables)[0]
    assert kept["with"] < kept["without"]


def test_a_plan_that_would_lose_state_is_refused(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    first_epochs(live)
    named = state_name
    monkeypatch.setattr("astralq.plan.planner.state_name", lambda kind, *rest: named(f"new-{kind}", *rest))
    message = "query 1 is the one that the checkpoint .* is of, but its plan keeps other state: it does not go on with"
    with pytest.raises(CheckpointError, match=message):
        live.close()


def test_a_plan_that_cannot_be_read_is_refused(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    first_epochs(live)
    monkeypatch.setattr("astralq.algebra.serialize._classes", dict)
    with pytest.raises(CheckpointError, match="has a plan of query 1 that this version does not know"):
        live.close()


def test_two_runs_do_not_share_a_checkpoint(live: Live) -> None:
    live.feed("s", ROUNDS[0])
    with live.opened(), pytest.raises(CheckpointError, match="another run uses the checkpoint"):
        live.open()
    with live.opened():
        pass
