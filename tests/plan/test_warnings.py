"""explain warns of what grows faster than its input."""

from __future__ import annotations

import pytest

from astralq.plan.warnings import warnings_of
from tests.language.support import bound

DECLARED = """
CREATE STREAM s (k INT, v DOUBLE, ts TIMESTAMP) FROM csv 's.csv' TIMESTAMP BY ts;
CREATE STREAM u (k INT, w DOUBLE, ts TIMESTAMP) FROM csv 'u.csv' TIMESTAMP BY ts;
"""


@pytest.mark.parametrize(
    ("query", "beginning"),
    [
        ("SELECT v, w FROM s [RANGE 1 HOUR] JOIN u [RANGE 1 HOUR] ON s.v < u.w", "JOIN ON v < w: no attribute"),
        ("SELECT v, w FROM s JOIN u ON s.v < u.w WITHIN 1 HOUR", "JOIN"),
        ("SELECT v, w FROM s [RANGE 1 HOUR], u [RANGE 1 HOUR]", "PRODUCT: each row is paired"),
        ("RSTREAM(SELECT * FROM s [RANGE 1 HOUR])", "RSTREAM: the whole state is emitted whenever it changes"),
        ("ISTREAM(SELECT median(v) FROM s [RANGE 1 HOUR])", "AGGREGATE median(v): median is not put together"),
    ],
)
def test_a_query_is_warned_of(query: str, beginning: str) -> None:
    (found,) = warnings_of(bound(query, declared=DECLARED))
    assert found.startswith(beginning)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT v, w FROM s [RANGE 1 HOUR] JOIN u [RANGE 1 HOUR] ON s.k = u.k AND s.v < u.w",
        "SELECT v, w FROM s [RANGE 1 HOUR] JOIN u [RANGE 1 HOUR] ON floor(s.v) = floor(u.w)",
        "RSTREAM(SELECT * FROM s [RANGE 1 HOUR]) EVERY 1 HOUR",
        "RSTREAM(SELECT * FROM s [PARTITION BY k LAST ROW])",
        "RSTREAM(SELECT k, avg(v) AS m FROM s [RANGE 1 HOUR] GROUP BY k)",
        "ISTREAM(SELECT median(v) FROM s [TUMBLE 1 HOUR])",
        "ISTREAM(SELECT stddev(v) FROM s [RANGE 1 HOUR])",
        "ISTREAM(SELECT avg(v) FROM s [RANGE 1 HOUR])",
    ],
)
def test_a_query_is_not_warned_of(query: str) -> None:
    assert warnings_of(bound(query, declared=DECLARED)) == []
