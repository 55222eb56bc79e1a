"""The algebra: frozen, typed operators over streams and temporal relations, and a fluent API over them."""

from astralq.algebra.base import Kind, Operator
from astralq.algebra.callables import function
from astralq.algebra.extents import relation, sensed, stream, values
from astralq.algebra.fluent import RelationQuery, StreamQuery, WindowsQuery
from astralq.algebra.windows import (
    WindowSpec,
    at_instants,
    fixed,
    for_loop,
    from_to,
    general,
    hop,
    landmark,
    last_batch,
    last_row,
    moving,
    now,
    range_,
    rows,
    session,
    tumble,
    two_rates,
    unbounded,
)

__all__ = [
    "Kind",
    "Operator",
    "RelationQuery",
    "StreamQuery",
    "WindowSpec",
    "WindowsQuery",
    "at_instants",
    "fixed",
    "for_loop",
    "from_to",
    "function",
    "general",
    "hop",
    "landmark",
    "last_batch",
    "last_row",
    "moving",
    "now",
    "range_",
    "relation",
    "rows",
    "sensed",
    "session",
    "stream",
    "tumble",
    "two_rates",
    "unbounded",
    "values",
]
