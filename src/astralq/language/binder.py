"""From queries to the algebra: what is a stream and what a relation, names, subqueries, groups, streamers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from astralq.algebra.base import PSEUDO, Kind, Operator
from astralq.algebra.bounds import with_bounds
from astralq.algebra.evaluations import RStreamOnEvaluation
from astralq.algebra.grouping import Beside, uniquely_named
from astralq.algebra.ordering import Chosen, Step, arranged
from astralq.algebra.phi import CopyPhi
from astralq.algebra.relational import (
    Distinct,
    Named,
    Project,
    Select,
)
from astralq.algebra.retention import window_below
from astralq.algebra.schedules import Measure
from astralq.algebra.streamers import DStream, Identity, IStream, RStream
from astralq.errors import AstralError, ExpressionError, PlanError, SchemaError, Span, nearest
from astralq.expr.nodes import Column, Expr
from astralq.language.bounds import keys_without_bounds, names_bounds
from astralq.language.declarations import amount
from astralq.language.environment import Environment
from astralq.language.files import is_file
from astralq.language.from_clause import FromBinder, renamed
from astralq.language.groups import grouped, grouping_sets
from astralq.language.joins import attached
from astralq.language.nodes import (
    aggregates,
    all_of,
    conjuncts,
    has_subquery,
    nothing,
    subquery_test,
    unaliased,
    values,
    without_ctes,
)
from astralq.language.ordering import CHOOSING, Arranger, is_distinct, shows_places
from astralq.language.scope import TAGS, Entry, Scope, ScopeBinder, refuse_grouping
from astralq.language.set_operations import set_operation
from astralq.language.subqueries import SubqueryBinder, tested
from astralq.language.syntax import STREAMERS, Item, Name, StreamerQuery
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
            case exp.Values():
                bind = ScopeBinder(nothing(), self.env.known, self.env.source).bind
                return Arranger(self.env).above(node, values(node, bind))
            case Item():
                return self.from_items([node], {}).shown
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
        streamer = self.streamer_in(items)
        if streamer is not None:
            call_ = unaliased(items[0])
            inside = list(call_.expressions)
            if isinstance(items[0], exp.Alias) and len(inside) == 1:
                inside = [exp.alias_(inside[0].copy(), items[0].alias)]
            items = inside
        if node.args.get("from_") is None:
            place = self.span(items[0]) if items else None
            raise ExpressionError("a query reads from something", hint="add FROM and a stream or relation", span=place)
        scope = self.from_items([node.args["from_"].this], node.args)
        assigned = bool(node.args["from_"].this.args.get("assigned"))
        scope = replace(scope, bare_text=assigned, tagged=self.env.dialect == "sneeql")
        if self._mentions(("_phi",), node.args):
            scope = self._with_phi(scope)
        scope = replace(self._where(scope, node.args.get("where")), bounded=scope.operator.kind is Kind.RELATION)
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

    def streamer_in(self, items: list[exp.Expression]) -> str | None:
        """SELECT ISTREAM(…) FROM …: the streamer, if the list is one."""
        only = unaliased(items[0]) if len(items) == 1 else None
        if isinstance(only, exp.Anonymous) and str(only.this).upper() in STREAMERS:
            return str(only.this).lower()
        return None

    def from_items(self, first: list[Item], args: dict[str, object]) -> Scope:
        joins = args.get("joins") or []
        wants_stamps = self._mentions((*PSEUDO, *(TAGS if self.env.dialect == "sneeql" else ())), args)
        # A subquery compares the tuples of two sides, each with its own stamp.
        subquery = any(has_subquery(n) for n in self._parts(args))
        copies = wants_stamps and (bool(joins) or subquery or self.outer is not None)
        binder = FromBinder(self.env, self.outer, self.bind_alone, copies, self._on)
        return binder.bind(first[0], joins, args.get("laterals") or ())  # type: ignore[arg-type]

    def _mentions(self, names: Collection[str], args: dict[str, object]) -> bool:
        return any(c.name.lower() in names for n in self._parts(args) for c in n.find_all(exp.Column))

    def _parts(self, args: dict[str, object]) -> list[exp.Expression]:
        """The expressions of a SELECT."""
        joins: Any = args.get("joins") or []
        parts = [
            *(args.get(k) for k in ("expressions", "where", "group", "having", "distinct", *CHOOSING)),
            *(j.args.get("on") for j in joins),
        ]
        return [n for p in parts for n in (p if isinstance(p, list) else [p]) if isinstance(n, exp.Expression)]

    # ---- WHERE

    def _where(self, scope: Scope, where: exp.Where | None) -> Scope:
        if where is None:
            return scope
        if not has_subquery(where):
            try:
                return replace(scope, operator=Select(scope.operator, self.condition(scope, where.this)))
            except AstralError as e:
                raise e.at(self.span(where.this)) from None
        parts = conjuncts(where.this)
        plain = [self.condition(scope, c) for c in parts if not has_subquery(c)]
        if plain:
            scope = replace(scope, operator=Select(scope.operator, all_of(plain)))
        tests = [c for c in parts if subquery_test(c)[0] is not None]
        for conjunct in (c for c in parts if has_subquery(c) and c not in tests):
            scope = self.selected(scope, conjunct)
        for conjunct in tests:
            node, negated = subquery_test(conjunct)
            assert node is not None
            try:
                scope = replace(scope, operator=tested(self, scope, node, negated))
            except AstralError as e:
                raise e.at(self.span(conjunct)) from None
        return scope

    def selected(self, scope: Scope, condition: exp.Expression) -> Scope:
        """The scope below a condition with subqueries anywhere in it."""
        binder = SubqueryBinder(self, scope)
        try:
            bound = binder.bind_condition(condition)
            operator = attached(scope.operator, [*binder.below, *binder.around])
            return replace(scope, operator=Select(operator, bound))
        except AstralError as e:
            raise e.at(self.span(condition)) from None

    def condition(self, scope: Scope, node: exp.Expression) -> Expr:
        """An expression without subqueries."""
        return ScopeBinder(scope, self.env.known, self.env.source).bind(node)

    def _on(self, scope: Scope, node: exp.Expression) -> tuple[Expr, list[Beside]]:
        """The condition of a join, with what its subqueries give beside a tuple."""
        binder = SubqueryBinder(self, scope)
        condition = binder.bind_condition(node)
        return condition, [*binder.below, *binder.around]

    def inside(self, scope: Scope) -> QueryBinder:
        """The binder of a subquery that may name this query."""
        return QueryBinder(self.env, scope)

    def bind_alone(self, query: exp.Expression) -> Operator:
        """A query that names no other."""
        return QueryBinder(self.env).bind(query)

    # ---- SELECT list

    def _projected(self, scope: Scope, items: list[exp.Expression], node: exp.Select) -> Operator:
        arranger = Arranger(self.env, scope, items)
        taken = scope.taken | {i.alias.lower() for i in items if i.alias}
        binder = SubqueryBinder(self, scope, taken=taken, place=arranger.place)
        named = [n for item in items for n in self.items(scope, item, binder)]
        steps = arranger.below(node, named)
        computed = [*(e for _, e in named), *(e for step in steps for e in step.expressions)]
        if node.args.get("group") or node.args.get("having") or any(map(aggregates, computed)):
            try:
                return self._grouped(scope, named, node, binder, steps)
            except AstralError as e:
                about = [i for i in items if any(f"'{c.name}'" in e.message for c in i.find_all(exp.Column))]
                group_is_wrong = "neither a grouping key" in e.message
                raise (e.at(self.span(about[0])) if about and group_is_wrong else e) from None
        refuse_grouping(e for _, e in named)
        bounded = names_bounds(scope, computed)
        operator = with_bounds(scope.operator) if bounded else scope.operator
        operator = attached(operator, [*binder.below, *binder.around])
        unique = uniquely_named(named)
        result = arranged(operator, steps)
        same = [(a.name, Column(a.type, a.name)) for a in result.schema]
        more = (bounded or isinstance(scope.operator, CopyPhi)) and isinstance(items[0], exp.Star)
        only_stars = more or all(isinstance(i, exp.Star) for i in items if not is_file(i)) or shows_places(items)
        return result if only_stars and list(unique) == same else Project(result, unique)

    def items(self, scope: Scope, node: exp.Expression, binder: ScopeBinder | None = None) -> list[Named]:
        """One item of SELECT: *, alias.*, Stamps(*), or an expression with its name."""
        if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
            star = node if isinstance(node, exp.Star) else node.this
            if any(v for k, v in star.args.items() if k != "except_"):
                raise ExpressionError("* takes nothing but EXCEPT behind it", hint="name the attributes").at(
                    self.span(node)
                )
            if node.args.get("db") is not None or node.args.get("catalog") is not None:
                raise ExpressionError(f"{node.sql()} has too many parts", hint="write alias.*").at(self.span(node))
            alias = node.table if isinstance(node, exp.Column) else None
            entries = [e for e in scope.entries if not alias or (e.alias or "").lower() == alias.lower()]
            if not entries:
                raise ExpressionError(f"{alias!r} is not in FROM").at(self.span(node))
            columns = [c for e in entries for c in e.columns] if alias else scope.columns
            dropped = star.args.get("except_") or []
            columns = self._but(columns, dropped if isinstance(dropped, list) else [dropped])
            return [(n, Column(scope.schema[a].type, a)) for n, a in columns]
        if isinstance(node, exp.Anonymous) and str(node.this).lower() == "stamps":
            return self._stamps(scope)
        bound = (binder or ScopeBinder(scope, self.env.known, self.env.source)).bind(unaliased(node))
        if isinstance(node, exp.Alias):
            return [(node.alias, bound)]
        if isinstance(node, exp.Column):
            return [(node.name, bound)]
        return [(str(node.meta.get("text") or node.sql("spark", normalize_functions=False)), bound)]

    def _but(self, columns: list[tuple[str, str]], names: list[exp.Expression]) -> list[tuple[str, str]]:
        """What * shows, without the attributes behind EXCEPT."""
        there = [n for n, _ in columns]
        for name in names:
            if not isinstance(name, exp.Column) or any(name.args.get(k) for k in ("table", "db", "catalog")):
                raise ExpressionError("EXCEPT takes names of attributes", hint="write * EXCEPT (a, b)").at(
                    self.span(name)
                )
            if name.name.lower() not in [n.lower() for n in there]:
                raise SchemaError(
                    f"EXCEPT names {name.name!r}, which * does not show", hint=nearest(name.name, there)
                ).at(self.span(name))
        dropped = {n.name.lower() for n in names}
        kept = [c for c in columns if c[0].lower() not in dropped]
        if not kept:
            raise ExpressionError("* EXCEPT leaves no attribute", hint="name what is wanted")
        return kept

    def _stamps(self, scope: Scope) -> list[Named]:
        """004's Stamps(*): the spatial and the temporal stamp of each tuple."""
        schema = scope.schema
        if schema.location is None or "_t" not in schema:
            raise PlanError("Stamps(*) needs tuples of a stream with a location", hint="declare LOCATION BY (lon, lat)")
        names = (schema.location.x, schema.location.y)
        return [*((n, Column(schema[n].type, schema[n].name)) for n in names), ("t", Column(schema["_t"].type, "_t"))]

    def _grouped(
        self, scope: Scope, named: list[Named], node: exp.Select, binder: SubqueryBinder, steps: Sequence[Step]
    ) -> Operator:
        sets = grouping_sets(node.args.get("group"), named, lambda key: self._key(scope, key, named, binder))
        # What a key is made of stands beside the tuples, not beside their groups.
        binder.move_below({name for keys in sets for _, e in keys for name in e.columns})
        having = node.args.get("having")
        condition = None
        if having is not None:
            binder.aliases = {n.lower(): e for n, e in named}
            condition = binder.bind_condition(having.this)
        child = attached(scope.operator, binder.below)
        computed = [*(e for _, e in named), *(e for step in steps for e in step.expressions)]
        computed += [] if condition is None else [condition]
        keys = sets[0]
        sets, bounds = keys_without_bounds(scope, sets, computed), names_bounds(scope, computed)
        # A group has tuples; a whole may have none.
        empty_row = self.env.dialect != "cql" and (bool(sets[0]) or not keys)
        beside = binder.around
        if len(sets) == 1:
            return grouped(
                child, sets, named, condition, empty_row=empty_row, beside=beside, steps=steps, bounds=bounds
            )
        if any(isinstance(step, Chosen) and step.rank is not None for step in steps) or node.args.get("qualify"):
            raise PlanError(
                "ROW_NUMBER() OVER (…) stands beside several grouping sets",
                hint="number the rows in an outer query: SELECT * FROM (SELECT … GROUP BY …) QUALIFY …",
            )
        union = grouped(child, sets, named, condition, empty_row=empty_row, beside=beside, bounds=bounds)
        return union if is_distinct(node) else Arranger(self.env).above(node, union)

    def _key(self, scope: Scope, node: exp.Expression, named: list[Named], binder: ScopeBinder) -> Named:
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
        bound = binder.bind(node)
        name = node.name if isinstance(node, exp.Column) else node.sql("spark")
        return name, bound

    # ---- set operations

    def _set_operation(self, node: exp.SetOperation) -> Operator:
        env = self._with_ctes(node)
        left, right = (QueryBinder(env, self.outer).bind(n) for n in (node.this, node.expression))
        return set_operation(node, left, right)
