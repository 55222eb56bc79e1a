"""What of an operator somebody above looks at: order, positions, φ itself, which tuple is which, and which columns.

What nobody observes may change without changing an answer. A law that holds up to φ (D36) may not be used where φ
itself is observed: D36 is no congruence. `tests/laws/test_observed.py` tries it on the model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from astralq.algebra.base import PSEUDO, Kind, Operator
from astralq.algebra.bounds import WindowBounds
from astralq.algebra.domain import Domain
from astralq.algebra.evaluations import Evaluations
from astralq.algebra.explode import Explode
from astralq.algebra.ordering import Limit, OrderBy
from astralq.algebra.phi import CopyPhi
from astralq.algebra.properties import Given, expressions, properties
from astralq.algebra.relational import (
    Distinct,
    GroupBy,
    Join,
    JoinKind,
    Product,
    Project,
    Rename,
    Select,
    SetKind,
    SetOperation,
    ValueSetOperation,
)
from astralq.algebra.schedules import Measure
from astralq.algebra.sources import RelationSource, StartedAt, StreamSource
from astralq.algebra.stream_ops import Spread
from astralq.algebra.streamers import DStream, Identity, IStream, RStream
from astralq.algebra.ticks import Tick
from astralq.algebra.windows import Window
from astralq.expr.nodes import SPATIAL_AGGREGATES
from astralq.expr.safety import depends_on_order

Columns = frozenset[str]
"""Names of attributes and pseudo-columns, in lower case."""


@dataclass(frozen=True)
class Observed:
    """What is looked at from above."""

    order: bool  # of its tuples: within a batch of a stream, within a state of a relation
    positions: bool  # n of a stream's tuples
    phi: bool  # φ itself, not only the order that it gives and which tuple is which
    columns: Columns
    identity: bool = True  # whether a tuple is the same one in two states


def observed(query: Operator, given: Given | None = None) -> list[tuple[Operator, Observed]]:
    """Each operator of a query, outermost first as `walk` gives them, with what is looked at of it.

    >>> from astralq import range_, stream
    >>> s = stream("S", "id INT, v INT, w INT, ts TIMESTAMP", timestamp="ts")
    >>> query = s[range_("1 min")].aggregate("avg(v) AS m", by="id").istream().operator
    >>> for op, seen in observed(query):
    ...     print(f"{op.label:26}", seen.order, sorted(seen.columns))
    ISTREAM                    True ['id', 'm']
    AGGREGATE avg(v) AS m BY id True ['id', 'm']
    WINDOW [RANGE 1 MINUTE]    False ['id', 'v']
    STREAM S                   False ['id', 'v']
    """
    found: list[tuple[Operator, Observed]] = []

    def visit(op: Operator, seen: Observed) -> None:
        if _identified_by_values(op, seen):
            seen = replace(seen, columns=seen.columns | _all(op))
        found.append((op, seen))
        for child, below in zip(op.children, _below(op, seen, Given() if given is None else given), strict=True):
            visit(child, below)

    visit(query, Observed(order=True, positions=False, phi=False, columns=_all(query)))
    return found


def _all(op: Operator) -> Columns:
    return frozenset(n.lower() for n in op.schema.names)


def _identified_by_values(op: Operator, seen: Observed) -> bool:
    """Sources whose order or identity comes from all values: a stored relation, and a stream where order counts."""
    if isinstance(op, RelationSource):
        return True
    return isinstance(op, StreamSource) and (seen.order or seen.positions)


def _own(op: Operator, seen: Observed) -> Columns:
    """Of what is looked at, the attributes of an operator and its pseudo-columns."""
    return seen.columns & (_all(op) | PSEUDO)


def _below(op: Operator, seen: Observed, given: Given) -> list[Observed]:
    """What an operator looks at of its children, for what is looked at of itself."""
    match op:
        case Select():
            kept = replace(seen, columns=seen.columns | op.condition.columns)
            return [_of_stream(op, kept)]
        case Project():
            read = frozenset[str]().union(*(e.columns for n, e in op.items if n.lower() in seen.columns))
            return [_of_stream(op, replace(seen, columns=read | (seen.columns & PSEUDO)))]
        case Rename():
            old = {new.lower(): name.lower() for name, new in op.names}
            return [_of_stream(op, replace(seen, columns=frozenset(old.get(n, n) for n in seen.columns)))]
        case GroupBy():
            return [_of_group(op, seen)]
        case Distinct():
            return [Observed(False, False, False, _all(op.child), identity=False)]
        case OrderBy() | Limit():
            return [_of_order(op, seen)]
        case Product() | Join() | SetOperation() | ValueSetOperation():
            return _of_sides(op, seen)
        case Window():
            return [_of_window(op, seen)]
        case Domain():
            return [seen] if op.other is None else [seen, Observed(False, False, False, frozenset())]
        case IStream() | DStream() | RStream() if op.child.kind is Kind.RELATION:
            return [_of_streamer(op, seen, given)]
        case Explode() if op.kind is Kind.RELATION:
            return [replace(seen, columns=_own(op.child, seen) | op.array.columns)]
        case Explode():
            ordered = seen.order or seen.positions or seen.phi
            return [Observed(ordered, "_n" in seen.columns, False, _own(op.child, seen) | op.array.columns)]
        case Spread():
            by = frozenset(n.lower() for n in op.attributes)
            ordered = seen.order or seen.positions or seen.phi or not by
            return [Observed(ordered, "_n" in seen.columns, False, _own(op, seen) | by)]
        case CopyPhi():
            return [replace(seen, phi=seen.phi or op.name.lower() in seen.columns, columns=_own(op.child, seen))]
        case WindowBounds():
            return [replace(seen, columns=_own(op.child, seen))]
        case StartedAt() | Tick():
            return [seen]
        case Evaluations():
            moments = Observed(False, False, False, frozenset())
            below = [] if op.child is None else [_of_window(Window(op.child, op.spec), moments)]
            return below if op.also is None else [*below, moments]
    # Streams of windows: windows are shown in order, with all they hold, and those of rows count positions.
    return [Observed(True, True, seen.phi, _all(c) | PSEUDO) for c in op.children]


def _of_stream(op: Operator, seen: Observed) -> Observed:
    """σ, Π and ρ; over a stream positions are numbered anew, in the order of the child's tuples."""
    if op.kind is not Kind.STREAM:
        return seen
    ordered = seen.order or seen.positions or seen.phi
    return replace(seen, order=ordered, positions="_n" in seen.columns, phi=False)


def _of_group(op: GroupBy, seen: Observed) -> Observed:
    wanted = [a for n, a in op.aggregates if n.lower() in seen.columns]
    read = frozenset[str]().union(*(e.columns for _, e in op.keys), *(e.columns for a in wanted for e in a.children))
    ordered = any(map(depends_on_order, wanted))
    location = op.child.schema.location
    if location is not None and any(a.function in SPATIAL_AGGREGATES for a in wanted):
        read |= {location.x.lower(), location.y.lower(), "_t"}
    return Observed(ordered, "_n" in read, False, read, identity=False)


def _of_order(op: OrderBy | Limit, seen: Observed) -> Observed:
    """LIMIT goes by the order below it; ORDER BY gives another one, of which equal keys are in the order below."""
    read = frozenset[str]().union(*(e.columns for e in expressions(op)))
    if isinstance(op, Limit):
        shown = seen.columns - ({op.rank.lower()} if op.rank is not None else set())
        return replace(seen, order=True, columns=shown | read)
    return replace(seen, columns=seen.columns | read) if seen.order or seen.identity else seen


def _of_sides(op: Operator, seen: Observed) -> list[Observed]:
    left, right = op.children
    match op:
        case Join():
            columns = seen.columns | op.condition.columns
            sides = [replace(seen, columns=columns & (_all(c) | PSEUDO)) for c in (left, right)]
            if op.how in (JoinKind.SEMI, JoinKind.ANTI):
                # Whether there is a match counts, not which.
                sides[1] = Observed(False, False, False, op.condition.columns & _all(right), identity=False)
            if op.how is JoinKind.SINGLE:
                # At most one row stands beside a tuple, and φ is the tuple's own.
                sides[1] = Observed(False, False, False, sides[1].columns, identity=False)
            return sides
        case Product():
            return [replace(seen, columns=seen.columns & _all(c)) for c in (left, right)]
        case SetOperation(in_order=True):
            # How the two sides are mixed depends on φ itself.
            # Both have to stay alike, also where nobody looks at the order.
            both = replace(seen, phi=True)
            return [replace(both, columns=_all(c) | (seen.columns & PSEUDO)) for c in (left, right)]
        case SetOperation(how=SetKind.UNION):
            shown = [k for k, n in enumerate(op.schema.names) if n.lower() in seen.columns]
            names = [frozenset(c.schema.names[k].lower() for k in shown) for c in (left, right)]
            return [replace(seen, columns=n | (seen.columns & PSEUDO)) for n in names]
        case SetOperation():
            # φ and all values of both sides are compared.
            return [Observed(seen.order, False, True, _all(c)) for c in (left, right)]
    assert isinstance(op, ValueSetOperation)
    # With ALL the left side's tuples keep their φ.
    kept = Observed(op.all, False, op.all and seen.phi, _all(left), identity=op.all and seen.identity)
    return [kept, Observed(op.all, False, False, _all(right), identity=False)]


def _of_window(op: Window, seen: Observed) -> Observed:
    """A tuple's φ is its position; windows by rows count positions, those by distance add up legs in order."""
    columns = _own(op, seen) | {n.lower() for n in op.spec.partition}
    location = op.child.schema.location
    if Measure.DISTANCE in op.spec.measures and location is not None:
        columns |= {location.x.lower(), location.y.lower()}
    positions = Measure.POSITION in op.spec.measures or seen.phi or "_n" in seen.columns
    ordered = seen.order or positions or Measure.DISTANCE in op.spec.measures
    return Observed(ordered, positions, False, columns)


def _of_streamer(op: IStream | DStream | RStream, seen: Observed, given: Given) -> Observed:
    """A tuple is its φ and all of its values: where φ does not determine them, all are looked at."""
    ordered = seen.order or seen.positions or seen.phi
    by_phi = isinstance(op, IStream | DStream) and op.identity is Identity.PHI
    if by_phi and properties(op.child, given).phi_determines_values:
        return Observed(ordered, False, False, _own(op, seen) - PSEUDO)
    compares = by_phi or (isinstance(op, RStream) and op.every is None)
    return Observed(ordered, False, False, _all(op.child), identity=compares)
