"""The Spark session that the command line and the tests use: UTC, ANSI, quiet."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO
from urllib.parse import urlsplit

from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from astralq.errors import AstralError
from astralq.spark.java import options

OF_SPARK = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    # What is computed once is kept on two executors (execute.py): each has to know soon that there is another one.
    "spark.storage.cachedPeersTtl": "1000",
    # Where a column was made in Python is asked of the interpreter for each of them: most of the time of planning.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
"""Settings of a Spark that we start; its sessions cannot change them."""

OF_SESSION = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    # Few rows are computed in one partition. Spark does not know how small tables are that come from Python or from
    # memory, takes them to be endless, and would shuffle them for each join.
    "spark.sql.maxSinglePartitionBytes": str(2**63 - 1),
    # Timestamps that every reader of Parquet knows.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
"""Settings of a session of ours, wherever its Spark is."""

SETTINGS = {
    **OF_SPARK,
    **OF_SESSION,
    "spark.sql.shuffle.partitions": "8",
}

INTERPRETED = {
    # Over few rows, to compile a plan takes longer than to run it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.subexpressionElimination.enabled": "false",
    # Plan once: the sizes of small tables tell the optimizer nothing.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.constraintPropagation.enabled": "false",
}
"""Settings of a session that reads few rows."""

JAVA = "spark.driver.defaultJavaOptions"
"""Where our options go: before those of a user, which count."""
_REMOTE = "is a server running there? an address is sc://host:port"


class SparkError(AstralError):
    """Spark cannot be started, or gave up."""


def session(master: str | None = None, conf: Mapping[str, str] | None = None, *, little: bool = False) -> SparkSession:
    """A session, the running one if there is one; by default on all cores of this machine. `little`: it will not read
    much."""
    from py4j.protocol import Py4JError  # a client of Spark Connect need not have it

    running = SparkSession.getActiveSession()
    if running is None and shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise SparkError(
            "Spark needs Java 17 or 21, and there is none",
            hint="install it, for example: apt-get install openjdk-17-jre-headless; or use --engine model",
        )
    builder = SparkSession.builder.appName("astralq")
    if running is None:
        builder = builder.master(master or "local[*]")
        if (master or "local").startswith("local"):
            builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
            # The workers that test regions need this environment's packages.
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    ours = {**SETTINGS, **(INTERPRETED if little else {})}
    settings = {**(ours if running is None else {}), **(conf or {})}
    if running is None and JAVA not in settings and (java := options(little=little)):
        settings[JAVA] = java
    for name, value in settings.items():
        builder = builder.config(name, value)
    # PySpark logs every failed query with Java's stack; ours are told by the one who asked.
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True
    # What fails inside a batch of a stream is told by the one who asked, too.
    logging.getLogger("py4j.clientserver").disabled = True
    with _quiet() as said:
        try:
            return builder.getOrCreate()
        except (PySparkException, PySparkRuntimeError, Py4JError, OSError) as e:
            said.seek(0)
            lines = [line for line in said.read().splitlines() if "WARN" not in line and line.strip()]
            reason = "\n".join([str(e).splitlines()[0], *lines[-5:]])
            raise SparkError(f"Spark cannot be started: {reason}") from None


def connected(url: str, conf: Mapping[str, str] | None = None) -> SparkSession:
    """A session of a Spark that runs elsewhere, by its address (sc://host:port); its SQL is UTC and ANSI."""
    _check_address(url)
    try:
        found: SparkSession = SparkSession.builder.remote(url).create()
    except ImportError as e:
        raise SparkError(
            f"Spark Connect needs packages that are not there: {e}", hint='pip install "astralq[connect]"'
        ) from None
    except PySparkException as e:
        raise SparkError(f"{url}: {str(e).strip().splitlines()[0]}", hint=_REMOTE) from None
    try:
        for name, value in {**OF_SESSION, **(conf or {})}.items():
            found.conf.set(name, value)
    except PySparkException as e:
        raise SparkError(f"{url}: {str(e).strip().splitlines()[0]}") from None
    return found


def _check_address(url: str) -> None:
    """Whether somebody listens there: Spark's client would try again for minutes."""
    place = urlsplit(url)
    try:
        if place.scheme != "sc" or place.hostname is None:
            raise ValueError
        with socket.create_connection((place.hostname, place.port or 15002), timeout=10):
            return
    except ValueError:
        raise SparkError(f"{url!r} is no address of a Spark Connect server", hint=_REMOTE) from None
    except OSError as e:
        raise SparkError(f"{url} cannot be reached: {e.strerror or e}", hint=_REMOTE) from None


def use_this_python(session: SparkSession) -> None:
    """Workers on this machine run the Python of this process, whose packages they need, unless one was chosen; Spark
    takes the python3 of the PATH, which is another one where no environment is activated."""
    if is_remote(session) or "PYSPARK_PYTHON" in os.environ:
        return
    context = session.sparkContext
    chosen = context.getConf().get("spark.pyspark.python") is not None
    if context.master.startswith("local") and not chosen:
        context.pythonExec = sys.executable


def is_remote(session: SparkSession) -> bool:
    """Whether a session is one of Spark Connect, which has neither a context nor Java objects."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def parallelism(session: SparkSession) -> int:
    """How many tasks run at once, as far as a session says."""
    if is_remote(session):
        return int(session.conf.get("spark.sql.shuffle.partitions") or 1)
    return int(session.sparkContext.defaultParallelism)


@contextmanager
def _quiet() -> Iterator[IO[str]]:
    """What Java and Spark print while they start goes to a file, which they keep: it is no part of an answer."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        sys.stderr.flush()
        kept = os.dup(2)
        os.dup2(said.fileno(), 2)
        try:
            yield said
        finally:
            os.dup2(kept, 2)
            os.close(kept)
