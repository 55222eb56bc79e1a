"""What a continuous query keeps, operator by operator, and whether that can grow for ever."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from astralq.algebra.base import Operator
from astralq.algebra.domain import AtInstant, Custom, Domain, Floor, LastBatchOf, Shift
from astralq.algebra.evaluations import Evaluations
from astralq.algebra.explode import Explode
from astralq.algebra.relational import GroupBy, JoinKind, Project, Rename, Select
from astralq.algebra.retention import (
    Demand,
    demand_of_changes,
    demand_of_group,
    demand_of_streamer,
    is_landmark,
    keeps_tuples,
    leaves_one_by_one,
    window_below,
)
from astralq.algebra.schedules import AtInstants, Periodic, Sessions
from astralq.algebra.scopes import Linear
from astralq.algebra.sneeql import RowWindows, Scan, TimeWindows
from astralq.algebra.sources import RelationSource, Validity
from astralq.algebra.stream_ops import BandJoin, Composite
from astralq.algebra.streamers import DStream, IStream, RStream
from astralq.algebra.windows import Window, WindowSpec
from astralq.errors import PlanError
from astralq.timeline import Duration, format_duration, format_instant, readable


@dataclass(frozen=True)
class Kept:
    """What one operator keeps; `instead` says what to write where it would grow for ever."""

    operator: Operator
    what: str
    instead: str | None = None

    @property
    def bounded(self) -> bool:
        return self.instead is None

    def __str__(self) -> str:
        return f"{self.operator.label}: {self.what}" + ("" if self.bounded else ", which grows for ever")


def kept_state(query: Operator) -> list[Kept]:
    """All that a query keeps between two epochs, outermost operator first.

    >>> from astralq import range_, stream
    >>> s = stream("S", "k INT, v DOUBLE")
    >>> for kept in kept_state(s[range_("1 h", slide="1 min")].aggregate("avg(v)", by="k").istream().operator):
    ...     print(kept)
    AGGREGATE avg(v) BY k: panes of each group that [RANGE 1 HOUR SLIDE 1 MINUTE] still holds
    """
    return list(
        dict.fromkeys(_kept(query, demand_of_changes(query) if query.kind.value == "relation" else Demand.CLIPPED))
    )


def unbounded(query: Operator) -> list[PlanError]:
    """For each operator whose state would grow for ever, the error that says so."""
    return [
        PlanError(
            f"a continuous run would keep everything that comes: {kept.operator.label} keeps {kept.what}",
            hint=f"{kept.instead}; or accept it with --allow-unbounded-state",
        )
        for kept in kept_state(query)
        if kept.instead is not None
    ]


def _kept(op: Operator, demand: Demand) -> Iterator[Kept]:
    match op:
        case Window():
            yield from _of_window(op, demand)
        case Select() | Project() | Rename() | Explode():
            yield from _kept(op.child, demand)
            return
        case GroupBy():
            below, window = demand_of_group(op), window_below(op.child)
            if below in (Demand.DELTA, Demand.EARLY):
                assert window is not None
                yield Kept(op, _of_groups(window.spec))
            yield from _kept(op.child, below)
            return
        case IStream() | DStream() | RStream():
            if op.every is not None and not isinstance(op, RStream):
                yield Kept(op, "the relation as it was at the last period")
            yield from _kept(op.child, demand_of_streamer(op))
            return
        case Evaluations():
            for stream in op.batches:
                yield from _kept(stream, Demand.CLIPPED)
            if op.also is not None:
                yield from _kept(op.also, Demand.CLIPPED)
            return
        case Domain():
            yield from _of_past(op)
        case RelationSource() if op.validity is Validity.CHANGES:
            yield Kept(op, "the rows that hold")
        case BandJoin():
            yield from _of_band(op)
        case Composite():
            yield from _kept(op.definition, Demand.CLIPPED)
            return
        case TimeWindows() | RowWindows():
            yield Kept(op, "the tuples of the last windows and of those to come")
        case Scan():
            yield Kept(op, "the relation as it was at the last scan")
    for child in op.children:
        yield from _kept(child, Demand.CLIPPED)


def _of_groups(spec: WindowSpec) -> str:
    if is_landmark(spec.scope.lo):
        return "one value of each group"
    if leaves_one_by_one(spec):
        return f"sums of each group, and what will leave {spec}"
    return f"panes of each group that {spec} still holds"


def _of_window(op: Window, demand: Demand) -> Iterator[Kept]:
    spec = op.spec
    if not keeps_tuples(spec, demand):
        return
    each = " of each part" if spec.partition else ""
    if isinstance(spec.schedule, Sessions):
        yield Kept(op, f"the open and the last closed session{each}")
        return
    grows = _falls_behind(spec)
    if demand is Demand.DELTA:
        yield Kept(op, f"the tuples{each} that wait for an evaluation", grows)
    else:
        yield Kept(op, f"the tuples{each} that it holds, or will hold", _endless(spec) or grows)


def _endless(spec: WindowSpec) -> str | None:
    """What to write instead of a window that nothing leaves."""
    if not is_landmark(spec.scope.lo) or isinstance(spec.schedule, AtInstants):
        return None
    return "give the window a beginning that moves, as [RANGE 1 DAY] or [ROWS 1000], or aggregate it first"


def _falls_behind(spec: WindowSpec) -> str | None:
    """What to write instead of a window whose bounds move on more slowly than its evaluations."""
    schedule = spec.schedule
    if not isinstance(schedule, Periodic):
        return None
    for bound in (spec.scope.lo, spec.scope.hi):
        if isinstance(bound, Linear) and 0 < bound.slope < schedule.every:
            return "let its bounds move as fast as its rate"
    hi = spec.scope.hi
    if isinstance(hi, Linear) and hi.slope == 0:
        return "let its upper bound move"
    return None


def _of_past(op: Domain) -> Iterator[Kept]:
    match op.transform_:
        case AtInstant(at):
            when = "at the start" if at is None else f"at {format_instant(at)}"
            yield Kept(op, f"the relation as it was {when}")
        case Shift(by) if by > 0:
            yield Kept(op, readable(f"what held in the last {format_duration(by)}"))
        case Floor(every):
            yield Kept(op, f"the relation as it was at the last scan, every {format_duration(every)}")
        case LastBatchOf():
            yield Kept(op, "the relation as it was at the stream's last batch")
        case Custom():
            yield Kept(op, "what held since the instant that is looked at")


def _of_band(op: BandJoin) -> Iterator[Kept]:
    if op.within is not None:
        back = op.within if op.how is JoinKind.INNER else Duration(2 * op.within + 1)
        yield Kept(op, readable(f"the tuples of both sides of the last {format_duration(back)}"))
    elif op.within_rows is not None:
        yield Kept(op, f"tuples until the other side is {op.within_rows} positions ahead of them")
    else:
        yield Kept(op, "all tuples of both sides", "join within a band: WITHIN 1 HOUR")
