"""Hints for those who come from Spark, Flink SQL or CQL: what is written here instead of what they wrote."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from astralq.language.syntax import STREAMERS

IN_BRACKETS = "a window stands in brackets behind its stream: FROM s [TUMBLE 10 MINUTES]"

OF_BOUNDS = "FROM s [TUMBLE 10 MINUTES] has window_start and window_end"

OF_FUNCTIONS = "write CREATE FUNCTION f (DOUBLE, DOUBLE) RETURNS DOUBLE AS python 'module:callable'"

WINDOW_COLUMNS = {"window", "window_time"}
"""Attributes that elsewhere say which window a row belongs to, in lower case."""

OF_INSTANTS = "each row of an answer has its instant, t: a window that tumbles or hops is evaluated at its end"

PLACES = "to choose by place, write QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) <= 3"
OF_WINDOWS = (
    "window_start and window_end stand in SELECT, HAVING and GROUP BY of a query over one window, not in aggregates"
)

CLAUSES = {
    "sort": "ORDER BY orders a relation, however it is computed",
    "order": "it stands behind the whole query, or in its parentheses",
    "limit": "it stands behind the whole query, or in its parentheses",
    "symmetric": "write x BETWEEN least(a, b) AND greatest(a, b)",
    "hint": "settings of Spark go to the command: --conf k=v",
    "windows": "a window stands behind its stream: (SELECT sum(v) FROM s [PARTITION BY k ROWS 3] w WHERE w.k = s.k)",
    "sample": "choose by a condition, for example WHERE k % 10 = 0: every run has to give the same answer",
}
"""For clauses of SELECT that are not part of the language, by sqlglot's name of them."""

HOPS = "a window that hops stands in brackets behind its stream, its size first: FROM s [HOP 1 HOUR EVERY 10 MINUTES]"
SESSIONS = "sessions stand in brackets behind their stream: FROM s [PARTITION BY k SESSION 10 MINUTES]"
CUMULATES = "everything since an instant is [LANDMARK TIMESTAMP '…' SLIDE 1 HOUR], behind its stream"

_FORMS = {
    **dict.fromkeys(("TUMBLE", "TUMBLING", "ROWS", "RANGE", "SLIDING", "WINDOW"), IN_BRACKETS),
    **dict.fromkeys(("HOP", "HOPPING"), HOPS),
    **dict.fromkeys(("SESSION", "SESSION_WINDOW"), SESSIONS),
    "CUMULATE": CUMULATES,
}
"""For windows that do not stand in brackets, by the word that they begin with."""

ON_ARRIVAL = "TIMESTAMP ON ARRIVAL stamps a tuple when it arrives; _t is the time of a tuple"

FOLLOWS = (
    "what follows what is a join of a stream with itself: s a JOIN s b ON a.k = b.k AND b.ts > a.ts WITHIN 10 MINUTES"
)
DECLARES = "CREATE STREAM is for tuples that come, CREATE RELATION for what is stored, or changes by a log"
COMPLETE = "RSTREAM(…) EVERY 10 MINUTES emits each window of 10 minutes when it is complete"

_WORDS = {
    ("WATERMARK", "FOR"): "write TIMESTAMP BY ts LATENESS 5 SECONDS behind the attributes",
    ("PROCTIME", "("): ON_ARRIVAL,
    ("EMIT", "CHANGES"): "a relation is answered by its changes as it is; ISTREAM(…) emits what is new",
    ("EMIT", ""): f"{COMPLETE}; so does ISTREAM(…) with window_start in it",
    ("MATCH_RECOGNIZE", "("): FOLLOWS,
    ("CREATE", "TABLE"): DECLARES,
    ("CREATE", "SOURCE"): DECLARES,
    ("CREATE", "SINK"): "INSERT INTO kafka 'topic' SELECT … writes an answer; also csv, json and parquet",
    ("CREATE", "MATERIALIZED"): "CREATE VIEW names a query; INSERT INTO parquet 'path' SELECT … writes its answer",
    ("SELECT", "TOP"): "LIMIT 3 behind the query keeps the first three of each state",
    ("UNNEST", "("): "write FROM s, LATERAL explode(a) AS t(x)",
    ("LATERAL", "("): "a subquery may stand in SELECT: (SELECT max(v) FROM r WHERE r.k = s.k)",
}
"""For words that begin what other systems have, with the word behind them; "" for any other."""

EVERY = "EVERY follows a streamer: RSTREAM(SELECT … FROM s [TUMBLE 10 MINUTES]) EVERY 10 MINUTES"


def hint_for(words: Sequence[str]) -> str | None:
    """A hint for a statement that cannot be read, from its words in capitals.

    >>> hint_for("SELECT * FROM s TUMBLE 10 MINUTES".split())
    'a window stands in brackets behind its stream: FROM s [TUMBLE 10 MINUTES]'
    >>> hint_for("SELECT * FROM s [ ROWS 10 ] 5".split())
    >>> hint_for("ISTREAM SELECT * FROM s".split())
    'write the query in parentheses: ISTREAM(SELECT …)'
    """
    if words[:1] == ["CREATE"] and "FUNCTION" in words[:4]:
        return OF_FUNCTIONS
    depth = 0
    for before, word, following in zip(["", *words], words, [*words[1:], ""], strict=False):
        depth += (word == "[") - (word == "]")
        if depth == 0 and word in _FORMS and (following == "(" or following[:1].isdigit()):
            return _FORMS[word]
        if depth == 0 and ((word, following) in _WORDS or (word, "") in _WORDS):
            return _WORDS.get((word, following)) or _WORDS[word, ""]
        if depth == 0 and word == "EVERY" and before != ")":
            return EVERY
        if word in STREAMERS and following in ("SELECT", "*", "DISTINCT"):
            return f"write the query in parentheses: {word}(SELECT …)"
    return None


def hint_for_function(name: str) -> str | None:
    """A hint for a function that other systems have, in any case.

    >>> hint_for_function("tumble_start")
    'FROM s [TUMBLE 10 MINUTES] has window_start and window_end'
    """
    kind, _, end = name.upper().partition("_")
    if name.lower() == "proctime":
        return ON_ARRIVAL
    if kind in ("TUMBLE", "HOP", "SESSION") and end in ("START", "END", "ROWTIME", "PROCTIME"):
        return OF_BOUNDS
    return OF_BOUNDS if name.lower() == "window_time" else _FORMS.get(name.upper())


def hint_for_over(node: exp.Window) -> str:
    """For OVER behind an aggregate: the subquery over a window that gives one value for each tuple.

    >>> from sqlglot import parse_one
    >>> hint_for_over(parse_one("avg(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 4 PRECEDING AND CURRENT ROW)"))
    'write a subquery over the window: (SELECT AVG(v) FROM s [PARTITION BY k ROWS 5] w WHERE w.k = s.k)'
    """
    function = node.this.sql("spark")
    name, of = function.partition("(")[0].upper(), function.partition("(")[2].rstrip(")").partition(",")[0]
    if name == "LEAD":
        return FOLLOWS
    if name in ("RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST", "NTILE"):
        return PLACES
    window = _of_frame(node)
    if name == "LAG":
        function, window = f"CASE WHEN count(*) = 2 THEN first({of}) END", "ROWS 2"
    keys = [k.name for k in node.args.get("partition_by") or []]
    parts = f"PARTITION BY {', '.join(keys)} " if keys and window.startswith("ROWS") else ""
    same = " AND ".join(f"w.{k} = s.{k}" for k in keys)
    where = f" WHERE {same}" if same else ""
    return f"write a subquery over the window: (SELECT {function} FROM s [{parts}{window}] w{where})"


def _of_frame(node: exp.Window) -> str:
    """The window of a stream that a frame is; without one it is whatever the query reads."""
    spec = node.args.get("spec")
    start = spec.args.get("start") if spec is not None else None
    if isinstance(start, exp.Interval):
        unit = start.args.get("unit")
        return f"RANGE {start.this.name} {unit.name if unit is not None else ''}".rstrip()
    if isinstance(start, exp.Literal):
        return f"ROWS {int(start.this) + 1}"
    return "UNBOUNDED" if node.args.get("order") is not None else "…"


def hint_for_band(condition: exp.Expression | None) -> str:
    """For a join of two streams without a band: that of an interval in its condition, if there is one.

    >>> from sqlglot import parse_one
    >>> hint_for_band(parse_one("a.ts BETWEEN b.ts - INTERVAL '5' SECOND AND b.ts"))
    'write WITHIN 5 SECOND behind the condition, and keep what says which comes first, as a.ts >= b.ts'
    """
    intervals = [] if condition is None else list(condition.find_all(exp.Interval))
    units = [(i.this.name, i.args["unit"].name) for i in intervals if i.args.get("unit") is not None]
    if not units:
        return "add WITHIN and a duration or a number of rows, or give one of them a window"
    band = " ".join(units[0])
    return f"write WITHIN {band} behind the condition, and keep what says which comes first, as a.ts >= b.ts"
