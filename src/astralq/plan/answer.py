"""Plans of whole answers: the history of a run, one state of a relation, and what an epoch adds to an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from astralq.algebra.answers import answer_columns
from astralq.algebra.base import Kind
from astralq.algebra.retention import demand_of_changes
from astralq.algebra.set_aside import SetAside
from astralq.callables import PythonFunction
from astralq.errors import PlanError
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, col, lit
from astralq.plan.encoding.batches import Id, greatest, le, literal, lt
from astralq.plan.encoding.tables import RelationTable, attributes, order_columns
from astralq.plan.operators.expressions import functions
from astralq.plan.operators.relational import marked
from astralq.plan.planner import Planner
from astralq.plan.run import MANY_ROWS, BatchRun, Run
from astralq.plan.sql_types import restored
from astralq.plan.state.store import StateTables
from astralq.plan.table import Assumed, Index, Sort, Table
from astralq.schema import Schema
from astralq.space import Region
from astralq.timeline import LAST_INDEX, BatchId, Instant


@dataclass(frozen=True)
class Plan:
    """What an engine carries out: tables to compute, and what was decided on the way.

    Where `missing` has tables, these have to be measured first, and the plan made again with what they say.
    """

    answer: Table | None  # None: it is known that an epoch has none
    one_partition: bool
    missing: tuple[Table, ...] = ()
    state: StateTables | None = None
    functions: dict[str, Region | PythonFunction] = field(default_factory=dict)  # that run Python
    reasons: tuple[tuple[str, str, str], ...] = ()  # operator, strategy, why
    set_aside: tuple[SetAside, ...] = ()
    rows: int | None = None  # how many rows are read, if that is known
    observed: tuple[BatchId, Instant] | None = None  # of a batch run: from where to where, if that is known
    asks_times: bool = False  # whether it depends on times of sources that were not asked for

    @property
    def measurable(self) -> list[Table]:
        """Of what is missing, that which does not depend on other missing things."""
        return [t for t in self.missing if not any(isinstance(node, Assumed) for node in t.walk())]


def plan_history(run: Run) -> Plan:
    """All that happens in a run, in order: t, i and the attributes; of a relation its changes, with op before them."""
    rows, by = _happened(run, Planner(run))
    return _plan(run, _shown(Sort(rows, by), run))


def plan_state(run: Run, at: Instant, i: int = LAST_INDEX) -> Plan:
    """A relation's state at (at, i), in the order of φ."""
    if run.query.kind is not Kind.RELATION:
        raise PlanError("a stream of windows has no state of its own", hint="stream it first, with RSTREAM")
    relation = Planner(run, BatchId(at, i)).relation(run.query)
    here = literal(BatchId(at, i))
    held = relation.rows.where(le(relation.start, here) & lt(here, relation.end))
    by = tuple(dict.fromkeys([*relation.order, *attributes(relation.schema)]))
    named = zip(_values(relation.schema), run.query.schema.names, strict=True)
    return _plan(run, Sort(held, by).select(*(c.alias(n) for c, n in named)))


def _values(schema: Schema) -> list[Column]:
    """The attributes as they are shown: MAPs from their entries."""
    return [
        F.expr(restored(c, a.type)) if a.type.holds("MAP") else col(c)
        for c, a in zip(attributes(schema), schema, strict=True)
    ]


def plan_epoch(run: Run, first: int, *, small: bool) -> Plan:
    """What an epoch adds to an answer, with each row's place in it as _n, from a first one on; a small addition is
    sorted by one task."""
    planner = Planner(run)
    if planner.is_no_op():
        if run.query.kind is Kind.STREAM:
            planner.stream(run.query)
        else:
            planner.advance(run.query, demand_of_changes(run.query))
        return _plan(run, None)
    rows, by = _happened(run, planner)
    if not small:
        rows = run.materialized(rows)
    numbered = Index(rows, by, "_n", one_task=small)
    return _plan(run, _shown(numbered.with_column("_n", col("_n") + lit(first)), run, ["_n"]))


def _plan(run: Run, answer: Table | None) -> Plan:
    known = isinstance(run, BatchRun) and run.knows_times
    return Plan(
        answer,
        run.one_partition,
        tuple(run.choices.missing.values()),
        run.state,
        functions(run.query),
        tuple(run.choices.reasons),
        tuple(run.set_aside()) if isinstance(run, BatchRun) else (),
        None if run.expected_rows >= MANY_ROWS else run.expected_rows,
        (run.start, run.end) if known else None,
        run.choices.asks_times,
    )


def _happened(run: Run, planner: Planner) -> tuple[Table, tuple[str, ...]]:
    """The rows of the answer, and what they are ordered by."""
    match run.query.kind:
        case Kind.STREAM:
            stream = planner.stream(run.query)
            rows = stream.rows
            if stream.within != (run.seen_from.t, run.end) or run.seen_from.i:
                rows = rows.where(le(literal(run.seen_from), stream.batch) & le(stream.batch, literal(run.last)))
            rows = rows.with_column("i", stream.batch.index)
            return rows, ("t", "i", *stream.order_columns)
        case Kind.RELATION:
            relation = (
                planner.relation(run.query, identity=False)
                if run.state is None
                else planner.relation(run.query, demand=demand_of_changes(run.query))
            )
            return _changes(marked(relation, run), run)
    windows = planner.windows(run.query)
    rows = windows.rows.where(run.observed(col("wt"))).with_columns({"t": col("wt"), "i": col("wi")})
    return rows, ("t", "i", *order_columns(windows.phi))


def _shown(rows: Table, run: Run, further: Sequence[str] = ()) -> Table:
    """The columns under their names."""
    wanted = answer_columns(run.query)
    first = [col("op")] if run.query.kind is Kind.RELATION else []
    made = [*first, F.timestamp_micros("t"), col("i").cast("bigint"), *_values(run.query.schema)]
    return rows.select(*(c.alias(a.name) for c, a in zip(made, wanted, strict=True)), *further)


def _changes(relation: RelationTable, run: Run) -> tuple[Table, tuple[str, ...]]:
    """Deletions first, each in the order of φ."""
    relation = replace(relation, rows=run.materialized(relation.rows))
    start, last = literal(run.seen_from), literal(run.last)
    begins = greatest(relation.start, start)
    # What holds already at the start is new to those who look from there on.
    held = lit(False) if run.continues else le(relation.start, start) & lt(start, relation.end) & le(start, last)

    def part(op: str, rank: int, condition: Column, at: Id) -> Table:
        made = {"op": lit(op), "_rank": lit(rank), "t": at.t, "i": at.index}
        order = [col(c).alias(f"_o{k}") for k, c in enumerate(relation.order)]
        chosen = relation.rows.where(condition)
        return chosen.select(*attributes(relation.schema), *order, *(v.alias(k) for k, v in made.items()))

    gained = part("+", 1, (col("_begins") & lt(start, relation.start) & le(relation.start, last)) | held, begins)
    lost = part("-", 0, col("_ends") & lt(start, relation.end) & le(relation.end, last), relation.end)
    order = [f"_o{k}" for k in range(len(relation.order))]
    return lost.union(gained), ("t", "i", "_rank", *order, *attributes(relation.schema))
