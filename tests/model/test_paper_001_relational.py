"""Paper 001, section 4: relational operators on temporal relations."""

from __future__ import annotations

import pytest

from astralq.algebra import RelationQuery, last_batch, relation, rows, stream, unbounded
from astralq.algebra.domain import Domain, Shift
from astralq.errors import AstralError
from astralq.model import Data
from astralq.timeline import duration
from tests.support import answer, at, given, sec, single

# Example 3 has φ = 0, 1, 2 for the sensors 1, 3, 42, the order of id, and 0, 1 for 42, 2, the order of hv.
R1 = relation("R1", "id INT, tv INT", position_by="id")
R2 = relation("R2", "id2 INT, hv INT", position_by="hv")
SENSED = {"R1": [(1, 20), (3, 23), (42, 22)], "R2": [(42, 45), (2, 50)]}

S = stream("S", "v STRING")
S1, S2 = stream("S1", "v STRING"), stream("S2", "v STRING")
READINGS = stream("S", "id INT, v INT")


def test_selection_works_on_the_instantaneous_relation() -> None:
    """[001 §4.1] σ_c(R): (t, i) ↦ Σ_c(R(t, i))."""
    data = {"S": single((1, 5, 1), (2, 9, 2), (1, 7, 3))}
    assert at(READINGS[unbounded()].where("v > 6"), data, 2) == [(2, 9)]
    assert at(READINGS[unbounded()].where("v > 6"), data, 3) == [(2, 9), (1, 7)]


def test_projection_keeps_tuples_that_become_equal() -> None:
    """[001 §4.1] Π_p with φ ∉ p is Π_{p ∪ φ}."""
    data = {"S": single((1, 5, 1), (2, 9, 2), (1, 7, 3))}
    assert at(READINGS[unbounded()].select("id"), data, 3) == [(1,), (2,), (1,)]


def test_renaming_phi_copies_it() -> None:
    """[001 §4.1] ρ_{a/φ}: the new attribute holds φ, and the order by φ remains."""
    data = {"S": single((2, 5, 1), (1, 9, 2))}
    assert at(READINGS[unbounded()].rename({"φ": "a"}), data, 2) == [(2, 5, 0), (1, 9, 1)]


def test_the_product_iterates_on_the_left_and_for_each_tuple_on_the_right() -> None:
    """[001 D17] [001 Ex3] R1 × R2."""
    assert at(R1.product(R2), SENSED, 0) == [
        (1, 20, 42, 45),
        (1, 20, 2, 50),
        (3, 23, 42, 45),
        (3, 23, 2, 50),
        (42, 22, 42, 45),
        (42, 22, 2, 50),
    ]


def test_the_product_is_not_symmetric() -> None:
    """[001 P2] [001 Ex3] R2 × R1 has the same pairs in another order."""
    swapped = R2.product(R1).select("id, id2, tv, hv")
    assert at(swapped, SENSED, 0) == [
        (1, 42, 20, 45),
        (3, 42, 23, 45),
        (42, 42, 22, 45),
        (1, 2, 20, 50),
        (3, 2, 23, 50),
        (42, 2, 22, 50),
    ]


def test_the_identity_of_a_pair_does_not_change_when_the_right_side_grows() -> None:
    """[001 D17] Old pairs are not emitted again ▲ (SEMANTICS §1: φ is a path)."""
    pairs = S1[unbounded()].product(S2[unbounded()].rename({"v": "w"})).istream()
    data = {"S1": single(("a", 1), ("b", 2)), "S2": single(("x", 1), ("y", 3))}
    assert answer(pairs, data) == [(1, 0, "a", "x"), (2, 0, "b", "x"), (3, 0, "a", "y"), (3, 0, "b", "y")]


def test_the_product_needs_different_attributes() -> None:
    """[001 D17] Attr(R1) ∩ Attr(R2) = {φ}."""
    with pytest.raises(AstralError):
        R1.product(R1)


def test_the_difference_takes_out_the_same_tuples() -> None:
    """[001 D18] All but the last two."""
    data = {"S": single(("a", 1), ("b", 2), ("a", 3), ("c", 4))}
    assert at(S[unbounded()].difference(S[rows(2)]), data, 4) == [("a",), ("b",)]


def test_the_difference_compares_phi_like_any_other_attribute() -> None:
    """[001 D18] Equal values under another φ are other tuples: a has φ = 0 on both sides, b has 1 and 2."""
    data = {"S1": single(("a", 1), ("b", 2)), "S2": single(("a", 1), ("c", 2), ("b", 3))}
    assert at(S1[unbounded()].difference(S2[unbounded()]), data, 3) == [("b",)]


def test_the_intersection_has_the_same_phi_and_values_on_both_sides() -> None:
    """[001 D18] R1 ∩ R2 = R1 − (R1 − R2)."""
    data = {"S1": single(("a", 1), ("b", 2)), "S2": single(("a", 1), ("c", 2), ("b", 3))}
    assert at(S1[unbounded()].intersection(S2[unbounded()]), data, 3) == [("a",)]


def test_the_union_places_the_left_side_first() -> None:
    """[001 D19] Priority to the left, each side in its own order."""
    data = {"S1": single(("b", 1), ("a", 4)), "S2": single(("d", 2), ("c", 3))}
    assert at(S1[unbounded()].union(S2[unbounded()]), data, 4) == [("b",), ("a",), ("d",), ("c",)]


def test_the_union_is_not_symmetric() -> None:
    """[001 D19] [001 P2] The symmetric property does not hold for the union."""
    data = {"S1": single(("b", 1), ("a", 4)), "S2": single(("d", 2), ("c", 3))}
    assert at(S2[unbounded()].union(S1[unbounded()]), data, 4) == [("d",), ("c",), ("b",), ("a",)]


def test_the_union_keeps_tuples_of_both_sides_with_the_same_phi() -> None:
    """[001 D19] Φ(0, φ) ≠ Φ(1, φ): φ stays unique."""
    data = {"S1": single(("a", 1)), "S2": single(("a", 1))}
    assert at(S1[unbounded()].union(S2[unbounded()]), data, 1) == [("a",), ("a",)]


def test_a_tuple_keeps_its_identity_in_a_union_when_the_left_side_grows() -> None:
    """[001 D19] x is emitted once ▲ (SEMANTICS §1: φ is a path)."""
    both = S1[unbounded()].union(S2[unbounded()]).istream()
    data = {"S1": single(("a", 1), ("b", 2)), "S2": single(("x", 1))}
    assert answer(both, data) == [(1, 0, "a"), (1, 0, "x"), (2, 0, "b")]


LEFT = relation("L", "id INT, tv INT")
RIGHT = relation("R", "id INT, hv INT", position_by="hv")
JOINED = {"L": [(1, 20), (3, 23), (42, 22)], "R": [(42, 45), (2, 50), (1, 60), (42, 70)]}


def test_the_natural_join_has_the_common_attributes_once() -> None:
    """[001 D20] Pairs that agree on id, in the order of the product."""
    joined = LEFT.join(RIGHT)
    assert joined.schema.names == ("id", "tv", "hv")
    assert at(joined, JOINED, 0) == [(1, 20, 60), (42, 22, 45), (42, 22, 70)]


def test_the_theta_join_takes_any_condition() -> None:
    """[001 D20] R1 ⋈_θ R2."""
    near = R1.join(R2, on="hv - tv > 27")
    assert at(near, SENSED, 0) == [(1, 20, 2, 50), (42, 22, 2, 50)]


def test_the_semi_join_keeps_the_left_tuples_with_a_match_once() -> None:
    """[001 D20] R1 ⋉ R2: 42 has two matches."""
    assert at(LEFT.join(RIGHT, how="semi"), JOINED, 0) == [(1, 20), (42, 22)]


def test_the_antijoin_keeps_the_left_tuples_without_a_match() -> None:
    """[001 D20] Expressed with the difference."""
    assert at(LEFT.join(RIGHT, how="anti"), JOINED, 0) == [(3, 23)]


def test_outer_joins_fill_up_with_nulls() -> None:
    """[001 D20] An unmatched left tuple in its place, unmatched right tuples last (SEMANTICS §1)."""
    full = R1.join(R2, on="id = id2", how="full")
    assert at(full, SENSED, 0) == [
        (1, 20, None, None),
        (3, 23, None, None),
        (42, 22, 42, 45),
        (None, None, 2, 50),
    ]


def test_division_gives_the_values_that_go_with_all_of_the_divisor() -> None:
    """[001 D20] Buoy 1 carries both kinds of sensors, buoy 2 only one."""
    carried, kinds = relation("C", "buoy INT, kind STRING"), relation("K", "kind STRING")
    data: Data = {"C": [(1, "GPS"), (1, "SST"), (2, "SST"), (1, "W")], "K": [("GPS",), ("SST",)]}
    assert at(carried.divide(kinds), data, 0) == [(1,)]


def test_the_domain_manipulator_shows_a_past_state_as_the_present_one() -> None:
    """[001 D21] f(t, i) = (t − 2 s, i)."""
    data = {"S": single(("a", 1), ("b", 2), ("c", 5))}
    past = S[last_batch()].delayed("2 s")
    assert [at(past, data, t) for t in (2, 3, 4, 6, 7)] == [[], [("a",)], [("b",)], [("b",)], [("c",)]]


def test_the_domain_manipulator_is_empty_where_its_condition_is_false() -> None:
    """[001 D21] c: 4 s ≤ t < 7 s."""
    past = RelationQuery(Domain(S[last_batch()].operator, Shift(duration("2 s")), ((sec(4), sec(7)),)))
    data = {"S": single(("a", 1), ("b", 2), ("c", 5))}
    assert [at(past, data, t) for t in (3, 4, 6, 7)] == [[], [("b",)], [("b",)], []]


def test_the_domain_manipulator_does_not_look_into_the_future() -> None:
    """[001 D21] f(t, i) ≤ (t, i)."""
    with pytest.raises(AstralError):
        S[last_batch()].delayed("-2 s")


def test_a_relation_is_compared_with_its_past_state() -> None:
    """[001 D21] What has come in the last two seconds."""
    fresh = S[unbounded()].difference(S[unbounded()].delayed("2 s"))
    assert at(fresh, {"S": single(("a", 1), ("b", 2), ("c", 3))}, 3) == [("b",), ("c",)]


def test_a_scanned_relation_is_as_of_the_last_period() -> None:
    """[001 D21] f floors to t0 + k·2 s (SEMANTICS §3)."""
    r = relation("R", "op STRING, ts TIMESTAMP, id INT", change="op", at="ts").scanned("2 s")
    data = {"R": [("+", sec(1), 1), ("+", sec(3), 2)]}
    assert [at(r, data, t) for t in (1, 2, 3, 4)] == [[], [(1,)], [(1,)], [(1,), (2,)]]


def test_a_fixed_relation_is_frozen_at_its_instant_and_empty_before() -> None:
    """[001 D22] R^{3 s}."""
    frozen = S[unbounded()].at(sec(3))
    data = {"S": single(("a", 1), ("b", 3), ("c", 4))}
    assert [at(frozen, data, t) for t in (2, 3, 9)] == [[], [("a",), ("b",)], [("a",), ("b",)]]


def test_a_fixed_relation_is_the_state_at_batch_zero_of_its_instant() -> None:
    """[001 D22] R(ts, 0): the batch (3, 1) is not in it."""
    data = {"S": given((3, 0, ("a",)), (3, 1, ("b",)), (5, 0, ("c",)))}
    assert at(S[unbounded()].at(sec(3)), data, 5) == [("a",)]


def test_a_relation_fixed_at_the_start_does_not_change() -> None:
    """[001 D22] R^{t0} with t0 = 2 s."""
    r = relation("R", "op STRING, ts TIMESTAMP, id INT", change="op", at="ts")
    data = {"R": [("+", sec(1), 1), ("+", sec(2), 2), ("-", sec(3), 1)]}
    assert answer(r.at_start(), data, t0=2, until=9) == [("+", 2, 0, 1), ("+", 2, 0, 2)]


def test_renaming_phi_of_a_product_copies_its_path() -> None:
    """[001 §4.1] ρ_{a/φ}: the identifier is copied to a, and φ remains."""
    s, u = stream("S", "v INT"), stream("U", "w INT")
    both = s[unbounded()].product(u[unbounded()]).rename({"φ": "a"})
    data: Data = {"S": single((7, 1), (8, 2)), "U": single((9, 1))}
    assert at(both, data, 2) == [(7, 9, "0/0"), (8, 9, "1/0")]


def test_phi_of_an_aggregate_is_its_key_and_not_copied() -> None:
    """[001 §4.1]"""
    with pytest.raises(AstralError, match="made of values"):
        stream("S", "v INT")[unbounded()].aggregate("count(*) AS n", by="v").rename({"φ": "a"})
