"""From arrival to answer: how long files and batches waited until all of their tuples were answered."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from astralq.runtime.ingest.log import BatchManifest
from astralq.timeline import Instant

KEPT = 1_000
"""Of how many files, the last ones, the distribution is told."""


@dataclass(frozen=True)
class Latency:
    """How long the last files waited for their answers, in seconds; of other sources their batches count."""

    files: int
    median: float
    most: float  # 95 of 100 took at most so long
    longest: float

    @staticmethod
    def of(seconds: Iterable[float]) -> Latency | None:
        """None where there are none.

        >>> Latency.of([0.5] * 18 + [1.0, 3.0])
        Latency(files=20, median=0.5, most=1.0, longest=3.0)
        """
        ordered = sorted(seconds)
        if not ordered:
            return None

        def at(share: float) -> float:
            return round(ordered[max(0, math.ceil(share * len(ordered)) - 1)], 3)

        return Latency(len(ordered), at(0.5), at(0.95), at(1))

    def __str__(self) -> str:
        within = f"95 % within {self.most:.1f} s, all within {self.longest:.1f} s"
        return f"answered {self.median:.1f} s after arrival, {within}"


@dataclass
class Latencies:
    """Counts each batch once, when the last of its tuples has been answered."""

    began: Instant
    """When the run began: what was there before waited from then on."""
    last: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))
    _counted: dict[str, set[int]] = field(default_factory=dict)

    def note(self, source: str, batches: Mapping[int, BatchManifest], answered: Instant | None, now: Instant) -> None:
        """All batches of a source, and up to where all queries that read it have answered."""
        counted = self._counted.setdefault(source, set())
        counted.intersection_update(batches)
        for number, batch in batches.items():
            if number in counted or answered is None or batch.last is None or batch.last > answered:
                continue
            counted.add(number)
            if batch.arrived >= self.began:
                came = batch.came or (batch.arrived,)
                self.last.extend((now - max(Instant(c), self.began)) / 1e6 for c in came)
