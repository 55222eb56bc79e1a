"""Types as Spark's SQL writes them, and how values with parts are rebuilt in it."""

from __future__ import annotations

import re
from collections.abc import Callable

from astralq.datatypes import Type


def spark_type(type_: Type) -> str:
    """The name of a type in Spark's schemas.

    >>> from astralq.datatypes import parse_type
    >>> spark_type(parse_type("STRUCT<x: DECIMAL(3, 1), `a b`: MAP<STRING, INT>>"))
    'struct<x:decimal(3,1),`a b`:map<string,int>>'
    """
    match type_.name:
        case "NULL":
            return "void"
        case "ARRAY" | "MAP":
            return f"{type_.name.lower()}<{','.join(spark_type(t) for _, t in type_.parts)}>"
        case "STRUCT":
            return f"struct<{','.join(f'{_field(n)}:{spark_type(t)}' for n, t in type_.parts)}>"
    return str(type_).lower().replace(", ", ",")


def _field(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else "`" + name.replace("`", "``") + "`"


Change = Callable[[str, Type], str | None]
"""Another text for the value of a type; None where its parts are to be looked at, or nothing changes."""


def changed(text: str, type_: Type, change: Change, depth: int = 0) -> str:
    """A value with each of its parts changed, outermost first; a type that no change is about keeps its text.

    >>> from astralq.datatypes import parse_type
    >>> changed("c0", parse_type("ARRAY<DATE>"), lambda x, t: f"unix_date({x})" if t.name == "DATE" else None)
    'transform(c0, v0_ -> unix_date(v0_))'
    """
    made = change(text, type_)
    if made is not None or not type_.is_nested:
        return text if made is None else made
    v = f"v{depth}_"
    if type_.name == "ARRAY":
        inner = changed(v, type_.element, change, depth + 1)
        return text if inner == v else f"transform({text}, {v} -> {inner})"
    if type_.name == "MAP":
        entries = changed_entries(text, type_, change, depth)
        return text if entries == f"map_entries({text})" else f"map_from_entries({entries})"
    parts = [(n, f"{text}.{_field(n)}", t) for n, t in type_.parts]
    values = [changed(x, t, change, depth) for _, x, t in parts]
    if values == [x for _, x, _ in parts]:
        return text
    named = ", ".join(f"'{n}', {value}" for (n, _, _), value in zip(parts, values, strict=True))
    return f"if({text} IS NULL, NULL, named_struct({named}))"


def changed_entries(text: str, type_: Type, change: Change, depth: int = 0) -> str:
    """The entries of a MAP as an array of keys and values, with each of them changed."""
    e = f"v{depth}_"
    key, value = (changed(f"{e}.{n}", t, change, depth + 1) for n, t in type_.parts)
    if (key, value) == (f"{e}.key", f"{e}.value"):
        return f"map_entries({text})"
    return f"transform(map_entries({text}), {e} -> named_struct('key', {key}, 'value', {value}))"


def stored(text: str, type_: Type) -> str:
    """A value as plan tables hold it: a MAP as its entries, sorted by key, because Spark neither orders nor compares
    MAPs, and the order of a stream is that of all its values."""

    def entries(x: str, t: Type) -> str | None:
        return f"array_sort({changed_entries(x, t, entries, 8)})" if t.name == "MAP" else None

    return changed(text, type_, entries) if type_.holds("MAP") else text


def restored(text: str, type_: Type) -> str:
    """A value as Spark's functions take it, from what plan tables hold."""

    def whole(x: str, t: Type) -> str | None:
        if t.name != "MAP":
            return None
        e = "v16_"
        key, value = (changed(f"{e}.{n}", p, whole) for n, p in t.parts)
        if (key, value) == (f"{e}.key", f"{e}.value"):
            return f"map_from_entries({x})"
        return f"map_from_entries(transform({x}, {e} -> named_struct('key', {key}, 'value', {value})))"

    return changed(text, type_, whole) if type_.holds("MAP") else text


def plain(text: str, type_: Type) -> str:
    """A value as the rest of the program has it: moments and intervals as numbers, a MAP as its entries."""

    def number(x: str, t: Type) -> str | None:
        match t.name:
            case "TIMESTAMP":
                return f"unix_micros({x})"
            case "DATE":
                return f"unix_date({x})"
            case "INTERVAL":
                return f"unix_micros(timestamp_micros(0L) + {x})"
            case "MONTHS":
                return f"CAST(extract(YEAR FROM {x}) * 12 + extract(MONTH FROM {x}) AS INT)"
            case "MAP":
                return changed_entries(x, t, number, 8)
        return None

    return changed(text, type_, number)
