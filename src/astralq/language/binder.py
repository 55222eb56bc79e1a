"""From queries to the algebra: what is a stream and what a relation, names, subqueries, groups, streamers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from astralq.algebra.base import PSEUDO, Kind, Operator
from astralq.algebra.evaluations import RStreamOnEvaluation
from astralq.algebra.grouping import group, uniquely_named
from astralq.algebra.ordering import Step, arranged
from astralq.algebra.phi import CopyPhi
from astralq.algebra.relational import (
    Distinct,
    Divide,
    Join,
    JoinKind,
    Named,
    Project,
    Select,
    SetKind,
    SetOperation,
    ValueSetOperation,
)
from astralq.algebra.retention import window_below
from astralq.algebra.schedules import Measure
from astralq.algebra.stream_ops import LookupJoin
from astralq.algebra.streamers import DStream, Identity, IStream, RStream
from astralq.algebra.windows import Window, last_batch
from astralq.errors import AstralError, ExpressionError, PlanError, Span
from astralq.expr.functions import call
from astralq.expr.nodes import TRUE, Column, Expr
from astralq.language.declarations import amount
from astralq.language.environment import Environment
from astralq.language.from_clause import FromBinder, apart, renamed
from astralq.language.nodes import (
    aggregates,
    all_of,
    conjuncts,
    has_aggregate,
    nothing,
    same_types,
    subquery_test,
    unaliased,
    without_ctes,
)
from astralq.language.ordering import CHOOSING, Arranger, is_arranged, is_distinct, shows_places
from astralq.language.scope import TAGS, Entry, Place, Scope, ScopeBinder
from astralq.language.syntax import STREAMERS, DivideBy, Item, Name, Past, StreamerQuery
from astralq.space import is_distance
from astralq.timeline import Duration


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
            return Span.of(self.env.source, node.meta["start"], node.meta["end"] + 1)
        return ScopeBinder(nothing(), {}, self.env.source).span(node)

    def _bind(self, node: exp.Expression) -> Operator:
        match node:
            case StreamerQuery():
                return self._streamer_query(node)
            case exp.Select():
                return self._select(node)
            case exp.Subquery():
                return Arranger(self.env).above(node, self.bind(node.this))
            case exp.SetOperation():
                return Arranger(self.env).above(node, self._set_operation(node))
            case Item():
                return self._from([node], {}).operator
        raise ExpressionError("expected a query", hint="write SELECT … FROM …")

    # ---- streamers

    def _streamer_query(self, node: StreamerQuery) -> Operator:
        env = self._with_ctes(node)
        inside = QueryBinder(env, self.outer).bind(node.this)
        every = self._period(node.args["every"]) if node.args.get("every") is not None else None
        return self._streamed(node.args["kind"].lower(), inside, every, node.args.get("on"))

    def _period(self, period: Name) -> Duration:
        if is_distance(period.text):
            raise PlanError(
                f"a streamer emits at a period of time, not every {period.text}",
                hint=f"give the window SLIDE BY '{period.text}' SATTR SPACE, and emit RSTREAM(…) ON EVALUATION",
                span=period.span,
            )
        return amount(period)

    def _streamed(self, kind: str, inside: Operator, every: Duration | None, on: str | None = None) -> Operator:
        """A streamer, as the dialect means it; `on` is what RSTREAM emits on, if that is not every change."""
        if on is not None and kind != "rstream":
            raise PlanError(f"{kind.upper()} has no ON {on}", hint=f"RSTREAM(…) ON {on}")
        if on is not None and every is not None:
            raise PlanError(f"{kind.upper()} is at a period or ON {on}", hint="choose one")
        cql = self.env.dialect == "cql"
        if on == "EVALUATION":
            # Windows of SNEEql are streamed when they are evaluated as it is.
            return RStream(inside) if inside.kind is Kind.WINDOWS else RStreamOnEvaluation(inside)
        if kind == "rstream":
            return RStream(inside, self.env.tick if cql and every is None and not on else every, on == "INSERT")
        by_value = cql or inside.kind is Kind.WINDOWS
        identity = Identity.VALUE if by_value else Identity.PHI
        return IStream(inside, every, identity) if kind == "istream" else DStream(inside, every, identity)

    # ---- SELECT

    def _select(self, node: exp.Select) -> Operator:
        env = self._with_ctes(node)
        if env is not self.env:
            return QueryBinder(env, self.outer).bind(without_ctes(node))
        items = list(node.expressions)
        streamer = self._streamer_in(items)
        if streamer is not None:
            call_ = unaliased(items[0])
            inside = list(call_.expressions)
            if isinstance(items[0], exp.Alias) and len(inside) == 1:
                inside = [exp.alias_(inside[0].copy(), items[0].alias)]
            items = inside
        if node.args.get("from_") is None:
            place = self.span(items[0]) if items else None
            raise ExpressionError("a query reads from something", hint="add FROM and a stream or relation", span=place)
        scope = self._from([node.args["from_"].this], node.args)
        assigned = bool(node.args["from_"].this.args.get("assigned"))
        scope = replace(scope, bare_text=assigned, tagged=self.env.dialect == "sneeql")
        if self._mentions(("_phi",), node.args):
            scope = self._with_phi(scope)
        scope = self._where(scope, node.args.get("where"))
        result = self._projected(scope, items, node)
        if is_distinct(node):
            result = Arranger(self.env).above(node, Distinct(result))
        if streamer is None:
            return result
        on = "EVALUATION" if streamer == "rstream" and self._moves_by_distance(node, scope) else None
        return self._streamed(streamer, result, None, on)

    def _with_phi(self, scope: Scope) -> Scope:
        """φ under the name _phi, which * does not show: 001's ρ_{a/φ}."""
        if scope.operator.kind is not Kind.RELATION or "_phi" in scope.operator.schema:
            return scope
        copied = CopyPhi(scope.operator, "_phi")
        return replace(
            scope, operator=copied, entries=[*scope.entries, Entry(None, [], {"_phi": "_phi"})], star=scope.columns
        )

    def _moves_by_distance(self, node: exp.Select, scope: Scope) -> bool:
        """004's SELECT RStream(…) FROM R = s [… SATTR SPACE]: "every time the car moves 10 km the result is
        re-evaluated", whether it is another one or not."""
        window = window_below(scope.operator) if node.args["from_"].this.args.get("assigned") else None
        return window is not None and window.spec.schedule.measure is Measure.DISTANCE

    def _with_ctes(self, node: exp.Expression) -> Environment:
        env = self.env
        with_ = node.args.get("with_")
        if with_ is None:
            return env
        if with_.args.get("recursive"):
            raise ExpressionError("a recursive query is not part of the language")
        for cte in with_.expressions:
            operator = QueryBinder(env).bind(cte.this)
            names = [c.name for c in cte.args["alias"].args.get("columns") or []]
            env = env.with_named(cte.alias, renamed(operator, names, cte.alias) if names else operator)
        return env

    def _streamer_in(self, items: list[exp.Expression]) -> str | None:
        """SELECT ISTREAM(…) FROM …: the streamer, if the list is one."""
        only = unaliased(items[0]) if len(items) == 1 else None
        if isinstance(only, exp.Anonymous) and str(only.this).upper() in STREAMERS:
            return str(only.this).lower()
        return None

    def _from(self, first: list[Item], args: dict[str, object]) -> Scope:
        joins = args.get("joins") or []
        wants_stamps = self._mentions((*PSEUDO, *(TAGS if self.env.dialect == "sneeql" else ())), args)
        where = args.get("where")
        # A subquery compares the tuples of two sides, each with its own stamp.
        subquery = isinstance(where, exp.Expression) and any(True for _ in where.find_all(exp.Select))
        copies = wants_stamps and (bool(joins) or subquery or self.outer is not None)
        binder = FromBinder(self.env, self.outer, lambda q: QueryBinder(self.env).bind(q), copies)
        return binder.bind(first[0], joins)  # type: ignore[arg-type]

    def _mentions(self, names: Collection[str], args: dict[str, object]) -> bool:
        joins: Any = args.get("joins") or []
        parts = [
            *(args.get(k) for k in ("expressions", "where", "group", "having", "distinct", *CHOOSING)),
            *(j.args.get("on") for j in joins),
        ]
        nodes = [n for p in parts for n in (p if isinstance(p, list) else [p]) if isinstance(n, exp.Expression)]
        return any(c.name.lower() in names for n in nodes for c in n.find_all(exp.Column))

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
        for conjunct in conjuncts(where.this):
            inner, negated = subquery_test(conjunct)
            if inner is None:
                if any(True for n in conjunct.find_all(exp.Select, StreamerQuery)):
                    raise ExpressionError(
                        "a subquery stands under OR, NOT or in an expression",
                        hint="it can be a part of WHERE that is joined by AND: IN (…), NOT IN (…), EXISTS (…)",
                    ).at(self.span(conjunct))
                plain.append(conjunct)
        conditions = [self._condition(scope, c) for c in plain]
        if conditions:
            scope = replace(scope, operator=Select(scope.operator, all_of(conditions)))
        for conjunct in conjuncts(where.this):
            inner, negated = subquery_test(conjunct)
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
        inner, conditions = self._test(scope, node, negated)
        how = JoinKind.ANTI if negated else JoinKind.SEMI
        condition = all_of(conditions) if conditions else TRUE
        if scope.operator.kind is Kind.STREAM:
            return LookupJoin(scope.operator, inner, condition, how)
        if scope.operator.kind is Kind.WINDOWS:
            raise PlanError("IN and EXISTS over a stream of windows are not part of SNEEql", hint="join them instead")
        return Join(scope.operator, inner, condition, how)

    def _test(self, scope: Scope, node: exp.In | exp.Exists, negated: bool) -> tuple[Operator, list[Expr]]:
        """The relation that a test looks into, and the conditions on a pair of tuples."""
        query = node.args["query"] if isinstance(node, exp.In) else node.this
        query = query.this if isinstance(query, exp.Subquery) and not is_arranged(query) else query
        inner, correlated, first = self._inner(scope, query, isinstance(node, exp.In))
        for past in node.args.get("past") or []:
            assert isinstance(past, Past)
            inner = FromBinder(self.env, None, lambda q: QueryBinder(self.env).bind(q), False).past(inner, past)
        if inner.kind is not Kind.RELATION:
            raise PlanError(
                f"IN and EXISTS take a relation, and this is a {inner.kind.value}", hint="give its stream a window"
            )
        conditions = list(correlated)
        if isinstance(node, exp.In):
            assert first is not None
            x = self._condition(scope, node.this)
            same = call("=", x, first)
            if negated:
                # NOT IN is true only if no comparison is true or unknown.
                same = call("or", same, call("or", call("isnull", x), call("isnull", first)))
            conditions.append(same)
        return inner, conditions

    def _inner(
        self, scope: Scope, query: exp.Expression, needs_value: bool
    ) -> tuple[Operator, Sequence[Expr], Expr | None]:
        """A subquery: its operator, the conditions that name the outer query, and its one value for IN."""
        simple = (
            isinstance(query, exp.Select)
            and query.args.get("from_") is not None
            and not any(query.args.get(k) for k in ("group", "having", "distinct", "with_", *CHOOSING))
        )
        if simple and isinstance(query, exp.Select) and self._streamer_in(list(query.expressions)) is None:
            binder = QueryBinder(self.env, scope)
            found = binder._from([query.args["from_"].this], query.args)
            if not any(has_aggregate(e) for e in query.expressions):
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
        outside = outer.taken
        where = query.args.get("where")
        local: list[Expr] = []
        correlated: list[Expr] = []
        rest = []
        for conjunct in conjuncts(where.this) if where is not None else []:
            if subquery_test(conjunct)[0] is not None:
                rest.append(conjunct)
                continue
            bound = self._condition(found, conjunct)
            (correlated if bound.columns & outside else local).append(bound)
        if local:
            found = replace(found, operator=Select(found.operator, all_of(local)))
        for conjunct in rest:
            test, negated = subquery_test(conjunct)
            assert test is not None
            inner, conditions = self._test(found, test, negated)
            further = [c for c in conditions if c.columns & outside]
            near = [c for c in conditions if not c.columns & outside]
            if further and negated:
                raise PlanError(
                    "a negated subquery names a query two levels out", hint="break it up with CREATE VIEW"
                ).at(self.span(conjunct))
            # Whether one or several match does not count in EXISTS, so that a condition can move outwards over a join.
            how = JoinKind.INNER if further else JoinKind.ANTI if negated else JoinKind.SEMI
            found = replace(found, operator=Join(found.operator, inner, all_of(near) if near else TRUE, how))
            correlated += further
        value: Expr | None = None
        if not needs_value:
            for item in query.expressions:
                self._items(found, item)  # EXISTS does not look at them, but their names have to be right
        else:
            if len(query.expressions) != 1 or isinstance(query.expressions[0], exp.Star):
                columns = [c for e in found.entries for c in e.columns]
                if len(columns) != 1 or len(query.expressions) != 1:
                    raise ExpressionError("IN takes a query of one attribute", hint="name the attribute in its SELECT")
                value = Column(found.schema[columns[0][1]].type, columns[0][1])
            else:
                value = self._condition(found, unaliased(query.expressions[0]))
        return found.operator, correlated, value

    # ---- SELECT list

    def _projected(self, scope: Scope, items: list[exp.Expression], node: exp.Select) -> Operator:
        arranger = Arranger(self.env, scope, items)
        named = [n for item in items for n in self._items(scope, item, arranger.place)]
        steps = arranger.below(node, named)
        computed = [*(e for _, e in named), *(e for step in steps for e in step.expressions)]
        if node.args.get("group") or node.args.get("having") or any(map(aggregates, computed)):
            try:
                return self._grouped(scope, named, node, steps)
            except AstralError as e:
                about = [i for i in items if any(f"'{c.name}'" in e.message for c in i.find_all(exp.Column))]
                group_is_wrong = "neither a grouping key" in e.message
                raise (e.at(self.span(about[0])) if about and group_is_wrong else e) from None
        unique = uniquely_named(named)
        result = arranged(scope.operator, steps)
        same = [(a.name, Column(a.type, a.name)) for a in result.schema]
        phi = isinstance(scope.operator, CopyPhi) and isinstance(items[0], exp.Star)
        only_stars = phi or all(isinstance(i, exp.Star) for i in items) or shows_places(items)
        return result if only_stars and list(unique) == same else Project(result, unique)

    def _items(self, scope: Scope, node: exp.Expression, place: Place | None = None) -> list[Named]:
        """One item of SELECT: *, alias.*, Stamps(*), or an expression with its name."""
        if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
            star = node if isinstance(node, exp.Star) else node.this
            if any(star.args.values()):
                raise ExpressionError("* takes nothing behind it", hint="name the attributes").at(self.span(node))
            if node.args.get("db") is not None or node.args.get("catalog") is not None:
                raise ExpressionError(f"{node.sql()} has too many parts", hint="write alias.*").at(self.span(node))
            alias = node.table if isinstance(node, exp.Column) else None
            entries = [e for e in scope.entries if not alias or (e.alias or "").lower() == alias.lower()]
            if not entries:
                raise ExpressionError(f"{alias!r} is not in FROM").at(self.span(node))
            columns = [c for e in entries for c in e.columns] if alias else scope.columns
            return [(n, Column(scope.schema[a].type, a)) for n, a in columns]
        if isinstance(node, exp.Anonymous) and str(node.this).lower() == "stamps":
            return self._stamps(scope)
        bound = ScopeBinder(scope, self.env.regions, self.env.source, place=place).bind(unaliased(node))
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

    def _grouped(self, scope: Scope, named: list[Named], node: exp.Select, steps: Sequence[Step]) -> Operator:
        clause = node.args.get("group")
        keys = [self._key(scope, key, named) for key in (clause.expressions if clause is not None else [])]
        having = node.args.get("having")
        condition = None
        if having is not None:
            binder = ScopeBinder(scope, self.env.regions, self.env.source, {n.lower(): e for n, e in named})
            condition = binder.bind(having.this)
        empty_row = self.env.dialect != "cql"
        return group(scope.operator, keys, named, condition, empty_row=empty_row, steps=steps)

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
        if isinstance(node, DivideBy):
            return Divide(left, right)
        how = {exp.Union: SetKind.UNION, exp.Except: SetKind.EXCEPT, exp.Intersect: SetKind.INTERSECT}[type(node)]
        every = node.args.get("distinct") is False
        left, right = same_types(left, right, how)
        in_order, identity = bool(node.args.get("in_order")), bool(node.args.get("identity"))
        if in_order and not (how is SetKind.UNION and every and left.kind is Kind.RELATION):
            raise PlanError("IN ORDER belongs to UNION ALL of two relations", hint="write … UNION ALL IN ORDER …")
        if identity and (how is SetKind.UNION or every):
            raise PlanError("BY IDENTITY belongs to EXCEPT and INTERSECT", hint="write … EXCEPT … BY IDENTITY")
        if in_order or identity:
            return SetOperation(left, right, how, in_order)
        if left.kind is Kind.STREAM and right.kind is Kind.STREAM and how is SetKind.UNION and every:
            both = [Window(side, last_batch()) for side in (left, right)]
            return IStream(SetOperation(both[0], both[1], SetKind.UNION))
        if how is SetKind.UNION and every:
            return SetOperation(left, right, SetKind.UNION)
        return ValueSetOperation(left, right, how, every)
