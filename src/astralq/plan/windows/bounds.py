"""The bounds of windows beside the rows of a relation: each row is cut at the evaluations in its interval.

No grid of instants is made: a row becomes as many as there are windows in which it holds, of those that a run observes.
Where rows hold for one step anyway, as those of an aggregate over TUMBLE, they get two attributes, and that is all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from astralq.algebra.bounds import WindowBounds, bounds_at, is_half_open
from astralq.algebra.properties import Grid
from astralq.algebra.schedules import Periodic
from astralq.algebra.scopes import Back, Bound, Linear
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, col, columns, lit, long
from astralq.plan.encoding.batches import ALWAYS, Id, at, greatest, least
from astralq.plan.encoding.tables import INTERVAL, RelationTable, attributes, interval
from astralq.plan.run import Run
from astralq.plan.table import Table
from astralq.plan.windows.arithmetic import quotient_down
from astralq.timeline import Instant

_NONE = F.array().cast("array<bigint>")


@dataclass(frozen=True)
class LookedAt:
    """Which states of a relation somebody looks at: from an instant on, and perhaps that at the query's start."""

    first: Instant
    also_start: bool = False


def bounds_of_state(op: WindowBounds, relation: RelationTable, moment: Instant, run: Run) -> RelationTable:
    """Where only the state at one instant is wanted, the bounds are constants."""
    schedule = op.spec.schedule
    assert isinstance(schedule, Periodic)
    e = schedule.last(run.t0, Instant(moment - op.spec.delay))
    shown = (None, None) if e is None else bounds_at(op.spec, run.t0, e)
    made = [F.timestamp_micros(long(b)).alias(n) for b, n in zip(shown, _names(op), strict=True)]
    rows = relation.rows.select(*columns(relation.rows.columns), *made)
    return replace(relation, rows=rows, schema=op.schema, one_row_per_phi=False)


def window_bounds(op: WindowBounds, relation: RelationTable, run: Run, looked_at: LookedAt) -> RelationTable:
    """The relation with the bounds of the window of the last evaluation, NULL before the first."""
    schedule, delay = op.spec.schedule, op.spec.delay
    assert isinstance(schedule, Periodic)
    origin, every = schedule.origin(run.t0) + delay, schedule.every
    own = Grid(origin % every, every)
    on_grid = relation.grid is not None and relation.grid.is_on(own)
    if on_grid and relation.lifetime == every:
        run.choices.note(op.label, "beside each row", "every row holds for one step of the window")
        rows = relation.rows.with_column("_e", col("ft") - lit(delay))
    else:
        run.choices.note(op.label, "rows cut at evaluations", "a row may hold in several windows")
        rows = _cut(relation, run, looked_at, origin, every).with_column("_e", col("_e") - lit(delay))
    made = [_bound(b, op, run) for b in (op.spec.scope.lo, op.spec.scope.hi)]
    if is_half_open(op.spec):
        made[1] = made[1] + lit(1)
    kept = [c for c in relation.rows.columns if c not in INTERVAL]
    bounds = [F.timestamp_micros(b).alias(n) for b, n in zip(made, _names(op), strict=True)]
    whole = on_grid and relation.one_batch and relation.ordered
    return replace(
        relation,
        rows=rows.select(*columns(kept), *bounds, *relation.interval_columns),
        schema=op.schema,
        coalesced=whole or relation.coalesced,
        one_row_per_phi=False,
        lifetime=every if on_grid and relation.lifetime == every else None,
        append_only=False,
        grid=Grid.common(relation.grid, own) if relation.grid is not None else None,
        window_columns=_moving(op) if whole else (),
    )


def _names(op: WindowBounds) -> list[str]:
    return attributes(op.schema)[-2:]


def _moving(op: WindowBounds) -> tuple[str, ...]:
    """Those of the two columns that have another value in every window."""
    scope = op.spec.scope
    both = zip((scope.lo, scope.hi), _names(op), strict=True)
    return tuple(name for b, name in both if isinstance(b, Back) or (isinstance(b, Linear) and b.slope > 0))


def _bound(bound: Bound, op: WindowBounds, run: Run) -> Column:
    """A bound of the window evaluated at _e, NULL where that is."""
    schedule, e = op.spec.schedule, col("_e")
    assert isinstance(schedule, Periodic)
    if isinstance(bound, Back):
        return e - lit(bound.amount)
    assert isinstance(bound, Linear)
    j = (e - lit(schedule.origin(run.t0))) // long(schedule.every)
    return j * lit(bound.slope) + lit(bound.value(0, run.t0, op.spec.scope.measure))


def _cut(relation: RelationTable, run: Run, looked_at: LookedAt, origin: int, every: int) -> Table:
    """Each row once for each window that it holds in, with its evaluation _e: k·every after the first one, at `origin`;
    NULL before that."""
    start, end = relation.start, relation.end
    last = F.least(end.t - 1 if end.i is None else F.when(end.i > 0, end.t).otherwise(end.t - 1), lit(run.end))
    low = F.greatest(start.t, lit(max(looked_at.first, ALWAYS)))

    def number(t: Column) -> Column:
        return F.greatest(quotient_down(t - lit(origin), every), long(-1))

    held = relation.rows.with_columns({"_low": low, "_high": last})
    seen = col("_low") <= col("_high")
    numbers: Column = F.when(seen, F.sequence(number(col("_low")), number(col("_high")))).otherwise(_NONE)
    if looked_at.also_start and looked_at.first > run.t0:
        numbers = _with_start(numbers, relation, run, number)
        seen = seen | (start.t <= run.t0)
    exploded = held.where(seen).with_column("_k", F.explode(numbers))
    e = F.when(col("_k") >= 0, col("_k") * lit(every) + lit(origin))
    begins, ends = F.coalesce(e, long(ALWAYS)), (col("_k") + 1) * lit(every) + lit(origin)
    names = [c for c in relation.rows.columns if c not in INTERVAL]
    piece = _piece(relation, at(begins), at(ends))
    return exploded.select(*columns(names), *piece, e.alias("_e"))


def _with_start(found: Column, relation: RelationTable, run: Run, number: Callable[[Column], Column]) -> Column:
    """With the window of the query's start, where the row holds then: who looks before the first batch sees it."""
    at_start = F.when(relation.start.t <= run.t0, F.array(number(long(run.t0)))).otherwise(_NONE)
    return F.call("array_distinct", F.concat(at_start, found))


def _piece(relation: RelationTable, begins: Id, ends: Id) -> list[Column]:
    return interval(greatest(relation.start, begins), least(relation.end, ends), one_batch=relation.one_batch)
