"""Python functions of queries: how they are declared in Python, and which ones a query calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from astralq.algebra.base import Operator
from astralq.callables import PythonFunction
from astralq.expr.python_functions import check_function
from astralq.schema import parse_type
from astralq.space import Region


def function(
    name: str,
    computed: str | Callable[..., Any],
    returns: str,
    *,
    parameters: Sequence[str] | None = None,
    deterministic: bool = False,
    aggregate: bool = False,
) -> PythonFunction:
    """A function of queries that a Python callable computes, given itself or as 'module:callable'.

    It is called for each tuple with the arguments' values, None for NULL, and gives a value of the type `returns`; an
    aggregate is called for each group with a list for each argument, in the order of the tuples. `parameters` are the
    types that arguments are brought to. `deterministic` promises the same value for the same arguments.

    >>> from astralq import stream
    >>> s = stream("S", "v INT")
    >>> s.select("twice(v) AS w", twice=function("twice", lambda v: 2 * v, "INT"))
    PROJECT twice(v) AS w
    └─ STREAM S
    """
    types = None if parameters is None else tuple(map(parse_type, parameters))
    path, given = (computed, None) if isinstance(computed, str) else ("", computed)
    folder = str(Path().resolve())
    made = PythonFunction(name, parse_type(returns), types, path, given, deterministic, aggregate, folder)
    return check_function(made)


def functions_of(op: Operator) -> list[PythonFunction]:
    """The functions that a query calls, each once, wherever an expression stands in it."""
    return [f for f in run_by_python(op) if isinstance(f, PythonFunction)]


def run_by_python(part: object) -> list[PythonFunction | Region]:
    """What Python computes for an engine in a query, or in a part of one: functions, and tests of regions."""
    return list(dict.fromkeys(_below(part)))


def _below(value: object) -> Iterator[PythonFunction | Region]:
    if isinstance(value, PythonFunction | Region):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from _below(one)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _below(getattr(value, field.name))
