"""Expressions of queries as columns of plan tables: their text is Spark SQL, once its names are those of the table."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from astralq.algebra.base import STAMP, Operator
from astralq.algebra.callables import run_by_python
from astralq.algebra.digest import digest_of
from astralq.algebra.properties import expressions
from astralq.algebra.relational import GroupBy
from astralq.callables import PythonFunction
from astralq.datatypes import BOOLEAN, DATE, INTERVAL
from astralq.expr.calendar import DAY
from astralq.expr.nodes import Call, Cast, Column, Expr, Inside, Lambda, Literal, PythonCall, SparkCall, Variable
from astralq.expr.safety import depends_on_order
from astralq.expr.texts import interval_text
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column as SqlColumn
from astralq.plan.sql_types import restored, spark_type, stored
from astralq.plan.table import PYTHON
from astralq.schema import Schema
from astralq.space import Region

AS_WRITTEN = "as written"
"""Marks a piece of SQL whose constants are part of its meaning, not values that could be looked up."""

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
    entries: bool = True  # whether MAPs are held as their entries, as in plan tables

    def is_attribute(self, column: Column) -> bool:
        return self.schema.find(column.name) is not None

    def text(self, column: Column) -> str:
        place = self.schema.find(column.name)
        if place is not None:
            return self.columns[place]
        assert column.name in {a.name for a in STAMP}, column.name
        return "0L" if column.name == "_i" and "si" not in self.stamp else PSEUDO[column.name]


def reads_position(expr: Expr, schema: Schema) -> bool:
    """Whether it reads the position _n, and not an attribute of that name."""
    return "_n" in expr.columns and schema.find("_n") is None


def reads_positions(op: Operator) -> bool:
    """Whether an expression of an operator reads the position _n of its child's tuples."""
    return any(reads_position(e, op.children[0].schema) for e in expressions(op))


def compiled(expr: Expr, names: Names) -> SqlColumn:
    """The expression as a column of a table; one that computes with DECIMALs says so, as types depend on its constants
    there."""
    exact = "/* decimal */ " if any(e.type.name == "DECIMAL" for e in expr.walk()) else ""
    fixed = f"/* {AS_WRITTEN} */ " if any(map(_counts_as_written, expr.walk())) else ""
    if isinstance(expr, Column) and names.is_attribute(expr):
        return F.expr(f"({exact}{names.text(expr)})")
    made = str(rewritten(expr, names))
    return F.expr(f"({exact}{fixed}{stored(made, expr.type) if names.entries else made})")


def _counts_as_written(e: Expr) -> bool:
    """Whether its constants have to stand where they are: names of fields, and constants of types with a prefix."""
    if isinstance(e, Literal):
        return e.type.name in ("BINARY", "FLOAT", "TINYINT", "SMALLINT")
    return isinstance(e, SparkCall | Lambda) or (
        isinstance(e, Call) and e.function == "[]" and e.args[0].type.holds("STRUCT")
    )


def rewritten(expr: Expr, names: Names) -> Expr:
    """The expression over a table's columns; its text is Spark SQL."""
    if isinstance(expr, Column):
        held = names.text(expr)
        return Raw(expr.type, restored(held, expr.type) if names.entries and names.is_attribute(expr) else held)
    if isinstance(expr, Variable):
        return Raw(expr.type, f"{expr.name}_v")  # no column is called so
    if isinstance(expr, Literal) and expr.type == INTERVAL and isinstance(expr.value, int):
        return Raw(INTERVAL, interval_text(expr.value, INTERVAL))
    if isinstance(expr, Inside):
        x, y = (f"CAST({rewritten(e, names)} AS DOUBLE)" for e in expr.children)
        return Raw(BOOLEAN, f"{function_name(expr.region)}({x}, {y})")
    if isinstance(expr, PythonCall):
        return Raw(expr.type, raised_if_wrong(python_call(expr, names)))
    over = expr.rebuilt(tuple(rewritten(c, names) for c in expr.children))
    if isinstance(expr, Cast) and expr.implicit and expr.operand.type.name in ("TINYINT", "SMALLINT", "FLOAT"):
        return replace(over, implicit=False)  # type: ignore[call-arg]  # sums are told apart by their columns' types
    if isinstance(expr, Call) and expr.function in ("+", "-"):
        return _of_days(expr, over)
    return over


def _of_days(call: Call, over: Expr) -> Expr:
    """Spark's intervals of whole days have a type of their own, which a DATE needs and gives; here is one type."""
    if [a.type for a in call.args] == [DATE, DATE]:
        return Raw(INTERVAL, f"CAST(({over}) AS INTERVAL DAY TO SECOND)")
    if call.type == DATE and INTERVAL in [a.type for a in call.args]:
        days = [
            Raw(INTERVAL, f"INTERVAL '{a.value // DAY}' DAY")
            if isinstance(a, Literal) and isinstance(a.value, int)
            else b
            for a, b in zip(call.args, over.children, strict=True)
        ]
        return over.rebuilt(tuple(days))
    return over


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


def function_name(of: Region | PythonFunction) -> str:
    """The name of the function that runs Python: to test a region, or to call what a user declared."""
    if isinstance(of, Region):
        return f"{PYTHON}inside_{hashlib.sha256(of.wkt.encode()).hexdigest()[:16]}"
    # Two callables that were given under one name are two functions as long as this process lasts.
    apart = "" if of.given is None else f"_{id(of.given):x}"
    return f"{PYTHON}python_{digest_of((of, of.folder))[:16]}{apart}"


def python_call(expr: PythonCall, names: Names) -> str:
    """What a callable gives: a struct of its value, and the error that it comes to."""
    # Python gets the types that are declared, whatever Spark's own constants and implicit casts have.
    args = [f"CAST({rewritten(a, names)} AS {spark_type(a.type)})" for a in expr.args]
    return f"{function_name(expr.function)}({', '.join(args) or 'true'})"


def raised_if_wrong(call: str) -> str:
    """The value that a callable gives. What it raises is an error only where the value is looked at, as in a branch of
    CASE that is taken: Spark computes functions of Python for all rows at once, before it looks at branches."""
    value = "CASE WHEN given_.error IS NULL THEN given_.value ELSE raise_error(given_.error) END"
    return f"element_at(transform(array({call}), given_ -> {value}), 1)"


def functions(of: object) -> dict[str, Region | PythonFunction]:
    """The functions that run Python in the expressions of a query, or of a part of one, by their names."""
    return {function_name(f): f for f in run_by_python(of)}


def looks_at_order(op: GroupBy) -> bool:
    """Whether an aggregate depends on the order of tuples, or reads their positions."""
    ordered = any(depends_on_order(a) for _, a in op.aggregates)
    return ordered or reads_positions(op)
