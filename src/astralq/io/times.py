"""Timestamps that may not be what is meant: years of two digits, and dates decades away from the others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from astralq.algebra.sources import RelationSource, StreamSource
from astralq.expr.datetime_patterns import parser_of
from astralq.expr.nodes import Call, Literal
from astralq.io.options import patterns_of
from astralq.timeline import Instant, format_instant

_DATES = (
    *("yyyy-MM-dd", "yyyy/MM/dd", "dd/MM/yyyy", "MM/dd/yyyy", "dd.MM.yyyy", "dd-MM-yyyy", "d/M/yyyy", "M/d/yyyy"),
    *("d.M.yyyy", "d MMM yyyy", "dd-MMM-yyyy", "MMM d, yyyy", "MMMM d, yyyy", "yyyyMMdd", "dd/MM/yy", "MM/dd/yy"),
)
_CLOCKS = (
    "",
    " HH:mm",
    " HH:mm:ss",
    "'T'HH:mm:ss",
    " HH:mm:ss.SSSSSS",
    " h:mm a",
    " h:mm:ss a",
    "HHmmss",
    "HHmm",
    " H:mm",
)


def written_as(text: str) -> list[str]:
    """The common patterns that a time may be written by; two where day and month cannot be told apart.

    >>> written_as("31/12/2026 07:30"), written_as("01/02/2026"), written_as("soon")
    (['dd/MM/yyyy HH:mm'], ['dd/MM/yyyy', 'MM/dd/yyyy'], [])
    """
    fitting = [date + clock for date in _DATES for clock in _CLOCKS if parser_of(date + clock)(text) is not None]
    other = [p for p in fitting[1:] if fitting and sorted(p) == sorted(fitting[0])]
    return [*fitting[:1], *other[:1]]


YEAR = 365 * 86_400_000_000
APART = 20 * YEAR
"""Timestamps that are further apart are warned of, where the fewer stand alone."""
LONG = 60 * YEAR
"""A stream that lasts longer is warned of."""


def two_digit_years(source: StreamSource | RelationSource) -> Iterator[str]:
    """A warning for each pattern with a year of two digits."""
    patterns = [] if source.origin is None else list(patterns_of(source.origin).values())
    for e in (part for _, expr in source.computed for part in expr.walk()):
        if isinstance(e, Call) and e.function in ("to_timestamp", "try_to_timestamp") and len(e.args) == 2:
            patterns += [str(a.value) for a in e.args[1:] if isinstance(a, Literal)]
    for pattern in dict.fromkeys(patterns):
        unquoted = re.sub(r"'[^']*'", "", pattern)
        if re.search(r"(?<![yu])(?:yy|uu)(?![yu])", unquoted):
            full = re.sub(r"(?<![yu])(yy|uu)(?![yu])", "yyyy", pattern)
            yield (
                f"a year of two digits, as in {pattern!r}, is one of 2000 to 2099; "
                f"for another century put it before the text: to_timestamp(concat('19', …), {full!r})"
            )


def decades_apart(times: Sequence[Instant]) -> str | None:
    """A warning if a few timestamps are decades away from most.

    >>> from astralq.timeline import instant
    >>> times = [instant(f"2026-03-{d:02}") for d in range(1, 29)]
    >>> decades_apart([*times, instant("1926-03-29")])
    '1 of 29 timestamps is decades away from the others: 1926-03-29T00:00:00Z'
    >>> decades_apart(times) is None
    True
    """
    groups: list[list[Instant]] = [[]]
    ordered = sorted(times)
    for t, following in pairwise([*ordered, None]):
        assert t is not None
        groups[-1].append(t)
        if following is not None and following - t > APART:
            groups.append([])
    most = max(groups, key=len)
    away = [t for g in groups if g is not most for t in g]
    if not away:
        return None
    are = "is" if len(away) == 1 else "are"
    return f"{len(away)} of {len(ordered)} timestamps {are} decades away from the others: {format_instant(away[0])}" + (
        f" to {format_instant(away[-1])}" if away[-1] != away[0] else ""
    )


def lasts_long(first: Instant, last: Instant) -> str | None:
    """A warning if a run observes an improbably long time."""
    if last - first <= LONG:
        return None
    return (
        f"the timestamps go from {format_instant(first)} to {format_instant(last)}, {(last - first) // YEAR} years; "
        "if some of them are wrong, filter them before the window"
    )
