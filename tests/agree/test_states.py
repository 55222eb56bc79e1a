"""What no observed state holds is not computed: a value that fails in another state fails nobody."""

from __future__ import annotations

import pytest

from astralq.errors import AstralError
from astralq.model import Data
from astralq.spark import Engine
from tests.agree.compare import on_model, on_spark
from tests.language.support import bound
from tests.support import sec, single

DATA: Data = {
    "k": single((None, 1, 1), (None, 2, 2), (3, 3, 3), (4, 4, 4)),
    "r": [(1, "a"), (2, "b"), (0, "z")],
    "log": [("+", sec(-5), 0, "a"), ("-", sec(-1), 0, "a"), ("+", sec(0), 2, "c"), ("+", sec(3), 5, "b")],
}
SHARE = "SELECT count(*) div count(id) AS x FROM k [ROWS 2]"
"""Fails before 3 s, where all ids are NULL, and before the first tuple."""

LATE = {
    "joined by >=": f"SELECT r.id, a.x FROM r JOIN ({SHARE}) AS a ON r.id >= a.x",
    "joined on it": (
        "SELECT r.id FROM r JOIN (SELECT count(*) AS n, count(id) AS m FROM k [ROWS 2]) AS a ON r.id >= a.n div a.m"
    ),
    "united": f"{SHARE} UNION SELECT id FROM r",
    "aggregated again": "SELECT sum(10 div x) AS y FROM (SELECT count(id) AS x FROM k [ROWS 2]) AS a",
    "delayed": f"SELECT * FROM ({SHARE}) DELAYED BY 1 SECOND",
    "scanned": f"SELECT * FROM ({SHARE}) [SCAN 2 SECONDS]",
}


@pytest.mark.parametrize("query", LATE.values(), ids=LATE.keys())
def test_a_state_is_there_though_an_earlier_one_fails(engine: Engine, query: str) -> None:
    answer = on_model(bound(query), DATA, at=sec(4))
    assert answer
    assert on_spark(engine, bound(query), DATA, at=sec(4)) == answer


@pytest.mark.parametrize("query", LATE.values(), ids=LATE.keys())
def test_a_state_that_fails_fails_on_both_engines(engine: Engine, query: str) -> None:
    with pytest.raises(AstralError, match="division by zero"):
        on_model(bound(query), DATA)
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        on_spark(engine, bound(query), DATA)


def test_a_fixed_relation_computes_the_state_that_it_is_fixed_at_and_no_other(engine: Engine) -> None:
    query = bound(f"SELECT * FROM ({SHARE}) AT TIMESTAMP '1970-01-01 00:00:03'")
    assert on_spark(engine, query, DATA) == on_model(query, DATA) == [("+", sec(3), 0, 2)]


@pytest.mark.parametrize("delayed", ["", " DELAYED BY 1 SECOND"])
def test_what_held_before_a_run_observes_is_not_computed(engine: Engine, delayed: str) -> None:
    # The row whose id is 0 held until a second before the epoch, which is where the run begins.
    query = bound(f"SELECT * FROM (SELECT 10 div id AS x FROM log){delayed}")
    if delayed:
        with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
            on_spark(engine, bound("SELECT * FROM (SELECT 10 div id AS x FROM log) DELAYED BY 3 SECONDS"), DATA)
    assert on_spark(engine, query, DATA) == on_model(query, DATA)
