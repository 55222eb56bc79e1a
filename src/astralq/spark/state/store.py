"""What a continuous query keeps from one epoch to the next: tables on the edges of its plan, and small facts.

An edge is where the plan would otherwise need the past: between a stream and a window, below an aggregate (panes),
and at operators that look back. Its table may hold more than is needed; what is not needed any more is found by the
operator's own `trim`, which is asked for when a table has grown enough to be worth it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.base import Operator
from astralq.algebra.digest import UnnamedFunctionError, digest_of
from astralq.spark.encoding.columns import col, lit

Facts = dict[str, Any]
Trim = Callable[[], DataFrame]


class Memory(Protocol):
    """Tables by the names of their edges, and facts; both as they were before this epoch, and as they are after it."""

    @property
    def facts(self) -> Facts: ...

    def kept(self, edge: str) -> DataFrame | None:
        """The table of an edge as the epoch before left it."""

    def grow(self, edge: str, new: DataFrame) -> DataFrame:
        """The table with further rows; what comes back is computed already."""

    def replace(self, edge: str, df: DataFrame) -> DataFrame:
        """Another table instead; what comes back is computed already."""

    def trim(self, edge: str, needed: Trim) -> None:
        """How to find the rows of an edge that are needed after this epoch."""

    def count(self, name: str, df: DataFrame) -> None:
        """A stream's new tuples, which have their positions n: the next epoch goes on counting after them. A table
        with the last of them among others will do."""

    def learn(self, name: str, fact: Any) -> None:
        """A fact for the next epoch, something that JSON can hold."""

    def set_aside(self, source: str, rows: Trim) -> None:
        """How to find those of a source's changes in this epoch that found nothing to take out."""


def edge_name(kind: str, scope: str, op: Operator, *more: object) -> str:
    """The name of an edge: the same in every epoch and after every restart, different for different operators.

    A function that nobody named has one as long as this process lasts: `start` refuses it.
    """
    try:
        name = op.digest
    except UnnamedFunctionError:
        name = digest_of(op, lambda f: f"function {id(f)}")
    text = "\n".join([scope, name, *map(str, more)])
    return f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def joined(a: DataFrame | None, b: DataFrame) -> DataFrame:
    """Both tables; columns that only one has are NULL in the other."""
    return b if a is None else a.unionByName(b, allowMissingColumns=True)


@dataclass(kw_only=True)
class Notes:
    """What every memory notes down during an epoch, whatever its tables are kept in."""

    facts: Facts = field(default_factory=dict)
    _facts: Facts = field(default_factory=dict)
    _trims: dict[str, Trim] = field(default_factory=dict)
    _counted: dict[str, DataFrame] = field(default_factory=dict)
    unmatched: dict[str, Trim] = field(default_factory=dict)

    def set_aside(self, source: str, rows: Trim) -> None:
        self.unmatched[source] = rows

    def trim(self, edge: str, needed: Trim) -> None:
        self._trims[edge] = needed

    def count(self, name: str, df: DataFrame) -> None:
        self._counted[name] = df

    def learn(self, name: str, fact: Any) -> None:
        self._facts[name] = fact

    def facts_after(self) -> Facts:
        """What the next epoch knows: all that was known and learnt, and how far streams have been counted."""
        return self.facts | self._facts | positions_after(self.facts, self._counted)


@dataclass
class InSession(Notes):
    """Tables that live as long as the session: for one process, and for tests."""

    always_trim: bool = True
    tables: dict[str, DataFrame] = field(default_factory=dict)
    _tables: dict[str, DataFrame] = field(default_factory=dict)

    def kept(self, edge: str) -> DataFrame | None:
        return self.tables.get(edge)

    def grow(self, edge: str, new: DataFrame) -> DataFrame:
        if edge in self._tables:
            return self._tables[edge]
        return self.replace(edge, joined(self.kept(edge), new))

    def replace(self, edge: str, df: DataFrame) -> DataFrame:
        if edge not in self._tables:
            self._tables[edge] = df.localCheckpoint()
        return self._tables[edge]

    def advance(self) -> None:
        """Ends the epoch: what was grown and learnt is what the next one finds."""
        if self.always_trim:
            for edge, needed in self._trims.items():
                self._tables[edge] = needed().localCheckpoint()
        self.tables = self._tables
        self.facts = self.facts_after()
        self._tables, self._facts, self._trims, self._counted = {}, {}, {}, {}


def positions_after(facts: Facts, counted: dict[str, DataFrame]) -> Facts:
    """How many tuples each counted stream has had up to now, in one pass over all of them."""
    found = {name: facts.get(name, 0) for name in counted}
    every: DataFrame | None = None
    for name, df in counted.items():
        part = df.select(lit(name).alias("name"), col("n"))
        every = part if every is None else every.union(part)
    if every is not None:
        for name, n in every.groupBy("name").agg(F.max("n")).collect():
            found[name] = max(found[name], n + 1)
    return found
