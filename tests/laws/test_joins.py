"""C4, C5, D34 and remark 1: selections through stream joins, and the order of band joins."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astralq import StreamQuery, last_batch, relation, stream
from astralq.model import Data, Stream
from astralq.timeline import Instant
from tests.generators import Given, S, change_logs, conditions, streams, us, versioned
from tests.laws.equivalence import assert_different, assert_equivalent, traces
from tests.support import given as tuples

S2 = stream("S2", "a INT, c INT")
S3 = stream("S3", "a INT, d INT")

related = st.one_of(versioned("R", "a INT, c INT"), change_logs("R", "a INT, c INT"))
bands = st.one_of(st.none(), st.integers(0, 4).map(us))


def band(left: StreamQuery, right: StreamQuery, within: str | None) -> StreamQuery:
    """The natural band join."""
    return left.band(right, within)


@given(streams(), related)
def test_a_selection_on_the_relation_goes_through_the_stream_join(s: Stream, r: Given) -> None:
    """[001 C4] σ_c(S ⋈ R) ≡ S ⋈ (σ_c R) for a condition on R."""
    data = {"S": s, **r.data}
    assert_equivalent(S.join(r.query).where("c > 0"), S.join(r.query.where("c > 0")), data)


@given(streams(), streams(), conditions, bands)
def test_a_selection_goes_through_the_band_join(s: Stream, s2: Stream, c: str, within: str | None) -> None:
    """[001 C4] σ_c(S ⋈^d S') ≡ (σ_c S) ⋈^d S'."""
    data = {"S": s, "S2": s2}
    assert_equivalent(band(S, S2, within).where(c), band(S.where(c), S2, within), data)


def test_a_selection_on_the_stream_does_not_go_through_the_stream_join() -> None:
    """[001 Remark1] fails: the selected stream's last batch stays when the others come."""
    s, r = (
        stream("S", "id INT"),
        relation("R", "id INT, since TIMESTAMP, till TIMESTAMP", valid_from="since", valid_to="till"),
    )
    data: Data = {
        "S": tuples((1, 0, (1,)), (2, 0, (2,)), (3, 0, (3,))),
        "R": [(0, Instant(0), Instant(2_500_000)), (1, Instant(2_500_000), None)],
    }
    rows = r.select("id")
    assert_different(s.join(rows).where("id = 1"), s.where("id = 1").join(rows), data)
    assert traces(s.join(rows).where("id = 1"), s.where("id = 1").join(rows), data)[0] == []


@given(streams(), related, conditions)
def test_a_selection_on_the_stream_goes_through_the_lookup_join(s: Stream, r: Given, c: str) -> None:
    """[001 D33] [001 Remark1] it holds for the semi-sensitive join."""
    data = {"S": s, **r.data}
    assert_equivalent(S.lookup(r.query).where(c), S.where(c).lookup(r.query), data)


@given(streams(batches=1), streams(batches=1))
def test_the_instantaneous_join_is_that_of_the_last_batches_with_one_batch_per_instant(s: Stream, s2: Stream) -> None:
    """[001 D34] ⋈⁰ = I_S(S1[B] ⋈_t S2[B]) with one batch per instant."""
    of_last = S.select("*", "_t AS t1")[last_batch()].join(
        S2.select("a AS a2", "c", "_t AS t2")[last_batch()], on="a = a2 AND t1 = t2"
    )
    assert_equivalent(band(S, S2, "0 s"), of_last.select("a", "b", "c").istream(), {"S": s, "S2": s2})


def test_the_instantaneous_join_is_not_that_of_the_last_batches_with_several_batches() -> None:
    """[001 D34] fails: a batch is not the last one any more when its partner of the same instant comes."""
    data = {"S": tuples((1, 0, (1, 1)), (1, 1, (2, 2))), "S2": tuples((1, 2, (1, 5)))}
    of_last = S.select("*", "_t AS t1")[last_batch()].join(
        S2.select("a AS a2", "c", "_t AS t2")[last_batch()], on="a = a2 AND t1 = t2"
    )
    assert_different(band(S, S2, "0 s"), of_last.select("a", "b", "c").istream(), data)


def _both_ways(within: str | None) -> tuple[StreamQuery, StreamQuery]:
    return band(S, band(S2, S3, within), within), band(band(S, S2, within), S3, within)


one_batch = streams(most=5, batches=1)


@given(one_batch, one_batch, one_batch)
def test_the_instantaneous_join_is_associative(s: Stream, s2: Stream, s3: Stream) -> None:
    """[001 C5] for d = 0, with one batch per instant."""
    assert_equivalent(*_both_ways("0 s"), {"S": s, "S2": s2, "S3": s3})


def test_the_instantaneous_join_can_differ_in_order_with_several_batches() -> None:
    """[001 C5] fails in order for d = 0: of S and S2 the pairs come in two batches, of S2 and S3 in one."""
    left = S.band(stream("S2", "c INT, d INT"), "0 s", on="a = c").band(stream("S3", "e INT, f INT"), "0 s", on="d = f")
    inner = stream("S2", "c INT, d INT").band(stream("S3", "e INT, f INT"), "0 s", on="d = f")
    data = {
        "S": tuples((1, 0, (1, 0)), (1, 0, (2, 0))),
        "S2": tuples((1, 0, (2, 5)), (1, 1, (1, 5))),
        "S3": tuples((1, 2, (0, 5))),
    }
    assert_different(left, S.band(inner, "0 s", on="a = c"), data)


@given(streams(most=5), streams(most=5), streams(most=5))
def test_the_infinite_join_is_associative_but_for_the_order_in_a_batch(s: Stream, s2: Stream, s3: Stream) -> None:
    """[001 C5] for d = ∞ the same tuples in the same batches."""
    a, b = traces(*_both_ways(None), {"S": s, "S2": s2, "S3": s3})
    assert Counter(a) == Counter(b)
    assert [batch for batch, _ in a] == [batch for batch, _ in b]


def test_the_infinite_join_can_differ_in_order() -> None:
    """[001 C5] fails for d = ∞ where order counts: the inner join stamps its tuples by emission."""
    data = {
        "S": tuples((4, 0, (1, 0))),
        "S2": tuples((1, 0, (1, 1)), (2, 0, (1, 2))),
        "S3": tuples((1, 0, (1, 3)), (3, 0, (1, 4))),
    }
    assert_different(*_both_ways(None), data)


def test_the_band_join_is_not_associative_for_other_bands() -> None:
    """[001 C5] fails outright: the inner join moves the timestamp to the later of the two."""
    data = {"S": tuples((0, 0, (1, 0))), "S2": tuples((1, 0, (1, 1))), "S3": tuples((2, 0, (1, 2)))}
    a, b = traces(*_both_ways("1 s"), data)
    assert Counter(a) != Counter(b)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_a_selection_does_not_go_through_the_band_join_by_position(rows: int) -> None:
    """[001 C4] [001 D34] by position distance it fails: the selected stream has other positions."""
    data = {"S": tuples((1, 0, (0, 0)), (2, 0, (0, 0)), (3, 0, (0, 0)), (4, 0, (1, 1))), "S2": tuples((1, 0, (1, 7)))}
    assert_different(S.band(S2, rows=rows).where("a = 1"), S.where("a = 1").band(S2, rows=rows), data)
