"""The Java that we start: how it starts sooner.

A third of a cold start is Java loading Spark's classes. Java can keep them, loaded and checked, in an archive (class
data sharing), which `python -m astralq.spark.java` makes once for an environment; scripts/setup calls it. And for a run
over few rows the second of Java's two compilers only takes time from the first.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from astralq.spark.engine import Engine

_ARCHIVE = "-XX:SharedArchiveFile="
_QUICK = ("-XX:TieredStopAtLevel=1",)


def options(*, little: bool) -> str:
    """Options for Java: the archive, if there is one for this Spark and this Java, and for runs that read little those
    that save time in the first seconds."""
    path = archive()
    # An archive that does not fit is passed over; Java would tell so on standard output, among the answers.
    shared = (f'{_ARCHIVE}"{path}"', "-Xshare:auto", "-Xlog:disable") if path is not None and path.exists() else ()
    return " ".join((*shared, *(_QUICK if little else ())))


def archive() -> Path | None:
    """Where the archive of this environment is, or would be: another Spark or another Java has another one."""
    release = _release()
    if release is None:
        return None
    import pyspark

    jars = Path(pyspark.__file__).parent / "jars"
    parts = [release, pyspark.__version__, str(jars), *sorted(jar.name for jar in jars.glob("*.jar"))]
    name = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return Path(sys.prefix) / "share" / "astralq" / f"classes-{name}.jsa"


def _release() -> str | None:
    """What Java says of its version, in a file: to ask the program takes longer than the archive saves."""
    home = os.environ.get("JAVA_HOME")
    program = f"{home}/bin/java" if home else shutil.which("java")
    if program is None:
        return None
    try:
        return (Path(program).resolve().parent.parent / "release").read_text()
    except OSError:
        return None


def make_archive() -> Path | None:
    """Makes the archive, unless it is there: runs a few queries and keeps what classes they needed."""
    path = archive()
    if path is None or path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    for old in path.parent.glob("classes-*.jsa"):
        old.unlink()
    unfinished = path.with_suffix(f".{os.getpid()}")
    _run_samples(f'-XX:ArchiveClassesAtExit="{unfinished}" -Xlog:disable')
    if not unfinished.exists():
        return None
    unfinished.rename(path)
    return path


def _run_samples(java: str) -> None:
    """Starts a Spark with these options of Java, runs what most queries need, and waits until it has ended."""
    from pyspark import SparkContext

    from astralq.spark.engine import Engine
    from astralq.spark.session import INTERPRETED, JAVA, session

    spark = session("local[2]", {**INTERPRETED, JAVA: java})
    engine = Engine(spark)
    rows = spark.sql("SELECT id % 3 AS k, id * 0.5D AS v, timestamp_seconds(id * 10) AS ts FROM range(50)")
    streams: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        for name in ("csv", "json", "parquet"):
            rows.write.format(name).save(f"{folder}/{name}")
            read = spark.read.format(name).schema(rows.schema).load(f"{folder}/{name}")
            streams[name] = engine.stream_from(read, timestamp="ts", name=name)
        _ask(engine, streams)
    gateway = SparkContext._gateway
    assert gateway is not None
    process = gateway.proc
    spark.stop()
    gateway.shutdown()
    process.stdin.close()  # Java ends with it, and writes the archive
    process.wait(timeout=120)


def _ask(engine: Engine, streams: dict[str, Any]) -> None:
    for query in (
        "ISTREAM(SELECT k, avg(v) AS m FROM csv [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY k)",
        "RSTREAM(SELECT k, max(v) AS m FROM json [PARTITION BY k ROWS 3] GROUP BY k) EVERY 1 MINUTE",
        "ISTREAM(SELECT s.v, u.v AS w FROM parquet [RANGE 30 SECONDS] s JOIN csv [RANGE 20 SECONDS] u ON s.k = u.k)",
    ):
        engine.run(query, **streams).collect()


if __name__ == "__main__":
    try:
        found = make_archive()
    except Exception as e:  # never in the way: without it, everything works as well
        print(f"astralq: Java's classes are not kept in an archive, and Spark starts slower: {e}", file=sys.stderr)
    else:
        print(found or "Java has not written an archive; Spark starts slower")
