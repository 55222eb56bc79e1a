"""The options of readers on Spark: each gives the rows that it gives in the model."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from pyspark.sql import SparkSession

from astralq.errors import DataError
from astralq.io.files import read_sources
from tests.model.test_options import CSV, relation
from tests.spark.test_files import rows


def test_options_give_the_models_rows(spark: SparkSession, tmp_path: Path) -> None:
    for name, (attributes, text, options, expected) in CSV.items():
        (tmp_path / f"{name}.csv").write_text(text)
        assert rows(spark, relation(attributes, "csv", f"{name}.csv", **options), tmp_path) == expected, name


def test_columns_that_some_files_lack(spark: SparkSession, tmp_path: Path) -> None:
    for name, columns in (("a", {"k": [1], "v": [2]}), ("b", {"k": [3]}), ("c", {"k": [4]})):
        pq.write_table(pa.table({n: pa.array(c, pa.int32()) for n, c in columns.items()}), tmp_path / f"{name}.parquet")
        lines = [",".join(columns), ",".join(str(c[0]) for c in columns.values())]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    for format_ in ("csv", "parquet"):
        strict = relation("k INT, v INT", format_, f"*.{format_}", header="true")
        strict = strict if format_ == "csv" else relation("k INT, v INT", format_, f"*.{format_}")
        with pytest.raises(DataError) as of_model:
            read_sources(strict, tmp_path)
        with pytest.raises(DataError) as of_spark:
            rows(spark, strict, tmp_path)
        assert str(of_spark.value) == str(of_model.value)
        assert f"2 of 3 files have no column 'v': b.{format_}, c.{format_}" in str(of_model.value)
        assert strict.origin is not None
        lenient = relation(
            "k INT, v INT", format_, f"*.{format_}", **dict(strict.origin.options), missingColumns="null"
        )
        assert sorted(rows(spark, lenient, tmp_path), key=repr) == [(1, 2), (3, None), (4, None)]
