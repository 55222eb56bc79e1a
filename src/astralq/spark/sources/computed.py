"""Computed attributes of a source's rows, as columns of its DataFrame."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.computed import FILE as PSEUDO
from astralq.algebra.computed import reads_file
from astralq.algebra.sources import RelationSource, StreamSource
from astralq.io.files import described
from astralq.plan.operators.expressions import Names, functions
from astralq.plan.sources.computed import failure, value_of
from astralq.schema import Schema
from astralq.spark.columns import col, spark_column
from astralq.spark.functions import register_functions
from astralq.spark.sources.reading import FILE, MARK

Source = StreamSource | RelationSource


def completed(source: Source, rows: DataFrame, where: Column | None = None, stamp: Sequence[str] = ()) -> DataFrame:
    """Rows with all attributes by their names, from rows with those that are stored, and of files with FILE; one on
    which an expression fails raises an error that says where. Columns of a stamp stay behind them."""
    if not source.computed:
        return rows
    where = col(FILE) if where is None else where
    rows = _named(source, rows)
    register_functions(rows.sparkSession, functions(source.computed))
    names = _names(source, [f"`{a.name}`" for a in source.stored])
    problem = failure(source, names)
    if problem is not None:
        said = F.concat(F.lit(f"[{MARK} {described(source)}] "), where, F.lit(": "), spark_column(problem))
        raised = F.raise_error(said).cast("boolean")
        rows = rows.where(F.when(spark_column(problem).isNotNull(), raised).otherwise(True))
    made = {n.lower(): spark_column(value_of(e, names)) for n, e in source.computed}
    values = [made.get(a.name.lower(), col(f"`{a.name}`")).alias(a.name) for a in source.physical]
    return rows.select(*values, *(col(f"`{c}`") for c in stamp))


def completed_with_problems(source: Source, rows: DataFrame) -> DataFrame:
    """The same of rows with c0, c1, …, `_problem` and `_row` (`Reading.with_problems`): what fails is the problem of
    its row."""
    if not source.computed:
        return rows
    rows = _named(source, rows)
    register_functions(rows.sparkSession, functions(source.computed))
    stored = {a.name.lower(): f"c{k}" for k, a in enumerate(source.stored)}
    names = _names(source, list(stored.values()))
    made = {n.lower(): spark_column(value_of(e, names)) for n, e in source.computed}
    problem = failure(source, names)
    if problem is not None:
        rows = rows.withColumn("_problem", F.coalesce(col("_problem"), spark_column(problem)))
    values = [
        (made[a.name.lower()] if a.name.lower() in made else col(stored[a.name.lower()])).alias(f"c{k}")
        for k, a in enumerate(source.physical)
    ]
    others = [c for c in rows.columns if c not in stored.values() and c not in (_NAME, FILE)]
    return rows.select(*values, *others)


_NAME = "__name"


def _named(source: Source, rows: DataFrame) -> DataFrame:
    """Rows of files with the names of these: paths as Spark writes them have %-escapes. A DataFrame of a user's has no
    file."""
    if not reads_file(source.computed):
        return rows
    if FILE not in rows.columns:
        return rows.withColumn(_NAME, F.lit(None).cast("string"))
    escaped = F.replace(F.element_at(F.split(col(FILE), "/"), -1), F.lit("+"), F.lit("%2B"))
    return rows.withColumn(_NAME, F.url_decode(escaped))


def _names(source: Source, columns: list[str]) -> Names:
    return Names(Schema((*source.stored.attributes, PSEUDO)), [*columns, _NAME], entries=False)
