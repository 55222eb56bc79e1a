"""What a continuous query keeps from one epoch to the next: state tables, and metadata.

A state table is where a plan would otherwise need the past: between a stream and a window, below an aggregate (panes),
and at operators that look back. It may hold more rows than are needed: the operator says which ones are, and the
runtime compacts a table when that is worth it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from astralq.algebra.base import Operator
from astralq.algebra.digest import UnnamedFunctionError, digest_of
from astralq.algebra.sources import sources_of
from astralq.algebra.stream_ops import Spread
from astralq.algebra.ticks import Tick
from astralq.plan.table import Keep, State, Table, is_soon_computed
from astralq.timeline import Instant

Metadata = dict[str, Any]


@dataclass
class StateTables:
    """The state of a query in one epoch: what the epoch before left, and what this one makes of it.

    Nothing is read or written here. The tables that are kept, compacted and counted, and the metadata that were put,
    are part of the plan, and the runtime carries them out.
    """

    metadata: Mapping[str, Any] = field(default_factory=dict)
    before: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # the tables' columns
    kept: dict[str, Keep] = field(default_factory=dict)
    compacted: dict[str, Table] = field(default_factory=dict)
    expired: dict[str, Instant] = field(default_factory=dict)  # rows of tables with tt up to there are not needed
    counted: dict[str, Table] = field(default_factory=dict)
    unmatched: dict[str, Table] = field(default_factory=dict)
    changed: Metadata = field(default_factory=dict)
    used: set[str] = field(default_factory=set)  # what tables and metadata belong to, since somebody looked

    def get(self, name: str) -> Table | None:
        """A state table as the epoch before left it."""
        return State(name, self.before[name]) if name in self.before else None

    def append(self, name: str, rows: Table, *, ahead: bool = False) -> Table:
        """The table with further rows; a column that it has and they have not is NULL in them. `ahead`: these rows are
        the same whenever they are computed, so that nobody has to wait for them if that is soon done."""
        self.used.add(name)
        if name not in self.kept:
            before = tuple(self.before.get(name, ()))
            self.kept[name] = Keep(rows, name, True, before, ahead and is_soon_computed(rows))
        return self.kept[name]

    def replace(self, name: str, rows: Table) -> Table:
        """Another table instead."""
        self.used.add(name)
        if name not in self.kept:
            self.kept[name] = Keep(rows, name, False)
        return self.kept[name]

    def compact(self, name: str, needed: Table) -> None:
        """Which rows of a table are needed after this epoch."""
        self.compacted[name] = needed

    def expire(self, name: str, until: Instant) -> None:
        """Rows of a table that have left, by their tt, at an instant or before are not needed after this epoch."""
        self.expired[name] = until

    def count(self, name: str, table: Table) -> None:
        """A stream's new tuples, which have their positions n: the next epoch goes on counting after them. A table
        with the last of them among others will do."""
        self.used.add(subject(name))
        self.counted[name] = table

    def put(self, name: str, value: Any) -> None:
        """Metadata for the next epoch, something that JSON can hold."""
        self.used.add(subject(name))
        self.changed[name] = value

    def set_aside(self, source: str, rows: Table) -> None:
        """Those of a source's changes in this epoch that found nothing to take out."""
        self.unmatched[source] = rows


def subject(name: str) -> str:
    """What a piece of metadata belongs to: a state table, a stream, or a scope. Its name is "kind subject …"."""
    return name.split()[1]


def scope_of(query: Operator, t0: Instant | None, namespace: str = "") -> str:
    """What the state of a query is named by besides its operators: its start, and what says when it begins to observe.
    Queries with the same scope have the same state for the same operators, and keep it once; those that do not advance
    alike have other namespaces."""
    sources = sorted(s.name for s in sources_of(query))
    ticks = sorted({op.period for op in query.walk() if isinstance(op, Tick)})
    spread = any(isinstance(op, Spread) for op in query.walk())
    text = f"{t0} {' '.join(sources)} {ticks} {spread} {namespace}"
    return f"scope-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def state_name(kind: str, scope: str, op: Operator, *more: object) -> str:
    """The name of a state table: the same in every epoch and after every restart, different for different operators.

    A function that nobody named has one as long as this process lasts: `start` refuses it.
    """
    try:
        name = op.digest
    except UnnamedFunctionError:
        name = digest_of(op, lambda f: f"function {id(f)}")
    text = "\n".join([scope, name, *map(str, more)])
    return f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
