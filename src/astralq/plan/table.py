"""Plan tables: what is computed, as a graph of a dozen kinds of nodes, each with its columns.

A table is immutable and knows its columns, so that nothing has to be asked of an engine while a plan is made. Tables
that are computed the same way have the same digest, in every process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

from astralq.plan.columns import Column, col, column, lit

PYTHON = "astralq_"
"""What the names of functions begin with that run Python."""

_SHORT = 4_000
"""How long expressions are, in characters, that are soon computed: Spark writes them into each other, and some of a
sum of doubles whose magnitudes are far apart are a hundred times as long as usual."""


@dataclass(frozen=True, eq=False)
class Table:
    """A node of a plan; its methods are named after a DataFrame's.

    >>> Scan("s", ("c0", "t")).where(col("t") > 5).select("c0", (col("t") + 1).alias("u")).columns
    ('c0', 'u')
    """

    @cached_property
    def columns(self) -> tuple[str, ...]:
        raise NotImplementedError

    @cached_property
    def children(self) -> tuple[Table, ...]:
        found: list[Table] = []
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Table):
                found.append(value)
            elif isinstance(value, tuple):
                found += [v for v in value if isinstance(v, Table)]
        return tuple(found)

    @cached_property
    def digest(self) -> str:
        """The same for tables that are computed in the same way, in every process."""
        parts = [type(self).__name__]
        for f in fields(self):
            value = getattr(self, f.name)
            parts.append(value.digest if isinstance(value, Table) else _text(value))
        return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:24]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def walk(self) -> Iterator[Table]:
        """This table and all below it, each once, children first."""
        seen: set[int] = set()
        stack: list[tuple[Table, bool]] = [(self, False)]
        while stack:
            table, done = stack.pop()
            if done:
                yield table
            elif id(table) not in seen:
                seen.add(id(table))
                stack.append((table, True))
                stack += [(c, False) for c in reversed(table.children)]

    def with_children(self, made: Mapping[int, Table]) -> Table:
        """The same over other children, by the ids of those that they take the place of."""
        if all(made[id(c)] is c for c in self.children):
            return self
        changed: dict[str, object] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Table):
                changed[f.name] = made[id(value)]
            elif isinstance(value, tuple) and any(isinstance(v, Table) for v in value):
                changed[f.name] = tuple(made[id(v)] if isinstance(v, Table) else v for v in value)
        return replace(self, **changed)

    # Rows

    def select(self, *items: Column | str) -> Table:
        return Select(self, tuple((c.name, c.text) for c in map(column, items)))

    def where(self, condition: Column) -> Table:
        return self if condition.text == lit(True).text else Where(self, condition.text)

    def with_columns(self, made: Mapping[str, Column]) -> Table:
        """Further columns; one that is there already is replaced."""
        if not made:
            return self
        kept = [made[c].alias(c) if c in made else col(c) for c in self.columns]
        return self.select(*kept, *(v.alias(c) for c, v in made.items() if c not in self.columns))

    def with_column(self, name: str, made: Column) -> Table:
        return self.with_columns({name: made})

    def drop(self, *names: str) -> Table:
        kept = [c for c in self.columns if c not in names]
        return self if len(kept) == len(self.columns) else self.select(*kept)

    def renamed(self, names: Mapping[str, str]) -> Table:
        return self.select(*(col(c).alias(names.get(c, c)) for c in self.columns))

    def distinct(self) -> Table:
        return Distinct(self)

    # Several rows, several tables

    def repartition(self, keys: Sequence[str]) -> Table:
        """The same rows, those of equal keys in one partition: before each becomes several, so that fewer are sent."""
        return Repartition(self, tuple(keys)) if keys else self

    def presorted(self, number: Column) -> Table:
        """The same rows in the same partitions, there ordered by a BIGINT: see `Presorted`."""
        return Presorted(self, number.text)

    def group_by(self, *keys: Column | str) -> Grouped:
        return Grouped(self, tuple(column(k).name for k in keys))

    def agg(self, *made: Column) -> Table:
        """One row."""
        return Grouped(self, ()).agg(*made)

    def union(self, other: Table, *, missing: bool = False) -> Table:
        """The rows of both, by the columns' names; `missing`: a column that only one has is NULL in the other."""
        names = list(dict.fromkeys([*self.columns, *other.columns])) if missing else list(self.columns)
        sides = []
        for side in (self, other):
            if side.columns != tuple(names):
                side = side.select(*(col(c) if c in side.columns else lit(None).alias(c) for c in names))
            sides.append(side)
        return Union(tuple(sides))

    def join(self, other: Table, on: Column, how: str = "inner", *, broadcast: bool = False) -> Table:
        """Pairs by equal columns; those of both sides have different names. `broadcast`: the other side is small."""
        return Join(self, other, on.text, how, "broadcast" if broadcast else "keyed")

    def pairs(self, other: Table, on: Column) -> Table:
        """Pairs that are found by comparing all with all: for few rows."""
        return Join(self, other, on.text, "inner", "nested")

    def beside(self, row: Table) -> Table:
        """Each row with the columns of a table that has one row."""
        return Join(self, row, "", "cross", "broadcast")


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + "\x1e".join(v.digest if isinstance(v, Table) else _text(v) for v in value) + "]"
    return repr(value)


# Leaves


@dataclass(frozen=True, eq=False)
class Scan(Table):
    """A source's rows: its attributes as c0, c1, …, and of its stamp what it has."""

    source: str
    names: tuple[str, ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, eq=False)
class State(Table):
    """What a state table held before this epoch."""

    name: str
    names: tuple[str, ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, eq=False)
class Values(Table):
    """Rows of constants; `types` are the columns' names and types as Spark writes them."""

    rows: tuple[tuple[int | None, ...], ...]
    types: tuple[tuple[str, str], ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(n for n, _ in self.types)


ONE_ROW = Values(((0,),), (("one", "int"),))
"""A table of one row, to select constants from."""


@dataclass(frozen=True, eq=False)
class Numbers(Table):
    """The whole numbers of the half-open interval [first, end), as id."""

    first: int
    end: int

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return ("id",)


# One table from others


@dataclass(frozen=True, eq=False)
class Select(Table):
    """Expressions over each row, window functions among them."""

    child: Table
    items: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        assert len({n for n, _ in self.items}) == len(self.items), [n for n, _ in self.items]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(n for n, _ in self.items)


@dataclass(frozen=True, eq=False)
class _Rows(Table):
    child: Table

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.child.columns


@dataclass(frozen=True, eq=False)
class Where(_Rows):
    """The rows for which a condition is true."""

    condition: str


@dataclass(frozen=True, eq=False)
class Distinct(_Rows):
    """Each of equal rows once."""


@dataclass(frozen=True)
class Grouped:
    """Rows by keys, to be aggregated."""

    table: Table
    keys: tuple[str, ...]

    def agg(self, *made: Column) -> Table:
        return Aggregate(self.table, self.keys, tuple((c.name, c.text) for c in made))


@dataclass(frozen=True, eq=False)
class Aggregate(Table):
    """One row for each group."""

    child: Table
    keys: tuple[str, ...]
    items: tuple[tuple[str, str], ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*self.keys, *(n for n, _ in self.items))


@dataclass(frozen=True, eq=False)
class Union(Table):
    """The rows of tables with the same columns, in the same order."""

    sides: tuple[Table, ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.sides[0].columns


@dataclass(frozen=True, eq=False)
class Join(Table):
    """Pairs of rows, or rows of the left side with NULLs (`left`); `cross`: with the one row of the right side.

    Pairs are found by equal keys, by keys in a small right side (`broadcast`), or by comparing all (`nested`).
    """

    left: Table
    right: Table
    on: str
    how: str = "inner"
    by: str = "keyed"

    def __post_init__(self) -> None:
        assert not set(self.left.columns) & set(self.right.columns), (self.left.columns, self.right.columns)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*self.left.columns, *self.right.columns)


@dataclass(frozen=True, eq=False)
class Index(_Rows):
    """The rows numbered 0, 1, 2, … in an order that tells them apart: by a distributed sort, or by one task.

    Where rows are in ranges that follow each other, a column `range` has the number of a row's own, and `before` how
    many rows are in the ranges before each: then these are sorted side by side.
    """

    by: tuple[str, ...]
    name: str
    one_task: bool = False
    range: str = ""
    before: tuple[int, ...] = ()

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (*self.child.columns, self.name)


@dataclass(frozen=True, eq=False)
class Sort(_Rows):
    """The same rows in an order, NULLs first."""

    by: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Repartition(_Rows):
    """The same rows, partitioned by keys."""

    keys: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Presorted(_Rows):
    """The same rows, inside of their partitions ordered by a BIGINT, about as a window function over them wants them.

    It changes no answer. Spark sorts by one BIGINT without comparing rows, and what is nearly in an order with few
    comparisons.
    """

    by: str


@dataclass(frozen=True, eq=False)
class Materialize(_Rows):
    """Computed once, because it is read more than once."""


@dataclass(frozen=True, eq=False)
class Keep(_Rows):
    """The rows are written to a state table; what is read is that table afterwards, with what it held before if rows
    are appended. `ahead`: who reads it computes the new rows again, instead of waiting until they are written."""

    state: str
    append: bool
    before: tuple[str, ...] = ()  # the columns that the table had
    ahead: bool = False

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.before, *self.child.columns])) if self.append else self.child.columns


@dataclass(frozen=True, eq=False)
class Between(_Rows):
    """Of a state table, as the epoch before left it, all rows whose tt is in the half-open interval (after, upto], and
    perhaps others: only files that can have such rows are read."""

    after: int
    upto: int


@dataclass(frozen=True, eq=False)
class Assumed(_Rows):
    """Rows that depend on something that has to be measured first; a plan that has such a table cannot be run yet."""


def is_at_hand(table: Table) -> bool:
    """Whether a table is one that is computed once, or only plain expressions and conditions away from it."""
    return isinstance(_below_expressions(table), Materialize | Keep | State)


def is_soon_read(table: Table) -> bool:
    """Whether a table is at hand, or only plain expressions and conditions away from a source's rows."""
    return isinstance(_below_expressions(table), Materialize | Keep | State | Scan)


def is_soon_computed(table: Table) -> bool:
    """Whether it takes no longer to compute the rows of a table again than to write and read them: a source's rows, or
    what is materialized, numbered perhaps, and short expressions over them that do not run Python."""
    length = 0
    while isinstance(table, Select | Where | Index):
        texts = _texts(table)
        length += sum(map(len, texts))
        if length > _SHORT or any(_makes_rows(text) or PYTHON in text for text in texts):
            return False
        table = table.child
    return isinstance(table, Scan | Materialize)


def _below_expressions(table: Table) -> Table:
    while isinstance(table, Select | Where) and not any(map(_makes_rows, _texts(table))):
        table = table.child
    return table


def _texts(table: Table) -> list[str]:
    match table:
        case Where(_, condition):
            return [condition]
        case Select(_, items):
            return [text for _, text in items]
    return []


def _makes_rows(text: str) -> bool:
    """Whether an expression is more than one over each row by itself."""
    return " OVER (" in text or "explode" in text


def expanded_size(table: Table) -> int:
    """How many nodes a table has when each one that is read twice is computed twice, up to what is materialized."""
    sizes: dict[int, int] = {}
    for node in table.walk():
        stops = isinstance(node, Materialize | Keep) and node is not table
        sizes[id(node)] = 1 if stops else 1 + sum(sizes[id(c)] for c in node.children)
    return sizes[id(table)]
