"""From rows to streams and relations: how the model reads its sources."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from astralq.algebra.constants import Constants
from astralq.algebra.sources import UNITS, RelationSource, SensedSource, Sensor, StreamSource, Validity
from astralq.errors import DataError, TimeError
from astralq.expr.evaluate import evaluator
from astralq.expr.order import OrderKey, order_key, row_key, sort_key
from astralq.io.computed import Completion
from astralq.io.progress import Stamped, WithHeartbeats
from astralq.model.values import Phi, Relation, Row, Stream, Values
from astralq.schema import Schema, Value
from astralq.timeline import BatchId, Instant, format_instant, instant

Rows = Iterable[Sequence[Any]]
Data = Mapping[str, "Stream | Rows | Sensor | WithHeartbeats"]
"""For each source its rows, a stream that is already stamped, or the callable of a sensed stream."""


def _rows(source: StreamSource | RelationSource, rows: Rows) -> list[Values]:
    kind = "stream" if isinstance(source, StreamSource) else "relation"
    checked = []
    complete = Completion(source) if source.computed else None
    for k, r in enumerate(_sequence(rows, f"{kind} {source.name}"), start=1):
        what = f"row {k} of {kind} {source.name}"
        row = _sequence(r, what)
        if complete is not None and len(row) == complete.width:  # as it is stored
            row = complete.row(source.stored.check_row(row, what), what)
        checked.append(source.declared.check_row(row, what))
    return checked


def _sequence(value: Any, what: str) -> Sequence[Any]:
    """The value if it is a list or the like, not text; else an error."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise DataError(f"{what} is {value!r}, not a list of values")
    return value if isinstance(value, Sequence) else list(value)


def heartbeats(source: StreamSource, data: Any) -> list[BatchId]:
    """How far the heartbeats of a stream say that time has come."""
    if not isinstance(data, WithHeartbeats):
        return []
    moments = [(_moment(t, source.unit, f"a heartbeat of stream {source.name}"), i) for t, i in data.heartbeats]
    if any(t is None for t, _ in moments):
        raise DataError(f"a heartbeat of stream {source.name} {source.lacks_timestamp}")
    return [BatchId(t, i) for t, i in moments if t is not None]


def receive(source: StreamSource, data: Stream | Rows | WithHeartbeats | Stamped) -> Stream:
    """003's receive: stamps each tuple by its attribute, or on arrival where it has none, and numbers them.

    Without a timestamp attribute each row is a pair (arrival, values).
    """
    if isinstance(data, WithHeartbeats):
        return receive(source, data.rows)
    if isinstance(data, Stamped):
        return Stream.of((BatchId(Instant(t), i), values) for t, i, values in data.rows)
    if isinstance(data, Stream):
        for s in data.tuples:
            source.schema.check_row(s.values, f"the tuple at position {s.n} of stream {source.name}")
        return data
    if source.timestamp is None:
        pairs = [_sequence(pair, f"row {k} of stream {source.name}") for k, pair in enumerate(data, start=1)]
        if any(len(p) != 2 or not isinstance(p[0], int) for p in pairs):
            raise DataError(
                f"stream {source.name} has no timestamp of its own", hint="give each row as (arrival, values)"
            )
        rows = _rows(source, [values for _, values in pairs])
        times: list[Any] = [Instant(arrival) for arrival, _ in pairs]
    else:
        rows = _rows(source, data)
        column = source.declared.index(source.timestamp)
        times = [
            _moment(v[column], source.unit, f"row {k} of stream {source.name}") for k, v in enumerate(rows, start=1)
        ]
    for k, t in enumerate(times, start=1):
        if t is None:
            raise DataError(f"row {k} of stream {source.name} {source.lacks_timestamp}")
    index = _batch_index(source)
    width = len(source.schema)
    keyed = sorted(
        (t, index(values), _position(source, values), row_key(values[:width]), values[:width])
        for t, values in zip(times, rows, strict=True)
    )
    counted: dict[Instant, int] = defaultdict(int)
    stamped = []
    for t, i, _, _, values in keyed:
        stamped.append((BatchId(t, counted[t] if source.batch_each_row else i), values))
        counted[t] += 1
    return Stream.of(stamped)


def _moment(value: Any, unit: str | None, what: str) -> Instant | None:
    """A timestamp, from a number of units if it is one: exact, but for a DOUBLE, which is rounded to microseconds."""
    if value is None or unit is None:
        return value  # type: ignore[no-any-return]
    if isinstance(value, float) and not math.isfinite(value):
        raise DataError(f"{what}: {value} is not a time")
    exact = Fraction(value) * UNITS[unit]
    if exact.denominator != 1 and not isinstance(value, float):
        raise DataError(
            f"{what}: {value} {unit.lower()} are not a whole number of microseconds", hint="round the times"
        )
    micros = math.floor(exact + Fraction(1, 2))
    try:
        return instant(micros)
    except TimeError as e:
        raise DataError(f"{what}: {e.message}") from None


def _batch_index(source: StreamSource) -> Callable[[Values], int]:
    if source.batch_by is None:
        return lambda _: 0
    column = source.declared.index(source.batch_by)

    def index(values: Values) -> int:
        i = values[column]
        if not isinstance(i, int) or i < 0:
            raise DataError(f"stream {source.name}: the batch index {i!r} in {source.batch_by!r} is not 0, 1, 2, …")
        return i

    return index


Sites = Callable[[Instant], Iterable[Any]]
"""Which sites are asked at a tick, in order."""


def designated(relation: Relation) -> Sites:
    """The sites that a relation holds at the first batch of a tick, each once (001 §2.2)."""
    return lambda tick: dict.fromkeys(r.values[0] for r in relation.at(BatchId(tick, 0)) if r.values[0] is not None)


def acquire(source: SensedSource, sensor: Sensor, t0: Instant, end: Instant, sites: Sites | None = None) -> Stream:
    """003's acquire: at each tick t0 + k·every, one tuple from each site, in the order of the sites."""
    if not callable(sensor):
        raise DataError(f"the sensed stream {source.name} needs a callable (site, t) that measures, not {sensor!r}")
    stamped = []
    tick = t0
    while tick <= end:
        for site in source.sites if sites is None else sites(tick):
            what = f"site {site!s} of stream {source.name} at {format_instant(tick)}"
            measured = _sequence(sensor(site, tick), what)
            if len(measured) != len(source.measured):
                raise DataError(f"{what} gave {len(measured)} values for {', '.join(source.measured)}")
            given = dict(zip(source.measured, measured, strict=True))
            # A time that is a number counts seconds, as SNEEql's ticks do.
            time = tick // 1_000_000 if source.declared[source.time].type.is_integral else tick
            given |= {source.declared[source.site].name: site, source.declared[source.time].name: time}
            values = tuple(given[name] for name in source.declared.names)
            stamped.append((BatchId(tick, 0), source.declared.check_row(values, what)))
        tick = Instant(tick + source.every)
    return Stream.of(stamped)


@dataclass
class _Version:
    """A row that holds in [start, end); None: from always, or for ever."""

    phi: Phi
    values: Values
    start: Instant | None
    end: Instant | None = None


def read_relation(source: RelationSource, rows: Rows) -> tuple[Relation, list[Instant]]:
    """The relation of a base source, and the timestamps in it."""
    values = _rows(source, rows)
    versions = {
        Validity.CONSTANT: _constant,
        Validity.VERSIONED: _versioned,
        Validity.CHANGES: _replayed,
    }[source.validity](source, values)
    named = [n for n in (source.valid_from, source.valid_to, source.at) if n is not None]
    stamps = [_stamp(source, r, n) for r in values for n in named]
    times = sorted({t for t in stamps if t is not None})

    def state(b: BatchId) -> list[Row]:
        return [
            Row(v.phi, v.values)
            for v in versions
            if (v.start is None or v.start <= b.t) and (v.end is None or b.t < v.end)
        ]

    def changes(lo: BatchId, hi: BatchId) -> set[BatchId]:
        return {b for b in (BatchId(t, 0) for t in times) if lo <= b <= hi}

    return Relation(state, changes), times


def constants(op: Constants) -> Relation:
    """VALUES: the rows in the order in which they are written, always."""
    nothing = Schema(())
    values = [tuple(evaluator(e, nothing)(()) for e in row) for row in op.rows]
    rows = [Row((order_key(k),), v) for k, v in enumerate(values)]
    return Relation(lambda _: rows, lambda _lo, _hi: set())


def _stamp(source: RelationSource, row: Values, name: str) -> Instant | None:
    return _moment(row[source.declared.index(name)], source.unit, f"relation {source.name}")


def _order(source: RelationSource, declared: Values, kept: Values) -> OrderKey:
    """The order of a base relation: POSITION BY, else all values."""
    return (*_position(source, declared), *row_key(kept))


def _position(source: StreamSource | RelationSource, row: Values) -> OrderKey:
    """What POSITION BY sorts a row by; NULLs are the least values."""
    return tuple(
        sort_key(
            row[source.declared.index(n)], descending=n in source.descending, nulls_first=n not in source.descending
        )
        for n in source.position_by
    )


def _constant(source: RelationSource, rows: list[Values]) -> list[_Version]:
    copies: dict[OrderKey, int] = defaultdict(int)
    versions = []
    for values in rows:
        key = _order(source, values, values)
        versions.append(_Version((*key, order_key(copies[key])), values, None))
        copies[key] += 1
    return versions


def _versioned(source: RelationSource, rows: list[Values]) -> list[_Version]:
    """Equal rows that hold together are told apart by a number; those that follow each other share it."""
    assert source.valid_from is not None
    held: dict[OrderKey, list[Instant | None]] = defaultdict(list)
    versions = []
    bounds = []
    for k, values in enumerate(rows, start=1):
        start = _stamp(source, values, source.valid_from)
        end = _stamp(source, values, source.valid_to) if source.valid_to is not None else None
        if start is None:
            raise DataError(f"row {k} of relation {source.name} has no {source.valid_from!r}")
        bounds.append((start, end, values))
    for start, end, values in sorted(bounds, key=lambda b: (b[0], order_key(b[1]), row_key(b[2]))):
        if end == start:
            continue
        if end is not None and end < start:
            raise DataError(
                f"relation {source.name}: {values} is valid to {format_instant(end)}, "
                f"before it is valid from {format_instant(start)}"
            )
        key = _order(source, values, values)
        ends = held[key]
        free = next((k for k, e in enumerate(ends) if e is not None and e <= start), len(ends))
        ends[free : free + 1] = [end]
        versions.append(_Version((*key, order_key(free)), values, start, end))
    return versions


Change = tuple[Values, bool, Values]
"""A row of a change log as it is declared, whether it is a '+', and the row of the relation that it is about."""

_SIGNS: dict[Value, bool] = {"+": True, "-": False, True: True, False: False}


def unmatched_changes(source: RelationSource, rows: Rows) -> int:
    """How many '-' of a change log find nothing to take out."""
    return _replay(source, _rows(source, rows))[1]


def _replayed(source: RelationSource, rows: list[Values]) -> list[_Version]:
    return _replay(source, rows)[0]


def _without_cancelled(changes: list[Change]) -> list[Change]:
    """Without pairs of an equal '+' and '-', which have no effect."""
    left: dict[tuple[OrderKey, bool], int] = defaultdict(int)
    for _, plus, values in changes:
        left[row_key(values), plus] += 1
    kept = []
    for change in changes:
        _, plus, values = change
        same = row_key(values)
        if left[same, plus] > left[same, not plus]:
            kept.append(change)
            left[same, plus] -= 1
    return kept


def _replay(source: RelationSource, rows: list[Values]) -> tuple[list[_Version], int]:
    """The versions of a log's rows, and how many '-' find nothing.

    The changes of an instant act in the order of POSITION BY; without it as bags: equal '+' and '-' cancel, then the
    others act, '-' first. Rows are equal on all attributes but those of POSITION BY.
    """
    assert source.change is not None
    assert source.at is not None
    change = source.declared.index(source.change)
    kept = [source.declared.index(n) for n in source.schema.names]
    by = [source.declared.index(n) for n in source.position_by]
    key = [source.declared.index(n) for n in source.key] or [k for k in kept if k not in by]
    log: dict[Instant, list[Change]] = defaultdict(list)
    for k, r in enumerate(rows, start=1):
        if r[change] not in _SIGNS or r[change] is None:
            raise DataError(f"row {k} of relation {source.name}: the change {r[change]!r} is neither '+' nor '-'")
        t = _stamp(source, r, source.at)
        if t is None:
            raise DataError(f"row {k} of relation {source.name} has no {source.at!r}")
        log[t].append((r, _SIGNS[r[change]], tuple(r[c] for c in kept)))
    unmatched = 0
    held: dict[OrderKey, list[_Version]] = defaultdict(list)
    versions: list[_Version] = []
    for t in sorted(log):
        before = {k: v[0].phi for k, v in held.items() if v}
        acting = log[t] if by else _without_cancelled(log[t])
        for r, plus, values in sorted(acting, key=lambda c: (row_key(tuple(c[0][k] for k in by)), c[1], row_key(c[2]))):
            who = row_key(tuple(r[c] for c in key))
            unmatched += not plus and not held[who]
            if held[who] and (source.key or not plus):
                held[who].pop(0).end = t
            if plus:
                place = _order(source, r, values)
                # A key has one row at a time, so that there is nothing to tell apart.
                phi = before.get(who, (*place, order_key(0))) if source.key else place
                version = _Version(phi, values, t)
                held[who].append(version)
                versions.append(version)
    there = [v for v in versions if v.end is None or v.start is None or v.start < v.end]
    return there if source.key else _told_apart(there), unmatched


def _told_apart(versions: list[_Version]) -> list[_Version]:
    """Equal rows of a log get numbers in the order in which they come; it begins anew at 0 where none of them was
    there just before, so that nothing has to be remembered of rows that are gone."""
    chains: dict[OrderKey, list[_Version]] = defaultdict(list)
    found = []
    for v in versions:
        assert v.start is not None
        chain = chains[v.phi]
        earlier = [x for x in chain if x.start is not None and x.start < v.start]
        if not any(x.end is None or x.end >= v.start for x in earlier):
            chain[:] = [x for x in chain if x.start == v.start]
        found.append(_Version((*v.phi, order_key(len(chain))), v.values, v.start, v.end))
        chain.append(v)
    return found
