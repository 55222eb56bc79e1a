"""Parts of arrays, maps and structs: a[0], m['key'], s.field."""

from __future__ import annotations

from collections.abc import Callable

from astralq.datatypes import STRING, Type, Value, array_of
from astralq.errors import EvaluationError, SchemaError, TypeMismatchError, nearest
from astralq.expr.casts import castable
from astralq.expr.functions import Signature, call, define
from astralq.expr.nodes import Expr, Literal
from astralq.expr.order import order_key


def field_of(operand: Expr, name: str) -> Expr:
    """operand.name, which prints as operand['name']: a dot could also stand behind the name of a source."""
    return call("[]", operand, Literal(STRING, name))


def _struct(type_: Type) -> Type | None:
    """The STRUCT that a field is read of: the type itself, or an array's elements."""
    if type_.name == "ARRAY":
        type_ = type_.element
    return type_ if type_.name == "STRUCT" else None


def _item(args: tuple[Expr, ...]) -> Signature:
    whole, key = args
    name = key.value if isinstance(key, Literal) and key.type == STRING else None
    struct = _struct(whole.type)
    if struct is not None and (whole.type.name == "STRUCT" or isinstance(name, str)):
        if not isinstance(name, str):
            raise TypeMismatchError(f"{whole} is {whole.type}", hint="name one of its fields")
        found = struct.field(name)
        if found is None:
            names = [n for n, _ in struct.parts]
            raise SchemaError(
                f"{whole} has no field {name!r}: its fields are {', '.join(names)}", hint=nearest(name, names)
            )
        return (whole.type, STRING), array_of(found[1]) if whole.type.name == "ARRAY" else found[1]
    if whole.type.name == "ARRAY":
        if not key.type.is_integral:
            raise TypeMismatchError(
                f"the index {key} is {key.type}, not a whole number", hint="the first element is a[0]"
            )
        return (whole.type, key.type), whole.type.element
    if whole.type.name == "MAP":
        if not castable(key.type, whole.type.key):
            raise TypeMismatchError(f"the key {key} is {key.type}, not {whole.type.key}")
        return (whole.type, whole.type.key), whole.type.element
    raise TypeMismatchError(
        f"{whole} is {whole.type}, which has no parts", hint="brackets stand behind an ARRAY, a MAP or a STRUCT"
    )


def _read(args: tuple[Type, ...], _result: Type) -> Callable[..., Value]:
    whole, key = args
    if whole.name == "MAP":
        return lambda m, k: next((v for x, v in m if order_key(x) == order_key(k)), None)
    if whole.name == "ARRAY" and key.is_integral:
        return _element
    struct = _struct(whole)
    assert struct is not None

    def place(name: str) -> int:
        found = struct.field(name)
        assert found is not None
        return found[0]

    if whole.name == "ARRAY":
        return lambda a, name: tuple(None if s is None else s[place(name)] for s in a)
    return lambda s, name: s[place(name)]


def _element(array: tuple[Value, ...], index: int) -> Value:
    if not 0 <= index < len(array):
        raise EvaluationError(
            f"the index {index} is outside of an array with {len(array)} elements",
            hint="use get(a, i), which gives NULL",
        )
    return array[index]


define("[]", (2, 2), _item, prepare=_read)
