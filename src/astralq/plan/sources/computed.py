"""Computed attributes of sources as Spark SQL that does not fail: a row on which an expression fails is told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from astralq.algebra.computed import MOMENT
from astralq.algebra.sources import RelationSource, StreamSource
from astralq.expr.nodes import Call, Case, Cast, Column, Expr, Lambda, Literal, PythonCall
from astralq.expr.safety import always_fits, own_failure
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column as SqlColumn
from astralq.plan.columns import lit
from astralq.plan.operators.expressions import Names, Raw, python_call, rewritten
from astralq.plan.sql_types import spark_type

_TRIED = {
    "+": "try_add",
    "-": "try_subtract",
    "*": "try_multiply",
    "/": "try_divide",
    "%": "try_mod",
    "to_timestamp": "try_to_timestamp",
    "make_timestamp": "try_make_timestamp",
    "make_timestamp_ltz": "try_make_timestamp_ltz",
    "to_binary": "try_to_binary",
    "aes_decrypt": "try_aes_decrypt",
    "url_decode": "try_url_decode",
    "validate_utf8": "try_validate_utf8",
}
"""Functions of Spark that give NULL where others fail. They are NULL for values that are not NULL only then; so
try_parse_url is not among them."""


@dataclass(frozen=True)
class Guarded:
    """The value of an expression, NULL where it fails, and where that is; None: it cannot fail, or cannot be tried."""

    value: Expr
    fails: str | None = None


def guarded(expr: Expr, names: Names) -> Guarded:
    """An expression over the columns of a table, so that it does not fail.

    >>> from astralq.expr.parse import expression
    >>> from astralq.schema import Schema
    >>> schema = Schema.parse("a INT, b INT, s STRING")
    >>> g = guarded(expression("CAST(s AS INT)", schema), Names(schema, ["c0", "c1", "c2"]))
    >>> str(g.value), g.fails
    ('try_cast(c2 AS int)', '(c2 IS NOT NULL AND try_cast(c2 AS int) IS NULL)')
    >>> guarded(expression("if(b = 0, a, a / b)", schema), Names(schema, ["c0", "c1", "c2"])).fails
    'CASE WHEN c1 = 0 THEN false ELSE (c0 IS NOT NULL AND c1 IS NOT NULL AND try_divide(c0, c1) IS NULL) END'
    """
    if isinstance(expr, Column | Literal | Lambda):
        # What a function of elements fails on cannot be told outside of it.
        return Guarded(rewritten(expr, names))
    parts = [guarded(c, names) for c in expr.children]
    value = expr.rebuilt(tuple(p.value for p in parts))
    if isinstance(value, PythonCall):
        given = python_call(value, names)
        fails = [*(p.fails for p in parts if p.fails is not None), f"{given}.error IS NOT NULL"]
        return Guarded(Raw(expr.type, f"{given}.value"), _any(fails))
    match expr:
        case Case():
            tests = list(zip(parts[:-1:2], parts[1:-1:2], strict=True))
            return Guarded(value, _first_true(tests, parts[-1]))
        case Call(function="if"):
            return Guarded(value, _first_true([(parts[0], parts[1])], parts[2] if len(parts) > 2 else Guarded(value)))
        case Call(function="coalesce" | "nvl"):
            return Guarded(value, _until(parts, "IS NULL"))
        case Call(function="and"):
            return Guarded(value, _until(parts, "IS DISTINCT FROM false"))
        case Call(function="or"):
            return Guarded(value, _until(parts, "IS DISTINCT FROM true"))
    below = [p.fails for p in parts if p.fails is not None]
    there = [f"{p.value} IS NOT NULL" for p in parts]
    if (outside := _outside(expr, parts)) is not None:
        tried, own = outside
    elif (found := _tried(expr, parts)) is not None:
        tried, own = found, f"{found} IS NULL"
    else:
        return Guarded(value, _any(below))
    return Guarded(Raw(expr.type, tried), _any([*below, f"({' AND '.join([*there, own])})"]))


def _outside(expr: Expr, parts: Sequence[Guarded]) -> tuple[str, str] | None:
    """An element of an array as one that is NULL where there is none, and where that is: elements may be NULL, too."""
    if not isinstance(expr, Call) or expr.function not in ("[]", "element_at"):
        return None
    if expr.args[0].type.name != "ARRAY" or not expr.args[1].type.is_integral:
        return None  # a field, or an entry of a map: NULL where it is not there
    array, place = (str(p.value) for p in parts)
    if expr.function == "[]":
        return f"get({array}, {place})", f"({place} < 0 OR {place} >= size({array}))"
    beyond = f"({place} = 0 OR {place} > size({array}) OR {place} < -size({array}))"
    return f"try_element_at({array}, nullif({place}, 0))", beyond


def _tried(expr: Expr, parts: Sequence[Guarded]) -> str | None:
    """The expression as one that gives NULL where it fails; None where it does not fail itself, or has no such form."""
    if isinstance(expr, Cast):
        if expr.safe or always_fits(expr.operand.type, expr.type):
            return None
        return f"try_cast({parts[0].value} AS {spark_type(expr.type)})"
    if not isinstance(expr, Call) or not own_failure(expr):
        return None
    values = [str(p.value) for p in parts]
    if expr.function in _TRIED and len(values) >= 1:
        return f"{_TRIED[expr.function]}({', '.join(values)})"
    if expr.function in ("div", "pmod"):
        return f"CASE WHEN {values[1]} <> 0 THEN {expr.rebuilt(tuple(p.value for p in parts))} END"
    if expr.function == "to_date":
        # As Spark computes it.
        parsed = f"try_to_timestamp({', '.join(values)})" if len(values) > 1 else values[0]
        return f"try_cast({parsed} AS date)"
    if expr.function == "make_date":
        return f"CAST(try_make_timestamp({', '.join(values)}, 12, 0, 0) AS date)"
    if expr.function in ("negate", "abs") and expr.type.is_integral:
        (x,) = values
        negative = f"try_subtract(CAST(0 AS {spark_type(expr.type)}), {x})"
        return negative if expr.function == "negate" else f"CASE WHEN {x} < 0 THEN {negative} ELSE {x} END"
    return None


def _first_true(tests: Sequence[tuple[Guarded, Guarded]], otherwise: Guarded) -> str | None:
    """Where the branch that is taken fails, or a test before it."""
    if all(g.fails is None for g in (*(g for pair in tests for g in pair), otherwise)):
        return None
    whens = []
    for test, then in tests:
        if test.fails is not None:
            whens.append(f"WHEN {test.fails} THEN true")
        whens.append(f"WHEN {test.value} THEN {then.fails or 'false'}")
    return f"CASE {' '.join(whens)} ELSE {otherwise.fails or 'false'} END"


def _until(parts: Sequence[Guarded], goes_on: str) -> str | None:
    """Where one of the parts fails that are looked at: the next one only if the one before it is so."""
    fails: str | None = None
    for part in reversed(parts):
        behind = None if fails is None else f"(({part.value}) {goes_on} AND {fails})"
        fails = _any([f for f in (part.fails, behind) if f is not None])
    return fails


def _any(conditions: Sequence[str]) -> str | None:
    if not conditions:
        return None
    return conditions[0] if len(conditions) == 1 else f"({' OR '.join(conditions)})"


def value_of(expr: Expr, names: Names) -> SqlColumn:
    """The value, NULL where the expression fails."""
    return F.expr(f"({guarded(expr, names).value})").cast(spark_type(expr.type))


def failure(source: StreamSource | RelationSource, names: Names) -> SqlColumn | None:
    """What is told of a row on which a computed attribute fails, as text; NULL elsewhere. None if none can fail."""
    problem = lit(None).cast("string")
    found = False
    for name, expr in reversed(source.computed):
        fails = guarded(expr, names).fails
        if fails is not None:
            found = True
            said = f"TIMESTAMP BY {expr}" if name == MOMENT else f"{name} AS ({expr})"
            shown = [_shown(n, names, first=not k) for k, n in enumerate(sorted(expr.columns))]
            problem = F.when(F.expr(fails), F.concat(lit(f"{said} fails"), *shown)).otherwise(problem)
    return problem if found else None


def _shown(name: str, names: Names, *, first: bool) -> SqlColumn:
    """The value of a column that an expression reads."""
    value = F.expr(names.columns[names.schema.index(name)]).cast("string")
    return F.concat(lit(f"{', where' if first else ','} {name} = "), F.coalesce(value, lit("NULL")))
