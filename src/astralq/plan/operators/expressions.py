"""Expressions of queries as columns of plan tables: their text is Spark SQL, once its names are those of the table."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from astralq.algebra.base import STAMP, Operator
from astralq.algebra.properties import expressions
from astralq.expr.nodes import Call, Column, Expr, Inside
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column as SqlColumn
from astralq.schema import BOOLEAN, Schema
from astralq.space import Region

PSEUDO = {"_t": "timestamp_micros(st)", "_i": "si", "_n": "sn"}
"""The pseudo-columns in terms of a stamp's columns."""


@dataclass(frozen=True, repr=False)
class Raw(Expr):
    """A piece of Spark SQL."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Names:
    """Where a table has what expressions name: attributes by their place in the schema, pseudo-columns by their stamp.

    A stamp without si is one of batches whose i is always 0.
    """

    schema: Schema
    columns: Sequence[str]
    stamp: Sequence[str] = ()

    def text(self, column: Column) -> str:
        place = self.schema.find(column.name)
        if place is not None:
            return self.columns[place]
        assert column.name in {a.name for a in STAMP}, column.name
        return "0L" if column.name == "_i" and "si" not in self.stamp else PSEUDO[column.name]


def reads_position(expr: Expr, schema: Schema) -> bool:
    """Whether it reads the position _n, and not an attribute of that name."""
    return "_n" in expr.columns and schema.find("_n") is None


def compiled(expr: Expr, names: Names) -> SqlColumn:
    """The expression as a column of a table; one that computes with DECIMALs says so, as types depend on its constants
    there."""
    exact = "/* decimal */ " if any(e.type.name == "DECIMAL" for e in expr.walk()) else ""
    return F.expr(f"({exact}{rewritten(expr, names)})")


def rewritten(expr: Expr, names: Names) -> Expr:
    """The expression over a table's columns; its text is Spark SQL."""
    if isinstance(expr, Column):
        return Raw(expr.type, names.text(expr))
    if isinstance(expr, Inside):
        x, y = (f"CAST({rewritten(e, names)} AS DOUBLE)" for e in expr.children)
        return Raw(BOOLEAN, f"{region_function(expr.region)}({x}, {y})")
    return expr.rebuilt(tuple(rewritten(c, names) for c in expr.children))


def bounding_boxes(condition: Expr, names: Names) -> SqlColumn | None:
    """What every location that satisfies the condition satisfies in plain SQL; None where it tests no region.

    Only those tests count that stand in a conjunction: the others may be false.
    """
    if isinstance(condition, Call) and condition.function == "and":
        boxes = [b for b in (bounding_boxes(c, names) for c in condition.args) if b is not None]
        return None if not boxes else boxes[0] if len(boxes) == 1 else boxes[0] & boxes[1]
    if not isinstance(condition, Inside):
        return None
    x, y = (compiled(e, names).cast("double") for e in condition.children)
    west, south, east, north = condition.region.shape.bounds
    return x.between(west, east) & y.between(south, north)


def region_function(region: Region) -> str:
    """The name of the function that tests a region; it is the only one that runs Python."""
    return "astralq_inside_" + hashlib.sha256(region.wkt.encode()).hexdigest()[:16]


def regions(query: Operator) -> dict[str, Region]:
    """The functions that a query's expressions call, with their regions."""
    parts = (part for op in query.walk() for e in expressions(op) for part in e.walk())
    return {region_function(e.region): e.region for e in parts if isinstance(e, Inside)}
