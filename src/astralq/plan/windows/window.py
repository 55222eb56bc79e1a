"""Windows as intervals: each tuple gets the half-open interval of batch identifiers in which a window holds it.

Scopes are monotone, so that a tuple is in consecutive windows only (docs/decisions.md). No tuple is copied for each
window that holds it.
"""

from __future__ import annotations

from itertools import takewhile

from astralq.algebra.retention import Demand, holds_all_at_once, keeps_tuples
from astralq.algebra.schedules import Continuous, Measure, Periodic, Sessions, TimeSchedule
from astralq.algebra.scopes import OfInstant, check_rules, check_window
from astralq.algebra.windows import WindowSpec
from astralq.plan.encoding.numbering import numbered
from astralq.plan.encoding.tables import RelationTable, StreamTable
from astralq.plan.run import Run
from astralq.plan.state.epochs import clip_to_epoch, with_kept_tuples
from astralq.plan.windows.by_position import by_position, worth_keeping
from astralq.plan.windows.by_time import by_time
from astralq.plan.windows.positions import Positions
from astralq.plan.windows.result import WindowOf
from astralq.plan.windows.steps import moves_in_steps


def window(
    stream: StreamTable,
    spec: WindowSpec,
    run: Run,
    *,
    ordered: bool,
    identity: bool = True,
    copies: bool = False,
    name: str = "",
    demand: Demand = Demand.CLIPPED,
) -> RelationTable:
    """S[α, β, r] (001 D28); partitioned, the union of the parts' windows with φ kept (001 D29).

    In an epoch the stream has the new tuples only; those before that are still wanted are in a state table.
    """
    _check(spec, run)
    measured = spec.measures != {Measure.TIME} and not holds_all_at_once(spec)
    _note(spec, run, measured=measured)
    # Windows on time treat equal tuples alike: where nobody tells these apart, a tuple's place is its stamp and values.
    by_stamp = ordered and not identity and not measured and run.state is None
    # What is kept of a part has to stay in its order.
    if (ordered and not by_stamp) or (measured and (not spec.partition or run.state is not None)):
        run.choices.note(f"WINDOW {spec}", f"positions by {_numbering(run)}", _why_numbered(spec, ordered=ordered))
        stream = numbered(stream, run)
    made = WindowOf(spec, run, by_stamp=by_stamp, copies=copies)
    if run.state is not None and keeps_tuples(spec, demand):
        made = WindowOf(spec, run, name, demand)
        stream = with_kept_tuples(worth_keeping(made, stream), name, run.state)
    if measured:
        held = by_position(made, stream, Positions.of(stream, spec.partition, run))
    else:
        held = by_time(made, stream)
    return clip_to_epoch(held, run, demand)


def _check(spec: WindowSpec, run: Run) -> None:
    check_window(spec.schedule, spec.scope, spec.delay, run.t0)
    if isinstance(spec.scope.lo, OfInstant) or isinstance(spec.scope.hi, OfInstant):
        assert isinstance(spec.schedule, TimeSchedule)
        check_rules(spec.scope, takewhile(lambda e: e <= run.end, spec.schedule.absolute()))


# Reasons, for those who ask why a plan is as it is


def _note(spec: WindowSpec, run: Run, *, measured: bool) -> None:
    if holds_all_at_once(spec):
        how, why = "by time, in closed form", "a tuple is in from its own batch on, for ever"
    elif not measured and isinstance(spec.schedule, Periodic | Continuous):
        how, why = "by time, in closed form", "a tuple's own timestamp says when it enters and leaves"
    elif isinstance(spec.schedule, Sessions):
        how, why = "by sessions of each part", "neighbours in a part say where a session ends"
        if not spec.partition:
            how, why = "by numbered sessions", "a running sum over ranges of time numbers them"
            if run.one_partition:
                how, why = "by sessions, in one partition", "neighbours are at hand"
    elif not measured:
        how, why = "at a list of instants", "the schedule has no formula"
    elif Measure.DISTANCE in spec.measures:
        how, why = "by the distance travelled", "schedule or scope are measured by the odometer"
    elif moves_in_steps(WindowOf(spec, run)):
        how, why = "by rows in steps, looked up by evaluation", "all tuples of a step enter and leave together"
    elif spec.partition:
        how, why = "by rows of each part", "neighbours in a part are at hand"
    elif run.one_partition:
        how, why = "by rows, in one partition", "neighbours are at hand"
    else:
        how, why = "by rows, looked up by position", "position p + n is found by an equi-join"
    run.choices.note(f"WINDOW {spec}", how, why)


def _numbering(run: Run) -> str:
    return "one task" if run.one_partition else "sorting ranges of time side by side"


def _why_numbered(spec: WindowSpec, *, ordered: bool) -> str:
    if ordered:
        return "order or identity of its tuples is observed"
    return "what is kept of a part has to stay in order" if spec.partition else "the window counts rows of the stream"
