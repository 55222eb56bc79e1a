"""What the tests of the language share: declared sources, and queries bound to the algebra."""

from __future__ import annotations

from typing import Any

import pytest

from astralq.algebra.base import Operator
from astralq.algebra.fluent import RelationQuery, StreamQuery
from astralq.errors import AstralError
from astralq.language import read_script
from astralq.model import Data
from tests.support import Seconds, answer, at

DECLARED = """
CREATE STREAM s (v INT) FROM csv 's.csv' TIMESTAMP ON ARRIVAL;
CREATE STREAM k (id INT, v INT) FROM csv 'k.csv' TIMESTAMP ON ARRIVAL;
CREATE STREAM w (id INT, z STRING) FROM csv 'w.csv' TIMESTAMP ON ARRIVAL;
CREATE STREAM car (id STRING, x DOUBLE, y DOUBLE) FROM csv 'car.csv' TIMESTAMP ON ARRIVAL LOCATION BY (x, y) PLANAR;
CREATE RELATION r (id INT, name STRING) FROM csv 'r.csv';
CREATE RELATION q (id INT, name STRING) FROM csv 'q.csv';
CREATE RELATION log (op STRING, ts TIMESTAMP, id INT, name STRING) FROM csv 'log.csv' CHANGES BY op AT ts;
CREATE REGION sea AS 'POLYGON ((0 0, 10 0, 10 10, 0 10, 0 0))';
"""
"""Streams s, k, w and car, constant relations r and q, a change log, and a region."""


def bound(query: str, dialect: str = "astral", declared: str = DECLARED) -> Operator:
    """The operator of the last query of a text, after the declarations."""
    return read_script(f"{declared}\n{query};", dialect).queries[-1].operator


def stream_of(name: str, dialect: str = "astral", declared: str = DECLARED) -> StreamQuery:
    return StreamQuery(bound(f"SELECT * FROM {name}", dialect, declared))


def relation_of(name: str, declared: str = DECLARED) -> RelationQuery:
    return RelationQuery(bound(f"SELECT * FROM {name}", declared=declared))


S, K, W, CAR = map(stream_of, ("s", "k", "w", "car"))
R, Q, LOG = map(relation_of, ("r", "q", "log"))


def said(
    query: str, data: Data, dialect: str = "astral", *, t0: Seconds | None = None, until: Seconds | None = None
) -> list[tuple[Any, ...]]:
    """The answer to a query in text: (seconds, i, *values), or (op, seconds, i, *values) of a relation."""
    return answer(bound(query, dialect), data, t0=t0, until=until)


def held(query: str, data: Data, t: Seconds, *, t0: Seconds | None = None) -> list[tuple[Any, ...]]:
    """The state of a query in text at a time."""
    return at(bound(query), data, t, t0=t0)


def error(text: str, dialect: str = "astral") -> str:
    """The text of the error that a script gives."""
    with pytest.raises(AstralError) as raised:
        read_script(text, dialect)
    return str(raised.value)
