"""Every rule of the optimizer: it fires, it refuses, needs each of its conditions, and changes no answer."""

from __future__ import annotations

import pytest

from astralq.algebra.base import Operator
from astralq.laws.lower import lower
from astralq.laws.optimize import optimize
from astralq.laws.rule import Refused, Rule
from astralq.laws.rules import RULES
from astralq.laws.trials import answer, rewritten, trials
from tests.queries import nth

REFUSED = [pytest.param(rule, case, id=f"{rule.name}-{case.name}") for rule in RULES for case in rule.refused]


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.name)
def test_a_rule_is_sound_fires_refuses_and_needs_each_of_its_conditions(rule: Rule) -> None:
    """[001 P3] [001 P4] [001 P5] [001 P6] [001 P7] [001 C2] [001 C3] [001 C4]"""
    assert not trials(rule, 150).problems


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.name)
def test_a_rule_has_a_case_for_each_of_its_conditions(rule: Rule) -> None:
    assert {case.breaks for case in rule.refused} == set(rule.conditions)


@pytest.mark.parametrize(("rule", "case"), REFUSED)
def test_a_rule_refuses_where_it_would_change_the_answer(rule: Rule, case: Refused) -> None:
    query = lower(case.operator)
    expected = answer(query, case.data)
    kept, refusals = rewritten(rule, query, rows=case.rows)
    assert case.breaks in [r.condition for r in refusals]
    assert kept is None or answer(kept, case.data) == expected
    forced, _ = rewritten(rule, query, [case.breaks], case.rows)
    assert forced is not None
    assert answer(forced, case.data) != expected


@pytest.mark.generated(share=5)
def test_an_optimized_query_gives_the_same_answer_in_the_same_order(seed: int) -> None:
    case = nth(seed)
    optimized = optimize(case.query.operator)
    assert answer(optimized.after, case.data) == answer(case.query.operator, case.data), _blamed(optimized.steps, case)


def _blamed(steps, case) -> str:  # type: ignore[no-untyped-def]
    """The step that changed the answer."""
    expected = answer(case.query.operator, case.data)
    before: Operator = lower(case.query.operator)
    for step in steps:
        if answer(step.query, case.data) != expected:
            return f"{step.rule.name} made of\n{before}\n\n{step.query}\n{case}"
        before = step.query
    return "lowering changed it"
