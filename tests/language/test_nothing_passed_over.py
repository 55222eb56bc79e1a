"""Whatever the grammar reads is used or refused: no part of sqlglot's tree and no word is passed over in silence."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import pytest
from sqlglot import exp

from astralq.algebra.base import Operator
from astralq.errors import AstralError
from astralq.language.binder import QueryBinder
from astralq.language.environment import Environment
from astralq.language.grammar import AstralSQL, parse
from astralq.language.script import _Reader
from astralq.language.syntax import Item, Past, QueryStatement, SpreadItem
from astralq.language.unused import PARTS, refuse_unused
from tests.language.support import DECLARED, bound, error

# Every item has an alias, so that a word behind it cannot be one.
QUERIES = [
    "SELECT a.id, a.v + 1 AS more, -a.v AS less, ~a.v AS not_v, 'x' 'y' AS xy FROM k [ROWS 2] AS a WHERE a.v > 1.5",
    "SELECT a.id AS i, count(*) AS n, count(DISTINCT a.v) AS d FROM k [ROWS 2] AS a GROUP BY a.id HAVING count(*) > 1",
    "SELECT a.* FROM r AS a WHERE a.id IN (SELECT b.id AS x FROM q AS b WHERE b.id > 1)",
    "SELECT a.id AS i FROM r AS a WHERE a.id NOT IN (SELECT b.id AS x FROM q AS b) AT START",
    "SELECT a.id AS i FROM r AS a WHERE EXISTS (SELECT b.id AS x FROM q AS b WHERE b.id = a.id) AND a.name LIKE 'x%'",
    "SELECT a.id AS i, b.name AS n FROM r AS a JOIN q AS b ON a.id = b.id AND a.name <> b.name",
    "SELECT a.id AS i FROM r AS a LEFT JOIN q AS b USING (id)",
    "SELECT a.id AS i FROM r AS a NATURAL JOIN q AS b",
    "SELECT a.id AS i FROM r AS a CROSS JOIN q AS b",
    "SELECT a.id AS i FROM k AS a JOIN k AS b ON a.id = b.id WITHIN 2 SECONDS",
    "SELECT a.id AS i FROM k AS a LOOKUP JOIN r AS b ON a.id = b.id",
    "SELECT DISTINCT a.name AS n FROM r AS a WHERE a.id BETWEEN 2 AND 3 OR a.name IS NULL",
    "SELECT CASE a.id WHEN 1 THEN 'x' ELSE a.name END AS n, CAST(a.id AS DOUBLE) AS d FROM r AS a",
    "SELECT TIMESTAMP '2026-01-01' AS e FROM r AS a",
    "SELECT a.ts + INTERVAL 5 MINUTES AS later, TRY_CAST(a.name AS DECIMAL(4, 2)) AS d FROM log2 AS a",
    "SELECT a.id AS i FROM r AS a WHERE NOT (a.name ILIKE 'x' AND a.name RLIKE 'y') AND a.id IN (1, 2) AND a.id <=> 3",
    "SELECT a.id IS DISTINCT FROM 1 AS x, a.name || 'x' AS y, a.id / 2 AS z, if(a.id > 1, 2, 3) AS f FROM r AS a",
    "SELECT a.id % 2 AS x, a.id DIV 2 AS y, a.id & 1 AS z, a.id | 1 AS u, a.id ^ 1 AS w, TRUE AS t, a.id * 2 AS m,"
    " a.id - 1 AS s, a.id <= 1 AS le, a.id < 1 AS lt, a.id >= 1 AS ge FROM r AS a",
    "SELECT a.id AS i FROM r AS a UNION ALL SELECT b.id AS i FROM q AS b",
    "SELECT a.id AS i FROM r AS a EXCEPT SELECT b.id AS i FROM q AS b",
    "SELECT a.id AS i FROM k [ROWS 2] AS a EXCEPT BY IDENTITY SELECT b.id AS i FROM k [ROWS 1] AS b",
    "SELECT a.id AS i FROM k [ROWS 2] AS a UNION ALL IN ORDER SELECT b.id AS i FROM k [ROWS 1] AS b",
    "SELECT a.id AS i, a.name AS n FROM r AS a DIVIDE BY SELECT b.id AS i FROM q AS b",
    "SELECT a.id AS i FROM r DURING TIMESTAMP '2026-01-01' TO TIMESTAMP '2026-02-01' AS a",
    "SELECT a.id AS i FROM r AS a INTERSECT SELECT b.id AS i FROM q AS b",
    "WITH x AS (SELECT a.id AS i FROM r AS a) SELECT y.i AS j FROM x AS y",
    "SELECT x.i AS j FROM (SELECT a.id AS i FROM r AS a) AT START AS x(i)",
    "SELECT a.id AS i FROM SPREAD ALL(k BY id) [LAST BATCH] AS a",
    "RSTREAM(SELECT a.id AS i FROM k [ROWS 2] AS a) EVERY 5 SECONDS",
    "SELECT ISTREAM(a.id AS i) FROM k [ROWS 2] AS a",
    "SELECT a.id AS i FROM r AS a ORDER BY a.name DESC NULLS FIRST LIMIT 2 PER a.id OFFSET 1",
    "SELECT DISTINCT ON (a.id) a.name AS n FROM r AS a FETCH FIRST 2 ROWS ONLY",
    "SELECT a.id AS i FROM r AS a LEFT ASOF JOIN q AS b ON a.name = b.name AND a.id >= b.id",
    "SELECT a.id AS i FROM r AS a QUALIFY ROW_NUMBER() OVER (PARTITION BY a.name ORDER BY a.id) <= 2",
    "SELECT a.id AS i, sum(a.v) FILTER (WHERE a.v > 1) AS n FROM k [ROWS 2] AS a GROUP BY a.id",
    "SELECT a.id AS i, count(*) AS n FROM r AS a GROUP BY ROLLUP (a.id), CUBE (a.name)",
    "SELECT a.id AS i, grouping(a.id) AS g FROM r AS a GROUP BY GROUPING SETS ((a.id, a.name), ())",
    "SELECT a.* EXCEPT (name) FROM r AS a WHERE a.id = 1 OR (a.id, a.name) IN ((1, 'x'), (2, 'y'))",
    "SELECT a.x AS i FROM (VALUES (1, 'x'), (2, 'y')) AS a(x, y)",
    "SELECT a.id AS i, (SELECT max(b.id) AS m FROM q AS b WHERE b.name = a.name) AS m FROM r AS a",
    "SELECT a.l[0].x AS x, a.s.x AS y, X'31' AS h, r'b' AS w, INTERVAL '1-2' YEAR TO MONTH AS m FROM nested AS a"
    " WHERE a.n LIKE 'x!%' ESCAPE '!'",
    "SELECT transform(a.l, e -> e.x + 1) AS x, a.s.x << 1 AS y, a.s.x >> 1 AS z FROM nested AS a",
    "SELECT a.id AS i, t.x AS x FROM lists AS a, LATERAL explode(a.l) AS t(x)",
]
NESTED = "CREATE RELATION nested (l ARRAY<STRUCT<x: INT>>, s STRUCT<x: INT>, n STRING) FROM json 'n.json';"
LOG2 = "CREATE RELATION log2 (ts TIMESTAMP, name STRING) FROM csv 'l.csv';"
LISTS = "CREATE STREAM lists (id INT, l ARRAY<INT>) FROM json 'l.json' TIMESTAMP ON ARRIVAL;"
SOURCES = f"{DECLARED}\n{LOG2}\n{NESTED}\n{LISTS}"

CLAUSES = [
    *("LIMIT 1", "OFFSET 1", "ORDER BY 1", "SORT BY 1", "CLUSTER BY 1", "DISTRIBUTE BY 1", "QUALIFY 1 = 1"),
    *("TABLESAMPLE (10 PERCENT)", "INTO t", "FOR UPDATE", "WINDOW w AS (ORDER BY 1)", "CONNECT BY 1 = 1"),
    *("START WITH 1 = 1 CONNECT BY 2 = 2", "FETCH FIRST 1 ROW ONLY", "FOR SYSTEM_TIME AS OF TIMESTAMP '2026-01-01'"),
    *("PIVOT (sum(id) FOR name IN ('a'))", "UNPIVOT (x FOR y IN (id))", "LATERAL VIEW explode(array(1)) AS e"),
    *("OVER (PARTITION BY 1)", "FILTER (WHERE 1 = 2)", "IGNORE NULLS", "RESPECT NULLS", "WITHIN GROUP (ORDER BY 1)"),
    *("ESCAPE '!'", "COLLATE utf8", "AT TIME ZONE 'CET'", "SYMMETRIC", "ASYMMETRIC", "ASOF", "POSITIONAL", "GLOBAL"),
    *("TOP 1", "PERCENT", "WITH TIES", "WITH ORDINALITY", "WITH TOTALS", "WITH ROLLUP", "WITH CUBE", "BY NAME"),
    *("GROUPING SETS ((1))", "ROLLUP (1)", "CUBE (1)", "MATCH_CONDITION (1 = 1)", "USING SAMPLE 1", "AS STRUCT"),
    *("RECURSIVE", "MATERIALIZED", "NOT MATERIALIZED", "CORRESPONDING", "STRICT", "SETTINGS a = 1", "FORMAT x"),
    *("EXCLUDE (id)", "REPLACE (1 AS id)", "RENAME (id AS x)", "SQL_CALC_FOUND_ROWS", "STRAIGHT_JOIN", "PREWHERE 1"),
    *("SEARCH", "CYCLE", "ONLY", "TABLE", "NOWAIT", "SKIP LOCKED", "DIRECTED", "FINAL", ","),
]
"""What other systems have in their queries."""

TOKEN = re.compile(r"\[[^\]]*\]|'[^']*'|\w+(?:\.\w+)?|<=>|<>|<=|>=|\|\||\S")


@cache
def operator_of(query: str) -> Operator:
    return bound(query, declared=SOURCES)


@cache
def environment() -> Environment:
    reader = _Reader(SOURCES, "astral", {})
    for statement in parse(SOURCES)[0]:
        reader.read(statement)
    return reader.env


def is_passed_over(query: str, changed: str) -> bool:
    """Whether the changed text is accepted and means what the query means."""
    statements, errors = parse(changed)
    if errors or len(statements) != 1 or not isinstance(statements[0], QueryStatement):
        return False
    try:
        return QueryBinder(environment()).bind(statements[0].query) == operator_of(query)
    except AstralError:
        return False


def gaps(query: str) -> Iterator[tuple[str, str]]:
    """A query cut in two between any two of its words."""
    for m in TOKEN.finditer(query):
        yield query[: m.start()], query[m.start() :]
    yield query, ""


def passed_over(query: str, words: list[str], trials: int) -> list[str]:
    """The texts with one of the words put into the query that are accepted and mean the same; some places are tried."""
    texts = [f"{before} {word} {after}" for before, after in gaps(query) for word in words]
    tried = random.Random(query).sample(texts, min(10 * trials, len(texts)))
    return [t for t in tried if not HARMLESS.search(t) and is_passed_over(query, t)]


HARMLESS = re.compile(
    r"^\s*FROM|SELECT\s+ALL|\(\s*ALL\s|(?:LEFT|RIGHT|FULL)\s+OUTER|INNER\s+JOIN|EXISTS \([^)]*LIMIT\s+1"
    r"|UNION\s+DISTINCT|(?:EXCEPT|INTERSECT)\s+DISTINCT|LEFT\s+SEMI|LEFT\s+ANTI"
    r"|INNER\s+LOOKUP|LOOKUP\s+INNER|(?:WITHIN|EVERY)\s+INTERVAL"
    r"|GROUPING SETS \(\(1\)\)"
    r"|LIKE '[^'!]*'\s+ESCAPE",
    re.IGNORECASE,
)
"""Words that mean nothing where they stand, and are allowed there."""


@pytest.mark.parametrize("query", QUERIES)
def test_a_clause_of_another_system_is_not_passed_over_wherever_it_stands(query: str, trials: int) -> None:
    operator_of(query)
    assert passed_over(query, CLAUSES, trials) == []


WORDS = sorted({w for w in AstralSQL.Tokenizer.KEYWORDS if re.fullmatch(r"[A-Z_]+( [A-Z_]+)*", w)})
"""All words that sqlglot's grammar of Spark SQL knows."""


@pytest.mark.parametrize("query", QUERIES)
def test_a_word_is_not_passed_over_wherever_it_stands(query: str, trials: int) -> None:
    assert passed_over(query, WORDS, trials) == []


# ---- parts of the tree


def tree(query: str) -> exp.Expression:
    statements, errors = parse(f"{SOURCES}\n{query};")
    assert not errors
    (found,) = [s.query for s in statements if isinstance(s, QueryStatement)]
    return found


FILLED: tuple[Any, ...] = (True, "ASOF", exp.var("x"), exp.Limit(expression=exp.Literal.number(1)), [exp.var("x")])
"""What may stand in a part that a query leaves empty."""

SHAPED: dict[str, tuple[Any, ...]] = {
    "laterals": ([exp.Lateral(this=exp.Anonymous(this="explode"))],),
    "joins": ([exp.Join(this=Item(this=exp.Table(this=exp.to_identifier("q"))))],),
    "columns": ([exp.to_identifier("x")],),
    "postfixes": ([Past()],),
}
"""What stands in parts that are lists, in the shape that they have."""


def binds_as_before(query: str, node: exp.Expression, before: Operator) -> bool:
    try:
        refuse_unused(node, query)
        return QueryBinder(environment()).bind(node) == before
    except Exception:  # a part that is looked at may be of another shape than what is put in here
        return False


NOT_SAID = {
    # what the parser notes of the dialect, or how a name was written
    *(("Div", "typed"), ("Div", "safe"), ("DPipe", "safe"), ("Concat", "safe"), ("Concat", "coalesce")),
    *(("Identifier", "quoted"), ("TryCast", "requires_string")),
    # types are read as text, whole
    *(("DataType", part) for part in ("nested", "expressions", "kind", "values", "nullable", "collate")),
    # names that nothing else uses
    *((kind, "with_") for kind in ("Select", "Union", "Except", "Intersect", "DivideBy", "StreamerQuery")),
    *(("Item", "alias"), ("Item", "assigned")),
    # what never stands beside what is there already
    *(("In", "expressions"), ("Join", "using"), ("Distinct", "expressions"), ("If", "false")),
    ("Tuple", "expressions"),
}


@pytest.mark.parametrize("query", QUERIES)
def test_no_part_of_a_node_is_passed_over(query: str) -> None:
    original = tree(query)
    before = operator_of(query)
    assert binds_as_before(query, original.copy(), before)
    passed = set()
    for place, node in enumerate(original.walk()):
        for part in node.arg_types if not isinstance(node.parent, SpreadItem) else ():
            if node.args.get(part) not in (None, False, []) or (type(node).__name__, part) in NOT_SAID:
                continue
            if isinstance(node.parent, exp.Exists) and part == "limit":
                continue  # which is harmless there
            for value in SHAPED.get(part, FILLED):
                changed = original.copy()
                target = list(changed.walk())[place]
                target.set(part, deepcopy(value))
                if binds_as_before(query, changed, before):
                    passed.add(f"{type(node).__name__}.{part}")
    assert passed == set()


def test_the_queries_above_have_every_type_of_node_that_the_binder_knows() -> None:
    there = {type(n).__name__ for q in QUERIES for n in tree(q).walk()}
    assert {t.__name__ for t in PARTS} - there == set()


# ---- what was passed over once

LISTED = {
    "SELECT * FROM q ASOF RIGHT JOIN r ON q.id > r.id": "ASOF RIGHT JOIN is not part of the language",
    **{
        f"SELECT id FROM r WHERE id IN (SELECT id FROM q {clause})": f"{word} is not part of the language"
        for clause, word in {
            "SORT BY id": "SORT BY",
            "CLUSTER BY id": "CLUSTER BY",
            "DISTRIBUTE BY id": "DISTRIBUTE BY",
            "WHERE id > 1 FOR UPDATE": "FOR",
            "WHERE id > 1 WINDOW w AS (ORDER BY id)": "WINDOW",
            "WHERE id > 1 CONNECT BY id = 1": "CONNECT BY",
            "TABLESAMPLE (10 PERCENT)": "TABLESAMPLE",
        }.items()
    },
    "SELECT id FROM r WHERE EXISTS (SELECT id INTO t FROM q)": "INTO is not part of the language",
    "SELECT id FROM r WHERE id IN (SELECT id FROM q QUALIFY id = 1)": "QUALIFY is a condition on ROW_NUMBER() OVER (…)",
    "SELECT r.id FROM r JOIN q ON r.id = q.id PIVOT (sum(id) FOR name IN ('a'))": "PIVOT is not part of the language",
    "SELECT id FROM r WHERE id BETWEEN SYMMETRIC 3 AND 2": "SYMMETRIC is not part of the language",
    "SELECT id FROM r WHERE id BETWEEN ASYMMETRIC 3 AND 2": "ASYMMETRIC cannot stand here",
    "SELECT r.id FROM r NATURAL JOIN q ON r.id = q.id": "a NATURAL join has neither ON nor USING",
    "SELECT r.id FROM r OUTER JOIN q ON r.id = q.id": "OUTER JOIN is not part of the language",
    "SELECT r.id FROM r RIGHT SEMI JOIN q ON r.id = q.id": "RIGHT SEMI JOIN is not part of the language",
    "SELECT id FROM k LEFT LOOKUP RIGHT JOIN r ON k.id = r.id": "LEFT stands before LOOKUP already",
    "SELECT count(* EXCEPT (id)) FROM r": "* EXCEPT (id) is not supported in an expression",
    "SELECT x.r.* FROM r": "x.r.* has too many parts",
    "SELECT id FROM r WHERE EXISTS (SELECT nothing FROM q)": "unknown attribute 'nothing'",
    "SELECT id FROM r AS a(x INT, y STRING)": "an alias takes names only",
    "SELECT id, count(*) FROM r GROUP BY DISTINCT id": "DISTINCT cannot stand here",
    "SELECT * FROM s [ALPHA 2s*j 3s BETA 2s*j + 3s RATE 2s]": "'3' cannot stand here",
    "SELECT * FROM s [ALPHA 2*3*j BETA 6*j + 3 RATE 6 ROWS]": "a second number in one product",
    "SELECT * FROM s [START 2s*j END 3s RATE 2s ADVANCE START 2s END 2s]": "a bound of START … END has no j",
}


@pytest.mark.parametrize("query", LISTED)
def test_what_was_passed_over_once_is_refused(query: str) -> None:
    assert LISTED[query] in error(f"{DECLARED}\n{query};").partition("\n")[0]


def test_a_word_too_many_in_the_brackets_of_a_sneeql_window_is_refused() -> None:
    said = error(f"{DECLARED}\nSELECT * FROM s [FROM NOW-10 SECONDS TO NOW SLIDE 1 ROW];", "sneeql")
    assert "10 SECONDS is not in rows, as the slide is" in said


def test_an_error_about_a_clause_has_its_place_and_what_to_do() -> None:
    assert error(f"{DECLARED}\nSELECT id FROM r WHERE id IN (SELECT id FROM q SORT BY id);") == (
        "line 11, column 48: SORT BY is not part of the language\n"
        "11 | SELECT id FROM r WHERE id IN (SELECT id FROM q SORT BY id);\n"
        "   |                                                ^^^^^^^\n"
        "  hint: ORDER BY orders a relation, however it is computed"
    )


def test_a_limit_in_exists_is_accepted_because_it_changes_nothing() -> None:
    plain = "SELECT id FROM r WHERE EXISTS (SELECT 1 FROM q WHERE q.id = r.id"
    assert bound(f"{plain} LIMIT 1)") == bound(f"{plain})")


def test_a_join_inside_a_join_is_not_lost() -> None:
    nested = bound("SELECT r.name FROM r JOIN q JOIN k [ROWS 1] AS x ON x.id = q.id ON r.id = q.id")
    assert nested == bound("SELECT r.name FROM r JOIN (q JOIN k [ROWS 1] AS x ON x.id = q.id) ON r.id = q.id")
