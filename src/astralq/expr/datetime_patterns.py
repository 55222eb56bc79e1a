"""Times by a pattern, as Spark reads them: the letters of Java's DateTimeFormatter that parse, resolved strictly."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from astralq.errors import AstralError, ExpressionError
from astralq.timeline import Instant, instant

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_NUMBERS = {"d": "day", "H": "hour", "h": "hour12", "k": "hour24", "K": "hour0", "m": "minute", "s": "second"}
"""Fields that are a number: of any width if one letter is written, of two digits if there are two."""

_OFFSETS = {
    "X": r"Z|[+-]\d{2}(?:\d{2})?",
    "XX": r"Z|[+-]\d{4}",
    "XXX": r"Z|[+-]\d{2}:\d{2}",
    "XXXX": r"Z|[+-]\d{4}(?:\d{2})?",
    "XXXXX": r"Z|[+-]\d{2}:\d{2}(?::\d{2})?",
    "x": r"[+-]\d{2}(?:\d{2})?",
    "xx": r"[+-]\d{4}",
    "xxx": r"[+-]\d{2}:\d{2}",
    **dict.fromkeys(("Z", "ZZ", "ZZZ"), r"[+-]\d{4}"),
    **dict.fromkeys(("ZZZZ", "OOOO"), r"GMT(?:[+-]\d{2}:\d{2})?"),
    "ZZZZZ": r"Z|[+-]\d{2}:\d{2}(?::\d{2})?",
    "O": r"GMT(?:[+-]\d{1,2}(?::\d{2})?)?",
    "VV": r"[A-Za-z][A-Za-z0-9~/._+-]*|[+-]\d{2}:\d{2}",
}

Parser = Callable[[str], Instant | None]


@lru_cache(maxsize=256)
def parser_of(pattern: str) -> Parser:
    """What reads text by a pattern: the instant, or None where the text is not so written. Times without an offset are
    UTC, a date alone is its midnight, and a year of two digits is one of 2000 to 2099.

    >>> from astralq.timeline import format_instant
    >>> format_instant(parser_of("dd/MM/yyyy HH:mm")("07/03/2026 12:30"))
    '2026-03-07T12:30:00Z'
    >>> parser_of("dd/MM/yyyy")("30/02/2026") is None
    True
    """
    text = re.compile("".join(_regex(pattern)), re.IGNORECASE | re.ASCII)

    def parse(value: str) -> Instant | None:
        match = text.fullmatch(value)
        if match is None:
            return None
        try:
            return _resolved({k: v for k, v in match.groupdict().items() if v is not None})
        except (AstralError, ValueError, ZoneInfoNotFoundError, OSError):
            return None

    return parse


def _regex(pattern: str) -> Iterator[str]:
    seen: set[str] = set()
    depth = 0
    for part in pattern_parts(pattern):
        if part == "[":
            depth += 1
            yield "(?:"
        elif part == "]" and depth:
            depth -= 1
            yield ")?"
        elif part.startswith("'"):
            yield re.escape(part[1:-1].replace("''", "'") if part != "''" else "'")
        elif part[0].isalpha():
            yield _field(part, pattern, seen)
        else:
            yield re.escape(part)
    if depth:
        raise ExpressionError(f"the pattern {pattern!r} has a [ without its ]")


def pattern_parts(pattern: str) -> list[str]:
    """Runs of one letter, quoted text, and single other characters."""
    found = re.findall(r"('(?:[^']|'')*')|((?P<letter>[A-Za-z])(?P=letter)*)|(.)", pattern, re.DOTALL)
    parts = [quoted or run or other for quoted, run, _, other in found]
    if "'" in parts:
        raise ExpressionError(f"the pattern {pattern!r} has a quote without its end", hint="write '' for one quote")
    return parts


def _field(run: str, pattern: str, seen: set[str]) -> str:
    """The text of one field, as a group that is named after it."""
    letter, count = run[0], len(run)
    name, text = "", ""
    if letter in _NUMBERS and count <= 2:
        name, text = _NUMBERS[letter], r"\d{1,19}" if count == 1 else r"\d{2}"
    elif letter in "yu" and count <= 6:
        name = "year2" if count == 2 else "year"
        text = r"\d{2}" if count == 2 else rf"\d{{{count}}}" if count >= 4 else rf"\d{{{count},19}}"
    elif letter in "ML" and count <= 4:
        name = "month" if count <= 2 else "month_name"
        short = [m[:3] for m in _MONTHS]
        text = (r"\d{1,19}", r"\d{2}", "|".join(short), "|".join(_MONTHS))[count - 1]
    elif letter == "D" and count <= 3:
        name, text = "day_of_year", (r"\d{1,19}", r"\d{2,3}", r"\d{3}")[count - 1]
    elif letter == "S" and count <= 9:
        name, text = "fraction", rf"\d{{1,{count}}}"
    elif run == "a":
        name, text = "half", "am|pm"
    elif run in _OFFSETS:
        name, text = "offset", _OFFSETS[run]
    if not name or name in seen:
        twice = f"has {run!r} twice" if name else f"has {run!r}, which cannot be read by"
        raise ExpressionError(
            f"the pattern {pattern!r} {twice}",
            hint="write for example yyyy-MM-dd HH:mm:ss; other text stands in quotes: 'T'",
        )
    seen.add(name)
    return f"(?P<{name}>{text})"


def _resolved(found: dict[str, str]) -> Instant:
    """The instant that the fields are; a ValueError if there is none, as on 30 February."""
    number = {k: int(v) for k, v in found.items() if k not in ("month_name", "half", "offset", "fraction")}
    year = number["year2"] + 2000 if "year2" in number else number.get("year", 1970)
    month = number.get("month", 1)
    if "month_name" in found:
        month = 1 + next(k for k, m in enumerate(_MONTHS) if m.startswith(found["month_name"].lower()))
    day = datetime(year, month, number.get("day", 1))
    if "day_of_year" in number:
        day = datetime(year, 1, 1) + timedelta(days=number["day_of_year"] - 1)
        if day.year != year:
            raise ValueError
    micros = int(found.get("fraction", "0")[:6].ljust(6, "0"))
    zone = _zone(found.get("offset", "Z"))
    return instant(
        day.replace(
            hour=_hour(number, found.get("half", "")),
            minute=number.get("minute", 0),
            second=number.get("second", 0),
            microsecond=micros,
            tzinfo=zone,
        )
    )


def _hour(number: dict[str, int], half: str) -> int:
    later = 12 if half.lower() == "pm" else 0
    for name, low, high in (("hour12", 1, 12), ("hour0", 0, 11), ("hour24", 1, 24)):
        if name in number:
            if not low <= number[name] <= high:
                raise ValueError
            return number[name] % high + later if name == "hour12" else number[name] % 24 + later
    return number.get("hour", later)


def _zone(text: str) -> tzinfo:
    upper = text.upper()
    if upper in ("Z", "UTC", "GMT", "UT"):
        return UTC
    offset = re.fullmatch(r"(?:UTC|GMT|UT)?([+-])(\d{1,2}):?(\d{2})?:?(\d{2})?", upper)
    if offset is None:
        return ZoneInfo(text)
    hours, minutes, seconds = (int(v or 0) for v in offset.groups()[1:])
    if hours > 18 or minutes > 59 or seconds > 59:
        raise ValueError
    shift = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return timezone(shift if offset[1] == "+" else -shift)
