"""What nobody observes may change: columns become NULL, φ gets a tag, and the answer stays."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from astralq import range_, relation, rows, stream
from astralq.algebra.base import Kind, Operator
from astralq.algebra.observed import Observed, observed
from astralq.algebra.relational import Project, Select, SetKind, SetOperation
from astralq.errors import AstralError, PlanError
from astralq.expr.nodes import Cast, Column, Literal
from astralq.laws.lower import lower
from astralq.schema import BOOLEAN, NULL
from tests.agree.compare import Rows, on_model
from tests.queries import Case, nth


def changed_at(query: Operator, place: int, change: Callable[[Operator], Operator]) -> Operator:
    """The query with the operator at a place, as `walk` counts them, changed."""
    count = iter(range(10_000))

    def visit(op: Operator) -> Operator:
        here = next(count)
        children = [visit(c) for c in op.children]
        rebuilt = op.with_children(*children) if children else op
        return change(rebuilt) if here == place else rebuilt

    return visit(query)


def answered(query: Operator, case: Case) -> Rows | str:
    try:
        return on_model(query, case.data)
    except AstralError:
        return "an error"


def without(op: Operator, seen: Observed) -> Operator:
    """The operator with NULL in all columns that nobody looks at."""
    items = [
        (a.name, Column(a.type, a.name) if a.name.lower() in seen.columns else Cast(a.type, Literal(NULL, None), True))
        for a in op.schema
    ]
    return Project(op, tuple(items))


def tagged(op: Operator) -> Operator:
    """The same relation with 0 before every φ."""
    nothing = Select(op, Literal(BOOLEAN, False))
    return SetOperation(op, nothing, SetKind.UNION)


@pytest.mark.generated(share=2)
def test_columns_that_nobody_looks_at_may_be_null(seed: int) -> None:
    case = nth(seed)
    query = lower(case.query.operator)
    expected = answered(query, case)
    for place, (op, seen) in enumerate(observed(query)):
        hidden = {n.lower() for n in op.schema.names} - seen.columns
        if not hidden or op.kind is Kind.WINDOWS or op.schema.location is not None:
            continue
        changed = changed_at(query, place, lambda op, seen=seen: without(op, seen))  # type: ignore[misc]
        assert answered(changed, case) == expected, (op, hidden, case)


@pytest.mark.generated(share=2)
def test_a_phi_that_nobody_looks_at_may_be_another(seed: int) -> None:
    case = nth(seed)
    query = lower(case.query.operator)
    expected = answered(query, case)
    for place, (op, seen) in enumerate(observed(query)):
        if op.kind is not Kind.RELATION or seen.phi or seen.columns & {"_t", "_i", "_n"}:
            continue
        try:
            changed = changed_at(query, place, tagged)
        except PlanError:
            continue  # a SINGLE JOIN wants to know a key, and a union has none
        assert answered(changed, case) == expected, (op, case)


def test_something_is_unobserved_often_enough_to_be_tried() -> None:
    found = [(op, seen) for seed in range(160) for op, seen in observed(lower(nth(seed).query.operator))]
    hidden = [1 for op, seen in found if {n.lower() for n in op.schema.names} - seen.columns]
    assert len(hidden) >= 30
    assert sum(seen.phi for _, seen in found) >= 20
    assert sum(not seen.order for _, seen in found) >= 20


# By hand

S = stream("S", "id INT, v INT, w INT, ts TIMESTAMP", timestamp="ts")
R = relation("R", "id INT, name STRING")


def seen_of(query: Operator, kind: str) -> Observed:
    return next(seen for op, seen in observed(query) if type(op).__name__ == kind)


def test_an_average_looks_at_neither_order_nor_other_columns() -> None:
    query = S[range_("1 min")].aggregate("avg(v) AS m", by="id").operator
    assert seen_of(query, "StreamSource") == Observed(False, False, False, frozenset({"id", "v"}))


def test_windows_by_rows_look_at_positions_and_so_at_all_that_orders_a_stream() -> None:
    query = S[rows(3)].aggregate("avg(v) AS m").operator
    assert seen_of(query, "Window").columns == {"v"}
    found = seen_of(query, "StreamSource")
    assert found.positions
    assert found.columns == {"id", "v", "w", "ts"}


def test_an_intersection_by_phi_looks_at_phi_itself() -> None:
    query = S[rows(3)].intersection(S[range_("1 min")]).operator
    assert seen_of(query, "Window").phi
    assert seen_of(query, "StreamSource").positions


def test_a_semi_join_looks_at_what_it_compares_only() -> None:
    query = S[range_("1 min")].join(R.rename({"id": "i"}), "id = i", how="semi").operator
    renamed = seen_of(query, "Rename")
    assert renamed == Observed(False, False, False, frozenset({"i"}), identity=False)


def test_a_streamer_looks_at_all_values_of_rows_that_keep_their_phi_when_they_change() -> None:
    """ISTREAM emits a group's row when its mean changes, though nobody shows the mean."""
    query = S[range_("1 min")].aggregate("avg(v) AS m", by="id").istream().select("id").operator
    assert seen_of(query, "IStream").columns == {"id"}
    assert seen_of(query, "GroupBy").columns == {"id", "m"}
    assert seen_of(S[range_("1 min")].istream().select("id").operator, "Window").columns == {"id"}


def test_a_window_looks_at_what_it_is_partitioned_by() -> None:
    query = S[range_("1 min").by("w")].aggregate("count(*) AS n").operator
    assert seen_of(query, "Window").columns == frozenset()
    assert seen_of(query, "StreamSource").columns == {"w"}


def test_different_values_look_at_all_values_and_at_no_order() -> None:
    query = S[range_("1 min")].select("id, v").distinct().select("id").operator
    (_, seen) = observed(query)[2]
    assert seen == Observed(False, False, False, frozenset({"id", "v"}), identity=False)


def test_a_limit_looks_at_the_order_and_an_order_at_its_keys() -> None:
    query = S[range_("1 min")].order_by("w").limit(1, per="id", by="v").aggregate("count(*) AS n").operator
    assert seen_of(query, "OrderBy") == Observed(True, False, False, frozenset({"id", "v"}), identity=False)
    assert seen_of(query, "Window") == Observed(True, False, False, frozenset({"id", "v", "w"}), identity=False)
    unordered = S[range_("1 min")].order_by("w").aggregate("count(*) AS n").operator
    assert seen_of(unordered, "Window") == Observed(False, False, False, frozenset(), identity=False)


def test_who_asks_whether_a_tuple_is_the_same_in_two_states() -> None:
    r = R.order_by("name").select("id")
    asks = {
        "the answer": r.operator,
        "what is new": r.istream().operator,
        "a state at every change": r.rstream().operator,
        "a state now and then": r.rstream("1 min").operator,
        "what is new by value": r.istream(by_value=True).operator,
        "different values": r.distinct().operator,
    }
    found = {name: seen_of(query, "OrderBy").identity for name, query in asks.items()}
    assert [name for name, identity in found.items() if identity] == list(asks)[:3]
