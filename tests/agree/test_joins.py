"""Natural band joins and what * shows of them, by hand and on both engines, in batch and in epochs."""

from __future__ import annotations

import pytest

from astralq import StreamQuery
from astralq.algebra.base import Operator
from astralq.model import Data
from astralq.spark import Engine
from tests.agree.compare import on_model, on_spark
from tests.agree.epochs import in_epochs
from tests.language.support import bound
from tests.support import sec, single

DECLARED = """
CREATE STREAM a (k STRING, ts TIMESTAMP) FROM csv 'a.csv' TIMESTAMP BY ts;
CREATE STREAM b (k STRING, ts TIMESTAMP) FROM csv 'b.csv' TIMESTAMP BY ts;
CREATE RELATION x (v INT, k INT, j INT) FROM csv 'x.csv';
CREATE RELATION y (j INT, w INT, k INT) FROM csv 'y.csv';
CREATE RELATION z (u INT, j INT) FROM csv 'z.csv';
"""
DATA: Data = {
    "a": single(("k1", sec(1), 1), ("k1", sec(4), 4), ("k2", sec(5), 5)),
    "b": single(("k1", sec(2), 2), ("k2", sec(5), 5), ("k1", sec(9), 9)),
    "x": [(10, 1, 2), (20, 2, 2)],
    "y": [(2, 7, 1), (3, 8, 2)],
    "z": [(5, 2)],
}


def of(query: str) -> Operator:
    return bound(query, declared=DECLARED)


def stream(name: str) -> StreamQuery:
    return StreamQuery(of(f"SELECT * FROM {name}"))


NEAR = [(2, "k1", 1, 2), (4, "k1", 4, 2), (5, "k2", 5, 5)]
"""(t, k, a's time, b's time): 001 D34 with d = 2 s; the timestamps are not compared."""

ALL = [(2, "k1", 1, 2), (4, "k1", 4, 2), (5, "k2", 5, 5), (9, "k1", 1, 9), (9, "k1", 4, 9)]

BANDS = {
    "in text": (of("SELECT * FROM a NATURAL JOIN b WITHIN 2 SECONDS"), NEAR),
    "in text, all": (of("SELECT * FROM a NATURAL JOIN b WITHIN UNBOUNDED"), ALL),
    "in Python": (stream("a").band(stream("b"), "2 s").operator, NEAR),
    "in Python, all": (stream("a").band(stream("b")).operator, ALL),
    "of streams that were selected": (
        stream("a").where("k <> 'x'").select("k, ts").band(stream("b").rename({"ts": "ts"}), "2 s").operator,
        NEAR,
    ),
}


@pytest.mark.parametrize(("query", "expected"), BANDS.values(), ids=BANDS.keys())
def test_a_natural_band_join_does_not_compare_the_timestamps(
    engine: Engine, query: Operator, expected: list[tuple[int, str, int, int]]
) -> None:
    rows = [(sec(t), 0, k, sec(a), sec(b)) for t, k, a, b in expected]
    assert query.schema.names == ("k", "ts", "ts_2")
    assert on_model(query, DATA) == rows
    assert on_spark(engine, query, DATA) == rows
    assert in_epochs(engine, query, DATA, [sec(3), sec(4), sec(9)]) == rows


def test_a_natural_join_of_a_stream_with_a_relation_compares_all_common_attributes() -> None:
    joined = of("SELECT * FROM a NATURAL JOIN b [UNBOUNDED] AS b")
    assert joined.schema.names == ("k", "ts")
    assert on_model(joined, DATA) == [(sec(5), 0, "k2", sec(5))]


STARS: dict[str, tuple[tuple[str, ...], list[tuple[int | None, ...]]]] = {
    "SELECT * FROM x JOIN y USING (k)": (("k", "v", "j", "j_2", "w"), [(1, 10, 2, 2, 7), (2, 20, 2, 3, 8)]),
    "SELECT * FROM x LEFT JOIN y USING (j, k)": (("j", "k", "v", "w"), [(2, 1, 10, 7), (2, 2, 20, None)]),
    "SELECT * FROM x RIGHT JOIN y USING (j, k)": (("j", "k", "v", "w"), [(2, 1, 10, 7), (3, 2, None, 8)]),
    "SELECT * FROM x NATURAL JOIN y": (("k", "j", "v", "w"), [(1, 2, 10, 7)]),
    "SELECT * FROM x LEFT SEMI JOIN y USING (k)": (("k", "v", "j"), [(1, 10, 2), (2, 20, 2)]),
    "SELECT * FROM x JOIN y USING (k) JOIN z ON x.j = z.j": (
        ("k", "v", "j", "j_2", "w", "u", "j_3"),
        [(1, 10, 2, 2, 7, 5, 2), (2, 20, 2, 3, 8, 5, 2)],
    ),
    "SELECT * FROM z JOIN (x JOIN y USING (k, j)) USING (j)": (("j", "u", "k", "v", "w"), [(2, 5, 1, 10, 7)]),
}


@pytest.mark.parametrize("query", STARS)
def test_a_star_shows_the_attributes_of_using_first_as_spark_does(engine: Engine, query: str) -> None:
    names, rows = STARS[query]
    assert of(query).schema.names == names
    assert sorted(on_model(of(query), DATA, at=sec(9)), key=str) == sorted(rows, key=str)
    assert on_spark(engine, of(query), DATA, at=sec(9)) == on_model(of(query), DATA, at=sec(9))
    spark = engine.spark
    for name, columns in (("x", "v, k, j"), ("y", "j, w, k"), ("z", "u, j")):
        spark.createDataFrame(DATA[name], ", ".join(f"{c} int" for c in columns.split(", "))).createOrReplaceTempView(
            name
        )
    theirs = spark.sql(query).columns
    assert [n.partition("_")[0] for n in names] == theirs


EQUAL: Data = {
    "a": single(("x", sec(5), 5), ("x", sec(5), 5), ("y", sec(7), 7), ("x", sec(9), 9)),
    "b": single(("p", sec(0), 0), ("q", sec(0), 0), ("q", sec(0), 0), ("r", sec(8), 8)),
}
OF_EQUAL = {
    "pairs, by left tuple and then by right": "SELECT a.k, b.k AS o FROM a [RANGE 10 SECONDS], b [UNBOUNDED]",
    "beside a count that changes": "SELECT a.k FROM a [RANGE 20 SECONDS], (SELECT count(*) AS n FROM b [UNBOUNDED]) g",
    "beside a count by key": """SELECT a.k, n FROM a [RANGE 20 SECONDS]
        JOIN (SELECT k, count(*) AS n FROM a [RANGE 3 SECONDS] GROUP BY k) g ON a.k = g.k""",
    "of a union": """SELECT u.k, b.k AS o FROM (SELECT k FROM a [RANGE 4 SECONDS] UNION ALL SELECT k FROM a [NOW]) u,
        b [UNBOUNDED]""",
}


@pytest.mark.parametrize("streamer", ["", "ISTREAM"])
@pytest.mark.parametrize("query", OF_EQUAL.values(), ids=OF_EQUAL.keys())
def test_equal_tuples_of_one_batch_have_pairs_of_their_own(engine: Engine, query: str, streamer: str) -> None:
    op = of(f"{streamer}({query})" if streamer else query)
    assert on_spark(engine, op, EQUAL) == on_model(op, EQUAL)
