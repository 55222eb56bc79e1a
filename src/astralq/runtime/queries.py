"""The queries of a continuous run: what they read, their state after an epoch, and whether a query has changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path

from astralq.algebra.answers import answer_columns
from astralq.algebra.base import Operator
from astralq.algebra.digest import is_later
from astralq.algebra.domain import Domain, Floor
from astralq.algebra.serialize import FunctionInPlanError, UnknownPlanError, dumps, loads
from astralq.algebra.sneeql import Scan
from astralq.algebra.sources import POSITION, Origin, RelationSource, Source, Validity, sources_of
from astralq.algebra.ticks import Tick
from astralq.errors import PlanError
from astralq.laws.optimize import optimize
from astralq.laws.rule import Rule
from astralq.laws.rules import RULES
from astralq.plan.state.store import Metadata
from astralq.runtime.checkpoint.folders import CheckpointError
from astralq.runtime.checkpoint.records import Record
from astralq.runtime.checkpoint.tables import Table
from astralq.timeline import Duration, Instant, format_instant


@dataclass(frozen=True)
class ContinuousQuery:
    """A query with a name that is unique in its run; paths in it are relative to its folder."""

    name: str
    operator: Operator
    t0: Instant | None
    folder: Path
    sink: Origin | None = None
    plan: Operator | None = None  # the core operators that it started with; None if it has not started yet
    rules: Sequence[Rule] = field(default=RULES, compare=False, repr=False)

    def __post_init__(self) -> None:
        """State tables are named by digests, so every function in the query needs a name, and no two the same. Answers
        carry the position of each row."""
        named: dict[str, Operator] = {}
        for op in self.operator.walk():
            if named.setdefault(op.digest, op) != op:
                raise PlanError(f"two functions in this query have one name:\n{op}", hint="give each a name of its own")
        if any(a.name.lower() == POSITION.name for a in answer_columns(self.operator)):
            raise PlanError(
                f"an attribute is called {POSITION.name}, as the position of each row in a continuous answer is",
                hint=f"give it another name: {POSITION.name} AS position",
            )

    @cached_property
    def core(self) -> Operator:
        """The core operators that it is planned by, after laws: those that it started with."""
        return optimize(self.operator, self.rules).after if self.plan is None else self.plan

    @property
    def plan_text(self) -> str:
        """The core operators as a checkpoint keeps them; nothing where they hold Python functions."""
        try:
            return dumps(self.core)
        except FunctionInPlanError:
            return ""

    def planned_as(self, text: str, root: Path) -> ContinuousQuery:
        """The query with the plan that a checkpoint has of it."""
        if not text:
            return self
        try:
            return replace(self, plan=loads(text, str(self.folder.resolve())))
        except UnknownPlanError as e:
            raise CheckpointError(
                f"the checkpoint {root} has a plan of query {self.name} that this version does not know: {e.message}",
                hint="go on with the version of astralq that began it, or begin anew with another directory",
            ) from e

    @property
    def sources(self) -> list[Source]:
        """All its sources, each once."""
        return sources_of(self.operator)

    @property
    def coming(self) -> list[Source]:
        """Its streams and change logs; the other sources are stored."""
        return [s for s in self.sources if not is_stored(s)]

    @property
    def scanned(self) -> set[str]:
        """The stored relations that only SCAN reads; each scan reads them again."""
        seen: dict[str, bool] = {}
        for op in self.operator.walk():
            for child in op.children:
                if isinstance(child, RelationSource) and child.validity is Validity.CONSTANT:
                    by_scan = isinstance(op, Scan) or (isinstance(op, Domain) and isinstance(op.transform_, Floor))
                    seen[child.name] = seen.get(child.name, True) and by_scan
        return {name for name, by_scan in seen.items() if by_scan}

    @property
    def scan_periods(self) -> list[Duration]:
        scans = [op.every for op in self.operator.walk() if isinstance(op, Scan)]
        return scans + [
            op.transform_.every
            for op in self.operator.walk()
            if isinstance(op, Domain) and isinstance(op.transform_, Floor)
        ]

    @property
    def ticks(self) -> list[Duration]:
        return [op.period for op in self.operator.walk() if isinstance(op, Tick)]

    @property
    def fingerprint(self) -> Record:
        """What must not change while a checkpoint exists, in parts, so that an error can name the part that changed."""
        parts = {"query": str(self.operator), "start": "" if self.t0 is None else format_instant(self.t0)}
        for s in self.sources:
            held = {f.name: getattr(s, f.name) for f in fields(s) if not is_later(f, getattr(s, f.name))}
            held["digest"] = s.digest
            parts[f"source {s.name}"] = ", ".join(f"{k}={v}" for k, v in sorted(held.items()))
        parts["sink"] = "" if self.sink is None else f"{self.sink.format} {self.sink.path} {self.sink.options}"
        if self.sink is not None and self.sink.progress:
            parts["sink"] += " WITH PROGRESS"
        return parts


def is_stored(source: Source) -> bool:
    """Whether a source is a relation without a change log."""
    return isinstance(source, RelationSource) and source.validity is not Validity.CHANGES


@dataclass(frozen=True)
class QueryState:
    """A query after an epoch, as a commit records it: its watermark, its state tables, and its counters."""

    since: Instant | None = None  # it has answered up to here, inclusive; None before its first epoch
    began: int = 0  # the number of its first epoch; 0 before it
    namespace: str = ""  # of its state: the same for queries that advance alike, and keep state together
    tables: tuple[str, ...] = ()  # what its state is named by; queries may have tables in common
    written: int = 0  # rows of its answer
    late: int = 0  # tuples that came too late
    released: int = 0  # tuples that it has read
    rejected: int = 0  # rows that it cannot use

    @staticmethod
    def from_record(record: Record) -> QueryState:
        return QueryState(**{**record, "tables": tuple(record["tables"])})

    @property
    def record(self) -> Record:
        return {**vars(self), "tables": list(self.tables)}


@dataclass(frozen=True)
class RunState:
    """What all queries of a run keep: state tables by their names, and metadata."""

    tables: dict[str, Table] = field(default_factory=dict)
    metadata: Metadata = field(default_factory=dict)

    @staticmethod
    def from_record(record: Record) -> RunState:
        return RunState({n: Table.from_record(t) for n, t in record["tables"].items()}, record["metadata"])

    @property
    def record(self) -> Record:
        return {"tables": {name: t.record for name, t in self.tables.items()}, "metadata": self.metadata}

    def size(self, names: Iterable[str]) -> tuple[int, int]:
        """The rows and bytes of some of the tables."""
        tables = self.of(names).values()
        return sum(t.rows for t in tables), sum(t.size for t in tables)

    def of(self, names: Iterable[str]) -> dict[str, Table]:
        """Some of the tables."""
        return {name: self.tables[name] for name in names if name in self.tables}


def check_same(query: ContinuousQuery, before: Record, root: Path) -> None:
    """Raises an error that says what has changed, unless the checkpoint is of this query."""
    now = query.fingerprint
    changed = list(_differences(before, now))
    if changed:
        raise CheckpointError(
            f"query {query.name} is not the one that the checkpoint {root} is of:\n" + "\n".join(changed),
            hint="give a changed query a checkpoint directory of its own, or bring the query back",
        )


def check_state(
    query: ContinuousQuery, before: QueryState, tables: Iterable[str], kept: Iterable[str], root: Path
) -> None:
    """Raises an error if a plan does not go on with a state table that the checkpoint has: it would be lost."""
    lost = sorted((set(before.tables) & set(tables)) - set(kept))
    if lost:
        raise CheckpointError(
            f"query {query.name} is the one that the checkpoint {root} is of, but its plan keeps other state: "
            f"it does not go on with {', '.join(lost)}",
            hint="go on with the version of astralq that began it, or begin anew with another directory",
        )


def _differences(before: Record, now: Record) -> Iterator[str]:
    for part in {**before, **now}:
        a, b = before.get(part), now.get(part)
        if a != b:
            yield f"  the {part} was\n{_indented(a)}\n  and is\n{_indented(b)}"


def _indented(text: str | None) -> str:
    return "\n".join(f"    {line}" for line in (text or "nothing").splitlines())
