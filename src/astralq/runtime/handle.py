"""What a Python user holds of a continuous run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
    """Whether a run is going on, and what it answers."""

    active: bool
    epoch: int
    queries: tuple[str, ...]
    failure: str | None


@dataclass(frozen=True)
class Handle:
    """A continuous run that goes on in the background."""

    run: ContinuousRun
    _add: Callable[..., None]

    @property
    def status(self) -> Status:
        """Whether it is going on, its last epoch, and the names of its queries."""
        failure = None if self.run.failure is None else str(self.run.failure)
        return Status(self.run.is_active, self.run.epochs.epoch, tuple(self.run.epochs.queries), failure)

    @property
    def progress(self) -> RunProgress | None:
        """How it was getting on after the last epoch; None before the first."""
        return self.run.last_progress

    @property
    def checkpoint(self) -> Path:
        return self.run.checkpoint

    def stop(self) -> None:
        """Ends it after the epoch that is under way; with the same checkpoint it can be started again."""
        self.run.stop()
        self.run.join(None)

    def await_termination(self, timeout: float | None = None) -> bool:
        """Waits until it has ended, at most so many seconds; whether it has. What went wrong is raised."""
        return self.run.join(timeout)

    def add_query(self, query: Query, *, name: str, sink: Any = None, **sources: Any) -> None:
        """One more query while the others go on: from its own START AT, else from where those stand that read the same
        sources."""
        self._add(query, name=name, sink=sink, **sources)

    def drop_query(self, name: str) -> None:
        """One query less."""
        self.run.drop(name)

    def heartbeat(self, source: str, t: str | datetime | int) -> None:
        """Says that nothing of a source at or before an instant will come any more."""
        self.run.heartbeat(source, instant(t))
