"""Operators by value, outer joins, aggregates, streamers and past states (docs/decisions.md and §3)."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import pytest

from astralq.algebra.domain import Custom, Domain, Floor, Shift
from astralq.algebra.extents import relation, stream
from astralq.algebra.fluent import RelationQuery
from astralq.algebra.windows import last_row, range_, rows, unbounded
from astralq.model import Data, Stream
from astralq.timeline import BatchId, Duration, Instant
from tests.support import answer, at, given, sec, single

A = stream("A", "v INT")[unbounded()]
B = stream("B", "v INT")[unbounded()]
LEFT = stream("L", "k INT")[unbounded()]
RIGHT = stream("M", "j INT, w STRING")[unbounded()]
S = stream("S", "v STRING")
GROUPS = stream("S", "id STRING, v INT")[unbounded()]
DOUBLES = stream("S", "v DOUBLE")[unbounded()]
LOG = relation("R", "v STRING, op STRING, ts TIMESTAMP", change="op", at="ts")
CHANGES: Data = {"R": [("a", "+", sec(1)), ("b", "+", sec(3)), ("a", "-", sec(5)), ("c", "+", sec(8))]}
"""{a} from 1, {a, b} from 3, {b} from 5, {b, c} from 8."""


def arrived(*values: Any) -> Stream:
    """A stream of one batch at second 1, in the order given."""
    return single(*((v, 1) for v in values))


def pair(a: list[int | None], b: list[int | None]) -> Data:
    return {"A": arrived(*a), "B": arrived(*b)}


def of_doubles(item: str, *values: float | None) -> Any:
    [(value,)] = at(DOUBLES.aggregate(f"{item} AS result"), {"S": arrived(*values)}, 1)
    return value


# Sets and bags by value


def test_union_by_value_has_each_value_once_in_the_order_of_values() -> None:
    """[002 D11] SQL's UNION; NULLs are first, and equal to each other."""
    assert at(A.union_values(B), pair([2, None, 3, 2], [3, 1, None]), 1) == [(None,), (1,), (2,), (3,)]


def test_intersection_by_value_has_each_common_value_once() -> None:
    """[002 D3] Whatever the φ on either side."""
    assert at(A.intersect_values(B), pair([3, 1, 3, 2], [9, 3, 1]), 1) == [(1,), (3,)]


def test_difference_by_value_has_each_remaining_value_once() -> None:
    """[002 D3] One equal tuple on the right takes out all on the left."""
    assert at(A.except_values(B), pair([3, 1, 3, 2, 2], [2]), 1) == [(1,), (3,)]


def test_except_all_drops_the_lowest_identifier_first() -> None:
    """[002 D3] Of 1, 2, 1 the first 1 goes; the rest keeps its order."""
    assert at(A.except_values(B, all=True), pair([1, 2, 1], [1]), 1) == [(2,), (1,)]


def test_except_all_drops_as_many_as_there_are() -> None:
    """[002 D3] Bags: two of three."""
    assert at(A.except_values(B, all=True), pair([5, 5, 5], [5, 5, 7]), 1) == [(5,)]


def test_intersect_all_keeps_as_many_as_both_have() -> None:
    """[002 D3] Bags: two of three."""
    assert at(A.intersect_values(B, all=True), pair([5, 5, 5, 6], [5, 5, 7]), 1) == [(5,), (5,)]


def test_the_difference_of_001_counts_identifiers() -> None:
    """[002 D3] Equal values at other positions are other tuples; by value they are the same."""
    data = pair([7, 8], [8, 7])
    assert at(A.difference(B), data, 1) == [(7,), (8,)]
    assert at(A.except_values(B), data, 1) == []


def test_distinct_is_ordered_by_value() -> None:
    """[002 D3] NULL is one value, and the first."""
    assert at(A.distinct(), {"A": arrived(3, None, 1, 3, None)}, 1) == [(None,), (1,), (3,)]


def test_a_distinct_value_stays_the_same_tuple_while_one_of_its_tuples_is_there() -> None:
    """[002 D2] It is identified by its value: the second a is not inserted, the first a's end deletes nothing."""
    q = S[rows(2)].distinct()
    data: Data = {"S": single(("a", 1), ("a", 2), ("b", 3), ("b", 4))}
    assert answer(q, data) == [("+", 1, 0, "a"), ("+", 3, 0, "b"), ("-", 4, 0, "a")]


# Joins


def joined(how: str) -> list[tuple[Any, ...]]:
    data: Data = {"L": arrived(2, 1, 3), "M": single((4, "d", 1), (1, "b", 1), (1, "a", 1))}
    return at(LEFT.join(RIGHT, on="k = j", how=how), data, 1)


def test_a_left_join_keeps_the_order_of_the_left_side() -> None:
    """[002 D10] An unmatched left tuple has φ_left ++ (⊥), so it stands where its matches would."""
    assert joined("left") == [(2, None, None), (1, 1, "b"), (1, 1, "a"), (3, None, None)]


def test_a_right_joins_unmatched_tuples_come_last() -> None:
    """[002 D10] Though d is the first tuple of its side."""
    assert joined("right") == [(1, 1, "b"), (1, 1, "a"), (None, 4, "d")]


def test_a_full_join_is_left_first_and_unmatched_right_last() -> None:
    """[002 D10] Both rules together."""
    assert joined("full") == [(2, None, None), (1, 1, "b"), (1, 1, "a"), (3, None, None), (None, 4, "d")]


def test_several_unmatched_right_tuples_keep_their_order() -> None:
    """[002 D10] Behind everything, by φ_right."""
    data: Data = {"L": arrived(1), "M": single((9, "z", 1), (1, "m", 1), (8, "y", 1))}
    assert at(LEFT.join(RIGHT, on="k = j", how="full"), data, 1) == [(1, 1, "m"), (None, 9, "z"), (None, 8, "y")]


def test_an_unmatched_tuple_is_deleted_when_its_match_arrives() -> None:
    """[002 D2] φ_left ++ (⊥) is another tuple than φ_left ++ φ_right."""
    data: Data = {"L": single((1, 1)), "M": single((1, "a", 2))}
    assert answer(LEFT.join(RIGHT, on="k = j", how="left"), data) == [
        ("+", 1, 0, 1, None, None),
        ("-", 2, 0, 1, None, None),
        ("+", 2, 0, 1, 1, "a"),
    ]


def test_null_matches_nothing() -> None:
    """[002 D10] NULL = NULL is not true, so both sides stay unmatched."""
    data: Data = {"L": arrived(None), "M": single((None, "a", 1))}
    assert at(LEFT.join(RIGHT, on="k = j", how="full"), data, 1) == [(None, None, None), (None, None, "a")]


def test_a_semi_join_keeps_identity_and_order_of_the_left_side() -> None:
    """[002 D2] A second match does not insert the tuple again."""
    data: Data = {"L": single((2, 1), (1, 1), (2, 1)), "M": single((1, "a", 2), (2, "b", 3), (1, "c", 4))}
    q = LEFT.join(RIGHT, on="k = j", how="semi")
    assert answer(q, data) == [("+", 2, 0, 1), ("+", 3, 0, 2), ("+", 3, 0, 2)]
    assert at(q, data, 4) == [(2,), (1,), (2,)]


def test_an_anti_join_keeps_identity_and_order_of_the_left_side() -> None:
    """[002 D2] What has no match, until it has one."""
    data: Data = {"L": single((2, 1), (1, 1), (3, 1)), "M": single((1, "a", 2))}
    q = LEFT.join(RIGHT, on="k = j", how="anti")
    assert at(q, data, 1) == [(2,), (1,), (3,)]
    assert at(q, data, 2) == [(2,), (3,)]


def test_a_division_has_what_goes_with_every_tuple_of_the_divisor() -> None:
    """[002 D3] a and c go with 1 and 2, b only with 1."""
    dividend, divisor = relation("P", "s STRING, c INT"), relation("C", "c INT")
    data: Data = {"P": [("a", 1), ("a", 2), ("b", 1), ("c", 1), ("c", 2), ("c", 3)], "C": [(1,), (2,)]}
    assert at(dividend.divide(divisor), data, 0) == [("a",), ("c",)]


def test_everything_goes_with_every_tuple_of_nothing() -> None:
    """[002 D3] Division by an empty relation, each value once."""
    dividend, divisor = relation("P", "s STRING, c INT"), relation("C", "c INT")
    assert at(dividend.divide(divisor), {"P": [("a", 1), ("a", 2), ("b", 1)], "C": []}, 0) == [("a",), ("b",)]


# Aggregates


def test_a_global_aggregate_over_nothing_is_one_row() -> None:
    """[003 WindowAggregation] count 0, others NULL."""
    q = A.where("v > 99").aggregate(
        "count(*) AS n, count(v) AS m, sum(v) AS s, avg(v) AS a, min(v) AS lo, max(v) AS hi"
    )
    assert at(q, {"A": arrived(1)}, 1) == [(0, 0, None, None, None, None)]


def test_a_global_aggregate_has_its_row_before_anything_arrives() -> None:
    """[003 WindowAggregation] Always exactly one row."""
    assert at(A.aggregate("count(*) AS n"), {"A": single((1, 5))}, 4) == [(0,)]


def test_an_aggregate_by_group_over_nothing_has_no_row() -> None:
    """[003 WindowAggregation] No tuples, no groups."""
    assert at(GROUPS.where("v > 99").aggregate("count(*) AS n", by="id"), {"S": single(("a", 1, 1))}, 1) == []


def test_groups_are_ordered_by_their_key() -> None:
    """[002 D2] Not by arrival; the group of NULL is the first."""
    data: Data = {"S": single(("b", 1, 1), ("a", 2, 1), (None, 3, 1), ("b", 4, 1))}
    assert at(GROUPS.aggregate("sum(v) AS s", by="id"), data, 1) == [(None, 3), ("a", 2), ("b", 5)]


def test_istream_of_a_group_emits_when_its_values_change() -> None:
    """[002 D2] The row is identified by its key: a 2 below the maximum 3 changes nothing."""
    data: Data = {"S": single(("a", 1, 1), ("a", 3, 2), ("a", 2, 3), ("b", 2, 4))}
    q = GROUPS.aggregate("max(v) AS top", by="id").istream()
    assert answer(q, data) == [(1, 0, "a", 1), (2, 0, "a", 3), (4, 0, "b", 2)]


def test_aggregates_leave_out_nulls() -> None:
    """[003 WindowAggregation] Only count(*) counts them; an average is over the values that are there."""
    q = A.aggregate("count(*) AS n, count(v) AS m, sum(v) AS s, avg(v) AS a, min(v) AS lo, max(v) AS hi")
    assert at(q, {"A": arrived(None, 1, None, 3)}, 1) == [(4, 2, 4, 2.0, 1, 3)]


def test_aggregates_of_nulls_only_are_null() -> None:
    """[003 WindowAggregation] As over nothing, but for count(*)."""
    q = A.aggregate("count(*) AS n, count(v) AS m, sum(v) AS s, avg(v) AS a, min(v) AS lo")
    assert at(q, {"A": arrived(None, None)}, 1) == [(2, 0, None, None, None)]


def test_first_and_last_are_in_the_order_of_the_relation() -> None:
    """[002 D3] By φ, not by value."""
    q = A.aggregate("first(v) AS f, last(v) AS l")
    assert at(q, {"A": arrived(2, 9, 1, 5)}, 1) == [(2, 5)]


def test_first_and_last_of_a_product_are_in_its_order() -> None:
    """[002 D10] The left side leads."""
    q = A.product(B.rename({"v": "w"})).aggregate("first(w) AS f, last(w) AS l, first(v) AS g")
    assert at(q, pair([7, 3], [4, 6]), 1) == [(4, 6, 7)]


def test_ten_tenths_are_one() -> None:
    """[003 WindowAggregation] The exact sum of doubles, rounded once."""
    assert of_doubles("sum(v)", *[0.1] * 10) == 1.0
    assert of_doubles("avg(v)", *[0.1] * 10) == 0.1


@pytest.mark.parametrize("values", list(permutations([1e16, 1.0, -1e16])))
def test_a_sum_of_doubles_does_not_depend_on_their_order(values: tuple[float, ...]) -> None:
    """[003 WindowAggregation] It depends on the bag of values only."""
    assert of_doubles("sum(v)", *values) == 1.0


def test_count_distinct_counts_values() -> None:
    """[003 WindowAggregation] NULL is not one of them."""
    q = A.aggregate("count(DISTINCT v) AS n")
    assert at(q, {"A": arrived(3, 1, 3, None, None)}, 1) == [(2,)]


def test_the_median_is_the_middle_or_between_the_two_middles() -> None:
    """[003 WindowAggregation] Whatever the order of arrival."""
    assert of_doubles("median(v)", 4.0, 1.0, 2.0) == 2.0
    assert of_doubles("median(v)", 4.0, 1.0, 2.0, 3.0) == 2.5
    assert of_doubles("median(v)") is None


def test_percentiles_go_from_the_least_to_the_greatest_value() -> None:
    """[003 WindowAggregation] Of five values, each quarter is one of them."""
    values = (50.0, 10.0, 40.0, 20.0, 30.0)
    assert [of_doubles(f"percentile(v, {p})", *values) for p in (0, 0.25, 0.5, 0.75, 1)] == [
        10.0,
        20.0,
        30.0,
        40.0,
        50.0,
    ]


def test_the_standard_deviation_of_one_value_is_null() -> None:
    """[003 WindowAggregation] A sample of one has none; a population of one has 0."""
    assert of_doubles("stddev(v)", 5.0) is None
    assert of_doubles("variance(v)", 5.0) is None
    assert of_doubles("stddev_pop(v)", 5.0) == 0.0


def test_standard_deviations_are_of_the_sample_or_the_population() -> None:
    """[003 WindowAggregation] Σ(x − 5)² is 32 over eight values: 32/8 = 4; for 1 and 3 it is 2, over n − 1 = 1."""
    assert of_doubles("stddev_pop(v)", 2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0) == 2.0
    assert of_doubles("variance(v)", 1.0, 3.0) == 2.0
    assert of_doubles("stddev(v)", 1.0, 3.0) == math.sqrt(2.0)


def test_variances_are_exact_too() -> None:
    """[003 WindowAggregation] Far from 0 nothing cancels: deviations -6, -3, 3, 6 give 90 / 3; equal values give 0."""
    assert of_doubles("variance(v)", 1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16) == 30.0
    assert of_doubles("stddev(v)", 0.1, 0.1, 0.1) == 0.0
    assert of_doubles("stddev_pop(v)", 2.0**-170, 3 * 2.0**-170) == 2.0**-170


def test_variances_have_a_grid_and_a_reach() -> None:
    """A denormal beside ordinary values is 0 to them; beyond 2^256 there is no variance, as of infinities."""
    assert of_doubles("var_pop(v)", 1.0, 3.0, 2.0, 5e-324, 4.0) == 2.0
    assert math.isnan(of_doubles("stddev_pop(v)", 1.0, 2.0**256))
    assert math.isnan(of_doubles("variance(v)", 1.0, math.inf))


# Streamers


def test_rstream_emits_the_state_at_every_change() -> None:
    """[002 D12] Also where a tuple only leaves: a tuple of RANGE 5 at 1 is in until 6 inclusive."""
    data: Data = {"S": single(("a", 1), ("b", 3))}
    assert answer(S[range_("5 s")].rstream(), data, until=10) == [
        (1, 0, "a"),
        (3, 0, "a"),
        (3, 0, "b"),
        ("6.000001", 0, "b"),
    ]


def test_rstream_on_insert_emits_the_state_at_insertions_only() -> None:
    """[002 D12] Not when a leaves."""
    data: Data = {"S": single(("a", 1), ("b", 3), ("c", 9))}
    assert answer(S[range_("5 s")].rstream(on_insert=True), data) == [
        (1, 0, "a"),
        (3, 0, "a"),
        (3, 0, "b"),
        (9, 0, "c"),
    ]


def test_rstream_on_insert_takes_a_new_value_for_an_insertion() -> None:
    """[002 D12] A group's row with another value is another tuple."""
    q = GROUPS.aggregate("max(v) AS top", by="id").rstream(on_insert=True)
    data: Data = {"S": single(("a", 1, 1), ("b", 5, 2), ("a", 0, 3), ("a", 7, 4))}
    assert answer(q, data) == [(1, 0, "a", 1), (2, 0, "a", 1), (2, 0, "b", 5), (4, 0, "a", 7), (4, 0, "b", 5)]


def test_dstream_emits_in_the_order_of_the_state_before() -> None:
    """[002 D12] Tuples that leave together keep their order, and are stamped when they leave."""
    data: Data = {"S": single(("b", 1), ("a", 1))}
    assert answer(S[range_("5 s")].dstream(), data, until=10) == [("6.000001", 0, "b"), ("6.000001", 0, "a")]


def test_rstream_every_emits_the_state_at_every_period() -> None:
    """[002 D12] Changed or not."""
    data: Data = {"S": single(("a", 3), ("b", 10), ("c", 12))}
    assert answer(S[unbounded()].rstream(every="10 s"), data, until=30) == [
        (10, 0, "a"),
        (10, 0, "b"),
        (20, 0, "a"),
        (20, 0, "b"),
        (20, 0, "c"),
        (30, 0, "a"),
        (30, 0, "b"),
        (30, 0, "c"),
    ]


def test_rstream_every_emits_once_at_the_first_batch_of_the_instant() -> None:
    """[002 D12] R(t, 0) at (t, 0): what comes at (10, 1) shows at 20."""
    data: Data = {"S": given((10, 0, ("a",)), (10, 1, ("b",)))}
    assert answer(S[unbounded()].rstream(every="10 s"), data, until=20) == [(10, 0, "a"), (20, 0, "a"), (20, 0, "b")]


def test_rstream_every_counts_from_the_start_of_the_query() -> None:
    """[002 D12] t − t0 ∈ rℕ."""
    data: Data = {"S": single(("a", 3), ("b", 9))}
    assert answer(S[unbounded()].rstream(every="5 s"), data, t0=2, until=12) == [
        (7, 0, "a"),
        (12, 0, "a"),
        (12, 0, "b"),
    ]


PASSING: Data = {"S": single(("a", 3), ("b", 10), ("c", 12), ("d", 18))}
"""With RANGE 5: {} at 0, {b} at 10, {d} at 20, {} at 30; a and c come and go between."""


def test_istream_every_emits_what_is_new_since_the_period_before() -> None:
    """[002 D12] Compared at t and t − r."""
    q = S[range_("5 s")].istream(every="10 s")
    assert answer(q, PASSING, t0=0, until=30) == [(10, 0, "b"), (20, 0, "d")]


def test_dstream_every_emits_what_has_gone_since_the_period_before() -> None:
    """[002 D12] Compared at t and t − r."""
    q = S[range_("5 s")].dstream(every="10 s")
    assert answer(q, PASSING, t0=0, until=30) == [(20, 0, "b"), (30, 0, "d")]


def test_istream_emits_an_equal_value_at_another_position() -> None:
    """[002 D2] By identity it is another tuple."""
    data: Data = {"S": single(("a", 1), ("a", 2), ("b", 3))}
    assert answer(S[last_row()].istream(), data) == [(1, 0, "a"), (2, 0, "a"), (3, 0, "b")]
    assert answer(S[last_row()].dstream(), data) == [(2, 0, "a"), (3, 0, "a")]


def test_istream_by_value_does_not_emit_an_equal_value() -> None:
    """[002 D2] CQL's bags: the same values, as often."""
    data: Data = {"S": single(("a", 1), ("a", 2), ("b", 3))}
    assert answer(S[last_row()].istream(by_value=True), data) == [(1, 0, "a"), (3, 0, "b")]
    assert answer(S[last_row()].dstream(by_value=True), data) == [(3, 0, "a")]


def test_istream_by_value_emits_one_more_of_a_value() -> None:
    """[002 D2] Bags, not sets."""
    data: Data = {"S": single(("a", 1), ("a", 2))}
    assert answer(S[unbounded()].istream(by_value=True), data) == [(1, 0, "a"), (2, 0, "a")]


# Past states, D_c^f


def test_a_fixed_relation_is_frozen_at_its_instant_and_empty_before() -> None:
    """[002 D6] R^ts."""
    q = LOG.at(sec(3))
    assert at(q, CHANGES, "2.999999") == []
    assert at(q, CHANGES, 3) == [("a",), ("b",)]
    assert at(q, CHANGES, 9) == [("a",), ("b",)]


def test_a_fixed_relation_is_the_state_at_the_first_batch_of_its_instant() -> None:
    """[002 D6] f(t, i) = (ts, 0)."""
    data: Data = {"S": given((3, 0, ("a",)), (3, 1, ("b",)), (4, 0, ("c",)))}
    assert at(S[unbounded()].at(sec(3)), data, 4) == [("a",)]


def test_a_relation_at_start_is_frozen_at_the_given_start() -> None:
    """[002 D6] START means t0 if it was given."""
    assert at(LOG.at_start(), CHANGES, 9, t0=4) == [("a",), ("b",)]


def test_a_relation_at_start_is_frozen_at_the_first_observed_instant() -> None:
    """[002 D6] Where no t0 was given: at 1, the first batch of any source."""
    assert at(LOG.at_start(), CHANGES, 9) == [("a",)]


def test_a_delayed_relation_is_as_it_was_some_time_ago() -> None:
    """[002 D6] f(t, i) = (t − 2 s, i)."""
    assert answer(LOG.delayed("2 s"), CHANGES, until=10) == [
        ("+", 3, 0, "a"),
        ("+", 5, 0, "b"),
        ("-", 7, 0, "a"),
        ("+", 10, 0, "c"),
    ]


def test_a_delayed_relation_keeps_the_batches() -> None:
    """[002 D6] The index of the batch does not move."""
    data: Data = {"S": given((1, 0, ("a",)), (1, 1, ("b",)))}
    assert answer(S[unbounded()].delayed("2 s"), data, until=5) == [("+", 3, 0, "a"), ("+", 3, 1, "b")]


def test_a_scanned_relation_is_as_it_was_at_the_last_scan() -> None:
    """[003 scan] f floors to 0, 4, 8, …: what happens at 1 shows at 4."""
    assert answer(LOG.scanned("4 s"), CHANGES, t0=0, until=8) == [
        ("+", 4, 0, "a"),
        ("+", 4, 0, "b"),
        ("-", 8, 0, "a"),
        ("+", 8, 0, "c"),
    ]


def test_a_scanned_relation_is_scanned_from_the_start_of_the_query() -> None:
    """[003 scan] At t0 + k·4 = 3, 7, 11."""
    assert answer(LOG.scanned("4 s"), CHANGES, t0=3, until=12) == [
        ("+", 3, 0, "a"),
        ("+", 3, 0, "b"),
        ("-", 7, 0, "a"),
        ("+", 11, 0, "c"),
    ]


def even_second(b: BatchId) -> BatchId:
    return BatchId(Instant(b.t - b.t % 2_000_000), 0)


def reaching(b: BatchId) -> BatchId:
    """The first identifier whose even second is at or after b."""
    floor = even_second(b)
    return b if floor == b else BatchId(Instant(floor.t + 2_000_000), 0)


def test_any_look_into_the_past_is_a_function() -> None:
    """[002 D6] Floored to even seconds: the changes at 1, 3, 5 and 8 show at 2, 4, 6 and 8."""
    q = RelationQuery(Domain(LOG.operator, Custom("THE LAST EVEN SECOND", even_second, reaching)))
    assert answer(q, CHANGES) == [("+", 2, 0, "a"), ("+", 4, 0, "b"), ("-", 6, 0, "a"), ("+", 8, 0, "c")]


def test_a_condition_shows_a_relation_only_during_its_intervals() -> None:
    """[002 D6] Half-open [2, 4) and [6, ∞), empty in between."""
    q = Domain(LOG.operator, Shift(Duration(0)), ((sec(2), sec(4)), (sec(6), None)))
    assert answer(q, CHANGES) == [
        ("+", 2, 0, "a"),
        ("+", 3, 0, "b"),
        ("-", 4, 0, "a"),
        ("-", 4, 0, "b"),
        ("+", 6, 0, "b"),
        ("+", 8, 0, "c"),
    ]


def test_a_condition_is_on_the_present_not_on_the_past() -> None:
    """[002 D6] D_c^f is R(f(t, i)) if c(t, i): during [5, 7) the state of two seconds ago, [3, 5)."""
    q = Domain(LOG.operator, Shift(Duration(2_000_000)), ((sec(5), sec(7)),))
    assert at(q, CHANGES, "4.999999") == []
    assert at(q, CHANGES, 5) == [("a",), ("b",)]
    assert at(q, CHANGES, 7) == []


def test_a_condition_can_cut_a_scan() -> None:
    """[003 scan] During [5, 9) the scans of 4 and 8."""
    q = Domain(LOG.operator, Floor(Duration(4_000_000)), ((sec(5), sec(9)),))
    assert answer(q, CHANGES, t0=0, until=9) == [
        ("+", 5, 0, "a"),
        ("+", 5, 0, "b"),
        ("-", 8, 0, "a"),
        ("+", 8, 0, "c"),
        ("-", 9, 0, "b"),
        ("-", 9, 0, "c"),
    ]
