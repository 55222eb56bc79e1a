"""How windows with their bounds, and sessions, are planned over many rows."""

from __future__ import annotations

import pytest

from astralq.language.script import read_script
from astralq.plan.answer import Plan
from tests.plan.test_examples import planned, tables

DECLARED = "CREATE STREAM s (k INT, v DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts;\n"


def plan(query: str) -> Plan:
    (read,) = read_script(f"{DECLARED}{query};").queries
    return planned(read, rows=1_000_000)


def strategies(query: str) -> dict[str, str]:
    return {operator.split()[0]: strategy for operator, strategy, _ in plan(query).reasons}


@pytest.mark.parametrize("window", ["TUMBLE 60 SECONDS", "HOP 60 SECONDS EVERY 10 SECONDS"])
def test_rows_of_one_step_get_their_bounds_without_a_look_at_others(window: str) -> None:
    query = f"ISTREAM(SELECT window_start, k, count(*) AS n FROM s [{window}] GROUP BY window_start, k)"
    assert strategies(query)["BOUNDS"] == "beside each row"
    assert not any("OVER" in str(table) for table in tables(plan(query)))


def test_where_a_session_begins_tells_it_from_the_one_before() -> None:
    sessions = "FROM s [PARTITION BY k SESSION 60 SECONDS] GROUP BY k"
    compared = "<=> last_tt"
    told = plan(f"ISTREAM(SELECT k, window_start, count(*) AS n {sessions})")
    assert not any(compared in str(table) for table in tables(told))
    assert any(compared in str(table) for table in tables(plan(f"ISTREAM(SELECT k, count(*) AS n {sessions})")))


def test_a_row_that_may_hold_in_several_windows_is_cut() -> None:
    assert strategies("SELECT window_start, count(*) AS n FROM s [TUMBLE 60 SECONDS]")["BOUNDS"] == (
        "rows cut at evaluations"
    )


@pytest.mark.parametrize(
    ("window", "strategy"),
    [
        ("PARTITION BY k SESSION 60 SECONDS", "one step"),
        ("SESSION 60 SECONDS", "one step"),
        ("TUMBLE 1 DAY AT TIME ZONE 'Europe/Paris'", "one step"),
        ("PARTITION BY v SESSION 60 SECONDS", "elementary intervals"),
        ("HOP 2 DAYS EVERY 1 DAY AT TIME ZONE 'Europe/Paris'", "elementary intervals"),
    ],
)
def test_what_does_not_overlap_in_a_group_is_aggregated_in_one_step(window: str, strategy: str) -> None:
    assert strategies(f"SELECT k, max(v) AS high FROM s [{window}] GROUP BY k")["AGGREGATE"] == strategy
