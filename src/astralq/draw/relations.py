"""Relations as bars of validity: each row from when it is gained until it is lost, as the model has it."""

from __future__ import annotations

from collections.abc import Sequence

from astralq.draw.clock import Clock
from astralq.draw.scene import Span
from astralq.draw.words import row_text
from astralq.expr.order import OrderKey
from astralq.model.streams import states
from astralq.model.values import Context, Phi, Relation, Row
from astralq.schema import Attribute
from astralq.timeline import Instant

Identity = tuple[Phi, OrderKey]


def spans(
    relation: Relation, ctx: Context, attributes: Sequence[Attribute], clock: Clock, hidden: Sequence[str] = ()
) -> tuple[Span, ...]:
    """The rows of all states that a run observes; the lines are in the order of φ."""
    since: dict[Identity, tuple[Instant, Row]] = {}
    found: list[tuple[Phi, Instant, Instant | None, Row]] = []
    for b, state in states(relation, ctx):
        now = {r.identity: r for r in state}
        for identity in [i for i in since if i not in now]:
            start, row = since.pop(identity)
            found.append((row.phi, start, b.t, row))
        for identity, row in now.items():
            since.setdefault(identity, (b.t, row))
    found += [(row.phi, start, None, row) for start, row in since.values()]
    phis = sorted({phi for phi, _, _, _ in found})
    lines = _lines(phis, found)
    rows = sorted(found, key=lambda f: (lines[f[0]], f[1], f[2] is None, f[2] or 0))
    return tuple(
        Span(lines[phi], start, end, row_text(r.values, attributes, clock, hidden)) for phi, start, end, r in rows
    )


def _lines(phis: list[Phi], found: list[tuple[Phi, Instant, Instant | None, Row]]) -> dict[Phi, int]:
    """A line for each φ; rows with equal values that follow each other, as those of last tuples do, share one."""
    own: dict[Phi, list[tuple[Instant, Instant | None]]] = {}
    values: dict[Phi, set[OrderKey]] = {}
    for phi, start, end, row in found:
        own.setdefault(phi, []).append((start, end))
        values.setdefault(phi, set()).add(row.identity[1])
    lines: dict[Phi, int] = {}
    free: dict[tuple[OrderKey, ...], tuple[int, Instant | None]] = {}
    for phi in phis:
        key = tuple(sorted(values[phi]))
        start, end = min(s for s, _ in own[phi]), own[phi][-1][1]
        line, since = free.get(key, (-1, None))
        if since is None or since > start:
            line = max(lines.values(), default=-1) + 1
        lines[phi] = line
        free[key] = (line, end)
    return lines
