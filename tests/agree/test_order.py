"""ORDER BY on Spark against the model: each type in both directions, NULLs first and last; and the nearest of all."""

from __future__ import annotations

import math
from decimal import Decimal

from astralq import relation
from astralq.model import Data
from astralq.spark import Engine
from astralq.timeline import Instant
from tests.agree.compare import on_model, on_spark, same

R = relation("R", "i INT, l BIGINT, d DOUBLE, n DECIMAL(38, 2), s STRING, b BOOLEAN, ts TIMESTAMP")
DATA: Data = {
    "R": [
        (1, -(2**63), math.nan, Decimal("-0.01"), "", True, Instant(-5)),
        (2, 2**63 - 1, -math.inf, Decimal("9" * 36), "a", None, Instant(7)),
        (None, 0, 0.0, None, "ab", False, None),
        (-(2**31), None, math.inf, Decimal("-" + "9" * 36), "aé", True, Instant(2**52)),
        (2**31 - 1, 5, None, Decimal(0), "a\U0001f600", False, Instant(0)),
        (0, -1, -0.5, Decimal(3), None, True, Instant(-(2**50))),
    ]
}


def test_every_type_is_ordered_in_both_directions(engine: Engine) -> None:
    """The places of each order are attributes, so that one query shows them all."""
    query = R
    for name in R.operator.schema.names:
        for k, end in enumerate((" DESC", " DESC NULLS FIRST", " NULLS LAST")):
            query = query.order_by(f"{name}{end}").limit(None, rank=f"{name}{k}")
    found = on_spark(engine, query, DATA, at=Instant(9))
    assert same(found, on_model(query, DATA, at=Instant(9)))


def test_the_nearest_is_the_last_before_and_the_first_after(engine: Engine) -> None:
    near = R.rename({n: f"{n}2" for n in R.operator.schema.names})
    back, on = (R.asof(near, f"d {sign} d2", how="left").select("i, i2") for sign in (">", "<="))
    query = back.union(on).limit(9, by="i2 DESC, i")
    assert same(on_spark(engine, query, DATA, at=Instant(9)), on_model(query, DATA, at=Instant(9)))
