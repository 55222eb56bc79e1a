"""Compiled operators: DataFrames with fixed column names, and what is known of them when the plan is made.

A temporal relation is a table of (identity, interval): attributes `c0, c1, …`, the order columns of φ, and the
half-open interval [from, to) of batch identifiers in `ft, fi, tt, ti`. A stream is attributes, its stamp `t, i`, and
either order columns or the position `n`. Where every i is 0, the columns `i`, `fi` and `ti` do not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from astralq.algebra.properties import Grid
from astralq.schema import Schema
from astralq.spark.encoding.batches import Id, lt
from astralq.spark.encoding.columns import col, lit, long

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
    found: list[str] = []
    for part in phi:
        if isinstance(part, Key):
            found.append(part.column)
        else:
            found += [part.tag, *order_columns(part.sides[0]), *order_columns(part.sides[1])]
    return found


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
            parts.append(F.array(F.coalesce(col(p.column).cast("string"), lit("\0NULL"))))
        else:
            sides = [
                F.concat(F.array(*([lit(mark)] if mark is not None else [])).cast("array<string>"), path(side))
                for side, mark in zip(p.sides, p.marks, strict=True)
            ]
            parts.append(F.when(col(p.tag) == 0, sides[0]).otherwise(sides[1]))
    return F.concat(*parts)


def in_order(names: Sequence[str], *, down: bool = False) -> list[Column]:
    """What to sort by; where φ is empty there is one row at most, and Spark wants something all the same."""
    return [F.desc_nulls_last(n) if down else col(n) for n in names] or [lit(0)]


# Attributes


def attributes(schema: Schema) -> list[str]:
    """The columns of a schema's attributes."""
    return [f"c{k}" for k in range(len(schema))]


def columns(names: Iterable[str]) -> list[Column]:
    return [col(n) for n in names]


# Streams


@dataclass(frozen=True)
class StreamFrame:
    """A stream: its order within a batch is that of `order`, which is ("n",) once it is numbered."""

    df: DataFrame
    schema: Schema
    order: tuple[str, ...]
    flat: bool
    name: str = ""  # of the operator that it is the stream of, where epochs follow each other

    @property
    def numbered(self) -> bool:
        return self.order == ("n",)

    @property
    def batch(self) -> Id:
        return Id(col("t"), None if self.flat else col("i"))

    @property
    def stamp_columns(self) -> list[str]:
        return ["t"] if self.flat else ["t", "i"]

    @property
    def sort_columns(self) -> list[str]:
        """What the positions follow: the batch, then the order in it (H1)."""
        return ["n"] if self.numbered else [*self.stamp_columns, *self.order]


# Relations


@dataclass(frozen=True)
class RelationFrame:
    """A temporal relation; `phi` is empty-handed (`ordered` False) where nobody looks at order and identity."""

    df: DataFrame
    schema: Schema
    phi: Phi
    flat: bool
    stamp: tuple[str, ...] = ()  # which of st, si, sn there are
    ordered: bool = True
    coalesced: bool = True  # the intervals of one identity are disjoint and do not touch
    one_row_per_phi: bool = True  # φ determines the values, so that Π keeps intervals coalesced
    lifetime: int | None = None  # how long each row holds, if that is the same for all
    endless: bool = False  # rows are never taken out
    shared: bool = False  # many rows have the same interval: windows that move in steps
    grid: Grid | None = None  # the instants of those steps: every row begins and ends at one of them, or never
    unseen: bool = False  # rows may begin after the end of the run, where nobody sees them

    @property
    def start(self) -> Id:
        return Id(col("ft"), None if self.flat else col("fi"))

    @property
    def end(self) -> Id:
        return Id(col("tt"), None if self.flat else col("ti"))

    @property
    def interval_columns(self) -> list[str]:
        return ["ft", "tt"] if self.flat else ["ft", "fi", "tt", "ti"]

    @property
    def order(self) -> list[str]:
        return order_columns(self.phi)

    @property
    def identity(self) -> list[str]:
        return [*self.order, *attributes(self.schema)]

    def with_interval(self, start: Id, end: Id, **changes: object) -> RelationFrame:
        """The same rows in other intervals; those that hold never are dropped."""
        flat = start.i is None and end.i is None
        kept = [c for c in self.df.columns if c not in ("ft", "fi", "tt", "ti")]
        df = self.df.select(*columns(kept), *interval(start, end, flat=flat))
        return replace(self.in_pieces(df.where(holds(flat))), flat=flat, **changes)  # type: ignore[arg-type]

    def in_pieces(self, df: DataFrame) -> RelationFrame:
        """The same rows in parts of their intervals, of which nothing is known."""
        return replace(self, df=df, lifetime=None, endless=False, shared=False, grid=None)


def interval(start: Id, end: Id, *, flat: bool) -> list[Column]:
    """[from, to) as columns."""
    if flat:
        return [start.t.alias("ft"), end.t.alias("tt")]
    return [start.t.alias("ft"), start.index.alias("fi"), end.t.alias("tt"), end.index.alias("ti")]


def holds(flat: bool) -> Column:
    """Whether an interval is not empty."""
    if flat:
        return col("ft") < col("tt")
    return lt(Id(col("ft"), col("fi")), Id(col("tt"), col("ti")))


def unflattened(frame: RelationFrame) -> RelationFrame:
    """The frame with its i columns, to stand beside one that has them."""
    if not frame.flat:
        return frame
    zero = long(0)
    return replace(frame, df=frame.df.withColumns({"fi": zero, "ti": zero}), flat=False)


def same_flatness(frames: Sequence[RelationFrame]) -> list[RelationFrame]:
    return list(frames) if all(f.flat for f in frames) else [unflattened(f) for f in frames]


# Streams of windows


@dataclass(frozen=True)
class WindowsFrame:
    """SNEEql's windows: `ticks` lists them as (t, i), i numbering those of a tick; `df` has their rows."""

    ticks: DataFrame
    df: DataFrame
    schema: Schema
    phi: Phi
    stamp: tuple[str, ...] = ()
