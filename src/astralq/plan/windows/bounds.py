"""The bounds of windows beside the rows of a relation: each row is cut at the evaluations in its interval.

No grid of instants is made: a row becomes as many as there are windows in which it holds, of those that a run observes.
Where rows hold for one step anyway, as those of an aggregate over TUMBLE, they get two attributes, and that is all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from astralq.algebra.bounds import WindowBounds, bounds_at, evaluations_of, is_half_open
from astralq.algebra.properties import Grid
from astralq.algebra.schedules import Periodic
from astralq.algebra.scopes import Back, Bound, Linear
from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, col, columns, lit, long
from astralq.plan.encoding.batches import ALWAYS, NEVER, at, greatest, least
from astralq.plan.encoding.tables import INTERVAL, RelationTable, attributes, interval
from astralq.plan.run import Run
from astralq.plan.table import Table
from astralq.plan.windows.arithmetic import quotient_down
from astralq.timeline import Duration, Instant

_NONE = F.array().cast("array<bigint>")


@dataclass(frozen=True)
class LookedAt:
    """Which states of a relation somebody looks at: from an instant on, and perhaps that at the query's start."""

    run: Run
    back: Duration | None  # how far before the run's start; None: nobody knows
    also_start: bool = False

    @cached_property
    def first(self) -> Instant:
        """The instant; a run finds its start only where somebody asks for it."""
        if self.run.since is not None:
            return self.run.since
        if self.also_start:
            return self.run.looked_from
        return Instant(ALWAYS if self.back is None else self.run.looked_from - self.back)

    def is_known_from(self, t0: Instant) -> bool:
        """Whether all of them are in one interval that has a beginning."""
        return self.first > ALWAYS and not (self.also_start and self.first > t0)


def bounds_of_state(op: WindowBounds, relation: RelationTable, moment: Instant, run: Run) -> RelationTable:
    """Where only the state at one instant is wanted, the bounds are constants."""
    e = evaluations_of(op.spec).last(run.t0, Instant(moment - op.spec.delay))
    shown = (None, None) if e is None else bounds_at(op.spec, run.t0, e)
    made = [F.timestamp_micros(long(b)).alias(n) for b, n in zip(shown, _names(op), strict=True)]
    rows = relation.rows.select(*columns(relation.rows.columns), *made)
    return replace(relation, rows=rows, schema=op.schema, one_row_per_phi=False)


def window_bounds(op: WindowBounds, relation: RelationTable, run: Run, looked_at: LookedAt) -> RelationTable:
    """The relation with the bounds of the window of the last evaluation, NULL before the first."""
    own = _grid(op, run)
    on_grid = own is not None and relation.grid is not None and relation.grid.is_on(own)
    in_one = own is not None and on_grid and relation.lifetime == own.every
    if in_one:
        run.choices.note(op.label, "beside each row", "every row holds for one step of the window")
        rows: Table = relation.rows.with_columns(_bounds(op, run, col("ft") - lit(op.spec.delay)))
    elif own is not None:
        run.choices.note(op.label, "rows cut at evaluations", "a row may hold in several windows")
        rows = _cut(op, relation, run, looked_at)
    else:
        run.choices.note(op.label, "rows cut at a list of instants", "the schedule has no formula")
        rows = _cut_at_instants(op, relation, run, looked_at)
    whole = on_grid and relation.one_batch and relation.ordered
    kept = [c for c in relation.rows.columns if c not in INTERVAL]
    return replace(
        relation,
        rows=rows.select(*columns(kept), *_names(op), *relation.interval_columns),
        schema=op.schema,
        coalesced=whole or relation.coalesced,
        one_row_per_phi=False,
        lifetime=relation.lifetime if in_one else None,
        within=relation.within if in_one else None,
        append_only=False,
        grid=Grid.common(relation.grid, own),
        window_columns=_moving(op) if whole else (),
    )


def _grid(op: WindowBounds, run: Run) -> Grid | None:
    """The instants after which other bounds are shown, where they are periodic."""
    schedule = op.spec.schedule
    if not isinstance(schedule, Periodic):
        return None
    return Grid((schedule.origin(run.t0) + op.spec.delay) % schedule.every, schedule.every)


def _names(op: WindowBounds) -> list[str]:
    return attributes(op.schema)[-2:]


def _moving(op: WindowBounds) -> tuple[str, ...]:
    """Those of the two columns that have another value in every window."""
    scope = op.spec.scope
    both = zip((scope.lo, scope.hi), _names(op), strict=True)
    return tuple(name for b, name in both if isinstance(b, Back) or (isinstance(b, Linear) and b.slope > 0))


def _bounds(op: WindowBounds, run: Run, e: Column) -> dict[str, Column]:
    """The bounds of the window that is evaluated at e, NULL where that is, by their columns."""
    made = [_bound(b, op, run, e) for b in (op.spec.scope.lo, op.spec.scope.hi)]
    if is_half_open(op.spec):
        made[1] = made[1] + lit(1)
    return {n: F.timestamp_micros(b) for n, b in zip(_names(op), made, strict=True)}


def _bound(bound: Bound, op: WindowBounds, run: Run, e: Column) -> Column:
    schedule = op.spec.schedule
    assert isinstance(schedule, Periodic)
    if isinstance(bound, Back):
        return e - lit(bound.amount)
    assert isinstance(bound, Linear)
    j = (e - lit(schedule.origin(run.t0))) // long(schedule.every)
    return j * lit(bound.slope) + lit(bound.value(0, run.t0, op.spec.scope.measure))


@dataclass(frozen=True)
class _Seen:
    """The first and the last instant at which a row holds, of those that somebody looks at."""

    low: Column
    high: Column
    at_start: Column | None  # whether it holds at the query's start, where that is looked at besides

    @staticmethod
    def of(relation: RelationTable, run: Run, looked_at: LookedAt) -> _Seen:
        end = relation.end
        last = end.t - 1 if end.i is None else F.when(end.i > 0, end.t).otherwise(end.t - 1)
        low = F.greatest(relation.start.t, lit(max(looked_at.first, ALWAYS)))
        besides = looked_at.also_start and looked_at.first > run.t0
        return _Seen(low, F.least(last, lit(run.end)), relation.start.t <= run.t0 if besides else None)

    @property
    def ever(self) -> Column:
        seen = self.low <= self.high
        return seen if self.at_start is None else seen | self.at_start


def _cut(op: WindowBounds, relation: RelationTable, run: Run, looked_at: LookedAt) -> Table:
    """Each row once for each window that it holds in; evaluations are numbered from the first one, −1 is before it."""
    schedule = op.spec.schedule
    assert isinstance(schedule, Periodic)
    origin, every = schedule.origin(run.t0) + op.spec.delay, schedule.every

    def number(t: Column) -> Column:
        return F.greatest(quotient_down(t - lit(origin), every), long(-1))

    seen = _Seen.of(relation, run, looked_at)
    numbers: Column = F.when(seen.low <= seen.high, F.sequence(number(seen.low), number(seen.high))).otherwise(_NONE)
    if seen.at_start is not None:
        first = F.when(seen.at_start, F.array(number(long(run.t0)))).otherwise(_NONE)
        numbers = F.call("array_distinct", F.concat(first, numbers))
    exploded = relation.rows.where(seen.ever).with_column("_k", F.explode(numbers))
    e = F.when(col("_k") >= 0, col("_k") * lit(every) + lit(origin))
    begins, ends = F.coalesce(e, long(ALWAYS)), (col("_k") + 1) * lit(every) + lit(origin)
    return _pieces(relation, exploded, begins, ends, _bounds(op, run, e - lit(op.spec.delay)))


def _cut_at_instants(op: WindowBounds, relation: RelationTable, run: Run, looked_at: LookedAt) -> Table:
    """The same where evaluations are a list: those that are looked at, with their bounds, are in the plan."""
    schedule, delay = evaluations_of(op.spec), op.spec.delay
    first = run.t0 if looked_at.also_start else max(looked_at.first, run.t0)
    before = schedule.last(run.t0, Instant(first - delay))
    instants = list(schedule.between(run.t0, Instant(first - delay if before is None else before), run.end))
    following = [e + delay for e in instants[1:]] + [NEVER]
    pieces: list[tuple[int, int, int | None, int | None]] = [
        (e + delay, until, *bounds_at(op.spec, run.t0, e)) for e, until in zip(instants, following, strict=False)
    ]
    if before is None:
        pieces.insert(0, (ALWAYS, instants[0] + delay if instants else NEVER, None, None))
    names = ("begins", "ends", "start", "end")
    listed = F.array(*(F.struct(*(long(v).alias(n) for v, n in zip(p, names, strict=True))) for p in pieces))
    seen = _Seen.of(relation, run, looked_at)

    def holds(piece: Column) -> Column:
        shown = (piece["begins"] <= seen.high) & (piece["ends"] > seen.low) & (seen.low <= seen.high)
        if seen.at_start is None:
            return shown
        return shown | (seen.at_start & (piece["begins"] <= run.t0) & (piece["ends"] > run.t0))

    exploded = relation.rows.where(seen.ever).with_column("_piece", F.explode(F.filtered(listed, holds)))
    made = {n: F.timestamp_micros(col(f"_piece.{f}")) for n, f in zip(_names(op), ("start", "end"), strict=True)}
    return _pieces(relation, exploded, col("_piece.begins"), col("_piece.ends"), made)


def _pieces(
    relation: RelationTable, exploded: Table, begins: Column, ends: Column, made: Mapping[str, Column]
) -> Table:
    """Rows in the half-open part [begins, ends) of their intervals, with further columns."""
    kept = [c for c in relation.rows.columns if c not in INTERVAL]
    start, end = greatest(relation.start, at(begins)), least(relation.end, at(ends))
    piece = interval(start, end, one_batch=relation.one_batch)
    return exploded.select(*columns(kept), *piece, *(c.alias(n) for n, c in made.items()))
