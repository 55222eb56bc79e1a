"""The handle of a continuous run, for Python users: stop it, watch it, add and drop queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from astralq.algebra.base import HasOperator, Operator
from astralq.runtime.progress import RunProgress
from astralq.runtime.run import ContinuousRun
from astralq.timeline import instant

Query = str | Operator | HasOperator


@dataclass(frozen=True)
class Status:
    """Whether a run is active, its last epoch, its queries, and why it failed."""

    active: bool
    epoch: int
    queries: tuple[str, ...]
    failure: str | None
    failed: dict[str, str] = field(default_factory=dict)  # queries that have stopped while others went on, and why


@dataclass(frozen=True)
class Handle:
    """A continuous run in the background."""

    run: ContinuousRun
    _add: Callable[..., None]

    @property
    def status(self) -> Status:
        """Whether it is active, its last epoch, and the names of its queries."""
        failure = None if self.run.failure is None else str(self.run.failure)
        epochs = self.run.epochs
        return Status(self.run.is_active, epochs.epoch, tuple(epochs.queries), failure, dict(epochs.failed))

    @property
    def progress(self) -> RunProgress | None:
        """Its progress after the last epoch; None before the first."""
        return self.run.last_progress

    @property
    def checkpoint(self) -> Path:
        return self.run.checkpoint

    def stop(self) -> None:
        """Stops it after the current epoch; started again with the same checkpoint it resumes there."""
        self.run.stop()
        self.run.join(None)

    def await_termination(self, timeout: float | None = None) -> bool:
        """Waits until it has ended, at most `timeout` seconds; False if it has not. Raises the error that ended it."""
        return self.run.join(timeout)

    def add_query(self, query: Query, *, name: str, sink: Any = None, **sources: Any) -> None:
        """Adds a query. Without START AT it starts after the watermark of the queries that read the same sources."""
        self._add(query, name=name, sink=sink, **sources)

    def drop_query(self, name: str) -> None:
        """Drops a query, with its state."""
        self.run.drop(name)

    def heartbeat(self, source: str, t: str | datetime | int) -> None:
        """Promises that a source has no more tuples at or before an instant."""
        self.run.heartbeat(source, instant(t))
