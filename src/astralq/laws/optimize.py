"""The optimizer: applies the list of rules until none fits any more, checks each step, and says what it did and why.

It is switched off as a whole with no rules, and one rule by leaving it out; nothing else depends on it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from astralq.algebra.base import Operator
from astralq.algebra.callables import functions_of
from astralq.algebra.observed import Observed, observed
from astralq.algebra.state import Kept, kept_state, unbounded
from astralq.errors import PlanError, nearest
from astralq.laws.invariants import LawError, check
from astralq.laws.lower import lower
from astralq.laws.rule import Refusal, Rule, Site
from astralq.laws.rules import RULES

DETERMINISTIC = "deterministic"
"""The condition of every law: no function below gives another value each time it is called."""


@dataclass(frozen=True)
class Step:
    """One law that was applied: which one, where, and the query after it."""

    rule: Rule
    operator: str
    query: Operator = field(repr=False)


@dataclass(frozen=True)
class Optimized:
    """A query in core operators, before and after the laws, with the steps between and the refusals that were close."""

    query: Operator  # as it was written
    before: Operator  # in core operators
    after: Operator
    steps: tuple[Step, ...] = ()
    refusals: tuple[Refusal, ...] = ()

    @property
    def kept_before(self) -> list[Kept]:
        """What a continuous run would keep without laws."""
        return kept_state(self.query)

    @property
    def kept(self) -> list[Kept]:
        """What a continuous run keeps."""
        return kept_state(self.after) if self.steps else self.kept_before

    @property
    def unbounded(self) -> list[PlanError]:
        """For each operator whose state would grow for ever, the error that says so, in the query's own words."""
        if all(k.bounded for k in self.kept):
            return []
        return unbounded(self.query) or unbounded(self.after)

    def check_bounded(self) -> None:
        """An error that names the operator, and what to write instead, if the state would grow for ever."""
        for error in self.unbounded:
            raise error


def rules_without(names: Collection[str] = (), *, laws: bool = True) -> tuple[Rule, ...]:
    """The rules but for some; none where laws are switched off.

    >>> len(rules_without(laws=False)), len(RULES) - len(rules_without(["fold_constants"]))
    (0, 1)
    """
    left_out = rules_named(names)
    return tuple(r for r in RULES if r not in left_out) if laws else ()


def rules_named(names: Collection[str]) -> tuple[Rule, ...]:
    """The rules with these names, in their order; an error for a name that none has."""
    known = {r.name: r for r in RULES}
    for name in names:
        if name not in known:
            raise PlanError(f"there is no law {name!r}", hint=nearest(name, known) or f"they are {', '.join(known)}")
    return tuple(r for r in RULES if r.name in names)


def optimize(query: Operator, rules: Sequence[Rule] = RULES, rows: Mapping[str, int] | None = None) -> Optimized:
    """The query in core operators, rewritten until no rule fits; `rows` is what is known of the sizes of sources.

    >>> from astralq import range_, stream
    >>> s = stream("S", "v INT, ts TIMESTAMP", timestamp="ts")
    >>> optimize(s[range_("1 h", slide="1 min")].where("v > 20").istream().operator).after
    ISTREAM
    └─ WINDOW [RANGE 1 HOUR SLIDE 1 MINUTE]
       └─ SELECT v > 20
          └─ STREAM S
    """
    before = lower(query)
    steps: list[Step] = []
    seen = {before: 0}
    current, seen_of = before, observed(before)
    while True:
        refusals: dict[Refusal, None] = {}
        count = len(steps)
        for rule in rules:
            while (applied := _applied(rule, current, seen_of, rows or {}, refusals)) is not None:
                where, current = applied
                seen_of = observed(current)
                steps.append(Step(rule, where, current))
                if current in seen:
                    raise _oscillation(steps[seen[current] :], current)
                seen[current] = len(steps)
        if len(steps) == count:
            return Optimized(query, before, current, tuple(steps), tuple(refusals))


def _applied(
    rule: Rule,
    query: Operator,
    seen_of: Sequence[tuple[Operator, Observed]],
    rows: Mapping[str, int],
    refusals: dict[Refusal, None],
) -> tuple[str, Operator] | None:
    """The query after the first place where the rule fits, and that place; `seen_of` is what is observed of each."""
    for place, (op, seen) in enumerate(seen_of):
        new = attempt(rule, op, Site(seen, rows), refusals)
        if new is not None:
            return op.label, replaced(query, place, new)
    return None


def attempt(rule: Rule, op: Operator, site: Site, refusals: dict[Refusal, None]) -> Operator | None:
    """The operator as a rule rewrites it, checked; what was refused is added to the refusals."""
    new = rule.tried(op, site)
    if new is not None and (unsure := next((f for f in functions_of(op) if not f.deterministic), None)) is not None:
        why = f"{unsure.name} is a Python function that is not declared DETERMINISTIC"
        site.refusals.append(Refusal(rule.name, DETERMINISTIC, op.label, why))
        new = None
    refusals |= dict.fromkeys(site.refusals)
    if new is not None:
        check(rule, op, new)
    return new


def replaced(query: Operator, place: int, new: Operator) -> Operator:
    """The query with the operator at a place, as `walk` counts them, replaced."""
    if place == 0:
        return new
    first = 1
    for k, child in enumerate(query.children):
        size = sum(1 for _ in child.walk())
        if first <= place < first + size:
            children = list(query.children)
            children[k] = replaced(child, place - first, new)
            return query.with_children(*children)
        first += size
    raise AssertionError(place)


def _oscillation(steps: Sequence[Step], query: Operator) -> LawError:
    names = " and ".join(dict.fromkeys(s.rule.name for s in steps))
    return LawError(
        f"the laws {names} undo each other in\n{query}",
        hint=f"leave one out with --without {steps[-1].rule.name}, and report it: this is a bug",
    )
