"""Streams and temporal relations as tables: columns with fixed names, and what is known of them when a plan is made.

A temporal relation is a table of (identity, interval): attributes `c0, c1, …`, the order columns of φ, and the
half-open interval [from, to) of batch identifiers in `ft, fi, tt, ti`. A stream is attributes, its stamp `t, i`, and
either order columns or the position `n`. Where every i is 0, the columns `i`, `fi` and `ti` do not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from astralq.algebra.properties import Grid
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, col, columns, lit, long
from astralq.plan.encoding.batches import Id, lt
from astralq.plan.table import Table
from astralq.schema import Schema
from astralq.timeline import Instant

# φ: a compile-time list of order columns


@dataclass(frozen=True)
class Key:
    """One component of φ, in a column."""

    column: str


@dataclass(frozen=True)
class Choice:
    """A component of φ that is one of two: the tag says which, and what stands in the path for it (None: nothing).

    A union tags with 0 and 1. An outer join pads with ⊥, which is before everything.
    """

    tag: str
    sides: tuple[Phi, Phi]
    marks: tuple[str | None, str | None]


Phi = tuple[Key | Choice, ...]


def order_columns(phi: Phi) -> list[str]:
    """The columns to sort by, ascending with NULLs first: the order of φ."""
    names: list[str] = []
    for part in phi:
        if isinstance(part, Key):
            names.append(part.column)
        else:
            names += [part.tag, *order_columns(part.sides[0]), *order_columns(part.sides[1])]
    return names


def mapped(phi: Phi, f: Callable[[str], str]) -> Phi:
    """φ with its columns renamed."""
    return tuple(
        Key(f(p.column))
        if isinstance(p, Key)
        else Choice(f(p.tag), (mapped(p.sides[0], f), mapped(p.sides[1], f)), p.marks)
        for p in phi
    )


def relabelled(phi: Phi, prefix: str = "p") -> tuple[Phi, list[Column]]:
    """φ over columns of its own, p0, p1, …, which no attribute is called; and these columns made of the old ones."""
    names = {name: f"{prefix}{k}" for k, name in enumerate(order_columns(phi))}
    return mapped(phi, names.__getitem__), [col(old).alias(new) for old, new in names.items()]


def path(phi: Phi) -> Column:
    """φ as an array of texts, to compare paths of different relations; NULL has a text of its own."""
    parts: list[Column] = [F.array().cast("array<string>")]
    for p in phi:
        if isinstance(p, Key):
            parts.append(F.array(F.coalesce(col(p.column).cast("string"), lit("\x01NULL"))))
        else:
            sides = [
                F.concat(F.array(*([lit(mark)] if mark is not None else [])).cast("array<string>"), path(side))
                for side, mark in zip(p.sides, p.marks, strict=True)
            ]
            parts.append(F.when(col(p.tag) == 0, sides[0]).otherwise(sides[1]))
    return F.concat(*parts)


def in_order(names: Sequence[str], *, down: bool = False) -> list[Column]:
    """What to sort by; where φ is empty there is one row at most, and Spark wants something all the same."""
    return [F.desc(n) if down else col(n) for n in names] or [lit(0)]


# Attributes


def attributes(schema: Schema) -> list[str]:
    """The columns of a schema's attributes."""
    return [f"c{k}" for k in range(len(schema))]


# Streams


@dataclass(frozen=True)
class StreamTable:
    """A stream: its order within a batch is that of `order`, which is ("n",) once it is numbered."""

    rows: Table
    schema: Schema
    order: tuple[str, ...]
    one_batch: bool  # per instant: every i is 0
    name: str = ""  # of the operator that it is the stream of, where epochs follow each other
    total: bool = False  # tuples of one batch that the order does not tell apart are equal
    time: str | None = None  # the column of the attribute that is the timestamp itself, where there is one
    within: tuple[Instant, Instant] | None = None  # the closed interval that all tuples are in, where that is known

    @property
    def numbered(self) -> bool:
        return self.order == ("n",)

    @property
    def batch(self) -> Id:
        return Id(col("t"), None if self.one_batch else col("i"))

    @property
    def stamp_columns(self) -> list[str]:
        return ["t"] if self.one_batch else ["t", "i"]

    @property
    def sort_columns(self) -> list[str]:
        """What the positions follow: the batch, then the order in it (H1)."""
        return ["n"] if self.numbered else [*self.stamp_columns, *self.order]

    @property
    def order_columns(self) -> list[str]:
        """What tells tuples of one batch apart, but for equal ones."""
        return list(dict.fromkeys([*self.order, *([] if self.total else attributes(self.schema))]))


# Relations


@dataclass(frozen=True)
class RelationTable:
    """A temporal relation; `phi` is empty-handed (`ordered` False) where nobody looks at order and identity."""

    rows: Table
    schema: Schema
    phi: Phi
    one_batch: bool  # per instant: every i is 0
    stamp: tuple[str, ...] = ()  # which of st, si, sn there are
    ordered: bool = True
    coalesced: bool = True  # the intervals of one identity are disjoint and do not touch
    one_row_per_phi: bool = True  # φ determines the values, so that Π keeps intervals coalesced
    lifetime: int | None = None  # how long each row holds, if that is the same for all
    cut_lifetime: int | None = None  # how long it was before an epoch cut the beginnings off: none is longer
    append_only: bool = False  # rows are never taken out
    pane_aligned: bool = False  # many rows have the same interval: windows that move in steps
    grid: Grid | None = None  # the instants of those steps: every row begins and ends at one of them, or never
    steps: int | None = None  # about how many different intervals rows have, where that is known
    separate_by: tuple[str, ...] | None = None  # rows equal in these columns hold in the same time, or never together
    window_columns: tuple[str, ...] = ()  # with each of which φ has one row: where a window begins, or ends
    few: bool = False  # so few rows that one task looks at them one after the other
    unseen: bool = False  # rows may begin after the end of the run, where nobody sees them
    within: tuple[Instant, Instant] | None = None  # the closed interval in which all rows begin, where that is known
    marks: tuple[tuple[str, str], ...] = ()  # further columns of panes, and how they merge
    knows_begins: bool = False  # rows have _begins: whether they differ from those of their φ just before

    @property
    def longest(self) -> int | None:
        """For how long a row holds at most, where that is known."""
        return self.cut_lifetime if self.lifetime is None else self.lifetime

    @property
    def start(self) -> Id:
        return Id(col("ft"), None if self.one_batch else col("fi"))

    @property
    def end(self) -> Id:
        return Id(col("tt"), None if self.one_batch else col("ti"))

    @property
    def interval_columns(self) -> list[str]:
        return ["ft", "tt"] if self.one_batch else ["ft", "fi", "tt", "ti"]

    @property
    def order(self) -> list[str]:
        return order_columns(self.phi)

    @property
    def identity(self) -> list[str]:
        return [*self.order, *attributes(self.schema)]

    def with_interval(self, start: Id, end: Id, **changes: object) -> RelationTable:
        """The same rows in other intervals; those that hold never are dropped."""
        one_batch = start.i is None and end.i is None
        kept = [c for c in self.rows.columns if c not in INTERVAL]
        rows = self.rows.select(*columns(kept), *interval(start, end, one_batch=one_batch))
        return replace(self.in_pieces(rows.where(holds(one_batch))), one_batch=one_batch, **changes)  # type: ignore[arg-type]

    def in_pieces(self, rows: Table) -> RelationTable:
        """The same rows in parts of their intervals, of which nothing is known."""
        nothing: dict[str, Any] = {"lifetime": None, "append_only": False, "pane_aligned": False, "grid": None}
        nothing |= {"steps": None, "separate_by": None, "window_columns": (), "cut_lifetime": None, "within": None}
        return replace(self, rows=rows, **nothing)


INTERVAL = ("ft", "fi", "tt", "ti")
"""The columns that a relation's intervals may have."""


def interval(start: Id, end: Id, *, one_batch: bool) -> list[Column]:
    """[from, to) as columns."""
    if one_batch:
        return [start.t.alias("ft"), end.t.alias("tt")]
    return [start.t.alias("ft"), start.index.alias("fi"), end.t.alias("tt"), end.index.alias("ti")]


def holds(one_batch: bool) -> Column:
    """Whether an interval is not empty."""
    if one_batch:
        return col("ft") < col("tt")
    return lt(Id(col("ft"), col("fi")), Id(col("tt"), col("ti")))


def with_batch_index(relation: RelationTable) -> RelationTable:
    """The relation with its i columns, to stand beside one that has them."""
    if not relation.one_batch:
        return relation
    zero = long(0)
    return replace(relation, rows=relation.rows.with_columns({"fi": zero, "ti": zero}), one_batch=False)


def same_batches(relations: Sequence[RelationTable]) -> list[RelationTable]:
    """All with i columns, or all without."""
    return list(relations) if all(r.one_batch for r in relations) else [with_batch_index(r) for r in relations]


# Streams of windows


@dataclass(frozen=True)
class WindowsTable:
    """SNEEql's windows: `ticks` lists them as (t, i), i numbering those of a tick; `rows` has what they hold."""

    ticks: Table
    rows: Table
    schema: Schema
    phi: Phi
    stamp: tuple[str, ...] = ()
