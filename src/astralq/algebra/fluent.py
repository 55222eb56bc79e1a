"""The fluent Python API: queries as chains of methods over the operators of the algebra."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

from astralq.algebra import domain, sneeql, stream_ops
from astralq.algebra.asof import AsofJoin
from astralq.algebra.base import Kind, Operator
from astralq.algebra.bounds import with_bounds
from astralq.algebra.evaluations import RStreamOnEvaluation
from astralq.algebra.explode import Explode
from astralq.algebra.fluent_joins import join_kind, natural_or_on
from astralq.algebra.grouping import group, uniquely_named
from astralq.algebra.located import with_location
from astralq.algebra.ordering import Limit, OrderBy, sort_keys
from astralq.algebra.phi import CopyPhi, phi_form
from astralq.algebra.relational import (
    Distinct,
    Divide,
    Join,
    JoinKind,
    Named,
    Product,
    Project,
    Rename,
    Select,
    SetKind,
    SetOperation,
    ValueSetOperation,
    copy_phi,
    natural_join,
)
from astralq.algebra.schedules import Measure
from astralq.algebra.sources import StartedAt
from astralq.algebra.stream_ops import BandJoin, Composite, LookupJoin, Spread, StreamJoin, StreamProduct
from astralq.algebra.streamers import DStream, Identity, IStream, RStream
from astralq.algebra.windows import Window, WindowSpec, unbounded
from astralq.callables import PythonFunction
from astralq.errors import PlanError
from astralq.expr.nodes import Column, Expr, inside
from astralq.expr.parse import Known, expression, named_expression, split_list
from astralq.schema import Schema
from astralq.space import Region
from astralq.timeline import BatchId, Instant, duration, instant

Columns = str | Iterable[str]


class Query:
    """A query under construction; `operator` is what has been built so far."""

    _kind: Kind

    def __init__(self, operator: Operator) -> None:
        if operator.kind is not self._kind:
            raise PlanError(f"this is a {operator.kind.value}, not a {self._kind.value}:\n{operator}")
        self.operator = operator

    def __repr__(self) -> str:
        return str(self.operator)

    def _repr_html_(self) -> str:
        return self.operator._repr_html_()

    @property
    def schema(self) -> Schema:
        """The attributes of its tuples."""
        return self.operator.schema

    def explain(self) -> str:
        """The plan as a tree, with each operator's kind and attributes."""
        return self.operator.explain()

    def where(self, condition: str | Expr, **named: Region | PythonFunction) -> Self:
        """σ: the tuples for which the condition is true, with the regions and Python functions that it names."""
        return type(self)(Select(self.operator, _expr(condition, self.operator.readable, named)))

    def select(self, *items: str, **named: Region | PythonFunction) -> Self:
        """Π: attributes and expressions; `*` is all attributes, `expression AS name` names one. Known and Python
        functions come with their names.

        >>> from astralq import stream
        >>> stream("S", "id INT, v DOUBLE").select("id, v * 2 AS twice")
        PROJECT id, v * 2 AS twice
        └─ STREAM S
        """
        return type(self)(Project(self.operator, uniquely_named(_items(items, self.operator, named))))

    def rename(self, names: Mapping[str, str]) -> Self:
        """ρ: new names for attributes, as {old: new}; the old name φ copies the position instead, or the path as a
        text where φ is no position."""
        renamed = self.operator
        if "φ" in names:
            is_position = renamed.stamped and phi_form(renamed) == ("position",)
            renamed = (copy_phi if is_position else CopyPhi)(renamed, names["φ"])
        pairs = tuple((old, new) for old, new in names.items() if old != "φ")
        return type(self)(Rename(renamed, pairs) if pairs else renamed)

    def explode(self, array: str, *names: str, outer: bool = False) -> Self:
        """Each tuple once for each element of an array, or each entry of a map.

        >>> from astralq import stream
        >>> stream("S", "id INT, tags ARRAY<STRING>").explode("tags", "tag").schema.names
        ('id', 'tags', 'tag')
        """
        return type(self)(Explode(self.operator, expression(array, self.operator.readable), names, outer))

    def started_at(self, t0: str | Instant) -> Self:
        """The query with its own start t0, for use inside another."""
        return type(self)(StartedAt(self.operator, instant(t0)))


class StreamQuery(Query):
    """A stream: windows, spread, joins with relations and with other streams.

    >>> from astralq import stream
    >>> stream("S", "id INT, v DOUBLE").where("v > 25").spread("id")
    SPREAD BY id
    └─ SELECT v > 25
       └─ STREAM S
    """

    _kind = Kind.STREAM

    def __getitem__(self, window: WindowSpec | Region) -> RelationQuery:
        """A window over the stream; a region gives the tuples inside it so far (004 §3.2.1).

        >>> from astralq import rows, stream
        >>> stream("S", "v DOUBLE")[rows(10)]
        WINDOW [ROWS 10]
        └─ STREAM S
        """
        if isinstance(window, Region):
            return self._stationary(window)
        if not isinstance(window, WindowSpec):
            raise PlanError(f"{window!r} is not a window", hint="use range_(…), rows(…) or another window, or a Region")
        of = with_location(self.operator) if Measure.DISTANCE in window.measures else self.operator
        return RelationQuery(Window(of, window))

    def _stationary(self, region: Region) -> RelationQuery:
        location = self.schema.location
        if location is None:
            raise PlanError(
                f"the region {region.name} needs to know where a tuple is, but the stream has no location",
                hint="declare LOCATION BY (lon, lat) on the stream",
            )
        x, y = (Column(self.schema[n].type, n) for n in (location.x, location.y))
        return RelationQuery(Select(Window(self.operator, unbounded()), inside(x, y, region)))

    def spread(self, *attributes: str) -> StreamQuery:
        """▷: batches split by the values of attributes; without any, every tuple is a batch (001 D35)."""
        return StreamQuery(Spread(self.operator, attributes))

    def spread_all(self, *attributes: str) -> StreamQuery:
        """◁: the batches of an instant put together, then spread (001 D35)."""
        return StreamQuery(Spread(self.operator, attributes, all=True))

    def product(self, relation: RelationQuery) -> StreamQuery:
        """S × R, sensitive to both sides (001 D31)."""
        return StreamQuery(StreamProduct(self.operator, relation.operator))

    def join(self, relation: RelationQuery, on: str | None = None, how: str = "inner") -> StreamQuery:
        """S ⋈ R: a tuple for every new match, whichever side brought it; natural without `on` (001 D32)."""
        return self._joined(StreamJoin, relation, on, how)

    def lookup(self, relation: RelationQuery, on: str | None = None, how: str = "inner") -> StreamQuery:
        """The semi-sensitive join: the relation as it is when a tuple arrives; natural without `on` (001 D33)."""
        return self._joined(LookupJoin, relation, on, how)

    def band(
        self,
        other: StreamQuery,
        within: str | None = None,
        *,
        rows: int | None = None,
        on: str | None = None,
        how: str = "inner",
    ) -> StreamQuery:
        """S1 ⋈^d S2: pairs whose timestamps, or positions, differ by at most d; natural without `on` (001 D34).

        `how` may be left, right, full or anti, by time: tuples without a match come d and a microsecond later.
        """
        d = None if within is None else duration(within)

        def build(right: Operator, condition: Expr) -> Operator:
            return BandJoin(self.operator, right, condition, d, rows, join_kind(how))

        right = other.operator if on is not None else stream_ops.timestamps_apart(self.operator, other.operator)
        return StreamQuery(natural_or_on(self.operator, right, on, build, keeps_right=how != "anti"))

    def windows(self, start: str | int, end: str | int, slide: str | int) -> WindowsQuery:
        """SNEEql's stream of windows FROM NOW-start TO NOW-end SLIDE slide; integers count rows (003 §4)."""
        if isinstance(slide, int):
            if not (isinstance(start, int) and isinstance(end, int)):
                raise PlanError("a window that slides by rows counts its bounds in rows", hint="give integers")
            return WindowsQuery(sneeql.RowWindows(self.operator, start, end, slide))
        if isinstance(start, int) or isinstance(end, int):
            raise PlanError("a window that slides by time counts its bounds in time", hint="give durations")
        return WindowsQuery(sneeql.TimeWindows(self.operator, duration(start), duration(end), duration(slide)))

    def _joined(
        self, operator: type[StreamJoin | LookupJoin], relation: RelationQuery, on: str | None, how: str
    ) -> StreamQuery:
        kind = join_kind(how)

        def build(right: Operator, condition: Expr) -> Composite:
            return operator(self.operator, right, condition, kind)

        keeps_right = kind not in (JoinKind.SEMI, JoinKind.ANTI)
        return StreamQuery(natural_or_on(self.operator, relation.operator, on, build, keeps_right=keeps_right))


class _Grouped(Query):
    """What relations and streams of windows share."""

    def aggregate(self, *items: str, by: Columns = (), **named: Region | PythonFunction) -> Self:
        """Aggregates, global or by keys; expressions of several aggregates are allowed.

        >>> from astralq.algebra.windows import range_
        >>> from astralq import stream
        >>> stream("S", "id INT, v DOUBLE")[range_("1 min")].aggregate("avg(v) AS mean", by="id")
        AGGREGATE avg(v) AS mean BY id
        └─ WINDOW [RANGE 1 MINUTE]
           └─ STREAM S
        """
        keys = _items(_texts(by), self.operator, named)
        wanted = [named_expression(t, self.operator.readable, named) for text in items for t in split_list(text)]
        return type(self)(group(self.operator, keys, [*keys, *wanted]))

    def distinct(self) -> Self:
        """The different values, ordered and identified by value."""
        return type(self)(Distinct(self.operator))

    def window_bounds(self) -> Self:
        """With the attributes window_start and window_end: the bounds of the one window that a state shows."""
        return type(self)(with_bounds(self.operator))


class RelationQuery(_Grouped):
    """A temporal relation: relational operators, past states, and streamers.

    >>> from astralq import relation
    >>> relation("R", "id INT, zone INT").where("zone = 7016").at_start().istream()
    ISTREAM
    └─ AT START
       └─ SELECT zone = 7016
          └─ RELATION R
    """

    _kind = Kind.RELATION

    def order_by(self, *keys: str) -> RelationQuery:
        """Another order: φ becomes (x, φ); each key may have DESC, and NULLS FIRST or LAST.

        >>> from astralq import relation
        >>> relation("R", "id INT, v DOUBLE").order_by("v DESC", "id").limit(3)
        LIMIT 3
        └─ ORDER BY v DESC, id
           └─ RELATION R
        """
        return RelationQuery(OrderBy(self.operator, sort_keys(keys, self.operator.readable)))

    def limit(
        self, count: int | None, *, per: Columns = (), by: Columns = (), skip: int = 0, rank: str | None = None
    ) -> RelationQuery:
        """Of each state the first tuples, `per` group if that is given: in their order, or `by` another one, which they
        do not get. `rank` names an attribute with each tuple's place.

        >>> from astralq import relation
        >>> relation("R", "id INT, v DOUBLE").limit(1, per="id", by="v DESC")
        LIMIT 1 PER id BY v DESC
        └─ RELATION R
        """
        readable = self.operator.readable
        groups = tuple(expression(t, readable) for t in _texts(per))
        return RelationQuery(Limit(self.operator, count, groups, sort_keys(_texts(by), readable), skip, False, rank))

    def product(self, other: RelationQuery) -> RelationQuery:
        """×, left first (001 D17)."""
        return RelationQuery(Product(self.operator, other.operator))

    def join(self, other: RelationQuery, on: str | None = None, how: str = "inner") -> RelationQuery:
        """⋈: natural without `on`; how is inner, left, right, full, semi, anti or single (001 D20)."""
        kind = join_kind(how)
        if on is None and kind is JoinKind.INNER:
            return RelationQuery(natural_join(self.operator, other.operator))
        keeps_right = kind not in (JoinKind.SEMI, JoinKind.ANTI)
        if on is None and keeps_right:
            raise PlanError(f"a {kind.value} without a condition", hint="give on=…")

        def build(right: Operator, condition: Expr) -> Operator:
            return Join(self.operator, right, condition, kind)

        return RelationQuery(natural_or_on(self.operator, other.operator, on, build, keeps_right=keeps_right))

    def asof(self, other: RelationQuery, on: str, how: str = "inner") -> RelationQuery:
        """Each tuple with the nearest of another relation, in each state: on="k = id AND x >= y"; how is inner or left.

        >>> from astralq import relation
        >>> trades = relation("T", "k INT, x INT")
        >>> trades.asof(relation("Q", "id INT, y INT, price DOUBLE"), on="k = id AND x >= y")
        ASOF JOIN ON k = id AND x >= y
        ├─ RELATION T
        └─ RELATION Q
        """
        condition = expression(on, self.schema.concat(other.schema))
        return RelationQuery(AsofJoin(self.operator, other.operator, condition, join_kind(how)))

    def union(self, other: RelationQuery, *, in_order: bool = False) -> RelationQuery:
        """∪: this relation's tuples, then the other's (001 D19); `in_order`: all in the order of φ (002 §6)."""
        return RelationQuery(SetOperation(self.operator, other.operator, SetKind.UNION, in_order))

    def intersection(self, other: RelationQuery) -> RelationQuery:
        """∩: the tuples with the same φ and values in both."""
        return self._set(other, SetKind.INTERSECT)

    def difference(self, other: RelationQuery) -> RelationQuery:
        """−: the tuples whose φ and values are not in the other (001 D18)."""
        return self._set(other, SetKind.EXCEPT)

    def union_values(self, other: RelationQuery) -> RelationQuery:
        """SQL's UNION, by value."""
        return self._values(other, SetKind.UNION, False)

    def intersect_values(self, other: RelationQuery, *, all: bool = False) -> RelationQuery:
        """SQL's INTERSECT [ALL], by value."""
        return self._values(other, SetKind.INTERSECT, all)

    def except_values(self, other: RelationQuery, *, all: bool = False) -> RelationQuery:
        """SQL's EXCEPT [ALL], by value."""
        return self._values(other, SetKind.EXCEPT, all)

    def divide(self, other: RelationQuery) -> RelationQuery:
        """÷: the values that go with every tuple of the other."""
        return RelationQuery(Divide(self.operator, other.operator))

    def at(self, when: str | Instant) -> RelationQuery:
        """R^ts: the relation frozen at an instant, its state at (ts, 0) (001 D22)."""
        return RelationQuery(domain.fixed_relation(self.operator, when))

    def at_start(self) -> RelationQuery:
        """R^t0: the relation frozen at the query's start."""
        return RelationQuery(domain.fixed_relation(self.operator))

    def delayed(self, by: str) -> RelationQuery:
        """The relation as it was some time ago."""
        return RelationQuery(domain.shifted(self.operator, by))

    def scanned(self, every: str) -> RelationQuery:
        """The relation as of the last t0 + k·every."""
        return RelationQuery(domain.scanned(self.operator, every))

    def past(
        self, text: str, f: Callable[[BatchId], BatchId], inverse: Callable[[BatchId], BatchId | None]
    ) -> RelationQuery:
        """D^f: the relation at f(t, i), for any non-decreasing f ≤ identity and its generalised inverse (001 D21)."""
        return RelationQuery(domain.Domain(self.operator, domain.Custom(text, f, inverse)))

    def during(self, start: str | Instant, end: str | Instant | None = None) -> RelationQuery:
        """D_c: the relation in [start, end), and nothing outside (001 D21)."""
        return RelationQuery(domain.during(self.operator, (start, end)))

    def scan(self, every: str) -> WindowsQuery:
        """SNEEql's SCAN: a stream of windows, one at every t0 + k·every (003 §4)."""
        return WindowsQuery(sneeql.Scan(self.operator, duration(every)))

    def istream(self, every: str | None = None, *, by_value: bool = False) -> StreamQuery:
        """I_S: what was inserted (001 D24)."""
        return StreamQuery(IStream(self.operator, _period(every), _identity(by_value)))

    def dstream(self, every: str | None = None, *, by_value: bool = False) -> StreamQuery:
        """D_S: what was deleted (001 D24)."""
        return StreamQuery(DStream(self.operator, _period(every), _identity(by_value)))

    def rstream(self, every: str | None = None, *, on_insert: bool = False, on_evaluation: bool = False) -> StreamQuery:
        """R_S: the whole state, at every change, every period, at insertions only (001 D24, D25), or at every
        evaluation of the windows below, changed or not."""
        if on_evaluation and (every is not None or on_insert):
            raise PlanError("RSTREAM is at evaluations, at a period or at insertions", hint="choose one")
        if on_evaluation:
            return StreamQuery(RStreamOnEvaluation(self.operator))
        return StreamQuery(RStream(self.operator, _period(every), on_insert))

    def _set(self, other: RelationQuery, how: SetKind) -> RelationQuery:
        return RelationQuery(SetOperation(self.operator, other.operator, how))

    def _values(self, other: RelationQuery, how: SetKind, all: bool) -> RelationQuery:
        return RelationQuery(ValueSetOperation(self.operator, other.operator, how, all))


class WindowsQuery(_Grouped):
    """SNEEql's stream of windows (003 §6.2).

    >>> from astralq import stream
    >>> stream("road", "site INT, temp INT").windows("10 min", "0 s", "1 min").aggregate("min(temp) AS t").rstream()
    RSTREAM
    └─ AGGREGATE min(temp) AS t
       └─ WINDOWS [FROM NOW - 10 MINUTES TO NOW SLIDE 1 MINUTE]
          └─ STREAM road
    """

    _kind = Kind.WINDOWS

    def product(self, other: WindowsQuery) -> WindowsQuery:
        """At every tick of either side, all pairs of the latest windows."""
        return WindowsQuery(sneeql.WindowsProduct(self.operator, other.operator))

    def rstream(self) -> StreamQuery:
        """Every window's tuples, when it is evaluated."""
        return StreamQuery(RStream(self.operator))

    def istream(self) -> StreamQuery:
        """What a window has that the window before had not, by value."""
        return StreamQuery(IStream(self.operator, None, Identity.VALUE))

    def dstream(self) -> StreamQuery:
        """What the window before had that a window has not, by value."""
        return StreamQuery(DStream(self.operator, None, Identity.VALUE))


def _expr(text: str | Expr, readable: Schema, known: Known | None = None) -> Expr:
    return expression(text, readable, known) if isinstance(text, str) else text


def _items(texts: Iterable[str], operator: Operator, known: Known | None = None) -> list[Named]:
    items: list[Named] = []
    for text in (part for t in texts for part in split_list(t)):
        if text == "*":
            items += [(a.name, Column(a.type, a.name)) for a in operator.schema]
        else:
            items.append(named_expression(text, operator.readable, known))
    return items


def _texts(columns: Columns) -> tuple[str, ...]:
    return tuple(split_list(columns)) if isinstance(columns, str) else tuple(columns)


def _period(every: str | None) -> Any:
    return None if every is None else duration(every)


def _identity(by_value: bool) -> Identity:
    return Identity.VALUE if by_value else Identity.PHI
