"""Which expressions can fail on a row, and which aggregates can be put together from parts."""

from __future__ import annotations

from astralq.callables import PythonFunction
from astralq.datatypes import DATE, DOUBLE, INT, STRING, TIMESTAMP, Type
from astralq.expr.nodes import (
    SPATIAL_AGGREGATES,
    VARIANCES,
    Aggregate,
    Call,
    Cast,
    Expr,
    Literal,
    PythonCall,
    SparkCall,
)
from astralq.expr.spark_aggregates import UNORDERED

_SAFE = frozenset(
    [
        *("=", "<>", "<", "<=", ">", ">=", "<=>", "and", "or", "not", "isnull", "isnotnull", "in", "between"),
        *("coalesce", "nvl", "if", "greatest", "least", "isnan", "&", "|", "^", "~"),
        *("||", "concat", "upper", "lower", "trim", "ltrim", "rtrim", "length", "startswith", "endswith", "contains"),
        *("sqrt", "exp", "ln", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "radians", "degrees"),
        *("power", "sign", "pi", "year", "month", "day", "hour", "minute", "second"),
    ]
)
"""Functions that give a value, or NULL, for all values."""

_WIDER = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE")

_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}


def can_fail(expr: Expr) -> bool:
    """Whether it could fail on some row, as a division can; comparisons of attributes cannot.

    >>> from astralq.expr.parse import expression
    >>> from astralq.schema import Schema
    >>> s = Schema.parse("k INT, v DOUBLE")
    >>> [can_fail(expression(e, s)) for e in ("v * 2 > k", "k * 2 > v", "v / k > 1")]
    [False, True, True]
    """
    return any(own_failure(e) for e in expr.walk())


def tells_equals_apart(expr: Expr) -> bool:
    """Whether it may give different values for equal ones: 0.0 and -0.0 are equal, and print differently.

    >>> from astralq.expr.parse import expression
    >>> from astralq.schema import Schema
    >>> s = Schema.parse("v DOUBLE")
    >>> tells_equals_apart(expression("v > 0", s)), tells_equals_apart(expression("CAST(v AS STRING) = '0.0'", s))
    (False, True)
    """
    for e in expr.walk():
        if isinstance(e, Cast) and e.operand.type.holds("FLOAT", "DOUBLE") and e.type == STRING:
            return True
        if isinstance(e, SparkCall) or (isinstance(e, Call) and e.function in ("power", "atan2")):
            return True
        if isinstance(e, PythonCall):
            return True
    return False


def movable(expr: Expr) -> bool:
    """Whether it may be computed on other rows, or on equal ones: it cannot fail, nor tell equal values apart."""
    return not can_fail(expr) and not tells_equals_apart(expr)


def own_failure(e: Expr) -> bool:
    """Whether the expression can fail where its parts have not."""
    match e:
        case SparkCall():
            return True  # nobody has looked at each of Spark's functions
        case Cast():
            return not (e.safe or always_fits(e.operand.type, e.type))
        case Call(function="like", args=(_, Literal(value=str(pattern)))):
            return "\\" in pattern  # an escape may be wrong
        case Call(function="+" | "-" | "*" | "negate" | "abs"):
            # Doubles overflow to infinity; the difference of two instants fits.
            apart = e.function == "-" and all(a.type in (DATE, TIMESTAMP) for a in e.args)
            return not (e.type.is_fractional or apart)
        case Call():
            return e.function not in _SAFE
        case Aggregate() if e.of_spark:
            return True
        case PythonCall() | Aggregate(python=PythonFunction()):
            return True
        case Aggregate():
            return e.function in ("sum", "avg") and any(a.type not in (INT, DOUBLE) for a in e.args)
    return False


def always_fits(source: Type, to: Type) -> bool:
    """Whether a cast from the one type to the other cannot fail."""
    if source == to or source.name == "NULL" or to.name == "STRING":
        return True
    if source.is_integral and to.name == "DECIMAL":
        return to.precision - to.scale >= _DIGITS[source.name]
    if (source.name, to.name) in (("DATE", "TIMESTAMP"), ("TIMESTAMP", "DATE"), ("STRING", "BINARY")):
        return True
    if source.is_nested and source.name == to.name:
        return all(always_fits(a, b) for (_, a), (_, b) in zip(source.parts, to.parts, strict=True))
    if source.name == to.name == "DECIMAL":
        return to.scale >= source.scale and to.precision - to.scale >= source.precision - source.scale
    if source.name == "DECIMAL":
        return to.is_fractional
    return source.name in _WIDER and to.name in _WIDER and _WIDER.index(source.name) <= _WIDER.index(to.name)


_SUMS = ("count", "sum", "avg", *VARIANCES)
"""What changes where equal values are taken once."""

MERGEABLE = (*_SUMS, "min", "max", "first", "last")


def mergeable(a: Aggregate) -> bool:
    """Whether the aggregate of several groups of rows follows from what little is known of each group."""
    return a.function in MERGEABLE and not (a.distinct and a.function in _SUMS)


def invertible(a: Aggregate) -> bool:
    """Whether what leaves a group of rows can be taken off again."""
    return mergeable(a) and a.function in _SUMS


def depends_on_order(aggregate: Aggregate) -> bool:
    """Whether it depends on the order of a group's tuples, not only on the bag of their values."""
    if aggregate.of_spark:
        return aggregate.function not in UNORDERED
    return aggregate.python is not None or aggregate.function in ("first", "last", *SPATIAL_AGGREGATES)
