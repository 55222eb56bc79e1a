"""P3 to P7 and C2, C3: which operators change places with windows and streamers, and which do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astralq import (
    WindowSpec,
    general,
    last_batch,
    range_,
    relation,
    rows,
    unbounded,
)
from astralq.model import Stream
from astralq.timeline import Instant
from tests.generators import Given, S, conditions, relations, steady_relations, streams, temporal_windows, windows
from tests.laws.equivalence import assert_different, assert_equivalent
from tests.support import given as tuples


@given(streams())
def test_a_stream_is_what_its_last_batches_insert(s: Stream) -> None:
    """[001 C2] [001 P3] S ≡ I_S(S[B]) ≡ I_S(S[∞]) ≡ R_S^u(S[B])."""
    for composed in (S[last_batch()].istream(), S[unbounded()].istream(), S[last_batch()].rstream()):
        assert_equivalent(S, composed, {"S": s})


@given(streams(), st.integers(0, 4))
def test_a_stream_is_what_any_window_up_to_its_last_tuple_inserts_if_it_holds_the_last_batch(
    s: Stream, more: int
) -> None:
    """[001 C2] [001 P3] S ≡ I_S(S[α, i + k, 1n]) for k = 0 and α low enough to hold the last batch."""
    largest = max((sum(1 for t in s.tuples if t.batch == b) for b in s.batches), default=1)
    assert_equivalent(S, S[rows(largest + more)].istream(), {"S": s})


def test_a_window_that_ends_k_tuples_ahead_delays_the_stream() -> None:
    """[001 P3] [001 C2] fails for k > 0: nothing is emitted until position k, then k + 1 tuples at once."""
    ahead = S[general((0, 0), (1, 1), 1)].istream()
    assert_different(S, ahead, {"S": tuples((1, 0, (1, 1)), (2, 0, (2, 2)))})


@given(streams(), windows)
def test_projection_and_renaming_change_places_with_windows(s: Stream, w: WindowSpec) -> None:
    """[001 P4] [000 P1] Π_a,t S[α, β, r] ≡ (Π_a,t S)[α, β, r], and the same for ρ."""
    assert_equivalent(S[w].select("a"), S.select("a")[w], {"S": s})
    if not w.partition:
        assert_equivalent(S[w].rename({"a": "z"}), S.rename({"a": "z"})[w], {"S": s})


@given(streams(), temporal_windows, conditions)
def test_selection_changes_places_with_temporal_windows(s: Stream, w: WindowSpec, c: str) -> None:
    """[001 P5] [000 P2] σ_c S[α, β, r] ≡ (σ_c S)[α, β, r] for full temporal windows."""
    assert_equivalent(S[w].where(c), S.where(c)[w], {"S": s})


@given(streams(), conditions)
def test_selection_changes_places_with_the_unbounded_window(s: Stream, c: str) -> None:
    """[001 P6] [000 P3] σ_c S[∞] ≡ (σ_c S)[∞]."""
    assert_equivalent(S[unbounded()].where(c), S.where(c)[unbounded()], {"S": s})


@pytest.mark.parametrize("w", [last_batch(), rows(1), rows(2, slide=2), rows(2, slide="2 s"), range_("1 s", slide=2)])
def test_selection_does_not_change_places_with_windows_on_positions(w: WindowSpec) -> None:
    """[001 Ex14] [000 Ex6] σ / [B] and σ / ROWS n fail: the selected stream has other positions."""
    data = {"S": tuples((1, 0, (1, 1)), (2, 0, (0, 0)), (3, 0, (0, 0)), (4, 0, (1, 2)), (5, 0, (0, 0)))}
    assert_different(S[w].where("a = 1"), S.where("a = 1")[w], data)


STREAMERS = [
    pytest.param(lambda r: r.istream(), id="I_S"),
    pytest.param(lambda r: r.dstream(), id="D_S"),
    pytest.param(lambda r: r.rstream(every="2 us"), id="R_S^r"),
]


@pytest.mark.parametrize("streamer", STREAMERS)
def test_selection_and_renaming_change_places_with_streamers(streamer) -> None:  # type: ignore[no-untyped-def]
    """[001 P7] σ and ρ with I_S, D_S, R_S^r, for a condition that is not on t."""

    @given(relations, conditions)
    def law(r: Given, c: str) -> None:
        assert_equivalent(streamer(r.query).where(c), streamer(r.query.where(c)), r.data)
        assert_equivalent(streamer(r.query).rename({"a": "z"}), streamer(r.query.rename({"a": "z"})), r.data)

    law()


@pytest.mark.parametrize("streamer", STREAMERS)
def test_projection_changes_places_with_streamers_where_phi_determines_the_attributes(streamer) -> None:  # type: ignore[no-untyped-def]
    """[001 P7] Π with I_S and D_S over windows and unkeyed base relations; with R_S^r over any."""

    @given(steady_relations)
    def law(r: Given) -> None:
        assert_equivalent(streamer(r.query).select("b"), streamer(r.query.select("b")), r.data)

    law()


@given(relations)
def test_projection_changes_places_with_the_periodic_streamer_over_any_relation(r: Given) -> None:
    """[001 P7] Π R_S^r(R) ≡ R_S^r(Π R)."""
    assert_equivalent(r.query.rstream(every="2 us").select("b"), r.query.select("b").rstream(every="2 us"), r.data)


def test_projection_does_not_change_places_with_insertions_over_an_aggregate() -> None:
    """[001 P7] fails: the group's row changes in n, which is projected away, so that nothing is inserted below."""
    counted = S[unbounded()].aggregate("count(*) AS n", by="a")
    data = {"S": tuples((1, 0, (1, 1)), (2, 0, (1, 1)))}
    assert_different(counted.istream().select("a"), counted.select("a").istream(), data)
    assert_different(counted.dstream().select("a"), counted.select("a").dstream(), data)


def test_projection_does_not_change_places_with_insertions_over_a_keyed_change_log() -> None:
    """[001 P7] fails: a '+' that replaces a key keeps its φ."""
    r = relation("R", "a INT, b INT, op STRING, ts TIMESTAMP", change="op", at="ts", key="a")
    data = {"R": [(1, 1, "+", Instant(1)), (1, 2, "+", Instant(2))]}
    assert_different(r.istream().select("a"), r.select("a").istream(), data)


def test_selection_does_not_change_places_with_updates_where_states_share_tuples() -> None:
    """[001 P7] R_S^u fails: the tuple that is selected away changed the state."""
    data = {"S": tuples((1, 0, (1, 1)), (2, 0, (0, 0)))}
    everything = S[unbounded()]
    assert_different(everything.rstream().where("a = 1"), everything.where("a = 1").rstream(), data)


def test_projection_does_not_change_places_with_updates_where_states_share_tuples() -> None:
    """[001 P7] R_S^u fails for Π over an aggregate, whose states share the key."""
    counted = S[unbounded()].aggregate("count(*) AS n", by="a")
    data = {"S": tuples((1, 0, (1, 1)), (2, 0, (1, 1)))}
    assert_different(counted.rstream().select("a"), counted.select("a").rstream(), data)


@given(streams(), conditions)
def test_selection_and_projection_change_places_with_updates_where_states_share_none(s: Stream, c: str) -> None:
    """[001 P7] R_S^u over S[B], whose consecutive states share no tuple."""
    last = S[last_batch()]
    assert_equivalent(last.rstream().where(c), last.where(c).rstream(), {"S": s})
    assert_equivalent(last.rstream().select("b"), last.select("b").rstream(), {"S": s})
    assert_equivalent(last.rstream().rename({"a": "z"}), last.rename({"a": "z"}).rstream(), {"S": s})


@given(streams(), conditions)
def test_selection_on_a_stream_is_a_composition(s: Stream, c: str) -> None:
    """[001 C3] [001 D30] σ_c S ≡ I_S(σ_c S[B]) ≡ I_S(σ_c S[∞]) ≡ R_S^u(σ_c S[B])."""
    for composed in (
        S[last_batch()].where(c).istream(),
        S[unbounded()].where(c).istream(),
        S[last_batch()].where(c).rstream(),
    ):
        assert_equivalent(S.where(c), composed, {"S": s})
