"""What an epoch is going to do: its intent, and the cohorts of queries that it evaluates together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from astralq.algebra.sources import RelationSource, StartedAt
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
    namespace: str = ""  # what their state is named by besides operators and starts


def common_namespace(query: ContinuousQuery, began: int) -> str:
    """What queries have to have in common to keep state together: they advance alike, and read the same of stored
    relations, which are read when a query begins, or by each scan."""
    coming = sorted(s.name for s in query.coming)
    stored = [began, sorted(query.scanned)] if any(map(is_stored, query.sources)) else []
    return f"{coming} {stored} {sorted(query.ticks)}"


def may_join(query: ContinuousQuery, since: Sequence[Instant]) -> bool:
    """Whether a query can begin beside others that have answered up to these instants, reading only what comes after:
    nothing in it looks further back."""
    logs = any(isinstance(s, RelationSource) for s in query.coming)
    views = any(isinstance(op, StartedAt) for op in query.operator.walk())
    return query.t0 is not None and all(s < query.t0 for s in since) and not logs and not views


def cohorts_of(
    targets: Mapping[str, TargetWatermark],
    states: Mapping[str, QueryState],
    namespaces: Mapping[str, str],
) -> list[Cohort]:
    """The queries that have a target, in cohorts; `namespaces` are those of their state. A new query reads with
    those that it joins."""
    groups: dict[tuple[str, Instant | None, TargetWatermark], list[str]] = {}
    for name, target in targets.items():
        reads = states[name].since
        if reads is None:
            others = [states[q].since for q in targets if namespaces[q] == namespaces[name] and targets[q] == target]
            reads = max((s for s in others if s is not None), default=None)
        groups.setdefault((namespaces[name], reads, target), []).append(name)
    return [Cohort(tuple(names), since, target, key) for (key, since, target), names in groups.items()]


def with_shared_plans(
    cohort: Cohort, queries: Mapping[str, ContinuousQuery], states: Mapping[str, QueryState]
) -> dict[str, ContinuousQuery]:
    """The queries that begin with this epoch, rewritten so that they use what running ones keep, and have in common
    what they can. The plans of running ones stay as they are; one that no checkpoint can hold, because there are Python
    functions in it, is left alone."""
    rooted = {q: Rooted(f"query {q}", queries[q].core, queries[q].t0) for q in cohort.names}
    running = [(rooted[q], since) for q in cohort.names if (since := states[q].since) is not None]
    new = [q for q in cohort.names if states[q].since is None and queries[q].plan is None and queries[q].plan_text]
    joined = [join(running, rooted[q]).queries[0] if running else rooted[q] for q in new]
    shared = share(joined, live=True).queries if len(joined) > 1 else joined
    return {q: replace(queries[q], plan=one.query) for q, one in zip(new, shared, strict=True)}
