"""explode in FROM: its spellings bind to what the fluent API builds and print back; what cannot be is refused."""

from __future__ import annotations

import pytest

from astralq import instant, stream
from astralq.algebra.base import HasOperator
from astralq.errors import AstralError
from astralq.language.printer import Printer
from astralq.model import run
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
}


@pytest.mark.parametrize("text", FORMS)
def test_a_spelling_binds_to_the_operator_and_prints_back(text: str) -> None:
    operator = bound(text, declared=DECLARED)
    assert operator.explain().replace(" FROM json 'e.json'", "") == FORMS[text].operator.explain()
    printed = Printer("astral").query(operator)
    assert bound(printed, declared=DECLARED) == operator


REFUSED = {
    "SELECT x FROM e [ROWS 2], LATERAL explode(l) AS t(x)": "an array of a relation's tuples cannot be made into rows",
    "SELECT x FROM e, LATERAL explode(id) AS t(x)": "explode takes an ARRAY or a MAP, and id is INT",
    "SELECT x FROM e, LATERAL explode(l) AS t(x, y)": "col are 1 attributes, and AS names 2",
    "SELECT x FROM e, LATERAL sequence(1, id) AS t(x)": "LATERAL takes explode of one array or map",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_exploded_is_refused(text: str) -> None:
    with pytest.raises(AstralError) as refused:
        bound(text, declared=DECLARED)
    assert REFUSED[text] in str(refused.value)


def test_elements_follow_each_other_in_the_batch_of_their_tuple() -> None:
    rows = [(1, (7, None), None, instant(5)), (2, (), None, instant(6)), (3, None, None, instant(6))]
    dropped = run(E.explode("l", "x").select("id", "x", "_n"), {"e": rows})
    kept = run(E.explode("l", "x", outer=True).select("id", "x"), {"e": rows})
    assert [row[-3:] for row in dropped.rows] == [(1, 7, 0), (1, None, 1)]
    assert [row[-2:] for row in kept.rows] == [(1, 7), (1, None), (2, None), (3, None)]
