"""A continuous run epoch by epoch over model data: what each epoch gets, and the answers one behind the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.answers import answer_columns
from astralq.algebra.base import HasOperator, Operator, operator_of
from astralq.algebra.sources import RelationSource, StreamSource
from astralq.laws.optimize import optimize
from astralq.model import Data
from astralq.model.sources import read_relation, receive
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

    def append(self, name: str, rows: DataFrame) -> DataFrame:
        before = self.tables.get(name)
        return self.replace(name, rows if before is None else before.unionByName(rows, allowMissingColumns=True))

    def replace(self, name: str, rows: DataFrame) -> DataFrame:
        self.written[name] = rows.localCheckpoint()
        return self.written[name]

    def compact(self, name: str, needed: DataFrame) -> None:
        self.written[name] = needed.localCheckpoint()

    def is_worth_compacting(self, name: str) -> bool:
        return self.always_compact

    def greatest(self, name: str, column: str) -> int | None:
        return None

    def advance(self) -> None:
        """Ends the epoch: what was written is what the next one finds."""
        self.tables, self.written = self.written, {}


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
        metadata = epoch.finish()
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
