"""What someone from Spark, Flink SQL or CQL would write is refused with what to write here."""

from __future__ import annotations

import pytest

from astralq.language import read_script
from astralq.language.hints import EVERY, IN_BRACKETS, OF_BOUNDS, OF_INSTANTS, OF_WINDOWS, PLACES
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
    assert hint("SELECT page FROM v [ROWS 9] WHERE ROW_NUMBER() OVER (ORDER BY ts) <= 3;") == PLACES


@pytest.mark.parametrize(
    ("over", "window"),
    [
        ("ORDER BY ts ROWS BETWEEN 4 PRECEDING AND CURRENT ROW", "(SELECT COUNT(*) FROM s [ROWS 5] w)"),
        (
            "PARTITION BY page ORDER BY ts ROWS BETWEEN 4 PRECEDING AND CURRENT ROW",
            "(SELECT COUNT(*) FROM s [PARTITION BY page ROWS 5] w WHERE w.page = s.page)",
        ),
        (
            "PARTITION BY page ORDER BY ts RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW",
            "(SELECT COUNT(*) FROM s [RANGE 1 HOUR] w WHERE w.page = s.page)",
        ),
        ("ORDER BY ts", "(SELECT COUNT(*) FROM s [UNBOUNDED] w)"),
        ("PARTITION BY page", "(SELECT COUNT(*) FROM s […] w WHERE w.page = s.page)"),
    ],
)
def test_a_frame_is_a_subquery_over_a_window(over: str, window: str) -> None:
    assert hint(f"SELECT count(*) OVER ({over}) FROM v;") == f"write a subquery over the window: {window}"
    if "…" not in window:
        query = window.replace("FROM s", "FROM v").replace("s.page", "v.page")
        read_script(f"{DECLARED}SELECT page, {query} AS n FROM v;")  # what is proposed is accepted


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "SELECT lag(page) OVER (ORDER BY ts) FROM v;",
            "write a subquery over the window: (SELECT CASE WHEN count(*) = 2 THEN first(page) END FROM s [ROWS 2] w)",
        ),
        ("SELECT TUMBLE_START(ts, INTERVAL '1' HOUR) FROM v;", OF_BOUNDS),
        ("SELECT HOP_END(ts, INTERVAL '10' MINUTE) FROM v;", OF_BOUNDS),
        (
            "SELECT * FROM TABLE(HOP(TABLE v, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES));",
            "a window that hops stands in brackets behind its stream, its size first:"
            " FROM s [HOP 1 HOUR EVERY 10 MINUTES]",
        ),
        (
            "SELECT session_window(ts, '5 minutes') FROM v;",
            "sessions stand in brackets behind their stream: FROM s [PARTITION BY k SESSION 10 MINUTES]",
        ),
        (
            "SELECT * FROM TABLE(CUMULATE(TABLE v, DESCRIPTOR(ts), INTERVAL '1' HOUR, INTERVAL '1' DAY));",
            "everything since an instant is [LANDMARK TIMESTAMP '…' SLIDE 1 HOUR], behind its stream",
        ),
        (
            "SELECT count(*) FROM v [TUMBLE 1 HOUR] EMIT ON WINDOW CLOSE;",
            "RSTREAM(…) EVERY 10 MINUTES emits each window of 10 minutes when it is complete;"
            " so does ISTREAM(…) with window_start in it",
        ),
        (
            "SELECT count(*) FROM v [TUMBLE 1 HOUR] EMIT CHANGES;",
            "a relation is answered by its changes as it is; ISTREAM(…) emits what is new",
        ),
        (
            "CREATE STREAM u (ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) FROM csv 'u.csv';",
            "write TIMESTAMP BY ts LATENESS 5 SECONDS behind the attributes",
        ),
        (
            "CREATE TABLE u (a INT) WITH ('connector' = 'kafka');",
            "CREATE STREAM is for tuples that come, CREATE RELATION for what is stored, or changes by a log",
        ),
        (
            "CREATE MATERIALIZED VIEW m AS SELECT * FROM v [ROWS 3];",
            "CREATE VIEW names a query; INSERT INTO parquet 'path' SELECT … writes its answer",
        ),
        (
            "SELECT * FROM v MATCH_RECOGNIZE (ORDER BY ts PATTERN (A B) DEFINE B AS B.ts > A.ts);",
            "what follows what is a join of a stream with itself:"
            " s a JOIN s b ON a.k = b.k AND b.ts > a.ts WITHIN 10 MINUTES",
        ),
        (
            "SELECT PROCTIME() FROM v;",
            "TIMESTAMP ON ARRIVAL stamps a tuple when it arrives; _t is the time of a tuple",
        ),
        (
            "SELECT a.page FROM v a JOIN v b ON a.ts BETWEEN b.ts - INTERVAL '5' SECOND AND b.ts;",
            "write WITHIN 5 SECOND behind the condition, and keep what says which comes first, as a.ts >= b.ts",
        ),
        ("SELECT x FROM v CROSS JOIN UNNEST(array(1, 2)) AS t(x);", "write FROM s, LATERAL explode(a) AS t(x)"),
        ("SELECT now() FROM v;", "_t is the time of a tuple"),
        ("SELECT current_date() FROM v;", "CAST(_t AS DATE) is the day of a tuple"),
        ("SELECT monotonically_increasing_id() FROM v;", "_n is the position of a tuple"),
        ("SELECT TOP 3 page FROM v [ROWS 9];", "LIMIT 3 behind the query keeps the first three of each state"),
        (
            "SELECT a.page FROM v [ROWS 9] a, LATERAL (SELECT max(page) FROM v [ROWS 9]) b;",
            "a subquery may stand in SELECT: (SELECT max(v) FROM r WHERE r.k = s.k)",
        ),
    ],
)
def test_what_flink_risingwave_and_spark_have_has_its_form_here(query: str, expected: str) -> None:
    assert hint(query) == expected


@pytest.mark.parametrize("clause", ["LIMIT 3", "OFFSET 3"])
def test_a_limit_wants_a_window(clause: str) -> None:
    chooses = "it chooses from states: take a window first, as [TUMBLE 1 MINUTE], or [UNBOUNDED] for all so far"
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
