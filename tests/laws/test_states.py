"""What holds of every query: states change only where they say so, φ orders them, positions fit batches."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from astralq import WindowSpec
from astralq.model import Relation, Stream, prepare
from astralq.timeline import EPOCH, BatchId, Instant
from tests.generators import HORIZON, S, streams, windows
from tests.queries import Case, cases

BEFORE, AFTER = -4, HORIZON + 8
EVERYWHERE = [BatchId(Instant(t), i) for t in range(BEFORE, AFTER) for i in range(4)]


@given(cases())
def test_a_relation_changes_only_where_it_says_so(case: Case) -> None:
    """[001 D12] [000 D5] a temporal relation is a step function, and `changes` has all of its steps."""
    result = prepare(case.query, case.data, until=Instant(AFTER)).result()
    if isinstance(result, Relation):
        claimed = result.changes(EVERYWHERE[0], EVERYWHERE[-1])
        for a, b in pairwise(EVERYWHERE):
            if b not in claimed:
                assert result.at(a) == result.at(b), f"it changes at {b}"


@given(cases())
def test_phi_is_unique_in_a_state_and_orders_it(case: Case) -> None:
    """[001 D8] [002 D3] a tuple-set has a strict order."""
    result = prepare(case.query, case.data, until=Instant(AFTER)).result()
    if isinstance(result, Relation):
        for b in result.changes(EVERYWHERE[0], EVERYWHERE[-1]):
            phis = [r.phi for r in result.at(b)]
            assert all(x < y for x, y in pairwise(phis))


@given(cases())
def test_a_stream_emits_only_what_is_observed_and_in_order(case: Case) -> None:
    """[001 H1] [001 D23] positions are coherent with batches, from the first observed instant on."""
    run = prepare(case.query, case.data)
    result = run.result()
    if isinstance(result, Stream):
        assert [s.n for s in result.tuples] == list(range(len(result.tuples)))
        assert all(a.batch <= b.batch for a, b in pairwise(result.tuples))
        assert all(run.ctx.start <= s.batch <= run.ctx.end for s in result.tuples)


@given(streams(), windows, st.integers(0, 6).map(Instant))
def test_a_tuple_is_in_consecutive_states_of_a_window_only(s: Stream, w: WindowSpec, t0: Instant) -> None:
    """[001 D28] [000 D10] scopes never go back, so that one interval [from, to) says when a tuple is in."""
    result = prepare(S[w], {"S": s}, t0=t0, until=Instant(AFTER)).result()
    assert isinstance(result, Relation)
    gone: set[object] = set()
    before: set[object] = set()
    for b in EVERYWHERE:
        now: set[object] = {r.phi for r in result.at(b)}
        assert not now & gone, f"back at {b}"
        gone |= before - now
        before = now


@given(streams(), windows)
def test_a_window_holds_only_tuples_that_have_come_in_the_streams_order(s: Stream, w: WindowSpec) -> None:
    """[002 §5.2] [001 D29] s ∈ S[W] ⇒ s ∈ S, in the order of positions, partitioned or not."""
    result = prepare(S[w], {"S": s}, t0=EPOCH, until=Instant(AFTER)).result()
    assert isinstance(result, Relation)
    for b in EVERYWHERE:
        held = [r.stamp for r in result.at(b)]
        assert held == [t.stamp for t in s.tuples if t.stamp in held and t.batch <= b]
