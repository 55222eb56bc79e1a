"""Streamers: from a relation, or a stream of windows, to a stream of tuples (001 §5.1, 002 §5.1, 003 §6.3).

They stamp: t is the moment of emission, the position a counter, the order that of the relation (001 D23, 002 D12).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from astralq.algebra.base import RELATION_HINT, Kind, Operator
from astralq.errors import PlanError
from astralq.schema import Schema
from astralq.timeline import Duration, format_duration


class Identity(Enum):
    """When two tuples of two states are the same one."""

    PHI = "φ"  # the same φ and the same values
    VALUE = "value"  # the same values, as often: bags


@dataclass(frozen=True, repr=False)
class _Streamer(Operator):
    child: Operator
    every: Duration | None = None

    @property
    def kind(self) -> Kind:
        return Kind.STREAM

    @cached_property
    def schema(self) -> Schema:
        return self.child.schema

    def check(self) -> None:
        if self.child.kind is Kind.STREAM:
            raise PlanError(f"a streamer takes a relation, and this is a stream:\n{self.child}", hint=RELATION_HINT)
        if self.every is not None:
            if self.child.kind is Kind.WINDOWS:
                raise PlanError(
                    "windows are streamed when they are evaluated, not at a period of their own",
                    hint="leave out EVERY, and give the window another SLIDE",
                )
            if self.every <= 0:
                raise PlanError(f"the period is {format_duration(self.every)}", hint="emit at a period greater than 0")

    @property
    def _every(self) -> str:
        return f" EVERY {format_duration(self.every)}" if self.every is not None else ""


@dataclass(frozen=True, repr=False)
class IStream(_Streamer):
    """I_S: what was inserted since the state before, or since the period before (001 D24; 003's iStream)."""

    identity: Identity = Identity.PHI

    @property
    def label(self) -> str:
        return f"ISTREAM{self._every}{' BY VALUE' if self.identity is Identity.VALUE else ''}"


@dataclass(frozen=True, repr=False)
class DStream(_Streamer):
    """D_S: what was deleted since the state before, or since the period before (001 D24; 003's dStream)."""

    identity: Identity = Identity.PHI

    @property
    def label(self) -> str:
        return f"DSTREAM{self._every}{' BY VALUE' if self.identity is Identity.VALUE else ''}"


@dataclass(frozen=True, repr=False)
class RStream(_Streamer):
    """R_S: the whole state, at every change (R_S^u, 001 D24), every period (R_S^r, 001 D25), at insertions only,
    or for a stream of windows at each of them (003's rStream)."""

    on_insert: bool = False

    def check(self) -> None:
        super().check()
        if self.on_insert and (self.every is not None or self.child.kind is Kind.WINDOWS):
            raise PlanError("RSTREAM on insertions has no period and is over a relation", hint="choose one")

    @property
    def label(self) -> str:
        return f"RSTREAM{self._every}{' ON INSERT' if self.on_insert else ''}"
