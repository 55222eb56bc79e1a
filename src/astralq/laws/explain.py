"""What laws did to a query, for people and for programs: each step with its law, and each refusal that was close."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from astralq.algebra.base import Operator
from astralq.algebra.relational import Project, Rename, Select
from astralq.laws.estimate import estimated_rows
from astralq.laws.optimize import Optimized, Step


def applied(optimized: Optimized) -> list[str]:
    """The laws in the order in which they were used, with their conditions in words when they come first.

    >>> from astralq import range_, stream
    >>> from astralq.laws.optimize import optimize
    >>> s = stream("S", "v INT, ts TIMESTAMP", timestamp="ts")
    >>> for line in applied(optimize(s[range_("1 h")].where("v > 20").operator)):
    ...     print(line)
    1. select_through_window at SELECT v > 20
       σ_c(S[α, β, r]) ≡ (σ_c S)[α, β, r] (001 P5, P6; 000 P2, P3)
       as rate and bounds of the window are times, and not sessions; or it keeps everything; or the condition is
       on its partition
       as the condition cannot fail: below the window it is computed on tuples that no state holds
       as no condition that stays above reads positions
       as nobody above looks at φ itself
    """
    lines: list[str] = []
    told: set[str] = set()
    number = 0
    for rule, steps in groupby(optimized.steps, key=lambda s: s.rule):
        where = list(steps)
        first, number = number + 1, number + len(where)
        numbers = f"{first}." if len(where) == 1 else f"{first} to {number}."
        lines.append(f"{numbers} {rule.name} at {'; '.join(s.operator for s in where)}")
        if rule.name not in told:
            indent = " " * (len(numbers) + 1)
            lines.append(f"{indent}{rule.law} ({rule.papers})")
            lines += [f"{indent}as {words}" for words in rule.conditions.values()]
            told.add(rule.name)
    return lines


def refused(optimized: Optimized) -> list[str]:
    """Where a law had the right shape and a side condition was broken, each reason once."""
    return list(dict.fromkeys(f"{r.rule} at {r.operator}: {r.why}" for r in optimized.refusals))


def with_rows(query: Operator, rows: Mapping[str, int]) -> list[str]:
    """The operators, each with about how many rows it has."""
    lines = str(query).splitlines()
    width = max(map(len, lines))
    counts = [about(estimated_rows(op, rows)) for op in query.walk()]
    return [f"{line:<{width}}   {count}" for line, count in zip(lines, counts, strict=True)]


def total_rows(query: Operator, rows: Mapping[str, int]) -> float:
    """About how many rows a plan has to handle: σ, Π and ρ only pass rows on, and cost next to nothing."""
    return sum(estimated_rows(op, rows) for op in query.walk() if not isinstance(op, Select | Project | Rename))


def about(rows: float) -> str:
    """A number of rows as a person reads an estimate.

    >>> about(1_234_567), about(950.0), about(0.2)
    ('~1,200,000', '~950', '~1')
    """
    whole = max(1, round(rows))
    digits = len(str(whole))
    return f"~{round(whole, 2 - digits):,}"


def as_json(optimized: Optimized, rows: Mapping[str, int]) -> dict[str, Any]:
    return {
        "applied": [_step(s) for s in optimized.steps],
        "refused": [
            {"law": r.rule, "condition": r.condition, "operator": r.operator, "reason": r.why}
            for r in dict.fromkeys(optimized.refusals)
        ],
        "estimated_rows": {
            "before": round(total_rows(optimized.before, rows)),
            "after": round(total_rows(optimized.after, rows)),
        },
    }


def _step(step: Step) -> dict[str, Any]:
    rule = step.rule
    return {
        "law": rule.name,
        "papers": rule.papers,
        "statement": rule.law,
        "holds": rule.holds.value,
        "conditions": list(rule.conditions.values()),
        "operator": step.operator,
    }
