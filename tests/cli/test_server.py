"""astralq server: a Spark that is kept warm, and commands that use it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from astralq.spark.server import Server, running

pytestmark = pytest.mark.spark

QUERY = """
CREATE STREAM s (k INT, x DOUBLE, y DOUBLE, ts TIMESTAMP) FROM csv 's.csv' OPTIONS (header = 'true') TIMESTAMP BY ts;
CREATE REGION square AS 'POLYGON ((0 0, 2 0, 2 2, 0 2, 0 0))';
ISTREAM(SELECT k, count(*) AS n FROM s [RANGE 10 SECONDS] WHERE inside(x, y, square) GROUP BY k);
RSTREAM(SELECT max(x) AS top FROM s [ROWS 2 SLIDE 5 SECONDS]);
"""
ROWS = """k,x,y,ts
1,0.5,1,2026-03-01T12:00:00Z
2,3.5,1,2026-03-01T12:00:05Z
1,1.5,1,2026-03-01T12:00:07Z
"""


class Place:
    """A folder with a query, and a server of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "SPARK_LOCAL_CONNECT_DISCOVERY": str(folder / "server" / "connect.json")}
        (folder / "q.aql").write_text(QUERY)
        (folder / "s.csv").write_text(ROWS)

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).parent / "astralq"), *words]
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=180, check=False
        )


@pytest.fixture(scope="module")
def astralq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    place = Place(tmp_path_factory.mktemp("warm"))
    started = place("server", "start", "--master", "local[2]", "--conf", "spark.driver.memory=1g")
    assert started.returncode == 0, started.stderr
    yield place
    assert "has stopped" in place("server", "stop").stdout
    assert place("server", "status").returncode == 1


def test_a_server_answers_as_the_model_does_and_status_shows_it(astralq: Place) -> None:
    """Views hold parts of plans that are too deep for one message, and its workers find shapely."""
    found = astralq("run", "q.aql")
    assert found.returncode == 0, found.stderr
    assert found.stderr == ""
    assert found.stdout == astralq("run", "q.aql", "--engine", "model").stdout
    status = astralq("server", "status")
    assert status.returncode == 0
    assert [line.split()[0] for line in status.stdout.splitlines()] == [
        *("server", "since", "idle", "holds", "python", "setting")
    ]


def test_errors_of_a_server_are_told_as_those_of_a_spark_of_ones_own(astralq: Place) -> None:
    (astralq.folder / "wrong.aql").write_text(QUERY.replace("max(x) AS top", "1 / (max(k) - max(k)) AS top"))
    found = astralq("run", "wrong.aql")
    assert found.returncode == 2
    assert "wrong.aql: query 2, line 5: Division by zero." in found.stderr
    assert "Traceback" not in found.stderr


def test_a_second_server_is_refused(astralq: Place) -> None:
    found = astralq("server", "start")
    assert found.returncode == 2
    assert "a server is running already" in found.stderr


def test_another_server_is_reached_by_its_address(astralq: Place) -> None:
    found = astralq("run", "q.aql", "--remote", "sc://localhost:1")
    assert found.returncode == 2
    assert "is a server running there?" in found.stderr


@pytest.mark.parametrize(
    ("master", "python", "conf", "why"),
    [
        (None, sys.executable, {}, None),
        ("local[2]", sys.executable, {"spark.driver.memory": "1g"}, None),
        (None, sys.executable, {"spark.sql.shuffle.partitions": "3"}, None),  # a session's own
        ("local[4]", sys.executable, {}, "its master is local[2], and local[4] is asked for"),
        (None, sys.executable, {"spark.driver.memory": "4g"}, "its spark.driver.memory is 1g, and 4g is asked for"),
        (None, sys.executable, {"spark.jars": "x.jar"}, "its spark.jars is not set, and x.jar is asked for"),
        (None, "/other/python", {}, f"its Python is /other/python, and this one is {sys.executable}"),
    ],
)
def test_a_server_that_does_not_fit_says_why(
    master: str | None, python: str, conf: dict[str, str], why: str | None
) -> None:
    there = Server("sc://localhost:1", "token", 1, 0.0, "local[2]", python, {"spark.driver.memory": "1g"})
    assert next(there.misfits(master, conf), None) == why


def test_without_a_server_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_CONNECT_DISCOVERY", str(tmp_path / "connect.json"))
    assert running() is None
