"""Small questions about the parts of a query, as sqlglot's nodes and as bound expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from astralq.algebra.base import Operator
from astralq.algebra.constants import Constants
from astralq.algebra.relational import Project, SetKind
from astralq.algebra.sources import RelationSource
from astralq.callables import PythonFunction
from astralq.errors import ExpressionError
from astralq.expr.aggregates import is_aggregate
from astralq.expr.casts import coerce, common_type
from astralq.expr.functions import call
from astralq.expr.nodes import Aggregate, Column, Expr
from astralq.language.environment import Environment
from astralq.language.scope import Entry, Scope
from astralq.language.syntax import StreamerQuery
from astralq.schema import Schema


def nothing() -> Scope:
    return Scope(RelationSource("nothing", Schema.parse("nothing INT")), [Entry(None, [])])


def without_ctes(node: exp.Select) -> exp.Select:
    rest = node.copy()
    rest.set("with_", None)
    return rest


def conjuncts(node: exp.Expression) -> list[exp.Expression]:
    if isinstance(node, exp.And):
        return [*conjuncts(node.this), *conjuncts(node.expression)]
    if isinstance(node, exp.Paren) and isinstance(node.this, exp.And | exp.In | exp.Exists | exp.Paren | exp.Not):
        return conjuncts(node.this)
    return [node]


def subquery_test(node: exp.Expression) -> tuple[exp.In | exp.Exists | None, bool]:
    """IN (query) or EXISTS (query), and whether it is negated."""
    negated = False
    while isinstance(node, exp.Not | exp.Paren):
        negated ^= isinstance(node, exp.Not)
        node = node.this
    if isinstance(node, exp.Exists) or (isinstance(node, exp.In) and node.args.get("query") is not None):
        return node, negated
    return None, False


def has_subquery(node: exp.Expression) -> bool:
    return any(True for _ in node.find_all(exp.Select, exp.SetOperation, exp.Values, StreamerQuery))


def all_of(conditions: Sequence[Expr]) -> Expr:
    result = conditions[0]
    for c in conditions[1:]:
        result = call("and", result, c)
    return result


def unaliased(node: exp.Expression) -> exp.Expression:
    return node.this if isinstance(node, exp.Alias) else node


def aggregates(e: Expr) -> bool:
    return any(isinstance(part, Aggregate) for part in e.walk())


def has_aggregate(node: exp.Expression, env: Environment) -> bool:
    return any(names_aggregate(f, env) for f in node.find_all(exp.Anonymous))


def names_aggregate(node: exp.Anonymous, env: Environment) -> bool:
    """Whether a function is an aggregate, of the language or in Python."""
    name = str(node.this).lower()
    given = next((f for n, f in env.known.items() if n.lower() == name), None)
    return is_aggregate(name) or (isinstance(given, PythonFunction) and given.aggregate)


def values(node: exp.Values, bind: Callable[[exp.Expression], Expr]) -> Constants:
    """VALUES, with types that fit all rows."""
    for column in (c for row in node.expressions for c in row.find_all(exp.Column)):
        raise ExpressionError(f"VALUES takes constants, and {column.name} is none", hint="text stands in quotes: 'a'")
    rows = [[bind(e) for e in row.expressions] for row in node.expressions]
    if len({len(row) for row in rows}) > 1:
        return Constants(tuple(map(tuple, rows)))  # its own check says what is wrong
    types = [common_type(column, "VALUES") for column in zip(*rows, strict=True)]
    return Constants(tuple(tuple(map(coerce, row, types)) for row in rows))


def same_types(left: Operator, right: Operator, how: SetKind) -> tuple[Operator, Operator]:
    """Both sides with the same types, by implicit casts where they are needed."""
    if len(left.schema) != len(right.schema):
        return left, right  # the operator's own check says what is wrong
    pairs = [(Column(a.type, a.name), Column(b.type, b.name)) for a, b in zip(left.schema, right.schema, strict=True)]
    types = [common_type(p, how.value) for p in pairs]

    def cast(op: Operator, side: int) -> Operator:
        columns = [p[side] for p in pairs]
        if [c.type for c in columns] == types:
            return op
        return Project(op, tuple((c.name, coerce(c, t)) for c, t in zip(columns, types, strict=True)))

    return cast(left, 0), cast(right, 1)
