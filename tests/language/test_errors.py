"""Errors of the language, by their exact text: what is wrong, where, and what to do."""

from __future__ import annotations

import pytest

from astralq.language import ScriptError, read_script
from tests.language.support import DECLARED, error

CASES: dict[str, tuple[str, str]] = {
    "unknown stream": (
        "SELECT a FROM nothing;",
        "line 10, column 15: unknown stream or relation 'nothing'\n"
        "10 | SELECT a FROM nothing;\n"
        "   |               ^^^^^^^\n"
        "  hint: declared are s, k, w, car, r, q, log",
    ),
    "misspelt stream": (
        "SELECT x FROM kar;",
        "line 10, column 15: unknown stream or relation 'kar'\n"
        "10 | SELECT x FROM kar;\n"
        "   |               ^^^\n"
        "  hint: did you mean 'car'?",
    ),
    "unknown attribute": (
        "SELECT nme FROM r;",
        "line 10, column 8: unknown attribute 'nme': the attributes are id, name\n"
        "10 | SELECT nme FROM r;\n"
        "   |        ^^^\n"
        "  hint: did you mean 'name'?",
    ),
    "unknown attribute of a qualified name": (
        "SELECT r.nme FROM r;",
        "line 10, column 8: unknown attribute 'nme': the attributes are id, name\n"
        "10 | SELECT r.nme FROM r;\n"
        "   |        ^^^^^\n"
        "  hint: did you mean 'name'?",
    ),
    "unknown qualifier": (
        "SELECT sm.id FROM r AS sme;",
        "line 10, column 8: 'sm' is not in FROM\n"
        "10 | SELECT sm.id FROM r AS sme;\n"
        "   |        ^^^^^\n"
        "  hint: did you mean 'sme'?",
    ),
    "ambiguous name": (
        "SELECT id FROM r JOIN q ON r.id = q.id;",
        "line 10, column 8: 'id' is ambiguous\n"
        "10 | SELECT id FROM r JOIN q ON r.id = q.id;\n"
        "   |        ^^\n"
        "  hint: write r.id or q.id",
    ),
    "unknown function": (
        "SELECT cout(id) FROM r;",
        "line 10, column 8: unknown function 'cout'\n"
        "10 | SELECT cout(id) FROM r;\n"
        "   |        ^^^^\n"
        "  hint: did you mean 'count'?",
    ),
    "reflect": (
        "SELECT reflect('java.lang.System', 'exit') FROM r;",
        "line 10, column 8: the function 'reflect' is refused: it reaches outside the query, "
        "whose text is not trusted\n"
        "10 | SELECT reflect('java.lang.System', 'exit') FROM r;\n"
        "   |        ^^^^^^^",
    ),
    "java_method": (
        "SELECT java_method('java.lang.System', 'exit') FROM r;",
        "line 10, column 8: the function 'java_method' is refused: it reaches outside the query, "
        "whose text is not trusted\n"
        "10 | SELECT java_method('java.lang.System', 'exit') FROM r;\n"
        "   |        ^^^^^^^^^^^",
    ),
    "unknown region of a window": (
        "SELECT x FROM car [RANGE BY see RATTR SPACE];",
        "line 10, column 19: unknown region 'see'\n"
        "10 | SELECT x FROM car [RANGE BY see RATTR SPACE];\n"
        "   |                   ^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  hint: did you mean 'sea'?",
    ),
    "unknown region of a predicate": (
        "SELECT x FROM car WHERE inside(x, y, se);",
        "line 10, column 25: unknown region 'se'\n"
        "10 | SELECT x FROM car WHERE inside(x, y, se);\n"
        "   |                         ^^^^^^\n"
        "  hint: did you mean 'sea'?",
    ),
    "unknown type": (
        "CREATE STREAM z (v INTT) FROM csv 'x' TIMESTAMP ON ARRIVAL;",
        "line 10, column 20: unknown type 'INTT'\n"
        "10 | CREATE STREAM z (v INTT) FROM csv 'x' TIMESTAMP ON ARRIVAL;\n"
        "   |                    ^^^^\n"
        "  hint: did you mean 'INT'?",
    ),
    "unknown timestamp attribute": (
        "CREATE STREAM z (ts TIMESTAMP) FROM csv 'x' TIMESTAMP BY t;",
        "line 10, column 58: unknown attribute 't': the attributes are ts\n"
        "10 | CREATE STREAM z (ts TIMESTAMP) FROM csv 'x' TIMESTAMP BY t;\n"
        "   |                                                          ^\n"
        "  hint: did you mean 'ts'?",
    ),
    "unreadable region": (
        "CREATE REGION z AS 'CIRCLE';",
        "line 10, column 20: region z: cannot read its WKT (ParseException: Unknown type: 'CIRCLE')\n"
        "10 | CREATE REGION z AS 'CIRCLE';\n"
        "   |                    ^^^^^^^^\n"
        "  hint: write for example 'POLYGON ((0 0, 1 0, 1 1, 0 0))'",
    ),
    "declared twice": (
        "CREATE VIEW s AS SELECT * FROM r;",
        "line 10, column 13: 's' is declared twice\n"
        "10 | CREATE VIEW s AS SELECT * FROM r;\n"
        "   |             ^\n"
        "  hint: choose another name",
    ),
    "a kind of thing that there is not": (
        "CREATE TABLE z (v INT);",
        "line 10, column 8: expected STREAM, RELATION, REGION, VIEW or FUNCTION\n"
        "10 | CREATE TABLE z (v INT);\n   |        ^^^^^\n"
        "  hint: CREATE STREAM is for tuples that come, CREATE RELATION for what is stored, or changes by a log",
    ),
    "a sensed stream without time": (
        "CREATE STREAM z (site INT) SENSED EVERY 1 MINUTE AT SITES (1) FROM python 'm:c';",
        "line 10, column 15: the sensed stream z has no attribute 'time'\n"
        "10 | CREATE STREAM z (site INT) SENSED EVERY 1 MINUTE AT SITES (1) FROM python 'm:c';\n"
        "   |               ^\n"
        "  hint: a sensed stream has attributes site and time, which are filled in",
    ),
    "a change log without its time": (
        "CREATE RELATION z (a STRING) FROM csv 'a' CHANGES BY a;",
        "line 10, column 54: expected AT\n"
        "10 | CREATE RELATION z (a STRING) FROM csv 'a' CHANGES BY a;\n"
        "   |                                                      ^",
    ),
    "no path": (
        "CREATE STREAM z (v INT) FROM csv;",
        "line 10, column 30: expected a path in quotes\n"
        "10 | CREATE STREAM z (v INT) FROM csv;\n"
        "   |                              ^^^",
    ),
    "start without TIMESTAMP": (
        "START AT '2026-03-01';",
        "line 10, column 10: expected TIMESTAMP\n10 | START AT '2026-03-01';\n   |          ^^^^^^^^^^^^",
    ),
    "unreadable start": (
        "START AT TIMESTAMP 'soon';",
        "line 10, column 20: cannot read 'soon' as a time (Invalid isoformat string: 'soon')\n"
        "10 | START AT TIMESTAMP 'soon';\n"
        "   |                    ^^^^^^\n"
        "  hint: write for example '2024-05-01T12:00:00Z'",
    ),
    "ticks outside cql": (
        "SET TICK 1 SECOND;",
        "line 10, column 10: ticks belong to the cql dialect\n"
        "10 | SET TICK 1 SECOND;\n"
        "   |          ^^^^^^^^\n"
        "  hint: --dialect cql",
    ),
    "misspelt window": (
        "SELECT v FROM s [RNGE 5 SECONDS];",
        "line 10, column 18: expected a window, not RNGE\n"
        "10 | SELECT v FROM s [RNGE 5 SECONDS];\n"
        "   |                  ^^^^\n"
        "  hint: did you mean 'RANGE'?",
    ),
    "window without its end": (
        "SELECT v FROM s [RANGE 5 SECONDS;",
        "line 10, column 17: expected ] at the end of the window\n"
        "10 | SELECT v FROM s [RANGE 5 SECONDS;\n"
        "   |                 ^",
    ),
    "empty window": (
        "SELECT v FROM s [];",
        "line 10, column 18: expected a window, not ]\n"
        "10 | SELECT v FROM s [];\n"
        "   |                  ^\n"
        "  hint: write for example [RANGE 10 MINUTES]",
    ),
    "misspelt unit": (
        "SELECT v FROM s [RANGE 5 SECNDS];",
        "line 10, column 18: unknown unit of time 'SECNDS' in '5 SECNDS'\n"
        "10 | SELECT v FROM s [RANGE 5 SECNDS];\n"
        "   |                  ^^^^^^^^^^^^^^\n"
        "  hint: did you mean 'seconds'?",
    ),
    "unit of another measure": (
        "SELECT v FROM s [RANGE 5 KM];",
        "line 10, column 18: unknown unit of time 'KM' in '5 KM'\n"
        "10 | SELECT v FROM s [RANGE 5 KM];\n"
        "   |                  ^^^^^^^^^^\n"
        "  hint: use weeks, days, hours, minutes, seconds, ms or us",
    ),
    "missing unit": (
        "SELECT v FROM s [RANGE 5];",
        "line 10, column 25: expected a unit after 5\n"
        "10 | SELECT v FROM s [RANGE 5];\n"
        "   |                         ^\n"
        "  hint: write for example 10 MINUTES, or 5 ROWS",
    ),
    "no whole number of rows": (
        "SELECT v FROM s [ROWS 5.5];",
        "line 10, column 23: expected a number of rows\n"
        "10 | SELECT v FROM s [ROWS 5.5];\n"
        "   |                       ^^^",
    ),
    "a window of nothing": (
        "SELECT v FROM s [ROWS 0];",
        "line 10, column 18: ROWS 0 holds nothing\n"
        "10 | SELECT v FROM s [ROWS 0];\n"
        "   |                  ^^^^^^\n"
        "  hint: give a number of at least 1",
    ),
    "a rate of nothing": (
        "SELECT v FROM s [RANGE 5 SECONDS SLIDE 0 SECONDS];",
        "line 10, column 18: the rate is 0 SECONDS\n"
        "10 | SELECT v FROM s [RANGE 5 SECONDS SLIDE 0 SECONDS];\n"
        "   |                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  hint: windows move on at a rate greater than 0",
    ),
    "something behind a window": (
        "SELECT v FROM s [RANGE 1 MINUTE AGAIN 2];",
        "line 10, column 33: 'AGAIN' cannot stand here\n"
        "10 | SELECT v FROM s [RANGE 1 MINUTE AGAIN 2];\n"
        "   |                                 ^^^^^\n"
        "  hint: the window is complete before it",
    ),
    "a distance as a time": (
        "SELECT x FROM car [RANGE BY '50 km' RATTR TIME SLIDE BY '10 km' SATTR SPACE];",
        "line 10, column 43: '50 km' is not a duration\n"
        "10 | SELECT x FROM car [RANGE BY '50 km' RATTR TIME SLIDE BY '10 km' SATTR SPACE];\n"
        "   |                                           ^^^^",
    ),
    "a moving window without a slide": (
        "SELECT x FROM car [RANGE BY '50 km' RATTR SPACE];",
        "line 10, column 48: a moving window needs SLIDE BY\n"
        "10 | SELECT x FROM car [RANGE BY '50 km' RATTR SPACE];\n"
        "   |                                                ^\n"
        "  hint: write … SLIDE BY '10 km' SATTR SPACE",
    ),
    "a spatial window without a location": (
        "SELECT v FROM s [ROWS 5 SLIDE 10 km];",
        "line 10, column 17: [ROWS 5 SLIDE 10 km] measures distance, but the stream has no location\n"
        "10 | SELECT v FROM s [ROWS 5 SLIDE 10 km];\n"
        "   |                 ^^^^^^^^^^^^^^^^^^^^\n"
        "  hint: declare LOCATION BY (lon, lat) on the stream",
    ),
    "bounds that cannot be reached": (
        "SELECT v FROM s [ALPHA 2s*j BETA 3s*j RATE 2s];",
        "line 10, column 18: window 1 ends at t0 + 3 SECONDS but is evaluated at t0 + 2 SECONDS, before its end\n"
        "10 | SELECT v FROM s [ALPHA 2s*j BETA 3s*j RATE 2s];\n"
        "   |                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  hint: the end moves by at most the rate, so that it can be reached",
    ),
    "bounds without a unit": (
        "SELECT v FROM s [ALPHA 2*j BETA 3s*j RATE 2s];",
        "line 10, column 18: the bound 2 has no unit\n"
        "10 | SELECT v FROM s [ALPHA 2*j BETA 3s*j RATE 2s];\n"
        "   |                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  hint: write for example 2s*j + 3s",
    ),
    "bounds in the wrong order": (
        "SELECT v FROM s [FROM NOW-1 TO NOW-5 SLIDE 1 MIN];",
        "line 10, column 17: window 0 begins at t0 + -1 MINUTE, after its end at t0 + -5 MINUTES\n"
        "10 | SELECT v FROM s [FROM NOW-1 TO NOW-5 SLIDE 1 MIN];\n"
        "   |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  hint: the lower bound is at or before the upper one in every window",
    ),
    "unknown time zone": (
        "SELECT v FROM s [ROWS 1 SLIDE 1s BETWEEN '07:00' AND '20:00' ELSE SLIDE 2s AT TIME ZONE 'Mars'];",
        "line 10, column 18: unknown time zone 'Mars'\n"
        "10 | SELECT v FROM s [ROWS 1 SLIDE 1s BETWEEN '07:00' AND '20:00' ELSE SLIDE 2s AT TIME ZONE 'Mars'];\n"
        "   |                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  hint: give a name such as 'Europe/Paris'",
    ),
    "no time of day": (
        "SELECT v FROM s [ROWS 1 SLIDE 1s BETWEEN '7 am' AND '20:00' ELSE SLIDE 2s];",
        "line 10, column 18: '7 am' is not a time of day\n"
        "10 | SELECT v FROM s [ROWS 1 SLIDE 1s BETWEEN '7 am' AND '20:00' ELSE SLIDE 2s];\n"
        "   |                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  hint: write for example '07:00'",
    ),
    "unknown attribute of a partition": (
        "SELECT v FROM k [PARTITION BY idd ROWS 1];",
        "line 10, column 17: unknown attribute 'idd': the attributes are id, v\n"
        "10 | SELECT v FROM k [PARTITION BY idd ROWS 1];\n"
        "   |                 ^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  hint: did you mean 'id'?",
    ),
    "a window over a relation": (
        "SELECT id FROM r [ROWS 2];",
        "line 10, column 18: a window takes a stream, and this is a relation:\n"
        "RELATION r\n"
        "10 | SELECT id FROM r [ROWS 2];\n"
        "   |                  ^^^^^^^^\n"
        "  hint: turn a relation into a stream with ISTREAM, DSTREAM or RSTREAM",
    ),
    "an aggregate over a bare stream": (
        "SELECT count(*) FROM s;",
        "line 10, column 22: an aggregate over a bare stream never ends:\n"
        "STREAM s\n"
        "10 | SELECT count(*) FROM s;\n"
        "   |                      ^\n"
        "  hint: take a window first, for example [RANGE 10 MINUTES] or [UNBOUNDED]",
    ),
    "DISTINCT over a bare stream": (
        "SELECT DISTINCT v FROM s;",
        "line 10, column 24: DISTINCT over a bare stream never ends\n"
        "10 | SELECT DISTINCT v FROM s;\n"
        "   |                        ^\n"
        "  hint: turn a stream into a relation with a window, for example [ROWS 10]",
    ),
    "a streamer over a stream": (
        "ISTREAM(SELECT v FROM s);",
        "line 10, column 16: a streamer takes a relation, and this is a stream:\n"
        "PROJECT v\n"
        "└─ STREAM s\n"
        "10 | ISTREAM(SELECT v FROM s);\n"
        "   |                ^^^^^^^^\n"
        "  hint: turn a stream into a relation with a window, for example [ROWS 10]",
    ),
    "two streams without a band": (
        "SELECT * FROM k JOIN w ON k.id = w.id;",
        "line 10, column 17: two streams are joined without a band\n"
        "10 | SELECT * FROM k JOIN w ON k.id = w.id;\n"
        "   |                 ^^^^\n"
        "  hint: add WITHIN and a duration or a number of rows, or give one of them a window",
    ),
    "two streams without a condition": (
        "SELECT * FROM k, w;",
        "line 10, column 15: two streams are joined without a band\n"
        "10 | SELECT * FROM k, w;\n"
        "   |               ^^^^\n"
        "  hint: add WITHIN and a duration or a number of rows, or give one of them a window",
    ),
    "types that do not go together": (
        "SELECT * FROM k JOIN r ON k.id = r.name;",
        "line 10, column 27: in the comparison: id is INT, name is STRING\n"
        "10 | SELECT * FROM k JOIN r ON k.id = r.name;\n"
        "   |                           ^^^^^^^^^^^^^\n"
        "  hint: CAST one of them to the other's type",
    ),
    "a band of no duration": (
        "SELECT * FROM k JOIN w ON k.id = w.id WITHIN 5 KM;",
        "line 10, column 46: unknown unit of time 'KM' in '5 KM'\n"
        "10 | SELECT * FROM k JOIN w ON k.id = w.id WITHIN 5 KM;\n"
        "   |                                              ^^^^\n"
        "  hint: use weeks, days, hours, minutes, seconds, ms or us",
    ),
    "LOOKUP without JOIN": (
        "SELECT * FROM k LOOKUP r;",
        "line 10, column 24: expected JOIN after LOOKUP\n10 | SELECT * FROM k LOOKUP r;\n   |                        ^",
    ),
    "IN a stream": (
        "SELECT v FROM s WHERE v IN (SELECT v FROM k);",
        "line 10, column 23: IN and EXISTS take a relation, and this is a stream\n"
        "10 | SELECT v FROM s WHERE v IN (SELECT v FROM k);\n"
        "   |                       ^^^^^^^^^^^^^^^^^^^^^\n"
        "  hint: give its stream a window",
    ),
    "IN of two attributes": (
        "SELECT v FROM s WHERE v IN (SELECT id, name FROM r);",
        "line 10, column 23: IN takes a query of one attribute, and this has 2\n"
        "10 | SELECT v FROM s WHERE v IN (SELECT id, name FROM r);\n"
        "   |                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  hint: name what is compared in its SELECT",
    ),
    "set operation of different widths": (
        "SELECT id FROM r UNION SELECT id, name FROM q;",
        "line 10, column 8: UNION: the left side has 1 attributes (id INT), the right side 2 (id INT, name STRING)\n"
        "10 | SELECT id FROM r UNION SELECT id, name FROM q;\n"
        "   |        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  hint: project both sides to the same attributes",
    ),
    "an aggregate of an aggregate": (
        "SELECT max(count(*)) FROM r;",
        "line 10, column 8: max of an aggregate\n"
        "10 | SELECT max(count(*)) FROM r;\n"
        "   |        ^^^\n"
        "  hint: aggregate again in an outer query",
    ),
    "a pseudo-column of a relation": (
        "SELECT _t FROM r;",
        "line 10, column 8: _t is there only for tuples of a stream\n"
        "10 | SELECT _t FROM r;\n"
        "   |        ^^\n"
        "  hint: use it before joining or aggregating them",
    ),
    "an unreadable time": (
        "SELECT id FROM r AT TIMESTAMP 'soon';",
        "line 10, column 31: cannot read 'soon' as a time (Invalid isoformat string: 'soon')\n"
        "10 | SELECT id FROM r AT TIMESTAMP 'soon';\n"
        "   |                               ^^^^^^\n"
        "  hint: write for example '2024-05-01T12:00:00Z'",
    ),
    "a missing bracket": (
        "SELECT (v + 1 FROM s;",
        "line 10, column 15: expected )\n10 | SELECT (v + 1 FROM s;\n   |               ^^^^",
    ),
    "a streamer without its end": (
        "ISTREAM(SELECT v FROM s [ROWS 1];",
        "line 10, column 32: expected )\n10 | ISTREAM(SELECT v FROM s [ROWS 1];\n   |                                ^",
    ),
    "nothing behind FROM": (
        "SELECT v FROM;",
        "line 10, column 10: expected a stream, a relation, a view or a parenthesised query\n"
        "10 | SELECT v FROM;\n"
        "   |          ^^^^",
    ),
    "nothing behind AND": (
        "SELECT v FROM s WHERE v = 1 AND;",
        "line 10, column 29: something is missing here\n"
        "10 | SELECT v FROM s WHERE v = 1 AND;\n"
        "   |                             ^^^",
    ),
    "no query": (
        "SELEC v FROM s;",
        "line 10, column 1: expected a query: SELECT, ISTREAM(…), DSTREAM(…), RSTREAM(…) or WITH\n"
        "10 | SELEC v FROM s;\n"
        "   | ^^^^^",
    ),
    "an alias before the window": (
        "SELECT v FROM s AS a [ROWS 1];",
        "line 10, column 22: the alias comes after the window\n"
        "10 | SELECT v FROM s AS a [ROWS 1];\n"
        "   |                      ^",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_error_says_what_where_and_what_to_do(name: str) -> None:
    text, expected = CASES[name]
    assert error(DECLARED + text) == expected


def test_an_unknown_dialect() -> None:
    assert error("", "cqll") == "unknown dialect 'cqll'\n  hint: did you mean 'cql'?"
    assert error("", "oracle") == "unknown dialect 'oracle'\n  hint: the dialects are astral, cql, sneeql"


def test_all_errors_of_a_file_are_in_one() -> None:
    text = """CREATE STREAM s (v INTT) FROM csv 's.csv' TIMESTAMP ON ARRIVAL;
CREATE RELATION r (id INT) FROM csv 'r.csv';
SELECT idd FROM r;
SELECT id FROM r WHERE;
SELECT id FROM r;
"""
    with pytest.raises(ScriptError) as raised:
        read_script(text)
    places = [(e.span.line, e.span.column) for e in raised.value.errors if e.span is not None]
    assert places == [(1, 20), (3, 8), (4, 18)]
    assert str(raised.value) == "\n\n".join(map(str, raised.value.errors))


# The place of an error


def marked(text: str, dialect: str = "astral") -> str:
    """What the first error underlines."""
    with pytest.raises(ScriptError) as raised:
        read_script(text, dialect)
    span = raised.value.span
    assert span is not None
    line = span.source.splitlines()[span.line - 1]
    return line[span.column - 1 : span.column - 1 + span.length]


def test_an_unclosed_quote_has_a_place_and_a_hint_that_helps() -> None:
    assert error("SELECT v FROM s WHERE v = 'abc;").startswith("line 1, column 27: ")


def test_an_unclosed_comment_has_a_place() -> None:
    assert error("SELECT v FROM s /* abc;").startswith("line 1, column 17: ")


def test_a_query_without_from_has_a_place() -> None:
    assert error("SELECT 1;").startswith("line 1, column ")


def test_an_unknown_format_is_underlined() -> None:
    assert marked("CREATE STREAM z (v INT) FROM cvs 'x' TIMESTAMP ON ARRIVAL;") == "cvs"


def test_an_unknown_unit_is_underlined() -> None:
    assert marked("CREATE STREAM z (ts INT) FROM csv 'x' TIMESTAMP BY ts UNIT HOURS;") == "HOURS"


def test_an_aggregate_in_where_is_underlined() -> None:
    assert "count" in marked(DECLARED + "SELECT * FROM r WHERE count(*) > 1;")


def test_an_unknown_attribute_of_spread_is_underlined() -> None:
    assert marked(DECLARED + "SELECT * FROM SPREAD(k BY x);") == "x"


def test_what_is_neither_grouped_nor_aggregated_is_underlined() -> None:
    assert marked(DECLARED + "SELECT id, count(*) FROM r;").startswith("id")


def test_a_wrong_operand_is_underlined() -> None:
    assert "'a'" in marked(DECLARED + "SELECT v FROM s WHERE v > 'a' + 1;")


def test_what_a_view_was_to_be_is_not_missed_again() -> None:
    """An error in a view's query is one error, not one more for each use of the view."""
    text = f"{DECLARED} CREATE VIEW a AS SELECT foo FROM r; SELECT * FROM a;"
    with pytest.raises(ScriptError) as raised:
        read_script(text)
    assert len(raised.value.errors) == 1


# What has to be refused


@pytest.mark.parametrize(
    "text",
    [
        "SELECT sum(id) OVER (PARTITION BY name) FROM r;",
        "DROP TABLE r;",
        "WITH RECURSIVE a AS (SELECT id FROM r) SELECT * FROM a;",
        "SELECT * FROM r TABLESAMPLE (10 PERCENT);",
    ],
)
def test_what_is_not_part_of_the_language_is_refused(text: str) -> None:
    assert error(DECLARED + text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * REPLACE (1 AS id) FROM r;",
        "SELECT v, FROM s;",
        "CREATE REGION sea AS 'POLYGON ((0 0, 1 0, 1 1, 0 0))';",
        "SELECT 1 FROM r AS a, q AS a;",
    ],
)
def test_what_would_be_read_wrongly_is_refused(text: str) -> None:
    assert error(DECLARED + text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id, count(*) FROM r GROUP BY id WITH TOTALS;",
        "SELECT count(DISTINCT ON (id) id) FROM r;",
        "SELECT id INTO x FROM r;",
        "SELECT v FROM s [ROWS 1] FOR UPDATE;",
        "SELECT id, 1 AS b FROM r UNION BY NAME SELECT 1 AS b, id FROM q;",
    ],
)
def test_a_clause_that_is_not_part_of_the_language_is_not_left_out_silently(text: str) -> None:
    assert error(DECLARED + text)
