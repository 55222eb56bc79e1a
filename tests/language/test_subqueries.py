"""Subqueries wherever a value may stand, FILTER and grouping sets: answers of SQLite, and some worked out by hand."""

from __future__ import annotations

import sqlite3
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from astralq.algebra.relational import JoinKind
from astralq.algebra.stream_ops import LookupJoin
from astralq.model import Data
from tests.language.support import DECLARED, Q, R, bound, error, said
from tests.support import at, sec, single

ROWS: dict[str, list[tuple[Any, ...]]] = {
    "r": [(None, "n"), (1, "a"), (2, "b"), (2, None), (3, "c")],
    "q": [(2, "b"), (2, "x"), (3, None), (None, "y"), (7, "z")],
}


def by_sqlite(query: str) -> Counter[tuple[Any, ...]]:
    with sqlite3.connect(":memory:") as db:
        for name, rows in ROWS.items():
            db.execute(f"CREATE TABLE {name} (id INT, name TEXT)")
            db.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows)
        return Counter(db.execute(query).fetchall())


LIKE_SQLITE = [
    "SELECT id, (SELECT max(id) FROM q) AS m FROM r",
    "SELECT id, (SELECT count(*) FROM q WHERE q.id = r.id) AS n FROM r",
    "SELECT id, (SELECT count(*) + 1 FROM q WHERE q.id = r.id AND name > 'c') AS n FROM r",
    "SELECT id, (SELECT coalesce(min(q.name), 'none') FROM q WHERE q.id = r.id) AS n FROM r",
    "SELECT id, (SELECT max(id) - min(id) FROM q WHERE name IS NOT NULL) AS n FROM r",
    "SELECT name FROM r WHERE id > (SELECT min(id) FROM q WHERE id > 2) OR id < (SELECT min(id) FROM q)",
    "SELECT name FROM r WHERE id + 4 = (SELECT max(id) FROM q)",
    "SELECT name FROM r WHERE id = (SELECT max(id) FROM q WHERE q.name = r.name)",
    "SELECT name FROM r WHERE (SELECT count(*) FROM q WHERE q.id = r.id) = 0",
    "SELECT name FROM r WHERE 1 < (SELECT count(*) FROM q WHERE q.id = r.id AND q.name IN (SELECT name FROM r))",
    "SELECT id, id IN (SELECT id FROM q) AS known FROM r",
    "SELECT id, id NOT IN (SELECT id FROM q WHERE id IS NOT NULL) AS unknown FROM r",
    "SELECT id, id IN (SELECT id FROM q WHERE id > 9) AS known FROM r",
    "SELECT id, id IN (SELECT id FROM q WHERE q.name = r.name) AS known FROM r",
    "SELECT id, NOT (id IN (SELECT id FROM q)) AS x, (id IN (SELECT id FROM q)) IS NULL AS y FROM r",
    "SELECT id, CASE WHEN id IN (SELECT id FROM q) THEN 'in' ELSE 'out' END AS x FROM r",
    "SELECT name FROM r WHERE name = 'n' OR id IN (SELECT id FROM q)",
    "SELECT name FROM r WHERE name = 'n' OR NOT id IN (SELECT id FROM q)",
    "SELECT name FROM r WHERE NOT (id IN (SELECT id FROM q WHERE id IS NOT NULL) OR name = 'a')",
    "SELECT name FROM r WHERE name = 'a' OR EXISTS (SELECT 1 FROM q WHERE q.id = r.id AND q.name IS NULL)",
    "SELECT id, EXISTS (SELECT 1 FROM q WHERE q.id = r.id) AS e, NOT EXISTS (SELECT 1 FROM q WHERE id > 9) AS n FROM r",
    "SELECT id, (SELECT count(*) FROM q WHERE q.id IS r.id) AS n FROM r",
    "SELECT name FROM r WHERE (id, name) IN (SELECT id, name FROM q)",
    "SELECT name FROM r WHERE (id, name) NOT IN (SELECT id, name FROM q)",
    "SELECT name FROM r WHERE (id, name) NOT IN (SELECT id, name FROM q WHERE id IS NOT NULL AND name IS NOT NULL)",
    "SELECT name FROM r WHERE name = 'a' OR (id, name) IN (SELECT id, name FROM q)",
    "SELECT name FROM r WHERE (id, name) IN (VALUES (1, 'a'), (2, 'x'))",
    "SELECT name, count(*) AS n FROM r GROUP BY name HAVING count(*) = (SELECT min(id) FROM r)",
    "SELECT id, count(*) AS n, (SELECT count(*) FROM q WHERE q.id = r.id) AS m FROM r GROUP BY id",
    "SELECT id FROM r GROUP BY id HAVING id NOT IN (SELECT id FROM q WHERE id IS NOT NULL)",
    "SELECT id IN (SELECT id FROM q) AS known, count(*) AS n FROM r GROUP BY known",
    "SELECT (SELECT count(*) FROM q WHERE q.id = r.id) AS n, max(r.id) AS m FROM r GROUP BY 1",
    "SELECT count(*) FILTER (WHERE id > 1) AS n, sum(id) FILTER (WHERE name > 'a') AS s, count(id) AS c FROM r",
    "SELECT id, min(name) FILTER (WHERE name > 'a') AS m, count(DISTINCT name) FILTER (WHERE id > 1) AS d"
    " FROM r GROUP BY id",
    "SELECT count(*) FILTER (WHERE id IN (SELECT id FROM q)) AS n, sum((SELECT max(id) FROM q) - id) AS s FROM r",
    "SELECT r.name FROM r JOIN q ON r.id = q.id AND q.id < (SELECT max(id) FROM q)",
    "SELECT r.name, q.name AS o FROM r LEFT JOIN q ON r.id = q.id AND r.id < (SELECT max(id) FROM r)",
]


@pytest.mark.parametrize("query", LIKE_SQLITE)
def test_the_answer_is_that_of_sqlite(query: str) -> None:
    ours = query.replace("(VALUES (1, 'a'), (2, 'x'))", "((1, 'a'), (2, 'x'))").replace(" IS r.id", " <=> r.id")
    found = Counter(at(bound(ours), ROWS, 1))
    assert found == by_sqlite(query)  # to SQLite true is 1, as to Python


# ---- over streams, and what is emitted


def test_a_scalar_subquery_on_a_stream_is_that_of_the_arrival() -> None:
    data: Data = {"k": single((1, 5, 2), (1, 6, 6)), "log": [("+", sec(1), 1, "a"), ("+", sec(4), 1, "b")]}
    text = "SELECT v, (SELECT count(*) FROM log) AS n FROM k"
    assert said(text, data) == [(2, 0, 5, 1), (6, 0, 6, 2)]
    assert said("SELECT v FROM k WHERE v > 5 OR id NOT IN (SELECT id FROM log)", data) == [(6, 0, 6)]
    operator = bound(text).children[0]
    assert isinstance(operator, LookupJoin)
    assert operator.how is JoinKind.LEFT


def test_what_a_subquery_finds_makes_no_other_tuple() -> None:
    """v = 9 satisfies OR before the log has its id and afterwards: it is one tuple, and is emitted once."""
    data: Data = {"k": single((1, 9, 2), (2, 3, 3)), "log": [("+", sec(5), 1, "a"), ("-", sec(7), 1, "a")]}
    either = "ISTREAM(SELECT id, v FROM k [UNBOUNDED] WHERE v > 5 OR id IN (SELECT id FROM log))"
    assert said(either, data) == [(2, 0, 1, 9)]
    below = "ISTREAM(SELECT id FROM k [UNBOUNDED] WHERE (SELECT count(*) FROM log WHERE log.id = k.id) < 5)"
    assert said(below, data) == [(2, 0, 1), (3, 0, 2)]
    shown = "ISTREAM(SELECT id, EXISTS (SELECT 1 FROM log WHERE log.id = k.id) AS e FROM k [UNBOUNDED])"
    assert said(shown, data) == [(2, 0, 1, False), (3, 0, 2, False), (5, 0, 1, True), (7, 0, 1, False)]


def test_a_value_against_the_mean_of_its_own_window() -> None:
    data: Data = {"k": single((1, 5, 1), (2, 9, 2), (1, 1, 3))}
    text = "SELECT id, v FROM k [ROWS 2] WHERE v > (SELECT avg(v) FROM k [ROWS 2])"
    assert [at(bound(text), data, t) for t in (1, 2, 3)] == [[], [(2, 9)], [(2, 9)]]


def test_the_last_row_of_a_window_is_a_value() -> None:
    data: Data = {"k": single((1, 5, 1), (2, 9, 2))}
    assert at(bound("SELECT id, (SELECT v FROM k [LAST ROW]) - v AS behind FROM k [ROWS 2]"), data, 2) == [
        (1, 4),
        (2, 0),
    ]


def test_an_aggregate_in_python_is_one_in_a_subquery_too() -> None:
    middle = "CREATE AGGREGATE FUNCTION middle (INT) RETURNS DOUBLE AS python 'statistics:median';"
    text = f"{middle} SELECT v, (SELECT middle(v) FROM k [ROWS 3] w WHERE w.id = k.id) AS m FROM k"
    assert said(text, {"k": single((1, 5, 1), (2, 9, 2), (1, 8, 3))}) == [
        (1, 0, 5, 5.0),
        (2, 0, 9, 9.0),
        (3, 0, 8, 6.5),
    ]


def test_an_aggregate_over_no_match_is_what_it_is_over_no_tuples() -> None:
    data: Data = {"k": single((1, 5, 1)), "r": []}
    text = "SELECT (SELECT {}(r.id) FROM r WHERE r.id = k.id) AS x FROM k"
    found = [said(text.format(f), data)[0][2] for f in ("count", "max", "collect_list")]
    assert said("SELECT (SELECT count_if(r.id > 1) FROM r WHERE r.id = k.id) AS x FROM k", data) == [(1, 0, 0)]
    assert found == [0, None, ()]


def test_pseudo_columns_stay_beside_a_subquery() -> None:
    data: Data = {"k": single((1, 5, 1), (2, 9, 2)), "r": [(2, "b")]}
    assert at(bound("SELECT _n, id IN (SELECT id FROM r) AS e FROM k [ROWS 2]"), data, 2) == [(0, False), (1, True)]


def test_a_subquery_in_on_stands_beside_the_left_side() -> None:
    data: Data = {"k": single((1, 5, 1), (2, 9, 2)), "r": [(1, "a"), (2, "b")]}
    text = "SELECT v, name FROM k LOOKUP JOIN r ON k.id = r.id AND v > (SELECT max(id) FROM r) * 3"
    assert said(text, data) == [(2, 0, 9, "b")]


# ---- FILTER


def test_a_filter_of_first_and_last_leaves_tuples_out() -> None:
    text = (
        "SELECT first(v) FILTER (WHERE id = 2) AS a, last(v) FILTER (WHERE id = 2) AS b, last(v) AS c FROM k [ROWS 9]"
    )
    data: Data = {"k": single((1, 1, 1), (2, 2, 2), (2, 3, 3), (1, None, 4))}
    assert at(bound(text), data, 1) == [(None, None, 1)]
    assert at(bound(text), data, 4) == [(2, 3, None)]


def test_what_is_aggregated_is_computed_for_filtered_tuples_only() -> None:
    data: Data = {"k": single((0, 1, 1), (2, 8, 2))}
    assert at(bound("SELECT sum(v / id) FILTER (WHERE id <> 0) AS s FROM k [ROWS 9]"), data, 2) == [(4.0,)]
    assert at(bound("SELECT last(v / id) FILTER (WHERE id <> 0) AS s FROM k [ROWS 9]"), data, 1) == [(None,)]


def test_a_filter_is_a_case_in_its_argument() -> None:
    written = bound("SELECT sum(v) FILTER (WHERE id > 1) AS n FROM k [ROWS 3]")
    assert written == bound("SELECT sum(CASE WHEN id > 1 THEN v END) AS n FROM k [ROWS 3]")
    assert written.label == "AGGREGATE sum(v) FILTER (WHERE id > 1) AS n"


# ---- grouping sets


def rows_of(query: str) -> list[tuple[Any, ...]]:
    return at(bound(query), ROWS, 1)


def test_rollup_has_a_row_for_each_prefix_of_its_keys() -> None:
    text = "SELECT id, name, count(*) AS n, grouping(name) AS g, grouping_id(id, name) AS i FROM r GROUP BY"
    expected = [
        *[(None, "n", 1, 0, 0), (1, "a", 1, 0, 0), (2, None, 1, 0, 0), (2, "b", 1, 0, 0), (3, "c", 1, 0, 0)],
        *[(None, None, 1, 1, 1), (1, None, 1, 1, 1), (2, None, 2, 1, 1), (3, None, 1, 1, 1)],
        (None, None, 5, 1, 3),
    ]
    assert rows_of(f"{text} ROLLUP (id, name)") == expected
    assert rows_of(f"{text} id, name WITH ROLLUP") == expected
    assert rows_of(f"{text} GROUPING SETS ((id, name), id, ())") == expected
    assert rows_of(f"{text} GROUPING SETS ((id, name), (id)), ()".replace(", ()", "")) == expected[:-1]


def test_a_cube_has_every_set_of_its_keys() -> None:
    sets = bound("SELECT id, name, count(*) AS n FROM r GROUP BY CUBE (id, name)")
    written = "SELECT id, name, count(*) AS n FROM r GROUP BY GROUPING SETS ((id, name), (id), (name), ())"
    assert sets == bound(written)


def test_the_empty_grouping_set_has_a_row_over_nothing() -> None:
    text = "SELECT v, count(*) AS n FROM k [ROWS 3] GROUP BY ROLLUP (v)"
    assert at(bound(text), {"k": single((1, 5, 3))}, 1) == [(None, 0)]


def test_having_and_keys_in_expressions_are_those_of_each_set() -> None:
    text = "SELECT id + 1 AS next, count(*) AS n FROM r GROUP BY ROLLUP (id) HAVING grouping(id) = 1 OR count(*) > 1"
    assert rows_of(text) == [(3, 2), (None, 5)]


def test_group_by_all_takes_what_is_no_aggregate() -> None:
    assert bound("SELECT id, name, count(*) AS n FROM r GROUP BY ALL") == bound(
        "SELECT id, name, count(*) AS n FROM r GROUP BY id, name"
    )


def test_a_star_without_some_attributes() -> None:
    assert bound("SELECT * EXCEPT (name) FROM r") == R.select("id").operator
    assert bound("SELECT a.* EXCLUDE (ID), b.name FROM r a JOIN q b ON a.id = b.id").schema.names == ("name", "name_2")


# ---- errors, word for word


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        (
            "SELECT id, (SELECT name FROM q) AS n FROM r",
            "a subquery that stands for a value may have several rows",
            "aggregate it, for example (SELECT max(x) FROM …) or max_by(x, y); or use IN, EXISTS or a join",
        ),
        (
            "SELECT id, (SELECT id, name FROM q) AS n FROM r",
            "a subquery that stands for a value has one attribute, and this has 2",
            "name the one that is meant in its SELECT",
        ),
        (
            "SELECT id, (SELECT max(v) FROM s) AS n FROM r",
            "a subquery that stands for a value takes a relation, and this is a stream",
            "give its stream a window",
        ),
        (
            "SELECT id, (SELECT max(id) FROM q WHERE q.id < r.id) AS n FROM r",
            "id_2 < id compares a subquery with the outer query, and is no equality",
            "here a subquery is compared by = only; as a part of WHERE joined by AND, EXISTS and IN take any condition;"
            " or join, and group the result",
        ),
        (
            "SELECT id, (SELECT max(q.id) - r.id FROM q) AS n FROM r",
            "the SELECT of a subquery names the outer query",
            "compute it outside: (SELECT max(x) FROM …) - a.y",
        ),
        (
            "SELECT id, (SELECT max(id) + id FROM q) AS n FROM r",
            "'id_2' is not in an aggregate",
            "aggregate it, for example (SELECT max(x) FROM …) or max_by(x, y); or use IN, EXISTS or a join",
        ),
        (
            "SELECT id FROM r WHERE EXISTS (SELECT 1 FROM q WHERE q.id = r.id ORDER BY q.name)",
            "a subquery with ORDER BY cannot name the outer query, as r.id does",
            "leave out ORDER BY, which IN and EXISTS do not look at",
        ),
        (
            "SELECT id FROM r WHERE id IN (SELECT q.id FROM q WHERE q.name = r.name GROUP BY q.id HAVING count(*) > 1)",
            "a subquery with GROUP BY and HAVING cannot name the outer query, as r.name does",
            "compare it outside, x IN (SELECT x FROM …), or join",
        ),
        (
            "SELECT id FROM r WHERE EXISTS (SELECT name FROM q WHERE q.id = r.id UNION SELECT name FROM q)",
            "a subquery with UNION cannot name the outer query, as r.id does",
            "compare it outside, x IN (SELECT x FROM …), or join",
        ),
        (
            "SELECT id, (SELECT name FROM q WHERE q.id = r.id ORDER BY name LIMIT 1) AS n FROM r",
            "a subquery with ORDER BY and LIMIT cannot name the outer query, as r.id does",
            "aggregate it, for example (SELECT max(x) FROM …) or max_by(x, y); or use IN, EXISTS or a join",
        ),
        (
            "SELECT id, (SELECT name FROM q WHERE q.id = r.id) AS n FROM r",
            "a subquery without an aggregate cannot name the outer query, as r.id does",
            "aggregate it, for example (SELECT max(x) FROM …) or max_by(x, y); or use IN, EXISTS or a join",
        ),
        ("SELECT id FROM r WHERE EXISTS (SELECT 1 FROM q WHERE q.id = z.id LIMIT 1)", "'z' is not in FROM", None),
        (
            "SELECT (id, name) IN (SELECT id, name FROM q) AS x FROM r",
            "whether (a, b) IN (query) is unknown is not told here",
            "write it as a part of WHERE that is joined by AND or OR, or use EXISTS",
        ),
        (
            "SELECT id FROM r WHERE (id, name) IN (SELECT id FROM q)",
            "IN takes a query of 2 attributes, and this has 1",
            "name what is compared in its SELECT",
        ),
        ("SELECT id FROM r WHERE (id, name) IN ((1, 'a', 2))", "2 values are compared with 3", None),
        (
            "SELECT count(*) FILTER (WHERE id) FROM r",
            "the condition id of FILTER is INT, not BOOLEAN",
            "compare it with something",
        ),
        (
            "SELECT count(*) FILTER (WHERE max(id) > 1) FROM r",
            "an aggregate stands in FILTER",
            "FILTER is about single tuples; HAVING is about groups",
        ),
        (
            "SELECT upper(name) FILTER (WHERE id > 1) FROM r",
            "FILTER follows an aggregate, and upper(name) is none",
            "write CASE WHEN … THEN … END",
        ),
        (
            "SELECT id FROM r WHERE id = ANY (SELECT id FROM q)",
            "ANY is not part of the language",
            "write IN (SELECT …), NOT IN (SELECT …), or compare with (SELECT max(x) FROM …)",
        ),
        (
            "SELECT id FROM r ORDER BY (SELECT max(id) FROM q)",
            "a subquery cannot stand here",
            "it stands in SELECT, WHERE, GROUP BY, HAVING or ON of a query",
        ),
        ("SELECT grouping(id) FROM r", "grouping(id) belongs to GROUP BY", "it tells the sets of GROUPING SETS apart"),
        (
            "SELECT grouping(name), count(*) FROM r GROUP BY ROLLUP (id)",
            "grouping(name): name is no key of GROUP BY",
            "name what stands in GROUP BY",
        ),
        (
            "SELECT count(*) FROM k [ROWS 2] GROUP BY CUBE (id, v, id + 1, v + 1, id + 2, v + 2, id + 3)",
            "GROUP BY has 128 grouping sets, each an aggregation by itself",
            "at most 64 are computed together: write GROUPING SETS with those that are wanted",
        ),
        (
            "SELECT id, count(*) FROM r GROUP BY name GROUPING SETS ((id), ())",
            "GROUP BY lists other keys than GROUPING SETS",
            "write GROUP BY GROUPING SETS (…) alone",
        ),
        ("SELECT * EXCEPT (nme) FROM r", "EXCEPT names 'nme', which * does not show", "did you mean 'name'?"),
        ("SELECT * EXCEPT (id, name) FROM r", "* EXCEPT leaves no attribute", "name what is wanted"),
        (
            "SELECT * FROM r SINGLE JOIN q ON r.id = q.id",
            "a SINGLE JOIN may find several rows ON id = id_2",
            "compare a key of the right side, for example what it is grouped by; or use a LEFT JOIN",
        ),
        (
            "SELECT v FROM k JOIN r ON k.id = r.id AND v > (SELECT max(id) FROM q)",
            "a subquery stands in the condition of a stream's join with a relation",
            "put it into WHERE, or use LOOKUP JOIN",
        ),
        (
            "SELECT r.id FROM r JOIN q ON r.id = q.id AND q.id IN (SELECT id FROM r AS x WHERE x.name = q.name)",
            "a subquery in ON is compared with the right side",
            "put it into WHERE, or into a subquery in FROM",
        ),
    ],
)
def test_an_error_says_what_and_what_to_do(query: str, message: str, hint: str | None) -> None:
    found = error(f"{DECLARED}\n{query};")
    assert found.splitlines()[0].split(": ", 1)[1] == message
    last = found.splitlines()[-1].strip()
    assert (last if last.startswith("hint") else None) == (None if hint is None else f"hint: {hint}")


def test_a_single_join_is_what_the_api_builds() -> None:
    counted = Q.aggregate("count(*) AS n", by="name").rename({"name": "other"})
    text = (
        "SELECT * FROM r SINGLE JOIN (SELECT name, count(*) AS n FROM q GROUP BY name) AS c(other, n) ON name = other"
    )
    assert bound(text) == R.join(counted, on="name = other", how="single").operator


# ---- VALUES


def test_values_are_a_relation_in_the_order_in_which_they_are_written() -> None:
    text = "SELECT x, y FROM (VALUES (2, 'b'), (1, NULL), (2.5, 'b')) AS t(x, y)"
    assert at(bound(text), {}, 1) == [(Decimal("2.0"), "b"), (Decimal("1.0"), None), (Decimal("2.5"), "b")]
    assert at(bound("SELECT * FROM VALUES 1, 2 AS t(x) WHERE x > 1"), {}, 1) == [(2,)]
    assert bound("VALUES (1, 'a')").schema.names == ("col1", "col2")
    assert at(bound("WITH t(x) AS (VALUES (1), (2)) SELECT x FROM t UNION ALL VALUES (3)"), {}, 1) == [(1,), (2,), (3,)]
    assert at(bound("VALUES (1), (3), (2) ORDER BY col1 DESC LIMIT 2"), {}, 1) == [(3,), (2,)]


def test_values_stand_wherever_a_relation_may() -> None:
    data: Data = {"k": single((1, 5, 1), (2, 9, 2))}
    assert said("SELECT v, name FROM k LOOKUP JOIN (VALUES (2, 'b')) AS t(id, name) ON k.id = t.id", data) == [
        (2, 0, 9, "b")
    ]
    assert said("SELECT v FROM k WHERE id IN (VALUES (1), (3)) OR (id, v) IN (VALUES (2, 9))", data) == [
        (1, 0, 5),
        (2, 0, 9),
    ]
    assert said("SELECT v - (VALUES (5)) AS more FROM k", data) == [(1, 0, 0), (2, 0, 4)]


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        ("VALUES (1), (2, 3)", "a row of VALUES has 2 values, and the first one 1", "give every row as many values"),
        ("VALUES (a)", "VALUES takes constants, and a is none", "text stands in quotes: 'a'"),
        ("SELECT * FROM (VALUES (1, 2)) AS t(x)", "t names 1 attributes, but there are 2", None),
    ],
)
def test_what_is_wrong_with_values(query: str, message: str, hint: str | None) -> None:
    test_an_error_says_what_and_what_to_do(query, message, hint)
