"""Evaluations as a stream: the batches at which the windows of a relation are evaluated, and R_S at each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from astralq.algebra.base import RELATION_HINT, STREAM_HINT, Kind, Operator, expect
from astralq.algebra.domain import AtInstant, Custom, Domain, Floor, LastBatchOf, Shift
from astralq.algebra.schedules import Continuous, Measure, Periodic, Sessions
from astralq.algebra.scopes import Back, Scope
from astralq.algebra.sources import StartedAt
from astralq.algebra.stream_ops import Composite, LookupJoin
from astralq.algebra.streamers import DStream, IStream
from astralq.algebra.windows import Window, WindowSpec, last_batch, now, rows
from astralq.errors import PlanError
from astralq.schema import Schema
from astralq.timeline import format_duration


@dataclass(frozen=True, repr=False)
class Evaluations(Operator):
    """The batches at which a window over a stream is evaluated: a stream of tuples without attributes, one a batch.

    Without a stream there are the instants of the schedule only (SCAN). `also` has the evaluations of another window,
    where a batch of both counts once.
    """

    spec: WindowSpec
    child: Operator | None = None
    also: Operator | None = None

    @property
    def kind(self) -> Kind:
        return Kind.STREAM

    @cached_property
    def schema(self) -> Schema:
        return Schema(())

    def check(self) -> None:
        if self.child is None:
            assert self.spec.schedule.measure is Measure.TIME
        else:
            expect(self.child, Kind.STREAM, "a window", STREAM_HINT)

    @cached_property
    def batches(self) -> list[Operator]:
        """Streams whose batches are the evaluations; on time, those at instants of the schedule.

        By positions or distance, the last tuple changes at every evaluation and nowhere else: a delay is a later
        first one.
        """
        if self.child is None:
            return []
        schedule = self.spec.schedule
        if isinstance(schedule, Continuous):
            held = Window(self.child, replace(self.spec, partition=()))
            return [IStream(held), DStream(held)]
        if isinstance(schedule, Sessions):
            return [IStream(Window(self.child, self.spec))]  # a session has tuples, which come when it is over
        if schedule.measure is Measure.TIME:
            delayed = replace(now(), delay=self.spec.delay)
            return [IStream(Window(self.child, delayed)) if self.spec.delay else self.child]
        assert isinstance(schedule, Periodic)
        moved = replace(schedule, first=schedule.first + self.spec.delay)
        return [IStream(Window(self.child, WindowSpec(moved, rows(1).scope, 0, self.spec.partition)))]

    @property
    def label(self) -> str:
        return f"EVALUATIONS OF {self.spec}"


@dataclass(frozen=True, repr=False)
class RStreamOnEvaluation(Composite):
    """R_S at evaluations: the whole state at each evaluation of the windows below, changed or not (004 §3.2.2).

    The stream of evaluations looks the state up at each of its batches, as in 001 D33.
    """

    child: Operator

    @cached_property
    def definition(self) -> Operator:
        expect(self.child, Kind.RELATION, "RSTREAM ON EVALUATION", RELATION_HINT)
        moments = evaluations(self.child)
        if moments is None:
            raise PlanError(
                "there is no window below whose evaluations RSTREAM could follow",
                hint="emit at a period instead: RSTREAM(…) EVERY 1 MINUTE",
            )
        return LookupJoin(moments, self.child).definition

    @property
    def label(self) -> str:
        return "RSTREAM ON EVALUATION"


def evaluations(relation: Operator) -> Operator | None:
    """The batches at which the windows of a relation are evaluated, down to the next streamers; None without windows.

    >>> from astralq import range_, rows, stream
    >>> s = stream("S", "v INT")
    >>> evaluations(s[range_("1 min", slide="10 s")].union(s[rows(3)]).operator)
    EVALUATIONS OF [RANGE 1 MINUTE SLIDE 10 SECONDS]
    ├─ STREAM S
    └─ EVALUATIONS OF [ROWS 3]
       └─ STREAM S
    """
    found: Operator | None = None
    for one in reversed(list(dict.fromkeys(_each(relation)))):
        found = replace(one, also=found) if isinstance(one, Evaluations) and one.also is None else _merged(one, found)
    return found


def _merged(one: Operator, others: Operator | None) -> Operator:
    """Evaluations that are no window's own beside others: every batch of a stream is one of [B]."""
    return one if others is None else Evaluations(last_batch(), one, others)


def _each(op: Operator) -> Iterator[Operator]:
    match op:
        case Window():
            yield Evaluations(op.spec, op.child)
        case StartedAt():
            inside = evaluations(op.child)
            if inside is not None:
                yield StartedAt(inside, op.t0)
        case Domain():
            yield from _past(op)
        case _ if op.kind is Kind.RELATION:
            for child in op.children:
                yield from _each(child)


def _past(op: Domain) -> Iterator[Operator]:
    """A past state is seen anew when the state that it looks at was evaluated, or where it looks at another one."""
    match op.transform_:
        case Shift(by):
            below = evaluations(op.child)
            if below is not None:
                yield below if by == 0 else IStream(Window(below, now().delayed(format_duration(by))))
        case Floor(every):
            yield Evaluations(WindowSpec(Periodic(Measure.TIME, 0, every), Scope(Measure.TIME, Back(0), Back(0))))
        case LastBatchOf():
            assert op.other is not None
            yield Evaluations(last_batch(), op.other)
        case Custom():
            raise PlanError(
                f"RSTREAM ON EVALUATION cannot tell the evaluations below {op.transform_}",
                hint="emit at a period instead: RSTREAM(…) EVERY 1 MINUTE",
            )
        case AtInstant():
            return
