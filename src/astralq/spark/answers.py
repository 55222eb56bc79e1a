"""Answers as the rest of the program reads them: instants and durations as microseconds."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from astralq.schema import Attribute
from astralq.spark.columns import col, lit


def plain(df: DataFrame, wanted: tuple[Attribute, ...]) -> DataFrame:
    """Instants and durations as microseconds: what the rest of the program calls values."""
    made = []
    for a in wanted:
        column = col(f"`{a.name}`")
        if a.type.name == "TIMESTAMP":
            column = F.unix_micros(column)
        elif a.type.name == "INTERVAL":
            column = F.unix_micros(F.timestamp_micros(lit(0)) + column)
        made.append(column.alias(a.name))
    return df.select(*made)
