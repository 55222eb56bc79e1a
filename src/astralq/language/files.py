"""The pseudo-column _file, of tuples from files: which queries name it, and which items of FROM have it."""

from __future__ import annotations

from sqlglot import exp

from astralq.algebra.computed import FILE, OF_FILE
from astralq.algebra.sources import RelationSource, StreamSource
from astralq.language.environment import Environment
from astralq.language.syntax import Item, SpreadItem


def names_file(query: exp.Expression) -> bool:
    """Whether a query names the files of tuples."""
    return any(c.name.lower() == FILE.name for c in query.find_all(exp.Column))


def hidden_file(item: Item, env: Environment) -> list[str]:
    """The pseudo-column, if an item is a source, or windows and the like over it, whose tuples have it; behind a query
    it is an attribute like others, if that selects it."""
    node = item.this
    while isinstance(node, SpreadItem):
        node = node.this.this
    found = env.named.get(node.name.lower()) if isinstance(node, exp.Table) else None
    if found is None or found.is_view or not isinstance(found.operator, StreamSource | RelationSource):
        return []
    return [FILE.name] if OF_FILE in found.operator.computed else []


def is_file(item: exp.Expression) -> bool:
    """Whether an item of SELECT is the pseudo-column, under its own name."""
    return isinstance(item, exp.Column) and item.name.lower() == FILE.name
