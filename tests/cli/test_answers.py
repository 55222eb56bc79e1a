"""What `astralq run` prints: streams, relations, states and windows, in every format."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from astralq import rows
from astralq.algebra.sources import Origin
from astralq.printing.values import text
from astralq.schema import TIMESTAMP
from tests.cli.support import Desk, astralq, printed, readings, refused, stored
from tests.support import sec

LAST = readings()[rows(1)].select("sensor, value")
T = "1970-01-01T00:00:0"


# json lines


def test_a_stream_prints_t_i_and_its_attributes(desk: Desk) -> None:
    file = desk.file("q.aql", readings().where("sensor = 1"))
    assert printed("run", file, "--format", "jsonl") == (
        f'{{"t": "{T}5Z", "i": 0, "sensor": 1, "value": 20.5, "ts": "{T}5Z"}}\n'
        f'{{"t": "{T}7.5Z", "i": 0, "sensor": 1, "value": 21.25, "ts": "{T}7.5Z"}}\n'
    )


def test_a_relation_prints_its_changes_with_op_first(desk: Desk) -> None:
    assert printed("run", desk.file("q.aql", LAST), "--format", "jsonl") == (
        f'{{"op": "+", "t": "{T}5Z", "i": 0, "sensor": 2, "value": null}}\n'
        f'{{"op": "-", "t": "{T}7.5Z", "i": 0, "sensor": 2, "value": null}}\n'
        f'{{"op": "+", "t": "{T}7.5Z", "i": 0, "sensor": 1, "value": 21.25}}\n'
    )


def test_a_stream_of_windows_prints_a_row_for_each_tuple_of_each_window(desk: Desk) -> None:
    query = readings().select("sensor").windows(1, 0, 2)
    assert printed("run", desk.file("q.aql", query), "--format", "csv", "--time", "seconds") == (
        "t,i,sensor\n5,0,1\n5,0,2\n"
    )


def test_the_state_of_a_relation_has_its_attributes_only(desk: Desk) -> None:
    file = desk.file("q.aql", LAST)
    assert printed("run", file, "--at", f"{T}6Z", "--format", "jsonl") == '{"sensor": 2, "value": null}\n'
    assert printed("run", file, "--at", f"{T}7.5Z", "--format", "jsonl") == '{"sensor": 1, "value": 21.25}\n'


def test_a_stream_at_an_instant_is_what_it_has_emitted_up_to_it(desk: Desk) -> None:
    file = desk.file("q.aql", readings().select("sensor"))
    assert printed("run", file, "--at", f"{T}5Z", "--format", "csv", "--time", "micros") == (
        "t,i,sensor\n5000000,0,1\n5000000,0,2\n"
    )


def test_until_is_inclusive(desk: Desk) -> None:
    file = desk.file("q.aql", readings().select("sensor"))
    assert len(printed("run", file, "--until", f"{T}7.499999Z", "--format", "jsonl").splitlines()) == 2
    assert len(printed("run", file, "--until", f"{T}7.5Z", "--format", "jsonl").splitlines()) == 3


def test_a_given_start_is_the_querys_t0(desk: Desk) -> None:
    file = desk.file("q.aql", readings().select("sensor"), t0=sec(6))
    result = astralq("run", file, "--format", "csv", "--time", "seconds")
    assert result.stdout == "t,i,sensor\n7.5,0,1\n"
    assert result.stderr == (
        f"{file}: query 1, line 1: 2 tuples of s are before the start, 1970-01-01T00:00:06Z, and were left out\n"
    )


def test_every_type_has_its_form_in_json(desk: Desk) -> None:
    (desk.folder / "r.json").write_text(
        '{"d": NaN, "m": 1.10, "b": true, "x": "a \\"b\\" é\\n", "ts": "1970-01-01T00:00:00.25Z", "n": 1e22}\n'
        '{"d": "-Infinity"}\n'
    )
    r = stored("d DOUBLE, m DECIMAL(5, 2), b BOOLEAN, x STRING, ts TIMESTAMP, n DOUBLE", "r.json")
    query = r.select("d, m, b, x, ts, n, ts - ts AS gap").where("true")
    command = ("run", desk.file("q.aql", query), "--format", "jsonl", "--at", T + "0Z", "--time")
    infinity, nan = printed(*command, "iso").splitlines()
    assert nan == (
        '{"d": "NaN", "m": 1.10, "b": true, "x": "a \\"b\\" é\\n", "ts": "1970-01-01T00:00:00.25Z", '
        '"n": 1e+22, "gap": "INTERVAL \'0 00:00:00\' DAY TO SECOND"}'
    )
    assert infinity == '{"d": "-Infinity", "m": null, "b": null, "x": null, "ts": null, "n": null, "gap": null}'
    assert '"ts": "1970-01-01T00:00:00.25Z",' in printed(*command, "seconds"), "--time is about the answer's own t"


def test_times_before_1970_are_exact_in_seconds() -> None:
    assert [text(t, TIMESTAMP, "seconds") for t in (-2_000_000, -250_000)] == ["-2", "-0.25"]


def test_an_attribute_with_the_name_of_a_column_of_the_answer_is_numbered(desk: Desk) -> None:
    file = desk.file("q.aql", readings().select("sensor AS t, sensor AS op, sensor AS i"))
    assert printed("run", file, "--format", "csv").startswith("t,i,t_2,op,i_2\n")


def test_several_queries_are_told_apart_by_q(desk: Desk) -> None:
    file = desk.file("q.aql", readings().select("sensor").where("sensor = 2"), LAST)
    lines = printed("run", file, "--format", "jsonl").splitlines()
    assert [line[:8] for line in lines] == ['{"_q": 1', '{"_q": 2', '{"_q": 2', '{"_q": 2']


def test_the_queries_of_several_files_are_numbered_on(desk: Desk) -> None:
    one = desk.file("1.aql", readings().select("sensor").where("sensor = 2"))
    two = desk.file("2.aql", readings().where("value > 21").select("sensor"))
    assert printed("run", one, two, "--format", "csv", "--time", "seconds") == ("_q,t,i,sensor\n1,5,0,2\n2,7.5,0,1\n")
    assert "\n\n-- query 2 of 2.aql\n" in printed("run", "1.aql", "2.aql")


# csv


def test_csv_leaves_null_empty_and_quotes_what_needs_it(desk: Desk) -> None:
    (desk.folder / "r.json").write_text('{"k": 1, "x": ""}\n{"k": 2, "x": "a,\\"b\\""}\n{"k": 3}\n')
    file = desk.file("q.aql", stored("k INT, x STRING", "r.json"))
    assert printed("run", file, "--at", T + "0Z", "--format", "csv") == 'k,x\n1,""\n2,"a,""b"""\n3,\n'


def test_csv_has_a_new_header_where_the_columns_are_others(desk: Desk) -> None:
    file = desk.file("q.aql", readings().select("sensor").where("sensor = 2"), LAST)
    lines = printed("run", file, "--format", "csv", "--time", "seconds").splitlines()
    assert lines[:3] == ["_q,t,i,sensor", "1,5,0,2", "_q,op,t,i,sensor,value"]
    assert lines[3] == "2,+,5,0,2,"


# tables


def test_a_table_is_aligned_with_numbers_to_the_right(desk: Desk) -> None:
    assert printed("run", desk.file("q.aql", LAST)) == (
        f"op  t                       i  sensor  value\n"
        f"────────────────────────────────────────────\n"
        f"+   {T}5Z    0       2   null\n"
        f"-   {T}7.5Z  0       2   null\n"
        f"+   {T}7.5Z  0       1  21.25\n"
    )


def test_a_table_without_rows_says_so(desk: Desk) -> None:
    file = desk.file("q.aql", readings().select("sensor").where("sensor = 3"))
    assert printed("run", file) == "t  i  sensor\n────────────\n(no rows)\n"


def test_the_tables_of_several_queries_have_headings(desk: Desk) -> None:
    out = printed("run", desk.file("q.aql", readings(), LAST))
    assert out.startswith("-- query 1\nt ")
    assert "\n\n-- query 2\nop" in out


def test_a_table_cuts_nothing_and_keeps_each_row_on_one_line(desk: Desk) -> None:
    (desk.folder / "r.json").write_text(f'{{"x": "{"long " * 100}"}}\n{{"x": "two\\nlines [red]"}}\n')
    out = printed("run", desk.file("q.aql", stored("x STRING", "r.json")), "--at", T + "0Z")
    assert ("long " * 100).rstrip() in out
    assert "two\\nlines [red]\n" in out
    assert "\x1b" not in out


# Files


def test_an_answer_goes_to_a_file_whose_suffix_is_its_format(desk: Desk) -> None:
    file = desk.file("q.aql", readings().select("sensor").where("sensor = 2"))
    for name, beginning in (("a.csv", "t,i,sensor\n"), ("a.jsonl", '{"t": '), ("a.txt", "t  ")):
        assert printed("run", file, "--out", name) == ""
        assert (desk.folder / name).read_text().startswith(beginning)
    assert printed("run", file, "--out", "b.csv", "--format", "jsonl") == ""
    assert (desk.folder / "b.csv").read_text().startswith('{"t": ')


def test_parquet_keeps_the_types(desk: Desk) -> None:
    file = desk.file("q.aql", LAST.select("sensor, value, cast(value AS DECIMAL(10, 3)) AS m"))
    assert printed("run", file, "--out", "a.parquet") == ""
    table = pq.read_table(desk.folder / "a.parquet")
    assert table.schema.names == ["op", "t", "i", "sensor", "value", "m"]
    assert table.schema.types == [
        *(pa.string(), pa.timestamp("us", tz="UTC"), pa.int64(), pa.int32(), pa.float64(), pa.decimal128(10, 3)),
    ]
    assert table.column("t").cast(pa.int64()).to_pylist() == [sec(5), sec("7.5"), sec("7.5")]
    assert table.column("m").to_pylist() == [None, None, Decimal("21.250")]


def test_parquet_can_hold_times_as_numbers(desk: Desk) -> None:
    file = desk.file("q.aql", LAST)
    for time, expected in (("micros", 7_500_000), ("seconds", Decimal("7.5"))):
        printed("run", file, "--out", "a.parquet", "--time", time)
        assert pq.read_table(desk.folder / "a.parquet").column("t").to_pylist()[-1] == expected


def test_parquet_files_of_several_queries_are_in_a_folder(desk: Desk) -> None:
    assert printed("run", desk.file("q.aql", readings(), LAST), "--out", "a", "--format", "parquet") == ""
    assert sorted(f.name for f in (desk.folder / "a").iterdir()) == ["1.parquet", "2.parquet"]


def test_an_answer_without_rows_is_a_parquet_file_of_the_same_types(desk: Desk) -> None:
    tables = []
    for sensor in (1, 3):
        printed("run", desk.file("q.aql", readings().where(f"sensor = {sensor}")), "--out", "a.parquet")
        tables.append(pq.read_table(desk.folder / "a.parquet"))
    assert [table.num_rows for table in tables] == [2, 0]
    assert tables[0].schema == tables[1].schema


def test_nothing_is_left_where_writing_fails(desk: Desk) -> None:
    file = desk.file("q.aql", LAST)
    before = sorted(desk.folder.iterdir())
    assert refused("run", file, "--out", "nowhere/a.csv") == (
        f"astralq: the folder {desk.folder}/nowhere does not exist\n  hint: make it first\n"
    )
    assert "is a folder" in refused("run", file, "--out", str(desk.folder), "--format", "csv")
    assert "is a file" in refused("run", desk.file("r.aql", LAST, LAST), "--out", "q.aql", "--format", "parquet")
    assert sorted(desk.folder.iterdir()) == sorted([*before, desk.folder / "r.aql"])


def test_a_file_gets_the_answers_that_there_are_where_another_query_fails(desk: Desk) -> None:
    file = desk.file("q.aql", readings("none.csv"), readings().select("sensor"), readings("none.csv"))
    result = astralq("run", file, "--out", "a.csv", "--time", "seconds")
    assert (result.exit_code, result.stdout) == (2, "")
    assert (desk.folder / "a.csv").read_text() == "_q,t,i,sensor\n2,5,0,1\n2,5,0,2\n2,7.5,0,1\n"
    assert [line.split(": ")[1] for line in result.stderr.splitlines() if line.startswith(file)] == [
        "query 1, line 1",
        "query 3, line 1",
    ]


def test_a_file_stays_as_it_was_where_no_query_can_be_answered(desk: Desk) -> None:
    (desk.folder / "a.csv").write_text("old")
    refused("run", desk.file("q.aql", readings("none.csv")), "--out", "a.csv")
    assert (desk.folder / "a.csv").read_text() == "old"


def test_an_answer_is_printed_though_another_query_fails_while_it_is_computed(desk: Desk) -> None:
    failing = readings().select("sensor div 0 AS x")
    file = desk.file("q.aql", failing, readings().select("sensor"), failing)
    csv = astralq("run", file, "--format", "csv", "--time", "seconds")
    assert (csv.exit_code, csv.stdout) == (2, "_q,t,i,sensor\n2,5,0,1\n2,5,0,2\n2,7.5,0,1\n")
    table = astralq("run", file, "--time", "seconds")
    assert (table.exit_code, table.stdout.splitlines()[:2]) == (2, ["-- query 2", "  t  i  sensor"])
    assert [csv.stderr.count("division by zero, in sensor DIV 0"), table.stderr == csv.stderr] == [2, True]


def test_an_error_names_aggregates_as_they_were_written(desk: Desk) -> None:
    query = readings().where("sensor = 2")[rows(2)].aggregate("count(*) div count(value) AS x")
    file = desk.file("q.aql", query)
    assert "query 1, line 1: division by zero, in count(*) DIV count(value)\n" in refused("run", file)


# INSERT INTO


def test_an_answer_that_is_inserted_goes_there_and_not_to_the_output(desk: Desk) -> None:
    query = readings().select("sensor").where("sensor = 2")
    sinks = [Origin("csv", "a.csv", (("header", "false"),)), Origin("csv", "b.csv"), Origin("json", "c.json")]
    file = desk.file("q.aql", query, query, query, query, sinks=sinks)
    assert printed("run", file, "--format", "csv", "--time", "seconds") == "t,i,sensor\n5,0,2\n"
    assert (desk.folder / "a.csv").read_text() == f"{T}5Z,0,2\n"
    assert (desk.folder / "b.csv").read_text() == f"t,i,sensor\n{T}5Z,0,2\n"
    assert (desk.folder / "c.json").read_text() == f'{{"t": "{T}5Z", "i": 0, "sensor": 2}}\n'


def test_inserting_where_the_model_cannot_write_is_an_error(desk: Desk) -> None:
    kafka = desk.file("q.aql", readings(), sinks=[Origin("kafka", "topic")])
    assert "q.aql: query 1, line 1: INSERT INTO kafka is for continuous runs" in refused("run", kafka)
    same = desk.file("q.aql", readings(), readings(), sinks=[Origin("csv", "a.csv"), Origin("csv", "a.csv")])
    assert "two queries are inserted into" in refused("run", same)
    assert (desk.folder / "a.csv").exists(), "the first query answers for itself"
