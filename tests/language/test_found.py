"""What reviews found: queries that were read, bound or rewritten in a wrong way once."""

from __future__ import annotations

from typing import Any

import pytest

from astralq.algebra.base import Operator
from astralq.language.printer import print_script
from astralq.language.script import ScriptError, read_script
from astralq.laws.optimize import optimize
from astralq.model import Data, run
from tests.support import answer, at, single

DECLARED = """
CREATE STREAM s (k INT, v INT, x DOUBLE, y DOUBLE) FROM csv 's' TIMESTAMP ON ARRIVAL LOCATION BY (x, y) PLANAR;
CREATE RELATION c (a INT) FROM csv 'c';
"""
DATA: Data = {"s": single((1, 7, 0.0, 0.0, 1), (2, 1, 5.0, 5.0, 2), (1, 8, 1.0, 0.0, 3)), "c": [(1,), (2,)]}


def read(text: str) -> Operator:
    return read_script(DECLARED + text).queries[0].operator


def same_after_laws(text: str) -> list[Any]:
    before, after = (list(run(q, DATA).rows) for q in (read(text), optimize(read(text)).after))
    assert before == after
    return before


def test_a_count_over_a_union_needs_no_attribute() -> None:
    text = "SELECT count(*) AS n FROM ((SELECT k FROM s [ROWS 3]) UNION ALL (SELECT v AS k FROM s [ROWS 2])) AS u"
    assert same_after_laws(text)[-1][-1] == 5


def test_laws_keep_the_sides_of_a_union_in_order_alike() -> None:
    grouped = "SELECT DISTINCT k, n FROM (SELECT k, count(*) AS n FROM s [ROWS 3] GROUP BY k) AS g"
    plain = "SELECT DISTINCT k, CAST(v AS BIGINT) AS n FROM s [ROWS 3]"
    assert same_after_laws(f"SELECT count(k) AS m FROM (({grouped}) UNION ALL IN ORDER ({plain})) AS u")


WINDOW = "[PARTITION BY car RANGE BY '9 m' RATTR SPACE SLIDE BY '1 m' SATTR SPACE]"


def test_a_result_has_the_place_of_its_own_object_also_where_the_key_was_renamed() -> None:
    counted = "RSTREAM(SELECT car, count(*) AS n FROM (SELECT k AS car, v FROM s [ROWS 3]) AS z GROUP BY car)"
    found = {(car, x, y) for car, _, x, y in at(read(f"SELECT * FROM ({counted}) {WINDOW}"), DATA, 3)}
    assert found == {(1, 0.0, 0.0), (2, 5.0, 5.0), (1, 1.0, 0.0)}


def test_a_computed_key_tells_no_objects_apart() -> None:
    counted = "RSTREAM(SELECT car, count(*) AS n FROM (SELECT k % 2 AS car FROM s [ROWS 3]) AS z GROUP BY car)"
    with pytest.raises(ScriptError, match="has no location"):
        read(f"SELECT * FROM ({counted}) {WINDOW}")


def test_having_sees_the_names_of_select_also_behind_r_equals() -> None:
    text = "SELECT k, count(*) AS best FROM R = s [ROWS 9] GROUP BY k HAVING best = 2"
    assert answer(read(text), DATA)[-1][3:] == (1, 2)


@pytest.mark.parametrize(
    ("window", "message"),
    [
        ("[FOR (t = TIMESTAMP '2020-01-01'; t < TIMESTAMP '2021-01-01'; t = t * 1000000) FROM t TO t]", "out of range"),
        ("[AT TIMESTAMP '2020-01-01' FROM t * t TO t]", "begins at a time out of range"),
        ("[AT TIMESTAMP '2020-01-01' FROM 2 * 3 TO t]", "2 has no unit"),
        ("[AT TIMESTAMP '2020-01-01' FROM t / 0 TO t]", "divides by 0"),
    ],
)
def test_arithmetic_that_leads_nowhere_is_told(window: str, message: str) -> None:
    with pytest.raises(ScriptError, match=message):
        read(f"SELECT v FROM s {window}")


SENSED = "CREATE STREAM r (site INT, time TIMESTAMP, h BOOLEAN) SENSED EVERY 1 SECOND AT SITES (1) FROM python 'm:c'"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{SENSED} WITH PROGRESS", "a sensed stream has no WITH PROGRESS"),
        (f"{SENSED} LATENESS 5 SECONDS", "a sensed stream has no LATENESS"),
        ("CREATE STREAM r (a INT) FROM csv 'x' TIMESTAMP ON ARRIVAL WITH PROGRESS", "reads timestamps back"),
        ("CREATE STREAM r (a INT) FROM csv 'x' OPTIONS (header = 'false') WITH PROGRESS", "have a header"),
        ("CREATE RELATION r (a INT) FROM csv 'a' FROM csv 'b'", "it has a source already"),
        (
            "CREATE STREAM r (a INT, t TIMESTAMP) TIMESTAMP BY t; BIND r TO csv 'x' TIMESTAMP BY a",
            "r has TIMESTAMP already",
        ),
    ],
)
def test_no_clause_of_a_declaration_is_passed_over(text: str, message: str) -> None:
    with pytest.raises(ScriptError, match=message):
        read_script(text)


def test_clauses_follow_the_attributes_of_sneeqls_declarations() -> None:
    (declared,) = read_script("road: pushed (v:integer) FROM csv 'x' WITH PROGRESS", "sneeql").sources
    assert declared.source.progress  # type: ignore[attr-defined]


@pytest.mark.parametrize("other", ["s [ROWS 1]", "(SELECT v FROM s [ROWS 2])"])
def test_another_item_may_follow_intervals(other: str) -> None:
    query = read(f"SELECT a, v FROM c DURING TIMESTAMP '2020-01-01' TO TIMESTAMP '2021-01-01', {other}")
    assert read_script(print_script(query)).queries[0].operator == query
