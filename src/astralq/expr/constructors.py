"""Functions that make arrays, maps and structs, and those whose type stands in a constant: from_json(s, 'a INT')."""

from __future__ import annotations

from collections.abc import Callable

from astralq.datatypes import NULL, STRING, Type, Value, array_of, map_of, parse_type, split_types, struct_of
from astralq.errors import AstralError, EvaluationError, ExpressionError, TypeMismatchError
from astralq.expr import text_functions  # noqa: F401  (whose concat is that of texts)
from astralq.expr.casts import common_type
from astralq.expr.functions import TABLE, Signature, define, on_spark_only
from astralq.expr.nodes import Expr, Literal
from astralq.expr.order import map_value, order_key


def _array(args: tuple[Expr, ...]) -> Signature:
    element = common_type(args, "array") if args else NULL
    return (element,) * len(args), array_of(element)


def _map(args: tuple[Expr, ...]) -> Signature:
    if len(args) % 2:
        raise TypeMismatchError("keys and values come in pairs", hint="write map('a', 1, 'b', 2)")
    key = common_type(args[::2], "the keys of map") if args else NULL
    value = common_type(args[1::2], "the values of map") if args else NULL
    return (key, value) * (len(args) // 2), map_of(key, value)


def _make_map(_args: tuple[Type, ...], _result: Type) -> Callable[..., Value]:
    def apply(*values: Value) -> Value:
        keys = [order_key(k) for k in values[::2]]
        if None in values[::2]:
            raise EvaluationError("a key of a MAP is NULL")
        if len(set(keys)) < len(keys):
            raise EvaluationError("a key of a MAP is there twice")
        return map_value(zip(values[::2], values[1::2], strict=True))

    return apply


def _named_struct(args: tuple[Expr, ...]) -> Signature:
    names = [a.value if isinstance(a, Literal) else None for a in args[::2]]
    if len(args) % 2 or not all(isinstance(n, str) for n in names):
        raise TypeMismatchError(
            "names, which are constants, and values come in pairs", hint="named_struct('x', 1, 'y', 2)"
        )
    types = tuple(a.type for a in args)
    return types, struct_of(*((str(n), t) for n, t in zip(names, types[1::2], strict=True)))


def _concat_arrays(args: tuple[Expr, ...]) -> Signature | None:
    if args and all(a.type.name in ("ARRAY", "NULL") for a in args) and any(a.type.name == "ARRAY" for a in args):
        type_ = common_type(args, "concat")
        return (type_,) * len(args), type_
    return None


def _nvl2(args: tuple[Expr, ...]) -> Signature:
    type_ = common_type(args[1:], "nvl2")
    return (args[0].type, type_, type_), type_


def _schema_of(name: str) -> Callable[[tuple[Expr, ...]], Signature]:
    """The type that a constant names: `a INT, b STRING`, or a whole type for JSON."""

    def signature(args: tuple[Expr, ...]) -> Signature:
        ddl = args[1].value if isinstance(args[1], Literal) else None
        if args[0].type not in (STRING, NULL) or not isinstance(ddl, str):
            raise TypeMismatchError("it takes a text and a constant schema", hint=f"write {name}(s, 'a INT, b STRING')")
        try:
            type_ = declared_type(ddl)
        except AstralError as e:
            raise ExpressionError(f"in {name}: {e.message}", hint=e.hint) from None
        return (STRING, STRING, *(a.type for a in args[2:])), type_

    return signature


def declared_type(ddl: str) -> Type:
    """The type that a DDL text names: fields with their types are a STRUCT.

    >>> str(declared_type("a INT, b ARRAY<STRING>")), str(declared_type("ARRAY<INT>"))
    ('STRUCT<a: INT, b: ARRAY<STRING>>', 'ARRAY<INT>')
    """
    try:
        return parse_type(ddl)
    except AstralError:
        return parse_type(f"STRUCT<{', '.join(split_types(ddl))}>")


def _to_struct(*values: Value) -> Value:
    return values[1::2]


define("array", (0, None), _array, lambda *values: values, sees_null=True)
define("map", (0, None), _map, prepare=_make_map, sees_null=True)
define("named_struct", (2, None), _named_struct, _to_struct, sees_null=True)
define("nvl2", (3, 3), _nvl2, lambda a, b, c: c if a is None else b, sees_null=True)
for _name in ("from_json", "from_csv"):
    define(_name, (2, 3), _schema_of(_name), prepare=on_spark_only(_name))

_concat = TABLE["concat"]


def _concat_signature(args: tuple[Expr, ...]) -> Signature:
    return _concat_arrays(args) or _concat.signature(args)


def _concatenated(args: tuple[Type, ...], result: Type) -> Callable[..., Value]:
    if result.name == "ARRAY":
        return lambda *arrays: tuple(v for a in arrays for v in a)
    return _concat.prepare(args, result)


define("concat", (1, None), _concat_signature, prepare=_concatenated)
define("equal_null", (2, 2), TABLE["<=>"].signature, prepare=TABLE["<=>"].prepare, sees_null=True)
