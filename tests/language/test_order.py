"""ORDER BY, LIMIT, DISTINCT ON, QUALIFY and ROW_NUMBER(): what they bind to, answers, and errors word for word."""

from __future__ import annotations

import pytest

from astralq import rows, tumble
from astralq.algebra.base import HasOperator
from astralq.language.printer import print_script
from astralq.language.script import read_script
from tests.language.support import DECLARED, K, Q, R, bound, error, held

PLACE = "ROW_NUMBER() OVER (PARTITION BY id ORDER BY name DESC)"
COUNTS = K[tumble("1 min")].aggregate("count(*) AS n", by="id")

SAME: dict[str, HasOperator] = {
    "SELECT * FROM r ORDER BY name": R.order_by("name"),
    "SELECT id FROM r ORDER BY name DESC, id": R.order_by("name DESC, id").select("id"),
    "SELECT * FROM r ORDER BY id DESC NULLS FIRST, name ASC NULLS LAST": R.order_by(
        "id DESC NULLS FIRST", "name NULLS LAST"
    ),
    "SELECT name, id FROM r ORDER BY 2": R.order_by("id").select("name, id"),
    "SELECT id + 1 AS more FROM r ORDER BY more, more * 2": R.order_by("id + 1, (id + 1) * 2").select("id + 1 AS more"),
    "SELECT name AS id FROM r ORDER BY id": R.order_by("name").select("name AS id"),
    "SELECT * FROM r LIMIT 3": R.limit(3),
    "SELECT * FROM r FETCH FIRST 3 ROWS ONLY": R.limit(3),
    "SELECT * FROM r ORDER BY name LIMIT 3 OFFSET 1": R.order_by("name").limit(3, skip=1),
    "SELECT * FROM r OFFSET 2": R.limit(None, skip=2),
    "SELECT name FROM r LIMIT 3 PER id, length(name)": R.limit(3, per="id, length(name)").select("name"),
    "SELECT DISTINCT ON (id) name FROM r ORDER BY name": R.order_by("name").limit(1, per="id").select("name"),
    "SELECT DISTINCT name FROM r ORDER BY name DESC LIMIT 2": R.select("name")
    .distinct()
    .order_by("name DESC")
    .limit(2),
    f"SELECT * FROM r QUALIFY {PLACE} <= 3": R.limit(3, per="id", by="name DESC"),
    f"SELECT * FROM r QUALIFY 3 > {PLACE}": R.limit(2, per="id", by="name DESC"),
    f"SELECT * FROM r QUALIFY {PLACE} = 2": R.limit(1, per="id", by="name DESC", skip=1),
    f"SELECT * FROM r QUALIFY {PLACE} BETWEEN 2 AND 4": R.limit(3, per="id", by="name DESC", skip=1),
    f"SELECT * FROM r QUALIFY {PLACE} > 2": R.limit(None, per="id", by="name DESC", skip=2),
    "SELECT * FROM r QUALIFY ROW_NUMBER() OVER (PARTITION BY id) <= 2": R.limit(2, per="id"),
    f"SELECT *, {PLACE} AS n FROM r": R.limit(None, per="id", by="name DESC", rank="n"),
    f"SELECT *, {PLACE} AS n FROM r QUALIFY n <= 2": R.limit(2, per="id", by="name DESC", rank="n"),
    f"SELECT id, {PLACE} % 2 AS n FROM r QUALIFY n = 1": R.limit(None, per="id", by="name DESC", rank="_row_number")
    .where("_row_number % 2 = 1")
    .select("id, _row_number % 2 AS n"),
    f"SELECT name FROM (SELECT *, {PLACE} AS n FROM r) WHERE n <= 2": R.limit(None, per="id", by="name DESC", rank="n")
    .where("n <= 2")
    .select("name"),
    "SELECT id, count(*) AS n FROM k [TUMBLE 1 MINUTE] GROUP BY id ORDER BY n DESC LIMIT 2": COUNTS.order_by(
        "n DESC"
    ).limit(2),
    "SELECT id FROM k [TUMBLE 1 MINUTE] GROUP BY id ORDER BY max(v) - min(v)": K[tumble("1 min")]
    .aggregate("max(v) AS _max", "min(v) AS _min", by="id")
    .order_by("_max - _min")
    .select("id"),
    "SELECT id, count(*) AS n, ROW_NUMBER() OVER (ORDER BY count(*) DESC) AS p FROM k [TUMBLE 1 MINUTE] GROUP BY id": (
        COUNTS.limit(None, by="n DESC", rank="p")
    ),
    "(SELECT * FROM r LIMIT 1) UNION ALL (SELECT * FROM q ORDER BY id)": R.limit(1).union(Q.order_by("id")),
    "SELECT * FROM r UNION ALL SELECT * FROM q ORDER BY 2, id LIMIT 1": R.union(Q).order_by("name, id").limit(1),
    "ISTREAM(SELECT v FROM k [ROWS 9] ORDER BY v DESC LIMIT 1)": K[rows(9)]
    .order_by("v DESC")
    .limit(1)
    .select("v")
    .istream(),
    "SELECT ISTREAM(v) FROM k [ROWS 9] LIMIT 1": K[rows(9)].limit(1).select("v").istream(),
    "WITH top AS (SELECT * FROM r ORDER BY name LIMIT 2) SELECT id FROM top": R.order_by("name").limit(2).select("id"),
    "SELECT * FROM ((SELECT * FROM r) LIMIT 2)": R.limit(2),
    "SELECT * FROM r ASOF JOIN q AS b(i, n) ON name = n AND id >= i": R.asof(
        Q.rename({"id": "i", "name": "n"}), "name = n AND id >= i"
    ),
    "SELECT * FROM r LEFT ASOF JOIN q AS b(i, n) ON i > id": R.asof(
        Q.rename({"id": "i", "name": "n"}), "i > id", "left"
    ),
}


@pytest.mark.parametrize("query", SAME)
def test_what_a_query_binds_to(query: str) -> None:
    operator = SAME[query].operator
    assert bound(query) == operator
    assert read_script(print_script(operator)).queries[0].operator == operator


def test_a_subquery_of_in_may_choose() -> None:
    data = {"r": [(1, "a"), (2, "b"), (3, "c")], "q": [(3, "x"), (1, "y"), (2, "z")]}
    assert held("SELECT name FROM r WHERE id IN (SELECT id FROM q ORDER BY name DESC LIMIT 2)", data, 0) == [
        ("a",),
        ("b",),
    ]


def test_a_view_keeps_its_order() -> None:
    data = {"r": [(1, "a"), (2, "b")]}
    assert held("CREATE VIEW v AS SELECT * FROM r ORDER BY id DESC; SELECT id FROM v", data, 0) == [(2,), (1,)]


ERRORS = {
    "SELECT * FROM k ORDER BY v": (
        "ORDER BY takes a relation, and this is a stream, which never ends:\nSTREAM k",
        "its tuples are in the order in which they come; take a window first, for example [TUMBLE 1 MINUTE]",
    ),
    "SELECT * FROM k LIMIT 1": (
        "LIMIT takes a relation, and this is a stream, which never ends:\nSTREAM k",
        "it chooses from states: take a window first, as [TUMBLE 1 MINUTE], or [UNBOUNDED] for all so far",
    ),
    "SELECT * FROM r ASOF JOIN q ON r.id = q.id": (
        "ASOF JOIN has one inequality between its two sides, and id = id_2 has none",
        "write for example ON a.k = b.k AND a.x >= b.x",
    ),
    "SELECT * FROM k ASOF JOIN q ON k.id > q.id": (
        "ASOF JOIN takes two relations, and this is a stream:\nSTREAM k",
        "give it a window; or s LOOKUP JOIN r, for the row as it is when a tuple of s arrives",
    ),
    "ISTREAM(SELECT * FROM r) LIMIT 1": (
        "LIMIT orders and chooses from a relation: write it in ISTREAM(…)",
        None,
    ),
    "SELECT * FROM r ORDER BY 3": ("ORDER BY 3: SELECT has 2 items", "count them from 1"),
    "SELECT * FROM r LIMIT id": ("LIMIT takes a whole number of tuples, not id", "write for example LIMIT 3"),
    "SELECT * FROM r LIMIT 2 PER": ("expected what LIMIT counts by: PER a, b", None),
    "SELECT * FROM r LIMIT 2 PER OFFSET 1": ("expected what LIMIT counts by: PER a, b", None),
    "SELECT id FROM r QUALIFY id < 3": (
        "QUALIFY is a condition on ROW_NUMBER() OVER (…), and there is none",
        "a condition on tuples stands in WHERE, one on groups in HAVING",
    ),
    "SELECT rank() OVER (ORDER BY id) AS n FROM r": (
        "OVER belongs to ROW_NUMBER() only, not to RANK()",
        "to choose by place, write QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) <= 3",
    ),
    "SELECT ROW_NUMBER() OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS n FROM r": (
        "ROW_NUMBER() has no frame",
        "leave out ROWS or RANGE BETWEEN …",
    ),
    "SELECT * FROM k [ROWS 2] INTERSECT (SELECT * FROM k [ROWS 2] LIMIT 1) BY IDENTITY": (
        "INTERSECT BY φ goes by φ, and LIMIT 1 below it decides what φ is, or which are there",
        "go by value: INTERSECT; or order and choose above",
    ),
    "SELECT _phi FROM (SELECT * FROM k [ROWS 2] ORDER BY v)": (
        "φ is looked at above ORDER BY v, which decides what it is",
        "take _phi below it, in a subquery",
    ),
}


@pytest.mark.parametrize("query", ERRORS)
def test_what_cannot_be_ordered_or_chosen_is_refused_with_a_reason(query: str) -> None:
    message, hint = ERRORS[query]
    text = error(f"{DECLARED}\n{query};")
    assert text.partition(": ")[2].startswith(message), text
    assert hint is None or text.endswith(f"  hint: {hint}"), text
