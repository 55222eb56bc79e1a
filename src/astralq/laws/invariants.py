"""What no law may change: kind, attributes, stamps, what a run observes; and the form of φ, where it holds exactly."""

from __future__ import annotations

from astralq.algebra.base import Operator
from astralq.algebra.phi import phi_form
from astralq.algebra.sources import RelationSource, SensedSource, StartedAt, StreamSource
from astralq.algebra.stream_ops import Spread
from astralq.algebra.ticks import Tick
from astralq.errors import PlanError
from astralq.laws.rule import Holds, Rule


class LawError(PlanError):
    """A law that changed what it must not change: a bug in its rule."""


def check(rule: Rule, before: Operator, after: Operator) -> None:
    """Raises an error that names the rule if it changed something that it must not change."""
    changed = [
        (what, a, b)
        for what, a, b in (
            ("kind", before.kind.value, after.kind.value),
            ("attributes", before.schema, after.schema),
            ("stamps", before.stamped, after.stamped),
            ("observation", *(observation(q, starts=not rule.restarts) for q in (before, after))),
            ("order", *((phi_form(before), phi_form(after)) if rule.holds is Holds.EXACTLY else ((), ()))),
        )
        if a != b
    ]
    for what, a, b in changed:
        raise LawError(
            f"the law {rule.name} changed the {what} from {a} to {b} in\n{before}\nwhich became\n{after}",
            hint=f"leave it out with --without {rule.name}, and report it: this is a bug",
        )


def observation(op: Operator, *, starts: bool = True) -> frozenset[object]:
    """What says how long a run is and where it begins: sources, starts, ticks and spreads."""
    found: set[object] = set()
    for o in op.walk():
        match o:
            case StreamSource() | SensedSource() | RelationSource():
                found.add(o)
            case StartedAt() if starts:
                found.add(("start", o.t0, observation(o.child)))
            case Tick():
                found.add(("tick", o.period))
            case Spread():
                found.add("spread")
    return frozenset(found)
