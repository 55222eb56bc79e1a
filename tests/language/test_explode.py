"""explode in FROM: its spellings bind to what the fluent API builds and print back; what cannot be is refused."""

from __future__ import annotations

import pytest

from astralq import RelationQuery, instant, rows, stream, tumble, unbounded
from astralq.algebra.base import HasOperator
from astralq.algebra.phi import CopyPhi
from astralq.algebra.state import kept_state
from astralq.errors import AstralError, PlanError
from astralq.language.printer import Printer
from astralq.model import Data, run, state
from tests.language.support import bound

DECLARED = (
    "CREATE STREAM e (id INT, l ARRAY<INT>, m MAP<STRING, INT>, ts TIMESTAMP) FROM json 'e.json' TIMESTAMP BY ts;"
)
E = stream("e", "id INT, l ARRAY<INT>, m MAP<STRING, INT>, ts TIMESTAMP", timestamp="ts")

FORMS: dict[str, HasOperator] = {
    "SELECT id, x FROM e, LATERAL explode(l) AS t(x)": E.explode("l", "x").select("id", "x"),
    "SELECT id, t.x FROM e, explode(e.l) AS t(x)": E.explode("l", "x").select("id", "x"),
    "SELECT id, x FROM e, explode(e.l) AS x": E.explode("l", "x").select("id", "x"),
    "SELECT id, x FROM e LATERAL VIEW explode(l) t AS x": E.explode("l", "x").select("id", "x"),
    "SELECT id, x FROM e LATERAL VIEW OUTER explode(l) AS x": E.explode("l", "x", outer=True).select("id", "x"),
    "SELECT id, p, x FROM e, LATERAL posexplode(l) AS t(p, x)": E.explode("l", "p", "x").select("id", "p", "x"),
    "SELECT id, key, value FROM e, LATERAL explode(m)": E.explode("m", "key", "value").select("id", "key", "value"),
    "SELECT id, x FROM e [ROWS 2], LATERAL explode(l) AS t(x)": E[rows(2)].explode("l", "x").select("id", "x"),
    "SELECT id, p, x FROM e [ROWS 2] LATERAL VIEW OUTER posexplode(l) t AS p, x": E[rows(2)]
    .explode("l", "p", "x", outer=True)
    .select("id", "p", "x"),
    "SELECT x, count(*) AS n FROM e [TUMBLE 1 MINUTE], LATERAL explode(l) AS t(x) GROUP BY x": E[tumble("1 min")]
    .explode("l", "x")
    .aggregate("count(*) AS n", by="x"),
    "SELECT y, _phi FROM e [ROWS 2], explode(e.l) AS x, explode(array(x, id)) AS y": RelationQuery(
        CopyPhi(E[rows(2)].explode("l", "x").explode("array(x, id)", "y").operator, "_phi")
    ).select("y", "_phi"),
}


@pytest.mark.parametrize("text", FORMS)
def test_a_spelling_binds_to_the_operator_and_prints_back(text: str) -> None:
    operator = bound(text, declared=DECLARED)
    assert operator.explain().replace(" FROM json 'e.json'", "") == FORMS[text].operator.explain()
    printed = Printer("astral").query(operator)
    assert bound(printed, declared=DECLARED) == operator


REFUSED = {
    "SELECT x FROM e, LATERAL explode(l) [ROWS 2] AS t(x)": "a window or a join cannot stand behind explode",
    "SELECT x FROM e, LATERAL explode(id) AS t(x)": "explode takes an ARRAY or a MAP, and id is INT",
    "SELECT x FROM e, LATERAL explode(l) AS t(x, y)": "col are 1 attributes, and AS names 2",
    "SELECT x FROM e, LATERAL sequence(1, id) AS t(x)": "LATERAL takes explode of one array or map",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_exploded_is_refused(text: str) -> None:
    with pytest.raises(AstralError) as refused:
        bound(text, declared=DECLARED)
    assert REFUSED[text] in str(refused.value)


DATA: Data = {"e": [(1, (7, None), None, instant(5)), (2, (), None, instant(6)), (3, None, None, instant(6))]}


def test_elements_follow_each_other_in_the_batch_of_their_tuple() -> None:
    dropped = run(E.explode("l", "x").select("id", "x", "_n"), DATA)
    kept = run(E.explode("l", "x", outer=True).select("id", "x"), DATA)
    assert [row[-3:] for row in dropped.rows] == [(1, 7, 0), (1, None, 1)]
    assert [row[-2:] for row in kept.rows] == [(1, 7), (1, None), (2, None), (3, None)]


def test_in_a_state_elements_stand_where_their_tuple_does() -> None:
    held = E[rows(2)].explode("l", "x", outer=True).select("id", "x", "_t")
    assert state(held, DATA, instant(5)) == [(1, 7, instant(5)), (1, None, instant(5))]
    assert state(held, DATA, instant(6)) == [(2, None, instant(6)), (3, None, instant(6))]


def test_phi_is_that_of_the_tuple_and_the_place_of_the_element() -> None:
    held = E[rows(2)].explode("l", "x").rename({"φ": "p"}).select("x", "p")
    assert state(held, DATA, instant(5)) == [(7, "0/0"), (None, "0/1")]


def test_an_element_whose_place_and_values_stay_is_no_change() -> None:
    """Of an aggregate's array another element comes; the first one is the same tuple as before."""
    listed = E[unbounded()].aggregate("collect_list(id) AS ids").explode("ids", "x").select("x")
    changes = run(listed.istream(), {"e": [(1, None, None, instant(5)), (2, None, None, instant(6))]})
    assert [row[0:1] + row[2:] for row in changes.rows] == [(instant(5), 1), (instant(6), 2)]


def test_the_bounds_of_a_window_are_those_of_its_elements() -> None:
    text = "SELECT x, window_start, count(*) AS n FROM e [TUMBLE 10 MICROSECONDS], explode(e.l) AS x GROUP BY x"
    assert state(bound(text, declared=DECLARED), DATA, instant(10)) == [(None, instant(0), 1), (7, instant(0), 1)]


def test_the_bounds_of_a_session_are_those_of_its_elements() -> None:
    text = "SELECT x, window_end FROM e [SESSION 3 MICROSECONDS], LATERAL explode(l) AS t(x)"
    assert state(bound(text, declared=DECLARED), DATA, instant(10)) == [(7, instant(9)), (None, instant(9))]


def test_a_group_of_elements_keeps_panes_between_epochs() -> None:
    counted = E[tumble("1 min")].explode("l", "x").aggregate("count(*) AS n", by="x").operator
    assert [str(kept) for kept in kept_state(counted)] == [
        "AGGREGATE count(*) AS n BY x: panes of each group that [TUMBLE 1 MINUTE] still holds"
    ]


def test_windows_of_sneeql_are_not_exploded() -> None:
    with pytest.raises(PlanError, match="explode is not part of SNEEql"):
        E.windows("10 s", "0 s", "5 s").explode("l", "x")
