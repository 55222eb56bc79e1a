"""Runs a query on the model: reads its sources, decides what is observed, and evaluates operator by operator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from astralq.algebra.answers import answer_columns
from astralq.algebra.base import HasOperator, Kind, Operator, operator_of
from astralq.algebra.bounds import WindowBounds
from astralq.algebra.constants import Constants
from astralq.algebra.domain import Domain
from astralq.algebra.evaluations import Evaluations
from astralq.algebra.explode import Explode
from astralq.algebra.observation import check_ends, first_observed
from astralq.algebra.ordering import Limit, OrderBy
from astralq.algebra.phi import CopyPhi
from astralq.algebra.relational import (
    Distinct,
    Divide,
    GroupBy,
    Join,
    Product,
    Project,
    Rename,
    Select,
    SetOperation,
    ValueSetOperation,
)
from astralq.algebra.set_aside import SetAside, before_start, sources_with_start, unmatched
from astralq.algebra.sneeql import RowWindows, Scan, TimeWindows, WindowsProduct
from astralq.algebra.sources import RelationSource, SensedSource, StartedAt, StreamSource, Validity
from astralq.algebra.stream_ops import Composite, Spread
from astralq.algebra.streamers import DStream, Identity, IStream, RStream
from astralq.algebra.ticks import Tick
from astralq.algebra.windows import Window
from astralq.errors import DataError, PlanError, nearest
from astralq.model import relations, sneeql, streams, windows
from astralq.model.history import Change, History
from astralq.model.sources import (
    Data,
    acquire,
    constants,
    designated,
    heartbeats,
    read_relation,
    receive,
    unmatched_changes,
)
from astralq.model.values import Context, Relation, Stream, TupleSet, Values, WindowAt
from astralq.timeline import EPOCH, LAST_INDEX, BatchId, Instant

Result = Stream | Relation | list[WindowAt]


@dataclass
class Run:
    """A query over its data, with what is observed of it."""

    query: Operator
    data: Data
    ctx: Context

    def result(self) -> Result:
        return self.evaluate(self.query, self.ctx)

    def evaluate(self, op: Operator, ctx: Context) -> Result:
        """The meaning of an operator for a query that starts at ctx.t0."""
        match op:
            case StreamSource():
                return _from_start(receive(op, _given(op.name, self.data)), ctx)
            case SensedSource():
                sites = None
                if op.designation is not None:
                    sites = designated(self.relation(op.designation.relation, ctx))
                return acquire(op, _given(op.name, self.data), ctx.t0, ctx.end.t, sites)
            case RelationSource():
                return read_relation(op, _given(op.name, self.data))[0]
            case Constants():
                return constants(op)
            case StartedAt():
                found = self.evaluate(op.child, self.started(op, ctx))
                return _from_start(found, ctx) if isinstance(found, Stream) else found
            case Window():
                return windows.window(self.stream(op.child, ctx), op.spec, op.child.schema, ctx)
            case Select() | Project() | Rename() | GroupBy() | Distinct():
                return self._unary(op, ctx)
            case CopyPhi():
                return relations.pointwise(relations.with_phi, self.relation(op.child, ctx))
            case Explode() if op.kind is Kind.STREAM:
                return streams.explode(op, self.stream(op.child, ctx))
            case OrderBy() | Limit() | Explode():
                return relations.pointwise(relations.unary(op), self.relation(op.child, ctx))
            case WindowBounds():
                return windows.with_bounds(op, self.relation(op.child, ctx), ctx)
            case Product():
                return relations.pointwise(relations.product, *self._both(op, ctx))
            case Domain():
                other = None if op.other is None else self.stream(op.other, ctx)
                return relations.domain(op, self.relation(op.child, ctx), other, ctx)
            case IStream() | DStream() | RStream():
                found = self.evaluate(op.child, ctx)
                if isinstance(found, Relation):
                    return streams.stream_of(op, found, ctx)
                assert isinstance(found, list)
                return sneeql.stream_of_windows(op, found, ctx)
            case Tick():
                found = self.evaluate(op.child, ctx)
                assert not isinstance(found, list)
                return streams.ticked(op, found) if isinstance(found, Stream) else relations.ticked(op, found)
            case Spread():
                return streams.spread(op, self.stream(op.child, ctx))
            case Evaluations():
                below = Stream(()) if op.child is None else self.stream(op.child, ctx)
                schema = op.schema if op.child is None else op.child.schema
                also = Stream(()) if op.also is None else self.stream(op.also, ctx)
                return windows.evaluations(op, below, also, schema, ctx)
            case Composite():
                return self.evaluate(op.definition, ctx)
            case Scan():
                return sneeql.scan(op, self.relation(op.child, ctx), ctx)
            case TimeWindows():
                return sneeql.create_time_window(op, self.stream(op.child, ctx), ctx)
            case RowWindows():
                return sneeql.create_row_window(op, self.stream(op.child, ctx))
            case WindowsProduct():
                left, right = (self.evaluate(c, ctx) for c in (op.left, op.right))
                return sneeql.cross_product(left, right)  # type: ignore[arg-type]
            case Join() | SetOperation() | ValueSetOperation() | Divide():
                return relations.pointwise(relations.binary(op), *self._both(op, ctx))
        raise PlanError(f"the model does not know the operator\n{op}")

    def started(self, op: StartedAt, ctx: Context) -> Context:
        """What is observed below a query with its own start, inside one that ends with ctx."""
        return replace(observe(op.child, self.data, op.t0, None), end=ctx.end)

    def _unary(self, op: Select | Project | Rename | GroupBy | Distinct, ctx: Context) -> Result:
        """σ, Π, ρ, aggregation and DISTINCT over a stream, a relation, or each window of a stream of windows."""
        found = self.evaluate(op.child, ctx)
        if isinstance(found, Stream):
            assert isinstance(op, Select | Project | Rename)
            return streams.unary_on_stream(op, found)
        apply = relations.unary(op)
        if isinstance(found, Relation):
            return relations.pointwise(apply, found)
        return [WindowAt(w.tick, tuple(apply(w.rows))) for w in found]

    def stream(self, op: Operator, ctx: Context) -> Stream:
        found = self.evaluate(op, ctx)
        assert isinstance(found, Stream)
        return found

    def relation(self, op: Operator, ctx: Context) -> Relation:
        found = self.evaluate(op, ctx)
        assert isinstance(found, Relation)
        return found

    def _both(self, op: Operator, ctx: Context) -> tuple[Relation, ...]:
        return tuple(self.relation(c, ctx) for c in op.children)


def _from_start(stream: Stream, ctx: Context) -> Stream:
    """Tuples before t0 are ignored, and so are those after the end; positions begin at t0 (000 D3; 001 P11)."""
    return Stream.of((s.batch, s.values) for s in stream.tuples if s.t >= ctx.t0 and s.batch <= ctx.end)


def _given(name: str, data: Data) -> Any:
    if name not in data:
        raise DataError(f"there are no data for the source {name!r}", hint=nearest(name, data))
    return data[name]


def observe(query: Operator, data: Data, t0: Instant | None, until: Instant | None) -> Context:
    """What a run observes: from t0 if it is given, else from the first batch of any source; to the last timestamp.

    Both ends are inclusive; with `until` the run ends after the last batch of that instant, and observes nothing if it
    ends before its start.
    """
    check_ends(query, t0, until)
    start_at = EPOCH if t0 is None else t0
    batches: list[BatchId] = []
    for op in query.walk():
        match op:
            case StreamSource():
                stream = receive(op, _given(op.name, data))
                beyond = heartbeats(op, _given(op.name, data))
                batches += [b for b in (*stream.batches, *beyond) if b.t >= start_at]
            case RelationSource():
                times = read_relation(op, _given(op.name, data))[1]
                batches += [BatchId(t, 0) for t in times if t >= start_at]
    start = first_observed(query, batches, t0)
    last = until if until is not None else max((b.t for b in batches), default=start.t)
    return Context(start_at, start, BatchId(last, LAST_INDEX), t0 is not None)


def prepare(query: Operator | HasOperator, data: Data, t0: Instant | None = None, until: Instant | None = None) -> Run:
    op = operator_of(query)
    return Run(op, data, observe(op, data, t0, until))


def run(
    query: Operator | HasOperator, data: Data, *, t0: Instant | None = None, until: Instant | None = None
) -> History:
    """The answer to a query, as a list: a stream's tuples, a relation's changes, or the windows of a stream of windows.

    Changes at a batch identifier are deletions first, each in the order of φ.

    >>> from astralq import instant, rows, stream
    >>> s = stream("S", "v INT, ts TIMESTAMP", timestamp="ts")
    >>> for change in run(s[rows(1)].select("v"), {"S": [(1, instant(5)), (2, instant(7))]}):
    ...     print(change.op, change.t, change.values)
    + 5 (1,)
    - 7 (1,)
    + 7 (2,)
    """
    prepared = prepare(query, data, t0, until)
    result = prepared.result()
    found: Iterable[Any]
    if isinstance(result, Stream):
        found = (s for s in result.tuples if prepared.ctx.start <= s.batch <= prepared.ctx.end)
    elif isinstance(result, Relation):
        found = changes(result, prepared.ctx)
    else:
        found = ((b, [r.values for r in rows]) for b, rows in sneeql.numbered(result, prepared.ctx))
    return History(found, answer_columns(prepared.query))


def set_aside(query: Operator | HasOperator, data: Data, *, t0: Instant | None = None) -> list[SetAside]:
    """What of the data a query cannot use: tuples before its start, and changes '-' that find nothing.

    >>> from astralq import instant, rows, stream
    >>> s = stream("S", "v INT, ts TIMESTAMP", timestamp="ts")
    >>> for one in set_aside(s[rows(1)], {"S": [(1, instant(-5)), (2, instant(7))]}):
    ...     print(one)
    1 tuple of S is before the start, 1970-01-01T00:00:00Z, and was left out
    """
    found: dict[tuple[str, Instant], SetAside] = {}
    for source, start in sources_with_start(operator_of(query), t0):
        if isinstance(source, StreamSource):
            before = sum(s.t < start for s in receive(source, _given(source.name, data)).tuples)
            if before:
                found[source.name, start] = before_start(source.name, before, start)
        elif isinstance(source, RelationSource) and source.validity is Validity.CHANGES:
            lost = unmatched_changes(source, _given(source.name, data))
            if lost:
                found[source.name, EPOCH] = unmatched(source.name, lost)
    return list(found.values())


def changes(relation: Relation, ctx: Context) -> Iterable[Change]:
    """What a relation loses and gains, state by state."""
    before: TupleSet = ()
    for b, now in streams.states(relation, ctx):
        for sign, a, c in (("-", before, now), ("+", now, before)):
            for r in streams.difference(a, c, Identity.PHI):
                yield Change(sign, b.t, b.i, r.values)
        before = now


def state(
    query: Operator | HasOperator, data: Data, at: Instant, *, i: int = LAST_INDEX, t0: Instant | None = None
) -> list[Values]:
    """The state of a relation at an instant, after its last batch unless i is given, in the order of φ.

    A stream's state is what it has emitted so far.

    >>> from astralq import instant, rows, stream
    >>> s = stream("S", "v INT, ts TIMESTAMP", timestamp="ts")
    >>> state(s[rows(2)].select("v"), {"S": [(1, instant(5)), (2, instant(7)), (3, instant(9))]}, instant(8))
    [(1,), (2,)]
    """
    prepared = prepare(query, data, t0, at)
    result = prepared.result()
    here = BatchId(at, i)
    if isinstance(result, Stream):
        return [s.values for s in result.tuples if s.batch <= here]
    if isinstance(result, Relation):
        return [r.values for r in result.at(here)]
    raise PlanError("a stream of windows has no state of its own", hint="stream it first, with RSTREAM")
