"""Queries and answers: each clause binds to the operator built by hand, or gives the answer worked out."""

from __future__ import annotations

from typing import Any

import pytest

from astralq import RelationQuery, from_to, hop, last_batch, last_row, range_, rows
from astralq.algebra.base import HasOperator
from astralq.algebra.domain import at_last_batch
from astralq.algebra.phi import CopyPhi
from astralq.algebra.relational import JoinKind
from astralq.algebra.stream_ops import LookupJoin
from astralq.model import Data
from tests.language.support import DECLARED, LOG, K, Q, R, S, W, bound, error, held, said
from tests.support import given, sec, single

SAME: dict[str, HasOperator] = {
    # SELECT … FROM … WHERE … GROUP BY … HAVING
    "SELECT * FROM s": S,
    "SELECT v FROM s": S.select("v"),
    "SELECT v + 1 AS more FROM s WHERE v > 3": S.where("v > 3").select("v + 1 AS more"),
    "SELECT * FROM s [ROWS 2]": S[rows(2)],
    "SELECT * FROM k [ROWS 2] WHERE v > 3 AND id = 1": K[rows(2)].where("v > 3 AND id = 1"),
    "SELECT v, id FROM k [ROWS 2]": K[rows(2)].select("v, id"),
    "SELECT id, count(*) AS n FROM k [ROWS 2] GROUP BY id": K[rows(2)].aggregate("count(*) AS n", by="id"),
    "SELECT count(*) AS n FROM r": R.aggregate("count(*) AS n"),
    "SELECT DISTINCT name FROM r": R.select("name").distinct(),
    "SELECT r.id FROM r": R.select("id"),
    "SELECT a.* FROM r AS a": R.select("id, name"),
    "SELECT a.id FROM r a": R.select("id"),
    "SELECT * FROM s [ROWS 2] AS last": S[rows(2)],
    "SELECT last.v FROM s [ROWS 2] last": S[rows(2)].select("v"),
    "select ID from R": R.select("id AS ID"),
    # Streamers
    "ISTREAM(SELECT * FROM s [ROWS 2])": S[rows(2)].istream(),
    "DSTREAM(SELECT * FROM s [ROWS 2])": S[rows(2)].dstream(),
    "RSTREAM(SELECT * FROM s [ROWS 2])": S[rows(2)].rstream(),
    "RSTREAM(SELECT * FROM s [ROWS 2]) EVERY 5 SECONDS": S[rows(2)].rstream(every="5 s"),
    "RSTREAM(SELECT * FROM s [ROWS 2]) EVERY '5 seconds'": S[rows(2)].rstream(every="5 s"),
    "RSTREAM(SELECT * FROM s [ROWS 2]) ON INSERT": S[rows(2)].rstream(on_insert=True),
    "RSTREAM(SELECT * FROM s [ROWS 2]) ON EVALUATION": S[rows(2)].rstream(on_evaluation=True),
    "ISTREAM(SELECT * FROM s [ROWS 2]) EVERY 5 SECONDS": S[rows(2)].istream(every="5 s"),
    "DSTREAM(SELECT * FROM s [ROWS 2]) EVERY 5 SECONDS": S[rows(2)].dstream(every="5 s"),
    "SELECT ISTREAM(*) FROM s [ROWS 2]": S[rows(2)].istream(),
    "SELECT ISTREAM(id, v + 1 AS more) FROM k [ROWS 2] WHERE v > 1": (
        K[rows(2)].where("v > 1").select("id, v + 1 AS more").istream()
    ),
    "SELECT RSTREAM(*) FROM k [ROWS 2]": K[rows(2)].rstream(),
    "SELECT DSTREAM(count(*) AS n) FROM s [ROWS 2]": S[rows(2)].aggregate("count(*) AS n").dstream(),
    "istream(select * from s [rows 2])": S[rows(2)].istream(),
    # Past states
    "SELECT * FROM log AT TIMESTAMP '2026-03-01'": LOG.at("2026-03-01"),
    "SELECT * FROM log AT START": LOG.at_start(),
    "SELECT * FROM log DELAYED BY 1 HOUR": LOG.delayed("1 h"),
    "SELECT * FROM (SELECT id FROM log WHERE id > 1) AT START": LOG.where("id > 1").select("id").at_start(),
    "SELECT * FROM (SELECT id FROM log) DELAYED BY 1 HOUR": LOG.select("id").delayed("1 h"),
    "SELECT * FROM s [ROWS 2] DELAYED BY 1 HOUR AS before": S[rows(2)].delayed("1 h"),
    "SELECT a.id FROM log AT START AS a": LOG.at_start().select("id"),
    # Spread
    "SELECT * FROM SPREAD(k BY id)": K.spread("id"),
    "SELECT * FROM SPREAD(k BY id, v)": K.spread("id", "v"),
    "SELECT * FROM SPREAD(k)": K.spread(),
    "SELECT * FROM SPREAD ALL(k BY id)": K.spread_all("id"),
    "SELECT * FROM SPREAD(k BY id) [LAST BATCH]": K.spread("id")[last_batch()],
    "SELECT * FROM SPREAD((SELECT id FROM k WHERE v > 1) BY id) [ROWS 2] AS x": (
        K.where("v > 1").select("id").spread("id")[rows(2)]
    ),
    # Subqueries in FROM, with windows on them
    "SELECT * FROM (SELECT * FROM s WHERE v > 1) [ROWS 2] AS big": S.where("v > 1")[rows(2)],
    "SELECT * FROM ISTREAM(SELECT * FROM s [ROWS 2]) [LAST ROW]": S[rows(2)].istream()[last_row()],
    "SELECT * FROM (ISTREAM(SELECT * FROM s [ROWS 2])) [RANGE 1 MINUTE] AS x": S[rows(2)].istream()[range_("1 min")],
    "SELECT * FROM (SELECT count(*) AS n FROM s [ROWS 2]) AS c WHERE n > 1": (
        S[rows(2)].aggregate("count(*) AS n").where("n > 1")
    ),
    # CTEs
    "WITH big AS (SELECT * FROM s WHERE v > 1) SELECT * FROM big [ROWS 2]": S.where("v > 1")[rows(2)],
    "WITH a AS (SELECT id FROM r), b AS (SELECT * FROM a WHERE id > 1) SELECT * FROM b": (
        R.select("id").where("id > 1")
    ),
    # Set operations by value; UNION ALL keeps both sides in order
    "SELECT id FROM r UNION SELECT id FROM q": R.select("id").union_values(Q.select("id")),
    "SELECT id FROM r UNION ALL SELECT id FROM q": R.select("id").union(Q.select("id")),
    "SELECT id FROM r EXCEPT SELECT id FROM q": R.select("id").except_values(Q.select("id")),
    "SELECT * FROM s [ROWS 2] UNION ALL IN ORDER SELECT * FROM s [ROWS 1]": S[rows(2)].union(S[rows(1)], in_order=True),
    "SELECT * FROM s [ROWS 2] EXCEPT BY IDENTITY SELECT * FROM s [ROWS 1]": S[rows(2)].difference(S[rows(1)]),
    "SELECT * FROM s [ROWS 2] EXCEPT SELECT * FROM s [ROWS 1] BY IDENTITY": S[rows(2)].difference(S[rows(1)]),
    "SELECT * FROM s [ROWS 2] INTERSECT BY IDENTITY SELECT * FROM s [ROWS 1]": S[rows(2)].intersection(S[rows(1)]),
    "SELECT * FROM r DIVIDE BY SELECT id FROM q": R.divide(Q.select("id")),
    "SELECT *, _phi FROM s [ROWS 2], k [ROWS 1]": RelationQuery(
        CopyPhi(S[rows(2)].product(K[rows(1)].rename({"v": "v_2"})).operator, "_phi")
    ),
    "SELECT * FROM r DURING TIMESTAMP '2026-01-01' TO TIMESTAMP '2026-02-01'": R.during("2026-01-01", "2026-02-01"),
    "SELECT * FROM r DURING TIMESTAMP '2026-01-01'": R.during("2026-01-01"),
    "SELECT * FROM r DELAYED BY 1 HOUR DURING '2026-01-01' TO '2026-02-01'": (
        R.delayed("1 h").during("2026-01-01", "2026-02-01")
    ),
    "SELECT * FROM r AT LAST BATCH OF s": RelationQuery(at_last_batch(R.operator, S.operator)),
    "SELECT id FROM r EXCEPT ALL SELECT id FROM q": R.select("id").except_values(Q.select("id"), all=True),
    "SELECT id FROM r INTERSECT SELECT id FROM q": R.select("id").intersect_values(Q.select("id")),
    "SELECT id FROM r INTERSECT ALL SELECT id FROM q": R.select("id").intersect_values(Q.select("id"), all=True),
    "(SELECT id FROM r EXCEPT SELECT id FROM q) UNION SELECT id FROM q": (
        R.select("id").except_values(Q.select("id")).union_values(Q.select("id"))
    ),
    "SELECT id FROM r UNION SELECT id FROM q INTERSECT SELECT id FROM r": (
        R.select("id").union_values(Q.select("id").intersect_values(R.select("id")))
    ),
    # Joins of streams
    "SELECT v, z FROM k JOIN w ON k.id = w.id WITHIN 5 SECONDS": (
        K.band(W.rename({"id": "id_2"}), "5 s", on="id = id_2").select("v, z")
    ),
    "SELECT v, z FROM k JOIN w USING (id) WITHIN 5 SECONDS": (
        K.band(W.rename({"id": "id_2"}), "5 s", on="id = id_2").select("v, z")
    ),
    "SELECT v, z FROM k JOIN w ON k.id = w.id WITHIN 3 ROWS": (
        K.band(W.rename({"id": "id_2"}), rows=3, on="id = id_2").select("v, z")
    ),
    "SELECT v, name FROM k JOIN r ON k.id = r.id": K.join(R.rename({"id": "id_2"}), on="id = id_2").select("v, name"),
    "SELECT v, name FROM k LEFT JOIN r ON k.id = r.id": (
        K.join(R.rename({"id": "id_2"}), on="id = id_2", how="left").select("v, name")
    ),
    "SELECT v, name FROM k LOOKUP JOIN r ON k.id = r.id": (
        K.lookup(R.rename({"id": "id_2"}), on="id = id_2").select("v, name")
    ),
    "SELECT v, name FROM s, r": S.product(R).select("v, name"),
    # Joins of relations
    "SELECT r.id, q.name FROM r, q": R.product(Q.rename({"id": "id_2", "name": "name_2"})).select("id, name_2 AS name"),
    "SELECT r.id FROM r CROSS JOIN q": R.product(Q.rename({"id": "id_2", "name": "name_2"})).select("id"),
}  # fmt: skip
for _kind in ("", "INNER ", "LEFT ", "LEFT OUTER ", "RIGHT ", "FULL ", "FULL OUTER ", "LEFT SEMI ", "LEFT ANTI "):
    _how = next((w for w in _kind.lower().split()[::-1] if w in ("semi", "anti", "left", "right", "full")), "inner")
    _joined = R.join(Q.rename({"id": "id_2", "name": "name_2"}), on="id = id_2", how=_how)
    SAME[f"SELECT r.name FROM r {_kind}JOIN q ON r.id = q.id"] = _joined.select("name")


@pytest.mark.parametrize("text", SAME)
def test_a_query_in_text_is_the_one_built_by_hand(text: str) -> None:
    assert bound(text) == SAME[text].operator


SHORT: dict[str, HasOperator] = {
    "RSTREAM(SELECT * FROM s [ROWS 2]) EVERY 5s": S[rows(2)].rstream(every="5 s"),
    "SELECT a.id FROM log DELAYED BY 5s AS a": LOG.delayed("5 s").select("id"),
    "SELECT v, z FROM k JOIN w ON k.id = w.id WITHIN 5s WHERE v > 1": (
        K.band(W.rename({"id": "id_2"}), "5 s", on="id = id_2").where("v > 1").select("v, z")
    ),
}


INTERVALS: dict[str, HasOperator] = {
    "RSTREAM(SELECT * FROM s [ROWS 2]) EVERY INTERVAL '5' SECOND": S[rows(2)].rstream(every="5 s"),
    "RSTREAM(SELECT * FROM s [ROWS 2]) EVERY INTERVAL 5 SECONDS": S[rows(2)].rstream(every="5 s"),
    "SELECT * FROM log DELAYED BY INTERVAL '1' HOUR": LOG.delayed("1 h"),
    "SELECT * FROM s [RANGE INTERVAL '5' SECOND]": S[range_("5 s")],
    "SELECT * FROM s [RANGE INTERVAL '5 minutes' SLIDE INTERVAL 2 MINUTES]": S[range_("5 min", "2 min")],
    "SELECT * FROM s [HOP INTERVAL '1' HOUR EVERY INTERVAL '5' MINUTE DELAY INTERVAL '1' SECOND]": (
        S[hop("1 h", "5 min").delayed("1 s")]
    ),
    "SELECT * FROM s [FROM NOW - INTERVAL '10' SECOND TO NOW SLIDE INTERVAL '1' MINUTE]": (
        S[from_to("10 s", "0 s", "1 min")]
    ),
}


@pytest.mark.parametrize("text", INTERVALS)
def test_a_duration_may_be_written_as_an_interval(text: str) -> None:
    assert bound(text) == INTERVALS[text].operator


@pytest.mark.parametrize(
    "text", ["SELECT * FROM k [PARTITION BY k.id ROWS 2]", "SELECT * FROM k [PARTITION BY a.id ROWS 2] AS a"]
)
def test_an_attribute_in_brackets_may_be_qualified_by_the_name_of_its_stream(text: str) -> None:
    assert bound(text) == K[rows(2).by("id")].operator


def test_an_attribute_in_brackets_is_not_one_of_another_stream() -> None:
    assert error(f"{DECLARED}\nSELECT * FROM k [PARTITION BY w.id ROWS 2];") == (
        "line 11, column 31: 'w' is not the stream of this window\n"
        "11 | SELECT * FROM k [PARTITION BY w.id ROWS 2];\n"
        "   |                               ^^^^\n"
        "  hint: the window stands behind k"
    )


@pytest.mark.parametrize("text", SHORT)
def test_a_duration_may_be_written_without_a_space(text: str) -> None:
    assert bound(text) == SHORT[text].operator


PAIRS: Data = {"r": [(1, "a"), (2, "b"), (2, "c"), (None, "n")], "q": [(2, "x"), (3, "y"), (None, "m")]}
"""Constant relations; they are ordered by value, NULLs first."""


def rows_of(query: str, data: Data = PAIRS) -> list[tuple[Any, ...]]:
    return held(query, data, 1)


# Joins


def test_joins_of_every_kind() -> None:
    select = "SELECT r.name, q.name AS other FROM r"
    assert rows_of(f"{select} JOIN q ON r.id = q.id") == [("b", "x"), ("c", "x")]
    left = [("n", None), ("a", None), ("b", "x"), ("c", "x")]
    assert rows_of(f"{select} LEFT JOIN q ON r.id = q.id") == left
    assert rows_of(f"{select} RIGHT JOIN q ON r.id = q.id") == [("b", "x"), ("c", "x"), (None, "m"), (None, "y")]
    assert rows_of(f"{select} FULL JOIN q ON r.id = q.id") == [*left, (None, "m"), (None, "y")]
    assert len(rows_of(f"{select} CROSS JOIN q")) == 12
    assert rows_of("SELECT name FROM r LEFT SEMI JOIN q ON r.id = q.id") == [("b",), ("c",)]
    assert rows_of("SELECT name FROM r LEFT ANTI JOIN q ON r.id = q.id") == [("n",), ("a",)]


def test_using_joins_on_a_common_attribute_which_is_there_once() -> None:
    assert rows_of("SELECT id, r.name FROM r JOIN q USING (id)") == [(2, "b"), (2, "c")]
    assert rows_of("SELECT * FROM r JOIN (SELECT id, name AS other FROM q) AS p USING (id)") == [
        (2, "b", "x"),
        (2, "c", "x"),
    ]


def test_an_attribute_of_using_can_still_be_qualified() -> None:
    assert rows_of("SELECT r.id, q.id AS same FROM r JOIN q USING (id)") == [(2, 2), (2, 2)]


def test_using_in_an_outer_join_gives_the_value_of_the_side_that_is_there() -> None:
    assert rows_of("SELECT id, q.name FROM r RIGHT JOIN q USING (id)") == [(2, "x"), (2, "x"), (None, "m"), (3, "y")]
    assert rows_of("SELECT id FROM r FULL JOIN q USING (id)") == [(None,), (1,), (2,), (2,), (None,), (3,)]


def test_a_natural_join_is_on_all_common_attributes() -> None:
    data: Data = {"r": [(1, "a"), (2, "b")], "q": [(1, "a"), (2, "c")]}
    assert rows_of("SELECT * FROM r NATURAL JOIN q", data) == [(1, "a")]
    assert rows_of("SELECT id, name FROM r NATURAL JOIN q", data) == [(1, "a")]


def test_a_parenthesised_join_keeps_the_aliases_inside() -> None:
    assert rows_of("SELECT a.name, b.name FROM (r AS a JOIN q AS b ON a.id = b.id)") == [("b", "x"), ("c", "x")]


def test_a_list_of_names_renames_the_attributes_of_an_alias_or_cte() -> None:
    assert rows_of("SELECT x FROM r AS a (x, y) WHERE y = 'a'") == [(1,)]
    assert rows_of("WITH a (x) AS (SELECT id FROM r WHERE id = 1) SELECT x FROM a") == [(1,)]


def test_three_relations_are_joined_from_left_to_right() -> None:
    text = "SELECT a.id, b.name, c.name FROM r AS a JOIN q AS b ON a.id = b.id JOIN r AS c ON c.id = b.id"
    assert rows_of(text) == [(2, "x", "b"), (2, "x", "c"), (2, "x", "b"), (2, "x", "c")]


def test_a_parenthesised_join_is_joined_first() -> None:
    text = "SELECT r.name FROM r JOIN (q JOIN (SELECT id AS other FROM q) AS p ON q.id = p.other) ON r.id = other"
    assert rows_of(text) == [("b",), ("c",)]


def test_a_stream_joined_with_two_relations_has_one_streamer_on_top() -> None:
    """docs/decisions.md: I_S of the join in FROM order with S as S[B]."""
    right = R.rename({"id": "id_2"})
    third = Q.rename({"id": "id_3", "name": "name_2"})
    by_hand = (
        K[last_batch()].join(right, on="id = id_2").join(third, on="id = id_3").istream().select("v, name_2 AS name")
    )
    text = "SELECT k.v, q.name FROM k JOIN r ON k.id = r.id JOIN q ON k.id = q.id"
    assert bound(text) == by_hand.operator


def test_a_join_of_a_stream_and_a_relation_is_sensitive_to_both() -> None:
    data: Data = {
        "k": single((1, 5, 2), (1, 6, 6)),
        "log": [("+", sec(1), 1, "a"), ("-", sec(4), 1, "a"), ("+", sec(4), 1, "b")],
    }
    assert said("SELECT v, name FROM k JOIN log ON k.id = log.id", data) == [
        (2, 0, 5, "a"),
        (4, 0, 5, "b"),
        (6, 0, 6, "b"),
    ]
    assert said("SELECT v, name FROM k LOOKUP JOIN log ON k.id = log.id", data) == [(2, 0, 5, "a"), (6, 0, 6, "b")]


def test_a_band_join_pairs_tuples_that_are_near() -> None:
    data: Data = {"k": single((1, 10, 1), (1, 20, 9)), "w": single((1, "x", 3), (1, "y", 10))}
    assert said("SELECT v, z FROM k JOIN w ON k.id = w.id WITHIN 2 SECONDS", data) == [
        (3, 0, 10, "x"),
        (10, 0, 20, "y"),
    ]
    assert said("SELECT v, z FROM k JOIN w ON k.id = w.id WITHIN 0 ROWS", data) == [(3, 0, 10, "x"), (10, 0, 20, "y")]


# IN and EXISTS


def test_in_is_decided_when_a_tuple_arrives() -> None:
    data: Data = {"k": single((1, 5, 2), (1, 6, 6)), "log": [("+", sec(1), 1, "a"), ("-", sec(4), 1, "a")]}
    assert said("SELECT v FROM k WHERE id IN (SELECT id FROM log)", data) == [(2, 0, 5)]
    assert said("SELECT v FROM k WHERE id NOT IN (SELECT id FROM log)", data) == [(6, 0, 6)]


def test_in_at_start_designates_once() -> None:
    text = "SELECT v FROM k WHERE id IN (SELECT id FROM log) AT START"
    data: Data = {"k": single((1, 5, 2), (1, 6, 6)), "log": [("+", sec(1), 1, "a"), ("-", sec(4), 1, "a")]}
    assert said(text, data) == [(2, 0, 5), (6, 0, 6)]
    operator = bound(text).children[0]
    assert isinstance(operator, LookupJoin)
    assert operator.how is JoinKind.SEMI


def test_in_with_a_past_state_of_any_kind() -> None:
    data: Data = {"k": single((1, 5, 2), (1, 6, 6)), "log": [("+", sec(1), 1, "a"), ("-", sec(4), 1, "a")]}
    assert said("SELECT v FROM k WHERE id IN (SELECT id FROM log) DELAYED BY 3 SECONDS", data) == [(6, 0, 6)]
    frozen = "SELECT v FROM k WHERE id IN (SELECT id FROM log) AT TIMESTAMP '1970-01-01T00:00:05Z'"
    assert said(frozen, data) == []


def test_not_in_is_never_true_where_a_value_is_null() -> None:
    assert rows_of("SELECT name FROM r WHERE id IN (SELECT id FROM q)") == [("b",), ("c",)]
    assert rows_of("SELECT name FROM r WHERE id NOT IN (SELECT id FROM q)") == []
    assert rows_of("SELECT name FROM r WHERE id NOT IN (SELECT id FROM q WHERE id IS NOT NULL)") == [("a",)]
    assert rows_of("SELECT name FROM r WHERE NOT id IN (SELECT id FROM q WHERE id IS NOT NULL)") == [("a",)]


def test_nothing_is_in_an_empty_relation_not_even_null() -> None:
    assert rows_of("SELECT name FROM r WHERE id NOT IN (SELECT id FROM q WHERE id > 9)") == [
        ("n",),
        ("a",),
        ("b",),
        ("c",),
    ]


def test_in_takes_an_expression_on_both_sides() -> None:
    assert rows_of("SELECT name FROM r WHERE id + 1 IN (SELECT id FROM q)") == [("a",), ("b",), ("c",)]
    assert rows_of("SELECT name FROM r WHERE id IN (SELECT id - 1 FROM q)") == [("a",), ("b",), ("c",)]
    assert rows_of("SELECT name FROM r WHERE id IN (SELECT max(id) - 1 FROM q)") == [("b",), ("c",)]


def test_exists_with_and_without_correlation() -> None:
    correlated = "(SELECT 1 FROM q WHERE q.id = r.id)"
    assert rows_of(f"SELECT name FROM r WHERE EXISTS {correlated}") == [("b",), ("c",)]
    assert rows_of(f"SELECT name FROM r WHERE NOT EXISTS {correlated}") == [("n",), ("a",)]
    assert len(rows_of("SELECT name FROM r WHERE EXISTS (SELECT * FROM q WHERE id = 3)")) == 4
    assert rows_of("SELECT name FROM r WHERE EXISTS (SELECT * FROM q WHERE id = 4)") == []
    assert len(rows_of("SELECT name FROM r WHERE NOT EXISTS (SELECT * FROM q WHERE id = 4)")) == 4


def test_subqueries_may_be_nested_and_combined_with_conditions() -> None:
    text = "SELECT name FROM r WHERE name > 'b' AND id IN (SELECT id FROM q WHERE id IN (SELECT id FROM r))"
    assert rows_of(text) == [("c",)]
    both = "SELECT name FROM r WHERE id IN (SELECT id FROM q) AND EXISTS (SELECT * FROM q WHERE q.id > r.id)"
    assert rows_of(both) == [("b",), ("c",)]


def test_an_inner_subquery_may_name_the_outermost_query() -> None:
    text = """SELECT name FROM r WHERE EXISTS
      (SELECT * FROM q WHERE EXISTS (SELECT * FROM q AS p WHERE p.id = r.id))"""
    assert rows_of(text) == [("b",), ("c",)]


def test_in_may_be_correlated() -> None:
    """(1, a) is compared with 2, 3 and NULL; (NULL, n) with 2 and 3."""
    assert rows_of("SELECT name FROM r WHERE id IN (SELECT id FROM q WHERE q.name > r.name)") == [("b",), ("c",)]
    assert rows_of("SELECT name FROM r WHERE id NOT IN (SELECT id FROM q WHERE q.name > r.name)") == []
    assert rows_of("SELECT name FROM r WHERE id NOT IN (SELECT id FROM q WHERE q.name < r.name)") == [
        ("a",),
        ("b",),
        ("c",),
    ]


def test_a_past_state_of_a_parenthesised_query_anywhere() -> None:
    assert bound("(SELECT * FROM log) AT START") == LOG.at_start().operator


def test_exists_takes_a_past_state_too() -> None:
    data: Data = {"k": single((1, 5, 2), (1, 6, 6)), "log": [("+", sec(1), 1, "a"), ("-", sec(4), 1, "a")]}
    assert said("SELECT v FROM k WHERE EXISTS (SELECT * FROM log) AT START", data) == [(2, 0, 5), (6, 0, 6)]


def test_a_subquery_in_where_may_group() -> None:
    text = "SELECT name FROM r WHERE id IN (SELECT id FROM q GROUP BY id HAVING count(*) = 1)"
    assert rows_of(text) == [("b",), ("c",)]


# Groups, DISTINCT and set operations


def test_having_selects_groups() -> None:
    assert rows_of("SELECT id, count(*) AS n FROM r GROUP BY id HAVING count(*) > 1") == [(2, 2)]
    assert rows_of("SELECT id FROM r GROUP BY id HAVING max(name) > 'b'") == [(None,), (2,)]
    assert rows_of("SELECT count(*) AS n FROM r HAVING count(*) > 9") == []


def test_groups_by_an_expression_a_name_or_a_place() -> None:
    expected = [(None, 1), (0, 2), (1, 1)]
    assert rows_of("SELECT id % 2 AS odd, count(*) AS n FROM r GROUP BY id % 2") == expected
    assert rows_of("SELECT id % 2 AS odd, count(*) AS n FROM r GROUP BY odd") == expected
    assert rows_of("SELECT id % 2 AS odd, count(*) AS n FROM r GROUP BY 1") == expected


def test_an_aggregate_of_nothing_has_one_row() -> None:
    assert rows_of("SELECT count(*) AS n, max(id) AS m FROM r WHERE id > 9") == [(0, None)]
    assert rows_of("SELECT id, count(*) AS n FROM r WHERE id > 9 GROUP BY id") == []


def test_distinct_is_ordered_by_value_with_nulls_first() -> None:
    assert rows_of("SELECT DISTINCT id FROM r") == [(None,), (1,), (2,)]


def test_set_operations_are_by_value() -> None:
    assert rows_of("SELECT id FROM r UNION SELECT id FROM q") == [(None,), (1,), (2,), (3,)]
    assert rows_of("SELECT id FROM r UNION ALL SELECT id FROM q") == [
        (None,), (1,), (2,), (2,), (None,), (2,), (3,),
    ]  # fmt: skip
    assert rows_of("SELECT id FROM r EXCEPT SELECT id FROM q") == [(1,)]
    assert rows_of("SELECT id FROM r EXCEPT ALL SELECT id FROM q") == [(1,), (2,)]
    assert rows_of("SELECT id FROM r INTERSECT SELECT id FROM q") == [(None,), (2,)]
    assert rows_of("SELECT id FROM r INTERSECT ALL SELECT id FROM q") == [(None,), (2,)]


def test_a_union_of_streams_keeps_all_their_tuples() -> None:
    data: Data = {"s": single((1, 1), (2, 3)), "k": single((9, 5, 1), (9, 6, 2))}
    assert said("SELECT v FROM s UNION ALL SELECT v FROM k", data) == [(1, 0, 1), (1, 0, 5), (2, 0, 6), (3, 0, 2)]


# Names


def names(query: str) -> tuple[str, ...]:
    return bound(query).schema.names


def test_a_repeated_name_is_numbered() -> None:
    assert names("SELECT v AS b, v AS b, v AS b FROM s") == ("b", "b_2", "b_3")
    assert names("SELECT r.name, q.name FROM r JOIN q ON r.id = q.id") == ("name", "name_2")
    assert names("SELECT * FROM r JOIN q ON r.id = q.id") == ("id", "name", "id_2", "name_2")


def test_a_numbered_name_does_not_meet_one_that_is_there() -> None:
    assert len({n.lower() for n in names("SELECT v AS b, v AS b, v AS b_2 FROM s")}) == 3


def test_an_unnamed_expression_is_named_by_its_text() -> None:
    assert names("SELECT v + 1, v*2 FROM s") == ("v + 1", "v*2")
    assert names("SELECT count(*), MAX(v) FROM s [ROWS 2]") == ("count(*)", "MAX(v)")
    assert names("SELECT v + 1, v + 1 FROM s") == ("v + 1", "v + 1_2")


def test_a_qualified_name_gives_the_attributes_name() -> None:
    assert names("SELECT a.v FROM s AS a") == ("v",)
    assert names("SELECT _t, _i, _n FROM s") == ("_t", "_i", "_n")


def test_both_sides_of_a_self_join_are_told_apart() -> None:
    text = "SELECT a.name, b.name FROM r AS a JOIN r AS b ON a.id = b.id AND a.name < b.name"
    assert rows_of(text) == [("b", "c")]


# Pseudo-columns


def test_pseudo_columns_are_a_tuples_time_batch_and_position() -> None:
    data: Data = {"s": given((1, 0, (5,)), (1, 2, (6,)), (3, 0, (7,)))}
    assert said("SELECT v, _t, _i, _n FROM s", data) == [
        (1, 0, 5, sec(1), 0, 0),
        (1, 2, 6, sec(1), 2, 1),
        (3, 0, 7, sec(3), 0, 2),
    ]
    assert said("SELECT v FROM s WHERE _n > 0 AND _i = 0", data) == [(3, 0, 7)]
    assert held("SELECT v, _n FROM s [ROWS 2]", data, 3) == [(6, 1), (7, 2)]


def test_pseudo_columns_in_a_join_are_those_of_their_side() -> None:
    data: Data = {"k": single((1, 10, 1), (1, 20, 9)), "w": single((1, "x", 3), (1, "y", 10))}
    text = "SELECT k._t, w._t, w._n FROM k JOIN w ON k.id = w.id WITHIN 2 SECONDS"
    assert said(text, data) == [(3, 0, sec(1), sec(3), 0), (10, 0, sec(9), sec(10), 1)]
    windows = "SELECT a._n, b._n FROM k [UNBOUNDED] AS a JOIN w [UNBOUNDED] AS b ON a._n = b._n"
    assert held(windows, data, 10) == [(0, 0), (1, 1)]


def test_pseudo_columns_may_be_in_the_condition_of_a_join_only() -> None:
    data: Data = {"k": single((1, 10, 1), (1, 20, 9)), "w": single((1, "x", 3), (1, "y", 10))}
    windows = "SELECT a.v, b.z FROM k [UNBOUNDED] AS a JOIN w [UNBOUNDED] AS b ON a._n = b._n"
    assert held(windows, data, 10) == [(10, "x"), (20, "y")]
    band = "SELECT k.v, w.z FROM k JOIN w ON k._t < w._t WITHIN 2 SECONDS"
    assert said(band, data) == [(3, 0, 10, "x"), (10, 0, 20, "y")]


def test_pseudo_columns_in_a_correlated_subquery_are_those_of_their_side() -> None:
    data: Data = {"k": single((1, 10, 1), (1, 20, 9)), "w": single((1, "x", 3), (1, "y", 9))}
    assert said("SELECT v FROM k WHERE EXISTS (SELECT * FROM w [UNBOUNDED] WHERE w._t < k._t)", data) == [(9, 0, 20)]
    assert said("SELECT v FROM k WHERE _t IN (SELECT _t FROM w [UNBOUNDED])", data) == [(9, 0, 20)]


def test_pseudo_columns_of_a_stream_joined_with_a_relation() -> None:
    data: Data = {"k": single((1, 10, 1), (1, 20, 9)), "r": [(1, "a")]}
    assert said("SELECT v, name, k._t FROM k JOIN r ON k.id = r.id", data) == [
        (1, 0, 10, "a", sec(1)),
        (9, 0, 20, "a", sec(9)),
    ]


def test_pseudo_columns_can_be_aggregated() -> None:
    data: Data = {"s": single((5, 1), (6, 3))}
    assert held("SELECT min(_t) AS first, max(_t) AS last FROM s [UNBOUNDED]", data, 3) == [(sec(1), sec(3))]


def test_an_ambiguous_pseudo_column_is_an_error() -> None:
    text = "CREATE STREAM s (v INT) FROM csv 's' TIMESTAMP ON ARRIVAL;\nSELECT _t FROM s [NOW] AS a, s [NOW] AS b;"
    assert "'_t' is ambiguous" in error(text)


# Spatial functions and regions


def test_the_spatial_functions() -> None:
    data: Data = {"car": single(("a", 0.0, 0.0, 0), ("a", 3.0, 4.0, 1), ("b", 20.0, 0.0, 2))}
    per_car = "SELECT id, path_length() AS m, average_speed() AS v FROM car [PARTITION BY id UNBOUNDED] GROUP BY id"
    assert held(per_car, data, 2) == [("a", 5.0, 18.0), ("b", 0.0, None)]
    assert [r[2] for r in said("SELECT id FROM car WHERE inside(x, y, sea)", data)] == ["a", "a"]
