"""A warm Spark: Spark's own persistent local Connect server, found, started, watched and stopped.

`pyspark.sql.connect.local_server` starts it, gives it a token, and keeps where it is in a file that only its user can
read; that file is in a folder of ours. Spark compares nothing but versions before it uses a server again; what else has
to fit is compared here.
"""

from __future__ import annotations

import atexit
import fcntl
import getpass
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from astralq.spark.java import options
from astralq.spark.session import INTERPRETED, JAVA, OF_SPARK, SETTINGS, SparkError, connected, session

LOCAL = "local[*]"
_STATIC = ("spark.sql.catalogImplementation", "spark.sql.extensions", "spark.sql.hive.", "spark.sql.warehouse.dir")
"""Static settings of Spark SQL: those of a server cannot be changed by its sessions."""
PATIENCE = 20.0
"""Seconds in which a server has to end that is stopped."""


@dataclass(frozen=True)
class Server:
    """A server that runs, and what it was started with."""

    url: str
    token: str
    pid: int
    started: float
    """In seconds since the epoch."""
    master: str
    python: str
    """Of its workers, which test regions."""
    conf: Mapping[str, str]

    @property
    def last_used(self) -> float:
        """When a command last used it, in seconds since the epoch."""
        used = _file().with_suffix(".used")
        return max(self.started, used.stat().st_mtime if used.exists() else 0.0)

    @property
    def memory(self) -> int | None:
        """How many bytes it holds, where the system tells."""
        try:
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        except (OSError, ValueError, IndexError):
            return None
        return pages * os.sysconf("SC_PAGE_SIZE")

    def session(self, conf: Mapping[str, str]) -> SparkSession:
        """A session of its own in the server."""
        os.environ["SPARK_CONNECT_AUTHENTICATE_TOKEN"] = self.token
        _file().with_suffix(".used").touch()
        found = connected(self.url, {**{k: v for k, v in SETTINGS.items() if k not in OF_SPARK}, **conf})
        atexit.register(_let_go, found)  # what it keeps there, tables and views, goes with it
        return found

    def misfits(self, master: str | None, conf: Mapping[str, str]) -> Iterator[str]:
        """What a run asks for and the server has not: another master, settings of Spark that are not a session's, and
        the Python of its workers."""
        if master not in (None, self.master):
            yield f"its master is {self.master}, and {master} is asked for"
        if self.python != sys.executable:
            yield f"its Python is {self.python}, and this one is {sys.executable}"
        for name, value in conf.items():
            there = self.conf.get(name)
            if there != value and (not name.startswith("spark.sql.") or name.startswith(_STATIC)):
                yield f"its {name} is {there or 'not set'}, and {value} is asked for"


def warm_session(
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    *,
    little: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> SparkSession:
    """The session of this process, if there is one; a session of the server, if one runs and fits; else one of a Spark
    that is started. `tell` is told why a server does not fit."""
    given = dict(conf or {})
    if SparkSession.getActiveSession() is None and (found := running()) is not None:
        misfit = next(found.misfits(master, given), None)
        if misfit is None:
            return found.session({**(INTERPRETED if little else {}), **given})
        tell(f"the server is not used: {misfit}")
    return session(master, given, little=little)


def running() -> Server | None:
    """The server that runs, that this version of Spark can use and that `start` has started, if there is one."""
    if not _file().exists():
        return None
    with _known() as known:
        return None if known is None else _described(known)


def _described(known: Any) -> Server | None:
    try:
        settings = json.loads(_settings().read_text())
        return Server(known.url, known.token, known.pid, **settings) if known.is_reusable() else None
    except (OSError, ValueError, TypeError):  # somebody else's, or another version's
        return None


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Of two servers that start at the same time both would find the same port free, and one of them would end."""
    with (Path(tempfile.gettempdir()) / f"astralq-server-{getpass.getuser()}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def start(master: str | None = None, conf: Mapping[str, str] | None = None) -> Server:
    """Starts a server, which must not run already."""
    master = master or LOCAL
    if not master.startswith("local"):
        raise SparkError(
            f"the server is one for this machine, and the master is {master}", hint="use --master local[*]"
        )
    with _known() as known:
        if known is None:
            raise SparkError(
                "a server needs Spark 4.3 and the packages of Spark Connect", hint='pip install "astralq[connect]"'
            )
        if known.is_reusable():
            raise SparkError(f"a server is running already, at {known.url}", hint="stop it first: astralq server stop")
        settings = {**SETTINGS, **(conf or {})}
        if JAVA not in settings and (java := options(little=False)):
            settings[JAVA] = java
        os.environ["PYSPARK_PYTHON"] = sys.executable  # its workers need this environment's packages
        given = {"started": time.time(), "master": master, "python": sys.executable, "conf": dict(conf or {})}
        _settings().write_text(json.dumps(given))
        try:
            with _one_at_a_time():
                known.reuse_or_start(master, settings)
        except PySparkException as e:
            raise SparkError(f"the server cannot be started: {str(e).strip().splitlines()[0]}") from None
        found = _described(known)
    if found is None:
        raise SparkError("the server has started, and cannot be reached", hint="astralq server stop, and try again")
    return found


def stop() -> str | None:
    """Stops the server; the address that it had."""
    with _known() as known:
        if known is None or not known.is_reusable():
            return None
        url, pid = str(known.url), int(known.pid)
        if known.stop() is None:
            raise SparkError("whether the server is still the one that was started cannot be seen", hint="try again")
    deadline = time.monotonic() + PATIENCE
    while _is_alive(pid):
        if time.monotonic() > deadline:
            raise SparkError(f"the server has not ended in {PATIENCE:.0f} s", hint=f"kill -9 {pid}")
        time.sleep(0.05)
    return url


def _file() -> Path:
    """Where Spark keeps how its server is reached: it holds a token, so that the folder is the user's alone."""
    given = os.environ.get("SPARK_LOCAL_CONNECT_DISCOVERY")
    if given:
        return Path(given).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "astralq" / "server" / "connect.json"


def _settings() -> Path:
    return _file().with_suffix(".settings.json")


def _let_go(session: SparkSession) -> None:
    with suppress(Exception):  # it may be gone already
        session.stop()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


@contextmanager
def _known() -> Iterator[Any]:
    """What Spark knows of its server, while nobody else can change it; None where this Spark has no such server."""
    try:
        from pyspark.sql.connect.local_server import Discovery, LocalConnectServer
    except (ImportError, PySparkException):  # before 4.3, or without the packages of Spark Connect
        yield None
        return
    folder = _file().parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with Discovery(str(_file())) as discovery:
        yield LocalConnectServer(discovery)
