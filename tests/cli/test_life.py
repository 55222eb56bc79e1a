"""`astralq queries`, `add` and `drop`: the queries of a run come and go while it goes on."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from astralq.cli import life
from astralq.errors import AstralError
from astralq.runtime.control import AddedQuery, Membership, Request, Requests, ask
from tests.cli.support import astralq, printed
from tests.cli.test_start import DECLARED, ROWS, started
from tests.processes import wait_until


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A checkpoint without a run."""
    (tmp_path / "version").write_text("5\n")
    return tmp_path


def query(name: str) -> AddedQuery:
    return AddedQuery(name, "SELECT v FROM s;", 1, "q.aql", "/", "astral")


@pytest.mark.spark
def test_a_query_is_added_to_a_run_and_dropped_and_a_restart_goes_on_with_what_is_left(
    tmp_path: Path, spark: SparkSession
) -> None:
    assert spark is not None  # the command uses the running session
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "1.csv").write_text(ROWS)
    (tmp_path / "more.aql").write_text(DECLARED + "SELECT k, v FROM s WHERE v > 0.35;")
    checkpoint = tmp_path / "c"
    seen: list[str] = []

    def live() -> None:
        wait_until((checkpoint / "commit" / "1.json").exists)
        seen.extend(life.add(checkpoint, str(tmp_path / "more.aql"), None, (), None, allow_unbounded=False))
        (tmp_path / "s" / "2.csv").write_text("k,v,ts\n3,0.4,2026-03-01T12:00:30Z\n3,0.5,2026-03-01T12:00:40Z\n")
        wait_until((checkpoint / "commit" / "2.json").exists)
        seen.append(life.shown(checkpoint, as_json=False))
        life.drop(checkpoint, "1")
        seen.append(life.shown(checkpoint, as_json=True))
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=live, daemon=True)
    thread.start()
    found = started(tmp_path, "SELECT k, v FROM s;", "--format", "jsonl", "--trigger", "200 ms")
    thread.join()
    assert found.exit_code == 130, found.output
    name, table, left = seen
    assert name == "more"
    assert table.splitlines()[0] == "running, epoch 2"
    assert [line.split()[0] for line in table.splitlines()[1:]] == ["query", "1", "more"]
    assert [q["query"] for q in json.loads(left)["queries"]] == ["more"]
    assert '{"_q": "more", "t": "2026-03-01T12:00:30Z", "i": 0, "k": 3, "v": 0.4}' in found.stdout
    again = started(tmp_path, "SELECT k, v FROM s;", "--format", "jsonl", "--once")
    assert again.stdout == '{"t": "2026-03-01T12:00:40Z", "i": 0, "k": 3, "v": 0.5}\n'
    assert again.stderr == f"{tmp_path / 'q.aql'}: query 1, line 2: it was dropped from this run\n"
    assert printed("queries", str(checkpoint)).startswith("not running, ")


def test_without_a_run_nobody_carries_out_a_request(checkpoint: Path) -> None:
    result = astralq("drop", str(checkpoint), "1")
    assert result.exit_code == 2
    assert "no run uses the checkpoint" in result.stderr
    assert f"astralq start FILE --checkpoint {checkpoint}" in result.stderr


def test_a_folder_that_is_no_checkpoint_is_told_with_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()
    result = astralq("queries", str(tmp_path / "checkpont"))
    assert result.exit_code == 2
    assert "is no checkpoint" in result.stderr
    assert "did you mean 'checkpoint'?" in result.stderr


def test_what_a_run_refuses_is_the_answer_to_a_request(checkpoint: Path) -> None:
    def refuse(request: Request) -> None:
        raise AstralError(f"there is no query {request.drop!r}")

    done = threading.Event()

    def run() -> None:
        while not done.is_set():
            Requests(checkpoint, refuse).answer_all()
            done.wait(0.02)

    with (checkpoint / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        thread = threading.Thread(target=run)
        thread.start()
        with pytest.raises(AstralError, match="there is no query '9'"):
            ask(checkpoint, Request(drop="9"))
        done.set()
        thread.join()
    assert list((checkpoint / "control").iterdir()) == []


def test_what_was_added_and_dropped_is_remembered(checkpoint: Path) -> None:
    members = Membership().with_added(query("a")).with_added(query("b")).without("a")
    members.write(checkpoint)
    assert [q.name for q in Membership.read(checkpoint).added] == ["b"]
    assert Membership.read(checkpoint).dropped == ("a",)


def test_a_request_that_came_while_a_run_began_is_answered(checkpoint: Path) -> None:
    (checkpoint / "control").mkdir()
    (checkpoint / "control" / "1.request.json").write_text('{"add": [], "drop": "a"}')
    seen: list[Request] = []
    requests = Requests(checkpoint, seen.append)
    requests.clear()
    requests.answer_all()
    assert seen == [Request(drop="a")]
    assert [p.name for p in (checkpoint / "control").iterdir()] == ["1.answer.json"]


def test_a_request_that_cannot_be_read_does_not_end_a_run(checkpoint: Path) -> None:
    (checkpoint / "control").mkdir()
    (checkpoint / "control" / "1.request.json").write_text("{}")
    Requests(checkpoint, lambda _: None).answer_all()
    assert "cannot be carried out" in (checkpoint / "control" / "1.answer.json").read_text()


def test_an_added_query_is_shown_before_its_first_epoch(checkpoint: Path) -> None:
    Membership().with_added(query("a")).write(checkpoint)
    assert printed("queries", str(checkpoint)).splitlines()[-1].split() == ["a", "0", "0", "0", "0", "0"]
