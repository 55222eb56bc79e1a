"""Ticks: time that goes by in steps, as in the Stanford STREAM system behind CQL (docs/language.md, dialect cql)."""

from __future__ import annotations

from dataclasses import dataclass

from astralq.algebra.base import Kind, Unary
from astralq.errors import PlanError
from astralq.timeline import Duration, format_duration


@dataclass(frozen=True, repr=False)
class Tick(Unary):
    """The stream or relation as it is at the end of each tick: tick k covers [k·period, (k+1)·period) and is stamped
    with its beginning; all batches of a tick count as one, with i = 0."""

    period: Duration

    def check(self) -> None:
        if self.child.kind is Kind.WINDOWS:
            raise PlanError("windows are evaluated at their own ticks", hint="put the tick below them")
        if self.period <= 0:
            raise PlanError(f"the tick is {format_duration(self.period)}", hint="give a tick longer than nothing")

    @property
    def label(self) -> str:
        return f"TICK {format_duration(self.period)}"
