"""Warnings: what makes a query's work grow faster than its input, found in its operators, with what to do instead."""

from __future__ import annotations

from collections.abc import Iterator

from astralq.algebra.base import Operator
from astralq.algebra.ordering import Limit
from astralq.algebra.properties import properties
from astralq.algebra.relational import GroupBy, Join, Product, Project, Rename, Select
from astralq.algebra.retention import window_below
from astralq.algebra.schedules import Continuous, Periodic
from astralq.algebra.scopes import fixed_width
from astralq.algebra.streamers import RStream
from astralq.algebra.windows import Window, WindowSpec
from astralq.expr.safety import mergeable
from astralq.laws.lower import lower
from astralq.plan.operators.keys import key_texts

MANY_WINDOWS = 12
"""In how many windows a tuple may be before it is worth a word that each of them is computed by itself."""


def warnings_of(query: Operator) -> list[str]:
    """What is worth knowing before a query is run over much data.

    >>> from astralq import range_, stream
    >>> s = stream("s", "k INT, v DOUBLE, ts TIMESTAMP", timestamp="ts")
    >>> for warning in warnings_of(s[range_("1 h", slide="1 min")].aggregate("median(v) AS m", by="k").operator):
    ...     print(warning)
    AGGREGATE median(v) AS m BY k: median is not put together from parts, and a tuple is in 60 windows: each of them \
is computed from all of its tuples; a longer SLIDE is less work
    """
    return list(dict.fromkeys(w for op in lower(query).walk() for w in _warnings(op)))


def _warnings(op: Operator) -> Iterator[str]:
    less = "an equality in ON, or shorter windows, is less work"
    match op:
        case Join() if not key_texts(op):
            why = "no attribute of one side has to be equal to one of the other: each row is compared with all others"
            yield f"{op.label}: {why} that hold at the same time; {less}"
        case Product():
            yield f"{op.label}: each row is paired with all others that hold at the same time; {less}"
        case RStream(child, every=None) if _keeps_tuples(child):
            instead = "ISTREAM emits what is new, and EVERY d the state at fixed instants"
            yield f"{op.label}: the whole state is emitted whenever it changes; {instead}"
        case Limit() if (window := window_below(op.child)) is not None and (often := _often(window.spec)):
            how = "the places of all its tuples are counted in each; windows that TUMBLE are less work"
            yield f"{op.label}: {often}: {how}"
        case GroupBy(Window(_, spec)) if not all(mergeable(a) for _, a in op.aggregates):
            names = ", ".join(dict.fromkeys(a.function for _, a in op.aggregates if not mergeable(a)))
            often = _often(spec)
            if often:
                how = f"{names} is not put together from parts, and {often}"
                yield f"{op.label}: {how}: each of them is computed from all of its tuples; a longer SLIDE is less work"


def _often(spec: WindowSpec) -> str:
    """In how many windows a tuple is, if that is worth a word."""
    if isinstance(spec.schedule, Continuous):
        return "there is another window with every tuple that enters or leaves"
    width = fixed_width(spec.schedule, spec.scope)
    if not isinstance(spec.schedule, Periodic) or spec.schedule.measure is not spec.scope.measure or width is None:
        return ""
    count = width // spec.schedule.every
    return f"a tuple is in {count} windows" if count > MANY_WINDOWS else ""


def _keeps_tuples(op: Operator) -> bool:
    """Whether a relation's states are as large as a window: its tuples, not aggregates of them, nor single ones."""
    while isinstance(op, Select | Project | Rename):
        op = op.child
    if isinstance(op, Window):
        return not properties(op).keys
    return isinstance(op, Join) and all(_keeps_tuples(c) for c in op.children)
