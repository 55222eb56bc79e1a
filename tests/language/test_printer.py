"""What is printed reads back as the same algebra: parse → bind → print → parse → bind."""

from __future__ import annotations

import pytest
from hypothesis import given

from astralq.algebra.base import Operator
from astralq.errors import PlanError
from astralq.language import read_script
from astralq.language.printer import dialect_of, print_script
from tests.algebra.test_text import WINDOWS
from tests.queries import Case, S, cases


def read_back(op: Operator) -> Operator:
    return read_script(print_script(op), dialect_of(op)).queries[0].operator


@given(cases(depth=4))
def test_a_generated_query_reads_back_as_itself(case: Case) -> None:
    op = case.query.operator
    try:
        text = print_script(op)
    except PlanError as e:
        assert "has no form in the" in e.message  # noqa: PT017
        return
    found = read_script(text, dialect_of(op)).queries[0].operator
    assert found == op, f"\n{text}\n\nreads back as\n{found}\n\nnot as\n{op}"


@pytest.mark.parametrize("text", [t for _, t in WINDOWS if "lo(t)" not in t and "km" not in t and " m'" not in t])
def test_a_window_reads_back_as_itself(text: str) -> None:
    declared = "CREATE STREAM s (a INT, b INT, ts TIMESTAMP) TIMESTAMP BY ts; "
    if text.startswith("[FOR (t = 0"):
        text = "[FOR (t = TIMESTAMP '2020-01-01'; t <= TIMESTAMP '2020-01-05'; t = t + 1 DAY) FROM t - 1 HOUR TO t]"
    op = read_script(f"{declared}SELECT * FROM s {text}").queries[0].operator
    assert read_back(op) == op


def test_the_printer_says_what_has_no_form() -> None:
    with pytest.raises(PlanError, match="ISTREAM BY VALUE has no form in the query language"):
        print_script(S.spread()[WINDOWS[0][0]].istream(by_value=True).operator)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT window_start, window_end, max(b) AS m FROM s [SESSION 3 SECONDS] GROUP BY window_start, window_end",
        "SELECT window_end, max(b) AS n FROM s [SESSION 3 SECONDS] WHERE a > 1 GROUP BY window_end HAVING count(*) > 1",
        "SELECT window_end FROM s [SESSION 3 SECONDS] GROUP BY window_end",
        "SELECT a, window_start, max(b) AS m FROM s [PARTITION BY a SESSION 3 SECONDS] GROUP BY a",
        "SELECT b, window_end, count(*) AS n FROM s [SESSION 3 SECONDS] GROUP BY b, window_end",
    ],
)
def test_sessions_with_their_bounds_read_back_as_themselves(query: str) -> None:
    declared = "CREATE STREAM s (a INT, b INT, ts TIMESTAMP) TIMESTAMP BY ts; "
    op = read_script(f"{declared}{query}").queries[0].operator
    assert read_back(op) == op
