"""From plan tables to DataFrames: each node is translated in one way over many rows, and in one over few.

Few rows are in one partition. Spark then shuffles and broadcasts nothing, and an answer is one job: joins merge sorted
sides, numbers come from a window function.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol
from uuid import uuid4

from pyspark import StorageLevel
from pyspark.errors import UnsupportedOperationException
from pyspark.sql import DataFrame, Observation, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from astralq.errors import PlanError
from astralq.plan.facts import Row
from astralq.plan.table import (
    ONE_ROW,
    Aggregate,
    Between,
    Distinct,
    Index,
    Join,
    Keep,
    Materialize,
    Numbers,
    Presorted,
    Repartition,
    Scan,
    Select,
    Sort,
    State,
    Table,
    Union,
    Values,
    Where,
)
from astralq.spark.columns import col, lit
from astralq.spark.session import is_remote
from astralq.spark.statements import NO_LIMIT, SHORTEST, Statement, Views, join_hint, named, statements, views

DEEP = 40
"""Steps one over the other that are sent to a server at once; each is two messages, one in the other."""


class Rows(Protocol):
    """Where the rows of sources come from."""

    @property
    def session(self) -> SparkSession: ...

    def rows(self, name: str) -> DataFrame: ...


class StateStore(Protocol):
    """Where state tables are: what an epoch finds, and what it leaves."""

    def get(self, name: str) -> DataFrame: ...

    def append(self, name: str, rows: DataFrame) -> None:
        """Writes further rows."""

    def replace(self, name: str, rows: DataFrame) -> None:
        """Writes another table instead."""

    def after(self, name: str) -> DataFrame:
        """A table that was written."""

    def with_rows(self, name: str, rows: DataFrame) -> DataFrame:
        """A table as the epoch found it, with further rows."""

    def between(self, name: str, after: int, upto: int) -> DataFrame:
        """Of a table, as the epoch found it, at least the rows with tt in the half-open interval (after, upto]."""


@dataclass
class Execution:
    """Turns the tables of plans into DataFrames; what is materialized or written is so once, in whatever plan."""

    given: Rows
    session: SparkSession
    one_partition: bool = False
    store: StateStore | None = None
    views: Views | None = None  # of sources, where other runs read them too
    materialized: list[DataFrame] = field(default_factory=list)  # what is computed once, for those who look at plans
    _frames: dict[str, DataFrame] = field(default_factory=dict)  # by the tables' digests
    _written: set[str] = field(default_factory=set)  # state tables, by their names
    _depths: dict[str, int] = field(default_factory=dict)  # of what is sent to a server, by the tables' digests
    _locks: dict[str, threading.Lock] = field(default_factory=dict)

    def frame(self, table: Table) -> DataFrame:
        """The DataFrame of a table; nothing is computed but what has to be written or is materialized."""
        if self.store is not None:
            self._compute_together(table)
        # A server analyzes plans as a whole; there each node is a message.
        inside = {} if is_remote(self.session) else statements(table, known=lambda t: t.digest in self._frames)
        for node in table.walk():
            if node.digest not in inside:
                self._add(node, inside)
        return self._frames[table.digest]

    def write(self, table: Keep) -> None:
        """Writes a state table, unless somebody who reads it has had it written."""
        if table.ahead:
            self._keep(table.state, self.frame(table.child), append=True)
        else:
            self.frame(table)

    def _compute_together(self, table: Table) -> None:
        """Writes and materializes in an epoch what has nothing in common, each from what is there already, side by
        side: while one is planned, another is computed."""
        while len(chosen := self._independent(table)) > 1:
            with ThreadPoolExecutor(len(chosen)) as pool:
                list(pool.map(self.frame, chosen))

    def _independent(self, table: Table) -> list[Table]:
        """Tables below a table that are computed before what reads them, and for which no others have to be."""
        chosen: list[Table] = []
        taken: set[str] = set()
        for node in filter(_is_computed_first, self._to_compute(table)):
            below = {n.digest: n for c in node.children for n in self._to_compute(c)}
            if not taken & below.keys() and not any(map(_is_computed_first, below.values())):
                chosen.append(node)
                taken |= {node.digest, *below}
        return chosen

    def _to_compute(self, table: Table) -> list[Table]:
        """A table and all below it that is not there yet, each once."""
        found: dict[str, Table] = {}
        left = [table]
        while left:
            node = left.pop()
            if node.digest not in found and node.digest not in self._frames and node.children:
                found[node.digest] = node
                left += node.children
        return list(found.values())

    def _add(self, node: Table, inside: dict[str, int]) -> None:
        """The DataFrame of a node whose children have theirs, or are subqueries of its statement."""
        if node.digest in self._frames:
            return
        subqueries = [c for c in node.children if c.digest in inside]
        if subqueries and 1 + sum(inside[c.digest] for c in subqueries) >= SHORTEST:
            self._frames[node.digest] = self._statement(node, inside)
            return
        for child in subqueries:
            self._add(child, inside)
        with self._lock(node.digest):  # what two threads materialize would be computed twice
            if node.digest not in self._frames:
                self._frames[node.digest] = self._shallow(node, self._translated(node))

    def _statement(self, table: Table, inside: dict[str, int]) -> DataFrame:
        with views() as view:

            def leaf(table: Table) -> str:
                # In one partition it is another DataFrame in each run.
                kept = self.views if isinstance(table, Scan) and not self.one_partition else None
                return (kept or view)(self._of(table))

            return self.session.sql(Statement(inside, leaf, one_partition=self.one_partition).text(table))

    def _shallow(self, table: Table, df: DataFrame) -> DataFrame:
        """Spark Connect sends plans as nested messages, of which there may be a hundred one in the other: a plan that
        comes near that is left with the server as a view, and goes on from there."""
        if not is_remote(self.session):
            return df
        starts = isinstance(table, Materialize | Keep)
        below = 0 if starts else max((self._depths[c.digest] for c in table.children), default=0)
        depth = below + (len(table.children) + 4 if isinstance(table, Scan | Union | Join | Index | Values) else 1)
        self._depths[table.digest] = depth if depth < DEEP else 1
        if depth < DEEP:
            return df
        name = f"astralq_{uuid4().hex}"
        df.createOrReplaceTempView(name)
        return self.session.table(name)

    def measure(self, tables: Sequence[Table]) -> list[list[Row]]:
        """The rows of small tables, all of them in as few jobs as possible: those of single rows in one, where they
        are observed while nothing is asked for. A single one is computed by generated code, which is faster."""
        single = [k for k, t in enumerate(tables) if isinstance(t, Aggregate) and not t.keys]
        answers: dict[int, list[Row]] = {}
        observed: list[tuple[int, Observation]] = []
        every: DataFrame | None = None
        for k, table in enumerate(tables):
            if isinstance(table, Aggregate) and k in single and len(single) > 1:
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
            try:
                every.collect()
                answers |= {k: [observation.get] for k, observation in observed}
            except UnsupportedOperationException:  # a server of somebody else: one after the other
                answers |= {k: [r.asDict() for r in self.frame(tables[k]).collect()] for k, _ in observed}
        return [answers[k] for k in range(len(tables))]

    def _translated(self, table: Table) -> DataFrame:
        match table:
            case Scan(source):
                return self._gathered(self.given.rows(source))
            case State(name):
                assert self.store is not None
                return self._gathered(self.store.get(name))
            case Values() | Numbers():
                return self._constants(table)
            case Select(child, items):
                return self._of(child).selectExpr(*(named(text, name) for name, text in items))
            case Where(child, condition):
                return self._of(child).where(condition)
            case Distinct(child):
                return self._of(child).distinct()
            case Aggregate(child, keys, items):
                made = [F.expr(text).alias(name) for name, text in items]
                return self._of(child).groupBy(*keys).agg(*made) if made else self._of(child).select(*keys).distinct()
            case Union(sides):
                both = self._of(sides[0])
                for side in sides[1:]:
                    both = both.union(self._of(side))
                return self._gathered(both)
            case Join():
                return self._joined(table)
            case Index():
                return self._indexed(table)
            case Sort(child, by):
                order = [col(c) for c in by]
                return (
                    self._of(child).sortWithinPartitions(*order) if self.one_partition else self._of(child).sort(*order)
                )
            case Repartition(child, keys):
                return self._of(child) if self.one_partition else self._of(child).repartition(*keys)
            case Presorted(child, by):
                return self._of(child) if self.one_partition else self._of(child).sortWithinPartitions(F.expr(by))
            case Materialize(child):
                return self._materialized(self._of(child))
            case Keep(child, name, ahead=True):
                assert self.store is not None
                return self._gathered(self.store.with_rows(name, self._of(child)))
            case Keep(child, name, append):
                assert self.store is not None
                self._keep(name, self._of(child), append=append)
                return self._gathered(self.store.after(name))
            case Between(State(name), after, upto):
                assert self.store is not None
                return self._gathered(self.store.between(name, after, upto))
        raise AssertionError(table)

    def _keep(self, name: str, rows: DataFrame, *, append: bool) -> None:
        """Writes rows to a state table, which is done once, whoever asks for it first."""
        assert self.store is not None
        with self._lock(name):
            if name not in self._written:
                (self.store.append if append else self.store.replace)(name, rows)
                self._written.add(name)

    def _lock(self, name: str) -> threading.Lock:
        return self._locks.setdefault(name, threading.Lock())

    def _of(self, table: Table) -> DataFrame:
        return self._frames[table.digest]

    def _gathered(self, df: DataFrame) -> DataFrame:
        """In one partition, where that is how it is computed: Spark does not know it of unions and files.

        Spark would shuffle a single partition that it takes to be large (spark.sql.maxSinglePartitionBytes), and takes
        joins to be as large as a product, and what comes from memory to be endless. A limit that is never reached
        says otherwise.
        """
        return df.coalesce(1).limit(NO_LIMIT) if self.one_partition else df

    def _constants(self, table: Values | Numbers) -> DataFrame:
        if isinstance(table, Numbers):
            return self.session.range(table.first, table.end, 1, 1 if self.one_partition else None)
        if table == ONE_ROW:
            return self.session.range(0, 1, 1, 1).select(lit(0).alias("one"))
        types = ", ".join(f"{name} {type_}" for name, type_ in table.types)
        return self._gathered(self.session.createDataFrame(list(table.rows), types))

    def _joined(self, table: Join) -> DataFrame:
        left, right = self._of(table.left), self._of(table.right)
        hint = join_hint(table, one_partition=self.one_partition)
        right = right if hint is None else right.hint(hint)
        if table.how == "cross":
            return self._gathered(left.crossJoin(right))
        return self._gathered(left.join(right, F.expr(table.on), table.how))

    def _indexed(self, table: Index) -> DataFrame:
        child, by = self._of(table.child), [col(c) for c in table.by]
        if table.one_task or self.one_partition:
            gathered = child.coalesce(1) if self.one_partition else child.repartition(1)
            place = F.monotonically_increasing_id()
            return gathered.sortWithinPartitions(*by).withColumn(table.name, place)
        if table.range:
            return _numbered_in_ranges(child, table)
        return numbered(child.sort(*by), table.name)

    def _materialized(self, df: DataFrame) -> DataFrame:
        """Rows are kept on the executors, where there are several twice, so that one of them can be lost; where the
        session has a checkpoint directory they are kept there. Plans that use them begin there, and do not grow with
        everything below.

        They are computed before anybody reads them. If the first of several jobs that read them did that, Spark could
        stop for ever: one that ends holds the lock of all checkpoints and waits for that of the rows
        (`markCheckpointed`), while another begins with the lock of the rows and waits for that of all (`getCacheLocs`).
        """
        self.materialized.append(df)
        if _has_checkpoint_directory(self.session):
            kept = df.checkpoint(eager=True)
        else:
            kept = self._checkpointed(df)
            if kept.sparkSession is not df.sparkSession:  # a fault of Spark 4.3, which takes the one that is active
                raise PlanError(
                    "there are several sessions of Spark Connect in this process, and another one is active",
                    hint="stop the others",
                )
        return self._gathered(kept)

    def _checkpointed(self, df: DataFrame) -> DataFrame:
        """A server of somebody else may not have it."""
        try:
            return df.localCheckpoint(eager=True, storageLevel=_level(self.session))
        except UnsupportedOperationException:
            return df


def _is_computed_first(table: Table) -> bool:
    """Whether a table is computed before what reads it."""
    return isinstance(table, Materialize) or (isinstance(table, Keep) and not table.ahead)


def _numbered_in_ranges(rows: DataFrame, table: Index) -> DataFrame:
    """Each range is a partition of its own: sorted there, its rows need no window function to be counted."""
    before = f"element_at(array({', '.join(f'{n}L' for n in table.before)}), CAST({table.range} + 1 AS INT))"
    if hasattr(rows, "repartitionById"):
        parted = rows.repartitionById(len(table.before), col(table.range).cast("int"))
        # The upper bits are the number of the partition.
        place = f"(monotonically_increasing_id() & {2**33 - 1}L)"
        rows = parted.sortWithinPartitions(*(col(c) for c in table.by))
    else:  # before Spark 4.1
        place = f"(row_number() OVER (PARTITION BY {table.range} ORDER BY {', '.join(table.by)}) - 1L)"
    return rows.withColumn(table.name, F.expr(f"{place} + {before}"))


def numbered(ordered: DataFrame, name: str) -> DataFrame:
    """Rows with their places 0, 1, 2, … in the order that they have."""
    if hasattr(ordered, "zipWithIndex"):
        return ordered.zipWithIndex(name)
    # Before Spark 4.2: places inside of partitions, and how many rows the partitions before have. Both are of one
    # computation: where partitions end is drawn at random.
    within, part = F.monotonically_increasing_id(), F.spark_partition_id()
    placed = ordered.withColumns({"_within": within, "_part": part}).localCheckpoint(eager=True)
    before = Window.orderBy("_p").rowsBetween(Window.unboundedPreceding, -1)
    sizes = placed.groupBy(F.col("_part").alias("_p")).agg(F.count(F.lit(1)).alias("_size"))
    first = sizes.select("_p", F.coalesce(F.sum("_size").over(before), F.lit(0)).alias("_first"))
    joined = placed.join(F.broadcast(first), F.col("_part") == F.col("_p"))
    place = F.col("_first") + F.col("_within").bitwiseAND((1 << 33) - 1)
    return joined.select(*ordered.columns, place.alias(name))


def _level(session: SparkSession) -> StorageLevel:
    """Rows as they are: to write them as bytes and read them again takes longer than most of what is done with them.
    Where there is but one executor, it looks in vain for another one to keep a copy."""
    master = session.conf.get("spark.master", "") or ""
    alone = master == "local" or master.startswith("local[")
    return StorageLevel(
        useDisk=True, useMemory=True, useOffHeap=False, deserialized=True, replication=1 if alone else 2
    )


def _has_checkpoint_directory(session: SparkSession) -> bool:
    """Spark Connect has no context that could be asked."""
    return not is_remote(session) and session.sparkContext.getCheckpointDir() is not None
