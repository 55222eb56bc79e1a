"""What `astralq check` says of a column's type without Spark is what Spark's reader does."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from astralq.errors import DataError
from astralq.io.parquet import takes
from astralq.schema import Attribute, parse_type
from astralq.spark.sources.reading import of_column

FOUND = [
    *("tinyint", "smallint", "int", "bigint", "unsigned", "float", "double", "decimal(10,2)", "decimal(20,0)"),
    *("string", "boolean", "timestamp", "timestamp_ntz", "nanos", "void", "date32[day]", "binary"),
]


@pytest.mark.parametrize("found", FOUND)
def test_a_column_is_taken_where_it_can_be_read(found: str, spark: SparkSession) -> None:
    assert spark is not None  # columns need a session
    for name in ("INT", "BIGINT", "DOUBLE", "DECIMAL(10, 2)", "STRING", "BOOLEAN", "TIMESTAMP"):
        a = Attribute("k", parse_type(name))
        try:
            of_column(F.col("k"), found, a, "a file")
            read = True
        except DataError:
            read = False
        assert takes(a, found) == read, (found, name)
