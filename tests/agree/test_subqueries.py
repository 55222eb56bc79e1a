"""Subqueries, filters, grouping sets, VALUES, outer band joins: the model's answers, with few rows, many, and live."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from astralq.language import read_script
from astralq.model import Data, Stream
from astralq.spark import Engine
from astralq.timeline import BatchId, Instant
from tests.agree.compare import on_model, on_spark
from tests.agree.epochs import in_epochs

DECLARED = """
CREATE STREAM S (a INT, b INT) FROM csv 'S' TIMESTAMP ON ARRIVAL;
CREATE STREAM D (a INT, b STRING, ts TIMESTAMP) FROM csv 'D' TIMESTAMP BY ts POSITION BY b DESC BATCH EACH ROW;
CREATE RELATION L (a INT, b INT, op STRING, ts TIMESTAMP) FROM csv 'L' CHANGES BY op AT ts;
"""
QUERIES = {
    "beside a relation": "SELECT a, b IN (SELECT b FROM L) AS i FROM S [RANGE 3 MICROSECONDS]",
    "beside a stream": """
        SELECT a, (SELECT sum(b) FROM S [ROWS 3]) AS m FROM S
        LEFT LOOKUP JOIN (VALUES (2, 'x'), (1, NULL)) AS t(k, n) ON a = k
        WHERE n IS NULL OR (a, b) IN (SELECT a, b FROM L)""",
    "in descending order": "SELECT a, b, _n AS place FROM D [ROWS 3]",
    "in a band, or alone": "SELECT x.a, y.b FROM S x FULL JOIN S y ON x.a = y.b WITHIN 2 MICROSECONDS",
    "beside groups": """
        ISTREAM(SELECT a, count(*) AS n, last(b) FILTER (WHERE b > 0) AS l FROM S [ROWS 4] GROUP BY ROLLUP (a)
                HAVING count(*) FILTER (WHERE b IS NOT NULL) >= (SELECT count(*) FROM L WHERE L.a = S.a))""",
}
TUPLES = [(1, 0, 1, 4), (1, 1, 2, None), (2, 0, 1, 2), (4, 0, 3, 0), (5, 0, 2, 1), (7, 0, 1, 3), (9, 0, 2, 2)]
DATA: Data = {
    "D": [
        (1, "a", Instant(2)),
        (2, None, Instant(2)),
        (3, "ab", Instant(2)),
        (4, "b", Instant(2)),
        (5, "", Instant(9)),
    ],
    "S": Stream.of((BatchId(Instant(t), i), (a, b)) for t, i, a, b in TUPLES),
    "L": [
        *((1, 4, "+", Instant(1)), (2, None, "+", Instant(2)), (1, 4, "-", Instant(5)), (2, 2, "+", Instant(8))),
        *((1, 3, "+", Instant(6)), (1, 3, "+", Instant(7))),
    ],
}


@pytest.mark.parametrize("name", QUERIES)
def test_every_engine_gives_the_models_answer(spark: SparkSession, name: str) -> None:
    query = read_script(f"{DECLARED}{QUERIES[name]};").queries[0].operator
    expected = on_model(query, DATA)
    assert len(expected) > 1
    for few_rows in (0, 10**9):
        assert on_spark(Engine(spark, few_rows=few_rows), query, DATA) == expected
    assert in_epochs(Engine(spark), query, DATA, [4, 9]) == expected
