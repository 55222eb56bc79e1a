"""Answers as the rest of the program reads them: instants and durations as microseconds."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from astralq.laws.optimize import Optimized
from astralq.plan.answer import Plan
from astralq.plan.facts import Facts
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


@dataclass(frozen=True)
class Answered:
    """An answer as a DataFrame, with what the laws made of its query, and the plan that it is computed by."""

    df: DataFrame
    plan: Plan
    optimized: Optimized
    facts: Facts  # what was learnt of the sources
