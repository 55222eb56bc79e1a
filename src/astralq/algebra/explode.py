"""Tuples made of the elements of an array, or of the entries of a map: explode in FROM."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from astralq.algebra.base import Kind, Unary
from astralq.algebra.relational import check_reads
from astralq.errors import PlanError, SchemaError, TypeMismatchError
from astralq.expr.nodes import Expr, quoted
from astralq.schema import INT, Attribute, Schema


@dataclass(frozen=True, repr=False)
class Explode(Unary):
    """Each tuple once for each element of an array, or each entry of a map in the order of its keys.

    Of a stream's tuple these are in its batch, behind each other. In each state of a relation φ becomes φ ++ (place),
    counted from 0. A tuple without elements is dropped, or with `outer` stays once with NULL, at the place ⊥. `names`
    are those of the place, where it is wanted, and of the element, or key and value.
    """

    array: Expr
    names: tuple[str, ...]
    outer: bool = False

    @property
    def has_place(self) -> bool:
        """Whether the place of an element is an attribute, too."""
        return len(self.names) > len(self.array.type.parts)

    @cached_property
    def schema(self) -> Schema:
        types = ([INT] if self.has_place else []) + [t for _, t in self.array.type.parts]
        made = tuple(Attribute(n, t) for n, t in zip(self.names, types, strict=True))
        return Schema((*self.child.schema.attributes, *made), self.child.schema.location)

    def __post_init__(self) -> None:
        if self.child.kind is Kind.WINDOWS:
            raise PlanError(f"explode is not part of SNEEql:\n{self.child}", hint="use the astral dialect")
        check_reads(self.array, self.child.readable, "explode")
        if self.array.type.name not in ("ARRAY", "MAP"):
            raise TypeMismatchError(f"explode takes an ARRAY or a MAP, and {self.array} is {self.array.type}")
        count = len(self.array.type.parts)
        if len(self.names) not in (count, count + 1):
            what = "an element" if count == 1 else "a key and a value"
            raise SchemaError(f"explode of {self.array.type} gives {what}, not {len(self.names)} attributes")
        super().__post_init__()

    @property
    def call(self) -> str:
        """As it is written behind LATERAL."""
        function = f"{'pos' if self.has_place else ''}explode{'_outer' if self.outer else ''}"
        return f"{function}({self.array}) AS _e({', '.join(map(quoted, self.names))})"

    @property
    def label(self) -> str:
        return f"EXPLODE{' OUTER' if self.outer else ''} {self.array} AS {', '.join(map(quoted, self.names))}"
