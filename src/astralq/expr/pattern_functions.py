"""Functions by patterns: what regular expressions find in texts, and times as a pattern writes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache

from astralq.datatypes import INT, STRING, TIMESTAMP, Value, array_of
from astralq.errors import EvaluationError
from astralq.expr.datetime_patterns import pattern_parts
from astralq.expr.functions import define, fixed
from astralq.timeline import Instant, to_datetime


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    """Python's regular expressions, which are Java's in all common forms."""
    try:
        return re.compile(pattern, re.ASCII)
    except re.error as e:
        raise EvaluationError(f"the pattern {pattern!r} cannot be read: {e}") from None


def _extract(text: str, pattern: str, group: int = 1) -> Value:
    """A group of the first match; '' where nothing matches, or the group takes no part."""
    compiled = _compiled(pattern)
    if not 0 <= group <= compiled.groups:
        raise EvaluationError(f"the pattern {pattern!r} has {compiled.groups} groups, not {group}")
    match = compiled.search(text)
    return "" if match is None else match[group] or ""


def _split(text: str, pattern: str, limit: int = -1) -> Value:
    """The parts between matches, at most so many if the limit is positive. As Java's: a match of nothing at the
    beginning gives no part."""
    if not pattern:
        letters = list(text) or [""]
        whole = letters if not 0 < limit < len(letters) else [*letters[: limit - 1], "".join(letters[limit - 1 :])]
        return tuple(whole)
    parts: list[str] = []
    begin = 0
    for match in _compiled(pattern).finditer(text):
        if 0 < limit <= len(parts) + 1:
            break
        if match.end() == 0:
            continue
        parts.append(text[begin : match.start()])
        begin = match.end()
    return (*parts, text[begin:])


_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NUMBERS: dict[str, Callable[[datetime], int]] = {
    "y": lambda t: t.year,
    "u": lambda t: t.year,
    "M": lambda t: t.month,
    "L": lambda t: t.month,
    "d": lambda t: t.day,
    "D": lambda t: t.timetuple().tm_yday,
    "H": lambda t: t.hour,
    "h": lambda t: (t.hour + 11) % 12 + 1,
    "k": lambda t: (t.hour + 23) % 24 + 1,
    "K": lambda t: t.hour % 12,
    "m": lambda t: t.minute,
    "s": lambda t: t.second,
}
_MOST = {"y": 6, "u": 6, "D": 3}
"""How many letters of a field there can be, where these are not 2."""


def _field(run: str, pattern: str) -> Callable[[datetime], str]:
    """What writes one field."""
    letter, count = run[0], len(run)
    if letter in "yu" and count == 2:
        return lambda t: f"{t.year % 100:02}"
    if letter in _NUMBERS and count <= _MOST.get(letter, 2):
        number = _NUMBERS[letter]
        return lambda t: f"{number(t):0{count}}"
    if letter in "ML" and count in (3, 4):
        return lambda t: _MONTHS[t.month - 1][: 3 if count == 3 else None]
    if letter == "E" and count <= 4:
        return lambda t: _DAYS[t.weekday()][: 3 if count < 4 else None]
    if letter == "S" and count <= 9:
        return lambda t: f"{t.microsecond:06}000"[:count]
    if run == "a":
        return lambda t: "AM" if t.hour < 12 else "PM"
    raise EvaluationError(f"the model does not write {run!r} of the pattern {pattern!r}", hint="run it on Spark")


@lru_cache(maxsize=256)
def _writer(pattern: str) -> tuple[Callable[[datetime], str], ...]:
    made: list[Callable[[datetime], str]] = []
    for part in pattern_parts(pattern):
        if part[0].isalpha():
            made.append(_field(part, pattern))
        elif part in "[]":
            raise EvaluationError(f"the model does not write the pattern {pattern!r}", hint="run it on Spark")
        else:
            quoted = part[1:-1].replace("''", "'") if part.startswith("'") and part != "''" else part[:1]
            made.append(lambda _, quoted=quoted: quoted)  # type: ignore[misc]
    return tuple(made)


def _date_format(moment: int, pattern: str) -> Value:
    """The time in UTC, as the letters of Java's DateTimeFormatter write it."""
    at = to_datetime(Instant(moment))
    return "".join(write(at) for write in _writer(pattern))


define("regexp_extract", (2, 3), fixed(STRING, STRING, INT, to=STRING), _extract)
define("split", (2, 3), fixed(STRING, STRING, INT, to=array_of(STRING)), _split)
define("date_format", (2, 2), fixed(TIMESTAMP, STRING, to=STRING), _date_format)
