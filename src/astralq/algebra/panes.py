"""Panes that several aggregations have in common: a note that sharing leaves for the planner; nobody else reads it."""

from __future__ import annotations

from dataclasses import dataclass

from astralq.algebra.base import Operator
from astralq.expr.nodes import Aggregate, Expr
from astralq.timeline import Instant


@dataclass(frozen=True)
class PaneGrid:
    """Where time is cut: after each instant c + k·step, for each c in `after`. Panes are half-open (c, c'].

    >>> PaneGrid(10, (3, 9)).last(4), PaneGrid(10, (3, 9)).last(9), PaneGrid(10, (3, 9)).last(10)
    (9, 9, 13)
    """

    step: int
    after: tuple[int, ...]  # in the half-open interval [0, step), increasing

    def last(self, t: int) -> int:
        """The last instant of the pane of t, which stands for all of them."""
        return min(t + (c - t) % self.step for c in self.after)

    def panes_in(self, span: int) -> int:
        """About how many panes a stretch of time has."""
        return len(self.after) * (span // self.step + 1)


@dataclass(frozen=True)
class CommonPanes:
    """The panes of a stream that serve several aggregations, from the start of the oldest of their queries: partial
    values of all their aggregates, by all their keys."""

    stream: Operator
    t0: Instant | None
    grid: PaneGrid
    keys: tuple[Expr, ...]
    aggregates: tuple[Aggregate, ...]
    age: int  # how long a pane is needed after its last instant, at the most
