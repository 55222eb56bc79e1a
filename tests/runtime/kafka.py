"""A Kafka broker of one node on this machine: fetched from Maven Central, started and stopped by the test."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.processes import PATIENCE

BROKER = "3.9.2"
CONNECTOR, PROVIDER = "4.2.0", "4.0.0"
"""The newest versions of Spark's connector, and of the part of it that is a module of its own, that are at hand."""

_DEPENDENCY = """<dependency><groupId>{0}</groupId><artifactId>{1}</artifactId><version>{2}</version>{3}</dependency>"""
_ALONE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
_POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>astralq</groupId><artifactId>kafka</artifactId><version>1</version>
<dependencies>{}</dependencies></project>"""
_CACHE = Path(tempfile.gettempdir()) / f"astralq-kafka-{BROKER}-{CONNECTOR}-2"


def jars() -> Path:
    """The folder with the broker and the connector; where they cannot be fetched, the test is skipped."""
    if (_CACHE / "done").exists():
        return _CACHE / "jars"
    if shutil.which("mvn") is None:
        pytest.skip("Kafka comes from Maven Central, and there is no mvn to fetch it with")
    wanted = [
        ("org.apache.kafka", "kafka_2.13", BROKER, ""),
        ("org.slf4j", "slf4j-simple", "1.7.36", ""),
        ("org.apache.commons", "commons-pool2", "2.13.1", ""),
        ("org.apache.spark", "spark-sql-kafka-0-10_2.13", CONNECTOR, _ALONE),
        ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", PROVIDER, _ALONE),
    ]
    _CACHE.mkdir(exist_ok=True)
    (_CACHE / "pom.xml").write_text(_POM.format("".join(_DEPENDENCY.format(*d) for d in wanted)))
    command = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=jars"]
    done = subprocess.run(command, cwd=_CACHE, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode:
        pytest.skip(f"Maven Central cannot be reached: {done.stdout.splitlines()[:1]}")
    (_CACHE / "done").touch()
    return _CACHE / "jars"


def connector_jars() -> str:
    """What Spark needs on its class path, for spark.jars."""
    names = ("spark-sql-kafka", "spark-token-provider", "kafka-clients", "commons-pool2")
    return ",".join(str(f) for f in sorted(jars().glob("*.jar")) if f.name.startswith(names))


@dataclass(frozen=True)
class Broker:
    """Where a broker listens, and where it writes what happens to it."""

    address: str
    log: Path


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port


_SETTINGS = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
num.partitions=3
num.network.threads=2
num.io.threads=2
# Compacts nothing here, and would take a third of the heap.
log.cleaner.enable=false
# A broker that a busy machine leaves without a core for a while is not given up.
broker.session.timeout.ms=600000
log.dirs={folder}/log
"""


@contextmanager
def broker(folder: Path) -> Iterator[Broker]:
    """A broker that is ready."""
    classpath = f"{jars()}/*"
    port, controller = _free_port(), _free_port()
    settings = folder / "server.properties"
    settings.write_text(_SETTINGS.format(port=port, controller=controller, folder=folder))
    java = ["java", "-Xmx512m", "-cp", classpath]
    format_ = [*java, "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAA", "-c", str(settings)]
    subprocess.run(format_, check=True, capture_output=True, timeout=PATIENCE)
    with (folder / "broker.log").open("w") as log:
        process = subprocess.Popen([*java, "kafka.Kafka", str(settings)], stdout=log, stderr=log)
    try:
        _wait(port, process)
        yield Broker(f"127.0.0.1:{port}", folder / "broker.log")
    finally:
        process.terminate()
        try:
            process.wait(120)
        except subprocess.TimeoutExpired:
            process.kill()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        assert process.poll() is None, "the broker ended"
        assert time.monotonic() < end, "the broker does not listen"
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.3)
