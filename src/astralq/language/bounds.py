"""window_start and window_end in a query: where they may stand, and what is grouped by without them."""

from __future__ import annotations

from collections.abc import Sequence

from astralq.algebra.relational import Named
from astralq.algebra.session_bounds import BOUNDS
from astralq.errors import ExpressionError
from astralq.expr.nodes import Aggregate, Expr
from astralq.language.hints import OF_WINDOWS
from astralq.language.scope import Scope


def names_bounds(scope: Scope, exprs: Sequence[Expr]) -> bool:
    """Whether expressions name window_start or window_end, which no item of FROM has."""
    return bool(frozenset[str]().union(*(e.columns for e in exprs)).intersection(BOUNDS) - scope.taken)


def keys_without_bounds(scope: Scope, sets: Sequence[Sequence[Named]], computed: Sequence[Expr]) -> list[list[Named]]:
    """What is grouped by: in a state a window has one value of each bound, so that these are no keys."""
    for part in (part for one in computed for part in one.walk() if isinstance(part, Aggregate)):
        if names_bounds(scope, [part]):
            raise ExpressionError(f"{part} is over tuples, and the bounds are those of their window", hint=OF_WINDOWS)
    named = [e for keys in sets for _, e in keys if names_bounds(scope, [e])]
    for e in named:
        if not e.columns <= set(BOUNDS):
            raise ExpressionError(f"the key {e} mixes a window's bounds with attributes", hint=OF_WINDOWS)
    if named and len(sets) > 1:
        raise ExpressionError(
            f"{named[0]} is in a grouping set, and all sets are of the same window",
            hint="leave it out of GROUP BY: it may stand in SELECT all the same",
        )
    return [[(name, e) for name, e in keys if e not in named] for keys in sets]
