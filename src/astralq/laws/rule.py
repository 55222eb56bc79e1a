"""What a rule is: a law that the optimizer may use, its side conditions, and cases in which it must not be used."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import ModuleType

from astralq.algebra.base import HasOperator, Operator, operator_of
from astralq.algebra.observed import Observed
from astralq.algebra.properties import Properties, properties
from astralq.laws.estimate import estimated_rows
from astralq.laws.samples import Random
from astralq.model.sources import Data


class Holds(Enum):
    """How far both sides of a law are the same. D36 is no congruence: a law that holds up to φ may not be used where
    somebody above observes φ itself, one that holds up to order not where the order is observed."""

    EXACTLY = "exactly"
    UP_TO_PHI = "up to φ"
    UP_TO_ORDER = "up to order"


UNOBSERVED = "φ is not observed"
"""The side condition that every law has that holds up to φ."""

UNORDERED = "order is not observed"
"""The side condition that every law has that holds up to order."""


@dataclass(frozen=True)
class Refused:
    """A query and data for which a side condition is broken, and for which the law would change the answer."""

    name: str
    breaks: str  # the side condition
    query: Operator | HasOperator
    data: Data
    why: str
    rows: Mapping[str, int] = field(default_factory=dict)  # what sources are taken to have, where the law asks for it

    @property
    def operator(self) -> Operator:
        return operator_of(self.query)


@dataclass(frozen=True)
class Refusal:
    """A place at which a rule had the right shape, and a side condition was broken."""

    rule: str
    condition: str
    operator: str
    why: str


@dataclass
class Site:
    """Where a rule is tried: what is observed from above, what is known of operators, and the side conditions.

    `forced` conditions count as fulfilled: so the harness shows that each of them is needed.
    """

    observed: Observed
    rows: Mapping[str, int] = field(default_factory=dict)  # of sources, where that is known
    forced: Collection[str] = ()
    rule: str = ""
    refusals: list[Refusal] = field(default_factory=list)

    def require(self, condition: str, holds: bool, why: str, operator: str = "") -> bool:
        """Whether a side condition is fulfilled; where it is not, the refusal is noted with its reason."""
        if not holds and condition not in self.forced:
            self.refusals.append(Refusal(self.rule, condition, operator, why))
            return False
        return True

    def properties(self, op: Operator) -> Properties:
        return properties(op)

    def estimated_rows(self, op: Operator) -> float:
        return estimated_rows(op, self.rows)


@dataclass(frozen=True)
class Rule:
    """A law of the optimizer, as a file of `laws/rules` states it."""

    name: str
    law: str  # both sides, with ≡ between them
    papers: str  # where it stands in the papers
    says: str  # in words
    conditions: Mapping[str, str]  # each side condition by its name, in words
    holds: Holds
    rewrite: Callable[[Operator, Site], Operator | None] = field(repr=False)
    refused: tuple[Refused, ...] = field(repr=False)
    drawn: Callable[[Random], Operator] = field(repr=False)
    restarts: bool = False  # whether it may take out a start of a query inside another

    @staticmethod
    def of(module: ModuleType) -> Rule:
        """The rule that a file states."""
        conditions = dict(module.CONDITIONS)
        if module.HOLDS is Holds.UP_TO_PHI:
            conditions[UNOBSERVED] = "nobody above looks at φ itself"
        if module.HOLDS is Holds.UP_TO_ORDER:
            conditions[UNORDERED] = "nobody above looks at the order"
        return Rule(
            name=module.__name__.rpartition(".")[2],
            law=module.LAW,
            papers=module.PAPERS,
            says=(module.__doc__ or "").strip().splitlines()[0],
            conditions=conditions,
            holds=module.HOLDS,
            rewrite=module.rewrite,
            refused=module.REFUSED,
            drawn=module.drawn,
            restarts=getattr(module, "RESTARTS", False),
        )

    def tried(self, op: Operator, site: Site) -> Operator | None:
        """The operator as the law rewrites it; None where its shape is another, or a side condition is broken."""
        site.rule = self.name
        new = self.rewrite(op, site)
        if new is None or self.holds is Holds.EXACTLY:
            return new
        if self.holds is Holds.UP_TO_ORDER:
            seen = site.observed.order or site.observed.positions or site.observed.phi
            return new if site.require(UNORDERED, not seen, "somebody above looks at the order", op.label) else None
        seen = site.observed.phi or "_n" in site.observed.columns
        return new if site.require(UNOBSERVED, not seen, "somebody above looks at φ itself", op.label) else None
