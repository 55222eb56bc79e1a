"""What a person sees of sharing: explain, check, and errors that stay with their query."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.support import astralq, printed

S = "CREATE STREAM s (k INT, v INT, ts BIGINT) FROM csv 's.csv' TIMESTAMP BY ts UNIT SECONDS;\n"
ROWS = "1,1,1\n2,9,2\n1,3,3\n2,2,4\n1,0,6\n"
WINDOW = "[PARTITION BY k ROWS 2 SLIDE 2 SECONDS]"
TWO = (
    f"{S}ISTREAM(SELECT * FROM s {WINDOW} WHERE v < 3);\n"
    "START AT TIMESTAMP '1970-01-01T00:00:02Z';\n"
    f"ISTREAM(SELECT k, v FROM s {WINDOW} WHERE v > 2);\n"
    "START AT TIMESTAMP '1970-01-01T00:00:03Z';\n"
    f"ISTREAM(SELECT k, v FROM s {WINDOW} WHERE v > 2);\n"
)


def written(folder: Path, text: str) -> str:
    (folder / "s.csv").write_text(ROWS)
    (folder / "q.aql").write_text(text)
    return str(folder / "q.aql")


@pytest.fixture
def file(tmp_path: Path) -> str:
    return written(tmp_path, TWO)


def test_explain_shows_a_shared_window_once_with_those_who_use_it(file: str) -> None:
    shown = printed("explain", file).split("-- what `start` shares between them")[1]
    assert shown.count(f"WINDOW {WINDOW}\n") == 1
    assert "query 1: its own window" in shown
    assert "query 2: transposition (001 P9)" in shown
    assert f"not shared: query 3 with query 1: WINDOW {WINDOW}: K = 3/2 is not a whole number" in shown


def test_explain_says_to_programs_what_each_query_shares(file: str) -> None:
    queries = json.loads(printed("explain", file, "--json"))
    (second,) = queries[1]["shared"]["run"]
    assert (second["shared"], second["with"], second["how"]) == (True, ["query 1"], "transposition (001 P9)")
    assert not queries[2]["shared"]["start"][0]["shared"]


def test_check_says_what_a_query_adds_to_those_before_it(file: str) -> None:
    _, second, third = printed("check", file).split("\n\n")
    assert f"shares   WINDOW {WINDOW} with query 1: transposition (001 P9)" in second
    assert "adds     nothing but its answer" in second
    assert f"kept     WINDOW {WINDOW}: the tuples of each part" in third
    assert "shares" not in third


@pytest.mark.spark
def test_a_query_that_fails_does_not_take_those_with_it_that_share_its_window(tmp_path: Path) -> None:
    text = "ISTREAM(SELECT k, 6 {} v AS x FROM s [PARTITION BY k ROWS 1 SLIDE 2 SECONDS]);\n"
    file = written(tmp_path, S + text.format("+") + text.format("/") + text.format("-"))
    result = astralq("run", file, "--format", "jsonl")
    assert result.exit_code == 2
    assert "query 2, line 3" in result.stderr
    assert "zero" in result.stderr.lower()
    assert "query 1" not in result.stderr
    assert {json.loads(line)["_q"] for line in result.stdout.splitlines()} == {1, 3}


@pytest.mark.spark
@pytest.mark.parametrize("option", [[], ["--no-sharing"]])
def test_answers_are_the_same_with_sharing_and_without(file: str, option: list[str]) -> None:
    """Also what is said beside them: tuples before the start of each query."""
    found, wanted = (astralq("run", file, "--format", "csv", *more) for more in (option, ["--engine", "model"]))
    assert (found.exit_code, found.stdout, found.stderr) == (0, wanted.stdout, wanted.stderr)
