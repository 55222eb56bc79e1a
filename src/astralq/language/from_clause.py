"""FROM: its items, their windows and past states, and how they are joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from astralq.algebra.base import STAMP, Kind, Operator
from astralq.algebra.domain import at_last_batch, during, fixed_relation, scanned, shifted
from astralq.algebra.grouping import Beside, unique
from astralq.algebra.located import with_location
from astralq.algebra.relational import Join, JoinKind, Named, Product, Project, Rename, Select
from astralq.algebra.schedules import Continuous, Measure, Periodic
from astralq.algebra.scopes import Back
from astralq.algebra.scopes import Scope as WindowScope
from astralq.algebra.sneeql import RowWindows, Scan, TimeWindows, WindowsProduct
from astralq.algebra.sources import StartedAt
from astralq.algebra.stream_ops import LookupJoin, Spread
from astralq.algebra.streamers import IStream
from astralq.algebra.ticks import Tick
from astralq.algebra.windows import Window, WindowSpec, last_batch, unbounded
from astralq.errors import AstralError, ExpressionError, PlanError, SchemaError, Span, nearest
from astralq.expr.functions import call
from astralq.expr.nodes import TRUE, Column, Expr, inside
from astralq.language.environment import Environment
from astralq.language.files import hidden_file
from astralq.language.generators import exploded, generator_of
from astralq.language.hints import hint_for_band
from astralq.language.joins import (
    AS_OF,
    asof,
    attached,
    band,
    check_as_of,
    coalesced,
    common_attributes,
    kind_of,
    placeholder,
    simplest,
    star,
)
from astralq.language.nodes import has_subquery
from astralq.language.ordering import is_arranged
from astralq.language.scope import Entry, Scope, ScopeBinder
from astralq.language.syntax import Bracket, Item, Name, Past, SpreadItem, StreamerQuery
from astralq.language.windows import InRegion, NowScope, ScanEvery, as_spec, read_window
from astralq.space import Region
from astralq.timeline import Instant, duration, instant

BindOn = Callable[[Scope, exp.Expression], tuple[Expr, Sequence[Beside]]]
"""A condition with subqueries, and what they give beside a tuple."""


def apart(operator: Operator, taken: set[str]) -> Operator:
    """The operator with those attributes renamed whose names are taken."""
    used = set(taken)
    pairs = tuple((n, new) for n in operator.schema.names if (new := unique(n, used)) != n)
    return Rename(operator, pairs) if pairs else operator


def renamed(operator: Operator, names: list[str], alias: str) -> Operator:
    """The operator with all of its attributes named anew."""
    if len(names) != len(operator.schema):
        raise SchemaError(f"{alias} names {len(names)} attributes, but there are {len(operator.schema)}")
    pairs = tuple((old, new) for old, new in zip(operator.schema.names, names, strict=True) if old != new)
    return Rename(operator, pairs) if pairs else operator


class FromBinder:
    """Binds a FROM: one item after the other, joined as the text says."""

    def __init__(
        self,
        env: Environment,
        outer: Scope | None,
        bind_query: Callable[[exp.Expression], Operator],
        wants_stamps: bool,
        bind_on: BindOn | None = None,
    ) -> None:
        self.env = env
        self.outer = outer
        self.bind_query = bind_query
        self.wants_stamps = wants_stamps
        self.bind_on = bind_on

    def bind(self, first: Item, joins: list[exp.Join], laterals: Sequence[exp.Lateral] = ()) -> Scope:
        """The scope of all items, and of what LATERAL VIEW makes of them."""
        joins = [*(first.args.get("joins") or []), *joins]
        if first.args.get("as_of") is not None:
            raise ExpressionError("FOR SYSTEM_TIME AS OF stands behind the right side of a join", hint=AS_OF)
        # While a stream is joined with relations, it stands as its last batch; one streamer goes on top (D32).
        current = self._entered(first)
        pending = False
        for join in joins:
            try:
                current, pending = self._joined(current, join, pending)
            except AstralError as e:
                raise e.at(self._span_of(join)) from None
        current = self._finished(current, pending)
        for view in laterals:
            current = exploded(current, view, self._in_scope)
        return current

    def _in_scope(self, scope: Scope, node: exp.Expression) -> Expr:
        return ScopeBinder(scope, self.env.known, self.env.source).bind(node)

    def _finished(self, scope: Scope, pending: bool) -> Scope:
        if not pending:
            return scope
        return replace(scope, operator=simplest(IStream(scope.operator)))

    def _span_of(self, node: exp.Expression) -> Span | None:
        if "start" not in node.meta:
            return None
        return Span.of(self.env.source, node.meta["start"], node.meta["end"] + 1)

    # ---- items

    def _entered(self, item: Item, taken: set[str] | None = None) -> Scope:
        """The scope of one item."""
        inside_ = item.this.this if isinstance(item.this, exp.Subquery) else None
        if isinstance(inside_, Item) and not item.args.get("alias") and not item.postfixes:
            return self._parenthesised(inside_, taken)
        file = hidden_file(item, self.env)
        operator = self._renamed(item, self.item(item), file)
        alias = item.alias or (item.this.name if isinstance(item.this, exp.Table) else None)
        hidden = {n: n for n in file}
        names = [n for n in operator.schema.names if n not in file]
        if self.wants_stamps and operator.stamped:
            operator, stamps = _with_stamps(operator, alias or "tuple")
            hidden |= stamps
        used = set(taken or ()) | (self.outer.taken if self.outer is not None else set())
        renamed = apart(operator, used)
        new = dict(zip(operator.schema.names, renamed.schema.names, strict=True))
        columns = [(n, new[n]) for n in names]
        return Scope(renamed, [Entry(alias, columns, {k: new[v] for k, v in hidden.items()})], self.outer)

    def _parenthesised(self, inside_: Item, taken: set[str] | None) -> Scope:
        """(a JOIN b …) without an alias: its items keep their own."""
        scope = FromBinder(self.env, self.outer, self.bind_query, self.wants_stamps, self.bind_on).bind(inside_, [])
        operator = apart(scope.operator, set(taken or ()))
        new = dict(zip(scope.operator.schema.names, operator.schema.names, strict=True))
        entries = [
            Entry(e.alias, [(n, new[a]) for n, a in e.columns], {n: new[a] for n, a in e.hidden.items()})
            for e in scope.entries
        ]
        return Scope(operator, entries, self.outer, [(n, new[a]) for n, a in scope.columns])

    def _renamed(self, item: Item, operator: Operator, hidden: list[str]) -> Operator:
        """FROM item AS alias(a, b, …) gives the attributes new names, but for what is hidden behind them."""
        alias = item.args.get("alias")
        columns = [c.name for c in alias.args.get("columns") or []] if alias is not None else []
        return renamed(operator, [*columns, *hidden], item.alias) if columns else operator

    def item(self, item: Item) -> Operator:
        """The operator of an item with its windows and past states."""
        operator = self._windowed_or_past(item)
        if self.env.dialect == "cql" and operator.kind is Kind.STREAM:
            return Window(operator, unbounded())
        return operator

    def _windowed_or_past(self, item: Item) -> Operator:
        operator = self._core(item.this)
        names = [item.alias, item.this.name if isinstance(item.this, exp.Table) else ""]
        for postfix in item.postfixes:
            if isinstance(postfix, Bracket):
                operator = self._window(operator, postfix, names)
            else:
                operator = self.past(operator, postfix)
        return operator

    def _core(self, node: exp.Expression) -> Operator:
        match node:
            case exp.Table():
                return self._named(node)
            case SpreadItem():
                if self.env.dialect == "cql":
                    raise PlanError(
                        "CQL has no SPREAD: the batches of a tick count together", hint="use the astral dialect"
                    )
                inner = self._windowed_or_past(node.this)
                names: tuple[Name, ...] = node.args.get("by") or ()
                for name in names:
                    try:
                        inner.schema.index(name.text)
                    except AstralError as e:
                        raise e.at(name.span) from None
                return Spread(inner, tuple(n.text for n in names), bool(node.args.get("all")))
            case exp.Subquery():
                inside_ = node.this
                if isinstance(inside_, Item) and inside_.args.get("joins"):
                    star = exp.Select(expressions=[exp.Star()])
                    star.set("from_", exp.From(this=inside_))
                    return self.bind_query(star)
                return self.bind_query(node if is_arranged(node) else inside_)
            case StreamerQuery():
                return self.bind_query(node)
        raise ExpressionError("expected a stream, a relation, a view or a parenthesised query")

    def _named(self, node: exp.Table) -> Operator:
        found = self.env.named.get(node.name.lower())
        if found is not None and found.operator is None:
            raise BrokenNameError(f"{found.name!r} could not be read")
        if found is None or found.operator is None:
            meta = node.this.meta
            known = [n.name for n in self.env.named.values()]
            error = SchemaError(
                f"unknown stream or relation {node.name!r}",
                hint=nearest(node.name, known)
                or (
                    f"declared are {', '.join(known)}" if known else "declare it with CREATE STREAM or CREATE RELATION"
                ),
            )
            if "start" in meta:
                error.at(Span.of(self.env.source, meta["start"], meta["end"] + 1))
            raise error
        if not found.is_view:
            return Tick(found.operator, self.env.tick) if self.env.dialect == "cql" else found.operator
        # A view keeps the start that was in force where it was created.
        return found.operator if found.t0 == self.env.t0 else StartedAt(found.operator, found.t0)

    def past(self, operator: Operator, past: Past) -> Operator:
        """AT TIMESTAMP, AT START, DELAYED BY, AT LAST BATCH OF and DURING: 001's D_c^f."""
        if past.delay is not None:
            return shifted(operator, past.delay.text)
        if past.stream is not None:
            return at_last_batch(operator, self._core(past.stream))
        if past.during:
            return during(operator, *((_moment(a), None if b is None else _moment(b)) for a, b in past.during))
        if past.moment is None:
            return fixed_relation(operator)
        try:
            return fixed_relation(operator, past.moment.text)
        except AstralError as e:
            raise e.at(past.moment.span) from None

    # ---- windows

    def _window(self, operator: Operator, bracket: Bracket, names: list[str]) -> Operator:
        read = read_window(bracket.text, bracket.start, self.env.source, names)
        try:
            return self._windowed(operator, read)
        except AstralError as e:
            raise e.at(bracket.span) from None

    def _windowed(self, operator: Operator, read: Any) -> Operator:
        sneeql = self.env.dialect == "sneeql"
        match read:
            case ScanEvery(every):
                return Scan(operator, every) if sneeql else scanned(operator, f"{every} us")
            case InRegion(name, spec):
                return self._in_region(operator, name, spec)
            case NowScope(partition=parts, delay=delay) if sneeql and (parts or delay is not None):
                raise PlanError("SNEEql's windows have neither parts nor a delay", hint="use the astral dialect")
            case NowScope(start, end, slide) if sneeql:
                if isinstance(slide, int):
                    assert isinstance(start, int)
                    assert isinstance(end, int)
                    return RowWindows(operator, start, end, slide)
                return TimeWindows(operator, duration(str(start)), duration(str(end)), duration(slide))
            case NowScope():
                return Window(operator, as_spec(read))
        assert isinstance(read, WindowSpec)
        if Measure.DISTANCE in read.measures:
            operator = with_location(operator)
        return Window(operator, self._in_ticks(read) if self.env.dialect == "cql" else read)

    def _in_ticks(self, spec: WindowSpec) -> WindowSpec:
        """CQL: RANGE x holds (t − x, t] at every tick, NOW the tuples of the tick."""
        tick = self.env.tick
        lo, hi = spec.scope.lo, spec.scope.hi
        if spec.scope.measure is not Measure.TIME or not (isinstance(lo, Back) and hi == Back(0)):
            return spec
        open_end = Back(max(0, (lo.amount - 1) // tick * tick))  # the last whole tick after t − x
        scope = WindowScope(Measure.TIME, open_end, hi)
        schedule = Periodic(Measure.TIME, 0, tick) if isinstance(spec.schedule, Continuous) else spec.schedule
        return WindowSpec(schedule, scope, spec.delay, spec.partition)

    def _in_region(self, operator: Operator, name: str, spec: WindowSpec) -> Operator:
        regions = {n: r for n, r in self.env.known.items() if isinstance(r, Region)}
        region = next((r for n, r in regions.items() if n.lower() == name.lower()), None)
        if region is None:
            raise ExpressionError(f"unknown region {name!r}", hint=nearest(name, regions) or "CREATE REGION it")
        operator = with_location(operator)
        if operator.kind is not Kind.STREAM or operator.schema.location is None:
            raise PlanError(
                f"the region {region.name} needs a stream with a location", hint="declare LOCATION BY (lon, lat) on it"
            )
        location = operator.schema.location
        x, y = (Column(operator.schema[n].type, operator.schema[n].name) for n in (location.x, location.y))
        return Select(Window(operator, spec), inside(x, y, region))

    # ---- joins

    def _joined(self, left: Scope, join: exp.Join, pending: bool) -> tuple[Scope, bool]:
        if (generator := generator_of(join.this)) is not None:
            if any(join.args.get(part) for part in ("on", "using", "side", "kind", "method", "lookup", "within")):
                raise PlanError("explode stands behind a comma, without a condition", hint="write it in WHERE")
            return exploded(self._finished(left, pending), generator, self._in_scope), False
        as_of = join.this.args.get("as_of")
        lookup, within = bool(join.args.get("lookup")) or as_of is not None, join.args.get("within")
        if pending and (lookup or within is not None):
            left, pending = self._finished(left, True), False
        if as_of is not None:
            check_as_of(left, as_of, ScopeBinder(left, self.env.known, self.env.source))
        # a JOIN b JOIN c ON … ON …: the inner join stands behind b, as if in parentheses.
        nested = bool(join.this.args.get("joins"))
        right = (self._parenthesised if nested else self._entered)(join.this, left.taken)
        aliases = {(e.alias or "").lower() for e in left.entries if e.alias}
        twice = [e.alias for e in right.entries if (e.alias or "").lower() in aliases]
        if twice:
            raise SchemaError(f"{twice[0]!r} is in FROM twice", hint="give one of them another alias")
        how = kind_of(join)
        both = Scope(placeholder(left, right), [*left.entries, *right.entries], self.outer)
        condition, kept, using = self._condition(both, left, right, join)
        if join.args.get("on") is not None and has_subquery(join.args["on"]):
            left, condition = self._with_subqueries(left, right, both, join, pending)
        a, b = left.operator, right.operator
        if a.kind is Kind.WINDOWS or b.kind is Kind.WINDOWS:
            if how is not JoinKind.INNER:
                raise PlanError(
                    f"a {how.value} of windows is not part of SNEEql", hint="join them without LEFT, RIGHT …"
                )
            operator: Operator = WindowsProduct(a, b)
            operator = operator if condition == TRUE else Select(operator, condition)
        elif (join.args.get("method") or "").upper() == "ASOF":
            operator = asof(a, b, condition, how, pending=pending, plain=not lookup and within is None)
        elif within is not None:
            operator = band(a, b, condition, within, how)
        elif lookup:
            operator = LookupJoin(a, b, condition, how)
        else:
            sides = [Window(o, last_batch()) if o.kind is Kind.STREAM else o for o in (a, b)]
            if (a.kind is Kind.STREAM and b.kind is Kind.STREAM) or (pending and b.kind is Kind.STREAM):
                raise PlanError(
                    "two streams are joined without a band",
                    hint=hint_for_band(join.args.get("on")),
                )
            pending = pending or Kind.STREAM in (a.kind, b.kind)
            plain = join.args.get("on") is None and condition == TRUE and how is JoinKind.INNER
            operator = Product(sides[0], sides[1]) if plain else Join(sides[0], sides[1], condition, how)
        entries = left.entries if how in (JoinKind.SEMI, JoinKind.ANTI) else [*left.entries, *kept]
        shown = star(left, right if len(entries) > len(left.entries) else None, using)
        if kept is not right.entries and how in (JoinKind.RIGHT, JoinKind.FULL):
            operator, entries, moved = coalesced(operator, left, right, kept)
            shown = [(n, moved.get(a, a)) for n, a in shown]
        return Scope(operator, entries, self.outer, shown), pending

    def _with_subqueries(
        self, left: Scope, right: Scope, both: Scope, join: exp.Join, pending: bool
    ) -> tuple[Scope, Expr]:
        """The left side with what the subqueries of ON give beside its tuples, and the condition."""
        if self.bind_on is None:
            raise ExpressionError("a subquery cannot stand here", hint="put it into WHERE")
        decided = join.args.get("lookup") or join.args.get("within") is not None
        if pending or (Kind.STREAM in (left.operator.kind, right.operator.kind) and not decided):
            raise PlanError(
                "a subquery stands in the condition of a stream's join with a relation",
                hint="put it into WHERE, or use LOOKUP JOIN",
            )
        condition, beside = self.bind_on(both, join.args["on"])
        own = {n.lower() for n in left.operator.schema.names}
        if any(not e.columns <= own for b in beside for e, _, _ in b.on):
            raise PlanError(
                "a subquery in ON is compared with the right side", hint="put it into WHERE, or into a subquery in FROM"
            )
        return replace(left, operator=attached(left.operator, beside)), condition

    def _condition(self, both: Scope, left: Scope, right: Scope, join: exp.Join) -> tuple[Expr, list[Entry], list[str]]:
        """The condition of ON, USING or NATURAL; the right side's items as they can be named then; what is common."""
        if join.args.get("on") is not None:
            if has_subquery(join.args["on"]):
                return TRUE, right.entries, []  # which is bound beside the left side
            return ScopeBinder(both, self.env.known, self.env.source).bind(join.args["on"]), right.entries, []
        names = [n.name for n in join.args.get("using") or []]
        if (join.args.get("method") or "").upper() == "NATURAL":
            names = common_attributes(left, right, join.args.get("within") is not None)
        if not names:
            return TRUE, right.entries, []
        condition: Expr = TRUE
        for name in names:
            pair = [s.resolve(name, None) for s in (left, right)]
            same = call("=", *(Column(s.operator.schema[a].type, a) for s, a in zip((left, right), pair, strict=True)))
            condition = same if condition == TRUE else call("and", condition, same)
        dropped = {n.lower() for n in names}
        kept = [
            Entry(
                e.alias,
                [c for c in e.columns if c[0].lower() not in dropped],
                {**e.hidden, **{n.lower(): a for n, a in e.columns}},
            )
            for e in right.entries
        ]
        return condition, kept, [n.lower() for n in names]


def _moment(name: Name) -> Instant:
    try:
        return instant(name.text)
    except AstralError as e:
        raise e.at(name.span) from None


class BrokenNameError(AstralError):
    """A name whose declaration was wrong, which has been told already."""


def _with_stamps(operator: Operator, alias: str) -> tuple[Operator, dict[str, str]]:
    """The operator with its pseudo-columns copied into attributes, which later joins keep."""
    taken = {n.lower() for n in operator.schema.names}
    hidden = {a.name: unique(f"{alias}{a.name}", taken) for a in STAMP}
    items: list[Named] = [(a.name, Column(a.type, a.name)) for a in operator.schema]
    items += [(hidden[a.name], Column(a.type, a.name)) for a in STAMP]
    return Project(operator, tuple(items)), hidden
