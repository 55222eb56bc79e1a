"""Functions that Python callables compute, applied in expressions: which names they may have, and their arguments."""

from __future__ import annotations

from astralq.callables import PythonFunction, takes
from astralq.errors import ExpressionError, PlanError, TypeMismatchError
from astralq.expr.aggregates import is_aggregate
from astralq.expr.casts import coerce
from astralq.expr.functions import ALIASES, REFUSED, TABLE, fixed
from astralq.expr.nodes import Aggregate, Expr, PythonCall
from astralq.schema import Type


def check_function(function: PythonFunction) -> PythonFunction:
    """The function, unless it has the name of one of the language, or aggregates nothing."""
    name = function.name.lower()
    if name in TABLE or name in ALIASES or name in REFUSED or name == "inside" or is_aggregate(name):
        raise PlanError(f"there is a function {function.name!r} in the language", hint="choose another name")
    for type_ in function.parameters or ():
        _check_argument(function, type_)
    if function.result.holds("MAP", "MONTHS") or (function.result.is_nested and function.result.holds("INTERVAL")):
        raise PlanError(
            f"the function {function.name} cannot give {function.result}",
            hint="let it give a STRING, and read that, for example with from_json",
        )
    if function.aggregate and function.parameters == ():
        raise PlanError(f"the aggregate {function.name} has no parameter", hint="give the type of what it aggregates")
    return function


def apply(function: PythonFunction, args: tuple[Expr, ...], *, distinct: bool = False) -> Expr:
    """The function applied to arguments, checked and with implicit casts put in."""
    _check_count(function, len(args))
    if any(isinstance(e, Aggregate) for a in args for e in a.walk()) and function.aggregate:
        raise ExpressionError(f"{function.name} of an aggregate", hint="aggregate again in an outer query")
    if distinct:
        raise ExpressionError(
            f"{function.name} is a Python function, and takes no DISTINCT",
            hint="let the callable drop what is there twice" if function.aggregate else "leave it out",
        )
    for a in args:
        _check_argument(function, a.type)
    if function.parameters is not None:
        try:
            types, _ = fixed(*function.parameters, to=function.result)(args)
        except TypeMismatchError as e:
            raise TypeMismatchError(f"in {function.name}: {e.message}", hint=e.hint) from None
        args = tuple(coerce(a, t) for a, t in zip(args, types, strict=True))
    if function.aggregate:
        return Aggregate(function.result, function.name, args, python=function)
    return PythonCall(function.result, function, args)


def _check_argument(function: PythonFunction, type_: Type) -> None:
    if type_.holds("MONTHS") or (function.aggregate and type_.holds("MAP")):
        raise PlanError(
            f"the {'aggregate' if function.aggregate else 'function'} {function.name} cannot take {type_}",
            hint="CAST it to a STRING" if type_.holds("MONTHS") else "take map_keys and map_values of it",
        )


def _check_count(function: PythonFunction, count: int) -> None:
    if function.parameters is not None and count != len(function.parameters):
        wanted = len(function.parameters)
        raise ExpressionError(f"{function.name} takes {wanted} argument{'' if wanted == 1 else 's'}, not {count}")
    if function.given is not None and not takes(function.given, count):
        raise ExpressionError(f"the callable of {function.name} cannot be called with {count} arguments")
    if function.aggregate and not count:
        raise ExpressionError(f"{function.name} of what?", hint=f"it is an aggregate: write {function.name}(a)")
