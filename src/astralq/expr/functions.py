"""The functions and operators of expressions: what types they take, what they give, how they compute.

One table for all of them; the functions themselves stand in arithmetic, text_functions and time_functions.
What is not in the table does not exist, so query text cannot reach outside; what users may look for is in REFUSED.
"""

from __future__ import annotations

import operator as op
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from astralq.datatypes import BOOLEAN, NULL, Type, Value
from astralq.errors import EvaluationError, ExpressionError, TypeMismatchError, nearest
from astralq.expr.casts import cast_value, coerce, common_type
from astralq.expr.nodes import AGGREGATES, Call, Case, Expr, Literal, SparkCall
from astralq.expr.order import order_key
from astralq.expr.spark_functions import SparkFunction, catalogue, result_type

Signature = tuple[tuple[Type, ...], Type]
"""The types that the arguments are brought to, and the type of the result."""


@dataclass(frozen=True)
class Function:
    """A function: its signature for given arguments, and its value for given values.

    Unless `sees_null`, a NULL among the arguments makes the result NULL. `prepare` gives the function of
    values once the types are known.
    """

    name: str
    least: int
    most: int | None
    signature: Callable[[tuple[Expr, ...]], Signature]
    prepare: Callable[[tuple[Type, ...], Type], Callable[..., Value]]
    sees_null: bool = False


TABLE: dict[str, Function] = {}
ALIASES: dict[str, str] = {}


NOT_SCALAR = {
    "window_funcs": "windows stand in brackets behind a stream: s [ROWS 10]",
    "generator_funcs": "it gives rows: write it in FROM, FROM s, LATERAL explode(a) AS t(x)",
    "table_funcs": "it gives a table",
}
"""Groups of Spark's functions that give no value of one tuple, and what to write instead."""

_OUTSIDE = "reaches outside the query, whose text is not trusted"
_UNSTEADY = "gives another value each time, and an answer has to be the same from files and from the live feed"
REFUSED = {
    **dict.fromkeys(("reflect", "try_reflect", "java_method"), _OUTSIDE),
    **dict.fromkeys(("input_file_name", "input_file_block_start", "input_file_block_length"), _OUTSIDE),
    **dict.fromkeys(
        ("current_user", "session_user", "user", "current_database", "current_catalog", "version"), _OUTSIDE
    ),
    **dict.fromkeys(("rand", "random", "randn", "randstr", "uniform", "uuid", "shuffle"), _UNSTEADY),
    **dict.fromkeys(("now", "current_timestamp", "current_date", "localtimestamp", "curdate"), _UNSTEADY),
    **dict.fromkeys(("monotonically_increasing_id", "spark_partition_id"), _UNSTEADY),
}
"""Functions of Spark that the language has not, and why."""

_INSTEAD = {
    **dict.fromkeys(("now", "current_timestamp", "localtimestamp"), "_t is the time of a tuple"),
    **dict.fromkeys(("current_date", "curdate"), "CAST(_t AS DATE) is the day of a tuple"),
    "monotonically_increasing_id": "_n is the position of a tuple",
    "input_file_name": "_file is the name of a tuple's file",
}
"""What to write for some of them."""


def define(
    names: str,
    counts: tuple[int, int | None],
    signature: Callable[[tuple[Expr, ...]], Signature],
    apply: Callable[..., Value] | None = None,
    *,
    prepare: Callable[[tuple[Type, ...], Type], Callable[..., Value]] | None = None,
    sees_null: bool = False,
) -> None:
    """Adds a function under its name and aliases (separated by spaces)."""
    name, *others = names.split()
    if prepare is None:
        assert apply is not None
        computed = apply

        def prepare(_args: tuple[Type, ...], _result: Type) -> Callable[..., Value]:
            return computed

    TABLE[name] = Function(name, *counts, signature, prepare, sees_null)
    ALIASES.update(dict.fromkeys(others, name))


def on_spark_only(name: str) -> Callable[[tuple[Type, ...], Type], Callable[..., Value]]:
    """What a function computes that the model does not."""

    def prepare(_args: tuple[Type, ...], _result: Type) -> Callable[..., Value]:
        raise not_in_model(name)

    return prepare


def not_in_model(name: str) -> EvaluationError:
    """What the model says of a function that runs on Spark only."""
    return EvaluationError(f"the model does not compute {name}", hint="run it on Spark: leave out --engine model")


def fixed(*types: Type, to: Type) -> Callable[[tuple[Expr, ...]], Signature]:
    """A signature with given types; fewer arguments use the first ones."""

    def signature(args: tuple[Expr, ...]) -> Signature:
        for a, t in zip(args, types, strict=False):
            constant = isinstance(a, Literal) and a.type.name == "STRING"
            if a.type not in (t, NULL) and not _widens(a.type, t) and not constant:
                raise TypeMismatchError(f"{a} is {a.type}, not {t}", hint=f"CAST it to {t}")
        return types[: len(args)], to

    return signature


def _widens(source: Type, to: Type) -> bool:
    """Whether a value is brought to the type unasked: numbers to wider ones, and all that prints to text."""
    order = ["TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE"]
    if to.name == "STRING":
        return not source.is_nested and source.name not in ("BINARY", "INTERVAL", "MONTHS")
    if (source.name, to.name) in (("DATE", "TIMESTAMP"), ("TIMESTAMP", "DATE")):
        return True
    return source.name in order and to.name in order and order.index(source.name) < order.index(to.name)


def call(name: str, *args: Expr, known: Iterable[str] = ()) -> Expr:
    """The function applied to arguments, checked and with implicit casts put in; `known` are names that might be meant.

    >>> from astralq.expr.nodes import Column, Literal
    >>> from astralq.schema import INT, DOUBLE
    >>> e = call("+", Column(DOUBLE, "v"), Literal(INT, 1))
    >>> str(e), str(e.type)
    ('v + 1', 'DOUBLE')
    """
    key = name.lower()
    key = ALIASES.get(key, key)
    function = TABLE.get(key)
    if key in REFUSED:
        raise ExpressionError(f"the function {name!r} is refused: it {REFUSED[key]}", hint=_INSTEAD.get(key))
    if function is None:
        return _on_spark(key, name, args, known)
    if len(args) < function.least or (function.most is not None and len(args) > function.most):
        if (given := result_type(name.lower(), args)) is not None:
            return SparkCall(given, name.lower(), args)
        wanted = str(function.least) if function.least == function.most else f"at least {function.least}"
        if function.most is not None and function.least != function.most:
            wanted = f"{function.least} to {function.most}"
        raise ExpressionError(f"{name} takes {wanted} arguments, not {len(args)}")
    try:
        types, result = function.signature(args)
    except TypeMismatchError as e:
        if any(a.type.name in _NEWER for a in args) and (given := result_type(name.lower(), args)) is not None:
            return SparkCall(given, name.lower(), args)
        if e.message.startswith("in "):
            raise
        raise TypeMismatchError(f"in {name}: {e.message}", hint=e.hint) from None
    return Call(result, function.name, tuple(coerce(a, t) for a, t in zip(args, types, strict=True)))


_NEWER = ("ARRAY", "MAP", "STRUCT", "BINARY", "DATE", "INTERVAL", "MONTHS")
"""Types that Spark's functions take where those of our table do not."""


def _on_spark(key: str, name: str, args: tuple[Expr, ...], known: Iterable[str]) -> Expr:
    """A function that is in Spark's catalogue only."""
    found = catalogue().get(key)
    if found is None or found.is_aggregate:
        # Among so many names there is always one that is a little alike.
        meant = nearest(key, [*TABLE, *ALIASES, *AGGREGATES, *catalogue(), *known], alike=0.65)
        raise ExpressionError(f"unknown function {name!r}", hint=meant)
    if found.group in NOT_SCALAR:
        raise ExpressionError(f"{name} cannot stand in an expression", hint=NOT_SCALAR[found.group])
    result = result_type(key, args)
    if result is not None:
        return SparkCall(result, key, args)
    if not found.rules:
        raise ExpressionError(f"the function {name!r} is refused: it {refusal(found)}")
    given = ", ".join(str(a.type) for a in args)
    raise TypeMismatchError(f"{name} does not take ({given})", hint=f"Spark's {name} takes {taken(found)}")


def taken(function: SparkFunction) -> str:
    """What the rules of a function take, in words."""
    shown = {", ".join("|".join(sorted(s)) for s in r.args) for r in function.rules}
    counts = sorted({len(r.args) for r in function.rules})
    if len(shown) <= 2 and all(len(s) < 60 for s in shown):
        return " or ".join(f"({s})" for s in sorted(shown))
    return f"{' or '.join(map(str, counts))} arguments of other types"


def refusal(function: SparkFunction) -> str:
    """Why a function of Spark's that is in no rule is not here."""
    if function.gives:
        return f"gives {function.gives.upper()}, a type that the language has not"
    return "takes or gives a type that the language has not"


def case(branches: tuple[tuple[Expr, Expr], ...], otherwise: Expr | None) -> Case:
    """CASE with its results brought to one type."""
    other = otherwise if otherwise is not None else Literal(NULL, None)
    for condition, _ in branches:
        if condition.type not in (BOOLEAN, NULL):
            raise TypeMismatchError(f"in CASE: {condition} is {condition.type}, not BOOLEAN")
    type_ = common_type((*(v for _, v in branches), other), "CASE")
    return Case(type_, tuple((c, coerce(v, type_)) for c, v in branches), coerce(other, type_))


def _compared(args: tuple[Expr, ...]) -> Signature:
    type_ = common_type(args, "the comparison")
    if type_.holds("MAP"):
        raise TypeMismatchError(f"{args[0]} is {type_}, and a MAP cannot be compared", hint="compare map_entries of it")
    return (type_,) * len(args), BOOLEAN


def _truth(args: tuple[Expr, ...]) -> Signature:
    for a in args:
        if a.type not in (BOOLEAN, NULL):
            raise TypeMismatchError(f"{a} is {a.type}, not BOOLEAN", hint="compare it with something")
    return (BOOLEAN,) * len(args), BOOLEAN


def _any_type(args: tuple[Expr, ...]) -> Signature:
    return tuple(a.type for a in args), BOOLEAN


def _in(value: Value, *items: Value) -> Value:
    if value is None:
        return None
    if any(i is not None and order_key(i) == order_key(value) for i in items):
        return True
    return None if None in items else False


def _between(x: Value, lo: Value, hi: Value) -> Value:
    """lo ≤ x AND x ≤ hi: false as soon as one end is known to be passed."""
    ends = [None if None in pair else order_key(pair[0]) <= order_key(pair[1]) for pair in ((lo, x), (x, hi))]
    return False if False in ends else None if None in ends else True


def _extreme(best: Callable[..., Any]) -> Callable[..., Value]:
    def apply(*values: Value) -> Value:
        known = [v for v in values if v is not None]
        return best(known, key=order_key) if known else None

    return apply


def _same_type(args: tuple[Expr, ...]) -> Signature:
    type_ = common_type(args, "the arguments")
    return (type_,) * len(args), type_


def _lazily(_args: tuple[Type, ...], _result: Type) -> Callable[..., Value]:
    raise AssertionError("the evaluator computes this one itself")


def _if(args: tuple[Expr, ...]) -> Signature:
    type_ = common_type(args[1:], "if")
    return (*_truth(args[:1])[0], type_, type_), type_


def _nullif(args: tuple[Type, ...], result: Type) -> Callable[..., Value]:
    return lambda a, b: None if a is None or _in(a, b) else cast_value(a, args[0], result)


def _in_order(test: Callable[[Any, Any], bool]) -> Callable[..., Value]:
    return lambda a, b: test(order_key(a), order_key(b))


for _name, _test in (("=", op.eq), ("<>", op.ne), ("<", op.lt), ("<=", op.le), (">", op.gt), (">=", op.ge)):
    define(_name, (2, 2), _compared, _in_order(_test))
define("between", (3, 3), _compared, _between, sees_null=True)
define("<=>", (2, 2), _compared, lambda a, b: order_key(a) == order_key(b), sees_null=True)
define("in", (2, None), _compared, _in, sees_null=True)
define("not", (1, 1), _truth, lambda a: not a)
# These compute only the arguments that they need: see LAZY in the evaluator.
define("and", (2, 2), _truth, prepare=_lazily, sees_null=True)
define("or", (2, 2), _truth, prepare=_lazily, sees_null=True)
define("if", (3, 3), _if, prepare=_lazily, sees_null=True)
define("coalesce", (1, None), _same_type, prepare=_lazily, sees_null=True)
define("nvl ifnull", (2, 2), _same_type, prepare=_lazily, sees_null=True)
define(
    "nullif",
    (2, 2),
    lambda args: ((common_type(args, "nullif"),) * 2, args[0].type),
    prepare=_nullif,
    sees_null=True,
)
define("greatest", (2, None), _same_type, _extreme(max), sees_null=True)
define("least", (2, None), _same_type, _extreme(min), sees_null=True)
define("isnull", (1, 1), _any_type, lambda a: a is None, sees_null=True)
define("isnotnull", (1, 1), _any_type, lambda a: a is not None, sees_null=True)
ALIASES.update({"==": "=", "!=": "<>"})
