"""Hints for those who come from Spark, Flink SQL or CQL: what is written here instead of what they wrote."""

from __future__ import annotations

from collections.abc import Sequence

from astralq.language.syntax import STREAMERS

IN_BRACKETS = "a window stands in brackets behind its stream: FROM s [TUMBLE 10 MINUTES]"

WINDOW_FUNCTIONS = {
    *("window", "session_window", "window_time"),
    *(f"{kind}{end}" for kind in ("tumble", "hop", "session") for end in ("", "_start", "_end", "_rowtime")),
    "cumulate",
}
"""Functions that make windows elsewhere, in lower case."""

WINDOW_COLUMNS = {"window", "window_time"}
"""Attributes that elsewhere say which window a row belongs to, in lower case."""

OF_INSTANTS = "each row of an answer has its instant, t: a window that tumbles or hops is evaluated at its end"

PLACES = "to choose by place, write QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) <= 3"
OVER = f"{PLACES}; an aggregate of the tuples before is one of a stream's window, as [PARTITION BY k ROWS 3]"
OF_WINDOWS = (
    "window_start and window_end stand in SELECT, HAVING and GROUP BY of a query over one window, not in aggregates"
)

CLAUSES = {
    "sort": "ORDER BY orders a relation, however it is computed",
    "order": "it stands behind the whole query, or in its parentheses",
    "limit": "it stands behind the whole query, or in its parentheses",
    "symmetric": "write x BETWEEN least(a, b) AND greatest(a, b)",
    "hint": "settings of Spark go to the command: --conf k=v",
}
"""For clauses of SELECT that are not part of the language, by sqlglot's name of them."""

_FORMS = {"TUMBLE", "TUMBLING", "HOP", "HOPPING", "ROWS", "RANGE", "SLIDING", "SESSION", "WINDOW"}
EVERY = "EVERY follows a streamer: RSTREAM(SELECT … FROM s [TUMBLE 10 MINUTES]) EVERY 10 MINUTES"


def hint_for(words: Sequence[str]) -> str | None:
    """A hint for a statement that cannot be read, from its words in capitals.

    >>> hint_for("SELECT * FROM s TUMBLE 10 MINUTES".split())
    'a window stands in brackets behind its stream: FROM s [TUMBLE 10 MINUTES]'
    >>> hint_for("SELECT * FROM s [ ROWS 10 ] 5".split())
    >>> hint_for("ISTREAM SELECT * FROM s".split())
    'write the query in parentheses: ISTREAM(SELECT …)'
    """
    depth = 0
    for before, word, following in zip(["", *words], words, [*words[1:], ""], strict=False):
        depth += (word == "[") - (word == "]")
        if depth == 0 and word in _FORMS and (following == "(" or following[:1].isdigit()):
            return IN_BRACKETS
        if depth == 0 and word == "EVERY" and before != ")":
            return EVERY
        if word in STREAMERS and following in ("SELECT", "*", "DISTINCT"):
            return f"write the query in parentheses: {word}(SELECT …)"
    return None
