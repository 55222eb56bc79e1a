"""How places are counted: in each window, in each step, or between any two changes; and what is compared for it."""

from __future__ import annotations

import pytest

from astralq.language import read_script
from astralq.laws.optimize import optimize
from astralq.plan.answer import Plan, plan_history
from astralq.plan.run import BatchRun
from astralq.plan.table import Join, Select
from astralq.timeline import Instant
from tests.plan.test_examples import facts

STREAM = "CREATE STREAM s (k INT, v DOUBLE, ts TIMESTAMP) FROM parquet 's' TIMESTAMP BY ts;"
MANY = 1_000_000


def planned(query: str) -> Plan:
    core = optimize(read_script(f"{STREAM}\n{query};").queries[0].operator).after
    return plan_history(BatchRun(core, facts(core, Instant(0), MANY), Instant(0), Instant(600_000_000)))


@pytest.mark.parametrize(
    ("query", "strategy"),
    [
        ("ISTREAM(SELECT * FROM s [TUMBLE 1 MINUTE] LIMIT 3 PER k)", "places in each window"),
        ("SELECT k, count(*) AS n FROM s [TUMBLE 1 MINUTE] GROUP BY k ORDER BY n LIMIT 3", "places in each window"),
        ("SELECT * FROM s [HOP 1 HOUR EVERY 1 MINUTE] LIMIT 3 PER k", "places in each step"),
        ("SELECT k, count(*) AS n FROM s [HOP 1 HOUR EVERY 1 MINUTE] GROUP BY k LIMIT 3", "places in each step"),
        ("SELECT * FROM s [RANGE 1 HOUR] LIMIT 3 PER k", "places in each elementary interval"),
        ("SELECT * FROM s [ROWS 9] LIMIT 3", "places in each elementary interval"),
    ],
)
def test_how_places_are_counted(query: str, strategy: str) -> None:
    assert [how for what, how, _ in planned(query).reasons if what.startswith("LIMIT")] == [strategy]


def test_the_top_of_a_window_that_tumbles_is_one_window_function_over_what_is_read() -> None:
    """As one would write it: nothing is joined, no order is copied, and nothing is compared twice."""
    top = "QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) <= 3"
    plan = planned(f"ISTREAM(SELECT * FROM s [TUMBLE 1 MINUTE] {top})")
    assert plan.answer is not None
    nodes = list(plan.answer.walk())
    assert not any(isinstance(node, Join) for node in nodes)
    texts = [text for node in nodes if isinstance(node, Select) for _, text in node.items]
    (over,) = [text for text in texts if " OVER (" in text]
    assert over == ("row_number() OVER (PARTITION BY ft, c0 ORDER BY (c1) DESC NULLS LAST, c2 ASC NULLS FIRST)")


def test_groups_are_told_apart_by_the_column_that_is_compared_first_if_equal_keys_have_equal_hashes() -> None:
    """Two zeros of a DOUBLE are equal, and their hashes are not."""
    by_key, by_value = (planned(f"SELECT * FROM s [TUMBLE 1 MINUTE] LIMIT 3 PER {name}").answer for name in "kv")
    texts = [str([n.items for n in plan.walk() if isinstance(n, Select)]) for plan in (by_key, by_value) if plan]
    assert ["hash(" in text for text in texts] == [True, False]
