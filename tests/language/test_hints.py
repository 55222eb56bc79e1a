"""What someone from Spark, Flink SQL or CQL would write is refused with what to write here."""

from __future__ import annotations

import pytest

from astralq.language import read_script
from astralq.language.hints import EVERY, IN_BRACKETS, OF_INSTANTS, OF_WINDOWS, OVER, PLACES
from astralq.language.script import ScriptError

DECLARED = "CREATE STREAM v (page STRING, ts TIMESTAMP) FROM csv 'v.csv' TIMESTAMP BY ts;\n"


def hint(query: str) -> str:
    with pytest.raises(ScriptError) as raised:
        read_script(DECLARED + query)
    lines = str(raised.value).splitlines()
    assert sum(line.startswith("  hint: ") for line in lines) == 1, str(raised.value)
    return lines[-1].removeprefix("  hint: ")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM v TUMBLE 10 MINUTES;",
        "SELECT * FROM v ROWS 10;",
        "SELECT * FROM v RANGE 10 MINUTES;",
        "SELECT count(*) FROM v GROUP BY TUMBLE(ts, INTERVAL '10' MINUTE);",
        "SELECT HOP_END(ts, INTERVAL '10' MINUTE) FROM v;",
        "SELECT page, window(ts, '10 minutes') w, count(*) FROM v GROUP BY page, window(ts, '10 minutes');",
        "SELECT * FROM TABLE(TUMBLE(TABLE v, DESCRIPTOR(ts), INTERVAL '10' MINUTES));",
        "SELECT * FROM v WINDOW TUMBLING (SIZE 1 HOUR);",
        "SELECT page, count(*) FROM v GROUP BY window(ts, '10 minutes'), page;",
    ],
)
def test_a_window_anywhere_else_is_sent_into_brackets_behind_its_stream(query: str) -> None:
    assert hint(query) == IN_BRACKETS


def test_for_the_time_of_a_window_there_is_t() -> None:
    assert hint("SELECT WINDOW_TIME FROM v [TUMBLE 10 MINUTES];") == OF_INSTANTS


@pytest.mark.parametrize(
    "query",
    [
        "SELECT window_start FROM v;",
        "SELECT * FROM v [TUMBLE 1 HOUR] WHERE window_end IS NOT NULL;",
        "SELECT max(window_start) FROM v [TUMBLE 1 HOUR];",
        "SELECT count(*) FROM v [TUMBLE 1 HOUR] GROUP BY concat(page, CAST(window_start AS STRING));",
    ],
)
def test_the_bounds_of_a_window_have_their_places(query: str) -> None:
    assert hint(query) == OF_WINDOWS


def test_over_is_for_places() -> None:
    assert hint("SELECT count(*) OVER (PARTITION BY page) FROM v [ROWS 9];") == OVER
    assert hint("SELECT page FROM v [ROWS 9] WHERE ROW_NUMBER() OVER (ORDER BY ts) <= 3;") == PLACES


@pytest.mark.parametrize("clause", ["LIMIT 3", "OFFSET 3"])
def test_a_limit_wants_a_window(clause: str) -> None:
    chooses = "it chooses from the states of a relation: take a window first, for example [TUMBLE 1 MINUTE]"
    assert hint(f"SELECT page FROM v {clause};") == chooses


@pytest.mark.parametrize("query", ["ISTREAM SELECT * FROM v [ROWS 3];", "SELECT ISTREAM * FROM v [ROWS 3];"])
def test_a_streamer_wants_parentheses(query: str) -> None:
    assert hint(query) == "write the query in parentheses: ISTREAM(SELECT …)"


def test_the_last_three_rows_are_rows_3() -> None:
    assert hint("SELECT * FROM v [LAST 3 ROWS];") == "the last three rows, for example, are [ROWS 3]"


def test_a_window_that_hops_has_every_instead_of_slide() -> None:
    wanted = "write for example [HOP 1 HOUR EVERY 10 MINUTES]; SLIDE belongs to RANGE"
    assert hint("SELECT * FROM v [HOP 10 MINUTES SLIDE 5 MINUTES];") == wanted


@pytest.mark.parametrize(
    "query",
    [
        "RSTREAM(SELECT count(*) FROM v [TUMBLE 10 MINUTES] EVERY 10 MINUTES);",
        "SELECT count(*) FROM v [TUMBLE 10 MINUTES] EVERY 10 MINUTES;",
    ],
)
def test_every_follows_a_streamer(query: str) -> None:
    assert hint(query) == EVERY


def test_a_range_that_moves_has_slide_instead_of_every() -> None:
    wanted = "RANGE and ROWS have SLIDE: write for example [RANGE 1 HOUR SLIDE 10 MINUTES]"
    assert hint("SELECT * FROM v [RANGE 10 MINUTES EVERY 1 MINUTE];") == wanted


def test_the_parts_of_a_window_come_first() -> None:
    assert hint("SELECT * FROM v [ROWS 10 PARTITION BY page];") == "PARTITION BY comes first"


def test_a_statement_with_its_windows_in_brackets_has_no_such_hint() -> None:
    with pytest.raises(ScriptError) as raised:
        read_script(DECLARED + "SELECT page FROM v [ROWS 10] 5;")
    assert "brackets" not in str(raised.value)
