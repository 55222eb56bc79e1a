"""From plan tables to DataFrames: statements over what is read, and what is measured, materialized and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from astralq.plan.table import Aggregate, Index, Keep, Materialize, Scan, State, Table, Values
from astralq.spark.columns import col
from astralq.spark.sql import NO_LIMIT, is_sql, statement

Row = Mapping[str, Any]


class Rows(Protocol):
    """Where the rows of sources come from."""

    @property
    def session(self) -> SparkSession: ...

    def rows(self, name: str) -> DataFrame: ...


class StateStore(Protocol):
    """Where state tables are: what an epoch finds, and what it leaves."""

    def get(self, name: str) -> DataFrame: ...

    def append(self, name: str, rows: DataFrame) -> DataFrame:
        """Writes further rows; the table with them."""

    def replace(self, name: str, rows: DataFrame) -> DataFrame:
        """Writes another table instead; that table."""


@dataclass
class Execution:
    """Turns the tables of plans into DataFrames; what is materialized or written is so once, in whatever plan."""

    given: Rows
    session: SparkSession
    one_partition: bool = False
    store: StateStore | None = None
    materialized: list[DataFrame] = field(default_factory=list)  # what is computed once, for those who look at plans
    _frames: dict[str, DataFrame] = field(default_factory=dict)  # by the tables' digests

    def frame(self, table: Table) -> DataFrame:
        """The DataFrame of a table; nothing is computed but what has to be written."""
        if table.digest not in self._frames:
            made = self._statement(table) if self._is_sql(table) else self._read(table)
            self._frames[table.digest] = made
        return self._frames[table.digest]

    def _is_sql(self, table: Table) -> bool:
        return is_sql(table, one_partition=self.one_partition)

    def _statement(self, table: Table) -> DataFrame:
        """One statement for a table and all below it, up to the tables that are no SQL, or that are there already."""
        inputs: dict[str, DataFrame] = {}
        stack = list(table.children)
        while stack:
            node = stack.pop()
            if node.digest in inputs:
                continue
            if node.digest in self._frames or not self._is_sql(node):
                inputs[node.digest] = self.frame(node)
            else:
                stack += node.children
        # The session replaces {in0} by a view of the table.
        names = {digest: f"{{in{k}}}" for k, digest in enumerate(inputs)}
        text = statement(table, names, one_partition=self.one_partition)
        if not inputs:
            return self.session.sql(text.format())
        return self.session.sql(text, **{names[digest].strip("{}"): df for digest, df in inputs.items()})

    def measure(self, tables: Sequence[Table]) -> list[list[Row]]:
        """The rows of small tables, all of them in as few jobs as possible: those of single rows in one, where they
        are observed while nothing is asked for."""
        answers: dict[int, list[Row]] = {}
        observed: list[tuple[int, Observation]] = []
        every: DataFrame | None = None
        for k, table in enumerate(tables):
            if isinstance(table, Aggregate) and not table.keys:
                observation = Observation()
                metrics = [F.expr(text).alias(name) for name, text in table.items]
                rows = self.frame(table.child).observe(observation, *metrics)
                # A condition that is never true, which the optimizer does not know.
                rows = rows.select(F.monotonically_increasing_id().alias("id")).where(col("id") < 0)
                observed.append((k, observation))
                every = rows if every is None else every.union(rows)
            else:
                answers[k] = [r.asDict() for r in self.frame(table).collect()]
        if every is not None:
            every.collect()
            answers |= {k: [observation.get] for k, observation in observed}
        return [answers[k] for k in range(len(tables))]

    def _read(self, table: Table) -> DataFrame:
        """A table that a statement reads: of a source, of state, of memory, or numbered by a distributed sort."""
        match table:
            case Scan(source):
                return self._gathered(self.given.rows(source))
            case State(name):
                assert self.store is not None
                return self._gathered(self.store.get(name))
            case Values(rows, types):
                schema = ", ".join(f"{name} {type_}" for name, type_ in types)
                return self._gathered(self.session.createDataFrame(list(rows), schema))
            case Index(child, by, name):
                return self.frame(child).sort(*(col(c) for c in by)).zipWithIndex(name)
            case Materialize(child):
                return self._materialized(self.frame(child))
            case Keep(child, name, append):
                assert self.store is not None
                written = self.store.append if append else self.store.replace
                return self._gathered(written(name, self.frame(child)))
        raise AssertionError(table)

    def _gathered(self, df: DataFrame) -> DataFrame:
        """In one partition, where that is how it is computed (`sql.gathered` says why there is a limit)."""
        return df.coalesce(1).limit(NO_LIMIT) if self.one_partition else df

    def _materialized(self, df: DataFrame) -> DataFrame:
        """Rows are kept on the executors, twice, so that one of them can be lost; where the session has a checkpoint
        directory they are kept there. Plans that use them begin there, and do not grow with everything below."""
        self.materialized.append(df)
        if _has_checkpoint_directory(self.session):
            kept = df.checkpoint(eager=False)
        else:
            kept = df.localCheckpoint(eager=False, storageLevel=StorageLevel.MEMORY_AND_DISK_2)
        return self._gathered(kept)


def _has_checkpoint_directory(session: SparkSession) -> bool:
    try:
        return session.sparkContext.getCheckpointDir() is not None
    except PySparkException:  # Spark Connect has no context, and so none that could be asked
        return False
