"""Expressions of plan tables: immutable pieces of Spark SQL, built as one builds Spark's own columns.

A plan is made without Spark, so that it can be looked at, compared and tested alone; an engine only has to hand the
text on. Names and arguments follow `pyspark.sql.functions`: a text given to a function is a column's name, one given
to an operator is a constant.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

Value = str | int | float | bool | None


@dataclass(frozen=True)
class Column:
    """A piece of SQL, and the name that it has in a table.

    >>> (col("t") + 5).alias("u")
    Column('(t + 5)', 'u')
    """

    text: str
    name: str

    def __repr__(self) -> str:
        return f"Column({self.text!r}, {self.name!r})"

    def alias(self, name: str) -> Column:
        return Column(self.text, name)

    def cast(self, type_: str) -> Column:
        return _made(f"CAST({self.text} AS {type_})")

    def try_cast(self, type_: str) -> Column:
        return _made(f"try_cast({self.text} AS {type_})")

    def __getitem__(self, field: str) -> Column:
        """A field of a struct."""
        return Column(f"({self.text}).{field}", field)

    def over(self, window: Window) -> Column:
        return _made(f"{self.text} OVER ({window.text})")

    # Comparisons; `==` makes a column, as Spark's does.

    def __eq__(self, other: object) -> Column:  # type: ignore[override]
        return self._binary("=", other)

    def __ne__(self, other: object) -> Column:  # type: ignore[override]
        return self._binary("!=", other)

    def __hash__(self) -> int:
        return hash((self.text, self.name))

    def __lt__(self, other: object) -> Column:
        return self._binary("<", other)

    def __le__(self, other: object) -> Column:
        return self._binary("<=", other)

    def __gt__(self, other: object) -> Column:
        return self._binary(">", other)

    def __ge__(self, other: object) -> Column:
        return self._binary(">=", other)

    def same_as(self, other: Column) -> Column:
        """Equality where NULL is equal to NULL."""
        return self._binary("<=>", other)

    def between(self, low: object, high: object) -> Column:
        """Whether it is in the closed interval [low, high]."""
        return _made(f"({self.text} BETWEEN {_operand(low)} AND {_operand(high)})")

    def is_in(self, *values: Value) -> Column:
        return _made(f"({self.text} IN ({', '.join(lit(v).text for v in values)}))")

    def is_null(self) -> Column:
        return _made(f"({self.text} IS NULL)")

    def is_not_null(self) -> Column:
        return _made(f"({self.text} IS NOT NULL)")

    # Logic and arithmetic

    def __and__(self, other: Column) -> Column:
        return self._binary("AND", other)

    def __or__(self, other: Column) -> Column:
        return self._binary("OR", other)

    def __invert__(self) -> Column:
        return _made(f"(NOT {self.text})")

    def __add__(self, other: object) -> Column:
        return self._binary("+", other)

    def __sub__(self, other: object) -> Column:
        return self._binary("-", other)

    def __rsub__(self, other: object) -> Column:
        return _made(f"({_operand(other)} - {self.text})")

    def __mul__(self, other: object) -> Column:
        return self._binary("*", other)

    def __truediv__(self, other: object) -> Column:
        return self._binary("/", other)

    def __floordiv__(self, other: object) -> Column:
        """Integer division, which cuts towards 0 (Spark's div)."""
        return self._binary("div", other)

    def __mod__(self, other: object) -> Column:
        return self._binary("%", other)

    def __neg__(self) -> Column:
        return _made(f"(- {self.text})")

    def bits_and(self, other: object) -> Column:
        return self._binary("&", other)

    def bits_or(self, other: object) -> Column:
        return self._binary("|", other)

    def _binary(self, operator: str, other: object) -> Column:
        return _made(f"({self.text} {operator} {_operand(other)})")


def _made(text: str) -> Column:
    return Column(text, text)


def _operand(value: object) -> str:
    if isinstance(value, Column):
        return value.text
    assert value is None or isinstance(value, str | int | float | bool), value
    return lit(value).text


def col(name: str) -> Column:
    """The column of a name, or the field of a struct: `at.t`."""
    return Column(name, name.rsplit(".", 1)[-1])


def column(value: Column | str) -> Column:
    """What a function is given: a column, or the name of one."""
    return value if isinstance(value, Column) else col(value)


def columns(names: Iterable[str]) -> list[Column]:
    return [col(n) for n in names]


def lit(value: Value) -> Column:
    """A constant; floats are DOUBLEs, integers INTs where they fit."""
    match value:
        case None:
            return _made("NULL")
        case bool():
            return _made("true" if value else "false")
        case float():
            return _made(_double(value))
        case int():
            return _made(str(int(value)) if value >= 0 else f"({int(value)})")
    return _made("'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'")


def _double(value: float) -> str:
    if math.isfinite(value):
        return f"({value!r}D)" if math.copysign(1.0, value) < 0 else f"{value!r}D"
    return f"CAST('{'NaN' if math.isnan(value) else 'Infinity' if value > 0 else '-Infinity'}' AS DOUBLE)"


def long(value: int | None) -> Column:
    """A constant that is a BIGINT however small it is."""
    if value is None:
        return _made("CAST(NULL AS BIGINT)")
    return _made(f"{int(value)}L" if value >= 0 else f"({int(value)}L)")


@dataclass(frozen=True)
class Window:
    """What a window function looks at: PARTITION BY, ORDER BY and a frame of rows, or of a range of values."""

    partition: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    frame: str = ""

    @staticmethod
    def partition_by(*parts: Column | str) -> Window:
        return Window(tuple(column(p).text for p in parts))

    def order_by(self, *by: Column | str) -> Window:
        """Ascending with NULLs first, unless `desc` says otherwise."""
        return replace(self, order=tuple(column(b).text for b in by))

    def rows(self, first: int | None, last: int | None) -> Window:
        """From so many rows after the current one to so many, both inclusive; None: all before, or all after."""
        return replace(self, frame=f"ROWS BETWEEN {_bound(first, 'PRECEDING')} AND {_bound(last, 'FOLLOWING')}")

    def range(self, first: int | None, last: int | None) -> Window:
        """The same by values of the one column that it is ordered by."""
        return replace(self, frame=f"RANGE BETWEEN {_bound(first, 'PRECEDING')} AND {_bound(last, 'FOLLOWING')}")

    @property
    def text(self) -> str:
        # Rows of one part: a constant, because Spark warns where there is none.
        parts = [f"PARTITION BY {', '.join(self.partition) or '0'}"]
        parts += [f"ORDER BY {', '.join(self.order)}"] if self.order else []
        return " ".join([*parts, self.frame]).strip()


def _bound(offset: int | None, unbounded: str) -> str:
    if offset is None:
        return f"UNBOUNDED {unbounded}"
    if offset == 0:
        return "CURRENT ROW"
    return f"{abs(offset)} {'PRECEDING' if offset < 0 else 'FOLLOWING'}"
