"""From core operators to plan tables: one case per operator, each handed to the file of its family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from astralq.algebra.base import Kind, Operator
from astralq.algebra.bounds import WindowBounds
from astralq.algebra.constants import Constants
from astralq.algebra.domain import AtInstant, Custom, Domain, Floor, LastBatchOf, Shift
from astralq.algebra.evaluations import Evaluations
from astralq.algebra.explode import Explode
from astralq.algebra.ordering import Limit, OrderBy
from astralq.algebra.panes import CommonPanes
from astralq.algebra.phi import CopyPhi
from astralq.algebra.properties import Given, comes_and_goes_at_once, expressions, properties
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
from astralq.algebra.retention import (
    Demand,
    demand_of_group,
    demand_of_streamer,
    is_no_op,
)
from astralq.algebra.sneeql import RowWindows, Scan, TimeWindows, WindowsProduct
from astralq.algebra.sources import RelationSource, SensedSource, StartedAt, StreamSource, Validity
from astralq.algebra.stream_ops import BandJoin, Spread
from astralq.algebra.streamers import DStream, IStream, RStream
from astralq.algebra.ticks import Tick
from astralq.algebra.windows import Window
from astralq.errors import PlanError
from astralq.expr.nodes import Expr
from astralq.expr.safety import can_fail
from astralq.plan import emitted
from astralq.plan.aggregate import common_panes
from astralq.plan.aggregate.group_by import group_by, keep_panes, merged_panes
from astralq.plan.aggregate.merged_first import merged_first
from astralq.plan.aggregate.partials import Plan
from astralq.plan.columns import col, lit
from astralq.plan.encoding.batches import le, literal, lt
from astralq.plan.encoding.tables import RelationTable, StreamTable, WindowsTable
from astralq.plan.operators import evaluations, explode, joins, ordering, relational, sneeql, streamers, streams
from astralq.plan.operators import past as domain
from astralq.plan.operators.bags import bag_operation
from astralq.plan.operators.expressions import looks_at_order, reads_positions
from astralq.plan.run import Run
from astralq.plan.sources import changes, rows
from astralq.plan.state.epochs import clip_to_epoch
from astralq.plan.state.store import state_name
from astralq.plan.table import Table
from astralq.plan.windows.bounds import LookedAt, bounds_of_state, window_bounds
from astralq.plan.windows.window import window
from astralq.timeline import BatchId, Duration, Instant

NOTHING = Duration(0)


@dataclass
class Planner:
    """Plans the core operators of one query (laws.lower gives them); each stream is planned once."""

    run: Run
    moment: BatchId | None = None  # where only one state is wanted: operators are pointwise, so that leaves are cut
    back: Duration | None = NOTHING  # how far before the run's start states are looked at; None: nobody knows
    from_start: bool = False  # only the state at the query's start is looked at before the run's start
    whole: Planner | None = field(default=None, repr=False)
    _streams: dict[Operator, StreamTable] = field(default_factory=dict)

    @property
    def _whole(self) -> Planner:
        """For what is below a leaf: all of its history."""
        if self.moment is None and self.back == NOTHING:
            return self
        if self.whole is None:
            self.whole = Planner(self.run)
        return self.whole

    def looking_back(self, op: Domain) -> Planner:
        """For what is below a past state: the states that it looks at."""
        by = op.transform_.by if isinstance(op.transform_, Shift) else None
        if isinstance(op.transform_, Floor):
            by = op.transform_.every
        back = None if by is None or self.back is None else Duration(self.back + by)
        from_start = isinstance(op.transform_, LastBatchOf) and self.back == NOTHING
        return Planner(self.run, None, back, from_start, self._whole, self._whole._streams)

    @property
    def _looked_at(self) -> LookedAt:
        """Which states somebody looks at, as far as that is known."""
        return LookedAt(self.run, self.back, self.from_start and self.run.since is None)

    # Streams

    def stream(self, op: Operator) -> StreamTable:
        """A stream's relation, the same one wherever the operator stands."""
        if op not in self._streams:
            self._streams[op] = replace(self._stream(op), name=self.table_name("stream", op))
        return self._streams[op]

    def table_name(self, kind: str, op: Operator, *more: object) -> str:
        """The name of an operator's state table; a batch run has none."""
        return "" if self.run.state is None else state_name(kind, self.run.scope, op, *more)

    def _stream(self, op: Operator) -> StreamTable:
        run = self.run
        match op:
            case StreamSource() | SensedSource():
                guarded = run.state is None and run.facts.is_guarded(op, run.t0)
                scan = rows.bounded(op, run.scan(op), None if guarded else run.t0_or_none, run.until)
                received = rows.received(op, scan)
                if run.state is None:  # the columns of state tables stay as they are
                    received = rows.without_time(op, received)
                if run.since is not None:  # what an older query has seen, whose state goes on here
                    received = replace(received, rows=received.rows.where(col("t") > run.since))
                return streams.from_start(received, run.t0, run.until, guarded=guarded, ended=rows.has_plain_time(op))
            case StartedAt():
                inner = Planner(run.inside(op.child, op.t0)).stream(op.child)
                return streams.from_start(inner, run.t0, run.until)
            case Select() | Project() | Rename():
                return streams.row_by_row(op, self.stream(op.child), run)
            case Explode():
                return explode.of_stream(op, self.stream(op.child), run)
            case Spread():
                return streams.spread(op, self.stream(op.child))
            case Tick():
                return streams.ticked(op, self.stream(op.child))
            case IStream() | DStream() | RStream():
                if op.child.kind is Kind.WINDOWS:
                    return sneeql.stream_of_windows(op, self.windows(op.child), run)
                if op.every is None and self._is_no_op(op.child):
                    self.advance(op.child, demand_of_streamer(op))
                    return streams.nothing(op.schema)
                if (found := emitted.looked_up(op, self)) is not None:
                    return found
                compares = streamers.compares_tuples(op)
                child = emitted.begun(op.child, self) if isinstance(op, IStream) and not compares else None
                if child is None:
                    child = self.relation(op.child, demand=demand_of_streamer(op), identity=compares)
                return streamers.stream_of(op, child, run, name=self.table_name("every", op))
            case Evaluations():
                below = [self.stream(b) for b in op.batches]
                return evaluations.evaluations(op, below, None if op.also is None else self.stream(op.also), run)
            case BandJoin():
                return self._banded(op)
        raise PlanError(f"no plan is known for the operator\n{op}")

    def _banded(self, op: BandJoin) -> StreamTable:
        """D34's pairs by position: neighbours are in the same stretch of d + 1 positions or in one beside it."""
        assert op.within_rows is not None
        match op.definition:
            case IStream(Project(Join() as join) as project) as streamer:
                left, right = (self.seen(f, [join.condition]) for f in self._near(join, op.within_rows))
                joined = joins.join_near(join, left, right, op.within_rows, self.run)
                return streamers.stream_of(streamer, relational.project(project, joined), self.run)
        raise AssertionError(op.definition)

    # What only goes on

    def _is_no_op(self, op: Operator) -> bool:
        run = self.run
        return run.continues and run.since is not None and is_no_op(op, run.t0, run.since, run.end)

    def is_no_op(self) -> bool:
        """Whether the query certainly has no answer in this epoch; its state has to go on all the same."""
        query = self.run.query
        while query.kind is Kind.STREAM and isinstance(query, Select | Project | Rename):
            query = query.child
        if isinstance(query, IStream | DStream | RStream):
            return query.every is None and query.child.kind is Kind.RELATION and self._is_no_op(query.child)
        return query.kind is Kind.RELATION and self._is_no_op(query)

    def advance(self, op: Operator, demand: Demand = Demand.CLIPPED, *, ordered: bool = True) -> None:
        """Takes what has come to the state tables below an operator whose relation nobody looks at in this epoch."""
        match op:
            case GroupBy(panes=CommonPanes() as common):
                self._panes(common)
            case GroupBy():
                below, needs = demand_of_group(op), looks_at_order(op)
                if below in (Demand.DELTA, Demand.EARLY):
                    child = self.relation(op.child, ordered=needs, demand=below)
                    keep_panes(op, child, self.run, name=self.table_name("panes", op), early=below is Demand.EARLY)
                else:
                    self.advance(op.child, below, ordered=needs)
            case Select() | Project() | Explode():
                self.advance(op.child, demand, ordered=ordered or reads_positions(op))
            case _:
                self.relation(op, ordered=ordered, demand=demand)

    def _near(self, join: Join, rows: int) -> list[RelationTable]:
        """Both sides of a band join by position; a tuple is kept until the other side's positions are past it."""
        sides = (join.left, join.right)
        relations = [self.relation(side) for side in sides]
        state = self.run.state
        if state is None:
            return relations
        for side, other in zip(sides, reversed(sides), strict=True):
            name = self.table_name("window", side, True, Demand.CLIPPED.name)
            reached = state.metadata.get(f"count {self.stream(other.children[0]).name}", 0)
            kept = state.append(name, self.stream(side.children[0]).rows)
            state.compact(name, kept.where(col("n") + lit(rows) >= reached))
        return relations

    # Relations

    def relation(
        self,
        op: Operator,
        *,
        ordered: bool = True,
        demand: Demand = Demand.CLIPPED,
        identity: bool = True,
        copies: bool = False,
    ) -> RelationTable:
        """A relation's relation; without `ordered` nobody looks at order and identity, which spares numbering streams.
        Without `identity` nobody asks whether two rows are the same tuple, so that their order will do; with `copies`
        equal tuples have another φ each all the same.

        `demand` says what is wanted in an epoch; all operators but σ, Π, ρ and explode demand what their children hold.
        """
        if self.moment is not None:
            return self._state(op, self.moment, ordered=ordered)
        return self._relation(op, ordered=ordered, demand=demand, identity=identity, copies=copies)

    def _state(self, op: Operator, moment: BatchId, *, ordered: bool) -> RelationTable:
        """The rows that hold at one batch identifier, from it on; other states are not computed: they could fail."""
        if isinstance(op, Domain) and self.run.state is None:
            past = domain.looked_at(op, moment, self.run)
            if past is not None:
                below = Planner(self.run, past, NOTHING, whole=self._whole).relation(op.child, ordered=ordered)
                return domain.seen_at(op, domain.held_at(below, past), moment, self.run)
        if isinstance(op, RelationSource | Constants | StartedAt | Window | Domain | Tick):
            return domain.held_at(self._whole.relation(op, ordered=ordered), moment)
        state = self._relation(op, ordered=ordered, demand=Demand.CLIPPED, identity=True, copies=False)
        # A global aggregate has a row of nothing before the moment, too.
        return domain.held_at(state, moment) if isinstance(op, GroupBy) and not op.keys else state

    def _relation(self, op: Operator, *, ordered: bool, demand: Demand, identity: bool, copies: bool) -> RelationTable:
        run = self.run
        match op:
            case RelationSource(validity=Validity.CHANGES):
                name = self.table_name("log", op)
                return clip_to_epoch(changes.replayed(op, run.scan(op), run.state, name, run.since, run.until), run)
            case RelationSource() | Constants():
                return clip_to_epoch(rows.standing(op, run.scan), run)
            case StartedAt():
                return Planner(run.inside(op.child, op.t0)).relation(op.child, ordered=ordered)
            case Window():
                name = self.table_name("window", op, ordered, demand.name)
                asked = {"ordered": ordered, "identity": identity, "copies": copies}
                return window(self.stream(op.child), op.spec, run, **asked, name=name, demand=demand)
            case Select() | Project() | Explode():
                counts = reads_positions(op)
                # The elements of equal tuples are not mixed, so that these have to be told apart.
                apart = identity or counts or isinstance(op, Explode)
                child = self.relation(op.child, ordered=ordered or counts, demand=demand, identity=apart, copies=copies)
                seen = self.seen(child, expressions(op))
                match op:
                    case Select():
                        return relational.select(op, seen)
                    case Project():
                        return relational.project(op, seen)
                return explode.of_relation(op, seen)
            case Rename():
                return replace(
                    self.relation(op.child, ordered=ordered, demand=demand, identity=identity, copies=copies),
                    schema=op.schema,
                )
            case CopyPhi():
                return relational.copy_phi(op, self.relation(op.child))
            case OrderBy():
                child = self.relation(op.child, ordered=ordered, identity=identity or copies or reads_positions(op))
                return ordering.order_by(op, self.seen(child, expressions(op))) if ordered else child
            case Limit():
                return self._limited(op, identity=identity or copies or reads_positions(op))
            case WindowBounds():
                child = self.relation(op.child, ordered=ordered, identity=identity or copies)
                if self.moment is not None:
                    return bounds_of_state(op, child, self.moment.t, run)
                return window_bounds(op, child, run, self._looked_at)
            case GroupBy():
                return self.grouped(op)
            case Distinct():
                return relational.distinct(self.relation(op.child, ordered=False))
            case Domain():
                return replace(self._domain(op, ordered=ordered), unseen=True)
            case Tick():
                return clip_to_epoch(domain.ticked(op, self.relation(op.child, ordered=ordered)), run)
        return self._binary(op, ordered=ordered, identity=identity, copies=copies)

    def _limited(self, op: Limit, *, identity: bool) -> RelationTable:
        # What is cut off at the end of the epoch before is cut off of all.
        known = properties(op.child, Given.of(self.run.t0_or_none))
        at_once = self.moment is not None or comes_and_goes_at_once(known)
        child = self.relation(op.child, identity=identity or not at_once)
        seen = self.seen(child, expressions(op))
        return ordering.limit(op, seen, self.run, self._looked_at, at_once=at_once)

    def grouped(self, op: GroupBy, *, begins: bool = False) -> RelationTable:
        if op.panes is not None:
            return self._from_panes(op, op.panes)
        if self.moment is None and (found := merged_first(op, self.run, self.stream)) is not None:
            return found
        demand = demand_of_group(op) if self.run.state is not None else Demand.CLIPPED
        child = self.relation(op.child, ordered=looks_at_order(op), demand=demand)
        name = self.table_name("panes", op) if demand in (Demand.DELTA, Demand.EARLY) else ""
        seen, early = self.seen(child, expressions(op)), demand is Demand.EARLY
        return group_by(op, seen, self.run, name=name, early=early, begins=begins)

    def _from_panes(self, op: GroupBy, common: CommonPanes) -> RelationTable:
        """An aggregation over a window by time, answered from the panes that it has in common with others."""
        assert isinstance(op.child, Window)
        table, plans = self._panes(common)
        panes, names = common_panes.as_stream(table, self.run.t0)
        held = window(panes, op.child.spec, self.run, ordered=False, demand=Demand.EARLY)
        if self.run.since is not None:
            held = replace(held, rows=held.rows.where(col("tt") > self.run.since))
        mine = common_panes.own_panes(op, common, plans, held.rows, names)
        return group_by(op, held, self.run, panes=mine)

    def _panes(self, common: CommonPanes) -> tuple[Table, list[Plan]]:
        """The panes that several aggregations have in common; in an epoch they are a state table."""
        oldest = Planner(self.run.inside(common.stream, common.t0))
        rows = common_panes.in_panes(common, oldest.stream(common.stream))
        name = oldest.table_name("panes", common.stream, common)
        return merged_panes(common_panes.grouping(common), rows, oldest.run, name=name)

    def _domain(self, op: Domain, *, ordered: bool) -> RelationTable:
        if self.run.state is not None and isinstance(op.transform_, Shift | Custom):
            ordered = True  # pieces of one row are put together again: equal rows have to be told apart
        name = self.table_name("past", op, ordered)
        fixed = domain.fixed_before(op, self.run, name)
        if fixed is not None:
            return fixed
        other = None if op.other is None else self.stream(op.other)
        if self.run.state is None and (at_once := self._fixed(op, ordered=ordered)) is not None:
            return at_once
        child = self.looking_back(op).relation(op.child, ordered=ordered)
        return domain.domain(op, child, other, self.run, name=name)

    def _fixed(self, op: Domain, *, ordered: bool) -> RelationTable | None:
        """R^ts of a batch run: of its child only the state at ts is computed."""
        if not isinstance(op.transform_, AtInstant):
            return None
        past = BatchId(self.run.start_instant if op.transform_.at is None else op.transform_.at, 0)
        below = Planner(self.run, past, NOTHING, whole=self._whole).relation(op.child, ordered=ordered)
        return domain.domain(op, domain.held_at(below, past), None, self.run)

    def seen(self, relation: RelationTable, exprs: Sequence[Expr]) -> RelationTable:
        """Without the rows of states that nobody observes, where expressions could fail on them."""
        if not any(can_fail(e) for e in exprs):
            return relation
        # In an epoch panes of later windows are there already, and not yet full.
        if relation.unseen or self.run.state is not None:
            relation = replace(
                relation, rows=relation.rows.where(le(relation.start, literal(self.run.last))), unseen=False
            )
        if self.moment is None and self.run.state is None and self.back is not None:
            first = self.run.seen_from
            observed = BatchId(Instant(first.t - self.back), first.i if self.back == 0 else 0)
            relation = replace(relation, rows=relation.rows.where(lt(literal(observed), relation.end)))
        return relation

    def _binary(self, op: Operator, *, ordered: bool, identity: bool, copies: bool) -> RelationTable:
        run = self.run
        match op:
            case Product():
                join = Join(op.left, op.right)
                return joins.join(join, *self.both(op, ordered=ordered, identity=identity), run)
            case Join():
                # Of pairs each is a row by itself; other joins put the intervals of a row together. The pairs of two
                # equal tuples stay apart.
                keeps = op.how is not JoinKind.INNER
                both = self.both(op, ordered=ordered or keeps, identity=identity or keeps)
                left, right = (self.seen(f, [op.condition]) for f in both)
                return joins.join(op, left, right, run)
            case SetOperation(how=SetKind.UNION):
                left, right = self.both(op, ordered=ordered, identity=identity or op.in_order, copies=copies)
                if not op.stamped:
                    left, right = replace(left, stamp=()), replace(right, stamp=())
                mixed = op.in_order and ordered
                return (relational.mixed if mixed else relational.tagged)(left, right, op.schema)
            case SetOperation():
                matches = joins.same_identity(*self.both(op, ordered=True), run)
                keep = joins.intersection if op.how is SetKind.INTERSECT else joins.difference
                return replace(keep(matches), schema=op.schema)
            case ValueSetOperation():
                left, right = self.both(op, ordered=op.all)
                return bag_operation(op, left, right, run)
        raise PlanError(f"no plan is known for the operator\n{op}")

    def both(
        self, op: Operator, *, ordered: bool, identity: bool = True, copies: bool = True
    ) -> tuple[RelationTable, RelationTable]:
        left, right = (self.relation(c, ordered=ordered, identity=identity, copies=copies) for c in op.children)
        return left, right

    # Streams of windows

    def windows(self, op: Operator) -> WindowsTable:
        run = self.run
        match op:
            case Scan():
                return sneeql.scan(op, self.relation(op.child), run, self.table_name("windows", op))
            case TimeWindows():
                return sneeql.time_windows(op, self.stream(op.child), run, self.table_name("windows", op))
            case RowWindows():
                return sneeql.row_windows(op, self.stream(op.child), run, self.table_name("windows", op))
            case WindowsProduct():
                return sneeql.product(self.windows(op.left), self.windows(op.right), op.schema, run)
            case Select() | Project() | Rename() | GroupBy() | Distinct():
                return sneeql.unary(op, self.windows(op.child), run)
        raise PlanError(f"no plan is known for the operator\n{op}")
