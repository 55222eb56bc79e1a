"""Columns by name and constants, made once: each is a call to the JVM, and plans name the same ones again and again."""

from __future__ import annotations

from functools import lru_cache

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from astralq.plan import columns as plan


@lru_cache(maxsize=4096)
def col(name: str) -> Column:
    """The column of a name."""
    return F.col(name)


@lru_cache(maxsize=4096, typed=True)
def lit(value: str | int | float | bool | None) -> Column:
    """A constant."""
    return F.lit(value)


@lru_cache(maxsize=4096)
def long(value: int) -> Column:
    """A constant that is a BIGINT however small it is."""
    return F.lit(value).cast("bigint")


def spark_column(column: plan.Column) -> Column:
    """A plan's expression as a column of Spark's."""
    return F.expr(column.text).alias(column.name)
