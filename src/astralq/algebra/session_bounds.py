"""window_start and window_end of sessions, in operators that are there already: a session's tuples say when it was.

It begins with its first tuple, and ends, as a half-open window does, a gap after its last one (docs/decisions.md).
"""

from __future__ import annotations

from astralq.algebra.base import Operator
from astralq.algebra.explode import Explode
from astralq.algebra.relational import GroupBy, Join, Named, Product, Project, Rename, Select
from astralq.algebra.schedules import Sessions
from astralq.algebra.windows import Window
from astralq.errors import PlanError
from astralq.expr.aggregates import aggregate
from astralq.expr.functions import call
from astralq.expr.nodes import TRUE, Aggregate, Column, Expr, Literal
from astralq.schema import INTERVAL, TIMESTAMP

BOUNDS = ("window_start", "window_end")
_LAST = "_last_of_session"
_PART = "_part_of_session"


def with_session_bounds(relation: Operator, window: Window) -> Operator:
    """A relation over a window of sessions with the bounds of the session of its part.

    >>> from astralq import session, stream
    >>> visits = stream("S", "k INT")[session("20 min").by("k")].aggregate("count(*) AS n", by="k").operator
    >>> with_session_bounds(visits, visits.child)
    PROJECT k, n, window_start, _last_of_session + INTERVAL 20 MINUTES AS window_end
    └─ AGGREGATE count(*) AS n, min(_t) AS window_start, max(_t) AS _last_of_session BY k
       └─ WINDOW [PARTITION BY k SESSION 20 MINUTES]
          └─ STREAM S
    """
    names = _parts(relation, window)
    if isinstance(relation, GroupBy) and _is(relation.child, window) and len(relation.keys) == len(names):
        # A group is a part, and has all tuples of its session.
        aggregates = (*relation.aggregates, *_ends(relation.child))
        both: Operator = GroupBy(relation.child, relation.keys, aggregates, relation.empty_row)
    else:
        both = _joined(relation, window, names)
    schedule = window.spec.schedule
    assert isinstance(schedule, Sessions)
    end = call("+", Column(TIMESTAMP, _LAST), Literal(INTERVAL, schedule.gap))
    kept: list[Named] = [(a.name, Column(a.type, a.name)) for a in relation.schema]
    return Project(both, (*kept, (BOUNDS[0], Column(TIMESTAMP, BOUNDS[0])), (BOUNDS[1], end)))


def without_session_bounds(op: Operator) -> GroupBy | None:
    """The aggregation that `with_session_bounds` made an operator of; None if it made no such."""
    if not (isinstance(op, Project) and isinstance(op.child, GroupBy)):
        return None
    both = op.child
    windows = [w for w in both.child.walk() if isinstance(w, Window) and isinstance(w.spec.schedule, Sessions)]
    if not windows or [name for name, _ in both.aggregates[-2:]] != [BOUNDS[0], _LAST]:
        return None
    plain = GroupBy(both.child, both.keys, both.aggregates[:-2], both.empty_row)
    return plain if with_session_bounds(plain, windows[0]) == op else None


def _ends(tuples: Operator) -> tuple[tuple[str, Aggregate], ...]:
    """The first and the last instant of tuples, as aggregates."""
    t = Column(TIMESTAMP, " _t" if "_t" in tuples.schema else "_t")
    found = []
    for name, function in ((BOUNDS[0], "min"), (_LAST, "max")):
        made = aggregate(function, (t,), tuples.readable)
        assert isinstance(made, Aggregate)
        found.append((name, made))
    return tuple(found)


def _joined(relation: Operator, window: Window, names: list[str]) -> Operator:
    """Each row with the session of its part, of which perhaps no tuple is left in it."""
    schema = window.schema
    keys = tuple((f"{_PART}_{k}", Column(schema[n].type, n)) for k, n in enumerate(window.spec.partition))
    condition: Expr = TRUE
    for name, (part, key) in zip(names, keys, strict=True):
        same = call("<=>", Column(key.type, name), Column(key.type, part))
        condition = same if condition == TRUE else call("and", condition, same)
    return Join(relation, GroupBy(window, keys, _ends(window)), condition)


def _parts(relation: Operator, window: Window) -> list[str]:
    """The attributes of a relation that have the values of the window's parts."""
    here = {attribute: name for name, attribute in reversed(_attributes(relation, window).items())}
    for name in window.spec.partition:
        if name.lower() not in here:
            raise PlanError(
                f"window_start and window_end of {window.spec} are those of each {name}, which is not there",
                hint=f"group by {name}" if _is_grouped(relation) else f"select {name}, too",
            )
    return [relation.schema[here[n.lower()]].name for n in window.spec.partition]


def _attributes(op: Operator, window: Window) -> dict[str, str]:
    """Which attributes of a window's tuples are still there: by their names here, both in lower case."""
    if op == window:
        return {n.lower(): n.lower() for n in op.schema.names}
    below: dict[str, str] = {}
    for child in op.children:
        below |= _attributes(child, window)
    match op:
        case Project():
            items = op.items
        case GroupBy():
            items = op.keys
        case Rename():
            items = tuple((a.name, Column(b.type, b.name)) for a, b in zip(op.schema, op.child.schema, strict=True))
        case Select() | Explode() | Join() | Product():
            return below
        case _:
            return {}
    kept = ((n.lower(), e.name.lower()) for n, e in items if isinstance(e, Column))
    return {n: below[old] for n, old in kept if old in below}


def _is(op: Operator, window: Window) -> bool:
    """Whether a relation has the tuples of a window, all of them."""
    while isinstance(op, Rename | Project):
        op = op.child
    return op == window


def _is_grouped(op: Operator) -> bool:
    return any(isinstance(o, GroupBy) for o in op.walk())
