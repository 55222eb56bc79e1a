"""Sensed streams over stored time: what the sensors gave, as a DataFrame that is stamped already."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.sources import SensedSource
from astralq.model.values import Stream
from astralq.plan.sql_types import spark_type


def sensed_frame(spark: SparkSession, source: SensedSource, stream: Stream) -> DataFrame:
    """The measurements in the order in which the sites were asked."""
    types = [f"`{a.name}` {'bigint' if a.type.name == 'TIMESTAMP' else spark_type(a.type)}" for a in source.declared]
    rows = [(*s.values, s.t, s.n) for s in stream.tuples]
    df = spark.createDataFrame(rows, ", ".join([*types, "_t bigint", "_n bigint"]))
    times = [a.name for a in source.declared if a.type.name == "TIMESTAMP"]
    return df.withColumns({n: F.timestamp_micros(f"`{n}`") for n in times}) if times else df
