"""What is known of an operator without any data: what rewriting and planning decide by.

Each property is a promise about every run: where it cannot be told from the operators it is not given. They hold for
core operators (laws.lower gives them); `tests/laws/test_properties.py` tries them on the model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product

from astralq.algebra.base import Kind, Operator
from astralq.algebra.bounds import WindowBounds
from astralq.algebra.constants import Constants
from astralq.algebra.domain import AtInstant, Domain, Floor, LastBatchOf, Shift
from astralq.algebra.evaluations import Evaluations
from astralq.algebra.explode import Explode
from astralq.algebra.ordering import Limit, OrderBy
from astralq.algebra.phi import CopyPhi
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
from astralq.algebra.retention import is_landmark
from astralq.algebra.schedules import Continuous, Measure, Periodic, Sessions
from astralq.algebra.scopes import Back, Scope
from astralq.algebra.sources import RelationSource, SensedSource, StartedAt, StreamSource, Validity
from astralq.algebra.stream_ops import Spread
from astralq.algebra.streamers import DStream, IStream, RStream
from astralq.algebra.ticks import Tick
from astralq.algebra.windows import Window, WindowSpec
from astralq.expr.nodes import Column, Expr
from astralq.expr.safety import can_fail
from astralq.timeline import EPOCH, Instant

Key = frozenset[str]
"""Attributes, in lower case, that no two rows of one state have the same values of."""


@dataclass(frozen=True)
class Grid:
    """The instants origin + k·every, for whole k.

    >>> Grid(5, 60).is_on(Grid(0, 5)), Grid(5, 60).is_on(Grid(0, 10))
    (True, False)
    """

    origin: int
    every: int

    def is_on(self, other: Grid) -> bool:
        """Whether all of its instants are instants of another grid."""
        return self.every % other.every == 0 and (self.origin - other.origin) % other.every == 0

    def moved(self, by: int) -> Grid:
        return Grid(self.origin + by, self.every)

    @staticmethod
    def common(a: Grid | None, b: Grid | None) -> Grid | None:
        """The coarser grid's instants and the finer one's, where one is on the other."""
        if a is None or b is None:
            return None
        return b if a.is_on(b) else a if b.is_on(a) else None


@dataclass(frozen=True)
class Properties:
    """What holds of an operator in every run."""

    one_batch_per_instant: bool  # tuples, or changes, are at i = 0 only
    append_only: bool = False  # a row that holds once holds for ever
    phi_determines_values: bool = False  # a φ has the same values whenever it is there
    lifetime: int | None = None  # every row holds for exactly so many microseconds
    grid: Grid | None = None  # changes happen at these instants only
    keys: frozenset[Key] = frozenset()
    can_fail: bool = False  # an expression in it can fail on some row


@dataclass(frozen=True)
class Given:
    """What properties depend on besides the operators: the start, and what is known of the sources' batches."""

    t0: Instant = EPOCH
    one_batch: frozenset[str] = frozenset()  # sources with i = 0 only, besides those whose declaration says so

    @staticmethod
    def of(t0: Instant | None = None, one_batch: Iterable[str] = ()) -> Given:
        return Given(EPOCH if t0 is None else t0, frozenset(one_batch))


def properties(op: Operator, given: Given | None = None) -> Properties:
    """The properties of an operator.

    >>> from astralq import range_, stream, unbounded
    >>> s = stream("S", "id INT, v INT, ts TIMESTAMP", timestamp="ts")
    >>> properties(s[unbounded()].where("v > 1").operator).append_only
    True
    >>> properties(s[range_("1 min", "10 s")].operator).grid
    Grid(origin=0, every=10000000)
    >>> properties(s[range_("1 min")].aggregate("max(v) AS m", by="id").operator).keys
    frozenset({frozenset({'id'})})
    """
    given = Given() if given is None else given
    found = _stream(op, given) if op.kind is Kind.STREAM else _relation(op, given)
    return replace(found, can_fail=any(map(can_fail, expressions(op))))


def expressions(op: Operator) -> list[Expr]:
    """The expressions of an operator itself, not of those below it."""
    match op:
        case Select():
            return [op.condition]
        case Project():
            return [e for _, e in op.items]
        case GroupBy():
            return [*(e for _, e in op.keys), *(e for _, a in op.aggregates for e in a.children)]
        case Join():
            return [op.condition]
        case Explode():
            return [op.array]
        case OrderBy():
            return [k.expr for k in op.keys]
        case Limit():
            return [*op.per, *(k.expr for k in op.order)]
        case Constants():
            return [e for row in op.rows for e in row]
    return []


# Streams


def _stream(op: Operator, given: Given) -> Properties:
    match op:
        case StreamSource():
            declared = op.timestamp is not None and op.batch_by is None and not op.batch_each_row
            return Properties(declared or op.name in given.one_batch)
        case SensedSource() | Tick():
            return Properties(True)
        case StartedAt():
            return properties(op.child, replace(given, t0=EPOCH if op.t0 is None else op.t0))
        case Select() | Project() | Rename() | Explode():
            return Properties(properties(op.child, given).one_batch_per_instant)
        case Evaluations():
            return Properties(all(_begins_at_zero(s, given) for s in op.walk()))
        case IStream() | DStream() | RStream() if op.child.kind is Kind.RELATION:
            # What holds at the start is reported there: at (t, i) of the first batch of any source.
            begins = all(_begins_at_zero(s, given) for s in op.walk())
            return Properties(begins and (op.every is not None or properties(op.child, given).one_batch_per_instant))
    return Properties(False)  # a spread numbers batches, a stream of windows its windows


def _begins_at_zero(op: Operator, given: Given) -> bool:
    if isinstance(op, Spread):
        return False
    return not isinstance(op, StreamSource) or properties(op, given).one_batch_per_instant


# Relations


def _relation(op: Operator, given: Given) -> Properties:
    match op:
        case RelationSource():
            return _base(op)
        case Constants():
            alone = frozenset([frozenset[str]()]) if len(op.rows) == 1 else frozenset[Key]()
            return Properties(True, append_only=True, phi_determines_values=True, keys=alone)
        case StartedAt():
            return properties(op.child, replace(given, t0=EPOCH if op.t0 is None else op.t0))
        case Window():
            return _window(op, given)
        case Select():
            return properties(op.child, given)
        case Project():
            below = properties(op.child, given)
            return replace(below, keys=_renamed_keys(below.keys, op.items))
        case CopyPhi() | OrderBy():
            return properties(op.child, given)
        case Explode():
            # All elements of a row come and go with it, and their places tell them apart.
            below = properties(op.child, given)
            placed = frozenset(k | {op.names[0].lower()} for k in below.keys) if op.has_place else frozenset[Key]()
            return replace(below, keys=placed)
        case Limit():
            return _limit(op, properties(op.child, given))
        case WindowBounds():
            return _bounds(op, properties(op.child, given), given)
        case Rename():
            below = properties(op.child, given)
            new = {old.lower(): name.lower() for old, name in op.names}
            return replace(below, keys=frozenset(frozenset(new.get(n, n) for n in k) for k in below.keys))
        case GroupBy():
            return _group(op, properties(op.child, given))
        case Distinct():
            below = properties(op.child, given)
            return replace(below, phi_determines_values=True, lifetime=None, keys=below.keys | {_all(op)})
        case Product() | Join() | SetOperation() | ValueSetOperation():
            left, right = (properties(c, given) for c in op.children)
            return _binary(op, left, right)
        case Domain():
            return _past(op, properties(op.child, given), given)
        case Tick():
            below = properties(op.child, given)
            return replace(below, one_batch_per_instant=True, lifetime=None, grid=Grid(0, op.period))
    return Properties(False)


def _base(op: RelationSource) -> Properties:
    if op.validity is Validity.CHANGES:
        keys = frozenset([frozenset(n.lower() for n in op.key)]) if op.key else frozenset[Key]()
        # A key keeps its φ when its row is replaced.
        return Properties(True, phi_determines_values=not op.key, keys=keys)
    return Properties(True, append_only=op.valid_to is None, phi_determines_values=True)


def _window(op: Window, given: Given) -> Properties:
    spec, below = op.spec, properties(op.child, given)
    scope = spec.scope
    return Properties(
        below.one_batch_per_instant or isinstance(spec.schedule, Sessions),
        append_only=is_landmark(scope.lo),
        phi_determines_values=True,
        lifetime=_lifetime(op, below, given),
        grid=_grid_of(spec, given),
        keys=frozenset([frozenset(n.lower() for n in spec.partition)]) if _holds_one(scope) else frozenset(),
    )


def _grid_of(spec: WindowSpec, given: Given) -> Grid | None:
    """The instants at which a window is evaluated, where they are periodic."""
    schedule = spec.schedule
    if not isinstance(schedule, Periodic) or schedule.measure is not Measure.TIME:
        return None
    return Grid((schedule.origin(given.t0) + spec.delay) % schedule.every, schedule.every)


def _bounds(op: WindowBounds, below: Properties, given: Given) -> Properties:
    """A row is another one after each evaluation."""
    own = _grid_of(op.spec, given)
    grid = Grid.common(below.grid, own)
    steady = own is not None and grid == own and below.lifetime == own.every  # a row is in one window only
    return replace(
        below,
        append_only=False,
        phi_determines_values=below.phi_determines_values and steady,
        lifetime=below.lifetime if steady else None,
        grid=grid,
    )


def _holds_one(scope: Scope) -> bool:
    """Whether a window holds at most one tuple, of each part if it has parts: [LAST ROW], [ROWS 1 SLIDE …]."""
    if scope.measure is not Measure.POSITION or not (isinstance(scope.lo, Back) and isinstance(scope.hi, Back)):
        return False
    return scope.lo.amount == scope.hi.amount


def _lifetime(op: Window, below: Properties, given: Given) -> int | None:
    """How long a tuple stays in a window by time of fixed width; where it moves in steps, if they fit into it."""
    schedule, scope = op.spec.schedule, op.spec.scope
    if scope.measure is not Measure.TIME or not (isinstance(scope.lo, Back) and isinstance(scope.hi, Back)):
        return None
    width = scope.lo.amount + 1 - scope.hi.amount
    if isinstance(schedule, Continuous):
        return width if below.one_batch_per_instant else None
    if not isinstance(schedule, Periodic) or schedule.measure is not Measure.TIME or width % schedule.every:
        return None
    # Before the first evaluation all tuples wait for it, so that some stay for a shorter time; a tick may be before t0.
    waits = given.t0 + scope.hi.amount < schedule.origin(given.t0) or any(isinstance(o, Tick) for o in op.walk())
    return None if waits else width


def _group(op: GroupBy, below: Properties) -> Properties:
    """A group's row is identified by its key; its values change while it is there."""
    changes_only_its_keys = not op.aggregates
    return Properties(
        below.one_batch_per_instant,
        append_only=changes_only_its_keys and below.append_only,
        phi_determines_values=changes_only_its_keys,
        grid=below.grid,
        keys=frozenset([frozenset(n.lower() for n, _ in op.keys)]),
    )


def comes_and_goes_at_once(known: Properties) -> bool:
    """Whether all rows that hold at the same time have the same interval: windows that tumble."""
    return known.one_batch_per_instant and known.grid is not None and known.lifetime == known.grid.every


def _limit(op: Limit, below: Properties) -> Properties:
    """A tuple may go when a better one comes; not where all that are there at once have come and go together."""
    at_once = comes_and_goes_at_once(below)
    keys = below.keys
    if all(isinstance(e, Column) for e in op.per):
        per = frozenset(e.name.lower() for e in op.per if isinstance(e, Column))
        keys |= {per} if op.count == 1 else frozenset()
        keys |= {per | {op.rank.lower()}} if op.rank is not None else frozenset()
    return replace(
        below,
        append_only=False,
        phi_determines_values=below.phi_determines_values and op.rank is None,
        lifetime=below.lifetime if at_once else None,
        keys=keys,
    )


def _binary(op: Operator, left: Properties, right: Properties) -> Properties:
    both = Properties(
        left.one_batch_per_instant and right.one_batch_per_instant,
        append_only=left.append_only and right.append_only,
        phi_determines_values=left.phi_determines_values and right.phi_determines_values,
        grid=Grid.common(left.grid, right.grid),
    )
    match op:
        case Product() | Join(how=JoinKind.INNER):
            return replace(both, keys=frozenset(a | b for a, b in product(left.keys, right.keys)))
        case Join(how=JoinKind.SEMI):
            return replace(both, phi_determines_values=left.phi_determines_values, keys=left.keys)
        case Join(how=JoinKind.ANTI):
            return replace(both, append_only=False, phi_determines_values=left.phi_determines_values, keys=left.keys)
        case Join(how=JoinKind.SINGLE):  # a row stays, and what stands beside it changes
            return replace(both, append_only=False, phi_determines_values=False, keys=left.keys)
        case Join():  # a row without a match goes when one comes
            return replace(both, append_only=False)
        case SetOperation(how=SetKind.EXCEPT):
            return replace(both, append_only=False, phi_determines_values=left.phi_determines_values, keys=left.keys)
        case SetOperation(how=SetKind.INTERSECT):
            return replace(both, phi_determines_values=left.phi_determines_values, keys=left.keys)
        case ValueSetOperation():
            # Rows are identified by their values, and by a number where equal ones count.
            kept = op.how is not SetKind.EXCEPT and both.append_only
            keys = frozenset[Key]() if op.all else frozenset([_all(op)])
            steady = left.phi_determines_values if op.all else True
            return replace(both, append_only=kept, phi_determines_values=steady, keys=keys)
    return both


def _past(op: Domain, below: Properties, given: Given) -> Properties:
    """D_c^f: what f does to the child's changes; c may take rows out again."""
    stays = op.during is None or (len(op.during) == 1 and op.during[0][1] is None)
    append_only = stays and (below.append_only or isinstance(op.transform_, AtInstant))
    found = Properties(
        False, append_only=append_only, phi_determines_values=below.phi_determines_values, keys=below.keys
    )
    match op.transform_:
        case AtInstant():
            return replace(found, one_batch_per_instant=True, phi_determines_values=True)
        case Shift(by):
            grid = None if below.grid is None or op.during is not None else below.grid.moved(by)
            lifetime = below.lifetime if op.during is None else None
            same = below.one_batch_per_instant
            return replace(found, one_batch_per_instant=same, grid=grid, lifetime=lifetime)
        case Floor(every):
            grid = Grid(given.t0 % every, every) if op.during is None else None
            return replace(found, one_batch_per_instant=True, grid=grid)
        case LastBatchOf():
            assert op.other is not None
            return replace(found, one_batch_per_instant=properties(op.other, given).one_batch_per_instant)
    return found


def _renamed_keys(keys: frozenset[Key], items: Iterable[tuple[str, Expr]]) -> frozenset[Key]:
    """The keys whose attributes a projection keeps, under their new names."""
    names: dict[str, str] = {}
    for name, e in items:
        if isinstance(e, Column):
            names.setdefault(e.name.lower(), name.lower())
    return frozenset(frozenset(names[n] for n in k) for k in keys if k <= names.keys())


def _all(op: Operator) -> Key:
    return frozenset(n.lower() for n in op.schema.names)
