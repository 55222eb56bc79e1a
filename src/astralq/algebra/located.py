"""The spatial stamp of a streamer's results: where the moved object is when they are emitted (004 §3.1).

A location whose columns are kept passes through every operator. Where an aggregate or a projection has dropped them,
the results are looked up in the last tuple of the object that they are of.
"""

from __future__ import annotations

from astralq.algebra.base import Kind, Operator
from astralq.algebra.evaluations import RStreamOnEvaluation
from astralq.algebra.grouping import unique
from astralq.algebra.ordering import Limit, OrderBy
from astralq.algebra.relational import GroupBy, JoinKind, Project, Rename, Select
from astralq.algebra.stream_ops import LookupJoin
from astralq.algebra.streamers import DStream, IStream, RStream
from astralq.algebra.windows import Window, last_row
from astralq.expr.functions import call
from astralq.expr.nodes import TRUE, Column, Expr

_Moved = tuple[Operator, dict[str, str]]
"""The stream of the moved objects, and what tells them apart: its attributes, by their names in the results."""


def with_location(stream: Operator) -> Operator:
    """A streamer's results with the location of their object; the stream itself where there is none to be found.

    >>> from astralq import moving, stream
    >>> s = stream("S", "id INT, x DOUBLE, y DOUBLE", location=("x", "y"), planar=True)
    >>> q = s[moving("50 km", "10 km").by("id")].aggregate("average_speed() AS v", by="id").rstream()
    >>> with_location(q.operator).schema.location
    Location(x='x', y='y', planar=True)
    """
    if stream.schema.location is not None or stream.kind is not Kind.STREAM:
        return stream
    found = _objects(stream)
    if found is None:
        return stream
    objects, keys = found
    location = objects.schema.location
    assert location is not None
    taken = {n.lower() for n in stream.schema.names}
    new = {n: unique(n, taken) for n in dict.fromkeys([location.x, location.y, *keys.values()])}
    last = Window(objects, last_row().by(*keys.values()))
    there = Project(last, tuple((new[n], Column(objects.schema[n].type, n)) for n in new))
    condition: Expr = TRUE
    for name, attribute in keys.items():
        type_ = objects.schema[attribute].type
        same = call("<=>", Column(type_, name), Column(type_, new[attribute]))
        condition = same if condition == TRUE else call("and", condition, same)
    looked_up = LookupJoin(stream, there, condition, JoinKind.LEFT)
    kept = [*stream.schema.names, new[location.x], new[location.y]]
    return Project(looked_up, tuple((n, Column(looked_up.schema[n].type, n)) for n in kept))


def _objects(op: Operator) -> _Moved | None:
    """What has moved below results: nothing between them and a window but a streamer, one aggregation, σ Π ρ."""
    match op:
        case Project():
            return _kept(_objects(op.child), {n: e.name for n, e in op.items if isinstance(e, Column)})
        case Rename():
            renamed = dict(op.names)
            return _kept(_objects(op.child), {renamed.get(n, n): n for n in op.child.schema.names})
        case Select() if op.kind is Kind.RELATION and _is_window(op.child):
            below = _objects(op.child)
            return None if below is None else (Select(below[0], op.condition), below[1])
        case Select() | OrderBy() | Limit() | IStream() | DStream() | RStream() | RStreamOnEvaluation():
            return _objects(op.children[0])
        case GroupBy():
            below = _objects(op.child)
            if below is None or not all(isinstance(e, Column) for _, e in op.keys):
                return None
            # Under the names that they have here; one that is computed below tells no objects apart.
            names = _attributes(op.child)
            keys = {n: names.get(e.name.lower()) for n, e in op.keys if isinstance(e, Column)}
            return None if None in keys.values() else (below[0], {n: str(a) for n, a in keys.items()})
        case Window() if op.child.schema.location is not None:
            return op.child, {n: n for n in op.spec.partition}
    return None


def _attributes(op: Operator) -> dict[str, str]:
    """The attributes of the stream below a relation that are still there, by their names here in lower case."""
    match op:
        case Window():
            return {n.lower(): n for n in op.schema.names}
        case Select():
            return _attributes(op.child)
        case Rename():
            below, new = _attributes(op.child), {old.lower(): name.lower() for old, name in op.names}
            return {new.get(n, n): a for n, a in below.items()}
        case Project():
            below = _attributes(op.child)
            kept = ((n.lower(), e.name.lower()) for n, e in op.items if isinstance(e, Column))
            return {n: below[old] for n, old in kept if old in below}
    return {}


def _is_window(op: Operator) -> bool:
    while isinstance(op, Select):
        op = op.child
    return isinstance(op, Window)


def _kept(below: _Moved | None, names: dict[str, str]) -> _Moved | None:
    """Under new names; nothing where what tells objects apart is lost."""
    if below is None:
        return None
    new = {old.lower(): name for name, old in names.items()}
    if any(k.lower() not in new for k in below[1]):
        return None
    return below[0], {new[k.lower()]: attribute for k, attribute in below[1].items()}
