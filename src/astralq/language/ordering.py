"""ORDER BY, LIMIT, DISTINCT ON, QUALIFY and ROW_NUMBER() OVER (…): what is bound, and in which order it is applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from astralq.algebra.base import Operator
from astralq.algebra.grouping import unique
from astralq.algebra.ordering import Chosen, Kept, Ordered, SortKey, Step, arranged, places_of
from astralq.algebra.relational import Named
from astralq.errors import AstralError, ExpressionError, Span
from astralq.expr.conditions import conjunction, conjuncts
from astralq.expr.nodes import Column, Expr
from astralq.language.environment import Environment
from astralq.language.hints import hint_for_over
from astralq.language.nodes import nothing, unaliased
from astralq.language.scope import Entry, Scope, ScopeBinder
from astralq.schema import INT

Bind = Callable[[exp.Expression], Expr]


CHOOSING = ("qualify", "order", "limit", "offset")
"""The clauses of a query that order it, or choose from it, by sqlglot's names of them."""


def is_arranged(node: exp.Expression) -> bool:
    return any(node.args.get(k) for k in CHOOSING)


def is_distinct(node: exp.Select) -> bool:
    """SELECT DISTINCT, and not DISTINCT ON."""
    distinct = node.args.get("distinct")
    return distinct is not None and distinct.args.get("on") is None


def shows_places(items: Sequence[exp.Expression]) -> bool:
    """SELECT *, ROW_NUMBER() OVER (…) AS n."""
    return isinstance(items[0], exp.Star) and all(isinstance(unaliased(i), exp.Window) for i in items[1:])


class Arranger:
    """Binds what orders a query and chooses from it: `below` its SELECT list, or `above` the whole query."""

    def __init__(self, env: Environment, scope: Scope | None = None, items: Sequence[exp.Expression] = ()) -> None:
        self.env = env
        self.scope = nothing() if scope is None else scope
        self.places: dict[str, Chosen] = {}  # the ROW_NUMBER() OVER (…), by their text
        named = [i for i in items if isinstance(i, exp.Alias)]
        self.names = {i.this.sql("spark"): i.alias for i in named if isinstance(i.this, exp.Window)}
        self.taken = self.scope.taken | {i.alias.lower() for i in named if not isinstance(i.this, exp.Window)}

    def place(self, node: exp.Window) -> Expr:
        """The attribute that a ROW_NUMBER() OVER (…) is in; an operator below the SELECT computes it."""
        function = node.this
        name = str(function.this).lower() if isinstance(function, exp.Anonymous) else ""
        if name != "row_number" or function.expressions:
            raise ExpressionError(
                f"OVER belongs to ROW_NUMBER() only, not to {node.this.sql('spark')}", hint=hint_for_over(node)
            )
        if node.args.get("spec") is not None:
            raise ExpressionError("ROW_NUMBER() has no frame", hint="leave out ROWS or RANGE BETWEEN …")
        text = node.sql("spark")
        if text not in self.places:
            bind = ScopeBinder(self.scope, self.env.known, self.env.source).bind
            per = tuple(bind(e) for e in node.args.get("partition_by") or [])
            rank = unique(self.names.get(text, "_row_number"), self.taken)
            self.places[text] = Chosen(None, per, sort_keys(node.args.get("order"), bind), 0, rank)
        return Column(INT, str(self.places[text].rank))

    def below(self, node: exp.Select, named: Sequence[Named]) -> list[Step]:
        """ROW_NUMBER(), QUALIFY, ORDER BY, DISTINCT ON and LIMIT, over what SELECT reads.

        DISTINCT gives another order, so that ORDER BY and LIMIT stand above it.
        """
        names = {n.lower(): e for n, e in named}
        bind = ScopeBinder(self.scope, self.env.known, self.env.source, names, self.place).bind
        qualify = node.args.get("qualify")
        condition = None if qualify is None else bind(qualify.this)
        if qualify is not None and not self.places:
            raise ExpressionError(
                "QUALIFY is a condition on ROW_NUMBER() OVER (…), and there is none",
                hint="a condition on tuples stands in WHERE, one on groups in HAVING",
            ).at(self._span(qualify))
        steps: list[Step] = []
        if not is_distinct(node):
            steps += self._ordered(node, named, bind)
            distinct = node.args.get("distinct")
            if distinct is not None:
                steps.append(Chosen(1, tuple(map(bind, distinct.args["on"].expressions))))
            steps += limited(node, bind)
        read = [*(e for _, e in named), *(e for step in steps for e in step.expressions)]
        return [*self._chosen(condition, read), *steps]

    def above(self, node: exp.Expression, operator: Operator) -> Operator:
        """ORDER BY and LIMIT over what a whole query gives."""
        if not is_arranged(node):
            return operator
        named = [(a.name, Column(a.type, a.name)) for a in operator.schema]
        scope = Scope(operator, [Entry(None, [(n, n) for n, _ in named])])
        bind = ScopeBinder(scope, self.env.known, self.env.source).bind
        return arranged(operator, [*self._ordered(node, named, bind), *limited(node, bind)])

    def _ordered(self, node: exp.Expression, named: Sequence[Named], bind: Bind) -> list[Step]:
        """ORDER BY, by numbers and names of items and by expressions."""

        def key(e: exp.Expression) -> Expr:
            found = _item(e, named)
            return bind(e) if found is None else found

        order = node.args.get("order")
        if order is None:
            return []
        try:
            return [Ordered(sort_keys(order, key))]
        except AstralError as e:
            raise e.at(self._span(order)) from None

    def _span(self, node: exp.Expression) -> Span | None:
        return ScopeBinder(nothing(), {}, self.env.source).span(node)

    def _chosen(self, qualify: Expr | None, read: Sequence[Expr]) -> list[Step]:
        """What the places need, and the condition of QUALIFY; `read`: what else looks at them.

        A condition as ROW_NUMBER() … <= 3 says which places are kept, where there is one ROW_NUMBER() only.
        """
        places = list(self.places.values())
        conditions = [] if qualify is None else conjuncts(qualify)
        if len(places) != 1:
            return [*places, *([Kept(conjunction(conditions))] if conditions else [])]
        (place,) = places
        assert place.rank is not None
        bounds = [places_of(c, place.rank) for c in conditions]
        rest = [c for c, b in zip(conditions, bounds, strict=True) if b is None]
        first = max([1, *(b[0] for b in bounds if b is not None)])
        last = min((b[1] for b in bounds if b is not None and b[1] is not None), default=None)
        shown = any(place.rank.lower() in e.columns for e in (*read, *rest))
        count = None if last is None else max(0, last - first + 1)
        chosen = Chosen(count, place.per, place.order, first - 1, place.rank if shown else None)
        return [chosen, *([Kept(conjunction(rest))] if rest else [])]


# Clauses


def sort_keys(order: exp.Order | None, bind: Bind) -> tuple[SortKey, ...]:
    """The keys of an ORDER BY."""
    return tuple(
        SortKey(bind(one.this), bool(one.args.get("desc")), bool(one.args.get("nulls_first")))
        for one in (order.expressions if order is not None else [])
    )


def _item(node: exp.Expression, named: Sequence[Named]) -> Expr | None:
    """The item of SELECT that a key is, by its number or its name; None where it is an expression of its own."""
    if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit():
        place = int(node.this)
        if not 1 <= place <= len(named):
            items = f"{len(named)} item{'s' * (len(named) > 1)}"
            raise ExpressionError(f"ORDER BY {place}: SELECT has {items}", hint="count them from 1")
        return named[place - 1][1]
    if isinstance(node, exp.Column) and not node.table:
        return next((e for n, e in named if n.lower() == node.name.lower()), None)
    return None


def limited(node: exp.Expression, bind: Bind) -> list[Step]:
    """LIMIT n [PER …] and OFFSET m."""
    limit, offset = node.args.get("limit"), node.args.get("offset")
    if limit is None and offset is None:
        return []
    count: int | None = None
    per: tuple[Expr, ...] = ()
    if isinstance(limit, exp.Fetch):
        options = limit.args.get("limit_options")
        if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
            raise ExpressionError("FETCH takes a number of rows", hint="write FETCH FIRST 3 ROWS ONLY, or LIMIT 3")
        count = _number(limit.args.get("count"), "FETCH FIRST")
    elif limit is not None:
        count = _number(limit.expression, "LIMIT")
        per = tuple(bind(e) for e in limit.args.get("per") or [])
    skip = 0 if offset is None else _number(offset.expression, "OFFSET")
    return [Chosen(count, per, (), skip)]


def _number(node: exp.Expression | None, what: str) -> int:
    if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit():
        return int(node.this)
    shown = "" if node is None else f", not {node.sql('spark')}"
    raise ExpressionError(f"{what} takes a whole number of tuples{shown}", hint=f"write for example {what} 3")
