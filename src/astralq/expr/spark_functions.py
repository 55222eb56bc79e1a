"""Spark's catalogue of functions: which there are, in which group, and what types they take and give.

`spark_functions.json` is made by `scripts/functions`, which asks Spark's own analyzer; this reads it, without Spark. A
rule has a set of classes of types for each argument, and the result: a type, or one made of the arguments', $1, $1.key.
A class with = before it wants a constant. What our own table does not compute runs on Spark only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from astralq.datatypes import NULL, Type, array_of, map_of, parse_type, split_types, struct_of
from astralq.expr.nodes import Expr

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_SCALARS = ("boolean", *_NUMBERS, "string", "binary", "date", "timestamp", "interval", "months")
_ARRAYS = (
    *("array<int>", "array<double>", "array<float>", "array<string>", "array<date>", "array<binary>"),
    *("array<array<int>>", "array<struct<x:int,y:string>>"),
)
_MAPS = ("map<string,int>", "map<int,string>")
_STRUCT = "struct<x:int,y:string>"
SETS = {
    "integral": frozenset(_NUMBERS[:4]),
    "number": frozenset(_NUMBERS),
    "scalar": frozenset(_SCALARS),
    "array": frozenset(_ARRAYS),
    "map": frozenset(_MAPS),
    "any": frozenset((*_SCALARS, *_ARRAYS, *_MAPS, _STRUCT)),
}
"""Names of sets of classes in rules."""


@dataclass(frozen=True)
class Rule:
    """What a function takes, and what it gives."""

    args: tuple[frozenset[str], ...]
    result: str


@dataclass(frozen=True)
class SparkFunction:
    """A function of Spark's; `gives` is a type that the language has not, where it gives nothing else."""

    name: str
    group: str
    rules: tuple[Rule, ...]
    variadic: bool
    gives: str

    @property
    def is_aggregate(self) -> bool:
        return self.group == "agg_funcs"


@cache
def catalogue() -> dict[str, SparkFunction]:
    """All functions of Spark by name."""
    held = json.loads(files("astralq.expr").joinpath("spark_functions.json").read_text())
    return {
        name: SparkFunction(
            name,
            entry["group"],
            tuple(Rule(tuple(map(_members, args)), result) for args, result in entry.get("rules", ())),
            entry.get("variadic", False),
            entry.get("gives", ""),
        )
        for name, entry in held.items()
    }


def _members(text: str) -> frozenset[str]:
    return frozenset(c for part in text.split("|") for c in SETS.get(part, (part,)))


def result_type(name: str, args: Sequence[Expr]) -> Type | None:
    """The type of a function of Spark's applied to arguments; None if it does not take them, or is none.

    >>> from astralq.datatypes import parse_type
    >>> from astralq.expr.nodes import Column
    >>> str(result_type("map_values", [Column(parse_type("MAP<INT, DATE>"), "m")]))
    'ARRAY<DATE>'
    """
    found = catalogue().get(name)
    if found is None:
        return None
    for rule in found.rules:
        sets = _sets(rule.args, len(args), found.variadic)
        if sets is not None and all(_takes(s, a) for s, a in zip(sets, args, strict=True)):
            return _result(rule.result, [a.type for a in args])
    return None


def _sets(sets: tuple[frozenset[str], ...], count: int, variadic: bool) -> tuple[frozenset[str], ...] | None:
    """The sets for so many arguments: of a function that takes any number, the last one is for all that follow."""
    if len(sets) == count:
        return sets
    if not variadic or not sets or not count:
        return None
    return (*sets[:count], *(sets[-1],) * (count - len(sets)))


def _takes(members: frozenset[str], arg: Expr) -> bool:
    if arg.type == NULL:
        return True
    constant = not arg.columns
    for name, alike in _classes(arg.type):
        if alike <= members and (name in members or (constant and f"={name}" in members)):
            return True
    return constant and arg.type.is_numeric and any(c.startswith("=") and c[1:] in _NUMBERS for c in members)


def _classes(type_: Type) -> list[tuple[str, frozenset[str]]]:
    """The class of a type, and which others a set must have so that it may stand for a type that was not asked for."""
    none: frozenset[str] = frozenset()
    name = type_.name.lower()
    if not type_.is_nested:
        return [(name, none)]
    if type_.name == "STRUCT":
        return [(_STRUCT, none)]
    if type_.name == "MAP":
        return [(_MAPS[0] if type_.key.name == "STRING" else _MAPS[1], none)]
    nested = {"ARRAY": _ARRAYS[-2], "STRUCT": _ARRAYS[-1]}
    exact = nested.get(type_.element.name, f"array<{type_.element.name.lower()}>")
    return [(exact, none)] if exact in _ARRAYS else [("array<int>", frozenset(_ARRAYS))]


_PART = re.compile(r"\$(\d)((?:\.\w+)*)")
_NESTED = re.compile(r"(array|map|struct)<(.*)>")


def _result(text: str, args: Sequence[Type]) -> Type:
    """The type that a rule's result names."""
    if part := _PART.fullmatch(text):
        type_ = args[int(part[1]) - 1]
        for step in part[2].split(".")[1:]:
            type_ = type_.key if step == "key" else type_.element
        return type_
    if nested := _NESTED.fullmatch(text):
        parts = split_types(nested[2])
        if nested[1] == "array":
            return array_of(_result(parts[0], args))
        if nested[1] == "map":
            return map_of(*(_result(p, args) for p in parts))
        fields = (p.split(":", 1) for p in parts)
        return struct_of(*((n, _result(t, args)) for n, t in fields))
    return Type("MONTHS") if text == "months" else parse_type(text)
