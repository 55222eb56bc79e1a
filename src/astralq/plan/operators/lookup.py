"""Lookups in one pass: each tuple with the row of its key that holds when it arrives (001 D33).

Where a relation has at most one row of a key at any time, its rows and the tuples are put in one order by key and time,
and each tuple takes the last row before it. No intervals are compared, and none are cut at batches.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from astralq.algebra.base import Operator
from astralq.algebra.domain import Domain, LastBatchOf
from astralq.algebra.properties import properties
from astralq.algebra.relational import Join, JoinKind
from astralq.algebra.windows import Window, last_batch, last_row
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, col, columns, lit, long
from astralq.plan.columns import Window as Over
from astralq.plan.encoding.batches import Id, lt
from astralq.plan.encoding.tables import RelationTable, StreamTable, attributes
from astralq.plan.operators.expressions import Names, compiled
from astralq.plan.operators.keys import KeyPair, column_keys
from astralq.plan.table import Table

MANY_COLUMNS = 62
"""Up to how many columns are looked up: a BIGINT tells which of them are NULL."""


def lookup_keys(op: Operator) -> list[KeyPair]:
    """The keys of a join that is a lookup of single rows; none if it is something else."""
    match op:
        case Join(Window(stream, spec), Domain(relation, LastBatchOf(), other=other) as past):
            if spec != last_batch() or other != stream or op.how not in (JoinKind.INNER, JoinKind.LEFT):
                return []
            if past.during is not None:
                return []
        case _:
            return []
    if op.condition.columns - {n.lower() for n in op.both.names}:
        return []  # it reads a stamp
    keys = [k for k in column_keys(op) if _same_type(op, k)]
    names = {past.schema.attributes[int(right[1:])].name.lower() for _, right, _ in keys}
    single = any(key <= names for key in properties(relation).keys)
    return keys if single and len(past.schema) <= MANY_COLUMNS else []


def _same_type(op: Join, key: KeyPair) -> bool:
    """Whether equal keys are in one group: a BIGINT beside a DOUBLE is rounded, and zeros have signs."""
    left, right = (s.attributes[int(c[1:])].type for s, c in ((op.left.schema, key[0]), (op.right.schema, key[1])))
    return left == right and not left.holds("DOUBLE", "FLOAT")


def last_of_key(op: Join, keys: Sequence[KeyPair]) -> Operator | None:
    """The stream whose last tuple of each key is looked up, as [PARTITION BY … ROWS 1] holds it; None if it is not
    that, or if more than the partition is compared."""
    assert isinstance(op.right, Domain)
    match op.right.child:
        case Window(stream, spec) if spec.partition and spec == last_row().by(*spec.partition):
            parts = {f"c{stream.schema.index(name)}" for name in spec.partition}
            return stream if parts == {right for _, right, _ in keys} else None
    return None


@dataclass(frozen=True)
class Rows:
    """What is looked up: rows with the batch from which each of them holds. One of a key holds until the next, or until
    an end of its own; `order` tells which of those that begin together is the last."""

    table: Table
    start: Id
    end: Id | None = None
    order: tuple[str, ...] = ()

    @staticmethod
    def of_relation(relation: RelationTable) -> Rows:
        return Rows(relation.rows, relation.start, relation.end)

    @staticmethod
    def of_stream(stream: StreamTable) -> Rows:
        return Rows(stream.rows, stream.batch, None, tuple(stream.order))

    @property
    def one_batch(self) -> bool:
        return self.start.i is None and (self.end is None or self.end.i is None)


def rows_of(
    op: Join,
    keys: Sequence[KeyPair],
    stream: Callable[[Operator], StreamTable] | None,
    relation: Callable[[Operator], RelationTable],
) -> tuple[Rows, str]:
    """What a join looks up, as tables of it are made, and why it is found in one pass; `stream` is None where streams
    are not there from their beginning on."""
    assert isinstance(op.right, Domain)
    if stream is not None and (last := last_of_key(op, keys)) is not None:
        return Rows.of_stream(stream(last)), "the last tuple of a key holds until the next comes"
    return Rows.of_relation(relation(op.right.child)), "there is at most one row of a key to look up"


def looked_up(op: Join, stream: StreamTable, rows: Rows, keys: Sequence[KeyPair]) -> StreamTable:
    """The tuples of a stream, each with the row of its key in the state of its batch, or with NULLs (LEFT)."""
    one_batch = stream.one_batch and rows.one_batch
    width, right = len(op.left.schema), attributes(op.right.schema)
    stamps = ["_t"] if one_batch else ["_t", "_i"]
    tuple_columns = list(dict.fromkeys([*attributes(op.left.schema), *stream.order]))

    def stamp(b: Id) -> list[Column]:
        return [b.t.alias("_t"), *([] if one_batch else [b.index.alias("_i")])]

    # Keys are equal on both sides. What else a row has goes with a number that tells which of it is not NULL.
    key_of = {c: f"_k{n}" for n, (_, c, _) in enumerate(keys)}
    held = {c: f"_h{n}" for n, c in enumerate(c for c in right if c not in key_of)}
    bit = {c: 2**n for n, c in enumerate(held)}
    known = functools.reduce(
        operator.add, (F.when(col(c).is_not_null(), long(b)).otherwise(long(0)) for c, b in bit.items()), long(0)
    )
    made = [col(c).alias(h) for c, h in held.items()]
    ends = [] if rows.end is None else ["_tt"] if one_batch else ["_tt", "_ti"]
    if rows.end is not None:
        made += [c.alias(n) for c, n in zip((rows.end.t, rows.end.index), ends, strict=False)]
    order = {c: held.get(c, f"_o{n}") for n, c in enumerate(rows.order) if c not in key_of}
    there = rows.table.select(
        *(col(c).alias(f"_k{n}") for n, (_, c, _) in enumerate(keys)),
        *stamp(rows.start),
        lit(0).alias("_side"),
        known.alias("_known"),
        *made,
        *(col(c).alias(o) for c, o in order.items() if c not in held),
    )
    tuples = stream.rows.select(
        *(col(c).alias(f"_k{n}") for n, (c, _, _) in enumerate(keys)),
        *stamp(stream.batch),
        lit(1).alias("_side"),
        *columns(tuple_columns),
    )
    # A row that begins with the tuple's batch is there already.
    in_turn = Over.partition_by(*(f"_k{n}" for n in range(len(keys)))).order_by(*stamps, "_side", *order.values())
    last = {c: F.last(c, ignorenulls=True).over(in_turn.rows(None, 0)) for c in ("_known", *held.values(), *ends)}
    both = there.union(tuples, missing=True).with_columns(last)
    values = {
        c: F.when(col("_known").bits_and(long(bit[c])) != 0, col(held[c])) if c in held else col(key_of[c])
        for c in right
    }
    found = both.where(col("_side") == 1).select(
        *columns(tuple_columns),
        *(col(f"_{c}").alias(c) for c in stream.stamp_columns),
        *(values[c].alias(f"c{width + k}") for k, c in enumerate(right)),
        _holds(rows, one_batch=one_batch).alias("_holds"),
    )
    condition = compiled(op.condition, Names(op.both, attributes(op.both)))
    found = found.with_column("_fits", F.coalesce(F.when(col("_holds"), condition), lit(False)))
    if op.how is JoinKind.INNER:
        found = found.where(col("_fits"))
    else:
        partner = [f"c{width + k}" for k in range(len(right))]
        found = found.with_columns({c: F.when(col("_fits"), col(c)) for c in partner})
    return StreamTable(found.drop("_holds", "_fits"), op.both, stream.order, stream.one_batch)


def _holds(rows: Rows, *, one_batch: bool) -> Column:
    """Whether there was a row, and it holds still."""
    if rows.end is None:
        return col("_known").is_not_null()
    now, ends = (Id(col(t), None if one_batch else col(i)) for t, i in (("_t", "_i"), ("_tt", "_ti")))
    return F.coalesce(lt(now, ends), lit(False))
