"""`astralq check`: what it says of queries and sources, without running anything and without Spark."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from typer.testing import Result

from tests.cli.support import astralq, printed

EXAMPLES = Path(__file__).parents[2] / "examples"
HEADER = "OPTIONS (header = 'true')"
QUERY = "ISTREAM(SELECT k, v FROM s [ROWS 2]);\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text("k,v,ts\n1,0.5,2026-03-01T12:00:00Z\n2,,2026-03-01T12:00:10Z\n")
    return tmp_path


def stream(origin: str = f"csv 's.csv' {HEADER}", attributes: str = "k INT, v DOUBLE, ts TIMESTAMP") -> str:
    return f"CREATE STREAM s ({attributes}) FROM {origin} TIMESTAMP BY ts;\n"


def checked(text: str) -> Result:
    Path("q.aql").write_text(text)
    result = astralq("check", "q.aql")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def found(text: str) -> str:
    """What is said of the first source, by a check that finds nothing wrong."""
    result = checked(text)
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    return next(line for line in result.stdout.splitlines() if line.startswith("source")).split(": ", 1)[1]


def problems(text: str) -> list[str]:
    """All that is wrong, without the lines that show the place."""
    result = checked(text)
    assert result.exit_code == 2, result.output
    told = result.stderr.removesuffix("\n").split("\n\n")
    return ["\n".join(line for line in one.splitlines() if " | " not in line) for one in told]


# What is said where nothing is wrong


def test_a_query_is_told_with_its_columns_sources_state_and_who_would_take_it() -> None:
    result = checked(stream() + QUERY)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "-- query 1\n"
        "kind     stream\n"
        "columns  k INT, v DOUBLE\n"
        "source   stream s, csv 's.csv': 1 file, 2 rows fit\n"
        "kept     WINDOW [ROWS 2]: the tuples that it holds, or will hold\n"
        "run      takes it\n"
        "start    takes it\n"
    )


def test_several_files_are_told_with_their_names() -> None:
    for name in ("a.aql", "b.aql"):
        Path(name).write_text(stream() + QUERY)
    headings = [line for line in printed("check", "a.aql", "b.aql").splitlines() if line.startswith("--")]
    assert headings == ["-- query 1 of a.aql", "-- query 1 of b.aql"]


def test_standard_input_can_be_checked() -> None:
    result = astralq("check", "-", stdin=stream() + QUERY)
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "-- query 1")


def test_a_source_that_no_query_uses_is_looked_at_too() -> None:
    result = checked(stream() + f"CREATE RELATION r (k INT) FROM csv 's.csv' {HEADER};\n" + QUERY)
    assert result.stdout.endswith("\n\n-- used by no query\nsource   relation r, csv 's.csv': 1 file, 2 rows fit\n")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.aql")), ids=lambda p: p.stem)
def test_nothing_is_wrong_with_the_examples(path: Path) -> None:
    assert "-- query 1\n" in printed("check", str(path))


def test_an_example_is_checked_without_what_takes_long_to_import() -> None:
    """And its data are opened for their header and for their rows, no more: on an idle machine less than a second."""
    program = (
        "import sys\nfrom astralq.cli.app import app\nopened = []\n"
        "sys.addaudithook(lambda event, args: event == 'open' and opened.append(str(args[0])))\n"
        f"app(['check', {str(EXAMPLES / '13_last_30_items.aql')!r}], standalone_mode=False)\n"
        "slow = {'pyspark', 'pandas', 'matplotlib', 'py4j', 'shapely'}\n"
        "print(sorted(slow & set(sys.modules)), sum(f.endswith('items.csv') for f in opened) <= 2, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stderr == "[] True\n"


# Who would take it


def test_start_refuses_what_grows_for_ever_and_that_is_no_error() -> None:
    result = checked(stream() + "ISTREAM(SELECT a.k FROM s [UNBOUNDED] a JOIN s [NOW] b ON a.k = b.k);")
    assert (result.exit_code, result.stderr) == (0, "")
    assert (
        "kept     WINDOW [UNBOUNDED]: the tuples that it holds, or will hold, which grows for ever\n"
    ) in result.stdout
    assert result.stdout.endswith(
        "run      takes it\n"
        "start    refuses it: a continuous run would keep everything that comes: WINDOW [UNBOUNDED] keeps the tuples "
        "that it holds, or will hold\n"
        "           hint: give the window a beginning that moves, as [RANGE 1 DAY] or [ROWS 1000], or aggregate it "
        "first; or accept it with --allow-unbounded-state\n"
    )


@pytest.mark.parametrize("path", ["in", "in/*.csv"])
def test_a_folder_that_files_will_come_to_may_be_empty(path: str) -> None:
    Path("in").mkdir()
    result = checked(stream(f"csv '{path}'") + QUERY)
    assert (result.exit_code, result.stderr) == (0, "")
    assert f"source   stream s, csv '{path}': no file yet\n" in result.stdout
    assert "run      refuses it: " in result.stdout
    assert result.stdout.endswith("start    takes it\n")


def test_a_relation_needs_its_files_at_once() -> None:
    Path("in").mkdir()
    assert problems("CREATE RELATION r (k INT) FROM csv 'in';\nSELECT * FROM r;") == [
        "q.aql: line 1, column 17: the relation r: the folder in has no file that ends with .csv"
    ]


def test_a_query_that_neither_command_takes_is_wrong() -> None:
    origin = "kafka 't' OPTIONS (kafka.bootstrap.servers = 'h:9092')"
    text = stream(origin) + "ISTREAM(SELECT a.k FROM s [UNBOUNDED] a JOIN s [NOW] b ON a.k = b.k);"
    first, second = problems(text)
    assert first == (
        "q.aql: query 1: the stream s is from kafka, which has no end\n"
        "  hint: run the query continuously: astralq start"
    )
    assert second.startswith("q.aql: query 1: a continuous run would keep everything that comes: WINDOW [UNBOUNDED]")


def test_where_answers_go_is_looked_at() -> None:
    text = stream() + "INSERT INTO csv 'gone/out.csv' " + QUERY
    result = checked(text)
    assert result.exit_code == 0
    assert "into     csv 'gone/out.csv'\n" in result.stdout
    assert (
        "run      refuses it: the folder gone does not exist\n           hint: make it first\nstart    takes it\n"
    ) in result.stdout


@pytest.mark.parametrize(
    ("queries", "why"),
    [
        (f"INSERT INTO csv 's.csv' {QUERY}", "s.csv is read by this run, so the answer cannot be written to it"),
        (f"INSERT INTO csv 'o.csv' {QUERY}" * 2, "two queries are inserted into o.csv"),
    ],
)
def test_run_overwrites_nothing(queries: str, why: str) -> None:
    assert f"run      refuses it: {why}\n" in checked(stream() + queries).stdout


# Sources that are no files


def test_a_topic_is_not_looked_at() -> None:
    assert found(stream("kafka 't' OPTIONS (kafka.bootstrap.servers = 'h:9092')") + QUERY) == (
        "the topic was not looked at"
    )


def test_a_topic_needs_a_broker() -> None:
    assert problems(stream("kafka 't'") + QUERY) == [
        "q.aql: line 1, column 15: the stream s does not say where its broker is\n"
        "  hint: OPTIONS (kafka.bootstrap.servers = 'host:9092')"
    ]


def test_rate_gives_two_columns() -> None:
    text = "CREATE STREAM s (valu BIGINT, timestamp TIMESTAMP) FROM rate '9' TIMESTAMP BY timestamp;\nSELECT * FROM s;"
    assert problems(text) == [
        "q.aql: line 1, column 18: the stream s declares valu BIGINT, and rate gives value BIGINT and timestamp "
        "TIMESTAMP\n  hint: did you mean 'value'?"
    ]


def test_a_callable_is_imported_and_not_called() -> None:
    Path("rows_of_this_check.py").write_text("def rows():\n    raise SystemExit('called')\n")
    assert found(stream("python 'rows_of_this_check:rows'") + QUERY) == "can be imported, was not called"
    assert problems(stream("python 'rows_of_this_check:row'") + QUERY) == [
        "q.aql: line 1, column 15: the module 'rows_of_this_check' has no 'row'\n  hint: did you mean 'rows'?"
    ]


def test_a_module_that_ends_the_program_is_an_error() -> None:
    Path("ends_this_check.py").write_text("import sys\nsys.exit(3)\n")
    assert problems(stream("python 'ends_this_check:f'") + QUERY) == [
        "q.aql: line 1, column 15: the module 'ends_this_check' cannot be imported: SystemExit: 3 "
        "(ends_this_check.py, line 2)"
    ]


# Files


def test_only_the_first_rows_are_looked_at() -> None:
    row = "1,0.5,2026-03-01T12:00:00Z\n"
    Path("many.csv").write_text(row * 201 + "no,more,rows\n")
    assert found(stream("csv 'many.csv'") + QUERY) == "1 file, its first 200 rows fit"


def test_only_some_of_many_files_are_looked_into() -> None:
    Path("in").mkdir()
    for k in range(25):
        Path(f"in/{k:02}.csv").write_text("1,0.5,2026-03-01T12:00:00Z\n")
    assert found(stream("csv 'in/*.csv'") + QUERY) == "25 files, the first 200 rows of 20 of them fit"


def test_packed_files_are_looked_into() -> None:
    Path("s.csv.gz").write_bytes(gzip.compress(Path("s.csv").read_bytes()))
    assert found(stream(f"csv 's.csv.gz' {HEADER}") + QUERY) == "1 file, 2 rows fit"


def test_a_pipe_is_not_looked_into() -> None:
    os.mkfifo("p.csv")
    assert found(stream("csv 'p.csv'") + QUERY) == "1 file, not looked into: what is read from a pipe is gone"


@pytest.mark.parametrize(
    ("origin", "why"),
    [
        ("csv 's3a://bucket/s'", "not looked at: it is not on this machine"),
        ("csv 'days'", "not looked at: its folders are named by values (k=…), which only Spark reads"),
        (
            "csv 's.csv' OPTIONS (unescapedQuoteHandling = 'STOP_AT_DELIMITER')",
            "1 file, rows not looked at: the model does not know all options",
        ),
    ],
)
def test_what_only_spark_can_read_is_not_looked_at(origin: str, why: str) -> None:
    Path("days/day=1").mkdir(parents=True)
    assert found(stream(origin) + QUERY) == why


def test_a_file_that_is_not_there_is_told_with_the_nearest_and_its_place() -> None:
    result = checked(stream(f"csv 'ss.csv' {HEADER}") + QUERY)
    assert result.exit_code == 2
    assert result.stderr == (
        f"q.aql: line 1, column 15: there is no file 'ss.csv' for the stream s; tried {Path.cwd() / 'ss.csv'}\n"
        "1 | CREATE STREAM s (k INT, v DOUBLE, ts TIMESTAMP) "
        "FROM csv 'ss.csv' OPTIONS (header = 'true') TIMESTAMP BY ts;\n"
        "  |               ^\n"
        "  hint: did you mean 's.csv'?\n"
    )
    assert "source   stream s, csv 'ss.csv': 1 problem\n" in result.stdout
    assert "run      refuses it: s cannot be used as it is declared\n" in result.stdout


def test_a_folder_that_is_not_there_is_an_error() -> None:
    (told,) = problems(stream("csv 'incoming'") + QUERY)
    assert told.endswith("\n  hint: make the folder that its files will come to")


def test_all_misspelt_columns_are_told_with_the_nearest() -> None:
    assert problems(stream(attributes="kk INT, vv DOUBLE, ts TIMESTAMP") + "SELECT * FROM s;") == [
        "q.aql: line 1, column 18: s.csv has no column 'kk': its columns are k, v, ts\n  hint: did you mean 'k'?",
        "q.aql: line 1, column 26: s.csv has no column 'vv': its columns are k, v, ts\n  hint: did you mean 'v'?",
    ]


def test_of_each_attribute_the_first_misfit_is_told() -> None:
    Path("s.csv").write_text("k,v,ts\n1,x,2026-03-01\n1.5,y,noon\n")
    correct = "correct the file, or declare {} STRING, or name what stands for nothing: OPTIONS (nullValue = '…')"
    assert problems(stream() + QUERY) == [
        f"q.aql: line 1, column 18: s.csv, row 2 (line 3): '1.5' in 'k' is not an INT\n  hint: {correct.format('k')}",
        f"q.aql: line 1, column 25: s.csv, row 1 (line 2): 'x' in 'v' is not a DOUBLE\n  hint: {correct.format('v')}",
        "q.aql: line 1, column 35: s.csv, row 2 (line 3): 'noon' in 'ts' is not a TIMESTAMP\n"
        "  hint: write times as 2026-03-01T12:00:00Z",
    ]


def test_a_header_that_is_declared_but_not_there_is_one_error() -> None:
    Path("s.csv").write_text("1,0.5,2026-03-01T12:00:00Z\n")
    assert problems(stream() + QUERY) == [
        "q.aql: line 1, column 15: s.csv has no header: its first line is '1,0.5,2026-03-01T12:00:00Z'\n"
        "  hint: leave out OPTIONS (header = 'true')"
    ]


def test_a_header_that_is_there_but_not_declared_is_one_error() -> None:
    assert problems(stream("csv 's.csv'") + QUERY) == [
        "q.aql: line 1, column 18: s.csv, row 1 (line 1): 'k' in 'k' is not an INT\n"
        "  hint: the first line holds the names: add OPTIONS (header = 'true')"
    ]


def test_a_row_without_a_time_is_an_error() -> None:
    Path("s.csv").write_text("k,v,ts\n1,0.5,\n")
    assert problems(stream() + QUERY) == [
        "q.aql: line 1, column 15: s.csv: row 1 of stream s has no 'ts', so no timestamp"
    ]


def test_all_misspelt_options_are_told() -> None:
    told = problems(stream("csv 's.csv' OPTIONS (headr = 'true', sepp = ';')") + QUERY)
    assert [one.splitlines()[-1] for one in told] == ["  hint: did you mean 'header'?", "  hint: did you mean 'sep'?"]


def _zeros(path: Path) -> None:
    path.write_bytes(b"")


def _noise(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 4)


def _packed(path: Path) -> None:
    path.write_bytes(gzip.compress(b"1,2,3\n"))


@pytest.mark.parametrize(
    ("origin", "name", "write", "message"),
    [
        (f"csv 'x.csv' {HEADER}", "x.csv", _zeros, "x.csv is empty: it has no header"),
        ("csv 'x.csv'", "x.csv", _noise, "x.csv is not utf-8 text: invalid start byte at byte 128"),
        ("csv 'x.csv'", "x.csv", _packed, "hint: it is compressed: give it a name that ends with .gz"),
        ("csv 'x.csv.gz'", "x.csv.gz", _noise, "x.csv.gz cannot be read: Not a gzipped file"),
        ("json 'x.json'", "x.json", _noise, "x.json is not utf-8 text: invalid start byte at byte 128"),
        ("parquet 'x.parquet'", "x.parquet", _zeros, "x.parquet is not a parquet file that can be read"),
        ("parquet 'x.parquet'", "x.parquet", _noise, "x.parquet is not a parquet file that can be read"),
        ("csv '_x.csv'", "_x.csv", _zeros, "Spark leaves out files whose names begin with _ or ., as _x.csv"),
        (f"csv '{'x' * 300}'", "x", _zeros, "cannot be read: File name too long"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error(
    origin: str, name: str, write: Callable[[Path], None], message: str
) -> None:
    write(Path(name))
    (told,) = problems(stream(origin) + QUERY)
    assert message in told


def test_a_file_without_permission_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests may run as root, whom nothing is forbidden."""
    opened = Path.open

    def forbidding(self: Path, *args: Any, **more: Any) -> Any:
        if self.suffix == ".csv":
            raise PermissionError(13, "Permission denied", str(self))
        return opened(self, *args, **more)

    monkeypatch.setattr(Path, "open", forbidding)
    assert problems(stream("csv 's.csv'") + QUERY) == [
        "q.aql: line 1, column 15: s.csv cannot be read: Permission denied"
    ]


def test_objects_are_looked_into_and_names_that_none_has_are_told() -> None:
    Path("s.json").write_text('{"k": 1, "value": 2, "ts": "2026-03-01"}\n{"k": "x", "ts": 5}\n')
    assert problems(stream("json 's.json'") + QUERY) == [
        "q.aql: line 1, column 18: s.json, row 2 (line 2): 'x' in 'k' is not an INT\n"
        "  hint: correct the file, or declare k STRING",
        "q.aql: line 1, column 25: s.json has no column 'v': its columns are k, value, ts",
        "q.aql: line 1, column 35: s.json, row 2 (line 2): the number 5 in 'ts' is not a TIMESTAMP\n"
        "  hint: declare it BIGINT, and say what it counts with UNIT SECONDS or another unit",
    ]


def test_the_types_of_parquet_are_compared_also_where_there_are_no_rows() -> None:
    nothing = {"k": pa.array([], pa.float64()), "v": pa.array([], pa.string()), "ts": pa.array([], pa.int64())}
    pq.write_table(pa.table(nothing), "s.parquet")
    assert problems(stream("parquet 's.parquet'") + QUERY) == [
        "q.aql: line 1, column 18: s.parquet: the column 'k' is double, not an INT\n  hint: declare it DOUBLE",
        "q.aql: line 1, column 35: s.parquet: the column 'ts' is bigint, not a TIMESTAMP\n"
        "  hint: declare it BIGINT, and say what it counts with UNIT SECONDS or another unit",
    ]


def test_values_of_parquet_are_looked_at_too() -> None:
    rows = {"k": pa.array([1, 2**40]), "v": pa.array(["0.5", "x"]), "ts": pa.array([1, 2], pa.timestamp("us"))}
    pq.write_table(pa.table(rows), "s.parquet")
    assert [one.splitlines()[0] for one in problems(stream("parquet 's.parquet'") + QUERY)] == [
        f"q.aql: line 1, column 18: s.parquet, row 2: {2**40} in 'k' is not an INT",
        "q.aql: line 1, column 25: s.parquet, row 2: 'x' in 'v' is not a DOUBLE",
    ]


# Query files


def test_the_sources_of_a_file_with_a_wrong_query_are_looked_at_all_the_same() -> None:
    result = checked(stream(f"csv 'ss.csv' {HEADER}") + "SELECT kk FROM s;")
    assert (result.exit_code, result.stdout) == (2, "")
    query, source = result.stderr.split("\n\n")
    assert query.startswith("q.aql: line 2, column 8: unknown attribute 'kk'")
    assert source.startswith("q.aql: line 1, column 15: there is no file 'ss.csv'")


def test_what_is_wrong_with_all_files_is_told() -> None:
    Path("a.aql").write_text("SELECT * FROM nowhere;")
    result = astralq("check", "a.aql", "b.aql")
    assert result.exit_code == 2
    assert "a.aql: line 1, column 15: " in result.stderr
    assert result.stderr.endswith("\n\nb.aql: there is no such file\n  hint: did you mean 'a.aql'?\n")


def test_a_file_without_a_query_is_wrong() -> None:
    assert problems("-- nothing yet\n") == ["q.aql: there is no query\n  hint: declare sources, then write a query"]


# What files of other habits are told


@pytest.mark.parametrize(("sep", "shown"), [(";", "';'"), ("\t", "'\\t'"), ("|", "'|'")])
def test_another_separator_is_one_problem_with_the_option_to_write(sep: str, shown: str) -> None:
    Path("s.csv").write_text("k,v,ts\n1,0.5,2026-03-01T12:00:00Z\n".replace(",", sep))
    (told,) = problems(stream() + QUERY)
    assert told.endswith(f"hint: its columns are separated by {shown}: add OPTIONS (sep = {shown})")


@pytest.mark.parametrize(
    ("time", "unit"),
    [("1772366400", "SECONDS"), ("1772366400000", "MILLISECONDS"), ("1772366400000000", "MICROSECONDS")],
)
def test_numbers_for_times_are_told_with_their_unit(time: str, unit: str) -> None:
    Path("s.csv").write_text(f"k,v,ts\n1,0.5,{time}\n")
    (told,) = problems(stream() + QUERY)
    assert told.endswith(f"hint: declare ts BIGINT, and write TIMESTAMP BY ts UNIT {unit}")
    as_told = stream(attributes="k INT, v DOUBLE, ts BIGINT").replace("BY ts;", f"BY ts UNIT {unit};")
    assert found(as_told + QUERY) == "1 file, 1 row fits"


def test_a_value_that_does_not_fit_stops_run_and_is_set_aside_by_start() -> None:
    Path("s.csv").write_text("k,v,ts\n1,n/a,2026-03-01T12:00:00Z\n")
    lines = checked(stream() + QUERY).stdout.splitlines()
    assert lines[-2:] == [
        "run      refuses it: s cannot be used as it is declared",
        "start    takes it, and sets aside rows that do not fit",
    ]


@pytest.mark.parametrize("command", ["run", "explain"])
def test_a_file_without_a_query_is_told(command: str) -> None:
    Path("q.aql").write_text(stream())
    result = astralq(command, "q.aql")
    wanted = "q.aql: there is no query\n  hint: declare sources, then write a query\n"
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", wanted)


def test_a_declared_stream_is_bound_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "q.aql").write_text(
        "CREATE STREAM s (v INT, ts TIMESTAMP) TIMESTAMP BY ts; SELECT v FROM s WHERE v > 1;"
    )
    (tmp_path / "s.csv").write_text("1,2026-03-01T00:00:01Z\n2,2026-03-01T00:00:02Z\n")
    bind = ("--bind", "s TO csv 's.csv'")
    assert "1 file, 2 rows fit" in printed("check", str(tmp_path / "q.aql"), *bind)
    found = printed("run", str(tmp_path / "q.aql"), "--engine", "model", "--format", "csv", *bind)
    assert found == "t,i,v\n2026-03-01T00:00:02Z,0,2\n"


# Times that may not be what is meant


def test_a_year_of_two_digits_is_warned_of() -> None:
    Path("y.csv").write_text("991231,1\n")
    text = (
        "CREATE STREAM y (d STRING, v INT) FROM csv 'y.csv' TIMESTAMP BY to_timestamp(d, 'yyMMdd');\nSELECT v FROM y;"
    )
    warning = (
        "y: a year of two digits, as in 'yyMMdd', is one of 2000 to 2099; "
        "for another century put it before the text: to_timestamp(concat('19', …), 'yyyyMMdd')\n"
    )
    assert f"warning  {warning}" in checked(text).stdout
    Path("y.aql").write_text(text)
    result = astralq("run", "y.aql", "--engine", "model", "--format", "csv")
    assert (result.stdout, result.stderr) == ("t,i,v\n2099-12-31T00:00:00Z,0,1\n", f"y.aql: query 1, line 2: {warning}")


def test_dates_decades_away_from_the_rest_are_warned_of() -> None:
    days = [f"2026-03-{d:02},1\n" for d in range(1, 29)]
    Path("y.csv").write_text("".join([*days, "1926-03-29,1\n"]))
    text = "CREATE STREAM y (ts TIMESTAMP, v INT) FROM csv 'y.csv' TIMESTAMP BY ts;\nSELECT v FROM y;"
    away = "1 of 29 timestamps is decades away from the others: 1926-03-29T00:00:00Z"
    assert f"warning  y: {away}\n" in checked(text).stdout
    Path("y.aql").write_text("START AT TIMESTAMP '1900-01-01';" + text)
    assert astralq("run", "y.aql", "--engine", "model").stderr == (
        "y.aql: query 1, line 2: the timestamps go from 1900-01-01T00:00:00Z to 2026-03-28T00:00:00Z, 126 years; "
        "if some of them are wrong, filter them before the window\n"
    )


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("31/12/2026 07:30", "OPTIONS (timestampFormat = 'dd/MM/yyyy HH:mm')"),
        ("01/02/2026", "OPTIONS (timestampFormat = 'dd/MM/yyyy') or OPTIONS (timestampFormat = 'MM/dd/yyyy')"),
        ("20261231", "OPTIONS (timestampFormat = 'yyyyMMdd')"),
        ("1772366400", "declare ts BIGINT, and write TIMESTAMP BY ts UNIT SECONDS"),
        ("soon", "write times as 2026-03-01T12:00:00Z"),
    ],
)
def test_a_time_that_is_written_otherwise_is_told_how_to_read_it(value: str, hint: str) -> None:
    Path("y.csv").write_text(f"{value},1\n")
    text = "CREATE STREAM y (ts TIMESTAMP, v INT) FROM csv 'y.csv' TIMESTAMP BY ts;\nSELECT v FROM y;"
    assert checked(text).stderr.endswith(f"\n  hint: {hint}\n")
