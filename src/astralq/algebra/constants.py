"""A relation that stands in the query itself: VALUES (1, 'a'), (2, 'b')."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from astralq.algebra.base import Kind, Operator
from astralq.errors import PlanError, TypeMismatchError
from astralq.expr.nodes import Aggregate, Column, Expr
from astralq.schema import Attribute, Schema


@dataclass(frozen=True, repr=False)
class Constants(Operator):
    """Rows of constant expressions, which hold always, in the order in which they are written; φ is a row's place.

    Its attributes are col1, col2, …, as in Spark.

    >>> from astralq.expr.nodes import Literal
    >>> from astralq.schema import INT
    >>> Constants(((Literal(INT, 1),), (Literal(INT, 2),)))
    VALUES (1), (2)
    """

    rows: tuple[tuple[Expr, ...], ...]

    @property
    def kind(self) -> Kind:
        return Kind.RELATION

    @cached_property
    def schema(self) -> Schema:
        if not self.rows or not self.rows[0]:
            raise PlanError("VALUES of nothing", hint="write at least one row: VALUES (1, 'a')")
        return Schema(tuple(Attribute(f"col{k}", e.type) for k, e in enumerate(self.rows[0], 1)))

    def check(self) -> None:
        width = len(self.schema)
        for row in self.rows:
            if len(row) != width:
                raise PlanError(
                    f"a row of VALUES has {len(row)} values, and the first one {width}",
                    hint="give every row as many values",
                )
            for e, a in zip(row, self.schema, strict=True):
                if e.type != a.type:
                    raise TypeMismatchError(f"in VALUES: {e} is {e.type}, and {a.name!r} is {a.type}")
                wrong = [x for x in e.walk() if isinstance(x, Column | Aggregate)]
                if wrong:
                    raise PlanError(f"VALUES takes constants, and {wrong[0]} is none", hint="select it from something")

    @property
    def label(self) -> str:
        return f"VALUES {', '.join('(' + ', '.join(map(str, row)) + ')' for row in self.rows)}"
