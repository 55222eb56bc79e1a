"""Functions of functions: transform(a, x -> x + 1), filter, exists, aggregate and the others of Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from astralq.datatypes import BOOLEAN, INT, NULL, Type, Value, array_of, map_of
from astralq.errors import ExpressionError, TypeMismatchError
from astralq.expr.functions import not_in_model
from astralq.expr.nodes import Call, Expr, Lambda, SparkCall, Variable
from astralq.expr.order import map_value, order_key

Binding = Callable[[Any, dict[str, Variable]], Expr]
"""Binds the body of a function, whose variables have types."""

HIGHER = (
    *("transform", "filter", "exists", "forall", "aggregate", "reduce", "zip_with", "array_sort"),
    *("map_filter", "transform_keys", "transform_values", "map_zip_with"),
)
"""The functions that take functions."""


def lambda_of(node: Any, names: Sequence[str], types: Sequence[Type], bind: Binding) -> Lambda:
    """A function of so many variables at most as there are types."""
    if len(names) > len(types) or len({n.lower() for n in names}) < len(names):
        raise ExpressionError(f"({', '.join(names)}) -> … are not variables that can be", hint=f"at most {len(types)}")
    variables = {n.lower(): Variable(t, n) for n, t in zip(names, types, strict=False)}
    body = bind(node, variables)
    return Lambda(body.type, tuple(variables.values()), body)


def higher(name: str, args: Sequence[Any], bind: Callable[[Any], Expr], function: Callable[..., Lambda]) -> Expr:
    """One of the functions above, its arguments bound from left to right; `function(node, *types)` binds a function."""
    key = "aggregate" if name.lower() == "reduce" else name.lower()
    wanted = {"aggregate": (3, 4), "zip_with": (3, 3), "map_zip_with": (3, 3), "array_sort": (1, 2)}.get(key, (2, 2))
    if not wanted[0] <= len(args) <= wanted[1]:
        raise ExpressionError(f"{name} takes {' or '.join(map(str, sorted(set(wanted))))} arguments, not {len(args)}")
    first = bind(args[0])
    kind = "MAP" if key.startswith("map_") or key.endswith(("_keys", "_values")) else "ARRAY"
    if first.type.name != kind:
        raise TypeMismatchError(f"in {name}: {first} is {first.type}, not {kind}")
    element = first.type.element
    match key:
        case "transform":
            f = function(args[1], element, INT)
            return Call(array_of(f.type), key, (first, f))
        case "filter":
            return Call(first.type, key, (first, _condition(name, function(args[1], element, INT))))
        case "exists" | "forall":
            return Call(BOOLEAN, key, (first, _condition(name, function(args[1], element))))
        case "aggregate":
            return _aggregate(first, [*args[1:]], bind, function)
        case "zip_with":
            second = bind(args[1])
            if second.type.name != "ARRAY":
                raise TypeMismatchError(f"in {name}: {second} is {second.type}, not ARRAY")
            f = function(args[2], element, second.type.element)
            return Call(array_of(f.type), key, (first, second, f))
        case "array_sort":
            if len(args) == 1:
                return Call(first.type, key, (first,))
            return SparkCall(first.type, key, (first, function(args[1], element, element)))
        case "map_filter":
            return Call(first.type, key, (first, _condition(name, function(args[1], first.type.key, element))))
        case "transform_values":
            f = function(args[1], first.type.key, element)
            return Call(map_of(first.type.key, f.type), key, (first, f))
        case "transform_keys":
            f = function(args[1], first.type.key, element)
            return SparkCall(map_of(f.type, element), key, (first, f))
    second = bind(args[1])
    if second.type.name != "MAP" or second.type.key != first.type.key:
        raise TypeMismatchError(f"in {name}: {second} is {second.type}, not a MAP with keys {first.type.key}")
    f = function(args[2], first.type.key, element, second.type.element)
    return SparkCall(map_of(first.type.key, f.type), key, (first, second, f))


def _condition(name: str, f: Lambda) -> Lambda:
    if f.type not in (BOOLEAN, NULL):
        raise TypeMismatchError(f"in {name}: {f.body} is {f.type}, not BOOLEAN", hint="compare it with something")
    return f


def _aggregate(array: Expr, args: list[Any], bind: Callable[[Any], Expr], function: Callable[..., Lambda]) -> Expr:
    start = bind(args[0])
    merge = function(args[1], start.type, array.type.element)
    if merge.type != start.type:
        hint = f"CAST the start to {merge.type}"
        raise TypeMismatchError(f"in aggregate: {merge.body} is {merge.type}, and {start} is {start.type}", hint=hint)
    if len(args) == 2:
        return Call(start.type, "aggregate", (array, start, merge))
    finish = function(args[2], start.type)
    return Call(finish.type, "aggregate", (array, start, merge, finish))


def applied(call: Call, values: list[Value], functions: list[Callable[..., Value]]) -> Value:
    """What the model computes: of the arguments that are values, and of those that are functions."""
    if None in values[:1] or (call.function == "zip_with" and None in values):
        return None
    match call.function, values[0]:
        case "transform", tuple() as array:
            return tuple(functions[0](v, k) for k, v in enumerate(array))
        case "filter", tuple() as array:
            return tuple(v for k, v in enumerate(array) if functions[0](v, k) is True)
        case (("exists" | "forall"), tuple() as array):
            found = [functions[0](v) for v in array]
            decisive = call.function == "exists"
            return decisive if decisive in found else None if None in found else not decisive
        case "aggregate", tuple() as array:
            total = values[1]
            for v in array:
                total = functions[0](total, v)
            return functions[1](total) if len(functions) > 1 else total
        case "zip_with", tuple() as left:
            right = values[1]
            assert isinstance(right, tuple)
            longest = max(len(left), len(right))
            padded = [(*side, *(None,) * (longest - len(side))) for side in (left, right)]
            return tuple(functions[0](a, b) for a, b in zip(*padded, strict=True))
        case "array_sort", tuple() as array:
            return (*sorted((v for v in array if v is not None), key=order_key), *(v for v in array if v is None))
        case "map_filter", tuple() as entries:
            return map_value((k, v) for k, v in entries if functions[0](k, v) is True)
        case "transform_values", tuple() as entries:
            return map_value((k, functions[0](k, v)) for k, v in entries)
    raise not_in_model(call.function)
