"""Answers as the rest of the program reads them: instants and durations as microseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from astralq.io.parquet import plain_value
from astralq.laws.optimize import Optimized
from astralq.plan import sql_types
from astralq.plan.answer import Plan
from astralq.plan.facts import Facts
from astralq.schema import Attribute, Values


def plain(df: DataFrame, wanted: tuple[Attribute, ...]) -> DataFrame:
    """Moments and durations as numbers, maps as their entries: what `plain_row` makes our values of."""
    names = [(a.name.replace("`", "``"), a) for a in wanted]
    return df.select(*(F.expr(sql_types.plain(f"`{n}`", a.type)).alias(a.name) for n, a in names))


def plain_row(row: Sequence[Any], wanted: tuple[Attribute, ...]) -> Values:
    """A row of `plain` as values of ours."""
    return tuple(
        plain_value(v, a.type) if a.type.is_nested or a.type.name == "BINARY" else v
        for v, a in zip(row, wanted, strict=True)
    )


@dataclass(frozen=True)
class Answered:
    """An answer as a DataFrame, with what the laws made of its query, and the plan that it is computed by."""

    df: DataFrame
    plan: Plan
    optimized: Optimized
    facts: Facts  # what was learnt of the sources
