"""The Spark session that the command line and the tests use: UTC, ANSI, quiet."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.sql import SparkSession

from astralq.errors import AstralError

SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    # Where a column was made in Python is asked of the interpreter for each of them: most of the time of planning.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}


class SparkError(AstralError):
    """Spark cannot be started, or gave up."""


def session(master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """A session, the running one if there is one; by default on all cores of this machine."""
    running = SparkSession.getActiveSession()
    if running is None and shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise SparkError(
            "Spark needs Java 17 or 21, and there is none",
            hint="install it, for example: apt-get install openjdk-17-jre-headless; or use --engine model",
        )
    builder = SparkSession.builder.appName("astralq")
    if running is None:
        builder = builder.master(master or os.environ.get("ASTRALQ_MASTER", "local[*]"))
        if (master or "local").startswith("local"):
            builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    for name, value in {**({} if running is not None else SETTINGS), **(conf or {})}.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, PySparkRuntimeError, OSError) as e:
        raise SparkError(f"Spark cannot be started: {str(e).splitlines()[0]}") from None
