"""Which subqueries may name the query around them, and what is said of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from astralq.algebra.base import Operator
from astralq.errors import PlanError, SchemaError
from astralq.language.scope import Scope
from astralq.language.syntax import StreamerQuery

if TYPE_CHECKING:
    from astralq.language.binder import QueryBinder

_WRITTEN = {
    "with_": "WITH",
    "distinct": "DISTINCT",
    "laterals": "LATERAL VIEW",
    "group": "GROUP BY",
    "having": "HAVING",
    "qualify": "QUALIFY",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
}
"""The clauses with which a subquery stands by itself, in the order in which they are written, by sqlglot's names."""

_NEEDLESS = {"DISTINCT", "ORDER BY"}
"""What makes no difference to whether there is a row."""

SEVERAL = "aggregate it, for example (SELECT max(x) FROM …) or max_by(x, y); or use IN, EXISTS or a join"
"""What to write instead of a subquery that may have several rows, where a value is wanted."""

_OUTSIDE = "compare it outside, x IN (SELECT x FROM …), or join"


def alone(binder: QueryBinder, outer: Scope, query: exp.Expression, *, value: bool) -> Operator:
    """A subquery that names no other, which stands for a value or is looked into by IN or EXISTS; where it names the
    outer query all the same, an error that says why it cannot."""
    try:
        return binder.bind_alone(query)
    except SchemaError as e:
        for column in query.find_all(exp.Column):
            if e.span is not None and e.span == binder.span(column) and _names(outer, column):
                raise _refusal(query, column, value=value).at(e.span) from None
        raise


def _names(outer: Scope, column: exp.Column) -> bool:
    try:
        outer.resolve(column.name, column.table or None)
    except SchemaError:
        return False
    return True


def _refusal(query: exp.Expression, column: exp.Column, *, value: bool) -> PlanError:
    words = _clauses(query)
    has = f"with {' and '.join(words)}" if words else f"{'without' if value else 'with'} an aggregate"
    if words and not value and set(words) <= _NEEDLESS:
        hint = f"leave out {' and '.join(words)}, which IN and EXISTS do not look at"
    else:
        hint = SEVERAL if value else _OUTSIDE
    return PlanError(f"a subquery {has} cannot name the outer query, as {column.sql('spark')} does", hint=hint)


def _clauses(query: exp.Expression) -> list[str]:
    """What a subquery has besides SELECT, FROM and WHERE."""
    if isinstance(query, StreamerQuery):
        return [str(query.args["kind"]).upper()]
    if isinstance(query, exp.SetOperation):
        return [query.key.upper()]
    inside = query.this if isinstance(query, exp.Subquery) else query
    return [word for k, word in _WRITTEN.items() if query.args.get(k) or inside.args.get(k)]
