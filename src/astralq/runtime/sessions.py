"""Two Spark sessions for epochs: small epochs, which are most, run without code generation, large ones with it."""

from __future__ import annotations

from pyspark.sql import SparkSession

from astralq.spark.session import INTERPRETED

LARGE = 100_000
"""From so many rows on, code generation pays off."""

_QUICK = {
    # Every epoch has another plan, because its instants are literals.
    **INTERPRETED,
    # No _SUCCESS files: nothing reads them in a checkpoint.
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    # A task's file goes where it belongs at once: files count with the commit of their epoch, whatever a job leaves.
    "mapreduce.fileoutputcommitter.algorithm.version": "2",
}
_BOTH = {"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true"}


class Sessions:
    """The sessions of a run. They share the SparkContext of the user's session and leave its settings alone."""

    def __init__(self, spark: SparkSession) -> None:
        self.compiled = spark
        self.quick = spark.newSession()
        cores = spark.sparkContext.defaultParallelism
        partitions = min(cores, int(spark.conf.get("spark.sql.shuffle.partitions") or cores))
        for name, value in {**_QUICK, **_BOTH, "spark.sql.shuffle.partitions": str(partitions)}.items():
            self.quick.conf.set(name, value)

    def of(self, rows: int) -> SparkSession:
        """The session for an epoch that reads so many rows."""
        session = self.quick if rows < LARGE else self.compiled
        # Makes it active in this thread: functions are registered with the active session.
        session.createDataFrame([], "x int")
        return session
