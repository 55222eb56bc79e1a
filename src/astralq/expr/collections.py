"""Functions of arrays and maps, as Spark computes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from astralq.datatypes import BIGINT, BOOLEAN, INT, NULL, STRING, Type, Value, array_of, struct_of
from astralq.errors import EvaluationError, TypeMismatchError
from astralq.expr.casts import wider_type
from astralq.expr.functions import Signature, define, fixed
from astralq.expr.nodes import Expr
from astralq.expr.order import order_key

Result = Callable[[Type], Type]


def _is_array(arg: Expr) -> Type:
    if arg.type.name != "ARRAY":
        raise TypeMismatchError(f"{arg} is {arg.type}, not an ARRAY")
    return arg.type


def _array(result: Result, *further: Type) -> Callable[[tuple[Expr, ...]], Signature]:
    """An array and further arguments of given types."""

    def signature(args: tuple[Expr, ...]) -> Signature:
        type_ = _is_array(args[0])
        for a, t in zip(args[1:], further, strict=False):
            if a.type not in (t, NULL) and not (t == INT and a.type.name in ("TINYINT", "SMALLINT")):
                raise TypeMismatchError(f"{a} is {a.type}, not {t}")
        return (type_, *further)[: len(args)], result(type_)

    return signature


def _with_item(result: Result) -> Callable[[tuple[Expr, ...]], Signature]:
    """An array and one more element, brought to one type."""

    def signature(args: tuple[Expr, ...]) -> Signature:
        element = wider_type(_is_array(args[0]).element, args[1].type)
        if element is None or element.holds("MAP"):
            raise TypeMismatchError(f"{args[1]} is {args[1].type}, and {args[0]} is {args[0].type}")
        return (array_of(element), element), result(array_of(element))

    return signature


def _two(result: Result) -> Callable[[tuple[Expr, ...]], Signature]:
    def signature(args: tuple[Expr, ...]) -> Signature:
        element = wider_type(_is_array(args[0]).element, _is_array(args[1]).element)
        if element is None or element.holds("MAP"):
            raise TypeMismatchError(f"{args[0]} is {args[0].type}, and {args[1]} is {args[1].type}")
        return (array_of(element),) * 2, result(array_of(element))

    return signature


def _map(result: Result) -> Callable[[tuple[Expr, ...]], Signature]:
    def signature(args: tuple[Expr, ...]) -> Signature:
        if args[0].type.name != "MAP":
            raise TypeMismatchError(f"{args[0]} is {args[0].type}, not a MAP")
        return (args[0].type, args[0].type.key)[: len(args)], result(args[0].type)

    return signature


def _same(type_: Type) -> Type:
    return type_


def _element(type_: Type) -> Type:
    return type_.element


def _always(type_: Type) -> Result:
    return lambda _: type_


def _key(value: Value) -> Any:
    return order_key(value)


def _distinct(array: tuple[Value, ...]) -> Value:
    return tuple({_key(v): v for v in reversed(array)}[k] for k in dict.fromkeys(map(_key, array)))


def _contains(array: tuple[Value, ...], item: Value) -> Value:
    if any(v is not None and _key(v) == _key(item) for v in array):
        return True
    return None if None in array else False


def _position(array: tuple[Value, ...], item: Value) -> int:
    return next((k for k, v in enumerate(array, 1) if v is not None and _key(v) == _key(item)), 0)


def _extreme(best: Callable[..., Any]) -> Callable[..., Value]:
    def apply(array: tuple[Value, ...]) -> Value:
        known = [v for v in array if v is not None]
        return best(known, key=order_key) if known else None

    return apply


def _slice(array: tuple[Value, ...], start: int, length: int) -> Value:
    if start == 0 or length < 0:
        raise EvaluationError("slice begins at 1, or from the end with -1, and its length is not negative")
    begin = start - 1 if start > 0 else len(array) + start
    return array[begin : begin + length] if 0 <= begin < len(array) else ()


def _element_at(array: tuple[Value, ...], index: int) -> Value:
    if index == 0 or abs(index) > len(array):
        raise EvaluationError(f"the index {index} is outside of an array with {len(array)} elements, counted from 1")
    return array[index - 1 if index > 0 else index]


def _sorted(array: tuple[Value, ...], ascending: bool = True) -> Value:
    return tuple(sorted(array, key=order_key, reverse=not ascending))


def _overlap(a: tuple[Value, ...], b: tuple[Value, ...]) -> Value:
    left, right = ({_key(v) for v in x if v is not None} for x in (a, b))
    if left & right:
        return True
    return None if a and b and (None in a or None in b) else False


def _without(a: tuple[Value, ...], b: tuple[Value, ...], *, keep: bool) -> Value:
    there = {_key(v) for v in b}
    return _distinct(tuple(v for v in a if (_key(v) in there) == keep))


def _get(array: tuple[Value, ...], index: int) -> Value:
    return array[index] if 0 <= index < len(array) else None


def _entries(type_: Type) -> Type:
    return array_of(struct_of(("key", type_.key), ("value", type_.element)))


_one = _array(_same)
define("array_size", (1, 1), _array(_always(INT)), len)
define("array_contains", (2, 2), _with_item(_always(BOOLEAN)), _contains)
define("array_position", (2, 2), _with_item(_always(BIGINT)), _position)
define("array_distinct", (1, 1), _one, _distinct)
define("array_min", (1, 1), _array(_element), _extreme(min))
define("array_max", (1, 1), _array(_element), _extreme(max))
define("array_compact", (1, 1), _one, lambda a: tuple(v for v in a if v is not None))
define("array_append", (2, 2), _with_item(_same), lambda a, v: None if a is None else (*a, v), sees_null=True)
define("array_prepend", (2, 2), _with_item(_same), lambda a, v: None if a is None else (v, *a), sees_null=True)
define("array_remove", (2, 2), _with_item(_same), lambda a, v: tuple(x for x in a if x is None or _key(x) != _key(v)))
define("array_union", (2, 2), _two(_same), lambda a, b: _distinct(a + b))
define("array_intersect", (2, 2), _two(_same), lambda a, b: _without(a, b, keep=True))
define("array_except", (2, 2), _two(_same), lambda a, b: _without(a, b, keep=False))
define("arrays_overlap", (2, 2), _two(_always(BOOLEAN)), _overlap)
define("slice", (3, 3), _array(_same, INT, INT), _slice)
define("sort_array", (1, 2), _array(_same, BOOLEAN), _sorted)
define("get", (2, 2), _array(_element, INT), _get)
define("map_keys", (1, 1), _map(lambda t: array_of(t.key)), lambda m: tuple(k for k, _ in m))
define("map_values", (1, 1), _map(lambda t: array_of(t.element)), lambda m: tuple(v for _, v in m))
define("map_entries", (1, 1), _map(_entries), lambda m: tuple(tuple(e) for e in m))
define("map_contains_key", (2, 2), _map(_always(BOOLEAN)), lambda m, k: any(_key(x) == _key(k) for x, _ in m))


def _size(args: tuple[Expr, ...]) -> Signature:
    if args[0].type.name not in ("ARRAY", "MAP"):
        raise TypeMismatchError(f"{args[0]} is {args[0].type}, not an ARRAY or a MAP")
    return (args[0].type,), INT


def _at(args: tuple[Expr, ...]) -> Signature:
    if args[0].type.name == "MAP":
        return _map(_element)(args)
    return _array(_element, INT)(args)


def _read_at(args: tuple[Type, ...], _result: Type) -> Callable[..., Value]:
    if args[0].name == "MAP":
        return lambda m, k: next((v for x, v in m if _key(x) == _key(k)), None)
    return _element_at


define("size cardinality", (1, 1), _size, len)
define("element_at", (2, 2), _at, prepare=_read_at)


def _flatten(args: tuple[Expr, ...]) -> Signature:
    type_ = _is_array(args[0])
    if type_.element.name != "ARRAY":
        raise TypeMismatchError(f"{args[0]} is {type_}, not an array of arrays")
    return (type_,), type_.element


define("flatten", (1, 1), _flatten, lambda a: None if None in a else tuple(v for inner in a for v in inner))


def _reverse(args: tuple[Expr, ...]) -> Signature:
    """An array the other way round, or a text."""
    return ((args[0].type,), args[0].type) if args[0].type.name == "ARRAY" else fixed(STRING, to=STRING)(args)


define("reverse", (1, 1), _reverse, lambda a: a[::-1])
