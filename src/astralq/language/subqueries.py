"""Subqueries in conditions and expressions, as joins.

A part of WHERE that is IN or EXISTS by itself is a semi- or anti-join. Anywhere else a subquery stands beside each
tuple: its aggregates, grouped by what the tuple is compared with, by a join that finds at most one row and keeps φ. So
IN and EXISTS count their matches, with SQL's three-valued logic. On a stream all is decided at arrival (001 D33).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from astralq.algebra.base import Kind, Operator
from astralq.algebra.grouping import Beside, unique
from astralq.algebra.properties import properties
from astralq.algebra.relational import GroupBy, Join, JoinKind, Project, Select
from astralq.algebra.stream_ops import LookupJoin
from astralq.errors import ExpressionError, PlanError
from astralq.expr.aggregates import aggregate
from astralq.expr.casts import cast
from astralq.expr.conditions import conjuncts as parts_of
from astralq.expr.functions import call, case
from astralq.expr.nodes import TRUE, Aggregate, Call, Column, Expr, Literal
from astralq.expr.spark_aggregates import over_nothing
from astralq.language.correlation import SEVERAL, alone
from astralq.language.from_clause import FromBinder, apart
from astralq.language.joins import attached
from astralq.language.nodes import (
    all_of,
    conjuncts,
    has_aggregate,
    has_subquery,
    names_aggregate,
    subquery_test,
    unaliased,
)
from astralq.language.ordering import is_arranged
from astralq.language.scope import Place, Scope, ScopeBinder
from astralq.language.syntax import Past
from astralq.laws.lower import lower
from astralq.schema import BOOLEAN, NULL

if TYPE_CHECKING:
    from astralq.language.binder import QueryBinder


@dataclass(frozen=True)
class Inner:
    """A subquery: its relation, the conditions that name the outer query, and the values of its SELECT."""

    operator: Operator
    correlated: Sequence[Expr]
    values: Sequence[Expr]


# ---- as a part of WHERE by itself


def tested(binder: QueryBinder, scope: Scope, node: exp.In | exp.Exists, negated: bool) -> Operator:
    """IN and EXISTS as semi- and anti-joins; on a stream they are decided when a tuple arrives (001 D33)."""
    inner, conditions = test(binder, scope, node, negated)
    how = JoinKind.ANTI if negated else JoinKind.SEMI
    condition = all_of(conditions) if conditions else TRUE
    if scope.operator.kind is Kind.STREAM:
        return LookupJoin(scope.operator, inner, condition, how)
    if scope.operator.kind is Kind.WINDOWS:
        raise PlanError("IN and EXISTS over a stream of windows are not part of SNEEql", hint="join them instead")
    return Join(scope.operator, inner, condition, how)


def test(binder: QueryBinder, scope: Scope, node: exp.In | exp.Exists, negated: bool) -> tuple[Operator, list[Expr]]:
    """The relation that a test looks into, and the conditions on a pair of tuples."""
    inner = _looked_into(binder, scope, node)
    conditions = list(inner.correlated)
    if isinstance(node, exp.In):
        given = [binder.condition(scope, x) for x in members(node.this)]
        same = [call("=", x, y) for x, y in zip(given, inner.values, strict=True)]
        if negated:
            # NOT IN is true only if no comparison is true or unknown.
            pairs = zip(same, given, inner.values, strict=True)
            same = [call("or", s, call("or", call("isnull", x), call("isnull", y))) for s, x, y in pairs]
        conditions += same
    return inner.operator, conditions


def _looked_into(binder: QueryBinder, scope: Scope, node: exp.In | exp.Exists) -> Inner:
    """The subquery of IN or EXISTS, in the past state that is asked for."""
    query = node.args["query"] if isinstance(node, exp.In) else node.this
    query = query.this if isinstance(query, exp.Subquery) and not is_arranged(query) else query
    wanted = len(members(node.this)) if isinstance(node, exp.In) else 0
    inner = _inner(binder, scope, query, wanted)
    operator = inner.operator
    for past in node.args.get("past") or []:
        assert isinstance(past, Past)
        operator = FromBinder(binder.env, None, binder.bind_alone, False).past(operator, past)
    if operator.kind is not Kind.RELATION:
        raise PlanError(
            f"IN and EXISTS take a relation, and this is a {operator.kind.value}", hint="give its stream a window"
        )
    return replace(inner, operator=operator)


def members(node: exp.Expression) -> list[exp.Expression]:
    """What stands before IN: (a, b), or one expression."""
    return list(node.expressions) if isinstance(node, exp.Tuple) else [node]


def _inner(binder: QueryBinder, scope: Scope, query: exp.Expression, wanted: int) -> Inner:
    """A subquery; `wanted` is how many attributes it is to have, 0 where nobody looks at them."""
    if _is_simple(binder, query):
        assert isinstance(query, exp.Select)
        inside = binder.inside(scope)
        found = inside.from_items([query.args["from_"].this], query.args)
        if not any(has_aggregate(e, binder.env) for e in query.expressions):
            return correlated(inside, found, query, scope, wanted)
    operator = apart(alone(binder, scope, query, value=False), scope.taken)
    if wanted and len(operator.schema) != wanted:
        raise _attributes(wanted, len(operator.schema))
    return Inner(operator, [], [Column(a.type, a.name) for a in operator.schema])


def _attributes(wanted: int, there: int) -> ExpressionError:
    what = "one attribute" if wanted == 1 else f"{wanted} attributes"
    return ExpressionError(
        f"IN takes a query of {what}, and this has {there}", hint="name what is compared in its SELECT"
    )


def _is_simple(binder: QueryBinder, query: exp.Expression) -> bool:
    """Whether it is SELECT … FROM … WHERE only, which may name the outer query."""
    if not isinstance(query, exp.Select) or query.args.get("from_") is None:
        return False
    used = {k for k, v in query.args.items() if v and k not in ("expressions", "from_", "joins", "where")}
    return not used and binder.streamer_in(list(query.expressions)) is None


def correlated(binder: QueryBinder, found: Scope, query: exp.Select, outer: Scope, wanted: int) -> Inner:
    """FROM and WHERE of a subquery, with the conditions that name the outer query apart."""
    outside = outer.taken
    found, named = _divided(binder, found, query.args.get("where"), outside)
    values: list[Expr] = []
    if not wanted:
        for item in query.expressions:
            binder.items(found, item)  # EXISTS does not look at them, but their names have to be right
    elif isinstance(query.expressions[0], exp.Star):
        columns = [c for e in found.entries for c in e.columns]
        if len(columns) != wanted or len(query.expressions) != 1:
            raise _attributes(wanted, len(columns))
        values = [Column(found.schema[a].type, a) for _, a in columns]
    else:
        if len(query.expressions) != wanted:
            raise _attributes(wanted, len(query.expressions))
        values = [binder.condition(found, unaliased(e)) for e in query.expressions]
    return Inner(found.operator, named, values)


def _divided(binder: QueryBinder, found: Scope, where: exp.Where | None, outside: set[str]) -> tuple[Scope, list[Expr]]:
    """The scope below the conditions of its own, and the conditions that name the outer query."""
    local: list[Expr] = []
    named: list[Expr] = []
    tests, further = [], []
    for conjunct in conjuncts(where.this) if where is not None else []:
        if subquery_test(conjunct)[0] is not None:
            tests.append(conjunct)
        elif has_subquery(conjunct):
            further.append(conjunct)
        else:
            bound = binder.condition(found, conjunct)
            (named if bound.columns & outside else local).append(bound)
    if local:
        found = replace(found, operator=Select(found.operator, all_of(local)))
    for conjunct in further:
        found = binder.selected(found, conjunct)
    for conjunct in tests:
        node, negated = subquery_test(conjunct)
        assert node is not None
        inner, conditions = test(binder, found, node, negated)
        farther = [c for c in conditions if c.columns & outside]
        near = [c for c in conditions if not c.columns & outside]
        if farther and negated:
            raise PlanError("a negated subquery names a query two levels out", hint="break it up with CREATE VIEW").at(
                binder.span(conjunct)
            )
        # Whether one or several match does not count in EXISTS, so that a condition can move outwards over a join.
        how = JoinKind.INNER if farther else JoinKind.ANTI if negated else JoinKind.SEMI
        found = replace(found, operator=Join(found.operator, inner, all_of(near) if near else TRUE, how))
        named += farther
    return found, named


# ---- anywhere else


class SubqueryBinder(ScopeBinder):
    """Binds expressions with subqueries: what they give is in `below` where it stands in an aggregate, else in
    `around`, to be put beside the tuples that the expression is computed on."""

    def __init__(
        self, binder: QueryBinder, scope: Scope, *, taken: set[str] | None = None, place: Place | None = None
    ) -> None:
        super().__init__(scope, binder.env.known, binder.env.source, place=place)
        self.binder = binder
        self.below: list[Beside] = []
        self.around: list[Beside] = []
        self.taken = scope.taken if taken is None else taken
        self._in_aggregate = False
        self._only_true_counts: set[int] = set()

    def bind_condition(self, node: exp.Expression) -> Expr:
        """A condition that is to be true."""
        self._is_to_be_true(node)
        return self.bind(node)

    def move_below(self, names: set[str]) -> None:
        """Puts what these attributes come from beside the tuples that are aggregated."""
        moved = [b for b in self.around if names & {n.lower() for n in b.relation.schema.names}]
        self.below += moved
        self.around = [b for b in self.around if b not in moved]

    def _is_to_be_true(self, node: exp.Expression) -> None:
        """Below AND and OR of such a condition an unknown IN is as good as a false one."""
        todo = [node]
        while todo:
            one = todo.pop()
            self._only_true_counts.add(id(one))
            if isinstance(one, exp.And | exp.Or | exp.Paren):
                todo += [x for x in (one.this, one.args.get("expression")) if x is not None]

    def _bind(self, node: exp.Expression) -> Expr:
        match node:
            case exp.Exists():
                return self._exists(node)
            case exp.In() if node.args.get("query") is not None:
                return self._in_query(node)
            case exp.Subquery():
                return self._scalar(node if is_arranged(node) else node.this)
            case exp.Any() | exp.All():
                raise ExpressionError(
                    f"{type(node).__name__.upper()} is not part of the language",
                    hint="write IN (SELECT …), NOT IN (SELECT …), or compare with (SELECT max(x) FROM …)",
                )
            case exp.Case() if node.this is None:
                for branch in node.args["ifs"]:
                    self._is_to_be_true(branch.this)
            case exp.Filter():
                self._is_to_be_true(node.expression.this)
        return super()._bind(node)

    def _function(self, node: exp.Anonymous) -> Expr:
        if not names_aggregate(node, self.binder.env):
            return super()._function(node)
        return self._aggregated(node)

    def _filtered(self, node: exp.Filter) -> Expr:
        return self._aggregated(node)

    def _aggregated(self, node: exp.Anonymous | exp.Filter) -> Expr:
        before, self._in_aggregate = self._in_aggregate, True
        try:
            return super()._filtered(node) if isinstance(node, exp.Filter) else super()._function(node)
        finally:
            self._in_aggregate = before

    def _fresh(self) -> str:
        return unique("_subquery", self.taken)

    def _put(self, relation: Operator, on: Sequence[tuple[Expr, str, str]] = ()) -> None:
        (self.below if self._in_aggregate else self.around).append(Beside(relation, tuple(on)))

    # EXISTS and IN

    def _exists(self, node: exp.Exists) -> Expr:
        inner = _looked_into(self.binder, self.scope, node)
        n = self._counted(inner.operator, self._equalities(inner, node), ())[0]
        return call(">", call("coalesce", n, Literal(n.type, 0)), Literal(n.type, 0))

    def _in_query(self, node: exp.In) -> Expr:
        inner = _looked_into(self.binder, self.scope, node)
        given = [self.bind(x) for x in members(node.this)]
        keys = self._equalities(inner, node)
        same = [_sides(call("=", x, y)) for x, y in zip(given, inner.values, strict=True)]
        matches = self._counted(inner.operator, [*keys, *same], ())[0]
        found = call("isnotnull", matches)
        if id(node) in self._only_true_counts:
            return found
        if len(given) > 1:
            raise ExpressionError(
                "whether (a, b) IN (query) is unknown is not told here",
                hint="write it as a part of WHERE that is joined by AND or OR, or use EXISTS",
            )
        total, known = self._counted(inner.operator, keys, (inner.values[0],))
        # Of nothing IN is false; a NULL on either side may be equal to anything.
        none = call("=", call("coalesce", total, Literal(total.type, 0)), Literal(total.type, 0))
        unknown = call("or", call("isnull", given[0]), call("<", known, total))
        truth, unsaid = Literal(BOOLEAN, True), Literal(NULL, None)
        no = Literal(BOOLEAN, False)
        return case(((found, truth), (none, no), (unknown, unsaid)), no)

    def _counted(self, inner: Operator, keys: Sequence[tuple[Expr, str, Expr]], also: Sequence[Expr]) -> list[Expr]:
        """How many rows of a relation the tuple at hand is compared with, and how many of them have a value."""
        counts = [aggregate("count", args, inner.readable) for args in ((), *((x,) for x in also))]
        return self._grouped(inner, keys, counts)

    def _grouped(
        self, inner: Operator, keys: Sequence[tuple[Expr, str, Expr]], aggregates: Sequence[Aggregate]
    ) -> list[Expr]:
        """Aggregates of those rows of a relation that the tuple at hand is equal to."""
        named = [(self._fresh(), y) for _, _, y in keys]
        values = [(self._fresh(), a) for a in aggregates]
        relation = GroupBy(inner, tuple(named), tuple(values), self.binder.env.dialect != "cql")
        on = [(x, sign, name) for (x, sign, _), (name, _) in zip(keys, named, strict=True)]
        self._put(relation, on)
        return [Column(a.type, name) for name, a in values]

    def _equalities(self, inner: Inner, node: exp.Expression) -> list[tuple[Expr, str, Expr]]:
        """The comparisons with the outer query: (what of its tuple, = or <=>, what of the subquery's)."""
        outside, found = self.scope.taken, []
        for condition in (p for c in inner.correlated for p in parts_of(c)):
            pair = _sides(condition) if isinstance(condition, Call) and condition.function in ("=", "<=>") else None
            if pair is not None and pair[2].columns & outside:
                pair = (pair[2], pair[1], pair[0])
            if pair is None or pair[2].columns & outside or not pair[0].columns <= outside:
                raise ExpressionError(
                    f"{condition} compares a subquery with the outer query, and is no equality",
                    hint="here a subquery is compared by = only; as a part of WHERE joined by AND, EXISTS and IN take"
                    " any condition; or join, and group the result",
                )
            if not pair[0].columns <= {n.lower() for n in self.scope.operator.readable.names}:
                raise PlanError("a subquery names a query two levels out", hint="break it up with CREATE VIEW")
            found.append(pair)
        return found

    # Scalar subqueries

    def _scalar(self, query: exp.Expression) -> Expr:
        if isinstance(query, exp.Select) and len(query.expressions) == 1 and _is_simple(self.binder, query):
            item = unaliased(query.expressions[0])
            inside = self.binder.inside(self.scope)
            if not isinstance(item, exp.Star) and has_aggregate(item, self.binder.env):
                found = inside.from_items([query.args["from_"].this], query.args)
                return self._of_aggregates(inside, found, query, item)
        operator = alone(self.binder, self.scope, query, value=True)
        if len(operator.schema) != 1:
            raise ExpressionError(
                f"a subquery that stands for a value has one attribute, and this has {len(operator.schema)}",
                hint="name the one that is meant in its SELECT",
            )
        _expect_relation(operator)
        if frozenset() not in properties(lower(operator)).keys:
            raise ExpressionError("a subquery that stands for a value may have several rows", hint=SEVERAL)
        only, name = operator.schema.attributes[0], self._fresh()
        self._put(Project(operator, ((name, Column(only.type, only.name)),)))
        return Column(only.type, name)

    def _of_aggregates(self, inside: QueryBinder, found: Scope, query: exp.Select, item: exp.Expression) -> Expr:
        """SELECT with aggregates and without GROUP BY: one row, for each value that it is compared with."""
        outside = self.scope.taken
        found, named = _divided(inside, found, query.args.get("where"), outside)
        _expect_relation(found.operator)
        binder = SubqueryBinder(inside, found)
        value = binder.bind(item)
        if value.columns & outside:
            raise ExpressionError(
                "the SELECT of a subquery names the outer query",
                hint="compute it outside: (SELECT max(x) FROM …) - a.y",
            )
        below = attached(found.operator, [*binder.below, *binder.around])
        keys = self._equalities(Inner(below, named, ()), query)
        aggregates = list(dict.fromkeys(e for e in value.walk() if isinstance(e, Aggregate)))
        for e in _outside_aggregates(value):
            if isinstance(e, Column):
                raise PlanError(f"{e.name!r} is not in an aggregate", hint=SEVERAL)
        columns = self._grouped(below, keys, aggregates)
        made = {a: _or_over_nothing(a, c) for a, c in zip(aggregates, columns, strict=True)}
        return _replaced(value, made)


def _expect_relation(operator: Operator) -> None:
    if operator.kind is not Kind.RELATION:
        raise PlanError(
            f"a subquery that stands for a value takes a relation, and this is a {operator.kind.value}",
            hint="give its stream a window",
        )


def _sides(comparison: Expr) -> tuple[Expr, str, Expr]:
    assert isinstance(comparison, Call)
    left, right = comparison.args
    return left, comparison.function, right


def _or_over_nothing(a: Aggregate, column: Expr) -> Expr:
    """An aggregate that stands beside a tuple: where there is no group it is what the function gives of nothing."""
    nothing = None if a.python is not None else over_nothing(a.function)
    if nothing is None:
        return column
    return call("coalesce", column, Literal(a.type, 0) if nothing == 0 else cast(call("array"), a.type))


def _outside_aggregates(e: Expr) -> Sequence[Expr]:
    if isinstance(e, Aggregate):
        return ()
    return (e, *(x for c in e.children for x in _outside_aggregates(c)))


def _replaced(e: Expr, made: dict[Aggregate, Expr]) -> Expr:
    if isinstance(e, Aggregate):
        return made[e]
    children = tuple(_replaced(c, made) for c in e.children)
    return e.rebuilt(children) if children else e
