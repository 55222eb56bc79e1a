"""Sources as DataFrames: what Spark reads is what the model reads, and what the model refuses is refused."""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.sources import Origin, RelationSource, StreamSource
from astralq.errors import DataError
from astralq.io.files import read_sources
from astralq.schema import Schema
from astralq.spark.source_errors import translate_source_error
from astralq.spark.sources.files import read_frame
from tests.support import sec

KV = "k INT, v DOUBLE"
KS = "k INT, s STRING"
TYPES = "k INT, n BIGINT, d DOUBLE, m DECIMAL(10, 2), s STRING, b BOOLEAN, ts TIMESTAMP"


def relation(attributes: str, format_: str, path: str, **options: str) -> RelationSource:
    return RelationSource("r", Schema.parse(attributes), origin=Origin(format_, path, tuple(options.items())))


def rows(spark: SparkSession, source: RelationSource | StreamSource, folder: Path) -> list[tuple[Any, ...]]:
    """The rows, with timestamps as the model's instants; what fails, as the error that is shown."""
    try:
        frame = read_frame(spark, source, folder)
        assert tuple(frame.columns) == source.declared.names
        times = [a.name for a in source.declared if a.type.name == "TIMESTAMP"]
        shown = [F.unix_micros(n).alias(n) if n in times else F.col(n) for n in frame.columns]
        return [tuple(r) for r in frame.select(*shown).collect()]
    except DataError:
        raise
    except Exception as e:
        translated = translate_source_error(source, folder, e)
        if translated is None:
            raise
        raise translated from None


def alike(read: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Sorted, and with NaN as text, which equals itself."""
    plain = [tuple("NaN" if isinstance(v, float) and math.isnan(v) else v for v in r) for r in read]
    return sorted(plain, key=repr)


def answer(read: Any) -> Any:
    try:
        return alike(read())
    except DataError as e:
        return f"refused: {e}"


def refused(spark: SparkSession, source: RelationSource | StreamSource, folder: Path) -> str:
    with pytest.raises(DataError) as caught:
        rows(spark, source, folder)
    return str(caught.value)


# The same as the model

CSV: list[tuple[str, str, dict[str, str]]] = [
    (TYPES, "1,9007199254740993,0.1,12.345,a b,true,1970-01-01T00:00:05.000001Z\n,,,,,,\n", {}),
    (KV, "V,other,K\n2.5,x,1\n", {"header": "true"}),
    (KV, '1,\n,2\n"",""\n', {}),
    (KS, 'MM,a\n1,MM\n2,\n3,""\n', {"nullValue": "MM"}),
    (KV, "1;2\n", {"sep": ";"}),
    (KV, "1\t2\n", {"delimiter": "\\t"}),
    (KV, "1||2\n", {"sep": "||"}),
    (KS, '1,"C:\\dir\\\\x"\n2,"a\\"b"\n3,C:\\dir\n4,a"b"c\n5,"a,b"\n6," q " \n7, pad \n', {}),
    (KS, '1,"a""b"\n', {"escape": '"'}),
    (KS, '1,"a""b"\n', {}),
    (KS, '1,"a\n', {}),
    (KS, '1,"a\n2,b"\n', {}),
    (KS, '1,"a\nb"\n2,c\n', {"multiLine": "true"}),
    (KS, '1,"a\nb\n2,c\n', {"multiLine": "true"}),
    (KV, "# note\n1,2\n\n  \n# note\n3,4\n", {"comment": "#"}),
    (KV, "1,x\n", {}),
    (KV, "3000000000,1\n", {}),
    (KV, "k,v\n1,2\n", {}),
    (KV, "k,value\n1,2\n", {"header": "true"}),
    (KV, "", {"header": "true"}),
    (KV, "1,2\n3\n", {}),
    (KV, "1,2,3\n", {}),
    (KV, "k,v\n1\n", {"header": "true"}),
    (KV, " 1 , 2e3 \n+5,-Infinity\n6,nan\n", {}),
    ("ts TIMESTAMP", "2026-03-01\n2026-03-01 10:00:00+01:00\n2026-03-01T10:00:00.000001000Z\n2026\n", {}),
    ("ts TIMESTAMP", "2026-03-01T00:00:00.1234567Z\n", {}),
    ("ts TIMESTAMP", "12:30:00\n", {}),
    ("ts TIMESTAMP", "10000-01-01\n", {}),
    ("b BOOLEAN", "true\nF\nyes\n0\n", {}),
    ("b BOOLEAN", "maybe\n", {}),
    ("m DECIMAL(4, 2)", "1.005\n1e1\n", {}),
    ("m DECIMAL(4, 2)", "100\n", {}),
]
JSON: list[tuple[str, str]] = [
    (
        TYPES,
        '{"K": 1, "n": 9007199254740993, "d": 1, "m": 0.10, "s": "é", "b": true, "ts": "1970-01-01T00:00:05Z"}\n'
        '\n{"K": null, "m": 12345678.91, "d": NaN, "s": 15}\n',
    ),
    ("m DECIMAL(38, 20)", '{"m": 123456789012345678.12345678901234567890}\n{"m": "0.5"}\n'),
    ("v DOUBLE", '{"v": "abc"}'),
    ("v DOUBLE", '{"v": [1]}'),
    ("v DOUBLE", '{"v": true}'),
    ("v DOUBLE", "\n[1]"),
    ("v DOUBLE", '[{"v": 1}]'),
    ("v DOUBLE", '{"v": 1'),
    ("v DOUBLE", '{"v": 1} {"v": 2}'),
    ("v DOUBLE", '{"v": 1}, {"v": 2}'),
    ("v DOUBLE", "{'v': 1}"),
    ("v DOUBLE", '{"w": 1}'),
    ("v INT", '{"v": 1}\n{}\n'),
    ("v INT", '{"v": 1.0}'),
    ("v BIGINT", '{"v": 9223372036854775808}'),
    ("m DECIMAL(4, 2)", '{"m": 100}'),
    ("m DECIMAL(4, 2)", '{"m": true}'),
    ("ts TIMESTAMP", '{"ts": 2026}'),
    ("ts TIMESTAMP", '{"ts": "2026"}'),
    ("b BOOLEAN", '{"b": 1}'),
    ("b BOOLEAN", '{"b": "1"}'),
    ("s STRING", '{"s": true}'),
    ("s STRING", '{"s": "true"}\n{"s": "[1]"}\n{"s": "1.50"}\n'),
    ("s STRING", '{"s": [1]}'),
    ("s STRING", '{"s": {"a": 1}}'),
]
EXACT: list[tuple[str, Any]] = [
    ("BIGINT", pa.array([1, None], pa.int8())),
    ("DOUBLE", pa.array([1, None], pa.int32())),
    ("DOUBLE", pa.array([2**53, 2**62], pa.int64())),
    ("DOUBLE", pa.array([0.5, None], pa.float32())),
    ("INT", pa.array([1, 2**31 - 1])),
    ("BIGINT", pa.array([1, None], pa.uint64())),
    ("DECIMAL(5, 1)", pa.array([Decimal("1.20"), None])),
    ("DECIMAL(3, 1)", pa.array([99, None])),
    ("INT", pa.array(["7", None])),
    ("STRING", pa.array(["x", None], pa.dictionary(pa.int8(), pa.string()))),
    ("STRING", pa.array([None, None], pa.null())),
    ("BOOLEAN", pa.array([True, None])),
    ("TIMESTAMP", pa.array([5_000_000, None], pa.timestamp("us", tz="Europe/Paris"))),
    ("TIMESTAMP", pa.array([5_000, None], pa.timestamp("ms"))),
    ("TIMESTAMP", pa.array([5_000_000_000, -5_000], pa.timestamp("ns"))),
]
INEXACT: list[tuple[str, Any]] = [
    ("v DOUBLE", pa.array([2**53 + 1])),
    ("v DOUBLE", pa.array([2**63 - 1])),
    ("v INT", pa.array([1, 2**40])),
    ("v INT", pa.array([1.0])),
    ("v BIGINT", pa.array([2**63], pa.uint64())),
    ("v DECIMAL(5, 1)", pa.array([Decimal("1.25")])),
    ("v DECIMAL(3, 1)", pa.array([100])),
    ("v DECIMAL(3, 1)", pa.array([0.5])),
    ("v INT", pa.array(["x"])),
    ("v STRING", pa.array([1])),
    ("v BOOLEAN", pa.array([1])),
    ("v TIMESTAMP", pa.array([5_000_000_001], pa.timestamp("ns"))),
    ("v TIMESTAMP", pa.array([5])),
    ("w INT", pa.array([1])),
]


@pytest.fixture
def interpreted(spark: SparkSession) -> Iterator[SparkSession]:
    """Without compiling a query for one row each."""
    settings = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield spark
    for name in settings:
        spark.conf.unset(name)


@pytest.mark.parametrize(("attributes", "text", "options"), CSV)
def test_csv_is_read_as_the_model_reads_it(
    interpreted: SparkSession, tmp_path: Path, attributes: str, text: str, options: dict[str, str]
) -> None:
    (tmp_path / "r.csv").write_text(text)
    source = relation(attributes, "csv", "r.csv", **options)
    assert answer(lambda: rows(interpreted, source, tmp_path)) == answer(lambda: read_sources(source, tmp_path)["r"])


@pytest.mark.parametrize(("attributes", "text"), JSON)
def test_json_is_read_as_the_model_reads_it(
    interpreted: SparkSession, tmp_path: Path, attributes: str, text: str
) -> None:
    (tmp_path / "r.json").write_text(text)
    source = relation(attributes, "json", "r.json")
    assert answer(lambda: rows(interpreted, source, tmp_path)) == answer(lambda: read_sources(source, tmp_path)["r"])


def test_parquet_is_read_as_the_model_reads_it(interpreted: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.table({f"v{k}": column for k, (_, column) in enumerate(EXACT)}), tmp_path / "r.parquet")
    source = relation(", ".join(f"v{k} {type_}" for k, (type_, _) in enumerate(EXACT)), "parquet", "r.parquet")
    assert rows(interpreted, source, tmp_path) == read_sources(source, tmp_path)["r"]


@pytest.mark.parametrize(("attributes", "column"), INEXACT)
def test_parquet_is_refused_where_the_model_refuses_it(
    interpreted: SparkSession, tmp_path: Path, attributes: str, column: Any
) -> None:
    """Often by the column's type already, where the model names the first value."""
    pq.write_table(pa.table({"v": column}), tmp_path / "r.parquet")
    source = relation(attributes, "parquet", "r.parquet")
    ours = answer(lambda: rows(interpreted, source, tmp_path))
    models = answer(lambda: read_sources(source, tmp_path)["r"])
    assert models.startswith("refused: ")
    assert ours == models or ours.startswith("refused: r.parquet: the column 'v' is ")


# csv


def csv(folder: Path, text: str, attributes: str = KV, **options: str) -> RelationSource:
    (folder / "r.csv").write_text(text)
    return relation(attributes, "csv", "r.csv", **options)


def test_text_in_another_encoding_is_an_error_and_can_be_named(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_bytes("é\n".encode("latin-1"))
    assert rows(spark, relation("s STRING", "csv", "r.csv", encoding="latin-1"), tmp_path) == [("é",)]
    assert "r.csv is not utf-8 text" in refused(spark, relation("s STRING", "csv", "r.csv"), tmp_path)
    assert "does not read" in refused(spark, relation("s STRING", "csv", "r.csv", encoding="cp1252"), tmp_path)


def test_a_byte_order_mark_is_no_text(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_bytes("é,1\n".encode("utf-8-sig"))
    assert rows(spark, relation("s STRING, k INT", "csv", "r.csv"), tmp_path) == [("é", 1)]


def test_files_with_different_headers_are_read_by_name(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "day").mkdir()
    (tmp_path / "day" / "a.csv").write_text("k,v\n1,2\n")
    (tmp_path / "day" / "b.csv").write_text("v,x,k\n4,0,3\n")
    source = relation(KV, "csv", "day", header="true")
    assert alike(rows(spark, source, tmp_path)) == [(1, 2.0), (3, 4.0)]
    (tmp_path / "day" / "c.csv").write_text("k,w\n5,6\n")
    assert refused(spark, source, tmp_path).startswith(
        "1 of 3 files has no column 'v': day/c.csv; the columns of day/c.csv are "
    )


@pytest.mark.parametrize("multi_line", ["false", "true"])
def test_where_spark_lists_the_files_their_headers_have_to_be_alike(
    spark: SparkSession, tmp_path: Path, multi_line: str
) -> None:
    for name, text in (("a", "K,v\n1,2\n"), ("b", "K,v\n3,4\n")):
        (tmp_path / "days" / f"day={name}").mkdir(parents=True)
        (tmp_path / "days" / f"day={name}" / "r.csv").write_text(text)
    source = relation(KV, "csv", "days", header="true", multiLine=multi_line)
    assert alike(rows(spark, source, tmp_path)) == [(1, 2.0), (3, 4.0)]
    (tmp_path / "days" / "day=b" / "r.csv").write_text("v,K\n4,3\n")
    with pytest.raises(Exception, match="CSV header does not conform to the schema"):
        rows(spark, source, tmp_path)


def test_an_attribute_that_is_not_used_is_checked_too(spark: SparkSession, tmp_path: Path) -> None:
    source = csv(tmp_path, "1,2\n2,x\n")
    frame = read_frame(spark, source, tmp_path)
    for query in (frame.select("k"), frame.where("k = 1"), frame.groupBy().count()):
        with pytest.raises(Exception, match="'x' in 'v' is not a DOUBLE"):
            query.collect()


def test_a_time_can_have_a_format(spark: SparkSession, tmp_path: Path) -> None:
    source = csv(tmp_path, "01/01/1970 00:00:05\n", "ts TIMESTAMP", timestampFormat="dd/MM/yyyy HH:mm:ss")
    assert rows(spark, source, tmp_path) == [(sec(5),)]
    source = csv(tmp_path, "1970-01-01\n", "ts TIMESTAMP", timestampFormat="dd/MM/yyyy HH:mm:ss")
    assert refused(spark, source, tmp_path) == (
        "r.csv, row 1 (line 1): '1970-01-01' in 'ts' is not a TIMESTAMP\n"
        "  hint: timestampFormat is 'dd/MM/yyyy HH:mm:ss'"
    )


def test_who_asks_for_it_gets_malformed_rows_left_out(spark: SparkSession, tmp_path: Path) -> None:
    assert rows(spark, csv(tmp_path, "1,2\n3\n", mode="DROPMALFORMED"), tmp_path) == [(1, 2.0)]


# json


def test_json_over_several_lines_is_read_with_the_option_for_it(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text('[{"K": 1,\n "v": 2.5},\n {"K": 2}]\n')
    source = relation(KV, "json", "r.json", multiLine="true")
    assert alike(rows(spark, source, tmp_path)) == [(1, 2.5), (2, None)]


def test_a_name_in_two_cases_is_not_read_as_null(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text('{"K": 1}\n{"k": 2}\n')
    assert "'k' is spelt in two ways" in refused(spark, relation("k INT", "json", "r.json"), tmp_path)


def test_a_fraction_as_text_would_lose_its_digits(spark: SparkSession, tmp_path: Path) -> None:
    """The model keeps 1.50 as it is written; Spark knows 1.5 only, so it is refused."""
    (tmp_path / "r.json").write_text('{"s": 1.50}\n')
    message = refused(spark, relation("s STRING", "json", "r.json"), tmp_path)
    assert message == "r.json: 1.5 in 's' is not a STRING\n  hint: put it into quotes"


def test_json_in_another_encoding_is_an_error_and_can_be_named(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_bytes('{"s": "é"}\n'.encode("latin-1"))
    assert rows(spark, relation("s STRING", "json", "r.json", encoding="latin-1"), tmp_path) == [("é",)]
    assert "r.json is not utf-8 text" in refused(spark, relation("s STRING", "json", "r.json"), tmp_path)


# parquet


def test_parquet_files_of_different_types_are_read_together(spark: SparkSession, tmp_path: Path) -> None:
    for name, type_ in (("a", pa.int32()), ("b", pa.int64())):
        pq.write_table(pa.table({"K": pa.array([1], type_), "x": pa.array([2])}), tmp_path / f"{name}.parquet")
    assert rows(spark, relation("k BIGINT", "parquet", "*.parquet"), tmp_path) == [(1,), (1,)]


def test_parquet_of_the_declared_type_is_not_checked_and_columns_are_pruned(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(pa.table({"k": pa.array([1], pa.int32()), "v": pa.array([1.0])}), tmp_path / "r.parquet")
    read_frame(spark, relation(KV, "parquet", "r.parquet"), tmp_path).where("k > 0").select("k").explain()
    plan = capsys.readouterr().out
    assert "ReadSchema: struct<k:int>" in plan
    assert "GreaterThan(k,0)" in plan
    assert "raise_error" not in plan


def test_a_column_with_parts_is_not_a_number(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.table({"v": pa.array([[1]])}), tmp_path / "r.parquet")
    message = refused(spark, relation("v INT", "parquet", "r.parquet"), tmp_path)
    assert message.startswith("r.parquet: the column 'v' is array<bigint>, not an INT")


# Databases and callables


def test_a_table_of_a_database_is_read_exactly(spark: SparkSession, tmp_path: Path) -> None:
    url = "jdbc:derby:memory:astralq;create=true"
    made = spark.sql("SELECT 1 AS k, 2.5D AS v, 7BD AS n, TIMESTAMP_NTZ'1970-01-01 00:00:05' AS t")
    made.write.format("jdbc").options(url=url, dbtable="T").mode("overwrite").save()
    attributes = "t TIMESTAMP, K INT, v DOUBLE, n INT"
    assert rows(spark, relation(attributes, "jdbc", "T", url=url), tmp_path) == [(sec(5), 1, 2.5, 7)]
    assert rows(spark, relation("k INT", "jdbc", url, dbtable="T"), tmp_path) == [(1,)]
    assert "'v' is double, not an INT" in refused(spark, relation("v INT", "jdbc", "T", url=url), tmp_path)


def test_a_database_and_its_table_have_to_be_named(spark: SparkSession, tmp_path: Path) -> None:
    assert "where its database is" in refused(spark, relation("k INT", "jdbc", "T"), tmp_path)
    assert "which table it is" in refused(spark, relation("k INT", "jdbc", "jdbc:x"), tmp_path)


def test_a_callable_gives_rows(spark: SparkSession, tmp_path: Path) -> None:
    row = "(1, 2**53 + 1, 0.5, '1.5', 'x', True, '1970-01-01T00:00:05Z')"
    (tmp_path / "spark_feed.py").write_text(f"def f(): return [{row}, (None,) * 7]\ndef g(): return []\n")
    first = (1, 2**53 + 1, 0.5, Decimal("1.50"), "x", True, sec(5))
    assert rows(spark, relation(TYPES, "python", "spark_feed:f"), tmp_path) == [first, (None,) * 7]
    assert rows(spark, relation(TYPES, "python", "spark_feed:g"), tmp_path) == []


# Paths


def test_names_of_files_are_taken_literally(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a [1]{b} %20#.csv").write_text("1,x\n")
    source = relation(KV, "csv", "a [1]{b} %20#.csv")
    assert refused(spark, source, tmp_path) == "a [1]{b} %20#.csv, row 1 (line 1): 'x' in 'v' is not a DOUBLE"


def test_a_file_that_spark_would_leave_out_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "_r.csv").write_text("1,2\n")
    assert "begin with _" in refused(spark, relation(KV, "csv", "_r.csv"), tmp_path)


def test_compressed_files_are_unpacked_and_damaged_ones_named(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(b"1\n2\n"))
    assert rows(spark, relation("k INT", "csv", "r.csv.gz"), tmp_path) == [(1,), (2,)]
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(b"1\n" * 1000)[:-10])
    assert refused(spark, relation("k INT", "csv", "r.csv.gz"), tmp_path).startswith("r.csv.gz cannot be read")


def test_a_file_that_is_not_there_is_the_models_error(spark: SparkSession, tmp_path: Path) -> None:
    source = csv(tmp_path, "1,2\n")
    missing = relation(KV, "csv", "rr.csv")
    assert "there is no file 'rr.csv'" in refused(spark, missing, tmp_path)
    assert rows(spark, relation(KV, "csv", f"file://{tmp_path}/r.csv"), tmp_path) == rows(spark, source, tmp_path)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (RelationSource("r", Schema.parse(KV)), "does not say where its rows are"),
        (relation(KV, "kafka", "t"), "from kafka, which has no end"),
        (relation(KV, "parqet", "t"), "did you mean 'parquet'"),
        (StreamSource("s", Schema.parse(KV), origin=Origin("csv", "s.csv")), "is stamped on arrival"),
        (relation(KV, "csv", "r.csv", headr="true"), "did you mean 'header'"),
        (relation(KV, "csv", "r.csv", nanValue="-"), "'nanValue' would do nothing"),
        (relation(KV, "jdbc", "T", url="jdbc:x", fetchsiz="1"), "did you mean 'fetchsize'"),
    ],
)
def test_a_source_that_cannot_be_read_is_an_error(
    spark: SparkSession, tmp_path: Path, source: RelationSource | StreamSource, message: str
) -> None:
    assert message in refused(spark, source, tmp_path)


# What went wrong


def test_a_file_too_large_for_the_model_is_named_with_the_value(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("astralq.spark.source_errors._LARGEST_REREAD", 0)
    assert refused(spark, csv(tmp_path, "1,2\n2,x; y: z\n"), tmp_path) == "r.csv: 'x; y: z' in 'v' is not a DOUBLE"
    assert refused(spark, csv(tmp_path, "1,2\n3\n"), tmp_path) == "r.csv: '3' is not 2 values"
    (tmp_path / "r.json").write_text('{"ts": 2026}')
    message = refused(spark, relation("ts TIMESTAMP", "json", "r.json"), tmp_path)
    assert message.startswith("r.json: 2026 in 'ts' is not a TIMESTAMP\n  hint: declare it BIGINT")


def test_a_failure_says_nothing_about_other_sources(spark: SparkSession, tmp_path: Path) -> None:
    bad = csv(tmp_path, "1,x\n")
    with pytest.raises(Exception, match="is not a DOUBLE") as caught:
        read_frame(spark, bad, tmp_path).collect()
    other = RelationSource("q", Schema.parse(KV), origin=bad.origin)
    assert translate_source_error(other, tmp_path, caught.value) is None
    assert translate_source_error(bad, tmp_path, ValueError("something else")) is None
