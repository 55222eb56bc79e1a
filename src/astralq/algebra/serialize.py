"""Operators as JSON and back, so that a continuous query goes on after a restart with the plan that it started with."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from datetime import time
from decimal import Decimal
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Any

from astralq.algebra.base import Operator
from astralq.callables import PythonFunction
from astralq.datatypes import MapValue
from astralq.errors import PlanError
from astralq.timeline import Duration

MODULES = (
    *("asof", "base", "bounds", "calendar", "constants", "domain", "evaluations", "explode", "functions", "ordering"),
    "panes",
    *("phi", "relational", "schedules", "scopes", "sneeql", "sources", "stream_ops", "streamers", "ticks", "windows"),
)
"""The modules of the algebra whose classes may stand in an operator."""


class UnknownPlanError(PlanError):
    """A text that is no plan of this version."""


class FunctionInPlanError(PlanError):
    """A plan that holds a Python function, or a class of its user, which JSON cannot."""


def dumps(op: Operator) -> str:
    """An operator and all below it.

    >>> from astralq import range_, stream
    >>> query = stream("S", "id INT, v DOUBLE")[range_("1 min")].where("v > 0.5").istream().operator
    >>> loads(dumps(query)) == query
    True
    """
    return json.dumps(_encoded(op), ensure_ascii=False)


def loads(text: str, folder: str = "") -> Operator:
    """The operator that was written; modules of its Python functions are looked for in a folder first."""
    try:
        op = _decoded(json.loads(text), folder)
    except (KeyError, TypeError, ValueError, AttributeError) as e:
        raise UnknownPlanError(f"a plan cannot be read: {e}") from e
    if not isinstance(op, Operator):
        raise UnknownPlanError("a plan cannot be read: it is no operator")
    return op


def _encoded(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        if _classes().get(type(value).__name__) is not type(value):
            raise FunctionInPlanError(f"{value!r} is not of this library")
        held = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
        return {"class": type(value).__name__, **{name: _encoded(v) for name, v in held.items()}}
    match value:
        case None | bool() | str():
            return value
        case bytes():
            return {"bytes": value.hex()}
        case MapValue():
            return {"map": [_encoded(v) for v in value]}
        case tuple():
            return [_encoded(v) for v in value]
        case Enum():
            return {"enum": type(value).__name__, "name": value.name}
        case Duration():
            return {"duration": int(value)}
        case int():
            return int(value)
        case float():
            return value if math.isfinite(value) else {"float": repr(value)}
        case Decimal():
            return {"decimal": str(value)}
        case time():
            return {"time": value.isoformat()}
    if callable(value):
        raise FunctionInPlanError(f"{value!r} is a function")
    raise AssertionError(f"{value!r} cannot be in an operator")


def _decoded(value: Any, folder: str) -> Any:
    match value:
        case {"class": str(name), **held}:
            found = {str(k): _decoded(v, folder) for k, v in held.items()}
            if name == PythonFunction.__name__:
                found["folder"] = folder  # the query may have been moved
            return _classes()[name](**found)
        case {"enum": str(enum), "name": str(name)}:
            return _classes()[enum][name]
        case {"duration": int(micros)}:
            return Duration(micros)
        case {"float": str(text)}:
            return float(text)
        case {"decimal": str(text)}:
            return Decimal(text)
        case {"bytes": str(text)}:
            return bytes.fromhex(text)
        case {"map": list(pairs)}:
            return MapValue(_decoded(p, folder) for p in pairs)
        case {"time": str(text)}:
            return time.fromisoformat(text)
        case list():
            return tuple(_decoded(v, folder) for v in value)
    return value


@cache
def _classes() -> dict[str, Any]:
    modules = [f"astralq.algebra.{m}" for m in MODULES] + ["astralq.callables", "astralq.expr.nodes"]
    modules += ["astralq.datatypes", "astralq.schema", "astralq.space"]
    return {
        name: value
        for module in modules
        for name, value in vars(import_module(module)).items()
        if isinstance(value, type) and (is_dataclass(value) or issubclass(value, Enum))
    }
