"""INTERSECT and EXCEPT as sets, over windows that grow, that move, and that are replaced: the model's answers."""

from __future__ import annotations

import pytest

from astralq.algebra.sources import sources_of
from astralq.spark import Engine
from astralq.timeline import Instant
from tests.agree.compare import on_model, on_spark, same
from tests.agree.test_lookup import DECLARED, drawn
from tests.language.support import bound

SIDES = [
    ("SELECT k FROM s [UNBOUNDED]", "SELECT k FROM u [RANGE 5 SECONDS]"),
    ("SELECT k FROM s [UNBOUNDED]", "SELECT k FROM s [RANGE 2 SECONDS]"),
    ("SELECT k FROM s [UNBOUNDED]", "SELECT k FROM u [TUMBLE 3 SECONDS]"),
    ("SELECT k FROM s [UNBOUNDED]", "SELECT k FROM u [UNBOUNDED]"),
    ("SELECT k FROM s [RANGE 7 SECONDS]", "SELECT k FROM u [RANGE 5 SECONDS]"),
    ("SELECT k, v FROM s [ROWS 3]", "SELECT k, w FROM u [ROWS 4]"),
    ("SELECT k FROM b [LAST BATCH]", "SELECT k FROM u [ROWS 4]"),
    ("SELECT k FROM b [UNBOUNDED]", "SELECT k FROM b [LAST ROW]"),
    ("SELECT max(v) AS top FROM s [ROWS 2]", "SELECT max(v) AS top FROM s [ROWS 3]"),
]


@pytest.mark.parametrize("how", ["EXCEPT", "INTERSECT"])
@pytest.mark.parametrize(("left", "right"), SIDES)
def test_a_set_operation_gives_the_models_answer(engine: Engine, left: str, right: str, how: str) -> None:
    op = bound(f"{left} {how} {right}", declared=DECLARED)
    read = {source.name for source in sources_of(op)}
    data = {name: rows for name, rows in drawn(1).items() if name in read}
    assert same(on_model(op, data), on_spark(engine, op, data))


@pytest.mark.parametrize("seconds", [5, 20, 40])
def test_what_is_silent_at_an_instant_is_in_that_state(engine: Engine, seconds: int) -> None:
    op = bound("SELECT k FROM s [UNBOUNDED] EXCEPT SELECT k FROM s [RANGE 2 SECONDS]", declared=DECLARED)
    data = {"s": drawn(1)["s"]}
    at = Instant(seconds * 1_000_000)
    assert same(on_model(op, data, at=at), on_spark(engine, op, data, at=at))
