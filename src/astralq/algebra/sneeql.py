"""SNEEql's operators over streams of windows (003 §6.2): zero, one or many windows at each tick."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from astralq.algebra.base import RELATION_HINT, STREAM_HINT, Kind, Operator, expect
from astralq.errors import PlanError, WindowError
from astralq.schema import Schema
from astralq.timeline import Duration, format_duration


@dataclass(frozen=True, repr=False)
class _Windows(Operator):
    child: Operator

    @property
    def kind(self) -> Kind:
        return Kind.WINDOWS

    @cached_property
    def schema(self) -> Schema:
        return self.child.schema


@dataclass(frozen=True, repr=False)
class Scan(_Windows):
    """A window with the whole of a relation at every t0 + k·every (003's scan)."""

    every: Duration

    def check(self) -> None:
        expect(self.child, Kind.RELATION, "SCAN", RELATION_HINT)
        if self.every <= 0:
            raise PlanError(f"the scan is every {format_duration(self.every)}", hint="scan at a period greater than 0")

    @property
    def label(self) -> str:
        return f"SCAN {format_duration(self.every)}"


@dataclass(frozen=True, repr=False)
class TimeWindows(_Windows):
    """At every tick t0 + k·slide, the tuples in [tick − start, tick − end] (003's createTimeWindow)."""

    start: Duration
    end: Duration
    slide: Duration

    @property
    def stamped(self) -> bool:
        return True

    def check(self) -> None:
        _check_windows(self.child, self.start, self.end, self.slide, format_duration(self.slide))

    @property
    def label(self) -> str:
        start, end = (f"NOW - {format_duration(v)}" if v else "NOW" for v in (self.start, self.end))
        return f"WINDOWS [FROM {start} TO {end} SLIDE {format_duration(self.slide)}]"


@dataclass(frozen=True, repr=False)
class RowWindows(_Windows):
    """After every slide rows, those from start to end rows back from the last one (003's createRowWindow)."""

    start: int
    end: int
    slide: int

    @property
    def stamped(self) -> bool:
        return True

    def check(self) -> None:
        _check_windows(self.child, self.start, self.end, self.slide, f"{self.slide} ROWS")

    @property
    def label(self) -> str:
        start, end = (f"NOW - {v}" if v else "NOW" for v in (self.start, self.end))
        return f"WINDOWS [FROM {start} TO {end} SLIDE {self.slide} ROW{'S' * (self.slide != 1)}]"


def _check_windows(child: Operator, start: int, end: int, slide: int, shown: str) -> None:
    expect(child, Kind.STREAM, "a window", STREAM_HINT)
    if slide <= 0:
        raise WindowError(f"the rate is {shown}", hint="windows move on at a rate greater than 0")
    if end < 0:
        raise WindowError("window 0 ends after NOW, before which it cannot be known", hint="write TO NOW, or TO NOW-n")
    if start < end:
        raise WindowError("window 0 begins after its end", hint="FROM counts back at least as far as TO")


@dataclass(frozen=True, repr=False)
class WindowsProduct(Operator):
    """At every tick of either side, all pairs of both sides' latest windows, left-major (003's crossProduct)."""

    left: Operator
    right: Operator

    @property
    def kind(self) -> Kind:
        return Kind.WINDOWS

    @property
    def stamped(self) -> bool:
        return False

    @cached_property
    def schema(self) -> Schema:
        return self.left.schema.concat(self.right.schema)

    def check(self) -> None:
        for side in (self.left, self.right):
            expect(side, Kind.WINDOWS, "the product of windows", "give each side a window, or SCAN")

    @property
    def label(self) -> str:
        return "PRODUCT OF WINDOWS"
