"""Order and choice: ORDER BY gives a relation another order, LIMIT chooses from each state, ASOF JOIN the nearest."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from astralq.algebra.base import Kind, Operator, Unary
from astralq.algebra.relational import Select, check_reads
from astralq.errors import PlanError, TypeMismatchError
from astralq.expr.nodes import Call, Cast, Column, Expr, Literal
from astralq.expr.parse import expression, split_list
from astralq.schema import INT, Attribute, Schema

_WITHOUT_ORDER = ("ARRAY", "MAP", "STRUCT", "VARIANT")


@dataclass(frozen=True)
class SortKey:
    """One key of an order: an expression, its direction, and where NULLs stand.

    >>> from astralq.expr.nodes import Column
    >>> from astralq.schema import INT
    >>> SortKey(Column(INT, "v"), descending=True, nulls_first=False), SortKey(Column(INT, "v"), nulls_first=False)
    (v DESC, v NULLS LAST)
    """

    expr: Expr
    descending: bool = False
    nulls_first: bool = True

    @staticmethod
    def of(expr: Expr, *, descending: bool = False, nulls_first: bool | None = None) -> SortKey:
        """Where nobody says it, NULLs are the least values, as in Spark: first ascending, last descending."""
        return SortKey(expr, descending, not descending if nulls_first is None else nulls_first)

    def __str__(self) -> str:
        nulls = "" if self.nulls_first != self.descending else f" NULLS {'FIRST' if self.nulls_first else 'LAST'}"
        return f"{self.expr}{' DESC' if self.descending else ''}{nulls}"

    __repr__ = __str__


_DIRECTION = re.compile(r"(?is)(.*?)(?:\s+(ASC|DESC))?(?:\s+NULLS\s+(FIRST|LAST))?\s*")


def sort_keys(texts: Iterable[str], readable: Schema) -> tuple[SortKey, ...]:
    """Keys as they are written: `v DESC NULLS LAST, k`.

    >>> sort_keys(["v desc, k"], Schema.parse("k INT, v INT"))
    (v DESC, k)
    """
    found = []
    for text in (part for t in texts for part in split_list(t)):
        parts = _DIRECTION.fullmatch(text)
        assert parts is not None
        of, direction, nulls = (part or "" for part in parts.groups())
        nulls_first = {"FIRST": True, "LAST": False}.get(nulls.upper())
        expr = expression(of, readable)
        found.append(SortKey.of(expr, descending=direction.upper() == "DESC", nulls_first=nulls_first))
    return tuple(found)


def sort_text(keys: tuple[SortKey, ...]) -> str:
    return ", ".join(map(str, keys))


def _check_relation(child: Operator, what: str, instead: str) -> None:
    if child.kind is Kind.WINDOWS:
        raise PlanError(f"{what} is not part of SNEEql: a window is a bag of tuples", hint="use the astral dialect")
    if child.kind is Kind.STREAM:
        raise PlanError(f"{what} takes a relation, and this is a stream, which never ends:\n{child}", hint=instead)


def _check_keys(keys: tuple[SortKey, ...], readable: Schema) -> None:
    for key in keys:
        check_reads(key.expr, readable, "ORDER BY")
        if key.expr.type.name in _WITHOUT_ORDER:
            raise TypeMismatchError(
                f"ORDER BY {key.expr}: values of type {key.expr.type} have no order", hint="order by a part of it"
            )


@dataclass(frozen=True, repr=False)
class OrderBy(Unary):
    """Another order: φ becomes (x, φ), where x are the values of the keys; where x changes, it is another tuple."""

    keys: tuple[SortKey, ...]

    def check(self) -> None:
        _check_relation(
            self.child,
            "ORDER BY",
            "its tuples are in the order in which they come; take a window first, for example [TUMBLE 1 MINUTE]",
        )
        if not self.keys:
            raise PlanError("ORDER BY of nothing", hint="name at least one key")
        _check_keys(self.keys, self.child.readable)

    @property
    def label(self) -> str:
        return f"ORDER BY {sort_text(self.keys)}"


@dataclass(frozen=True, repr=False)
class Limit(Unary):
    """Chooses by place from each state, and keeps φ: of each group with equal `per`, the tuples at the places
    skip + 1 to skip + count; without a count all behind the skipped ones.

    Places go by `order` and then by φ; with `last` they are counted from the end. `rank` names an attribute that shows
    the place.
    """

    count: int | None
    per: tuple[Expr, ...] = ()
    order: tuple[SortKey, ...] = ()
    skip: int = 0
    last: bool = False
    rank: str | None = None

    @cached_property
    def schema(self) -> Schema:
        below = self.child.schema
        if self.rank is None:
            return below
        return Schema((*below.attributes, Attribute(self.rank, INT)), below.location)

    def check(self) -> None:
        _check_relation(
            self.child,
            "LIMIT" if self.rank is None else "ROW_NUMBER()",
            "it chooses from states: take a window first, as [TUMBLE 1 MINUTE], or [UNBOUNDED] for all so far",
        )
        for number in (self.count or 0, self.skip):
            if number < 0:
                raise PlanError(f"{number} is not a number of tuples", hint="give 0 or more")
        for e in self.per:
            check_reads(e, self.child.readable, "PER")
            if e.type.name in _WITHOUT_ORDER:
                raise TypeMismatchError(f"PER {e}: values of type {e.type} do not group", hint="use a part of it")
        _check_keys(self.order, self.child.readable)

    @property
    def label(self) -> str:
        parts = []
        if self.count is not None:
            parts.append(f"LIMIT {'LAST ' if self.last else ''}{self.count}")
        if self.skip or not (parts or self.rank):
            parts.append(f"OFFSET {self.skip}")
        if self.rank is not None:
            parts.append(f"{'WITH ' if parts else ''}ROW NUMBER AS {self.rank}")
        if self.per:
            parts.append(f"PER {', '.join(map(str, self.per))}")
        if self.order:
            parts.append(f"BY {sort_text(self.order)}")
        return " ".join(parts)

    @property
    def places(self) -> tuple[int, int | None]:
        """The first and the last place that is kept, counted from 1; None: to the end."""
        return self.skip + 1, None if self.count is None else self.skip + self.count


_SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def places_of(condition: Expr, rank: str) -> tuple[int, int | None] | None:
    """The first and the last place that a condition admits, where it compares places with a constant.

    >>> from astralq.expr.parse import expression
    >>> from astralq.schema import Schema
    >>> [places_of(expression(c, Schema.parse("n INT")), "n") for c in ("n < 3", "2 <= n", "n % 2 = 1")]
    [(1, 2), (2, None), None]
    """
    if not isinstance(condition, Call):
        return None
    args = [_plain(a) for a in condition.args]
    is_rank = [isinstance(a, Column) and a.name.lower() == rank.lower() for a in args]
    numbers = [a.value for a in args if isinstance(a, Literal) and isinstance(a.value, int)]
    if condition.function == "between" and is_rank == [True, False, False] and len(numbers) == 2:
        return numbers[0], numbers[1]
    if condition.function not in _SWAPPED or sum(is_rank) != 1 or len(numbers) != 1:
        return None
    n = numbers[0]
    match condition.function if is_rank[0] else _SWAPPED[condition.function]:
        case "<":
            return 1, n - 1
        case "<=":
            return 1, n
        case ">":
            return n + 1, None
        case ">=":
            return n, None
    return n, n


def _plain(e: Expr) -> Expr:
    return _plain(e.operand) if isinstance(e, Cast) and e.implicit else e


# What a query's clauses are applied as, once what they stand over is known


@dataclass(frozen=True)
class Ordered:
    """ORDER BY."""

    keys: tuple[SortKey, ...]

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return tuple(k.expr for k in self.keys)

    def over(self, child: Operator, f: Callable[[Expr], Expr]) -> Operator:
        return OrderBy(child, _mapped(self.keys, f))


@dataclass(frozen=True)
class Chosen:
    """LIMIT, DISTINCT ON and ROW_NUMBER(), with the fields of `Limit`."""

    count: int | None
    per: tuple[Expr, ...] = ()
    order: tuple[SortKey, ...] = ()
    skip: int = 0
    rank: str | None = None

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (*self.per, *(k.expr for k in self.order))

    def over(self, child: Operator, f: Callable[[Expr], Expr]) -> Operator:
        per = tuple(map(f, self.per))
        return Limit(child, self.count, per, _mapped(self.order, f), self.skip, False, self.rank)


@dataclass(frozen=True)
class Kept:
    """A condition of QUALIFY."""

    condition: Expr

    @property
    def expressions(self) -> tuple[Expr, ...]:
        return (self.condition,)

    def over(self, child: Operator, f: Callable[[Expr], Expr]) -> Operator:
        return Select(child, f(self.condition))


Step = Ordered | Chosen | Kept


def _mapped(keys: tuple[SortKey, ...], f: Callable[[Expr], Expr]) -> tuple[SortKey, ...]:
    return tuple(replace(k, expr=f(k.expr)) for k in keys)


def arranged(child: Operator, steps: Iterable[Step]) -> Operator:
    """The steps over an operator whose attributes they name, one after the other."""
    for step in steps:
        child = step.over(child, lambda e: e)
    return child
