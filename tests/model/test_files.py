"""Sources in files: what is read, exactly as which values, and what is said when it cannot be."""

from __future__ import annotations

import gzip
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from astralq.algebra.sources import Origin, RelationSource, SensedSource, StreamSource
from astralq.algebra.stream_ops import LookupJoin
from astralq.errors import DataError
from astralq.expr.parse import expression
from astralq.io.files import read_sources
from astralq.schema import Schema
from astralq.timeline import Duration, Instant
from tests.support import sec

TYPES = "k INT, n BIGINT, d DOUBLE, m DECIMAL(10, 2), s STRING, b BOOLEAN, ts TIMESTAMP"


def relation(attributes: str, format_: str, path: str, **options: str) -> RelationSource:
    return RelationSource("r", Schema.parse(attributes), origin=Origin(format_, path, tuple(options.items())))


def rows(source: RelationSource | StreamSource, folder: Path) -> Any:
    return read_sources(source, folder)[source.name]


def csv(folder: Path, text: str, attributes: str = "k INT, v DOUBLE", **options: str) -> Any:
    (folder / "r.csv").write_text(text)
    return rows(relation(attributes, "csv", "r.csv", **options), folder)


def refused(folder: Path, text: str, attributes: str = "k INT, v DOUBLE", **options: str) -> str:
    with pytest.raises(DataError) as caught:
        csv(folder, text, attributes, **options)
    return str(caught.value)


# csv


def test_text_becomes_values_of_the_declared_types(tmp_path: Path) -> None:
    text = "1,9007199254740993,0.1,12.345,a b,true,1970-01-01T00:00:05.000001Z\n"
    assert csv(tmp_path, text, TYPES) == [(1, 2**53 + 1, 0.1, Decimal("12.35"), "a b", True, 5_000_001)]


def test_columns_go_by_position_without_a_header(tmp_path: Path) -> None:
    assert csv(tmp_path, "1,2.5\n2,3\n") == [(1, 2.5), (2, 3.0)]


def test_columns_go_by_name_in_any_case_with_a_header(tmp_path: Path) -> None:
    assert csv(tmp_path, "V,other,K\n2.5,x,1\n", header="true") == [(1, 2.5)]


def test_nothing_is_null(tmp_path: Path) -> None:
    assert csv(tmp_path, '1,\n,2\n"",""\n') == [(1, None), (None, 2.0), (None, None)]


def test_null_can_be_written_in_another_way_and_then_quotes_without_text_are_the_empty_text(tmp_path: Path) -> None:
    """As Spark reads it."""
    text = 'MM,a\n1,MM\n2,\n3,""\n'
    assert csv(tmp_path, text, "k INT, s STRING", nullValue="MM") == [(None, "a"), (1, None), (2, None), (3, "")]


def test_another_separator_can_have_several_characters(tmp_path: Path) -> None:
    assert csv(tmp_path, "1;2\n", sep=";") == [(1, 2.0)]
    assert csv(tmp_path, "1\t2\n", delimiter="\\t") == [(1, 2.0)]
    assert csv(tmp_path, "1||2\n", sep="||") == [(1, 2.0)]


def test_quotes_and_escapes_are_read_as_spark_reads_them(tmp_path: Path) -> None:
    """A backslash counts only inside quotes, before a quote or itself; a quote counts only at the beginning."""
    lines = [r'"C:\dir\\x"', r'"a\"b"', r"C:\dir", r'a"b"c', '"a,b"', '" q " ', " pad "]
    text = "".join(f"{k},{line}\n" for k, line in enumerate(lines))
    read = [s for _, s in csv(tmp_path, text, "k INT, s STRING")]
    assert read == ["C:\\dir\\x", 'a"b', "C:\\dir", 'a"b"c', "a,b", " q ", " pad "]


def test_doubled_quotes_need_the_option_that_says_so(tmp_path: Path) -> None:
    text = '1,"a""b"\n'
    assert csv(tmp_path, text, "k INT, s STRING", escape='"') == [(1, 'a"b')]
    assert refused(tmp_path, text, "k INT, s STRING") == (
        "r.csv, line 1: '\"b\"' follows a quoted value\n"
        "  hint: if quotes in values are doubled, OPTIONS (escape = '\"')"
    )


def test_a_value_goes_over_several_lines_only_if_the_options_say_so(tmp_path: Path) -> None:
    text = '1,"a\nb"\n2,c\n'
    assert csv(tmp_path, text, "k INT, s STRING", multiLine="true") == [(1, "a\nb"), (2, "c")]
    assert "line 1: a quoted value has no end" in refused(tmp_path, text, "k INT, s STRING")


def test_blank_lines_and_comments_are_no_rows(tmp_path: Path) -> None:
    assert csv(tmp_path, "# note\n1,2\n\n  \n# note\n3,4\n", comment="#") == [(1, 2.0), (3, 4.0)]


def test_the_encoding_can_be_named_and_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_bytes("é\n".encode("latin-1"))
    assert rows(relation("s STRING", "csv", "r.csv", encoding="latin-1"), tmp_path) == [("é",)]
    (tmp_path / "r.csv").write_bytes("s\né\n".encode("utf-8-sig"))
    assert rows(relation("s STRING", "csv", "r.csv", header="true"), tmp_path) == [("é",)]


def test_text_in_another_encoding_is_an_error_with_the_option_for_it(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_bytes("é\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"r\.csv is not utf-8 text: .* at byte 0\n  hint: name its encoding"):
        rows(relation("s STRING", "csv", "r.csv"), tmp_path)


def test_a_wrong_value_is_named_with_its_file_row_line_and_column(tmp_path: Path) -> None:
    text = "k,v\n1,2\n\n2,3\n3,abc\n"
    assert refused(tmp_path, text, header="true") == "r.csv, row 3 (line 5): 'abc' in 'v' is not a DOUBLE"
    assert refused(tmp_path, "3000000000,1\n") == "r.csv, row 1 (line 1): '3000000000' in 'k' is not an INT"


def test_a_header_that_was_not_declared_is_recognised(tmp_path: Path) -> None:
    assert refused(tmp_path, "k,v\n1,2\n") == (
        "r.csv, row 1 (line 1): 'k' in 'k' is not an INT\n"
        "  hint: the first line holds the names: add OPTIONS (header = 'true')"
    )


def test_a_missing_column_is_an_error_with_the_nearest_name(tmp_path: Path) -> None:
    assert refused(tmp_path, "k,value\n1,2\n", "k INT, valu DOUBLE", header="true") == (
        "r.csv has no column 'valu': its columns are k, value\n  hint: did you mean 'value'?"
    )


def test_a_row_with_too_few_or_too_many_values_is_an_error(tmp_path: Path) -> None:
    assert refused(tmp_path, "1,2\n3\n") == (
        "r.csv, row 2 (line 2) has 1 values, but 2 attributes are declared (k INT, v DOUBLE)"
    )
    assert "row 1 (line 1) has 3 values" in refused(tmp_path, "1,2,3\n")
    assert refused(tmp_path, "k,v\n1\n", header="true") == (
        "r.csv, row 1 (line 2) has 1 values, but 'v' is column 2 of the header"
    )


def test_an_option_that_would_not_be_read_is_an_error(tmp_path: Path) -> None:
    assert refused(tmp_path, "1,2\n", headr="true").endswith("hint: did you mean 'header'?")
    assert refused(tmp_path, "1,2\n", header="yes").endswith("hint: give 'true' or 'false'")
    assert csv(tmp_path, "1,2\n", inferSchema="true") == [(1, 2.0)]


# json lines


def json(folder: Path, text: str, attributes: str) -> Any:
    (folder / "r.json").write_text(text)
    return rows(relation(attributes, "json", "r.json"), folder)


def test_objects_give_values_by_name_with_all_their_digits(tmp_path: Path) -> None:
    text = (
        '{"K": 1, "n": 9007199254740993, "d": 1, "m": 0.10, "s": "é", "b": true, "ts": "1970-01-01T00:00:05Z"}\n'
        '\n{"k": null, "m": 12345678.91, "d": NaN, "s": 1.50}\n'
    )
    first, second = json(tmp_path, text, TYPES)
    assert first == (1, 2**53 + 1, 1.0, Decimal("0.10"), "é", True, sec(5))
    assert second[3:] == (Decimal("12345678.91"), "1.50", None, None)
    assert second[0] is None
    assert second[2] != second[2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"v": "abc"}', "r.json, row 1 (line 1): 'abc' in 'v' is not a DOUBLE"),
        ('{"v": [1]}', "r.json, row 1 (line 1): ['1'] in 'v' is not a DOUBLE"),
        ('{"v": true}', "r.json, row 1 (line 1): True in 'v' is not a DOUBLE"),
        ("\n[1]", "r.json, row 1 (line 2) is [1], not an object\n  hint: write one object on each line"),
        (
            '{"v": 1',
            "r.json, row 1 (line 1) is not JSON: Expecting ',' delimiter\n  hint: write one object on each line",
        ),
        ('{"w": 1}', "r.json has no column 'v': its columns are w"),
    ],
)
def test_what_is_wrong_in_json_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError) as caught:
        json(tmp_path, text, "v DOUBLE")
    assert str(caught.value) == message


def test_a_number_is_no_timestamp_because_it_does_not_say_of_what(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the number 5 in 'ts' is not a TIMESTAMP\n  hint: declare it BIGINT"):
        json(tmp_path, '{"ts": 5}', "ts TIMESTAMP")


def test_an_attribute_that_some_objects_lack_is_null_there(tmp_path: Path) -> None:
    assert json(tmp_path, '{"v": 1}\n{}\n', "v INT") == [(1,), (None,)]


# parquet


def parquet(folder: Path, columns: dict[str, Any], attributes: str) -> Any:
    pq.write_table(pa.table(columns), folder / "r.parquet")
    return rows(relation(attributes, "parquet", "r.parquet"), folder)


def test_parquet_gives_values_by_name(tmp_path: Path) -> None:
    columns = {
        "TS": pa.array([sec(5), None], pa.timestamp("us", tz="Europe/Paris")),
        "k": pa.array([1, None], pa.int64()),
        "d": pa.array([0.5, None], pa.float32()),
        "n": pa.array([7, None], pa.int8()),
        "m": pa.array([Decimal("1.5"), None], pa.decimal128(5, 3)),
        "s": pa.array(["x", None], pa.dictionary(pa.int8(), pa.string())),
        "b": pa.array([False, None]),
        "other": pa.array([1, 2]),
    }
    assert parquet(tmp_path, columns, TYPES) == [(1, 7, 0.5, Decimal("1.50"), "x", False, sec(5)), (None,) * 7]


@pytest.mark.parametrize(("unit", "count"), [("s", 5), ("ms", 5_000), ("us", 5_000_000), ("ns", 5_000_000_000)])
def test_timestamps_of_every_unit_are_exact(tmp_path: Path, unit: str, count: int) -> None:
    column = pa.array([count, -count], pa.timestamp(unit))
    assert parquet(tmp_path, {"ts": column}, "ts TIMESTAMP") == [(sec(5),), (sec(-5),)]


@pytest.mark.parametrize(
    ("column", "attribute", "message"),
    [
        (pa.array([1, 1001], pa.timestamp("ns")), "v TIMESTAMP", "row 1: 1 ns since 1970 in 'v' has a fraction"),
        (pa.array([1]), "v TIMESTAMP", "the column 'v' is int64, not a TIMESTAMP\n  hint: declare it BIGINT"),
        (pa.array([1, 2**40]), "v INT", f"r.parquet, row 2: {2**40} in 'v' is not an INT"),
        (pa.array([2**53 + 1]), "v DOUBLE", f"row 1: {2**53 + 1} in 'v' is not a DOUBLE"),
        (pa.array([1.5]), "v INT", "row 1: 1.5 in 'v' is not an INT"),
        (pa.array([Decimal("1.25")]), "v DECIMAL(5, 1)", r"Decimal\('1.25'\) in 'v' is not a DECIMAL\(5, 1\)"),
        (pa.array([1]), "w INT", "r.parquet has no column 'w': its columns are v"),
    ],
)
def test_what_would_lose_something_is_an_error(tmp_path: Path, column: Any, attribute: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parquet(tmp_path, {"v": column}, attribute)


def test_what_is_no_parquet_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "r.parquet").write_text("k,v")
    with pytest.raises(DataError, match=r"r\.parquet is not a parquet file that can be read"):
        rows(relation("k INT", "parquet", "r.parquet"), tmp_path)


# Paths


def test_compressed_files_are_unpacked(tmp_path: Path) -> None:
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(b"1\n2\n"))
    (tmp_path / "r.json.gz").write_bytes(gzip.compress(b'{"k": 3}\n'))
    assert rows(relation("k INT", "csv", "r.csv.gz"), tmp_path) == [(1,), (2,)]
    assert rows(relation("k INT", "json", "r.json.gz"), tmp_path) == [(3,)]


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(b"1\n" * 1000)[:-10])
    with pytest.raises(DataError, match=r"r\.csv\.gz cannot be read"):
        rows(relation("k INT", "csv", "r.csv.gz"), tmp_path)


def several(folder: Path) -> None:
    (folder / "day").mkdir()
    for name, text in [("b.csv", "2\n"), ("a.csv", "1\n"), ("c.csv.gz", ""), ("note.txt", "x"), ("_x.csv", "9\n")]:
        (folder / "day" / name).write_text(text)
    (folder / "day" / "c.csv.gz").write_bytes(gzip.compress(b"3\n"))


def test_a_folder_is_all_its_files_of_the_format_sorted(tmp_path: Path) -> None:
    several(tmp_path)
    assert rows(relation("k INT", "csv", "day"), tmp_path) == [(1,), (2,), (3,)]


def test_a_pattern_is_all_files_that_it_matches_sorted(tmp_path: Path) -> None:
    several(tmp_path)
    assert rows(relation("k INT", "csv", "day/[ab].csv"), tmp_path) == [(1,), (2,)]


def test_an_error_names_the_file_of_the_folder_and_the_row_in_it(tmp_path: Path) -> None:
    several(tmp_path)
    (tmp_path / "day" / "b.csv").write_text("2\nx\n")
    with pytest.raises(DataError, match=r"^day/b\.csv, row 2 \(line 2\): 'x' in 'k' is not an INT$"):
        rows(relation("k INT", "csv", "day"), tmp_path)


def test_paths_are_looked_for_beside_the_query_then_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside, here = tmp_path / "beside", tmp_path / "here"
    for folder in (beside, here):
        folder.mkdir()
    monkeypatch.chdir(here)
    (here / "r.csv").write_text("2\n")
    source = relation("k INT", "csv", "r.csv")
    assert rows(source, beside) == [(2,)]
    (beside / "r.csv").write_text("1\n")
    assert rows(source, beside) == [(1,)]
    assert rows(relation("k INT", "csv", str(here / "r.csv")), beside) == [(2,)]


def test_a_file_that_is_not_there_is_an_error_with_all_that_was_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "reading.csv").write_text("1\n")
    with pytest.raises(DataError) as caught:
        rows(relation("k INT", "csv", "readings.csv"), tmp_path)
    assert str(caught.value) == (
        f"there is no file 'readings.csv' for the relation r; "
        f"tried {tmp_path}/readings.csv and {tmp_path}/here/readings.csv\n  hint: did you mean 'reading.csv'?"
    )


def test_a_folder_without_files_of_the_format_is_an_error(tmp_path: Path) -> None:
    several(tmp_path)
    with pytest.raises(DataError, match=r"the folder day has no file that ends with \.parquet"):
        rows(relation("k INT", "parquet", "day"), tmp_path)


# Callables


def module(folder: Path, name: str, text: str) -> None:
    (folder / f"{name}.py").write_text(text)


def test_a_callable_beside_the_query_gives_rows_or_dicts(tmp_path: Path) -> None:
    module(tmp_path, "feed_a", "def f():\n    yield (1, 2)\n    yield {'V': '2.5', 'k': 3}\n")
    assert rows(relation("k INT, v DOUBLE", "python", "feed_a:f"), tmp_path) == [(1, 2.0), (3, 2.5)]


@pytest.mark.parametrize(
    ("name", "text", "path", "message"),
    [
        ("feed_b", "def f(): return [(1,), ('x',)]", "feed_b:f", "python 'feed_b:f', row 2: 'x' in 'k' is not an INT"),
        ("feed_c", "def f(): return [(1, 2)]", "feed_c:f", "python 'feed_c:f', row 1 has 2 values"),
        ("feed_d", "def f():\n    return 1 / 0", "feed_d:f", "failed: ZeroDivisionError: .*feed_d.py, line 2"),
        ("feed_e", "def f():\n    yield 1 / 0", "feed_e:f", "failed: ZeroDivisionError: .*feed_e.py, line 2"),
        ("feed_f", "def feed(): pass", "feed_f:fed", "has no 'fed'\n  hint: did you mean 'feed'?"),
        ("feed_g", "f = 3", "feed_g:f", "is 3, not a callable"),
        ("feed_h", "def f(): return 3", "feed_h:f", "gave 3, not rows"),
        ("feed_i", "def f(): return [3]", "feed_i:f", "row 1 is 3, not a row"),
        ("feed_j", "import nowhere_at_all", "feed_j:f", "imports 'nowhere_at_all', which is not there"),
        ("feed_k", "1 / 0", "feed_k:f", "'feed_k' cannot be imported: ZeroDivisionError: .*line 1"),
        ("feed_l", "", "feed_lx:f", "no module 'feed_lx'; looked in .*\n  hint: did you mean 'feed_l'?"),
        ("feed_m", "", "feed_m", "names no callable\n  hint: write 'module:callable'"),
        (
            "json",
            "def f(): return []",
            "json:f",
            "the module 'json' beside the query is hidden by .*\n  hint: give it another name",
        ),
    ],
)
def test_what_is_wrong_with_a_callable_is_named(tmp_path: Path, name: str, text: str, path: str, message: str) -> None:
    module(tmp_path, name, text)
    with pytest.raises(DataError, match=message):
        rows(relation("k INT", "python", path), tmp_path)


def test_a_sensed_stream_gets_its_callable(tmp_path: Path) -> None:
    text = "def f(site, t): return {'temp': site * 10 + t // 1_000_000}\ndef g(site, t): return 1 / 0\n"
    module(tmp_path, "feed_n", text)

    def sensor(path: str) -> Any:
        declared = Schema.parse("site INT, time TIMESTAMP, temp INT")
        source = SensedSource("road", declared, Duration(1), (1, 2), "site", "time", Origin("python", path))
        return read_sources(source, tmp_path)["road"]

    assert sensor("feed_n:f")(2, Instant(sec(3))) == (23,)
    with pytest.raises(DataError, match=r"python 'feed_n:g' failed: ZeroDivisionError"):
        sensor("feed_n:g")(2, Instant(0))


# Sources


def test_every_source_of_a_query_is_read(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("1,1970-01-01T00:00:05Z\n")
    (tmp_path / "r.csv").write_text("7\n")
    declared = Schema.parse("v INT, ts TIMESTAMP")
    s = StreamSource("s", declared, "ts", origin=Origin("csv", "s.csv"))
    r = relation("k INT", "csv", "r.csv")
    query = LookupJoin(s, r, expression("v = k", Schema((*s.schema.attributes, *r.schema.attributes))))
    assert read_sources(query, tmp_path) == {"s": [(1, sec(5))], "r": [(7,)]}


@pytest.mark.parametrize("format_", ["kafka", "rate", "jdbc"])
def test_what_is_not_in_files_needs_the_spark_engine(tmp_path: Path, format_: str) -> None:
    with pytest.raises(DataError, match=f"the relation r is from {format_}, which needs the Spark engine"):
        rows(relation("k INT", format_, "x"), tmp_path)


def test_an_unknown_format_is_an_error_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"from parqet, which cannot be read\n  hint: did you mean 'parquet'\?"):
        rows(relation("k INT", "parqet", "x"), tmp_path)


def test_a_stream_that_is_stamped_on_arrival_cannot_be_read_from_files(tmp_path: Path) -> None:
    s = StreamSource("s", Schema.parse("v INT"), origin=Origin("csv", "s.csv"))
    with pytest.raises(DataError, match=r"stamped on arrival, .*\n  hint: declare which attribute holds the time"):
        rows(s, tmp_path)


def test_a_source_without_an_origin_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the relation r does not say where its rows are"):
        rows(RelationSource("r", Schema.parse("v INT")), tmp_path)


def test_numbers_of_units_stay_numbers(tmp_path: Path) -> None:
    """UNIT is the model's to read: the declared type is kept."""
    (tmp_path / "s.csv").write_text("5\n")
    s = StreamSource("s", Schema.parse("ts BIGINT"), "ts", unit="SECONDS", origin=Origin("csv", "s.csv"))
    assert rows(s, tmp_path) == [(5,)]


@pytest.mark.parametrize("text", ["2026-03-01T00:00:00.1234567Z", "2026-03-01 00:00:00.0000001"])
def test_a_time_finer_than_a_microsecond_is_not_cut_off(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(f"{text}\n")
    source = StreamSource("t", Schema.parse("ts TIMESTAMP"), "ts", origin=Origin("csv", "t.csv"))
    with pytest.raises(DataError, match="is not a TIMESTAMP"):
        read_sources(source, tmp_path)


def test_zeros_behind_the_microseconds_are_no_fraction(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("1970-01-01T00:00:00.000001000Z\n")
    source = StreamSource("t", Schema.parse("ts TIMESTAMP"), "ts", origin=Origin("csv", "t.csv"))
    assert read_sources(source, tmp_path)["t"] == [(1,)]
