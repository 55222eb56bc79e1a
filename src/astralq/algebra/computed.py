"""Attributes that a source computes from each of its rows: `c DOUBLE AS (a / 10)`, and TIMESTAMP BY an expression."""

from __future__ import annotations

from collections.abc import Mapping

from astralq.errors import ExpressionError, PlanError, TypeMismatchError
from astralq.expr.casts import cast
from astralq.expr.nodes import Aggregate, Column, Expr
from astralq.expr.parse import expression
from astralq.expr.safety import always_fits
from astralq.schema import STRING, Attribute, Schema, Type

Computed = tuple[tuple[str, Expr], ...]
"""Attributes by their names, with expressions over what is stored."""

MOMENT = "_timestamp"
"""The attribute that holds the value of TIMESTAMP BY an expression; it stands last, and no query sees it."""

FILE = Attribute("_file", STRING)
"""The pseudo-column of tuples from files: the name of the file, without its folder."""


OF_FILE = (FILE.name, Column(STRING, FILE.name))
"""The pseudo-column as an attribute of a source whose queries name it; `*` does not show it."""


def reads_file(computed: Computed) -> bool:
    """Whether the name of a row's file is needed."""
    return any(FILE.name in e.columns for _, e in computed)


def of_type(expr: Expr, wanted: Type, name: str) -> Expr:
    """The expression as the declared type of an attribute, where that loses nothing."""
    if expr.type == wanted:
        return expr
    if not always_fits(expr.type, wanted):
        raise TypeMismatchError(
            f"{name!r} is {wanted}, and {expr} is {expr.type}", hint=f"CAST it: CAST({expr} AS {wanted})"
        )
    return cast(expr, wanted)


def over_stored(expr: Expr, computed: Mapping[str, Expr]) -> Expr:
    """The expression with those attributes put in that were computed before it, by their names in lower case."""
    if any(isinstance(e, Aggregate) for e in expr.walk()):
        raise ExpressionError(f"{expr} is not of one row", hint="aggregate in a query, over a window")
    return expr.transform(lambda e: computed.get(e.name.lower(), e) if isinstance(e, Column) else e)


def with_computed(
    stored: Schema, computed: Mapping[str, str], timestamp: str | None
) -> tuple[Schema, Computed, str | None]:
    """For sources in Python: all attributes, those that are computed, and the attribute that is the timestamp.

    >>> found = with_computed(Schema.parse("d STRING"), {"n": "length(d)"}, "to_timestamp(d, 'yyyyMMdd')")
    >>> str(found[0]), found[1][0], found[2]
    ('d STRING, n INT, _timestamp TIMESTAMP', ('n', length(d)), '_timestamp')
    """
    made: dict[str, Expr] = {}
    schema = stored
    further = dict(computed)
    if timestamp is not None and timestamp not in stored and timestamp.lower() not in map(str.lower, computed):
        further[MOMENT], timestamp = timestamp, MOMENT
    for name, text in further.items():
        if name in schema:
            raise PlanError(f"{name!r} is an attribute already", hint="give what is computed another name")
        try:
            expr = over_stored(expression(text, schema), {k.lower(): e for k, e in made.items()})
        except ExpressionError as e:
            if name == MOMENT and text.isidentifier():
                stored.index(text)  # a misspelt attribute: it knows the nearest one
            raise e from None
        made[name] = expr
        schema = Schema((*schema.attributes, Attribute(name, expr.type)), schema.location)
    return schema, tuple(made.items()), timestamp
