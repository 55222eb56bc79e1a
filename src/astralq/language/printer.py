"""From the algebra back to text: a script that binds to the same operators."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from astralq.algebra.asof import AsofJoin
from astralq.algebra.base import Kind, Operator
from astralq.algebra.bounds import WindowBounds, windows_of
from astralq.algebra.calendar import CalendarStart
from astralq.algebra.callables import functions_of
from astralq.algebra.computed import FILE, MOMENT, OF_FILE
from astralq.algebra.constants import Constants
from astralq.algebra.domain import AtInstant, Domain, Floor, Shift
from astralq.algebra.evaluations import RStreamOnEvaluation
from astralq.algebra.explode import Explode
from astralq.algebra.functions import Affine, Formula
from astralq.algebra.ordering import Limit, OrderBy, sort_text
from astralq.algebra.phi import CopyPhi
from astralq.algebra.properties import expressions
from astralq.algebra.relational import (
    Distinct,
    Divide,
    GroupBy,
    Join,
    JoinKind,
    Product,
    Project,
    Rename,
    Select,
    SetKind,
    SetOperation,
    ValueSetOperation,
)
from astralq.algebra.schedules import Measure, Periodic
from astralq.algebra.scopes import Back, OfInstant
from astralq.algebra.session_bounds import BOUNDS, without_session_bounds
from astralq.algebra.sneeql import RowWindows, Scan, TimeWindows, WindowsProduct
from astralq.algebra.sources import Origin, RelationSource, SensedSource, StartedAt, StreamSource
from astralq.algebra.stream_ops import BandJoin, LookupJoin, Spread, StreamJoin, StreamProduct
from astralq.algebra.streamers import DStream, Identity, IStream, RStream
from astralq.algebra.ticks import Tick
from astralq.algebra.window_text import window_text
from astralq.algebra.windows import Window, WindowSpec, range_
from astralq.errors import PlanError
from astralq.expr.nodes import Expr, Inside, literal_text, quoted
from astralq.language.function_text import function_text
from astralq.schema import STRING
from astralq.space import Region
from astralq.timeline import Duration, Instant, format_duration, format_instant

_JOINS = {
    JoinKind.INNER: "JOIN",
    JoinKind.LEFT: "LEFT JOIN",
    JoinKind.RIGHT: "RIGHT JOIN",
    JoinKind.FULL: "FULL JOIN",
    JoinKind.SEMI: "LEFT SEMI JOIN",
    JoinKind.ANTI: "LEFT ANTI JOIN",
    JoinKind.SINGLE: "SINGLE JOIN",
}


_ITEMS = (
    *(StreamSource, RelationSource, SensedSource, Tick, StartedAt),
    *(Window, Scan, TimeWindows, RowWindows, Spread, Rename, Domain),
)
"""What stands in FROM by itself; everything else is a query of its own."""


def dialect_of(operator: Operator) -> str:
    """The dialect that an operator can be written in."""
    if any(op.kind is Kind.WINDOWS for op in operator.walk()):
        return "sneeql"
    return "cql" if any(isinstance(op, Tick) for op in operator.walk()) else "astral"


@dataclass
class Printer:
    """Writes one query; the sources, regions and views that it needs are gathered on the way."""

    dialect: str
    declarations: list[str] = field(default_factory=list)
    declared: dict[str, object] = field(default_factory=dict)

    # ---- queries

    def query(self, op: Operator) -> str:
        """A query that binds to the operator."""
        match op:
            case Constants():
                return op.label
            case Select():
                self._regions(op)
                return f"SELECT {_star(op.child)} FROM {self.item(op.child)} WHERE {op.condition}"
            case Project() if (plain := without_session_bounds(op)) is not None:
                return self._bounded(plain)
            case Project():
                self._regions(op)
                return f"SELECT {_items(op.items)} FROM {self.item(op.child)}"
            case GroupBy():
                return self._group_by(op)
            case WindowBounds():
                return self._with_bounds(op)
            case Distinct():
                return f"SELECT DISTINCT {_star(op.child)} FROM {self.item(op.child)}"
            case OrderBy():
                self._regions(op)
                return f"SELECT {_star(op.child)} FROM {self.item(op.child)} ORDER BY {sort_text(op.keys)}"
            case Limit() if not op.last:
                return self._limit(op)
            case Explode():
                self._regions(op)
                return f"SELECT * FROM {self.item(op.child)}, LATERAL {op.call}"
            case Product() | StreamProduct() | WindowsProduct():
                left, right = op.children
                return f"SELECT * FROM {self._side(left)}, {self._side(right)}"
            case Join() | StreamJoin():
                left, right = op.children
                return self._joined(left, _JOINS[op.how], right, f"ON {op.condition}")
            case AsofJoin():
                join = f"{'LEFT ' if op.how is JoinKind.LEFT else ''}ASOF JOIN"
                return self._joined(op.left, join, op.right, f"ON {op.condition}")
            case LookupJoin():
                return self._joined(op.stream, f"LOOKUP {_JOINS[op.how]}", op.relation, f"ON {op.condition}")
            case BandJoin():
                return self._joined(op.left, _JOINS[op.how], op.right, f"ON {op.condition} WITHIN {_band(op)}")
            case SetOperation(how=SetKind.UNION):
                in_order = " IN ORDER" if op.in_order else ""
                return f"({self.query(op.left)}) UNION ALL{in_order} ({self.query(op.right)})"
            case SetOperation():
                return f"({self.query(op.left)}) {op.how.value} ({self.query(op.right)}) BY IDENTITY"
            case Divide():
                return f"({self.query(op.left)}) DIVIDE BY ({self.query(op.right)})"
            case CopyPhi(name="_phi"):
                return f"SELECT *, _phi FROM {self.item(op.child)}"
            case ValueSetOperation():
                every = " ALL" if op.all else ""
                return f"({self.query(op.left)}) {op.how.value}{every} ({self.query(op.right)})"
            case IStream() | DStream() | RStream():
                return self._streamer(op)
            case RStreamOnEvaluation():
                return f"RSTREAM({self.query(op.child)}) ON EVALUATION"
        if not isinstance(op, _ITEMS):
            raise _no_form(op)
        return f"SELECT {_star(op)} FROM {self.item(op)}"

    def _side(self, op: Operator) -> str:
        """An item of which * shows all attributes."""
        return f"({self.query(op)})" if _hides_file(op) else self.item(op)

    def _limit(self, op: Limit) -> str:
        """LIMIT where that says it; else ROW_NUMBER(), in QUALIFY or as an attribute."""
        self._regions(op)
        item, per = self._side(op.child), ", ".join(map(str, op.per))
        if op.rank is None and not op.order and (op.count is not None or not op.per):
            count = "" if op.count is None else f" LIMIT {op.count}"
            skip = f" OFFSET {op.skip}" if op.skip or op.count is None else ""
            return f"SELECT * FROM {item}{count}{f' PER {per}' if per else ''}{skip}"
        over = [f"PARTITION BY {per}"] if per else []
        over += [f"ORDER BY {sort_text(op.order)}"] if op.order else []
        place = f"ROW_NUMBER() OVER ({' '.join(over)})"
        shown, tested = ("", place) if op.rank is None else (f", {place} AS {quoted(op.rank)}", quoted(op.rank))
        first, last = op.places
        condition = f"{tested} BETWEEN {first} AND {last}"
        if last is None:
            condition = f"{tested} >= {first}" if first > 1 or op.rank is None else ""
        elif first == 1:
            condition = f"{tested} <= {last}"
        return f"SELECT *{shown} FROM {item}" + (f" QUALIFY {condition}" if condition else "")

    def _joined(self, left: Operator, join: str, right: Operator, condition: str) -> str:
        return f"SELECT * FROM {self._side(left)} {join} {self._side(right)} {condition}"

    def _group_by(self, op: GroupBy) -> str:
        items = _items((*op.keys, *op.aggregates))
        return f"SELECT {items} FROM {self.item(op.child)}{self._keys(op)}"

    def _keys(self, op: GroupBy) -> str:
        if op.keys:
            return f" GROUP BY {', '.join(str(e) for _, e in op.keys)}"
        if op.empty_row == (self.dialect != "cql"):
            return ""
        if op.empty_row or not windows_of(op):
            raise _no_form(op)
        return " GROUP BY window_start"  # no key, but there is no row over nothing

    def _with_bounds(self, op: WindowBounds) -> str:
        if isinstance(op.child, GroupBy):
            return self._bounded(op.child)
        return f"SELECT *, {', '.join(BOUNDS)} FROM {self.item(op.child)}"

    def _bounded(self, op: GroupBy) -> str:
        """An aggregation with the bounds of its window."""
        self._regions(op)
        items = _items((*op.keys, *op.aggregates))
        return f"SELECT {', '.join(filter(None, [items, *BOUNDS]))} FROM {self.item(op.child)}{self._keys(op)}"

    def _streamer(self, op: IStream | DStream | RStream) -> str:
        kind = {IStream: "ISTREAM", DStream: "DSTREAM", RStream: "RSTREAM"}[type(op)]
        by_value = self.dialect == "cql" or op.child.kind is Kind.WINDOWS
        if not isinstance(op, RStream) and (op.identity is Identity.VALUE) != by_value:
            raise _no_form(op)
        every = f" EVERY {format_duration(op.every)}" if op.every is not None else ""
        if isinstance(op, RStream) and op.on_insert:
            every = " ON INSERT"
        return f"{kind}({self.query(op.child)}){every}"

    # ---- items of FROM

    def item(self, op: Operator) -> str:
        """An item of FROM that binds to the operator."""
        match op:
            case StreamSource() | RelationSource() | SensedSource():
                return self._source(op)
            case Tick():
                if not isinstance(op.child, StreamSource | RelationSource | SensedSource):
                    raise _no_form(op)
                return self._source(op.child)
            case StartedAt():
                return self._view(op)
            case Window():
                return f"{self._bare(op.child)} [{self._window(op.spec)}]"
            case Scan():
                return f"{self._bare(op.child)} [SCAN {format_duration(op.every)}]"
            case TimeWindows() | RowWindows():
                return f"{self._bare(op.child)} {op.label.removeprefix('WINDOWS ')}"
            case Spread():
                by = f" BY {', '.join(map(quoted, op.attributes))}" if op.attributes else ""
                return f"SPREAD{' ALL' if op.all else ''}({self._bare(op.child)}{by})"
            case Rename():
                names = ", ".join(map(quoted, op.schema.names))
                return f"({self.query(op.child)}) AS renamed({names})"
            case Domain():
                if self.dialect == "sneeql" and isinstance(op.transform_, Floor):
                    raise _no_form(op)  # SCAN is a stream of windows there
                if op.other is not None:
                    return f"{self._bare(op.child)} AT LAST BATCH OF {self._bare(op.other)}"
                past = f"{self._bare(op.child)} {_past(op)}"
                # A comma behind DURING would begin another interval.
                return f"(SELECT {_star(op)} FROM {past})" if op.transform_ == Shift(Duration(0)) else past
        return f"({self.query(op)})"

    def _bare(self, op: Operator) -> str:
        """An item that something may stand behind: an alias comes last."""
        return f"({self.query(op)})" if isinstance(op, Rename) else self.item(op)

    def _window(self, spec: WindowSpec) -> str:
        scope = spec.scope
        rules = [b for b in (scope.lo, scope.hi) if isinstance(b, OfInstant)]
        on_time = scope.measure is Measure.TIME
        if not all(isinstance(b.function, Affine | Formula | CalendarStart) and on_time for b in rules):
            raise PlanError(f"the window {spec} has no form in the language", hint="it can be built in Python only")
        if self.dialect == "cql" and scope.measure is Measure.TIME and isinstance(scope.lo, Back):
            tick = Duration(self.tick)
            wide = range_(f"{scope.lo.amount + tick} us").scope
            whole = isinstance(spec.schedule, Periodic) and spec.schedule.every == tick
            text = window_text(WindowSpec(range_("0 s").schedule if whole else spec.schedule, wide, 0, spec.partition))
            return text if not spec.delay else f"{text} DELAY {format_duration(Duration(spec.delay))}"
        return window_text(spec)

    tick: int = 1_000_000
    started: bool = False

    # ---- declarations

    def _declare(self, name: str, value: object, text: str) -> None:
        known = self.declared.get(name.lower())
        if known is None:
            self.declared[name.lower()] = value
            self.declarations.append(text)
        elif known != value:
            raise PlanError(f"two different sources are called {name!r}", hint="rename one of them")

    def _regions(self, op: Operator) -> None:
        for e in (part for x in expressions(op) for part in x.walk()):
            if isinstance(e, Inside):
                self._region(e.region)

    def _region(self, region: Region) -> None:
        text = f"CREATE REGION {quoted(region.name)} AS {literal_text(region.wkt, STRING)}"
        self._declare(f"region {region.name}", region, text)

    def _view(self, op: StartedAt) -> str:
        inner = self.query(op.child)
        name = f"view_{len(self.declarations) + 1}"
        if op.t0 is None and self.started:
            raise _no_form(op)
        self.started = self.started or op.t0 is not None
        start = "" if op.t0 is None else f"START AT {_moment(op.t0)};\n"
        self._declare(name, op, f"{start}CREATE VIEW {name} AS {inner}")
        return name

    def _source(self, source: StreamSource | RelationSource | SensedSource) -> str:
        shown = source.declared
        if isinstance(source, StreamSource) and source.heartbeat is not None:
            shown = source.physical
        computed = {} if isinstance(source, SensedSource) else dict(source.computed)
        columns = ", ".join(
            f"{quoted(a.name)} {a.type}" + (f" AS ({computed[a.name]})" if a.name in computed else "")
            for a in shown
            if a.name not in (MOMENT, FILE.name) or (a.name == FILE.name and a.name not in computed)
        )
        kind = "RELATION" if isinstance(source, RelationSource) else "STREAM"
        parts = [f"CREATE {kind} {quoted(source.name)} ({columns})"]
        match source:
            case SensedSource():
                types = source.declared[source.site].type
                sites = ", ".join(literal_text(s, types) for s in source.sites)
                if source.designation is not None:
                    sites = self.query(source.designation.relation)
                parts.append(f"SENSED EVERY {format_duration(source.every)} AT SITES ({sites})")
                parts += _origin(source.origin)
            case StreamSource():
                parts += [*_origin(source.origin), *_stream_clauses(source)]
            case RelationSource():
                parts += [*_origin(source.origin), *_relation_clauses(source)]
        self._declare(source.name, source, " ".join(parts))
        return quoted(source.name)


def _hides_file(op: Operator) -> bool:
    """Whether * does not show the pseudo-column _file that the operator has as an attribute."""
    while isinstance(op, Window | Scan | TimeWindows | RowWindows | Spread | Domain | Tick):
        op = op.child
    return isinstance(op, StreamSource | RelationSource) and OF_FILE in op.computed


def _star(op: Operator) -> str:
    """All attributes of an item."""
    return f"*, {FILE.name}" if _hides_file(op) else "*"


def _origin(origin: Origin | None) -> list[str]:
    if origin is None:
        return []
    parts = [f"FROM {origin.format} {literal_text(origin.path, STRING)}"]
    if origin.options:
        options = ", ".join(f"{quoted(k)} = {literal_text(v, STRING)}" for k, v in origin.options)
        parts.append(f"OPTIONS ({options})")
    return parts


def _unit(unit: str | None) -> str:
    return f" UNIT {unit}" if unit is not None else ""


def _stream_clauses(source: StreamSource) -> list[str]:
    moment = "ON ARRIVAL"
    if source.timestamp is not None:
        by = quoted(source.timestamp) if source.timestamp != MOMENT else str(dict(source.computed)[MOMENT])
        moment = f"BY {by}{_unit(source.unit)}"
    parts = ["WITH PROGRESS" if source.progress else f"TIMESTAMP {moment}"]
    if source.heartbeat is not None:
        parts.append(f"HEARTBEAT BY {quoted(source.heartbeat)}")
    if source.position_by:
        parts.append(f"POSITION BY {_positions(source)}")
    if source.batch_by is not None:
        parts.append(f"BATCH BY {quoted(source.batch_by)}")
    if source.batch_each_row:
        parts.append("BATCH EACH ROW")
    if source.declared.location is not None:
        location = source.declared.location
        planar = " PLANAR" if location.planar else ""
        parts.append(f"LOCATION BY ({quoted(location.x)}, {quoted(location.y)}){planar}")
    if source.lateness:
        parts.append(f"LATENESS {format_duration(source.lateness)}")
    return parts


def _relation_clauses(source: RelationSource) -> list[str]:
    parts = []
    if source.valid_from is not None:
        to = f" TO {quoted(source.valid_to)}" if source.valid_to is not None else ""
        parts.append(f"VALID FROM {quoted(source.valid_from)}{to}{_unit(source.unit)}")
    if source.change is not None and source.at is not None:
        parts.append(f"CHANGES BY {quoted(source.change)} AT {quoted(source.at)}{_unit(source.unit)}")
    if source.key:
        parts.append(f"KEY ({', '.join(map(quoted, source.key))})")
    if source.position_by:
        parts.append(f"POSITION BY {_positions(source)}")
    return parts


def _positions(source: StreamSource | RelationSource) -> str:
    return ", ".join(f"{quoted(n)}{' DESC' * (n in source.descending)}" for n in source.position_by)


def _band(op: BandJoin) -> str:
    time = "UNBOUNDED" if op.within is None else format_duration(op.within)
    return time if op.within_rows is None else f"{op.within_rows} ROWS"


def _past(op: Domain) -> str:
    match op.transform_, op.during:
        case AtInstant(None), None:
            return "AT START"
        case AtInstant(at), during if at is not None and during == ((at, None),):
            return f"AT {_moment(at)}"
        case Shift(by), None:
            return f"DELAYED BY {format_duration(by)}"
        case Shift(0), during if during is not None:
            ends = (f"{_moment(a)}{'' if b is None else f' TO {_moment(b)}'}" for a, b in during)
            return f"DURING {', '.join(ends)}"
        case Floor(every), None:
            return f"[SCAN {format_duration(every)}]"
    raise _no_form(op)


def _moment(t: Instant) -> str:
    return f"TIMESTAMP '{format_instant(t)}'"


def _items(named: Iterable[tuple[str, Expr]]) -> str:
    """The list of SELECT; an attribute that keeps its name is not named again."""
    return ", ".join(str(e) if str(e) == quoted(name) else f"{e} AS {quoted(name)}" for name, e in named)


def _no_form(op: Operator) -> PlanError:
    return PlanError(f"{op.label} has no form in the query language", hint="it can be built in Python only")


def print_script(operator: Operator, t0: Instant | None = None) -> str:
    """A script with the declarations and the query, which reads back as the same operator.

    >>> from astralq import rows, stream
    >>> s = stream("s", "id INT, v DOUBLE, ts TIMESTAMP", timestamp="ts")
    >>> print(print_script(s[rows(3)].where("v > 1.5").istream().operator))
    CREATE STREAM s (id INT, v DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts;
    ISTREAM(SELECT * FROM s [ROWS 3] WHERE v > 1.5);
    """
    printer = Printer(dialect_of(operator))
    ticks = [op.period for op in operator.walk() if isinstance(op, Tick)]
    lines = []
    if ticks:
        printer.tick = ticks[0]
        lines.append(f"SET TICK {format_duration(ticks[0])}")
    for function in functions_of(operator):
        printer._declare(f"function {function.name}", function, function_text(function))
    query = printer.query(operator)
    lines += printer.declarations
    if t0 is not None:
        lines.append(f"START AT {_moment(t0)}")
    return ";\n".join([*lines, query]) + ";"
