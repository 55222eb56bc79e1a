"""Refuses what sqlglot reads and no binder uses: parts of its nodes, and words that it drops while it reads.

sqlglot reads far more SQL than there is here. `PARTS` lists for each type of node which parts a binder uses; any other
part that is filled is an error. So is a word that is neither a keyword of the grammar nor a name or value in the tree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import chain

from sqlglot import exp
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from astralq.errors import ExpressionError, Span

Parts = Mapping[type[exp.Expression], Collection[str]]

_BINARY = ("this", "expression")

PARTS: Parts = {
    **dict.fromkeys(
        (
            *(exp.Add, exp.Sub, exp.Mul, exp.IntDiv, exp.Mod, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE),
            *(
                exp.NullSafeEQ,
                exp.NullSafeNEQ,
                exp.And,
                exp.Or,
                exp.BitwiseAnd,
                exp.BitwiseOr,
                exp.BitwiseXor,
                exp.BitwiseLeftShift,
                exp.BitwiseRightShift,
            ),
            exp.RegexpLike,
        ),
        _BINARY,
    ),
    **dict.fromkeys((exp.Like, exp.ILike, exp.Is), (*_BINARY, "negate")),
    # typed, safe and coalesce are notes of the dialect that the parser makes, not something written.
    exp.Div: (*_BINARY, "typed", "safe"),
    exp.DPipe: (*_BINARY, "safe"),
    exp.Concat: ("expressions", "safe", "coalesce"),
    **dict.fromkeys((exp.Paren, exp.Not, exp.Neg, exp.BitwiseNot, exp.Boolean, exp.Var), ("this",)),
    exp.Null: (),
    exp.Literal: ("this", "is_string"),
    exp.Identifier: ("this", "quoted"),
    exp.Column: ("this", "table", "db", "catalog"),  # too many parts of a name have an error of their own
    exp.In: ("this", "expressions", "query", "past"),
    exp.Between: ("this", "low", "high"),
    exp.Case: ("this", "ifs", "default"),
    exp.If: ("this", "true", "false"),
    exp.Interval: ("this", "unit"),
    exp.IntervalSpan: _BINARY,
    exp.Bracket: ("this", "expressions"),
    **dict.fromkeys((exp.Dot, exp.Escape, exp.Transform), _BINARY),
    exp.Lambda: ("this", "expressions"),
    **dict.fromkeys((exp.HexString, exp.RawString), ("this",)),
    exp.Cast: ("this", "to", "safe"),
    exp.TryCast: ("this", "to", "safe", "requires_string"),
    exp.DataType: ("this", "expressions", "nested", "values", "kind", "nullable", "collate"),  # read as text, whole
    exp.DataTypeParam: ("this",),
    exp.Anonymous: ("this", "expressions"),
    exp.Distinct: ("expressions",),
    exp.Filter: ("this", "expression"),
    exp.Where: ("this",),
    exp.Star: ("except_", "replace", "rename"),  # each has an error of its own
    exp.Tuple: ("expressions",),
    exp.Alias: ("this", "alias"),
}
"""The parts that binders of scalar expressions use; a type that is not here is refused by the binder that meets it."""

UNITS = {
    unit + end
    for unit in ("MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
    for end in ("", "S")
}

KEYWORDS = {
    *("AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "IS", "NULL", "TRUE", "FALSE", "DIV"),
    *("CASE", "WHEN", "THEN", "ELSE", "END", "IF", "CAST", "TRY_CAST", "AS", "INTERVAL", "DISTINCT", "FROM"),
    *("FILTER", "WHERE"),
    # names that are read as other functions
    *("TRIM", "EXTRACT", "SUBSTRING", "SUBSTR", "POSITION", "OVERLAY", "TRANSFORM"),
    *("TO", "FOR", "LEADING", "TRAILING", "BOTH", "PLACING", "ESCAPE"),
    "ALL",  # means nothing: count(ALL x) is count(x)
    *UNITS,
}
"""The words that the grammar of scalar expressions has."""

_WORDS = {"order": "ORDER BY", "sort": "SORT BY", "distribute": "DISTRIBUTE BY", "cluster": "CLUSTER BY"}
_WORDS |= {"connect": "CONNECT BY", "locks": "FOR", "sample": "TABLESAMPLE", "pivots": "PIVOT", "windows": "WINDOW"}
_WORDS |= {"cube": "CUBE", "rollup": "ROLLUP", "for_": "FOR", "operation_modifiers": "SELECT", "laterals": "LATERAL"}
_WORDS |= {
    "recursive": "RECURSIVE",
    "match": "MATCH_RECOGNIZE",
    "by_name": "BY NAME",
    "field": "IN",
    "unnest": "UNNEST",
}


def is_filled(value: object) -> bool:
    """Whether a part of a node holds something; False says that an optional word is not there."""
    return value is not None and value is not False and value != [] and value != ""


def nodes(node: exp.Expression, parts: Parts) -> Iterator[exp.Expression]:
    """The node and all below it, not looking into types that are not listed: their binder refuses them."""
    yield node
    if type(node) not in parts:
        return
    for key in parts[type(node)]:
        value = node.args.get(key)
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, exp.Expression):
                yield from nodes(child, parts)


_PRECEDES = {
    "AS": "a name or ( stands behind AS",
    "ON": "a condition stands behind ON",
    "USING": "attributes in parentheses stand behind USING",
    "NATURAL": "JOIN stands behind NATURAL",
    "ASOF": "JOIN stands behind ASOF",
    "EXCEPT": "a query stands behind EXCEPT",
    ",": "something stands behind a comma",
}
"""Words that sqlglot drops where nothing follows, and what has to follow them."""


def refuse_unused_parts(node: exp.Expression, source: str, parts: Parts, hints: Mapping[str, str]) -> None:
    """Raises an error for the first part in the tree that is filled and not used."""
    for found in nodes(node, parts):
        used = parts.get(type(found))
        if used is None:
            continue
        for key, value in found.args.items():
            if key not in used and is_filled(value):
                words = words_of(key)
                raise ExpressionError(f"{words} is not part of the language", hint=hints.get(key) or "leave it out").at(
                    place_of(words, value, found, source)
                )


def words_of(key: str) -> str:
    """How a part is written, by sqlglot's name of it."""
    return _WORDS.get(key, key.strip("_").upper().replace("_", " "))


def place_of(words: str, value: object, owner: exp.Expression, source: str) -> Span | None:
    """Where a part is written: at its words, the last time that they stand before what they are about."""
    spaced = words.replace(" ", r"\s+")
    written = [m.span() for m in re.finditer(rf"\b{spaced}\b", source, re.IGNORECASE)]
    values = value if isinstance(value, list) else [value]
    inside = [p for v in values if isinstance(v, exp.Expression) for p in _places(v)]
    if inside:
        begin = min(inside)[0]
        before = [span for span in written if span[0] <= begin]
        return Span.of(source, *(before[-1] if before else (begin, max(e for _, e in inside))))
    around = _places(owner)
    after = [span for span in written if around and span[0] >= min(around)[0]]
    chosen = after or written
    if len(chosen) >= 1:
        return Span.of(source, *chosen[0])
    return Span.of(source, min(around)[0], max(e for _, e in around)) if around else None


def _places(node: exp.Expression) -> list[tuple[int, int]]:
    return [(n.meta["start"], n.meta["end"] + 1) for n in node.walk() if "start" in n.meta]


# ---- words


def refuse_dropped_words(
    node: exp.Expression,
    tokens: Sequence[Token],
    source: str,
    parts: Parts,
    keywords: Collection[str],
    types: Collection[TokenType],
) -> None:
    """Raises an error for the first word that is no keyword and that the tree does not hold as often as the text.

    Words in brackets are a window's, whose reader refuses what it does not use. A tree with a node of an unknown type
    is refused by its binder, which says more.
    """
    if any(type(n) not in parts for n in nodes(node, parts)):
        return
    held = Counter(_texts(node))
    depth = 0
    _refuse_loose_words(tokens, source)
    for token in tokens:
        depth += (token.token_type is TokenType.L_BRACKET) - (token.token_type is TokenType.R_BRACKET)
        if depth or token.token_type in types or token.token_type in _QUOTED:
            continue
        for word in _WORD.findall(token.text.upper()):
            held[word] -= word not in keywords
            if held[word] < 0:
                span = Span.of(source, token.start, token.end + 1)
                raise ExpressionError(f"{word} cannot stand here", hint="leave it out", span=span)


def _refuse_loose_words(tokens: Sequence[Token], source: str) -> None:
    """Raises an error for keywords that sqlglot drops because what belongs to them is not there."""
    words = ["", *(t.text.upper() if t.token_type not in _QUOTED else "'" for t in tokens), ""]
    for token, before, word, after in zip(tokens, words, words[1:], words[2:], strict=False):
        hint = None
        if word == "DISTINCT" and before not in _BEFORE_DISTINCT:
            hint = "DISTINCT stands behind SELECT, or in an aggregate"
        elif (word in _PRECEDES and after in _NO_OPERAND) or (word in ("AS", ",") and before in _BEFORE_A_LIST):
            hint = _PRECEDES[word]
        if hint is not None:
            raise ExpressionError(
                f"{word} cannot stand here", hint=hint, span=Span.of(source, token.start, token.end + 1)
            )


_BEFORE_DISTINCT = ("SELECT", "(", "UNION", "EXCEPT", "INTERSECT", "MINUS", "IS", "NOT")
_BEFORE_A_LIST = ("SELECT", "VALUES", "GROUP BY", "(", "ORDER BY", "PARTITION BY", "LIMIT", "PER")
_NO_OPERAND = ("", ",", ")", "FROM", "WHERE", "UNION", "EXCEPT", "INTERSECT", "MINUS", "GROUP BY", "HAVING", "ON")
_QUOTED = (TokenType.STRING, TokenType.IDENTIFIER, TokenType.NUMBER)
_WORD = re.compile(r"[^\W\d]\w*")


def _texts(value: object) -> Iterator[str]:
    """All words in a tree's names and values, in capitals."""
    if isinstance(value, exp.Literal):
        return
    if isinstance(value, exp.Expression):
        yield from chain.from_iterable(_texts(v) for v in value.args.values())
    elif isinstance(value, list | tuple):
        yield from chain.from_iterable(map(_texts, value))
    elif isinstance(value, str):
        yield from _WORD.findall(value.upper())
    elif is_dataclass(value) and not isinstance(value, Span):
        yield from chain.from_iterable(_texts(getattr(value, f.name)) for f in fields(value))
