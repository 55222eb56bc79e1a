"""What all operators share: a kind, a schema, children, and one readable text form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from enum import Enum
from functools import cached_property
from typing import Protocol, Self

from astralq.algebra.digest import digest_of
from astralq.errors import PlanError
from astralq.schema import BIGINT, TIMESTAMP, Attribute, Schema

STAMP = (Attribute("_t", TIMESTAMP), Attribute("_i", BIGINT), Attribute("_n", BIGINT))
"""The pseudo-columns of a stream's tuple: its timestamp, batch index and position."""


PSEUDO = frozenset(a.name for a in STAMP)


class Kind(Enum):
    """What an operator gives.

    >>> Kind.RELATION.value
    'relation'
    """

    STREAM = "stream"  # 001 D15
    RELATION = "relation"  # 001 D12
    WINDOWS = "stream of windows"  # 003 §3


@dataclass(frozen=True)
class Operator:
    """A node of a query: immutable, typed, and valid, or it could not have been built.

    >>> from astralq import rows, stream
    >>> [type(op).__name__ for op in stream("S", "v INT")[rows(3)].operator.walk()]
    ['Window', 'StreamSource']
    """

    def __post_init__(self) -> None:
        _ = self.schema  # computing it checks every name and type
        self.check()

    def check(self) -> None:
        """Raises a PlanError if the operator cannot be valid."""

    @property
    def kind(self) -> Kind:
        raise NotImplementedError

    @cached_property
    def schema(self) -> Schema:
        """The attributes of its tuples."""
        raise NotImplementedError

    @property
    def stamped(self) -> bool:
        """Whether each tuple has the stamp of one stream's tuple: streams, and what keeps their tuples."""
        return self.kind is Kind.STREAM

    @cached_property
    def readable(self) -> Schema:
        """What expressions over its tuples may name: the attributes, and the pseudo-columns if stamped.

        An attribute that has the name of a pseudo-column hides it.
        """
        if not self.stamped:
            return self.schema
        stamp = tuple(Attribute(f" {a.name}", a.type) if a.name in self.schema else a for a in STAMP)
        return Schema(self.schema.attributes + stamp, self.schema.location)

    @cached_property
    def children(self) -> tuple[Operator, ...]:
        """The operators that it takes its tuples from."""
        return tuple(v for v in (getattr(self, f.name) for f in fields(self)) if isinstance(v, Operator))

    @cached_property
    def digest(self) -> str:
        """A short name that every process gives to this operator, and to no other; an error if a function in it has
        no name."""
        return digest_of(self)

    def with_children(self, *children: Operator) -> Self:
        """The same operator over other children, as many as it has.

        >>> from astralq import rows, stream
        >>> s, u = stream("S", "v INT").operator, stream("U", "v INT").operator
        >>> stream("S", "v INT")[rows(3)].operator.with_children(u)
        WINDOW [ROWS 3]
        └─ STREAM U
        """
        names = [f.name for f in fields(self) if isinstance(getattr(self, f.name), Operator)]
        return replace(self, **dict(zip(names, children, strict=True)))

    def transform(self, f: Callable[[Operator], Operator]) -> Operator:
        """The query with f applied to each operator, from the sources up.

        >>> from astralq import rows, stream
        >>> s = stream("S", "v INT")[rows(3)].istream().operator
        >>> s.transform(lambda op: op.child.child if type(op).__name__ == "IStream" else op)
        STREAM S
        """
        children = tuple(c.transform(f) for c in self.children)
        same = all(a is b for a, b in zip(children, self.children, strict=True))
        return f(self if same else self.with_children(*children))

    @property
    def label(self) -> str:
        """The operator and its parameters in one line."""
        raise NotImplementedError

    def walk(self) -> Iterator[Operator]:
        """This operator and all below it, outermost first."""
        yield self
        for c in self.children:
            yield from c.walk()

    def __str__(self) -> str:
        return "\n".join(self._lines("", ""))

    __repr__ = __str__

    def explain(self) -> str:
        """The text form with each operator's kind and attributes beside it."""
        left = self._lines("", "")
        right = [f"{op.kind.value} ({op.schema})" for op in self.walk()]
        width = max(map(len, left))
        return "\n".join(f"{a:<{width}}   {b}" for a, b in zip(left, right, strict=True))

    def _repr_html_(self) -> str:
        from astralq.algebra.html import plan_html

        return plan_html(self)

    def _lines(self, first: str, rest: str) -> list[str]:
        lines = [first + self.label]
        for k, c in enumerate(self.children):
            last = k == len(self.children) - 1
            lines += c._lines(rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))
        return lines


@dataclass(frozen=True, repr=False)
class Unary(Operator):
    """An operator that gives the same kind as its child and, unless it says otherwise, the same attributes."""

    child: Operator

    @property
    def kind(self) -> Kind:
        return self.child.kind

    @property
    def stamped(self) -> bool:
        return self.child.stamped

    @cached_property
    def schema(self) -> Schema:
        return self.child.schema


class HasOperator(Protocol):
    """What stands for an operator: the fluent queries."""

    @property
    def operator(self) -> Operator: ...


def operator_of(query: Operator | HasOperator) -> Operator:
    """The operator itself."""
    return query if isinstance(query, Operator) else query.operator


def expect(op: Operator, kind: Kind, what: str, hint: str) -> None:
    """An error unless the operator gives what is wanted."""
    if op.kind is not kind:
        raise PlanError(f"{what} takes a {kind.value}, and this is a {op.kind.value}:\n{op}", hint=hint)


STREAM_HINT = "turn a relation into a stream with ISTREAM, DSTREAM or RSTREAM"
RELATION_HINT = "turn a stream into a relation with a window, for example [ROWS 10]"
