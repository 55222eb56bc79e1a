"""Operators written as JSON are read back as the same ones; functions cannot be written, other texts not read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from astralq import at_instants, stream
from astralq.algebra.serialize import FunctionInPlanError, UnknownPlanError, dumps, loads
from astralq.laws.lower import lower
from astralq.timeline import Instant
from tests.plan.test_examples import QUERIES
from tests.queries import Case, cases


@given(cases(4))
@settings(max_examples=100)
def test_a_generated_query_and_its_core_operators_are_read_back_as_they_were(case: Case) -> None:
    try:
        texts = [(op, dumps(op)) for op in (case.query.operator, lower(case.query.operator))]
    except FunctionInPlanError:
        return
    for op, text in texts:
        assert loads(text) == op
        assert loads(text).digest == op.digest


@pytest.mark.parametrize(("name", "query"), QUERIES, ids=[name for name, _ in QUERIES])
def test_an_example_is_read_back_as_it_was(name: str, query: object) -> None:
    op = query.operator  # type: ignore[attr-defined]
    assert loads(dumps(op)) == op


def test_a_function_cannot_be_written() -> None:
    s = stream("S", "v INT")
    with pytest.raises(FunctionInPlanError):
        dumps(s[at_instants([Instant(5)], lo=lambda e: e - 3, hi=lambda e: e)].operator)


@pytest.mark.parametrize("text", ["{}", "[]", "nothing", '{"class": "Nowhere"}', '{"class": "StreamSource"}'])
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(UnknownPlanError):
        loads(text)


def test_a_plan_of_another_version_is_refused() -> None:
    written = json.loads(dumps(stream("S", "v INT").operator))
    with pytest.raises(UnknownPlanError):
        loads(json.dumps({**written, "further": 1}))
