"""Where an attribute comes from: a source's own column can be looked at where it is stored."""

from __future__ import annotations

from astralq.algebra.base import Operator
from astralq.algebra.relational import Project, Rename, Select
from astralq.algebra.sources import StartedAt, StreamSource
from astralq.algebra.ticks import Tick
from astralq.algebra.windows import Window
from astralq.expr.nodes import Column, Expr


def source_column(op: Operator, expr: Expr) -> tuple[StreamSource, int] | None:
    """The source and the place of its attribute that the expression is, if rows on the way are only left out.

    Joins could repeat rows, and so need more room in sums than the source has rows.
    """
    if not isinstance(expr, Column):
        return None
    place = op.schema.find(expr.name)
    while place is not None:
        match op:
            case StreamSource():
                return op, place
            case Select() | Rename() | Window() | StartedAt() | Tick():
                op = op.child
            case Project():
                item = op.items[place][1]
                place = op.child.schema.find(item.name) if isinstance(item, Column) else None
                op = op.child
            case _:
                return None
    return None
