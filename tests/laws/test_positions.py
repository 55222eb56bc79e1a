"""P1, P2, P8 and P11: positions, batches, and the order of products and unions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from astralq import relation
from astralq.model import Stream, state
from astralq.timeline import EPOCH, BatchId, Instant
from tests.generators import HORIZON, Given, S, steady_relations, streams, versioned
from tests.laws.equivalence import assert_different, assert_equivalent

instants = st.integers(0, HORIZON + 1).map(Instant)
identifiers = st.builds(BatchId, instants, st.integers(0, 3))


@given(streams())
def test_the_first_position_is_not_before_the_start(s: Stream) -> None:
    """[001 P1] τ(0) ≥ (t0, 0)."""
    if s.tuples:
        assert s.tau(0, EPOCH) >= BatchId(EPOCH, 0)


@given(streams(), identifiers)
def test_the_batch_of_the_highest_position_is_not_later(s: Stream, b: BatchId) -> None:
    """[001 P1] [001 C1] [000 C1] τ(τ⁻¹(t, i)) ≤ (t, i), with equality where (t, i) is a batch of the stream."""
    found = s.tau(s.tau_inverse(b), EPOCH)
    assert found <= b
    assert (found == b) or b not in s.batches


@given(streams())
def test_the_highest_position_of_a_batch_is_at_least_each_of_its_own(s: Stream) -> None:
    """[001 P1] τ⁻¹(τ(n)) ≥ n."""
    for t in s.tuples:
        assert s.tau_inverse(s.tau(t.n, EPOCH)) >= t.n


@given(streams(), instants)
def test_positions_of_a_younger_query_are_shifted_by_what_came_before_it(s: Stream, t1: Instant) -> None:
    """[001 P11] τ_(S,t1)(n) = τ_(S,t0)(n + D), τ⁻¹_(S,t1) = τ⁻¹_(S,t0) − D, D = τ⁻¹((t1, 0)⁻) + 1."""
    d = sum(1 for t in s.tuples if t.t < t1)
    younger = Stream.of((t.batch, t.values) for t in s.tuples if t.t >= t1)
    for n in range(len(younger.tuples)):
        assert younger.tau(n, t1) == s.tau(n + d, EPOCH)
    for b in s.batches:
        if b >= BatchId(t1, 0):
            assert younger.tau_inverse(b) == s.tau_inverse(b) - d


def test_the_product_is_not_symmetric() -> None:
    """[001 P2] [002 P1] the same pairs, grouped by the left side."""
    left, right = relation("A", "a INT"), relation("B", "b INT")
    data = {"A": [(1,), (2,)], "B": [(3,), (4,)]}
    ab = state(left.product(right), data, EPOCH)
    ba = state(right.product(left), data, EPOCH)
    assert ab == [(1, 3), (1, 4), (2, 3), (2, 4)]
    assert [(a, b) for b, a in ba] == [(1, 3), (2, 3), (1, 4), (2, 4)]


def test_the_union_is_not_symmetric() -> None:
    """[001 P2] [001 D19] [002 D11] the left side's tuples come first."""
    left, right = relation("A", "a INT"), relation("B", "a INT")
    data = {"A": [(2,)], "B": [(1,)]}
    assert state(left.union(right), data, EPOCH) == [(2,), (1,)]
    assert state(right.union(left), data, EPOCH) == [(1,), (2,)]


@given(steady_relations, versioned("T", "c INT"), versioned("U", "d INT"))
def test_the_product_is_associative(a: Given, b: Given, c: Given) -> None:
    """[001 P8] A × (B × C) = (A × B) × C, in the same order."""
    data = {**a.data, **b.data, **c.data}
    assert_equivalent(a.query.product(b.query.product(c.query)), a.query.product(b.query).product(c.query), data)


@given(streams())
def test_a_stream_is_equivalent_to_itself_and_not_to_a_part_of_it(s: Stream) -> None:
    """[001 D36] the equivalence that all laws are about."""
    assert_equivalent(S, S.where("TRUE"), {"S": s})
    if s.tuples:
        assert_different(S, S.where("_n > 0"), {"S": s})
