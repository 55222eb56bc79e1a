"""Two sessions for epochs: most are small, and then planning and compiling take far longer than computing."""

from __future__ import annotations

from pyspark.sql import SparkSession

LARGE = 100_000
"""From so many new rows on, an epoch is worth compiling."""

_QUICK = {
    # Every epoch is another plan: its instants stand in it. Interpreted, it need not be compiled first.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.subexpressionElimination.enabled": "false",
    # Planned once: there is nothing to learn from the sizes of small tables.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.constraintPropagation.enabled": "false",
    # Notes that only those need who look into the folder.
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
_BOTH = {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true"}


class Sessions:
    """The sessions of a run; they share its context with the user's, and change none of its settings."""

    def __init__(self, spark: SparkSession) -> None:
        self.compiled = spark
        self.quick = spark.newSession()
        cores = spark.sparkContext.defaultParallelism
        partitions = min(cores, int(spark.conf.get("spark.sql.shuffle.partitions") or cores))
        for name, value in {**_QUICK, **_BOTH, "spark.sql.shuffle.partitions": str(partitions)}.items():
            self.quick.conf.set(name, value)

    def of(self, rows: int) -> SparkSession:
        """The session for an epoch with so many new rows."""
        found = self.quick if rows < LARGE else self.compiled
        found.createDataFrame([], "x int")  # makes it this thread's own: functions are registered with that one
        return found
