"""Paper 004, spatial windows: its definitions and its three queries, in planar metres so that sums are exact."""

from __future__ import annotations

import pytest

from astralq.algebra.extents import relation, stream
from astralq.algebra.windows import WindowSpec, last_row, moving, range_, rows, unbounded
from astralq.errors import AstralError
from astralq.model import Data
from astralq.space import Region
from tests.support import answer, at, sec, single

CARS = stream("S", "id STRING, x DOUBLE, y DOUBLE", location=("x", "y"), planar=True)
CAR = stream("S", "x DOUBLE, y DOUBLE", location=("x", "y"), planar=True)
SEA = Region("sea", "POLYGON ((0 0, 10 0, 10 10, 0 10, 0 0))")
MIN = 60
KM = 1000.0


def test_a_stream_is_a_bag_of_stamped_tuples() -> None:
    """[004 D2.1] The same tuple may be there twice, even at the same time."""
    assert answer(stream("S", "v INT"), {"S": single((7, 1), (7, 1), (7, 2))}) == [(1, 0, 7), (1, 0, 7), (2, 0, 7)]


def test_a_relation_maps_each_instant_to_a_bag() -> None:
    """[004 D2.2] At every instant, also between two changes."""
    q = stream("S", "v INT")[unbounded()]
    data: Data = {"S": single((7, 1), (7, 3))}
    assert at(q, data, 0) == []
    assert at(q, data, 2) == [(7,)]
    assert at(q, data, 3) == [(7,), (7,)]


def test_a_tuple_has_a_spatial_and_a_temporal_stamp() -> None:
    """[004 D3.1] Elements are (s, g, t)."""
    data: Data = {"S": single(("o1", 1.0, 2.0, 5))}
    assert answer(CARS.select("id, x, y, _t AS t"), data) == [(5, 0, "o1", 1.0, 2.0, sec(5))]


def test_a_relations_content_changes_over_space() -> None:
    """[004 D3.2] The window moves on when the car has moved 10 m, however long that takes."""
    data: Data = {"S": single((0.0, 0.0, 0), (4.0, 0.0, 100), (10.0, 0.0, 101))}
    q = CAR[moving("20 metres", "10 metres")].select("x")
    assert at(q, data, 100) == [(0.0,)]
    assert at(q, data, 101) == [(0.0,), (4.0,), (10.0,)]


def test_a_relations_content_changes_over_time() -> None:
    """[004 D3.2] The same location has other content at another instant."""
    data: Data = {"S": single((0.0, 0.0, 0), (5.0, 0.0, 1), (0.0, 0.0, 2))}
    q = CAR[last_row()].select("x, _t AS t")
    assert at(q, data, 0) == [(0.0, sec(0))]
    assert at(q, data, 2) == [(0.0, sec(2))]


def test_q1_gives_the_average_speed_of_the_last_hour_every_ten_minutes() -> None:
    """[004 Q1] In km/h. mycar stands until 10 min, then does 40 km by 60 min and 20 km more by 70 min."""
    q1 = CARS[range_("60 min", slide="10 min")].where("id = 'mycar'").aggregate("average_speed() AS speed").rstream()
    data: Data = {
        "S": single(
            ("mycar", 0.0, 0.0, 0),
            ("other", 0.0, 9 * KM, 5 * MIN),
            ("mycar", 0.0, 0.0, 10 * MIN),
            ("other", 0.0, 99 * KM, 25 * MIN),
            ("mycar", 40 * KM, 0.0, 60 * MIN),
            ("mycar", 60 * KM, 0.0, 70 * MIN),
        )
    }
    assert answer(q1, data) == [
        (0, 0, None),
        (10 * MIN, 0, 0.0),
        (60 * MIN, 0, 40.0),
        (70 * MIN, 0, 60.0),
    ]


def test_q1s_window_holds_both_ends_of_the_hour() -> None:
    """[004 Q1] [004 M_S2R time] t_low ≤ t' ≤ t_high, with t_high the last multiple of 10 minutes."""
    q = CARS[range_("60 min", slide="10 min")].select("x")
    data: Data = {
        "S": single(
            ("c", 1.0, 0.0, 10 * MIN - 1),
            ("c", 2.0, 0.0, 10 * MIN),
            ("c", 3.0, 0.0, 70 * MIN),
            ("c", 4.0, 0.0, 71 * MIN),
        )
    }
    assert at(q, data, 70 * MIN) == [(2.0,), (3.0,)]
    assert at(q, data, 80 * MIN - 1) == [(2.0,), (3.0,)]
    assert at(q, data, 80 * MIN) == [(3.0,), (4.0,)]


def test_q2_gives_the_trajectory_inside_the_sea_whenever_it_grows() -> None:
    """[004 Q2] [004 M_S2R region] [004 M_R2R where] The stamps of all of o1 inside so far; others change nothing."""
    q2 = CARS[SEA].where("id = 'o1'").select("x, y, _t AS t").rstream()
    data: Data = {
        "S": single(
            ("o1", 1.0, 1.0, 1), ("o2", 2.0, 2.0, 2), ("o1", 15.0, 5.0, 3), ("o1", 4.0, 4.0, 4), ("o1", 5.0, 9.0, 6)
        )
    }
    assert answer(q2, data) == [
        (1, 0, 1.0, 1.0, sec(1)),
        (4, 0, 1.0, 1.0, sec(1)),
        (4, 0, 4.0, 4.0, sec(4)),
        (6, 0, 1.0, 1.0, sec(1)),
        (6, 0, 4.0, 4.0, sec(4)),
        (6, 0, 5.0, 9.0, sec(6)),
    ]


def test_q2_with_istream_gives_only_the_new_tuples() -> None:
    """[004 Q2] In the case of IStream the result is compared to the previous one (figure 3)."""
    q = CARS[SEA].where("id = 'o1'").select("x, y, _t AS t").istream()
    data: Data = {"S": single(("o1", 1.0, 1.0, 1), ("o1", 15.0, 5.0, 3), ("o1", 4.0, 4.0, 4))}
    assert answer(q, data) == [(1, 0, 1.0, 1.0, sec(1)), (4, 0, 4.0, 4.0, sec(4))]


def test_q3_gives_the_average_speed_of_the_last_50_km_every_10_km() -> None:
    """[004 Q3] 10 km in 10 min, 20 in 15, 30 in 25, 40 in 30, 50 in 60; then 50 km from minute 10 to 85."""
    q3 = CAR[moving("50 km", "10 km")].aggregate("average_speed() AS speed").rstream()
    data: Data = {
        "S": single(
            (0.0, 0.0, 0),
            (10 * KM, 0.0, 10 * MIN),
            (20 * KM, 0.0, 15 * MIN),
            (30 * KM, 0.0, 25 * MIN),
            (40 * KM, 0.0, 30 * MIN),
            (50 * KM, 0.0, 60 * MIN),
            (60 * KM, 0.0, 85 * MIN),
        )
    }
    assert answer(q3, data) == [
        (0, 0, None),
        (10 * MIN, 0, 60.0),
        (15 * MIN, 0, 80.0),
        (25 * MIN, 0, 72.0),
        (30 * MIN, 0, 80.0),
        (60 * MIN, 0, 50.0),
        (85 * MIN, 0, 40.0),
    ]


def test_on_evaluation_the_whole_state_is_emitted_changed_or_not() -> None:
    """[004 §3.2.2] Every time the car has moved 10 m, also where it emits what it emitted before."""
    q = CAR[moving("20 m", "10 m")].aggregate("count(*) AS n").rstream(on_evaluation=True)
    data: Data = {"S": single((0.0, 0.0, 0), (12.0, 0.0, 1), (15.0, 0.0, 2), (24.0, 0.0, 3), (45.0, 0.0, 4))}
    assert answer(q, data) == [(0, 0, 1), (1, 0, 1), (3, 0, 3), (4, 0, 1)]


@pytest.mark.parametrize(
    ("window", "emitted"),
    [
        (range_("2 s", slide="3 s"), [(3, 1), (6, 1), (9, 1)]),
        (range_("2 s"), [(1, 1), ("3.000001", 0), (4, 1), ("6.000001", 0), (9, 1)]),
        (rows(2, slide=2), [(4, 2)]),
        (rows(2, slide="3 s").delayed("1 s"), [(1, 0), (4, 1), (7, 2)]),
        (unbounded().by("v"), [(1, 1), (4, 2), (9, 3)]),
    ],
)
def test_each_kind_of_window_has_its_own_evaluations(window: WindowSpec, emitted: list[tuple[object, int]]) -> None:
    """[004 §3.2.2] On time at its instants, else where tuples reach what is due; delays included."""
    q = stream("S", "v INT")[window].aggregate("count(*) AS n").rstream(on_evaluation=True)
    assert answer(q, {"S": single((1, 1), (2, 4), (3, 9))}) == [(t, 0, n) for t, n in emitted]


def test_the_evaluations_of_all_windows_below_count_each_batch_once() -> None:
    """[004 §3.2.2] A join's are those of both sides; a past state's are moved with it."""
    s = stream("S", "v INT")
    left, right = s[rows(1)], s[range_("9 s", slide="4 s")].rename({"v": "w"}).delayed("1 s")
    q = left.product(right).rstream(on_evaluation=True)
    data: Data = {"S": single((1, 1), (2, 5), (3, 7))}
    assert answer(q, data) == [(5, 0, 2, 1), (7, 0, 3, 1)]


def test_without_a_window_there_is_nothing_to_evaluate() -> None:
    """[004 §3.2.2]"""
    with pytest.raises(AstralError, match="no window below") as e:
        relation("R", "v INT").rstream(on_evaluation=True)
    assert "RSTREAM(…) EVERY 1 MINUTE" in str(e.value)


def test_q3s_window_holds_both_ends_of_the_last_50_km() -> None:
    """[004 Q3] [004 M_S2R distance] d_low ≤ g ≤ d_high, the last multiple of 10 km: at 63 km it is [10, 60]."""
    q = CAR[moving("50 km", "10 km")].select("x")
    data: Data = {
        "S": single(
            (0.0, 0.0, 0), (9 * KM, 0.0, 1), (10 * KM, 0.0, 2), (35 * KM, 0.0, 3), (60 * KM, 0.0, 4), (63 * KM, 0.0, 5)
        )
    }
    assert at(q, data, 5) == [(10 * KM,), (35 * KM,), (60 * KM,)]


def test_q3_measures_the_way_travelled_not_the_place_reached() -> None:
    """[004 Q3] d_t = Σ |g_i − g_(i−1)|: there and back is 20 km."""
    q = CAR[moving("10 km", "10 km")].select("x")
    data: Data = {"S": single((0.0, 0.0, 0), (10 * KM, 0.0, 1), (0.0, 0.0, 2))}
    assert at(q, data, 2) == [(10 * KM,), (0.0,)]


def test_a_degree_along_a_meridian_is_111_195_080_mm() -> None:
    """[004 Q3] Haversine with R = 6 371 008.8 m: R·π/180 = 111 195.080 m."""
    s = stream("S", "lon DOUBLE, lat DOUBLE", location=("lon", "lat"))
    data: Data = {"S": single((2.0, 48.0, 0), (2.0, 49.0, 1))}
    assert at(s[unbounded()].aggregate("path_length() AS metres"), data, 1) == [(111195.08,)]
