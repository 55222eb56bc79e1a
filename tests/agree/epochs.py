"""A continuous run epoch by epoch over model data: what each epoch gets, and the answers one behind the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.answers import answer_columns
from astralq.algebra.base import HasOperator, Operator, operator_of
from astralq.algebra.sources import RelationSource, StreamSource
from astralq.laws.optimize import optimize
from astralq.model import Data
from astralq.model.sources import read_relation, receive
from astralq.plan.group_plan import QUERY
from astralq.plan.state.store import subject
from astralq.runtime.cohorts import Cohort, TargetWatermark, with_shared_plans
from astralq.runtime.queries import ContinuousQuery, QueryState
from astralq.schema import BIGINT, Attribute
from astralq.spark import Engine
from astralq.spark.answers import plain
from astralq.spark.epoch import Epoch, EpochQuery
from astralq.timeline import Instant
from tests.agree.compare import Rows, frames

PLACE = Attribute("_n", BIGINT)


@dataclass
class InSession:
    """State tables that live as long as the session."""

    always_compact: bool = True
    tables: dict[str, DataFrame] = field(default_factory=dict)
    written: dict[str, DataFrame] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        return {name: tuple(df.columns) for name, df in self.tables.items()}

    def get(self, name: str) -> DataFrame:
        return self.tables[name]

    def append(self, name: str, rows: DataFrame) -> None:
        self.replace(name, self.with_rows(name, rows))

    def replace(self, name: str, rows: DataFrame) -> None:
        self.written[name] = _kept(rows)

    def after(self, name: str) -> DataFrame:
        return self.written[name]

    def with_rows(self, name: str, rows: DataFrame) -> DataFrame:
        before = self.tables.get(name)
        return rows if before is None else before.unionByName(rows, allowMissingColumns=True)

    def compact(self, name: str, needed: DataFrame) -> None:
        self.written[name] = _kept(needed)

    def is_worth_compacting(self, name: str) -> bool:
        return self.always_compact

    def greatest(self, name: str, column: str) -> int | None:
        return None

    def between(self, name: str, after: int, upto: int) -> DataFrame:
        return self.tables[name].where((F.col("tt") > after) & (F.col("tt") <= upto))

    def expire(self, name: str, until: int) -> None:
        self.written[name] = _kept(self.written[name].where(F.col("tt") > until))

    def advance(self) -> None:
        """Ends the epoch: what was written is what the next one finds."""
        self.tables, self.written = self.written, {}


def _kept(rows: DataFrame) -> DataFrame:
    """Rows in memory, of which nothing else is known, as of those in files. Spark would go on with what it infers of
    them under names that it gives to other columns, where they are read twice, and then fail in unions."""
    inferring = "spark.sql.constraintPropagation.enabled"
    before = rows.sparkSession.conf.get(inferring)
    rows.sparkSession.conf.set(inferring, "false")
    try:
        return rows.localCheckpoint()
    finally:
        rows.sparkSession.conf.set(inferring, before)


def in_epochs(
    engine: Engine,
    query: Operator | HasOperator,
    data: Data,
    watermarks: Sequence[int],
    *,
    t0: Instant | None = None,
    always_compact: bool = True,
    new_rows: int | None = None,
    one_partition: bool | None = None,
    set_aside: dict[str, Rows] | None = None,
) -> Rows:
    """The answers of epochs that end at these watermarks, one behind the other; each is said to have so many rows.

    `set_aside` gets the changes of logs that found nothing. The query is rewritten by the engine's laws, as a
    continuous run does when it starts.
    """
    op = optimize(operator_of(query), engine.rules).after
    store = InSession(always_compact)
    metadata: dict[str, Any] = {}
    whole = frames(engine.spark, op, data)
    answers: Rows = []
    since: Instant | None = None
    for watermark in map(Instant, watermarks):
        given = {k: released(df, op, k, since, watermark) for k, df in whole.items()}
        closing = watermark == watermarks[-1]
        one = EpochQuery(op, t0, since, len(answers))
        epoch = Epoch(
            [one],
            given,
            engine.spark,
            store,
            metadata,
            watermark,
            closing,
            new_rows=new_rows,
            one_partition=engine.few_rows > 0 if one_partition is None else one_partition,
        )
        (plan,) = epoch.plan()
        answer = epoch.answer(plan)
        if answer is not None:
            rows = [tuple(r) for r in plain(answer, (*answer_columns(op), PLACE)).collect()]
            assert [r[-1] for r in rows] == list(range(len(answers), len(answers) + len(rows)))
            answers += [r[:-1] for r in rows]
        if set_aside is not None:
            for name, deletions in epoch.unmatched().items():
                set_aside.setdefault(name, []).extend(map(tuple, deletions.collect()))
        metadata |= epoch.finish()
        store.advance()
        since = watermark
    return answers


def released(df: DataFrame, query: Operator, name: str, since: Instant | None, until: Instant) -> DataFrame:
    """What of a source's rows an epoch gets: the tuples and changes in (since, until]; of other relations all."""
    times = {"_t": F.col("_t")} if "_t" in df.columns else {}
    for op in query.walk():
        if isinstance(op, RelationSource) and op.name == name and op.at is not None:
            times[op.at] = F.unix_micros(op.at)
    for t in times.values():
        df = df.where((t <= until) if since is None else (t > since) & (t <= until))
    return df


def times_of(query: Operator | HasOperator, data: Data) -> dict[str, list[int]]:
    """The timestamps of what comes in from each source of the query; stored relations are there."""
    found: dict[str, list[int]] = {}
    for op in operator_of(query).walk():
        if isinstance(op, StreamSource):
            found[op.name] = [s.t for s in receive(op, data[op.name]).tuples]  # type: ignore[arg-type]
        elif isinstance(op, RelationSource) and op.at is not None:
            found[op.name] = list(read_relation(op, data[op.name])[1])  # type: ignore[arg-type]
    return found


def last_instant(query: Operator | HasOperator, data: Data) -> int:
    """The greatest timestamp of any source of the query, of stored relations too."""
    times = [0, *(t for source in times_of(query, data).values() for t in source)]
    for op in operator_of(query).walk():
        if isinstance(op, RelationSource):
            times += read_relation(op, data[op.name])[1]  # type: ignore[arg-type]
    return max(times)


@dataclass
class Life:
    """A query of a set in a continuous run: the epochs in which it is there, and what it has answered."""

    query: Operator
    t0: Instant | None
    begins: int
    ends: int  # the last epoch
    rows: Rows = field(default_factory=list)
    until: Instant | None = None


def lives_in_epochs(
    engine: Engine, lives: Sequence[Life], data: Data, watermarks: Sequence[int], *, small: bool
) -> int:
    """Runs queries over the same streams that come and go: fills in what each has answered, and up to when. Gives how
    many state tables queries had in common.

    One that comes later starts after what the others have answered, as `add` does.
    """
    store, since = InSession(), None
    metadata: dict[str, Any] = {}
    names = [f"q{k}" for k in range(len(lives))]
    states: dict[str, QueryState] = {name: QueryState() for name in names}
    queries: dict[str, ContinuousQuery] = {}
    whole: dict[str, DataFrame] = {}
    for life in lives:
        whole |= frames(engine.spark, life.query, data) if not whole else {}
    common = 0
    for number, watermark in enumerate(map(Instant, watermarks)):
        here = {n: life for n, life in zip(names, lives, strict=True) if life.begins <= number <= life.ends}
        for name, life in here.items():
            if name not in queries:
                if since is not None:
                    life.t0 = Instant(since + 1)
                queries[name] = ContinuousQuery(name, life.query, life.t0, Path(), rules=engine.rules)
        if not here:
            continue
        closing = watermark == watermarks[-1]
        cohort = Cohort(tuple(here), since, TargetWatermark(watermark, closing))
        queries |= with_shared_plans(cohort, queries, states)
        asked = {
            n: EpochQuery(queries[n].core, queries[n].t0, states[n].since, len(life.rows)) for n, life in here.items()
        }
        first = next(iter(here.values())).query
        given = {k: released(df, first, k, since, watermark) for k, df in whole.items()}
        epoch = Epoch(
            list(asked.values()), given, engine.spark, store, metadata, watermark, closing, one_partition=small
        )
        plans = epoch.plan()
        grouped: dict[str, DataFrame] = {}
        for life, root in zip(here.values(), epoch.roots(plans, 100), strict=True):
            if root is not None:
                df = grouped.setdefault(root.table.digest, epoch.execution.frame(root.table))
                mine = df if root.query is None else df.where(F.col(QUERY) == root.query).drop(QUERY)
                rows = [tuple(r) for r in plain(mine, (*answer_columns(life.query), PLACE)).orderBy("_n").collect()]
                assert [r[-1] for r in rows] == list(range(len(life.rows), len(life.rows) + len(rows)))
                life.rows += [r[:-1] for r in rows]
            life.until = watermark
        found = metadata | epoch.finish()
        states |= {n: QueryState(watermark, tables=tuple(asked[n].tables)) for n in here}
        used = [t for n, life in here.items() if life.ends > number for t in states[n].tables]
        metadata = {n: v for n, v in found.items() if subject(n) in used}
        store.written = {n: t for n, t in store.written.items() if n in used}
        common += sum(used.count(t) > 1 for t in store.written)
        store.advance()
        since = watermark
    return common
