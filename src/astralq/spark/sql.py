"""Plan tables as one SQL statement: Spark parses and analyses it once, not once for each node.

A node that is read once is a subquery, one that is read more often a common table expression. Few rows are in one
partition: joins merge sorted sides, and numbers come from a window function, so that Spark shuffles and broadcasts
nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from astralq.plan.table import (
    ONE_ROW,
    Aggregate,
    Distinct,
    Index,
    Join,
    Numbers,
    Select,
    Sort,
    Table,
    Union,
    Values,
    Where,
)

NO_LIMIT = 2**31 - 1
_INLINE = 200
"""Up to how many constant rows are part of the statement."""


def is_sql(table: Table, *, one_partition: bool) -> bool:
    """Whether a node is part of a statement; the others are tables that a statement reads."""
    match table:
        case Values():
            return len(table.rows) <= _INLINE
        case Index():
            return table.one_task or one_partition
    return isinstance(table, Select | Where | Distinct | Aggregate | Union | Join | Sort | Numbers)


def statement(table: Table, inputs: Mapping[str, str], *, one_partition: bool) -> str:
    """The statement of a table; `inputs` are the names of those that it reads, by their digests."""
    nodes = _below(table, inputs)
    readers = Counter(child.digest for node in nodes for child in node.children)
    sources = dict(inputs)
    common: list[str] = []
    for node in nodes[:-1]:
        query = _Query(sources, one_partition).of(node)
        if readers[node.digest] > 1:
            sources[node.digest] = f"q{len(common)}"
            common.append(f"q{len(common)} AS ({query})")
        else:
            sources[node.digest] = f"({query})"
    with_ = f"WITH {', '.join(common)} " if common else ""
    return with_ + _Query(sources, one_partition).of(table)


def _below(table: Table, inputs: Mapping[str, str]) -> list[Table]:
    """The nodes of a statement, children first; below what it reads there is nothing to say."""
    order: list[Table] = []
    seen = set(inputs)
    stack: list[tuple[Table, bool]] = [(table, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node.digest not in seen:
            seen.add(node.digest)
            stack.append((node, True))
            stack += [(c, False) for c in reversed(node.children)]
    return order


class _Query:
    """One node over its children, each a name or a subquery."""

    def __init__(self, names: Mapping[str, str], one_partition: bool) -> None:
        self.names, self.one_partition = names, one_partition

    def of(self, table: Table) -> str:
        match table:
            case Select(child, items):
                return f"SELECT {', '.join(named(text, name) for name, text in items)} FROM {self._name(child)}"
            case Where(child, condition):
                return f"SELECT * FROM {self._name(child)} WHERE {escaped(condition)}"
            case Distinct(child):
                return f"SELECT DISTINCT * FROM {self._name(child)}"
            case Aggregate():
                return self._aggregate(table)
            case Union(sides):
                return self._gathered(" UNION ALL ".join(f"SELECT * FROM {self._name(s)}" for s in sides))
            case Join():
                return self._gathered(self._join(table))
            case Sort(child, by):
                return (
                    f"SELECT * FROM {self._name(child)} {'SORT' if self.one_partition else 'ORDER'} BY {', '.join(by)}"
                )
            case Index(child, by, name):
                place = f"CAST(row_number() OVER (ORDER BY {', '.join(by)}) - 1 AS BIGINT)"
                return f"SELECT *, {named(place, name)} FROM {self._name(child)}"
            case Numbers(first, end):
                return f"SELECT id FROM range({first}, {end}, 1{', 1' if self.one_partition else ''})"
            case Values():
                return self._gathered(_constants(table))
        raise AssertionError(table)

    def _name(self, table: Table) -> str:
        return self.names[table.digest]

    def _aggregate(self, table: Aggregate) -> str:
        keys = ", ".join(table.keys)
        if not table.items:
            return f"SELECT DISTINCT {keys} FROM {self._name(table.child)}"
        shown = ", ".join([*table.keys, *(named(text, name) for name, text in table.items)])
        return f"SELECT {shown} FROM {self._name(table.child)}" + (f" GROUP BY {keys}" if keys else "")

    def _join(self, table: Join) -> str:
        left, right = f"{self._name(table.left)} AS l", f"{self._name(table.right)} AS r"
        hint = ""
        if self.one_partition:
            # Neither side is sent anywhere: no broadcast, which would be a job of its own.
            nested = table.by == "nested" or table.how == "cross"
            hint = f"/*+ {'SHUFFLE_REPLICATE_NL' if nested else 'MERGE'}(r) */ "
        elif table.by == "broadcast":
            hint = "/*+ BROADCAST(r) */ "
        if table.how == "cross":
            return f"SELECT {hint}* FROM {left} CROSS JOIN {right}"
        return f"SELECT {hint}* FROM {left} {table.how.upper()} JOIN {right} ON {escaped(table.on)}"

    def _gathered(self, query: str) -> str:
        return gathered(f"({query})") if self.one_partition else query


def gathered(source: str) -> str:
    """All rows in one partition, of which Spark does not think that it is large.

    Spark would shuffle a single partition that it takes to be large (spark.sql.maxSinglePartitionBytes). It takes joins
    to be as large as a product, and what comes from memory to be endless; a limit that is never reached says otherwise.
    """
    return f"SELECT /*+ COALESCE(1) */ * FROM {source} LIMIT {NO_LIMIT}"


def _constants(table: Values) -> str:
    if table == ONE_ROW:
        return "SELECT 0 AS one FROM range(0, 1, 1, 1)"
    if not table.rows:
        nothing = ", ".join(f"CAST(NULL AS {type_}) AS {name}" for name, type_ in table.types)
        return f"SELECT {nothing} FROM range(0, 1, 1, 1) WHERE false"
    rows = ", ".join("(" + ", ".join("NULL" if v is None else f"{v}L" for v in row) + ")" for row in table.rows)
    typed = ", ".join(f"CAST({name} AS {type_}) AS {name}" for name, type_ in table.types)
    return f"SELECT {typed} FROM VALUES {rows} AS constants ({', '.join(table.columns)})"


def named(text: str, name: str) -> str:
    return name if text == name else f"{escaped(text)} AS `{escaped(name.replace('`', '``'))}`"


def escaped(text: str) -> str:
    """For a statement whose {names} are replaced: braces of its own are doubled."""
    return text.replace("{", "{{").replace("}", "}}")
