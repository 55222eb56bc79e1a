"""The life of queries in a run of another process: requests to add and drop them, and what the run remembers of it.

Requests are files in the checkpoint, which the run answers between two epochs. What was added and dropped is kept
there, too: a restart goes on with the same queries.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from uuid import uuid4

from astralq.errors import AstralError, nearest
from astralq.runtime.checkpoint.folders import CheckpointError
from astralq.runtime.checkpoint.records import Record, newest, read_record, write_record
from astralq.runtime.queries import QueryState, RunState

POLL = 0.1
"""Seconds between two looks for an answer."""


@dataclass(frozen=True)
class AddedQuery:
    """A query of a script that was added to a run: which one of the script's, and what the script is read with."""

    name: str
    text: str
    number: int
    file: str
    folder: str
    dialect: str
    bind: tuple[str, ...] = ()

    @staticmethod
    def from_record(record: Record) -> AddedQuery:
        return AddedQuery(**{**record, "bind": tuple(record["bind"])})


@dataclass(frozen=True)
class Membership:
    """What was added to a run besides the queries that it was started with, and what was dropped."""

    added: tuple[AddedQuery, ...] = ()
    dropped: tuple[str, ...] = ()

    @staticmethod
    def read(root: Path) -> Membership:
        path = root / "membership.json"
        if not path.exists():
            return Membership()
        record = read_record(path)
        return Membership(tuple(map(AddedQuery.from_record, record["added"])), tuple(record["dropped"]))

    def write(self, root: Path) -> None:
        write_record(root / "membership.json", {"added": [asdict(q) for q in self.added], "dropped": self.dropped})

    def with_added(self, query: AddedQuery) -> Membership:
        return replace(self, added=(*self.added, query))

    def without(self, name: str) -> Membership:
        return Membership(tuple(q for q in self.added if q.name != name), (*self.dropped, name))


@dataclass(frozen=True)
class Request:
    """To add queries, or to drop one."""

    add: tuple[AddedQuery, ...] = ()
    drop: str | None = None


@dataclass
class Requests:
    """The requests to a run, seen from the run."""

    root: Path
    handle: Callable[[Request], None]

    @property
    def folder(self) -> Path:
        return self.root / "control"

    def clear(self) -> None:
        """Takes away the answers that nobody fetched. Requests stay: who asked a run that has ended has taken his back,
        and others may have asked while this one began."""
        for path in self.folder.glob("*.answer.json"):
            path.unlink(missing_ok=True)

    def answer_all(self) -> None:
        """Carries out the requests that have come, one by one; an error is an answer, too."""
        if not self.folder.is_dir():
            return
        for path in sorted(self.folder.glob("*.request.json")):
            error = None
            try:
                record = json.loads(path.read_text(encoding="utf-8"))
                self.handle(Request(tuple(map(AddedQuery.from_record, record["add"])), record["drop"]))
            except AstralError as e:
                error = str(e)
            except Exception as e:  # whatever is wrong with a request, the run goes on
                error = f"it cannot be carried out: {str(e).splitlines()[0] if str(e) else type(e).__name__}"
            path.unlink(missing_ok=True)
            _put(self.folder / path.name.replace(".request.", ".answer."), {"error": error})


def ask(root: Path, request: Request) -> None:
    """Asks the run of a checkpoint, and waits for its answer; an error if it refuses, or if there is none."""
    check_checkpoint(root)
    if not is_running(root):
        raise CheckpointError(
            f"no run uses the checkpoint {root}", hint=f"start one: astralq start FILE --checkpoint {root}"
        )
    folder = root / "control"
    folder.mkdir(exist_ok=True)
    name = f"{time.time_ns()}-{uuid4().hex}"
    answer = folder / f"{name}.answer.json"
    _put(folder / f"{name}.request.json", {"add": [asdict(q) for q in request.add], "drop": request.drop})
    while not answer.exists():
        if not is_running(root) and not answer.exists():
            (folder / f"{name}.request.json").unlink(missing_ok=True)
            raise CheckpointError(f"the run of {root} has ended before it answered", hint="start it again")
        time.sleep(POLL)
    error = json.loads(answer.read_text(encoding="utf-8"))["error"]
    answer.unlink()
    if error is not None:
        raise AstralError(error)


def _put(path: Path, record: Record) -> None:
    """A whole file, or none."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(record), encoding="utf-8")
    new.replace(path)


def is_running(root: Path) -> bool:
    """Whether a process holds the lock of a checkpoint."""
    try:
        handle = os.open(root / "lock", os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def check_checkpoint(root: Path) -> None:
    """An error unless a folder is a checkpoint."""
    if not (root / "version").exists():
        there = [p.name for p in root.parent.iterdir()] if root.parent.is_dir() else []
        raise CheckpointError(
            f"{root} is no checkpoint", hint=nearest(root.name, there) or "name the folder of start --checkpoint"
        )


@dataclass(frozen=True)
class QueryStatus:
    """A query of a checkpoint after its last commit."""

    name: str
    state: QueryState
    kept_rows: int
    kept_bytes: int
    text: str
    failure: str | None = None


@dataclass(frozen=True)
class RunStatus:
    """The queries of a checkpoint after its last commit, whether a run goes on or not."""

    running: bool
    epoch: int
    queries: tuple[QueryStatus, ...] = field(default=())


def status(root: Path) -> RunStatus:
    """What the newest commit of a checkpoint says, and which queries have come and gone since."""
    check_checkpoint(root)
    members = Membership.read(root)
    epoch, record = next(newest(root / "commit"), (0, None))
    known = [] if record is None else [q for q in _statuses(record) if q.name not in members.dropped]
    names = {q.name for q in known}
    waiting = [QueryStatus(q.name, QueryState(), 0, 0, "") for q in members.added if q.name not in names]
    return RunStatus(is_running(root), epoch, (*known, *waiting))


def _statuses(record: Record) -> Iterator[QueryStatus]:
    kept = RunState.from_record(record["state"])
    for name, found in record["query_states"].items():
        state = QueryState.from_record(found)
        text = record["queries"].get(name, {}).get("query", "")
        yield QueryStatus(name, state, *kept.size(state.tables), text, record["failed"].get(name))
