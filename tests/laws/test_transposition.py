"""P9, P10 and C6: when the windows of an older query serve a younger one.

The older query starts at 0, the younger one at t1; the law is (σ_{t ≥ t1} S[α, β, r], t0) ≡ (S[α', β', r], t1), and it
holds from the younger query's first evaluation on.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import assume, given
from hypothesis import strategies as st

from astralq import RelationQuery, WindowSpec, at_instants, general, rows
from astralq.algebra.observed import observed
from astralq.algebra.windows import Window
from astralq.laws.rule import Site
from astralq.laws.rules.transposition import Started, served
from astralq.model import Stream, run
from astralq.timeline import EPOCH, BatchId, Instant, format_instant
from tests.generators import HORIZON, S, streams, us
from tests.laws.equivalence import assert_different, assert_equivalent
from tests.support import given as tuples
from tests.support import sec


@dataclass(frozen=True)
class Description:
    """A window sequence description α(j) = a·j + b, β(j) = c·j + d, r, on time or positions, relative to the start."""

    a: int
    b: int
    c: int
    d: int
    r: int
    temporal: bool

    @property
    def spec(self) -> WindowSpec:
        if self.temporal:
            return general((us(self.a), us(self.b)), (us(self.c), us(self.d)), us(self.r))
        return general((self.a, self.b), (self.c, self.d), self.r)


def older(spec: WindowSpec, t1: Instant) -> RelationQuery:
    """σ_{t ≥ t1} S[…], of the query that started at 0."""
    return S[spec].where(f"_t >= TIMESTAMP '{format_instant(t1)}'")


def count_before(s: Stream, t1: Instant) -> int:
    """D for positions: τ⁻¹_(S,t0)((t1, 0)⁻) + 1, the number of tuples before (t1, 0)."""
    return sum(1 for t in s.tuples if t.t < t1)


def first_evaluation(spec: Description, s: Stream, t1: Instant) -> BatchId | None:
    """When the younger query is first evaluated, None if it never is."""
    if spec.temporal:
        return BatchId(Instant(t1 + spec.d), 0)
    later = [t for t in s.tuples if t.t >= t1]
    return later[spec.d].batch if spec.d < len(later) else None


def assert_transposed(old: Description, new: Description, s: Stream, t1: Instant) -> None:
    since = first_evaluation(new, s, t1)
    if since is not None:
        end = Instant(HORIZON + 8)
        assert_equivalent(older(old.spec, t1), S[new.spec], {"S": s}, t0=(EPOCH, t1), until=end, since=since)


small = st.integers(0, 4)
starts = st.integers(0, 8).map(Instant)


@st.composite
def linear_pairs(draw: st.DrawFn, s: Stream, t1: Instant) -> tuple[Description, Description]:
    """Two descriptions that satisfy the conditions of P9 for a stream and a start."""
    temporal = draw(st.booleans())
    r = draw(st.integers(1, 4))
    k = draw(small)
    a, width = draw(st.integers(0, r)), draw(small)
    b = draw(small)
    d = b + width
    # B_t1 − B_t0 + D in the younger query's own offsets, which count from its start or its first position
    shift = t1 if temporal else count_before(s, t1)
    new_d = d + k * r - shift
    new_b = b + a * k - shift
    c = r if k != 0 else draw(st.integers(a, r))
    if a == 0 and (temporal or c != 0) and new_b <= 0:
        # Only max(B, b') counts, and any b' at or below the beginning will do.
        new_b = -draw(small)
    assume(new_d >= 0 and new_b <= new_d)
    return Description(a, b, c, d, r, temporal), Description(a, new_b, c, new_d, r, temporal)


@given(st.data(), streams(), starts)
def test_linear_windows_are_transposed(data: st.DataObject, s: Stream, t1: Instant) -> None:
    """[001 P9] [000 P4] under its conditions on K, b' and c."""
    old, new = data.draw(linear_pairs(s, t1))
    assert_transposed(old, new, s, t1)


@given(st.data(), streams(), starts)
def test_windows_with_any_bounds_are_transposed(data: st.DataObject, s: Stream, t1: Instant) -> None:
    """[001 P10] α'(i) = max(B_t1, α(i + K) − D) and β'(i) = β(i + K) − D, for bounds that are not linear."""
    r, first, k = data.draw(st.integers(1, 3)), data.draw(small), data.draw(small)
    instants = [Instant(first + j * r) for j in range(10)]
    assume(instants[k] >= t1)
    hi = dict(zip(instants, sorted(data.draw(st.integers(0, e)) for e in instants), strict=True))
    lo = dict(zip(instants, sorted(data.draw(st.integers(0, hi[e])) for e in instants), strict=True))
    assume(all(lo[e] <= hi[e] <= e for e in instants) and hi[instants[k]] >= t1)
    old = at_instants(instants, lo.__getitem__, hi.__getitem__)
    new = at_instants(instants[k:], lambda e: max(t1, lo[e]), hi.__getitem__)
    since = BatchId(instants[k], 0)
    assert_equivalent(older(old, t1), S[new], {"S": s}, t0=(EPOCH, t1), until=Instant(40), since=since)


@given(streams(), starts, st.integers(1, 3), small, small, st.booleans(), st.booleans())
def test_sliding_and_landmark_windows_are_transposed_as_they_are(
    s: Stream, t1: Instant, r: int, start: int, width: int, sliding: bool, temporal: bool
) -> None:
    """[001 C6] [000 C2] c = r and (a = r, or a = 0 and b ≤ 0), with t1 − t0 ∈ rℕ, or D ∈ rℕ in positions."""
    shift = t1 if temporal else count_before(s, t1)
    assume(shift % r == 0)
    same = (
        Description(r, start, r, start + width, r, temporal)
        if sliding
        else Description(0, -start, r, width, r, temporal)
    )
    assert_transposed(same, same, s, t1)


def test_a_positional_window_that_never_moves_is_as_wide_as_its_unclipped_bounds() -> None:
    """[001 P9] fails for a = c = 0 in positions where b' ≠ b − D: the width counts, and it is that before clipping."""
    one, two = general((0, 0), (0, 0), 1), general((0, -1), (0, 0), 1)
    data = {"S": tuples((0, 0, (1, 1)), (0, 0, (2, 2)))}
    assert_different(S[one], S[two], data, t0=(EPOCH, EPOCH))


def test_before_the_younger_query_is_evaluated_the_older_one_may_already_show_tuples() -> None:
    """[001 P9] fails before: [0, 2j + 2, 2] from 0 shows the tuple at 2; from 2 it is first evaluated at 4."""
    same = general(("2 s", "0 s"), ("2 s", "2 s"), "2 s")
    data = {"S": tuples((2, 0, (1, 1)))}
    options = {"t0": (EPOCH, sec(2)), "until": sec(8)}
    assert_different(older(same, sec(2)), S[same], data, since=BatchId(sec(2), 0), **options)
    assert_equivalent(older(same, sec(2)), S[same], data, since=BatchId(sec(4), 0), **options)


def test_the_slide_of_positions_is_the_number_of_tuples_before_the_start() -> None:
    """[001 P11] [001 C6] D = τ⁻¹((t1, 0)⁻) + 1; 000's D = τ⁻¹(t1) is off by one and lets a wrong pair through.

    With tuples at 0, 1, 2 and t1 = 2, 000 has D = τ⁻¹(2, 0) = 2 ∈ 2ℕ and 001 has D = 2. With tuples at 0, 2, 2 and
    t1 = 2, 000 has D = 2 ∈ 2ℕ, but only one tuple came before: the younger query pairs from the second tuple on.
    """
    pairs = general((2, 0), (2, 1), 2)
    fine = {"S": tuples((0, 0, (0, 0)), (1, 0, (1, 1)), (2, 0, (2, 2)), (3, 0, (3, 3)), (4, 0, (0, 0)))}
    wrong = {"S": tuples((0, 0, (0, 0)), (2, 0, (1, 1)), (2, 0, (2, 2)), (3, 0, (3, 3)), (4, 0, (0, 0)))}
    options = {"t0": (EPOCH, sec(2)), "since": BatchId(sec(3), 0)}
    assert_equivalent(older(pairs, sec(2)), S[pairs], fine, **options)
    assert_different(older(pairs, sec(2)), S[pairs], wrong, **options)


@given(streams(), starts, st.integers(2, 3), small)
def test_windows_by_rows_are_served_where_the_tuples_before_are_counted(
    s: Stream, t1: Instant, r: int, width: int
) -> None:
    """[001 P11] The optimizer's own decision, where it knows D: it serves exactly if D is a multiple of the slide."""
    assume(t1 > EPOCH)
    window = S[rows(width + 1, slide=r)].operator
    assert isinstance(window, Window)
    old, new = Started(window, EPOCH), Started(window, t1)
    site = Site(observed(window)[0][1])
    before = count_before(s, t1)
    made = served(old, new, site, {"S": before})
    assert (made is not None) == (before % r == 0)
    if made is None:
        assert site.refusals[0].why == f"D = {before} is no multiple of the slide {r}"
    else:
        end = Instant(HORIZON + 8)
        younger, older_ = (run(q, {"S": s}, t0=t1, until=end).rows for q in (window, made))
        assert younger == older_
