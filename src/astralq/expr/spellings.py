"""SQL's own spellings of functions, read as calls: EXTRACT(x FROM t), trim(LEADING …), substring(s FROM 2), overlay.

Each reads what stands in the parentheses; the words between the arguments are keywords of the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from astralq.datatypes import INTERVAL, MONTHS
from astralq.errors import ExpressionError
from astralq.expr.nodes import Literal


def _call(name: str, *args: exp.Expression | None) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=[a for a in args if a is not None])


def _arguments(parser: Any, first: exp.Expression | None) -> list[exp.Expression]:
    """The arguments between commas, of which the first is read already."""
    found = [] if first is None else [first]
    while parser._match_text_seq(","):
        found.append(parser._parse_lambda())
    return found


def _extract(parser: Any) -> exp.Expression:
    field = parser._parse_var(any_token=True) or parser._parse_string()
    if not parser._match_text_seq("FROM"):
        parser.raise_error("expected FROM: EXTRACT(YEAR FROM t)")
    return _call("date_part", field, parser._parse_bitwise())


def _substring(name: str) -> Callable[[Any], exp.Expression]:
    def read(parser: Any) -> exp.Expression:
        text = parser._parse_lambda()
        if not parser._match_text_seq("FROM"):
            return _call(name, *_arguments(parser, text))
        start = parser._parse_bitwise()
        return _call(name, text, start, parser._parse_bitwise() if parser._match_text_seq("FOR") else None)

    return read


_SIDES = {"BOTH": "btrim", "LEADING": "ltrim", "TRAILING": "rtrim"}


def _trim(parser: Any) -> exp.Expression:
    """trim([BOTH | LEADING | TRAILING] [characters] FROM text), or trim(text)."""
    after = parser._next.text.upper() if parser._next else ""
    side = parser._curr.text.upper() if parser._curr and after not in (")", ",", ".") else ""
    if side in _SIDES:
        parser._advance()
    name = _SIDES.get(side, "btrim")
    characters = None if parser._match_text_seq("FROM", advance=False) else parser._parse_bitwise()
    if parser._match_text_seq("FROM"):
        text = parser._parse_bitwise()
        # Spark's ltrim and rtrim have the characters first, btrim has them last.
        return _call(name, *((text, characters) if name == "btrim" else (characters, text)))
    if side in _SIDES:
        parser.raise_error(f"expected FROM: trim({side} 'x' FROM s)")
    return _call("trim", *_arguments(parser, characters))


def _position(parser: Any) -> exp.Expression:
    part = parser._parse_bitwise()
    if parser._match_text_seq("IN"):
        return _call("position", part, parser._parse_bitwise())
    return _call("position", *_arguments(parser, part))


def _overlay(parser: Any) -> exp.Expression:
    text = parser._parse_lambda()
    if not parser._match_text_seq("PLACING"):
        return _call("overlay", *_arguments(parser, text))
    new = parser._parse_bitwise()
    if not parser._match_text_seq("FROM"):
        parser.raise_error("expected FROM: overlay(s PLACING 'x' FROM 2)")
    start = parser._parse_bitwise()
    return _call("overlay", text, new, start, parser._parse_bitwise() if parser._match_text_seq("FOR") else None)


SPELLINGS: dict[str, Callable[[Any], exp.Expression]] = {
    "EXTRACT": _extract,
    "SUBSTRING": _substring("substring"),
    "SUBSTR": _substring("substr"),
    "TRIM": _trim,
    "POSITION": _position,
    "OVERLAY": _overlay,
}
"""Readers of what stands in a function's parentheses."""


def with_backslash(pattern: str, escape: str) -> str:
    """A LIKE pattern with another escape character as one with a backslash.

    >>> with_backslash("a!_b%", "!")
    'a\\\\_b%'
    """
    if escape == "\\":
        return pattern
    made, k = "", 0
    while k < len(pattern):
        if pattern[k] == escape:
            if pattern[k + 1 : k + 2] not in ("_", "%", escape) or k + 1 == len(pattern):
                raise ExpressionError(f"{escape} in {pattern!r} stands before no %, _ or {escape}")
            made += pattern[k + 1] if pattern[k + 1] == escape else "\\" + pattern[k + 1]
            k += 1
        else:
            made += "\\\\" if pattern[k] == "\\" else pattern[k]
        k += 1
    return made


_UNITS = ("DAY", "HOUR", "MINUTE", "SECOND")
_SECONDS = {"DAY": 86_400, "HOUR": 3_600, "MINUTE": 60, "SECOND": 1}


def interval_of(text: str, first: str, last: str) -> Literal:
    """INTERVAL '1 02:03' DAY TO MINUTE, INTERVAL '1-2' YEAR TO MONTH.

    >>> interval_of("1 02:03", "DAY", "MINUTE"), interval_of("-1-2", "YEAR", "MONTH").value
    (INTERVAL 1563 MINUTES, -14)
    """
    span = (first.upper().rstrip("S"), last.upper().rstrip("S"))
    sign = -1 if text.strip().startswith("-") else 1
    plain = text.strip().lstrip("+-")
    if span == ("YEAR", "MONTH") and (months := re.fullmatch(r"(\d+)-(\d{1,2})", plain)) and int(months[2]) < 12:
        return Literal(MONTHS, sign * (int(months[1]) * 12 + int(months[2])))
    if span[0] in _UNITS and span[1] in _UNITS and span[0] != span[1]:
        units = _UNITS[_UNITS.index(span[0]) : _UNITS.index(span[1]) + 1]
        parts = re.split(r"[ :]", plain)
        whole = len(parts) == len(units) and all(re.fullmatch(r"\d+", p) for p in parts[:-1])
        fraction = r"\d+(?:\.\d{1,6})?" if units[-1:] == ("SECOND",) else r"\d+"
        if whole and re.fullmatch(fraction, parts[-1]):
            seconds, _, rest = parts[-1].partition(".")
            numbers = [*map(int, parts[:-1]), int(seconds)]
            total = sum(n * _SECONDS[u] for n, u in zip(numbers, units, strict=True)) * 1_000_000
            return Literal(INTERVAL, sign * (total + int(rest.ljust(6, "0") if rest else 0)))
    raise ExpressionError(
        f"{text!r} is no interval {span[0]} TO {span[1]}",
        hint="write for example INTERVAL '1 02:03:04' DAY TO SECOND, or INTERVAL '1-2' YEAR TO MONTH",
    )
