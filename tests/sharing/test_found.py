"""Ways to break sharing that a reviewer found: each gives the answers of the queries alone, or is not shared."""

from __future__ import annotations

import pytest

from astralq import WindowSpec, at_instants, range_, rows, stream, tumble
from astralq.algebra.base import HasOperator, operator_of
from astralq.algebra.fluent import RelationQuery
from astralq.algebra.relational import GroupBy
from astralq.algebra.schedules import Measure
from astralq.algebra.sources import StartedAt
from astralq.expr.parse import expression
from astralq.laws.optimize import optimize
from astralq.laws.samples import S, W, tuples
from astralq.model import run
from astralq.model.sources import Data
from astralq.plan.group_plan import signature
from astralq.plan.operators.expressions import Names, compiled
from astralq.plan.table import Scan
from astralq.schema import Schema
from astralq.sharing.common import Rooted
from astralq.sharing.queries import join, share
from astralq.timeline import Instant

EIGHT: Data = {"W": [(k, 7 - k, Instant(k)) for k in range(8)]}
W3 = stream("W3", "a INT, b INT, c INT, ts TIMESTAMP", timestamp="ts")


def rooted(*queries: tuple[HasOperator, int]) -> list[Rooted]:
    return [Rooted(f"q{k}", optimize(operator_of(q)).after, Instant(t)) for k, (q, t) in enumerate(queries)]


def answer(query: Rooted, data: Data) -> object:
    return run(query.query, data, t0=query.t0, until=Instant(20)).rows


def assert_the_same(before: list[Rooted], data: Data) -> None:
    for live in (False, True):
        for one, other in zip(before, share(before, live=live).queries, strict=True):
            assert answer(one, data) == answer(other, data), other.query


def test_a_condition_without_columns_stays_below_a_global_aggregate() -> None:
    """Above it, the row with the count 0 would go."""
    counted = [W.where("FALSE")[range_("4 us", slide="2 us")], W[range_("6 us", slide="2 us")]]
    assert_the_same(rooted(*((w.aggregate("count(*) AS n"), 0) for w in counted)), EIGHT)


def test_an_attribute_may_be_called_as_the_stamp_is() -> None:
    z = stream("Z", "a INT, other TIMESTAMP, ts TIMESTAMP", timestamp="ts").select("a", "other AS _t")
    data: Data = {"Z": [(k, Instant(20 - k), Instant(k)) for k in range(8)]}
    assert_the_same(rooted((z[rows(2)], 0), (z[rows(2)], 5)), data)


def test_positions_of_an_aperiodic_window_count_from_each_start() -> None:
    instants = [Instant(3), Instant(7)]
    spec = at_instants(instants, lambda _: 0, lambda _: 1, measure=Measure.POSITION, text=("0", "1"))
    assert_the_same(rooted((S[spec], 0), (S[spec], 2)), {"S": tuples(*((t, t, t) for t in range(9)))})


@pytest.mark.parametrize("spec", [range_("4 us"), rows(2), tumble("10 us")], ids=str)
def test_a_view_that_starts_later_does_not_serve_a_query(spec: WindowSpec) -> None:
    running, new = rooted((RelationQuery(StartedAt(W[spec].operator, Instant(7))), 0), (W[spec], 3))
    (joined,) = join([(running, Instant(2))], new).queries
    assert answer(new, EIGHT) == answer(joined, EIGHT)


def test_a_sum_that_overflows_in_a_group_that_is_left_out_is_nobodys_error() -> None:
    b = stream("B", "a INT, b BIGINT, ts TIMESTAMP", timestamp="ts")
    queries = rooted(
        (b.where("a <> 1")[range_("4 us", slide="2 us")].aggregate("sum(b) AS n", by="a"), 0),
        (b[range_("6 us", slide="2 us")].aggregate("count(*) AS n", by="a"), 0),
    )
    data: Data = {"B": [(1, 2**63 - 1, Instant(1)), (1, 2**63 - 1, Instant(2)), (2, 5, Instant(2))]}
    assert_the_same(queries, data)


def test_panes_have_the_keys_of_all_who_use_them() -> None:
    """Also where the finest aggregation is none of them: a window without a slide has no panes."""
    queries = rooted(
        (W3[range_("4 us")].aggregate("count(*) AS n", by="a, b"), 0),
        (W3[range_("4 us", slide="2 us")].aggregate("count(*) AS n", by="a"), 0),
        (W3[range_("6 us", slide="2 us")].aggregate("count(*) AS n", by="b"), 0),
    )
    for query in share(queries, live=True).queries:
        for op in query.query.walk():
            if isinstance(op, GroupBy) and op.panes is not None:
                assert {e for _, e in op.keys} <= set(op.panes.keys)


def test_a_partition_that_nobody_reads_may_go_from_windows_by_time() -> None:
    specs = [range_(x, slide="2 us").by("b") for x in ("4 us", "6 us")]
    queries = rooted(*((W3[spec].aggregate("count(*) AS n", by="a"), 0) for spec in specs))
    assert_the_same(queries, {"W3": [(k % 2, k % 3, 0, Instant(k)) for k in range(8)]})


def test_constants_beside_decimals_are_part_of_a_plan() -> None:
    """v * 2 is DECIMAL(32,10), and v times a column of INT DECIMAL(38,7): digits would be lost."""
    schema = Schema.parse("v DECIMAL(30,10)")

    def plan(text: str) -> str:
        return signature(Scan("s", ("c0",)).select(compiled(expression(text, schema), Names(schema, ("c0",)))))

    assert plan("v * 2") != plan("v * 3")
