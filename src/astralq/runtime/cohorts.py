"""What an epoch is going to do: its intent, and the cohorts of queries that it evaluates together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from astralq.runtime.checkpoint.records import Record
from astralq.runtime.queries import ContinuousQuery, QueryState, is_stored
from astralq.sharing.common import Rooted
from astralq.sharing.queries import join, share
from astralq.timeline import Instant


@dataclass(frozen=True)
class TargetWatermark:
    """How far an epoch advances a query."""

    until: Instant  # inclusive
    closing: bool = False  # the last epoch of a run: nothing more is waited for


@dataclass(frozen=True)
class Intent:
    """What an epoch is going to do: which batches it reads, and how far it advances each query."""

    epoch: int
    offsets: dict[str, int]  # of each source, its last batch
    targets: dict[str, TargetWatermark]  # of each query that advances

    @staticmethod
    def from_record(record: Record) -> Intent:
        targets = {q: TargetWatermark(Instant(t["until"]), t["closing"]) for q, t in record["targets"].items()}
        return Intent(record["epoch"], record["offsets"], targets)

    @property
    def record(self) -> Record:
        return {"epoch": self.epoch, "offsets": self.offsets, "targets": {q: vars(t) for q, t in self.targets.items()}}


@dataclass(frozen=True)
class Cohort:
    """Queries that read the same streams in the same interval (since, until]: they are evaluated together."""

    names: tuple[str, ...]
    since: Instant | None
    target: TargetWatermark


def cohorts_of(
    targets: Mapping[str, TargetWatermark],
    queries: Mapping[str, ContinuousQuery],
    states: Mapping[str, QueryState],
    began: Mapping[str, int],
    *,
    sharing: bool,
) -> list[Cohort]:
    """The queries that have a target, in cohorts. A new query reads with those that have come to its start; `began` are
    the numbers of the epochs in which queries begin."""
    groups: dict[tuple[object, Instant | None, TargetWatermark, object], list[str]] = {}
    for name, target in targets.items():
        query = queries[name]
        reads = states[name].since
        if sharing and reads is None and query.t0 is not None:
            others = [
                states[q].since for q in targets if targets[q] == target and _coming(queries[q]) == _coming(query)
            ]
            reads = max((s for s in others if s is not None and s < query.t0), default=None)
        # Stored relations are read when a query begins.
        stored = began[name] if any(map(is_stored, query.sources)) else 0
        groups.setdefault((_coming(query), reads, target, (stored, "" if sharing else name)), []).append(name)
    return [Cohort(tuple(names), since, target) for (_, since, target, _), names in groups.items()]


def _coming(query: ContinuousQuery) -> frozenset[str]:
    return frozenset(s.name for s in query.coming)


def with_shared_plans(
    cohort: Cohort, queries: Mapping[str, ContinuousQuery], states: Mapping[str, QueryState]
) -> dict[str, ContinuousQuery]:
    """The queries that begin with this epoch, rewritten so that they use what running ones keep, and have in common
    what they can. The plans of running ones stay as they are."""
    rooted = {q: Rooted(f"query {q}", queries[q].core, queries[q].t0) for q in cohort.names}
    running = [(rooted[q], since) for q in cohort.names if (since := states[q].since) is not None]
    beginning = [q for q in cohort.names if states[q].since is None and queries[q].plan is None]
    joined = [join(running, rooted[q]).queries[0] if running else rooted[q] for q in beginning]
    shared = share(joined, live=True).queries if len(joined) > 1 else joined
    return {q: replace(queries[q], plan=one.query) for q, one in zip(beginning, shared, strict=True)}
