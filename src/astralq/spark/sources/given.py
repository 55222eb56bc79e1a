"""The DataFrames of a query's sources: their columns are checked against the declarations, and named as plans do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from astralq.algebra.base import Operator
from astralq.algebra.sources import RelationSource, SensedSource, Source, StreamSource
from astralq.errors import DataError, nearest
from astralq.plan.sources.rows import STAMP
from astralq.plan.sql_types import spark_type
from astralq.spark.columns import col, lit
from astralq.spark.sources.computed import completed
from astralq.spark.statements import Views


@dataclass
class Given:
    """The DataFrames by the names of their sources."""

    frames: Mapping[str, DataFrame]
    views: Views | None = None  # where many queries read them
    _named: dict[str, DataFrame] = field(default_factory=dict)
    _prepared: dict[Source, tuple[frozenset[str], DataFrame]] = field(default_factory=dict)

    @property
    def session(self) -> SparkSession:
        frame = next(iter(self.frames.values()), None)  # a query of VALUES alone has none
        return SparkSession.active() if frame is None else frame.sparkSession

    def prepare(self, query: Operator) -> dict[str, frozenset[str]]:
        """Checks the sources of a query; for each, which columns of a stamp its rows bring."""
        stamps = {}
        for op in query.walk():
            if isinstance(op, StreamSource | SensedSource | RelationSource) and op.name not in stamps:
                if op not in self._prepared:
                    self._prepared[op] = self._prepare(op)
                stamps[op.name], self._named[op.name] = self._prepared[op]
        return stamps

    def rows(self, name: str) -> DataFrame:
        """A source's attributes as c0, c1, … and of its stamp what there is."""
        return self._named[name]

    @staticmethod
    def _completed(source: Source, df: DataFrame) -> DataFrame:
        """A DataFrame of a user's has what is stored; computed attributes are added, unless it has them."""
        if isinstance(source, SensedSource) or not source.computed:
            return df
        there = {c.lower() for c in df.columns}
        if all(n.lower() in there for n, _ in source.computed) or any(
            a.name.lower() not in there for a in source.stored
        ):
            return df
        stamp = [c for c in df.columns if c.lower() in STAMP]
        return completed(source, df, lit(f"the DataFrame for {source.name}"), stamp)

    def _prepare(self, source: Source) -> tuple[frozenset[str], DataFrame]:
        if source.name not in self.frames:
            raise DataError(f"there are no data for the source {source.name!r}", hint=nearest(source.name, self.frames))
        df = self._completed(source, self.frames[source.name])
        types = {f.name: f.dataType.simpleString() for f in df.schema.fields}
        there = {c.lower(): c for c in types}
        for a in source.declared:
            if a.name.lower() not in there:
                raise DataError(
                    f"the DataFrame for {source.name} has no column {a.name!r}: its columns are {', '.join(types)}",
                    hint=nearest(a.name, list(types)),
                )
            actual, wanted = types[there[a.name.lower()]], spark_type(a.type).replace(", ", ",")
            if actual not in (wanted, "timestamp_ntz" if wanted == "timestamp" else wanted):
                raise DataError(
                    f"the column {a.name!r} of the DataFrame for {source.name} is {actual.upper()}, "
                    f"and {a.type} is declared",
                    hint=f"cast it: df.withColumn('{a.name}', col('{a.name}').cast('{wanted}'))",
                )
        stamp = [there[c] for c in STAMP if c in there and not isinstance(source, RelationSource)]
        named = [
            col(f"`{there[a.name.lower()]}`").cast(spark_type(a.type)).alias(f"c{k}")
            for k, a in enumerate(source.declared)
        ]
        rows = df.select(*named, *(col(f"`{c}`").alias(c.lower()) for c in stamp))
        return frozenset(c.lower() for c in stamp), rows
