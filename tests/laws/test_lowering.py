"""Lowering changes how a query is written, not what it answers."""

from __future__ import annotations

import pytest

from astralq import relation, stream
from astralq.algebra.base import Operator
from astralq.algebra.relational import Divide
from astralq.algebra.stream_ops import BandJoin, Composite
from astralq.errors import AstralError
from astralq.laws.lower import lower
from tests.agree.compare import Rows, on_model
from tests.queries import BASE, Case, S, T, nth


def composites(query: Operator) -> list[str]:
    return [type(op).__name__ for op in query.walk() if isinstance(op, Composite | Divide)]


def answered(query: Operator, case: Case) -> Rows | str:
    try:
        return on_model(query, case.data)
    except AstralError as e:
        return str(e)


@pytest.mark.generated(share=2)
def test_a_lowered_query_gives_the_same_answer(seed: int) -> None:
    case = nth(seed)
    lowered = lower(case.query.operator)
    assert answered(lowered, case) == answered(case.query.operator, case), case
    assert composites(case.query.operator) or lowered is case.query.operator


def test_what_is_defined_by_others_is_gone_but_for_band_joins_by_position() -> None:
    by_rows = S.band(T.rename({"a": "c", "b": "d"}), rows=2)
    for query in (*(nth(seed).query.operator for seed in range(90)), by_rows.operator):
        assert {type(op) for op in lower(query).walk() if isinstance(op, Composite | Divide)} <= {BandJoin}
        assert all(op.within_rows is not None for op in lower(query).walk() if isinstance(op, BandJoin))


def test_core_operators_stay_as_they_are() -> None:
    query = BASE[0].where("a > 1").istream().operator
    assert lower(query) is query


def test_a_division_is_written_with_products_and_differences() -> None:
    left, right = relation("L", "x INT, y INT"), relation("R", "y INT")
    assert str(lower(left.divide(right).operator)).splitlines()[0] == "EXCEPT"


def test_a_band_join_by_time_stands_over_windows_of_the_band() -> None:
    s, u = stream("S", "v INT"), stream("U", "w INT")
    assert "WINDOW [RANGE 5 SECONDS]" in str(lower(s.band(u, "5 s", on="v = w").operator))
    assert "WINDOW [UNBOUNDED]" in str(lower(s.band(u, on="v = w").operator))
