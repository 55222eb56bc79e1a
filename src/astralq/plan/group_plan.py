"""One plan for queries whose plans differ in constants only: every row has the number of its query beside it.

This is how NiagaraCQ evaluates many similar queries: they are grouped by their signature, which is a plan without its
constants; what they have in common is computed once, and from the first difference on each row is there once for each
query. Constants that differ are looked up by the query's number.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from itertools import pairwise

from astralq.plan.operators.expressions import AS_WRITTEN
from astralq.plan.table import (
    Aggregate,
    Assumed,
    Between,
    Distinct,
    Index,
    Join,
    Keep,
    Materialize,
    Numbers,
    Presorted,
    Repartition,
    Select,
    Sort,
    Table,
    Union,
    Values,
    Where,
)

QUERY = "_q"
"""The column that has the number of a row's query in its group."""

_TOKEN = re.compile(
    r"""
      (?P<fixed> INTERVAL\s+(?:'(?:[^'\\]|\\.)*'|-?\d+)           # not the same type for every value
               | decimal\(\d+,\s*\d+\) | \d+\s+(?:PRECEDING|FOLLOWING) )
    | (?P<moment> (?:TIMESTAMP|DATE)\s*'(?:[^'\\]|\\.)*' )
    | (?P<text> '(?:[^'\\]|\\.)*' )
    | (?P<name> `(?:[^`]|``)*` | [A-Za-z_]\w* )
    | (?P<number> \(-\s?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[A-Z]*\) | \d+(?:\.\d+)?(?:[eE][+-]?\d+)?[A-Z]* )
    | (?P<other> \s+ | . )
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class _Token:
    text: str
    type: str  # of a constant, all values of which can stand in one array; nothing for other tokens


@lru_cache(maxsize=10_000)
def _tokens(text: str) -> tuple[_Token, ...]:
    """A piece of SQL, cut into constants and what is between them. Beside a DECIMAL the digits of a constant count, so
    that it is none of those that can be looked up."""
    if "decimal" in text.lower() or f"/* {AS_WRITTEN} */" in text:
        return (_Token(text, ""),)
    return tuple(_Token(m.group(), _type(m.lastgroup or "", m.group())) for m in _TOKEN.finditer(text))


def _type(kind: str, text: str) -> str:
    match kind:
        case "moment":
            return text.partition("'")[0].strip()
        case "text":
            return "string"
        case "number":
            digits = text.strip("()- ")
            if digits[-1].isalpha():
                return digits.lstrip("0123456789.eE+-")
            if "." in digits or "e" in digits.lower():
                whole, _, rest = digits.partition(".")
                return f"decimal {len(whole)} {len(rest)}"
            return "int" if int(digits) < 2**31 else "bigint"
    return ""


def signature(table: Table, known: dict[int, str] | None = None) -> str:
    """The same for tables that are computed in the same way but for constants."""
    known = {} if known is None else known
    for node in table.walk():
        if id(node) not in known:
            parts = [type(node).__name__, *(_without_constants(getattr(node, f.name), known) for f in fields(node))]
            known[id(node)] = hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:24]
    return known[id(table)]


def _without_constants(value: object, known: dict[int, str]) -> str:
    if isinstance(value, Table):
        return known[id(value)]
    if isinstance(value, tuple):
        return "[" + "\x1e".join(_without_constants(v, known) for v in value) + "]"
    if isinstance(value, str):
        return "".join(f"?{t.type}?" if t.type else t.text for t in _tokens(value))
    return repr(value)


class NotAlikeError(Exception):
    """Two plans differ in more than the constants of their expressions."""


def group_plan(tables: Sequence[Table]) -> Table:
    """One table for all of these, in which every row has its query's place among them as `_q`."""
    grouping = _Grouping(len(tables))
    made, each = grouping.of(tuple(tables))
    return made if each else grouping.repeated(made)


@dataclass
class _Grouping:
    count: int
    _made: dict[tuple[str, ...], tuple[Table, bool]] = field(default_factory=dict)

    def of(self, tables: tuple[Table, ...]) -> tuple[Table, bool]:
        """One table for all, and whether its rows are those of each query, with its number; else they are the same
        for all queries."""
        digests = tuple(t.digest for t in tables)
        if digests not in self._made:
            same = all(d == digests[0] for d in digests)
            self._made[digests] = (tables[0], False) if same else (self._different(tables), True)
        return self._made[digests]

    def repeated(self, table: Table) -> Table:
        """Each row once for each query."""
        numbers = (QUERY, f"explode(sequence(0, {self.count - 1}))")
        return Select(table, (*((c, c) for c in table.columns), numbers))

    def _each(self, tables: tuple[Table, ...]) -> Table:
        made, each = self.of(tables)
        return made if each else self.repeated(made)

    def _different(self, tables: tuple[Table, ...]) -> Table:
        first = tables[0]
        if any(type(t) is not type(first) for t in tables):
            raise NotAlikeError
        match first:
            case Values():
                return self._values(tables)
            case Select():
                items = self._items([t.items for t in tables if isinstance(t, Select)])
                return Select(self._each(self._children(tables, "child")), (*items, (QUERY, QUERY)))
            case Where():
                conditions = [t.condition for t in tables if isinstance(t, Where)]
                return Where(self._each(self._children(tables, "child")), self._text(conditions))
            case Distinct():
                return Distinct(self._each(self._children(tables, "child")))
            case Aggregate(_, keys):
                if any(t.keys != keys for t in tables if isinstance(t, Aggregate)):
                    raise NotAlikeError
                items = self._items([t.items for t in tables if isinstance(t, Aggregate)])
                groups = Aggregate(self._each(self._children(tables, "child")), (*keys, QUERY), items)
                return groups if keys else self._always(groups)
            case Union(sides):
                places = range(len(sides))
                both = [self._each(tuple(t.sides[k] for t in tables if isinstance(t, Union))) for k in places]
                names = (*first.columns, QUERY)
                return Union(tuple(s if s.columns == names else Select(s, tuple((n, n) for n in names)) for s in both))
            case Join():
                return self._joined(tables)
            case Index(_, by, name):
                below = self._each(self._children(tables, "child"))
                number = f"(row_number() OVER (PARTITION BY {QUERY} ORDER BY {', '.join(by)}) - 1L)"
                return Select(below, (*((c, c) for c in below.columns), (name, number)))
            case Sort(_, by):
                return Sort(self._each(self._children(tables, "child")), (QUERY, *by))
            case Repartition(_, keys):
                return Repartition(self._each(self._children(tables, "child")), (*keys, QUERY))
            case Presorted(_, by):
                return Presorted(self._each(self._children(tables, "child")), by)
            case Materialize():
                return Materialize(self._each(self._children(tables, "child")))
        assert not isinstance(first, Assumed), "a plan that is not complete"
        assert isinstance(first, Keep | Between) or not first.children, first
        raise NotAlikeError

    def _always(self, groups: Aggregate) -> Table:
        """Without keys there is a row over nothing, too, for each query."""
        queries = Select(Numbers(0, self.count), ((QUERY, "CAST(id AS INT)"),))
        other = f"{QUERY}_right"
        found = Select(groups, tuple((other if c == QUERY else c, c) for c in groups.columns))
        joined = Join(queries, found, f"({QUERY} = {other})", "left", "broadcast")
        counts = {name for name, text in groups.items if text.startswith("count(")}
        items = ((name, f"coalesce({name}, 0L)" if name in counts else name) for name, _ in groups.items)
        return Select(joined, (*items, (QUERY, QUERY)))

    @staticmethod
    def _children(tables: tuple[Table, ...], name: str) -> tuple[Table, ...]:
        return tuple(getattr(t, name) for t in tables)

    def _values(self, tables: tuple[Table, ...]) -> Table:
        made = [(*row, k) for k, t in enumerate(tables) if isinstance(t, Values) for row in t.rows]
        first = tables[0]
        assert isinstance(first, Values)
        return Values(tuple(made), (*first.types, (QUERY, "int")))

    def _joined(self, tables: tuple[Table, ...]) -> Table:
        first = tables[0]
        assert isinstance(first, Join)
        on = self._text([t.on for t in tables if isinstance(t, Join)])
        left, each_left = self.of(self._children(tables, "left"))
        right, each_right = self.of(self._children(tables, "right"))
        if first.how == "left" and not each_left:
            left, each_left = self.repeated(left), True
        if not each_left and not each_right:  # the conditions differ
            left, each_left = self.repeated(left), True
        if not (each_left and each_right):
            return Join(left, right, on, first.how, first.by)
        other = f"{QUERY}_right"
        right = Select(right, tuple((other if c == QUERY else c, c) for c in right.columns))
        both = f"({QUERY} = {other})" if not on else f"(({QUERY} = {other}) AND {on})"
        joined = Join(left, right, both, "inner" if first.how == "cross" else first.how, first.by)
        return Select(joined, tuple((c, c) for c in (*first.columns, QUERY)))

    # Expressions

    def _items(self, items: Sequence[tuple[tuple[str, str], ...]]) -> tuple[tuple[str, str], ...]:
        names = [name for name, _ in items[0]]
        if any([name for name, _ in one] != names for one in items):
            raise NotAlikeError
        return tuple((name, self._text([one[k][1] for one in items])) for k, name in enumerate(names))

    def _text(self, texts: Sequence[str]) -> str:
        """One expression for all queries: constants that differ are looked up by the query's number, and window
        functions look at the rows of one query."""
        cut = [_tokens(t) for t in texts]
        if any(len(c) != len(cut[0]) for c in cut):
            raise NotAlikeError
        made = []
        for tokens in zip(*cut, strict=True):
            first = tokens[0]
            if all(t.text == first.text for t in tokens):
                made.append(first.text)
            elif not first.type or any(t.type != first.type for t in tokens):
                raise NotAlikeError
            else:
                made.append(_looked_up([t.text for t in tokens], first.type))
        return _of_one_query("".join(made))


def _looked_up(constants: Sequence[str], type_: str) -> str:
    values = [int(c.strip("()L").replace(" ", "")) for c in constants] if type_ in ("int", "bigint", "L") else []
    step = values[1] - values[0] if values else 0
    if values and type_ == "L" and all(b - a == step for a, b in pairwise(values)):
        return f"({values[0]}L + {step}L * {QUERY})"
    return f"(element_at(array({', '.join(constants)}), {QUERY} + 1))"


_OVER = re.compile(r"OVER \(PARTITION BY ")


def _of_one_query(text: str) -> str:
    """Window functions with the query's number among what they partition by; texts are left alone."""
    if " OVER (" not in text:
        return text
    return "".join(
        part if part.startswith("'") else _OVER.sub(f"OVER (PARTITION BY {QUERY}, ", part)
        for part in re.split(r"('(?:[^'\\]|\\.)*')", text)
    )
