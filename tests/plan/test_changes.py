"""Which values I_S compares: those of a state with those just before it, where both are summed up in one pass."""

from __future__ import annotations

import pytest

from astralq.plan.table import Presorted, Table
from tests.plan.test_limit import planned

BEFORE = "RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"


def expressions(query: str) -> str:
    """All expressions of a query's plan."""
    answer = planned(query).answer
    assert answer is not None
    return "\n".join(text for node in answer.walk() for text in texts(node))


def texts(node: Table) -> list[str]:
    return [text for _, text in getattr(node, "items", ())] + [getattr(node, "condition", "")]


def test_an_average_is_compared_with_that_of_the_sums_before() -> None:
    found = expressions("ISTREAM(SELECT k, avg(v) AS m FROM s [RANGE 1 MINUTE] GROUP BY k)")
    assert BEFORE in found
    assert "lag(" not in found


@pytest.mark.parametrize(
    "query",
    [
        "ISTREAM(SELECT k, stddev(v) AS m FROM s [RANGE 1 MINUTE] GROUP BY k)",
        "DSTREAM(SELECT k, avg(v) AS m FROM s [RANGE 1 MINUTE] GROUP BY k)",
        "ISTREAM(SELECT k, max(v) AS m FROM s [RANGE 1 MINUTE] GROUP BY k)",
        "ISTREAM(SELECT avg(v) AS m FROM s [RANGE 1 MINUTE])",
    ],
    ids=["long expressions", "what ends", "what cannot be taken off again", "without keys, over many rows"],
)
def test_others_are_compared_row_by_row(query: str) -> None:
    assert BEFORE not in expressions(query)


def test_what_is_computed_of_values_is_compared_itself() -> None:
    """Other averages may be the same when they are rounded."""
    query = "ISTREAM(SELECT k, round(m) AS r FROM (SELECT k, avg(v) AS m FROM s [RANGE 1 MINUTE] GROUP BY k))"
    assert "lag(" in expressions(query)


def test_entries_and_exits_of_keys_are_presorted() -> None:
    def presorts(query: str) -> list[str]:
        answer = planned(query).answer
        assert answer is not None
        return [node.by for node in answer.walk() if isinstance(node, Presorted)]

    (number,) = presorts("ISTREAM(SELECT k, avg(v) AS m FROM s [RANGE 1 MINUTE] GROUP BY k)")
    assert "xxhash64(k0)" in number
    assert not presorts("ISTREAM(SELECT avg(v) AS m FROM s [RANGE 1 MINUTE])")
