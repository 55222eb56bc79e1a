"""The harness: tries each rule on random queries against the model, where it fires, where it refuses, and forced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from astralq.algebra.base import Operator
from astralq.algebra.observed import observed
from astralq.errors import AstralError
from astralq.laws.lower import lower
from astralq.laws.optimize import attempt, replaced
from astralq.laws.rule import Refusal, Rule, Site
from astralq.laws.samples import Random
from astralq.model.run import run
from astralq.model.sources import Data
from astralq.model.values import Stream, Values
from astralq.timeline import Instant

Answer = list[Values] | str


@dataclass(frozen=True)
class Counterexample:
    """A query, what a rule made of it, and data for which the two differ."""

    before: Operator
    after: Operator
    data: Data
    until: Instant | None = None
    t0: Instant | None = None

    @property
    def given(self) -> Data:
        """The data of the sources that the query has."""
        names = {getattr(op, "name", "") for op in self.before.walk()}
        return {name: rows for name, rows in self.data.items() if name in names}

    @property
    def size(self) -> tuple[int, int]:
        rows = (len(v.tuples) if isinstance(v, Stream) else len(list(v)) for v in self.given.values())  # type: ignore[arg-type]
        return sum(1 for _ in self.before.walk()), sum(rows)

    def __str__(self) -> str:
        answers = "\n".join(f"{answer(q, self.given, self.until, self.t0)}" for q in (self.before, self.after))
        return f"{self.before}\nbecame\n{self.after}\nwith {self.given}\n{answers}"


@dataclass
class Tried:
    """What the trials of one rule showed."""

    rule: Rule
    fired: int = 0
    refused: dict[str, int] = field(default_factory=dict)  # by side condition
    unsound: list[Counterexample] = field(default_factory=list)
    broken: dict[str, list[Counterexample]] = field(default_factory=dict)  # by side condition that was not asked for

    @property
    def problems(self) -> list[str]:
        """What is wrong with the rule, if anything."""
        found = []
        if self.unsound:
            found.append(f"it is unsound:\n{min(self.unsound, key=lambda c: c.size)}")
        if not self.fired:
            found.append("it never fires")
        if not self.refused:
            found.append("it never refuses")
        found += [
            f"its side condition {name!r} makes no difference"
            for name in self.rule.conditions
            if not self.broken.get(name)
        ]
        return found


def answer(query: Operator, data: Data, until: Instant | None = None, t0: Instant | None = None) -> Answer:
    """The model's answer, row for row; all errors of evaluation are alike."""
    try:
        return run(query, data, t0=t0, until=until).rows
    except AstralError:
        return "an error"


def rewritten(
    rule: Rule, query: Operator, forced: Sequence[str] = (), rows: Mapping[str, int] | None = None
) -> tuple[Operator | None, list[Refusal]]:
    """The query after one use of a rule, at the first place where it fits; and what was refused."""
    refusals: dict[Refusal, None] = {}
    for place, (op, seen) in enumerate(observed(query)):
        try:
            new = attempt(rule, op, Site(seen, rows or {}, forced), refusals)
            if new is not None:
                return replaced(query, place, new), list(refusals)
        except AstralError:
            if not forced:  # a forced rule may build what cannot be built
                raise
    return None, list(refusals)


def trials(rule: Rule, count: int, seed: int = 0, *, most: int = 20) -> Tried:
    """Tries a rule on so many random queries; of each side condition up to `most` counterexamples are looked for."""
    tried = Tried(rule)
    for number in range(seed, seed + count):
        random = Random(number)
        query = lower(random.above(rule.drawn(random)))
        _try(tried, query, random, most)
    for refused in rule.refused:
        tried.broken.setdefault(refused.breaks, [])
        query = lower(refused.operator)
        _force(tried, query, refused.data, refused.rows, refused.breaks)
    return tried


def _try(tried: Tried, query: Operator, random: Random, most: int) -> None:
    rule = tried.rule
    data, rows = random.data(), random.sizes()
    t0, until = random.ends()
    new, refusals = rewritten(rule, query, rows=rows)
    if new is not None:
        tried.fired += 1
        if answer(query, data, until, t0) != answer(new, data, until, t0):
            tried.unsound.append(Counterexample(query, new, data, until, t0))
    for condition in dict.fromkeys(r.condition for r in refusals):
        tried.refused[condition] = tried.refused.get(condition, 0) + 1
        if len(tried.broken.get(condition, [])) < most:
            _force(tried, query, data, rows, condition, until, t0)


def _force(
    tried: Tried,
    query: Operator,
    data: Data,
    rows: Mapping[str, int],
    condition: str,
    until: Instant | None = None,
    t0: Instant | None = None,
) -> None:
    new, _ = rewritten(tried.rule, query, [condition], rows)
    if new is not None and answer(query, data, until, t0) != answer(new, data, until, t0):
        tried.broken.setdefault(condition, []).append(Counterexample(query, new, data, until, t0))
