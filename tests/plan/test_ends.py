"""Where a run ends: tuples that enter a window after that are left out before anything is computed of them."""

from __future__ import annotations

import pytest

from astralq.plan.table import Where
from tests.plan.test_limit import planned


@pytest.mark.parametrize(
    ("query", "latest"),
    [
        ("ISTREAM(SELECT window_start, k FROM s [TUMBLE 1 MINUTE] GROUP BY window_start, k)", 599_999_999),
        ("RSTREAM(SELECT k, max(v) AS m FROM s [TUMBLE 7 MINUTES] GROUP BY k) EVERY 7 MINUTES", 419_999_999),
        ("ISTREAM(SELECT * FROM s [TUMBLE 1 MINUTE] LIMIT 3 PER k)", 599_999_999),
    ],
)
def test_the_timestamps_of_tuples_are_compared_and_no_evaluations(query: str, latest: int) -> None:
    """The run ends after ten minutes."""
    answer = planned(query).answer
    assert answer is not None
    conditions = [n.condition for n in answer.walk() if isinstance(n, Where)]
    assert f"(t <= {latest})" in conditions
    assert not any("ft" in c or "tt" in c for c in conditions)
