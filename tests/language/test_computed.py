"""Computed attributes and TIMESTAMP BY an expression: read, printed back, evaluated by the model, and refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from astralq import relation, stream
from astralq.algebra.serialize import dumps, loads
from astralq.algebra.sources import RelationSource, StreamSource
from astralq.errors import DataError
from astralq.io.files import read_sources
from astralq.language import read_script
from astralq.language.printer import print_script
from astralq.model import run
from astralq.schema import schema
from tests.language.support import bound, error
from tests.support import answer, sec

DATED = """
CREATE STREAM z (d STRING, a INT, c DOUBLE AS (a / 10), e AS (c + 1))
  FROM csv 'z.csv' OPTIONS (header = 'true') TIMESTAMP BY to_timestamp(concat('19', d), 'yyyyMMdd');
"""


def test_an_attribute_is_computed_from_those_before_it() -> None:
    z = bound("SELECT * FROM z", declared=DATED)
    assert isinstance(z, StreamSource)
    assert z.schema == schema("d STRING, a INT, c DOUBLE, e DOUBLE")
    assert z.stored == schema("d STRING, a INT")
    shown = {name: str(e) for name, e in z.computed}
    assert shown == {"c": "a / 10", "e": "a / 10 + 1", "_timestamp": "to_timestamp(concat('19', d), 'yyyyMMdd')"}


@pytest.mark.parametrize(
    "text",
    [
        DATED,
        "CREATE STREAM z (a INT, b INT GENERATED ALWAYS AS (a + 1)) FROM json 'z' TIMESTAMP BY a * 60 UNIT SECONDS;",
        "CREATE STREAM z (a INT, b BIGINT AS (a)) FROM parquet 'z' TIMESTAMP BY timestamp_seconds(b) POSITION BY b;",
        "CREATE STREAM z (timestamp STRING) FROM csv 'z' TIMESTAMP BY to_timestamp(timestamp);",
        "CREATE STREAM z (timestamp TIMESTAMP) FROM csv 'z' TIMESTAMP BY timestamp LATENESS 5 SECONDS;",
        "CREATE STREAM z (d STRING, f STRING AS (_file)) FROM csv 'z' TIMESTAMP BY to_timestamp(_file, 'yyyy-MM-dd');",
        "CREATE STREAM z (d DATE) FROM csv 'z' OPTIONS (dateFormat = 'd.M.yyyy') TIMESTAMP BY d;",
        "CREATE STREAM z (d STRING, b BOOLEAN) FROM csv 'z' TIMESTAMP BY to_timestamp(d) HEARTBEAT BY b;",
        "CREATE RELATION z (d STRING, a TIMESTAMP AS (to_timestamp(d, 'd.M.yyyy'))) FROM csv 'z' VALID FROM a;",
        "CREATE RELATION z (o INT, a TIMESTAMP, op STRING AS (if(o = 1, '+', '-'))) FROM csv 'z' CHANGES BY op AT a;",
    ],
)
def test_a_declaration_reads_back_as_itself(text: str) -> None:
    op = bound("SELECT * FROM z", declared=text)
    assert read_script(print_script(op)).queries[0].operator == op
    assert loads(dumps(op)) == op
    assert loads(dumps(op)).digest == op.digest


def test_rows_are_completed_and_stamped_by_the_model(tmp_path: Path) -> None:
    (tmp_path / "z.csv").write_text("d,a\n700101,5\n700102,\n")
    query = bound("SELECT c, e, d FROM z", declared=DATED)
    found = [(t.t, *t.values) for t in run(query, read_sources(query, tmp_path))]
    assert found == [(0, 0.5, 1.5, "700101"), (86_400_000_000, None, None, "700102")]


def test_the_name_of_a_file_is_that_of_the_file_without_its_folder(tmp_path: Path) -> None:
    for day in ("2026-03-01", "2026-03-02"):
        (tmp_path / f"{day}.csv").write_text("1\n2\n")
    by = "to_timestamp(substring(_file, 1, 10))"
    text = f"CREATE STREAM z (v INT, f AS (_file)) FROM csv '2026*.csv' TIMESTAMP BY {by};"
    query = bound("SELECT v, f, _t FROM z", declared=text)
    found = [t.values[:2] for t in run(query, read_sources(query, tmp_path))]
    assert found == [(1, "2026-03-01.csv"), (2, "2026-03-01.csv"), (1, "2026-03-02.csv"), (2, "2026-03-02.csv")]


def test_a_relation_may_be_valid_from_what_is_computed(tmp_path: Path) -> None:
    (tmp_path / "z.csv").write_text("1.1.1970\n2.1.1970\n")
    text = "CREATE RELATION z (d STRING, a TIMESTAMP AS (to_timestamp(d, 'd.M.yyyy'))) FROM csv 'z.csv' VALID FROM a;"
    query = bound("SELECT d FROM z", declared=text)
    assert isinstance(query.children[0], RelationSource)
    assert answer(query, read_sources(query, tmp_path)) == [("+", 0, 0, "1.1.1970"), ("+", 86400, 0, "2.1.1970")]


def test_rows_of_python_are_given_as_they_are_stored() -> None:
    s = stream("S", "d STRING", timestamp="to_timestamp(d, 'yyyyMMdd')", computed={"n": "length(d)"})
    assert answer(s.select("n"), {"S": [("19700102",), ("19700101",)]}) == [(0, 0, 8), (86400, 0, 8)]
    assert answer(s.select("n"), {"S": [("19700102", 3, sec(7))]}) == [(7, 0, 3)]  # or with all attributes
    r = relation("R", "d STRING", valid_from="since", computed={"since": "to_timestamp(d, 'yyyyMMdd')"})
    assert answer(r.select("d"), {"R": [("19700102",)]}) == [("+", 86400, 0, "19700102")]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            "19700101,1\n19701301,1\n",
            "z.csv, row 2 (line 2): '19701301' is not a time written as 'yyyyMMdd', "
            "in TIMESTAMP BY to_timestamp(d, 'yyyyMMdd')",
        ),
        (
            "19700101,0\n",
            "z.csv, row 1 (line 1): division by zero, in c AS (1 / a)\n  hint: guard it: x / nullif(y, 0)",
        ),
        (",1\n", "row 1 of stream z has no timestamp: to_timestamp(d, 'yyyyMMdd') is NULL"),
    ],
)
def test_a_row_that_fails_is_told_with_its_place(rows: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "z.csv").write_text(rows)
    text = "CREATE STREAM z (d STRING, a INT, c AS (1 / a)) FROM csv 'z.csv' TIMESTAMP BY to_timestamp(d, 'yyyyMMdd');"
    query = bound("SELECT c FROM z", declared=text)
    with pytest.raises(DataError) as refused:
        run(query, read_sources(query, tmp_path))
    assert str(refused.value) == message


ERRORS = {
    "CREATE STREAM z (a INT, c INT AS (a / 2)) FROM csv 'z' TIMESTAMP ON ARRIVAL": (
        "line 1, column 25: 'c' is INT, and a / 2 is DOUBLE\n"
        "1 | CREATE STREAM z (a INT, c INT AS (a / 2)) FROM csv 'z' TIMESTAMP ON ARRIVAL\n"
        "  |                         ^\n"
        "  hint: CAST it: CAST(a / 2 AS INT)"
    ),
    "CREATE STREAM z (a INT, c AS (b + 1)) FROM csv 'z' TIMESTAMP ON ARRIVAL": (
        "line 1, column 31: unknown attribute 'b': the attributes are a\n"
        "1 | CREATE STREAM z (a INT, c AS (b + 1)) FROM csv 'z' TIMESTAMP ON ARRIVAL\n"
        "  |                               ^"
    ),
    "CREATE STREAM z (a INT, c AS (sum(a))) FROM csv 'z' TIMESTAMP ON ARRIVAL": (
        "line 1, column 25: sum(a) is not of one row\n"
        "1 | CREATE STREAM z (a INT, c AS (sum(a))) FROM csv 'z' TIMESTAMP ON ARRIVAL\n"
        "  |                         ^\n"
        "  hint: aggregate in a query, over a window"
    ),
    "CREATE STREAM z (a INT, c DOUBLE AS a / 10) FROM csv 'z' TIMESTAMP ON ARRIVAL": (
        "line 1, column 37: expected ( and what c is computed by: c DOUBLE AS (a / 10)\n"
        "1 | CREATE STREAM z (a INT, c DOUBLE AS a / 10) FROM csv 'z' TIMESTAMP ON ARRIVAL\n"
        "  |                                     ^"
    ),
    "CREATE STREAM z (a STRING) FROM csv 'z' TIMESTAMP BY concat('19', a)": (
        "line 1, column 15: stream z: TIMESTAMP BY an expression that is STRING\n"
        "1 | CREATE STREAM z (a STRING) FROM csv 'z' TIMESTAMP BY concat('19', a)\n"
        "  |               ^\n"
        "  hint: write to_timestamp(…) around it"
    ),
    "CREATE RELATION z (k INT, a DATE) FROM csv 'z' VALID FROM a": (
        "line 1, column 17: relation z: 'a' is DATE, not TIMESTAMP\n"
        "1 | CREATE RELATION z (k INT, a DATE) FROM csv 'z' VALID FROM a\n"
        "  |                 ^\n"
        "  hint: compute an attribute, at TIMESTAMP AS (CAST(a AS TIMESTAMP))"
    ),
    "CREATE STREAM z (a STRING, f AS (_file)) FROM kafka 'z' TIMESTAMP ON ARRIVAL": (
        "line 1, column 15: z is from kafka, and _file is the name of a file\n"
        "1 | CREATE STREAM z (a STRING, f AS (_file)) FROM kafka 'z' TIMESTAMP ON ARRIVAL\n"
        "  |               ^\n"
        "  hint: leave it out"
    ),
    "CREATE STREAM z (a STRING, b AS (a)) FROM csv 'z' WITH PROGRESS": (
        "line 1, column 15: stream z: WITH PROGRESS reads tuples back as they were written\n"
        "1 | CREATE STREAM z (a STRING, b AS (a)) FROM csv 'z' WITH PROGRESS\n"
        "  |               ^\n"
        "  hint: compute attributes in the query, or where they are written"
    ),
    "CREATE STREAM z (site INT, time TIMESTAMP, b AS (1)) SENSED EVERY 1 HOUR AT SITES (1) FROM python 'a:b'": (
        "line 1, column 15: a sensed stream has no computed attributes\n"
        "1 | CREATE STREAM z (site INT, time TIMESTAMP, b AS (1)) SENSED EVERY 1 HOUR AT SITES (1) FROM python 'a:b'\n"
        "  |               ^\n"
        "  hint: leave it out"
    ),
}


@pytest.mark.parametrize("text", ERRORS)
def test_what_is_wrong_with_a_computed_attribute(text: str) -> None:
    assert error(text) == ERRORS[text]


# The pseudo-column _file

FILES = """
CREATE STREAM z (v INT, ts TIMESTAMP) FROM csv '*.csv' TIMESTAMP BY ts;
CREATE RELATION r (v INT) FROM csv 'r/*.csv';
CREATE VIEW named AS SELECT *, _file FROM z;
"""


@pytest.mark.parametrize(
    ("query", "columns", "rows"),
    [
        ("SELECT v, _file FROM z", "v, _file", [(1, "a.csv"), (2, "b.csv")]),
        ("SELECT * FROM z WHERE _file = 'b.csv'", "v, ts", [(2, sec(2))]),
        ("SELECT *, _file AS f FROM z", "v, ts, f", [(1, sec(1), "a.csv"), (2, sec(2), "b.csv")]),
        ("SELECT a, _file FROM z AS x(a, b)", "a, _file", [(1, "a.csv"), (2, "b.csv")]),
        ("SELECT * FROM named", "v, ts, _file", [(1, sec(1), "a.csv"), (2, sec(2), "b.csv")]),
        (
            "ISTREAM(SELECT _file, count(*) AS n FROM z [ROWS 2] GROUP BY _file)",
            "_file, n",
            [("a.csv", 1), ("b.csv", 1)],
        ),
        (
            "RSTREAM(SELECT z._file, r._file FROM z [LAST ROW], r)",
            "_file, _file_2",
            [("a.csv", "c.csv"), ("b.csv", "c.csv")],
        ),
        ("SELECT _t, _file FROM SPREAD(z BY v)", "_t, _file", [(sec(1), "a.csv"), (sec(2), "b.csv")]),
        ("ISTREAM(z [ROWS 1])", "v, ts", [(1, sec(1)), (2, sec(2))]),
    ],
)
def test_the_files_of_tuples_can_be_named(query: str, columns: str, rows: list[object], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,1970-01-01T00:00:01\n")
    (tmp_path / "b.csv").write_text("2,1970-01-01T00:00:02\n")
    (tmp_path / "r").mkdir()
    (tmp_path / "r/c.csv").write_text("7\n")
    op = bound(query, declared=FILES)
    assert ", ".join(op.schema.names) == columns
    assert [t.values for t in run(op, read_sources(op, tmp_path))] == rows
    if "_file" in query:  # printed alone, a query that does not name files reads none of their names
        assert read_script(print_script(op)).queries[0].operator == op


def test_what_has_no_file_says_so() -> None:
    kafka = "CREATE STREAM k (v INT, ts TIMESTAMP) FROM kafka 'k' TIMESTAMP BY ts;"
    assert error(f"{kafka} SELECT _file FROM k") == (
        "line 1, column 78: _file is there only for tuples of a source FROM csv, json or parquet\n"
        f"1 | {kafka} SELECT _file FROM k\n"
        f"  | {' ' * 77}^^^^^\n"
        "  hint: behind a query or a view it has to be selected: SELECT *, _file FROM …"
    )
