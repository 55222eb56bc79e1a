"""Windows over equal streams: the oldest that fits serves the others, whenever these started (transposition)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from astralq.algebra.base import Operator
from astralq.algebra.observed import Observed
from astralq.algebra.relational import GroupBy
from astralq.algebra.retention import holds_all_at_once, known_at_once
from astralq.algebra.schedules import Measure
from astralq.algebra.sources import StartedAt
from astralq.algebra.windows import Window
from astralq.expr.conditions import conjunction
from astralq.laws.estimate import selectivity
from astralq.laws.invariants import observation
from astralq.laws.rule import UNOBSERVED, Site
from astralq.laws.rules.transposition import BOUNDS, WHOLE, Started, served
from astralq.sharing.common import Base, Note, Rooted, Shared, Sizes, base_of, own_operators
from astralq.timeline import EPOCH, Instant

LAW = "transposition (001 P9)"


@dataclass(frozen=True)
class _Held:
    """A window in one of the queries."""

    query: int
    place: int
    window: Window
    base: Base
    t0: Instant
    seen: Observed

    @property
    def observes_phi(self) -> bool:
        return self.seen.phi or "_n" in self.seen.columns

    def over(self, stream: Operator) -> Started:
        return Started(Window(stream, self.window.spec), self.t0)


def share_windows(shared: Shared, sizes: Sizes, *, live: bool) -> None:
    """Windows whose tuples are numbered, and in a continuous run also those whose tuples are kept."""
    by_stream: dict[Operator, list[_Held]] = {}
    for k, rooted in enumerate(shared.queries):
        for held in _found(k, rooted, live=live):
            by_stream.setdefault(held.base.stream, []).append(held)
    made: dict[tuple[int, int], Operator] = {}
    for found in by_stream.values():
        if len(found) > 1:
            made |= _served(shared, sorted(found, key=lambda h: (h.t0, h.query)), sizes)
    for (query, place), op in sorted(made.items(), reverse=True):
        shared.put(query, place, op)


def join_windows(shared: Shared, running: Sequence[tuple[Rooted, Instant]]) -> None:
    """Lets windows of a new query, the only one, be served by those that running queries keep; each of these comes with
    the instant up to which it has answered."""
    (new,) = shared.queries
    kept = [(rooted.name, *one) for rooted, since in running if since < new.start for one in _kept(rooted)]
    for held in reversed(list(_found(0, new, live=True))):
        for owner, old, view in kept:
            base = base_of(old.window.child)
            if base.stream != held.base.stream or not held.base.read <= base.names or held.observes_phi:
                continue
            site = Site(held.seen)
            made = served(old, held.over(old.window.child), site)
            if made is not None:
                shared.put(0, held.place, held.base.above(_made_of(made, view)))
                shared.notes.append(Note(new.name, held.window.label, True, LAW, (owner,), str(view)))
                break
            shared.notes += [Note(new.name, held.window.label, False, r.why, (owner,)) for r in site.refusals]


def _kept(rooted: Rooted) -> list[tuple[Started, StartedAt]]:
    """The windows that a running query keeps, and how another one names them: with the start that their state has."""
    views = [op for op in rooted.query.walk() if isinstance(op, StartedAt)]
    views += [
        StartedAt(op, rooted.t0)
        for _, op, _ in own_operators(rooted)
        if isinstance(op, Window) and observation(op, starts=False) == observation(rooted.query, starts=False)
    ]
    return [(Started(v.child, v.t0 or EPOCH), v) for v in views if isinstance(v.child, Window)]


def _found(k: int, rooted: Rooted, *, live: bool) -> list[_Held]:
    found, grouped = [], set()
    for place, op, seen in own_operators(rooted):
        if isinstance(op, GroupBy):
            grouped.add(place + 1)
        if not isinstance(op, Window) or (place in grouped and known_at_once(op.spec)):
            continue  # aggregations of windows by time keep panes, not tuples
        numbered = op.spec.measures != {Measure.TIME} and not holds_all_at_once(op.spec)
        by_time = live and op.spec.measures == {Measure.TIME}
        if numbered or by_time:
            movable = by_time and not seen.phi and "_n" not in seen.columns
            base = base_of(op.child, lambda _, movable=movable: movable)  # type: ignore[misc]
            found.append(_Held(k, place, op, base, rooted.start, seen))
    return found


def _served(shared: Shared, found: list[_Held], sizes: Sizes) -> dict[tuple[int, int], Operator]:
    servers: list[tuple[_Held, list[tuple[_Held, bool]]]] = []
    for new in found:
        for old, users in servers:
            same = old.t0 == new.t0 and old.window.spec == new.window.spec
            site = Site(new.seen)
            if same or (new.t0 > old.t0 and _fits(old, new, site, sizes.between(old.t0, new.t0))):
                users.append((new, same))
                break
            name, other = shared.queries[new.query].name, shared.queries[old.query].name
            shared.notes += [Note(name, new.window.label, False, r.why, (other,)) for r in site.refusals]
        else:
            servers.append((new, []))
    made: dict[tuple[int, int], Operator] = {}
    for old, users in servers:
        if users and _pays([old, *(new for new, _ in users)]):
            made |= _from_one(shared, old, users)
    return made


def _pays(windows: Sequence[_Held]) -> bool:
    """Whether all tuples once are fewer than those that each window selects for itself."""
    return sum(selectivity(conjunction(h.base.conditions)) for h in windows) > 0.999


def _fits(old: _Held, new: _Held, site: Site, before: Mapping[str, int]) -> bool:
    if new.observes_phi:
        return site.require(UNOBSERVED, False, "somebody above looks at φ itself", new.window.label)
    stream = new.base.stream
    return served(old.over(stream), new.over(stream), site, before) is not None


def _from_one(shared: Shared, old: _Held, users: Sequence[tuple[_Held, bool]]) -> dict[tuple[int, int], Operator]:
    """The older window over all attributes that any of them reads, and each younger one made of it."""
    stream = old.base.with_names(old.base.read.union(*(new.base.read for new, _ in users)))
    first = old.over(stream)
    # Of the same start the windows are equal as they stand; else all name the start of the oldest.
    oldest: Operator = first.window
    if not all(same for _, same in users):
        oldest = StartedAt(first.window, shared.queries[old.query].t0)
    made = {(old.query, old.place): old.base.above(oldest)}
    part, owner = str(oldest), shared.queries[old.query].name
    others = tuple(dict.fromkeys(shared.queries[new.query].name for new, _ in users))
    shared.notes.append(Note(owner, old.window.label, True, "its own window", others, part))
    for new, same in users:
        window = oldest if same else _younger(first, new, stream, oldest)
        made[new.query, new.place] = new.base.above(window)
        how = "the same window" if same else LAW
        shared.notes.append(Note(shared.queries[new.query].name, new.window.label, True, how, (owner,), part))
    return made


def _younger(first: Started, new: _Held, stream: Operator, oldest: Operator) -> Operator:
    """A younger window made of the oldest one; that it can be was found out before, with what is known of sources."""
    window = served(first, new.over(stream), Site(new.seen, forced=(WHOLE, BOUNDS)))
    assert window is not None
    return _made_of(window, oldest)


def _made_of(younger: Operator, oldest: Operator) -> Operator:
    """A younger window made of the oldest one as all name it."""
    return younger.transform(lambda op: oldest if isinstance(op, StartedAt) else op)
