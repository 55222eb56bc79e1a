"""From queries to the algebra: what is a stream and what a relation, names, subqueries, groups, streamers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from astralq.algebra.base import Kind, Operator
from astralq.algebra.grouping import group, uniquely_named
from astralq.algebra.relational import (
    Distinct,
    Join,
    JoinKind,
    Named,
    Project,
    Select,
    SetKind,
    SetOperation,
    ValueSetOperation,
)
from astralq.algebra.stream_ops import LookupJoin
from astralq.algebra.streamers import DStream, Identity, IStream, RStream
from astralq.algebra.windows import Window, last_batch
from astralq.errors import AstralError, ExpressionError, PlanError, Span
from astralq.expr.casts import coerce, common_type
from astralq.expr.functions import call
from astralq.expr.nodes import TRUE, Aggregate, Column, Expr
from astralq.language.declarations import amount
from astralq.language.from_clause import FromBinder, apart
from astralq.language.scope import Entry, Scope, ScopeBinder
from astralq.language.syntax import Item, Past, StreamerQuery
from astralq.space import Region
from astralq.timeline import Duration, Instant

STREAMERS = {"istream": IStream, "dstream": DStream, "rstream": RStream}
_REFUSED = {
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "qualify": "QUALIFY",
    "laterals": "LATERAL VIEW",
    "windows": "WINDOW",
    "distribute": "DISTRIBUTE BY",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "pivots": "PIVOT",
    "sample": "TABLESAMPLE",
}


@dataclass(frozen=True)
class NamedOperator:
    """A source or a view: its name as it was written, and the start in force where it was created."""

    name: str
    operator: Operator | None
    t0: Instant | None
    is_view: bool = False


@dataclass(frozen=True)
class Environment:
    """What a statement can name, and the dialect that it is in."""

    source: str
    dialect: str = "astral"
    t0: Instant | None = None
    tick: Duration = Duration(1_000_000)  # noqa: RUF009  (a number with a type of its own)
    named: dict[str, NamedOperator] = field(default_factory=dict)
    regions: dict[str, Region] = field(default_factory=dict)

    def with_named(self, name: str, operator: Operator | None, *, is_view: bool = True) -> Environment:
        """The environment with a source or view; None for one that could not be bound."""
        return replace(self, named={**self.named, name.lower(): NamedOperator(name, operator, self.t0, is_view)})


class QueryBinder:
    """Binds one query; subqueries are bound by a binder of their own, which knows the outer scope."""

    def __init__(self, env: Environment, outer: Scope | None = None) -> None:
        self.env = env
        self.outer = outer

    def bind(self, node: exp.Expression) -> Operator:
        """The operator of a query, with the place of an error."""
        try:
            return self._bind(node)
        except AstralError as e:
            raise e.at(self.span(node)) from None

    def span(self, node: exp.Expression) -> Span | None:
        if isinstance(node, exp.Select) and node.args.get("from_") is not None:
            # What is wrong with a whole SELECT is mostly what it reads from.
            items = [node.args["from_"], *(node.args.get("joins") or [])]
            node = exp.Tuple(expressions=[i.copy() for i in items])
        if "start" in node.meta:
            start, end = node.meta["start"], node.meta["end"]
            before = self.env.source[:start]
            line, column = before.count("\n") + 1, start - (before.rfind("\n") + 1) + 1
            return Span(line, column, end - start + 1, self.env.source)
        return ScopeBinder(_nothing(), {}, self.env.source).span(node)

    def _bind(self, node: exp.Expression) -> Operator:
        match node:
            case StreamerQuery():
                return self._streamer_query(node)
            case exp.Select():
                return self._select(node)
            case exp.Subquery():
                return self.bind(node.this)
            case exp.SetOperation():
                return self._set_operation(node)
            case Item():
                return self._from([node], {}).operator
        raise ExpressionError("expected a query", hint="write SELECT … FROM …")

    # ---- streamers

    def _streamer_query(self, node: StreamerQuery) -> Operator:
        env = self._with_ctes(node)
        inside = QueryBinder(env, self.outer).bind(node.this)
        every = amount(node.args["every"]) if node.args.get("every") is not None else None
        return self._streamed(node.args["kind"].lower(), inside, every, bool(node.args.get("on_insert")))

    def _streamed(self, kind: str, inside: Operator, every: Duration | None, on_insert: bool = False) -> Operator:
        """A streamer, as the dialect means it."""
        if on_insert and kind != "rstream":
            raise PlanError(f"{kind.upper()} has no ON INSERT", hint="RSTREAM(…) ON INSERT")
        cql = self.env.dialect == "cql"
        if kind == "rstream":
            return RStream(inside, self.env.tick if cql and every is None and not on_insert else every, on_insert)
        by_value = cql or inside.kind is Kind.WINDOWS
        identity = Identity.VALUE if by_value else Identity.PHI
        return IStream(inside, every, identity) if kind == "istream" else DStream(inside, every, identity)

    # ---- SELECT

    def _select(self, node: exp.Select) -> Operator:
        for key, words in _REFUSED.items():
            if node.args.get(key):
                hint = "an answer has its own total order" if key in ("order", "sort") else None
                raise ExpressionError(f"{words} is not part of the language", hint=hint)
        env = self._with_ctes(node)
        if env is not self.env:
            return QueryBinder(env, self.outer).bind(_without_ctes(node))
        items = list(node.expressions)
        streamer = self._streamer_in(items)
        if streamer is not None:
            items = [i for s in items for i in s.expressions]
        if node.args.get("from_") is None:
            place = self.span(items[0]) if items else None
            raise ExpressionError("a query reads from something", hint="add FROM and a stream or relation", span=place)
        scope = self._from([node.args["from_"].this], node.args)
        scope = self._where(scope, node.args.get("where"))
        result = self._projected(scope, items, node)
        if node.args.get("distinct") is not None:
            result = Distinct(result)
        return self._streamed(streamer, result, None) if streamer is not None else result

    def _with_ctes(self, node: exp.Expression) -> Environment:
        env = self.env
        with_ = node.args.get("with_")
        if with_ is None:
            return env
        if with_.args.get("recursive"):
            raise ExpressionError("a recursive query is not part of the language")
        for cte in with_.expressions:
            env = env.with_named(cte.alias, QueryBinder(env).bind(cte.this))
        return env

    def _streamer_in(self, items: list[exp.Expression]) -> str | None:
        """SELECT ISTREAM(…) FROM …: the streamer, if the list is one."""
        if len(items) == 1 and isinstance(items[0], exp.Anonymous) and str(items[0].this).lower() in STREAMERS:
            return str(items[0].this).lower()
        return None

    def _from(self, first: list[Item], args: dict[str, object]) -> Scope:
        joins = args.get("joins") or []
        wants_stamps = self._mentions_stamps(args)
        binder = FromBinder(self.env, self.outer, lambda q: QueryBinder(self.env).bind(q), wants_stamps)
        return binder.bind(first[0], joins)  # type: ignore[arg-type]

    def _mentions_stamps(self, args: dict[str, object]) -> bool:
        parts = [args.get(k) for k in ("expressions", "where", "group", "having", "joins")]
        nodes = [n for p in parts for n in (p if isinstance(p, list) else [p]) if isinstance(n, exp.Expression)]
        return any(c.name.lower() in ("_t", "_i", "_n") for n in nodes for c in n.find_all(exp.Column))

    # ---- WHERE

    def _where(self, scope: Scope, where: exp.Where | None) -> Scope:
        if where is None:
            return scope
        plain: list[exp.Expression] = []
        if not any(True for _ in where.find_all(exp.Select, StreamerQuery)):
            try:
                return replace(scope, operator=Select(scope.operator, self._condition(scope, where.this)))
            except AstralError as e:
                raise e.at(self.span(where.this)) from None
        for conjunct in _conjuncts(where.this):
            inner, negated = _subquery_test(conjunct)
            if inner is None:
                if any(True for n in conjunct.find_all(exp.Select, StreamerQuery)):
                    raise ExpressionError(
                        "a subquery stands under OR, NOT or in an expression",
                        hint="it can be a part of WHERE that is joined by AND: IN (…), NOT IN (…), EXISTS (…)",
                    ).at(self.span(conjunct))
                plain.append(conjunct)
        conditions = [self._condition(scope, c) for c in plain]
        if conditions:
            scope = replace(scope, operator=Select(scope.operator, _all_of(conditions)))
        for conjunct in _conjuncts(where.this):
            inner, negated = _subquery_test(conjunct)
            if inner is not None:
                try:
                    scope = replace(scope, operator=self._tested(scope, inner, negated))
                except AstralError as e:
                    raise e.at(self.span(conjunct)) from None
        return scope

    def _condition(self, scope: Scope, node: exp.Expression) -> Expr:
        return ScopeBinder(scope, self.env.regions, self.env.source).bind(node)

    def _tested(self, scope: Scope, node: exp.In | exp.Exists, negated: bool) -> Operator:
        """IN and EXISTS as semi- and anti-joins; on a stream they are decided when a tuple arrives (001 D33)."""
        query = node.args["query"] if isinstance(node, exp.In) else node.this
        query = query.this if isinstance(query, exp.Subquery) else query
        inner, correlated, first = self._inner(scope, query, isinstance(node, exp.In))
        for past in node.args.get("past") or []:
            assert isinstance(past, Past)
            inner = FromBinder(self.env, None, lambda q: QueryBinder(self.env).bind(q), False).past(inner, past)
        conditions = list(correlated)
        if isinstance(node, exp.In):
            assert first is not None
            x = self._condition(scope, node.this)
            same = call("=", x, first)
            if negated:
                # NOT IN is true only if no comparison is true or unknown.
                same = call("or", same, call("or", call("isnull", x), call("isnull", first)))
            conditions.append(same)
        how = JoinKind.ANTI if negated else JoinKind.SEMI
        condition = _all_of(conditions) if conditions else TRUE
        if inner.kind is not Kind.RELATION:
            raise PlanError(
                f"IN and EXISTS take a relation, and this is a {inner.kind.value}", hint="give its stream a window"
            )
        if scope.operator.kind is Kind.STREAM:
            return LookupJoin(scope.operator, inner, condition, how)
        if scope.operator.kind is Kind.WINDOWS:
            raise PlanError("IN and EXISTS over a stream of windows are not part of SNEEql", hint="join them instead")
        return Join(scope.operator, inner, condition, how)

    def _inner(
        self, scope: Scope, query: exp.Expression, needs_value: bool
    ) -> tuple[Operator, Sequence[Expr], Expr | None]:
        """A subquery: its operator, the conditions that name the outer query, and its one value for IN."""
        simple = (
            isinstance(query, exp.Select)
            and query.args.get("from_") is not None
            and not any(query.args.get(k) for k in ("group", "having", "distinct", "with_"))
        )
        if simple and isinstance(query, exp.Select) and self._streamer_in(list(query.expressions)) is None:
            binder = QueryBinder(self.env, scope)
            found = binder._from([query.args["from_"].this], query.args)
            if not any(_has_aggregate(e) for e in query.expressions):
                return binder._correlated(found, query, scope, needs_value)
        operator = QueryBinder(self.env).bind(query)
        if not needs_value:
            return apart(operator, scope.taken), [], None
        if len(operator.schema) != 1:
            raise ExpressionError(f"IN takes a query of one attribute, and this has {len(operator.schema)}")
        renamed = apart(operator, scope.taken)
        value = renamed.schema.attributes[0]
        return renamed, [], Column(value.type, value.name)

    def _correlated(
        self, found: Scope, query: exp.Select, outer: Scope, needs_value: bool
    ) -> tuple[Operator, Sequence[Expr], Expr | None]:
        outside = {n.lower() for n in outer.operator.schema.names}
        where = query.args.get("where")
        local: list[Expr] = []
        correlated: list[Expr] = []
        rest = []
        for conjunct in _conjuncts(where.this) if where is not None else []:
            if _subquery_test(conjunct)[0] is not None:
                rest.append(conjunct)
                continue
            bound = self._condition(found, conjunct)
            (correlated if bound.columns & outside else local).append(bound)
        if local:
            found = replace(found, operator=Select(found.operator, _all_of(local)))
        for conjunct in rest:
            test, negated = _subquery_test(conjunct)
            assert test is not None
            found = replace(found, operator=self._tested(replace(found, outer=None), test, negated))
        value: Expr | None = None
        if needs_value:
            if len(query.expressions) != 1 or isinstance(query.expressions[0], exp.Star):
                columns = [c for e in found.entries for c in e.columns]
                if len(columns) != 1 or len(query.expressions) != 1:
                    raise ExpressionError("IN takes a query of one attribute", hint="name the attribute in its SELECT")
                value = Column(found.schema[columns[0][1]].type, columns[0][1])
            else:
                value = self._condition(found, _unaliased(query.expressions[0]))
        return found.operator, correlated, value

    # ---- SELECT list

    def _projected(self, scope: Scope, items: list[exp.Expression], node: exp.Select) -> Operator:
        named = [n for item in items for n in self._items(scope, item)]
        having = node.args.get("having")
        grouped = node.args.get("group") is not None or having is not None or any(_aggregates(e) for _, e in named)
        if grouped:
            return self._grouped(scope, named, node)
        unique = uniquely_named(named)
        same = [(a.name, Column(a.type, a.name)) for a in scope.operator.schema]
        only_stars = all(isinstance(i, exp.Star) for i in items)
        return scope.operator if only_stars and list(unique) == same else Project(scope.operator, unique)

    def _items(self, scope: Scope, node: exp.Expression) -> list[Named]:
        """One item of SELECT: *, alias.*, Stamps(*), or an expression with its name."""
        if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
            star = node if isinstance(node, exp.Star) else node.this
            if any(star.args.values()):
                raise ExpressionError("* takes nothing behind it", hint="name the attributes").at(self.span(node))
            alias = node.table if isinstance(node, exp.Column) else None
            entries = [e for e in scope.entries if not alias or (e.alias or "").lower() == alias.lower()]
            if not entries:
                raise ExpressionError(f"{alias!r} is not in FROM").at(self.span(node))
            return [(n, Column(scope.schema[a].type, a)) for e in entries for n, a in e.columns]
        if isinstance(node, exp.Anonymous) and str(node.this).lower() == "stamps":
            return self._stamps(scope)
        bound = self._condition(scope, _unaliased(node))
        if isinstance(node, exp.Alias):
            return [(node.alias, bound)]
        if isinstance(node, exp.Column):
            return [(node.name, bound)]
        return [(str(node.meta.get("text") or node.sql("spark", normalize_functions=False)), bound)]

    def _stamps(self, scope: Scope) -> list[Named]:
        """004's Stamps(*): the spatial and the temporal stamp of each tuple."""
        schema = scope.schema
        if schema.location is None or "_t" not in schema:
            raise PlanError("Stamps(*) needs tuples of a stream with a location", hint="declare LOCATION BY (lon, lat)")
        names = (schema.location.x, schema.location.y)
        return [*((n, Column(schema[n].type, schema[n].name)) for n in names), ("t", Column(schema["_t"].type, "_t"))]

    def _grouped(self, scope: Scope, named: list[Named], node: exp.Select) -> Operator:
        clause = node.args.get("group")
        keys = [self._key(scope, key, named) for key in (clause.expressions if clause is not None else [])]
        having = node.args.get("having")
        condition = self._condition(scope, having.this) if having is not None else None
        empty_row = self.env.dialect != "cql"
        return group(scope.operator, keys, named, condition, empty_row=empty_row)

    def _key(self, scope: Scope, node: exp.Expression, named: list[Named]) -> Named:
        """A grouping key: an expression, the number of an item of SELECT, or its name."""
        if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit():
            place = int(node.this)
            if not 1 <= place <= len(named):
                raise ExpressionError(f"GROUP BY {place}: SELECT has {len(named)} items")
            return named[place - 1]
        if isinstance(node, exp.Column) and not node.table:
            by_name = next((n for n in named if n[0].lower() == node.name.lower()), None)
            if by_name is not None and not any(e.find(node.name) for e in scope.entries):
                return by_name
        bound = self._condition(scope, node)
        name = node.name if isinstance(node, exp.Column) else node.sql("spark")
        return name, bound

    # ---- set operations

    def _set_operation(self, node: exp.SetOperation) -> Operator:
        env = self._with_ctes(node)
        left, right = (QueryBinder(env, self.outer).bind(n) for n in (node.this, node.expression))
        how = {exp.Union: SetKind.UNION, exp.Except: SetKind.EXCEPT, exp.Intersect: SetKind.INTERSECT}[type(node)]
        every = node.args.get("distinct") is False
        left, right = _same_types(left, right, how)
        if left.kind is Kind.STREAM and right.kind is Kind.STREAM and how is SetKind.UNION and every:
            both = [Window(side, last_batch()) for side in (left, right)]
            return IStream(SetOperation(both[0], both[1], SetKind.UNION))
        if how is SetKind.UNION and every:
            return SetOperation(left, right, SetKind.UNION)
        return ValueSetOperation(left, right, how, every)


def _nothing() -> Scope:
    from astralq.algebra.sources import RelationSource
    from astralq.schema import Schema

    return Scope(RelationSource("nothing", Schema.parse("nothing INT")), [Entry(None, [])])


def _without_ctes(node: exp.Select) -> exp.Select:
    rest = node.copy()
    rest.set("with_", None)
    return rest


def _conjuncts(node: exp.Expression) -> list[exp.Expression]:
    if isinstance(node, exp.And):
        return [*_conjuncts(node.this), *_conjuncts(node.expression)]
    if isinstance(node, exp.Paren) and isinstance(node.this, exp.And | exp.In | exp.Exists | exp.Paren | exp.Not):
        return _conjuncts(node.this)
    return [node]


def _subquery_test(node: exp.Expression) -> tuple[exp.In | exp.Exists | None, bool]:
    """IN (query) or EXISTS (query), and whether it is negated."""
    negated = False
    while isinstance(node, exp.Not | exp.Paren):
        negated ^= isinstance(node, exp.Not)
        node = node.this
    if isinstance(node, exp.Exists) or (isinstance(node, exp.In) and node.args.get("query") is not None):
        return node, negated
    return None, False


def _all_of(conditions: Sequence[Expr]) -> Expr:
    result = conditions[0]
    for c in conditions[1:]:
        result = call("and", result, c)
    return result


def _unaliased(node: exp.Expression) -> exp.Expression:
    return node.this if isinstance(node, exp.Alias) else node


def _aggregates(e: Expr) -> bool:
    return any(isinstance(part, Aggregate) for part in e.walk())


def _has_aggregate(node: exp.Expression) -> bool:
    from astralq.expr.aggregates import is_aggregate

    return any(is_aggregate(str(f.this)) for f in node.find_all(exp.Anonymous))


def _same_types(left: Operator, right: Operator, how: SetKind) -> tuple[Operator, Operator]:
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
