"""A failing case is made small, and what it prints is a test that can be pasted."""

from __future__ import annotations

import pytest

from astralq.algebra.windows import Window
from astralq.errors import AstralError
from astralq.model import Stream
from tests.agree.compare import on_model
from tests.agree.minimal import Difference, answer, code, data_code, query_code, smallest_difference
from tests.queries import Case, nth


def evaluated(text: str, imports: list[str]) -> object:
    """The value of an expression that was printed, with what it imports."""
    names: dict[str, object] = {}
    for line in imports:
        exec(line, names)
    return eval(text, names)


@pytest.mark.generated
def test_the_code_of_a_query_makes_the_same_query(seed: int) -> None:
    query = nth(seed).query.operator
    assert evaluated(*query_code(query)) == query
    imports: set[str] = set()
    assert evaluated(code(query, imports), sorted(imports)) == query


@pytest.mark.generated
def test_the_code_of_data_makes_the_same_data(seed: int) -> None:
    data = nth(seed).data
    imports = ["from astralq.model import Stream", "from astralq.timeline import BatchId, Instant"]
    assert evaluated(data_code(data), imports) == data


def windows_and_tuples(case: Case) -> Difference | None:
    """A comparison that finds every window over a tuple of S wrong."""
    tuples = case.data["S"]
    assert isinstance(tuples, Stream)
    windows = [op for op in case.query.operator.walk() if isinstance(op, Window)]
    return Difference(case, "[]", [(1,)], []) if windows and tuples.tuples else None


@pytest.fixture(scope="module")
def printed() -> str:
    first = next(seed for seed in range(100) if windows_and_tuples(nth(seed)) is not None)
    return str(smallest_difference(first, windows_and_tuples))


def test_what_fails_is_made_as_small_as_it_can_be(printed: str) -> None:
    assert printed.count("WINDOW") == 1
    assert printed.count("(BatchId(") == 1


def test_what_does_not_fail_is_not_told() -> None:
    assert smallest_difference(0, lambda _: None) is None


def test_what_is_printed_is_a_test_that_fails_for_the_same_reason(printed: str) -> None:
    _, _, test = printed.partition("# tests/agree/test_found.py\n")
    names: dict[str, object] = {}
    exec(test, names)
    names["on_model"] = lambda query, data: [(1,), *on_model(query, data)]
    with pytest.raises(AssertionError):
        names["test_both_engines_agree"](None, None)  # type: ignore[operator]


def test_an_answer_that_is_an_error_is_told_with_its_kind() -> None:
    def fails() -> list[tuple[int]]:
        raise AstralError("no")

    assert answer(fails) == "AstralError: no"
