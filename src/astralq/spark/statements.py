"""A part of a plan as one SQL statement over views of its leaves.

Spark analyzes a DataFrame again at each call, some four milliseconds each; a statement is parsed and analyzed once.
"""

from __future__ import annotations

import re
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import ClassVar
from uuid import uuid4

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from astralq.plan.table import Aggregate, Distinct, Join, Presorted, Repartition, Select, Sort, Table, Union, Where

NO_LIMIT = 2**31 - 1
LONGEST = 40
"""How many nodes a statement has at most: Spark's parser goes down into each."""
SHORTEST = 4
"""Fewer are as fast as so many calls: views have to be made and dropped."""

Items = tuple[tuple[str, str], ...]
_WORD = re.compile(r"\w+")
_PLAIN = re.compile(r"[A-Za-z_]\w*|\d+L?")
_CONSTANT = re.compile(r"[\s(-]*(\d+L?|true|false|null)[\s)]*", re.IGNORECASE)
_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|(?<![\w.])[A-Za-z_]\w*(?!\w|\s*\()", re.DOTALL)
_SIMPLE = re.compile(r"[\w\s+\-*%<>=(),]*")
"""Arithmetic and comparisons of columns and whole numbers: no text, no fields."""
_CALLED = re.compile(r"([A-Za-z_]\w*)\s*\(")
_CHEAP = frozenset(
    [
        *("abs", "cast", "coalesce", "greatest", "least", "pmod", "timestamp_micros", "unix_micros"),
        *("and", "case", "div", "else", "not", "or", "then", "when"),
    ]
)
"""What may stand before a parenthesis in an expression that is written where it is read."""
_NAMES_OTHERS = re.compile(r"->|struct<|[\"`]|\b[rR]'", re.IGNORECASE)
"""Where names may be those of parameters, of fields in types, or of anything: no text that we make has them bare."""
_RENDERED = Select | Where | Distinct | Aggregate | Union | Join | Sort | Repartition | Presorted
_JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "cross": "CROSS JOIN"}


def statements(root: Table, *, known: Callable[[Table], bool]) -> dict[str, int]:
    """The nodes, by their digests, that become subqueries in the statement of the node above them, with the number of
    nodes that each one's text has: those that are read once, and whose DataFrames are not known yet."""
    readers: dict[str, list[Table]] = {}
    once: dict[str, Table] = {}
    for node in root.walk():
        if node.digest not in once:
            once[node.digest] = node
            for child in node.children:
                readers.setdefault(child.digest, []).append(node)
    inside: dict[str, int] = {}
    for digest, node in once.items():
        above = readers.get(digest, [])
        size = 1 + sum(inside.get(c.digest, 0) for c in node.children)
        subquery = isinstance(node, _RENDERED) and len(above) == 1 and isinstance(above[0], _RENDERED)
        if subquery and size < LONGEST and not known(node):
            inside[digest] = size
    return inside


class Statement:
    """The text of a node, with its subqueries; `leaf` names the views of the others."""

    def __init__(self, inside: dict[str, int], leaf: Callable[[Table], str], *, one_partition: bool) -> None:
        self._inside = inside
        self._leaf = leaf
        self._one_partition = one_partition

    def text(self, table: Table) -> str:
        match table:
            case Select(child, items):
                items, rows = self._read(child, items)
                return f"SELECT {_list(items)}{rows}"
            case Where():
                return f"SELECT *{self._from(table, top=True)}"
            case Distinct(child):
                return f"SELECT DISTINCT *{self._from(child)}"
            case Aggregate(child, keys, items):
                made, rows = self._read(child, (*((k, k) for k in keys), *items), len(keys))
                if not items:
                    return f"SELECT DISTINCT {_list(made)}{rows}"
                grouped = f"\nGROUP BY {', '.join(text for _, text in made[: len(keys)])}" if keys else ""
                return f"SELECT {_list(made)}{rows}{grouped}"
            case Repartition(child, keys):
                hint = "" if self._one_partition else f"/*+ REPARTITION({', '.join(keys)}) */ "
                return f"SELECT {hint}*{self._from(child)}"
            case Presorted(child, by):
                order = "" if self._one_partition else f"\nSORT BY {by}"
                return f"SELECT *{self._from(child)}{order}"
            case Union(sides):
                return self._gathered("\nUNION ALL\n".join(f"(SELECT *{self._from(s)})" for s in sides))
            case Join():
                return self._gathered(self._joined(table))
            case Sort(child, by):
                return f"SELECT *{self._from(child)}\n{'SORT' if self._one_partition else 'ORDER'} BY {', '.join(by)}"
        raise AssertionError(table)

    def _from(self, table: Table, conditions: Sequence[str] = (), *, top: bool = False) -> str:
        """FROM and WHERE: conditions one after the other, the lowest first."""
        found = list(conditions)
        while isinstance(table, Where) and (top or table.digest in self._inside):
            found.insert(0, table.condition)
            table, top = table.child, False
        # Without a name for the rows Spark reads WHERE (x) as one, with its column x.
        where = "\nWHERE " + " AND ".join(f"({c})" for c in found) if found else ""
        return f"\nFROM {self._source(table)} AS _rows{where}"

    def _read(self, table: Table, items: Items, keys: int = 0) -> tuple[Items, str]:
        """What is selected, FROM and WHERE, without the selections below that only name columns and constants, or
        compute little that is read once: these are read where they stand. The first so many items are keys, which
        cannot be constants."""
        conditions: list[str] = []
        while table.digest in self._inside:
            if isinstance(table, Where):
                conditions.insert(0, table.condition)
            elif isinstance(table, Select):
                own = _own_texts(table, [text for _, text in items], conditions)
                if own is None or any(_CONSTANT.fullmatch(_replaced(text, own)) for _, text in items[:keys]):
                    break
                items = tuple((name, _replaced(text, own)) for name, text in items)
                conditions = [_replaced(c, own) for c in conditions]
            else:
                break
            table = table.child
        return items, self._from(table, conditions)

    def _source(self, table: Table) -> str:
        return f"(\n{self.text(table)}\n)" if table.digest in self._inside else self._leaf(table)

    def _joined(self, table: Join) -> str:
        name = join_hint(table, one_partition=self._one_partition)
        hint = "" if name is None else f"/*+ {name.upper()}(_right) */ "
        on = "" if table.how == "cross" else f"\nON {table.on}"
        left, right = self._source(table.left), self._source(table.right)
        return f"SELECT {hint}*\nFROM {left} AS _left\n{_JOINS[table.how]} {right} AS _right{on}"

    def _gathered(self, text: str) -> str:
        """In one partition, where that is how it is computed (see `Execution`)."""
        return f"SELECT /*+ COALESCE(1) */ * FROM (\n{text}\n)\nLIMIT {NO_LIMIT}" if self._one_partition else text


def join_hint(table: Join, *, one_partition: bool) -> str | None:
    """Spark's hint for the right side of a join."""
    if one_partition:
        # Neither side is sent anywhere: no broadcast, which would be a job of its own.
        return "merge" if table.by != "nested" and table.how != "cross" else "shuffle_replicate_nl"
    return "broadcast" if table.by == "broadcast" else None


def _own_texts(table: Select, read: Sequence[str], conditions: Sequence[str]) -> dict[str, str] | None:
    """What the names of a selection stand for, of those that items and conditions over it read: columns, constants, and
    what is cheap and read by one item, at one place. None if one of them is something else, or if the selection makes
    more or fewer rows."""
    made = {name: text for name, text in table.items if name != text}
    if any("explode" in text for text in made.values()):
        return None
    texts = [*read, *conditions]
    words = Counter(word.lower() for text in texts for word in _WORD.findall(text))
    in_items = Counter(word.lower() for text in read for word in _WORD.findall(text))
    # What windows are partitioned and ordered by are columns.
    windows = any(" OVER " in text for text in read)
    own = {name: text for name, text in made.items() if words[name.lower()]}
    if own and any(_NAMES_OTHERS.search(text) for text in texts):
        return None
    for name, text in own.items():
        if not name.islower():
            return None
        if _PLAIN.fullmatch(bare := _bare(text)):
            own[name] = bare
        elif windows or in_items[name] > 1 or not _is_cheap(text):
            return None
        else:
            own[name] = text if _is_closed(text) else f"({text})"
    return own


def _is_cheap(text: str) -> bool:
    """Whether it costs little more to compute an expression again, for a condition, than to read it."""
    return _SIMPLE.fullmatch(text) is not None and {f.lower() for f in _CALLED.findall(text)} <= _CHEAP


def _is_closed(text: str) -> bool:
    """Whether a pair of parentheses, or a function with its arguments, is all of it."""
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == ")" and depth == 0:
            return place == len(text) - 1 and re.match(r"\w*\(", text) is not None
    return False


def _bare(text: str) -> str:
    """Without the parentheses around it; those of a function without arguments are its own."""
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    return text


def _replaced(text: str, own: Mapping[str, str]) -> str:
    """A text with other names for columns, but not inside of literals, for fields, and for functions."""
    return _TOKEN.sub(lambda found: own.get(found[0], found[0]), text) if own else text


def _list(items: Items) -> str:
    """One a line: when one fails, Spark shows the line."""
    return ",\n".join(named(text, name) for name, text in items)


def named(text: str, name: str) -> str:
    return name if text == name else f"{text} AS `{name.replace('`', '``')}`"


class Views:
    """Names DataFrames that many statements read as views, once: to make a view takes longer than to analyze a small
    statement. Views of those who are gone are dropped when another one is made: no finalizer may speak to Java."""

    _gone: ClassVar[list[tuple[SparkSession, str]]] = []

    def __init__(self) -> None:
        self._names: dict[int, tuple[str, DataFrame]] = {}  # by the identity of the DataFrames, which are kept
        self._made: list[tuple[SparkSession, str]] = []
        self._lock = threading.Lock()
        weakref.finalize(self, Views._gone.extend, self._made)

    def __call__(self, df: DataFrame) -> str:
        with self._lock:
            if id(df) not in self._names:
                _drop(Views._gone)
                name = _view(df)
                self._made.append((df.sparkSession, name))
                self._names[id(df)] = name, df
            return self._names[id(df)][0]


@contextmanager
def views() -> Iterator[Callable[[DataFrame], str]]:
    """Names DataFrames as views, for as long as a statement over them is analyzed."""
    made: list[tuple[str, DataFrame]] = []

    def view(df: DataFrame) -> str:
        for name, known in made:
            if known is df:
                return name
        name = _view(df)
        made.append((name, df))
        return name

    try:
        yield view
    finally:
        for name, df in made:
            df.sparkSession.catalog.dropTempView(name)


def _drop(views: list[tuple[SparkSession, str]]) -> None:
    """Drops views; others may do so at the same time, and a session may have been stopped, its views with it."""
    from py4j.protocol import Py4JError  # a client of Spark Connect need not have it

    with suppress(IndexError):
        while True:
            session, name = views.pop()
            with suppress(PySparkException, Py4JError):
                session.catalog.dropTempView(name)


def _view(df: DataFrame) -> str:
    name = f"astralq_{uuid4().hex}"
    df.createOrReplaceTempView(name)
    return name
