"""From the algebra to frames: one case per operator, each handed to the file of its family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from astralq.algebra.base import Kind, Operator
from astralq.algebra.domain import AtInstant, Custom, Domain, Floor, Shift
from astralq.algebra.properties import expressions
from astralq.algebra.relational import (
    Distinct,
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
from astralq.algebra.retention import Want, is_quiet, want_of_group, want_of_streamer
from astralq.algebra.sneeql import RowWindows, Scan, TimeWindows, WindowsProduct
from astralq.algebra.sources import RelationSource, SensedSource, StartedAt, StreamSource, Validity
from astralq.algebra.stream_ops import BandJoin, Spread
from astralq.algebra.streamers import DStream, IStream, RStream
from astralq.algebra.ticks import Tick
from astralq.algebra.windows import Window
from astralq.errors import PlanError
from astralq.expr.nodes import SPATIAL_AGGREGATES, Expr
from astralq.expr.safety import can_fail
from astralq.spark.aggregate.group_by import group_by, keep_panes
from astralq.spark.context import Run
from astralq.spark.encoding.batches import NEVER, at, le, literal, lt
from astralq.spark.encoding.columns import col, lit
from astralq.spark.encoding.frames import RelationFrame, StreamFrame, WindowsFrame
from astralq.spark.operators import joins, relational, sneeql, streamers, streams
from astralq.spark.operators import past as domain
from astralq.spark.operators.bags import bag_operation
from astralq.spark.operators.expressions import reads_position
from astralq.spark.sources import changes, received
from astralq.spark.state.store import edge_name
from astralq.spark.state.tables import current
from astralq.spark.windows import intervals
from astralq.timeline import BatchId, Duration, Instant

NOTHING = Duration(0)


@dataclass
class Compiler:
    """Compiles the core operators of one query (laws.lower gives them); each stream is compiled once."""

    run: Run
    moment: BatchId | None = None  # where only one state is wanted: operators are pointwise, so that leaves are cut
    back: Duration | None = NOTHING  # how far before the run's start states are looked at; None: nobody knows
    whole: Compiler | None = field(default=None, repr=False)
    _streams: dict[Operator, StreamFrame] = field(default_factory=dict)

    @property
    def _whole(self) -> Compiler:
        """For what is below a leaf: all of its history."""
        if self.moment is None and self.back == NOTHING:
            return self
        if self.whole is None:
            self.whole = Compiler(self.run)
        return self.whole

    def _looking_back(self, op: Domain) -> Compiler:
        """For what is below a past state: the states that it looks at."""
        by = op.transform_.by if isinstance(op.transform_, Shift) else None
        if isinstance(op.transform_, Floor):
            by = op.transform_.every
        back = None if by is None or self.back is None else Duration(self.back + by)
        return Compiler(self.run, None, back, self._whole, self._whole._streams)

    # Streams

    def stream(self, op: Operator) -> StreamFrame:
        """A stream's frame, the same one wherever the operator stands."""
        if op not in self._streams:
            self._streams[op] = replace(self._stream(op), name=self._edge("stream", op))
        return self._streams[op]

    def _edge(self, kind: str, op: Operator, *more: object) -> str:
        """The name under which a memory keeps what belongs to an operator; without one there are no edges."""
        return "" if self.run.memory is None else edge_name(kind, self.run.scope, op, *more)

    def _stream(self, op: Operator) -> StreamFrame:
        run = self.run
        match op:
            case StreamSource() | SensedSource():
                return streams.from_start(run.sources.stream(op), run.t0, run.until)
            case StartedAt():
                inner = Compiler(_inner_run(op, run)).stream(op.child)
                return streams.from_start(inner, run.t0, run.until)
            case Select():
                return streams.select(op, self.stream(op.child), run)
            case Project():
                return streams.project(op, self.stream(op.child), run)
            case Rename():
                return replace(self.stream(op.child), schema=op.schema)
            case Spread():
                return streams.spread(op, self.stream(op.child))
            case Tick():
                return streams.ticked(op, self.stream(op.child))
            case IStream() | DStream() | RStream():
                if op.child.kind is Kind.WINDOWS:
                    return sneeql.stream_of_windows(op, self.windows(op.child), run)
                if op.every is None and self._quiet(op.child):
                    self.advance(op.child, want_of_streamer(op))
                    return streams.nothing(op.schema, run)
                child = self.relation(op.child, want=want_of_streamer(op))
                return streamers.stream_of(op, child, run, edge=self._edge("every", op))
            case BandJoin():
                return self._banded(op)
        raise PlanError(f"the Spark engine does not know the operator\n{op}")

    def _banded(self, op: BandJoin) -> StreamFrame:
        """D34's pairs by position: neighbours are in the same stretch of d + 1 positions or in one beside it."""
        assert op.within_rows is not None
        match op.definition:
            case IStream(Project(Join() as join) as project) as streamer:
                left, right = (self._seen(f, [join.condition]) for f in self._near(join, op.within_rows))
                joined = joins.join_near(join, left, right, op.within_rows, self.run)
                return streamers.stream_of(streamer, relational.project(project, joined), self.run)
        raise AssertionError(op.definition)

    # What only goes on

    def _quiet(self, op: Operator) -> bool:
        run = self.run
        return run.continues and run.since is not None and is_quiet(op, run.t0, run.since, run.end)

    def is_silent(self) -> bool:
        """Whether the query certainly has no answer in this epoch; what it keeps has to go on all the same."""
        query = self.run.query
        while query.kind is Kind.STREAM and isinstance(query, Select | Project | Rename):
            query = query.child
        if isinstance(query, IStream | DStream | RStream):
            return query.every is None and query.child.kind is Kind.RELATION and self._quiet(query.child)
        return query.kind is Kind.RELATION and self._quiet(query)

    def advance(self, op: Operator, want: Want = Want.HELD, *, ordered: bool = True) -> None:
        """Takes what has come to the edges below an operator whose relation nobody looks at in this epoch."""
        match op:
            case GroupBy():
                below, needs = want_of_group(op), _looks_at_order(op)
                if below in (Want.NEW, Want.SOON):
                    child = self.relation(op.child, ordered=needs, want=below)
                    keep_panes(op, child, self.run, edge=self._edge("panes", op), at_once=below is Want.SOON)
                else:
                    self.advance(op.child, below, ordered=needs)
            case Select():
                needs = ordered or reads_position(op.condition, op.child.schema)
                self.advance(op.child, want, ordered=needs)
            case Project():
                needs = ordered or any(reads_position(e, op.child.schema) for _, e in op.items)
                self.advance(op.child, want, ordered=needs)
            case _:
                self.relation(op, ordered=ordered, want=want)

    def _near(self, join: Join, rows: int) -> list[RelationFrame]:
        """Both sides of a band join by position; a tuple is kept until the other side's positions are past it."""
        sides = (join.left, join.right)
        found = [self.relation(side) for side in sides]
        if self.run.memory is None:
            return found
        memory = self.run.memory
        for side, other in zip(sides, reversed(sides), strict=True):
            edge = self._edge("window", side, True, Want.HELD.name)
            reached = memory.facts.get(f"count {self.stream(other.children[0]).name}", 0)
            kept = memory.grow(edge, self.stream(side.children[0]).df)
            memory.trim(edge, partial(kept.where, col("n") + lit(rows) >= reached))
        return found

    # Relations

    def relation(self, op: Operator, *, ordered: bool = True, want: Want = Want.HELD) -> RelationFrame:
        """A relation's frame; without `ordered` nobody looks at order and identity, which spares numbering streams.

        `want` says what is wanted in an epoch; all operators but σ, Π and ρ want what their children hold.
        """
        if self.moment is not None:
            return self._state(op, self.moment, ordered=ordered)
        return self._relation(op, ordered=ordered, want=want)

    def _state(self, op: Operator, moment: BatchId, *, ordered: bool) -> RelationFrame:
        """The rows that hold at one batch identifier, from it on; other states are not computed: they could fail."""
        if isinstance(op, Domain) and self.run.memory is None:
            past = domain.looked_at(op, moment, self.run)
            if past is not None:
                below = Compiler(self.run, past, NOTHING, self._whole).relation(op.child, ordered=ordered)
                return domain.seen_at(op, _held_at(below, past), moment, self.run)
        if isinstance(op, RelationSource | StartedAt | Window | Domain | Tick):
            return _held_at(self._whole.relation(op, ordered=ordered), moment)
        found = self._relation(op, ordered=ordered)
        # A global aggregate has a row of nothing before the moment, too.
        return _held_at(found, moment) if isinstance(op, GroupBy) and not op.keys else found

    def _relation(self, op: Operator, *, ordered: bool, want: Want = Want.HELD) -> RelationFrame:
        run = self.run
        match op:
            case RelationSource():
                edge = self._edge("log", op)
                df = run.sources.frame(op)
                if op.validity is Validity.CHANGES:
                    return current(changes.replayed(op, df, run.memory, edge, run.since, run.until), run)
                return current(received.relation(op, df), run)
            case StartedAt():
                return Compiler(_inner_run(op, run)).relation(op.child, ordered=ordered)
            case Window():
                edge = self._edge("window", op, ordered, want.name)
                return intervals.window(self.stream(op.child), op.spec, run, ordered=ordered, edge=edge, want=want)
            case Select():
                needs = ordered or reads_position(op.condition, op.child.schema)
                child = self.relation(op.child, ordered=needs, want=want)
                return relational.select(op, self._seen(child, [op.condition]))
            case Project():
                needs = ordered or any(reads_position(e, op.child.schema) for _, e in op.items)
                child = self.relation(op.child, ordered=needs, want=want)
                return relational.project(op, self._seen(child, [e for _, e in op.items]))
            case Rename():
                return replace(self.relation(op.child, ordered=ordered, want=want), schema=op.schema)
            case GroupBy():
                return self._grouped(op)
            case Distinct():
                return relational.distinct(self.relation(op.child, ordered=False))
            case Domain():
                return replace(self._domain(op, ordered=ordered), unseen=True)
            case Tick():
                return current(domain.ticked(op, self.relation(op.child, ordered=ordered)), run)
        return self._binary(op, ordered=ordered)

    def _grouped(self, op: GroupBy) -> RelationFrame:
        want = want_of_group(op) if self.run.memory is not None else Want.HELD
        child = self.relation(op.child, ordered=_looks_at_order(op), want=want)
        edge = self._edge("panes", op) if want in (Want.NEW, Want.SOON) else ""
        return group_by(op, self._seen(child, expressions(op)), self.run, edge=edge, at_once=want is Want.SOON)

    def _domain(self, op: Domain, *, ordered: bool) -> RelationFrame:
        if self.run.memory is not None and isinstance(op.transform_, Shift | Custom):
            ordered = True  # pieces of one row are put together again: equal rows have to be told apart
        edge = self._edge("past", op, ordered)
        fixed = domain.fixed_before(op, self.run, edge)
        if fixed is not None:
            return fixed
        other = None if op.other is None else self.stream(op.other)
        if self.run.memory is None and (at_once := self._fixed(op, ordered=ordered)) is not None:
            return at_once
        child = self._looking_back(op).relation(op.child, ordered=ordered)
        return domain.domain(op, child, other, self.run, edge=edge)

    def _fixed(self, op: Domain, *, ordered: bool) -> RelationFrame | None:
        """R^ts of a batch run: of its child only the state at ts is computed."""
        if not isinstance(op.transform_, AtInstant):
            return None
        past = BatchId(self.run.start_instant if op.transform_.at is None else op.transform_.at, 0)
        below = Compiler(self.run, past, NOTHING, self._whole).relation(op.child, ordered=ordered)
        return domain.domain(op, _held_at(below, past), None, self.run)

    def _seen(self, frame: RelationFrame, exprs: Sequence[Expr]) -> RelationFrame:
        """Without the rows of states that nobody observes, where expressions could fail on them."""
        if not any(can_fail(e) for e in exprs):
            return frame
        # In an epoch panes of later windows are there already, and not yet full.
        if frame.unseen or self.run.memory is not None:
            frame = replace(frame, df=frame.df.where(le(frame.start, literal(self.run.last))), unseen=False)
        if self.moment is None and self.run.memory is None and self.back is not None:
            first = self.run.seen_from
            observed = BatchId(Instant(first.t - self.back), first.i if self.back == 0 else 0)
            frame = replace(frame, df=frame.df.where(lt(literal(observed), frame.end)))
        return frame

    def _binary(self, op: Operator, *, ordered: bool) -> RelationFrame:
        run = self.run
        match op:
            case Product():
                join = Join(op.left, op.right)
                return joins.join(join, *self._both(op, ordered=ordered), run)
            case Join():
                keeps = ordered or op.how is not JoinKind.INNER
                left, right = (self._seen(f, [op.condition]) for f in self._both(op, ordered=keeps))
                return joins.join(op, left, right, run)
            case SetOperation(how=SetKind.UNION):
                left, right = self._both(op, ordered=ordered)
                if not op.stamped:
                    left, right = replace(left, stamp=()), replace(right, stamp=())
                return relational.tagged(left, right, op.schema)
            case SetOperation():
                found = joins.same_identity(*self._both(op, ordered=True), run)
                keep = joins.intersection if op.how is SetKind.INTERSECT else joins.difference
                return replace(keep(found), schema=op.schema)
            case ValueSetOperation():
                left, right = self._both(op, ordered=op.all)
                return bag_operation(op, left, right, run)
        raise PlanError(f"the Spark engine does not know the operator\n{op}")

    def _both(self, op: Operator, *, ordered: bool) -> tuple[RelationFrame, RelationFrame]:
        left, right = (self.relation(c, ordered=ordered) for c in op.children)
        return left, right

    # Streams of windows

    def windows(self, op: Operator) -> WindowsFrame:
        run = self.run
        match op:
            case Scan():
                return sneeql.scan(op, self.relation(op.child), run, self._edge("windows", op))
            case TimeWindows():
                return sneeql.time_windows(op, self.stream(op.child), run, self._edge("windows", op))
            case RowWindows():
                return sneeql.row_windows(op, self.stream(op.child), run, self._edge("windows", op))
            case WindowsProduct():
                return sneeql.product(self.windows(op.left), self.windows(op.right), op.schema, run)
            case Select() | Project() | Rename() | GroupBy() | Distinct():
                return sneeql.unary(op, self.windows(op.child))
        raise PlanError(f"the Spark engine does not know the operator\n{op}")


def _held_at(frame: RelationFrame, moment: BatchId) -> RelationFrame:
    """The rows that hold at a batch identifier, from it on: one state, however long the history is."""
    here = literal(moment)
    held = frame.df.where(le(frame.start, here) & lt(here, frame.end))
    fixed = replace(frame, df=held).with_interval(at(moment.t), at(NEVER), endless=True, shared=True)
    return replace(fixed, coalesced=frame.ordered)


def _inner_run(op: StartedAt, run: Run) -> Run:
    """A query inside another keeps its own start, and ends with the outer one."""
    if run.memory is None:
        return Run(op.child, run.sources, op.t0, run.end, run.materialised)
    scope = edge_name("inner", run.scope, op)
    return Run(
        op.child,
        run.sources,
        op.t0,
        run.end,
        run.materialised,
        since=run.since,
        memory=run.memory,
        scope=scope,
        closing=run.closing,
        new_rows=run.new_rows,
    )


def _looks_at_order(op: GroupBy) -> bool:
    """Whether an aggregate depends on the order of tuples, or reads their positions."""
    ordered = any(a.function in ("first", "last", *SPATIAL_AGGREGATES) for _, a in op.aggregates)
    return ordered or any(reads_position(e, op.child.schema) for e in expressions(op))
