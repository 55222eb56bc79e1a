"""Progress of a continuous run after an epoch: a line for a terminal, a record for a file, values for programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from astralq.runtime.latency import Latency
from astralq.timeline import Instant, format_instant


@dataclass(frozen=True)
class QueryProgress:
    """One query after an epoch."""

    query: str
    watermark: Instant | None  # it has answered up to here, inclusive
    released: int  # tuples that it has read
    late: int  # tuples that came too late for it
    written: int  # rows of its answer
    state_rows: int
    state_bytes: int
    rejected: int = 0  # rows that it cannot use: before its start, or deletions that found no row


@dataclass(frozen=True)
class RunProgress:
    """A run after an epoch."""

    epoch: int
    rows: int  # rows in, including rejected ones
    rejected: int
    newest: Instant | None  # the greatest timestamp of any source
    seconds: float  # duration of the epoch
    queries: tuple[QueryProgress, ...]
    shared_rows: int = 0  # state that several queries have in common, counted once
    shared_bytes: int = 0
    failed: tuple[tuple[str, str], ...] = ()  # queries that have stopped, and why
    latency: Latency | None = None  # from arrival to answer

    @property
    def record(self) -> dict[str, Any]:
        """What is written to a file, with times as text."""
        record = asdict(self)
        record["newest"] = None if self.newest is None else format_instant(self.newest)
        for q in record["queries"]:
            q["lag_seconds"] = self.lag(q["watermark"])
            q["watermark"] = None if q["watermark"] is None else format_instant(Instant(q["watermark"]))
        return record

    def lag(self, watermark: Instant | None) -> float | None:
        """How far a query is behind the newest tuple, in seconds."""
        if watermark is None or self.newest is None:
            return None
        return max(0, self.newest - watermark) / 1e6

    def line(self) -> str:
        """One line for a terminal."""
        parts = [f"epoch {self.epoch}", f"{self.rows:,} rows in"]
        if self.rejected:
            parts.append(f"{self.rejected:,} rejected")
        for q in self.queries:
            name = f"query {q.query}: " if len(self.queries) > 1 else ""
            mark = "no watermark yet" if q.watermark is None else f"up to {format_instant(q.watermark)}"
            lag = self.lag(q.watermark)
            behind = f", {lag:.1f} s behind" if lag is not None else ""
            late = f", {q.late:,} late" if q.late else ""
            late += f", {q.rejected:,} rejected" if q.rejected else ""
            parts.append(f"{name}{mark}{behind}{late}, {q.released:,} released, {q.written:,} rows out")
            parts.append(f"state {q.state_rows:,} rows, {size(q.state_bytes)}")
        if self.shared_rows:
            parts.append(f"of that shared {self.shared_rows:,} rows, {size(self.shared_bytes)}")
        parts += [f"query {name} has failed" for name, _ in self.failed]
        if self.latency is not None:
            parts.append(str(self.latency))
        return " · ".join([*parts, f"{self.seconds:.2f} s"])


def size(count: int) -> str:
    """Bytes as a person reads them.

    >>> size(1_500), size(2_500_000)
    ('1.5 kB', '2.5 MB')
    """
    value, units = float(count), ["B", "kB", "MB", "GB"]
    while value >= 1000 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.0f} {units[0]}" if units[0] == "B" else f"{value:.1f} {units[0]}"
