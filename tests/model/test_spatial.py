"""Spatial windows (docs/decisions.md): regions, odometers, windows across domains, and aggregates of the way."""

from __future__ import annotations

import pytest

from astralq.algebra.extents import stream
from astralq.algebra.windows import last_row, moving, range_, rows, unbounded
from astralq.errors import PlanError
from astralq.model import Data
from astralq.space import Region
from tests.support import answer, at, given, single

CAR = stream("S", "x DOUBLE, y DOUBLE", location=("x", "y"), planar=True)
CARS = stream("S", "id STRING, x DOUBLE, y DOUBLE", location=("x", "y"), planar=True)
SQUARE = Region("square", "POLYGON ((0 0, 2 0, 2 2, 0 2, 0 0))")


def drive(*stops: tuple[float | None, int]) -> Data:
    """A car on the line y = 0, from (x, seconds)."""
    return {"S": single(*((x, None if x is None else 0.0, t) for x, t in stops))}


def test_the_boundary_of_a_region_is_inside() -> None:
    """[004 Q2] An edge and a corner are in, a millimetre beyond is out."""
    data: Data = {"S": single((1.0, 1.0, 1), (2.0, 1.0, 2), (0.0, 2.0, 3), (2.001, 1.0, 4))}
    assert at(CAR[SQUARE], data, 4) == [(1.0, 1.0), (2.0, 1.0), (0.0, 2.0)]


def test_a_tuple_without_a_location_is_not_inside_a_region() -> None:
    """[004 Q2] Where it is is not known."""
    assert at(CAR[SQUARE], drive((1.0, 1), (None, 2)), 2) == [(1.0, 0.0)]


def test_a_stationary_window_keeps_everything_that_was_inside() -> None:
    """[004 Q2] It is σ_inside S[∞]: leaving the region takes nothing out."""
    assert at(CAR[SQUARE].select("x"), drive((1.0, 1), (50.0, 2), (0.5, 3)), 3) == [(1.0,), (0.5,)]


def test_a_region_can_be_a_condition() -> None:
    """[004 Q2] The location now, instead of all locations so far."""
    q = CAR[last_row()].where("inside(x, y, square)", square=SQUARE).select("x")
    assert at(q, drive((1.0, 1), (50.0, 2)), 1) == [(1.0,)]
    assert at(q, drive((1.0, 1), (50.0, 2)), 2) == []


def test_a_tuple_that_overshoots_the_distance_is_not_in_its_window() -> None:
    """[004 Q3] At 13 m window 1 is [-10 m, 10 m]; window 2, at 20 m, is [0 m, 20 m]."""
    q = CAR[moving("20 metres", "10 metres")].select("x")
    data = drive((0.0, 1), (7.0, 2), (13.0, 3), (20.0, 4))
    assert at(q, data, 2) == [(0.0,)]
    assert at(q, data, 3) == [(0.0,), (7.0,)]
    assert at(q, data, 4) == [(0.0,), (7.0,), (13.0,), (20.0,)]


def test_only_the_last_of_several_distances_reached_at_once_shows() -> None:
    """[004 Q3] From 0 m to 35 m at once: window 3 is [20 m, 30 m], and nothing was there."""
    q = CAR[moving("10 metres", "10 metres")].select("x")
    assert answer(q, drive((0.0, 1), (35.0, 2))) == [("+", 1, 0, 0.0), ("-", 2, 0, 0.0)]


def test_only_the_last_of_several_distances_reached_in_a_batch_shows() -> None:
    """[004 Q3] 0 m, 10 m and 20 m in one batch: window 2 is [10 m, 20 m]."""
    q = CAR[moving("10 metres", "10 metres")].select("x")
    assert answer(q, drive((0.0, 1), (10.0, 1), (20.0, 1))) == [("+", 1, 0, 10.0), ("+", 1, 0, 20.0)]


def test_a_delay_by_distance_moves_the_evaluation_not_the_window() -> None:
    """[004 Q3] Windows 0 and 1 end at 0 m and 10 m and are evaluated at 5 m and 15 m."""
    q = CAR[moving("20 metres", "10 metres").delayed("5 metres")].select("x")
    data = drive((0.0, 1), (6.0, 2), (12.0, 3), (15.0, 4))
    assert at(q, data, 1) == []
    assert at(q, data, 2) == [(0.0,)]
    assert at(q, data, 3) == [(0.0,)]
    assert at(q, data, 4) == [(0.0,), (6.0,)]


def test_a_location_passes_through_a_streamer() -> None:
    """[004 D3.1] If its columns do, under whatever name."""
    q = CAR[unbounded()].select("x AS east, y AS north").istream()[moving("10 metres", "10 metres")].select("east")
    assert at(q, drive((0.0, 1), (4.0, 2), (10.0, 3)), 3) == [(0.0,), (4.0,), (10.0,)]


def test_without_its_columns_there_is_no_location() -> None:
    """[004 D3.1] A window by distance cannot be built then."""
    with pytest.raises(PlanError):
        CAR.select("x")[moving("10 metres", "10 metres")]


def test_a_car_that_stands_still_keeps_its_window() -> None:
    """[004 Q3] Time alone does not move an odometer."""
    q = CAR[moving("10 metres", "10 metres")].select("x")
    data = drive((0.0, 1), (10.0, 2), (13.0, 3), (13.0, 1000))
    assert at(q, data, 1000) == [(0.0,), (10.0,)]


def test_each_part_has_its_own_odometer() -> None:
    """[004 Q3] a has gone 10 m, b 3 m, whatever lies between them; the order stays that of the stream."""
    q = CARS[moving("10 metres", "10 metres").by("id")].select("id, x")
    data: Data = {"S": single(("a", 0.0, 0.0, 0), ("b", 100.0, 0.0, 1), ("a", 10.0, 0.0, 2), ("b", 103.0, 0.0, 3))}
    assert at(q, data, 1) == [("a", 0.0), ("b", 100.0)]
    assert at(q, data, 3) == [("a", 0.0), ("b", 100.0), ("a", 10.0)]


def test_without_a_partition_the_stream_is_one_object() -> None:
    """[004 Q3] Odometers 0, 100, 190, 283: windows 2, 3 and 5 of 50 m end at 100, 150 and 250."""
    q = CARS[moving("50 metres", "50 metres")].select("id, x")
    data: Data = {"S": single(("a", 0.0, 0.0, 0), ("b", 100.0, 0.0, 1), ("a", 10.0, 0.0, 2), ("b", 103.0, 0.0, 3))}
    assert at(q, data, 1) == [("b", 100.0)]
    assert at(q, data, 2) == [("b", 100.0)]
    assert at(q, data, 3) == []


def test_legs_are_rounded_half_up_to_millimetres() -> None:
    """[004 Q3] Two legs of 62.5 mm are 63 mm each, 126 mm together: rounded leg by leg."""
    q = CAR[unbounded()].aggregate("path_length() AS metres")
    assert at(q, drive((0.0, 1), (0.0625, 2)), 2) == [(0.063,)]
    assert at(q, drive((0.0, 1), (0.0625, 2), (0.125, 3)), 3) == [(0.126,)]


def test_the_odometer_is_the_sum_of_rounded_legs() -> None:
    """[004 Q3] Sixteen legs of 62.5 mm, 63 mm each when rounded, reach 1008 mm, though the car is at 1 m."""
    q = CAR[moving("1 km", "1008 mm")].select("x")
    data = drive(*((k * 0.0625, k) for k in range(17)))
    assert at(q, data, 15) == [(0.0,)]
    assert at(q, data, 16) == [(k * 0.0625,) for k in range(17)]


def test_a_leg_may_cross_the_antimeridian() -> None:
    """[004 Q3] From 179.5° to -179.5° along the equator is one degree, not 359: R·π/180 = 111 195.080 m."""
    s = stream("S", "lon DOUBLE, lat DOUBLE", location=("lon", "lat"))
    data: Data = {"S": single((179.5, 0.0, 0), (-179.5, 0.0, 1))}
    assert at(s[unbounded()].aggregate("path_length() AS metres"), data, 1) == [(111195.08,)]


def test_a_leg_is_measured_in_the_plane() -> None:
    """[004 Q3] PLANAR: Euclid in metres."""
    data: Data = {"S": single((0.0, 0.0, 1), (3.0, 4.0, 2))}
    assert at(CAR[unbounded()].aggregate("path_length() AS metres"), data, 2) == [(5.0,)]


def test_a_time_range_can_slide_by_distance() -> None:
    """[004 D3.2] Evaluated at 0 m and when 10 m are reached, at 12 s: [2 s, 12 s], which then stays."""
    q = CAR[range_("10 s", slide="10 metres")].select("x")
    data = drive((0.0, 0), (4.0, 5), (11.0, 12), (15.0, 20))
    assert at(q, data, 5) == [(0.0,)]
    assert at(q, data, 12) == [(4.0,), (11.0,)]
    assert at(q, data, 20) == [(4.0,), (11.0,)]


def test_a_time_range_that_slides_by_distance_sees_later_batches_of_its_instant() -> None:
    """[004 D3.2] 10 m are reached at (12, 0); what comes at (12, 1) is in [2 s, 12 s] too."""
    q = CAR[range_("10 s", slide="10 metres")].select("x")
    data: Data = {"S": given((0, 0, (0.0, 0.0)), (5, 0, (4.0, 0.0)), (12, 0, (11.0, 0.0)), (12, 1, (12.0, 0.0)))}
    assert at(q, data, 12, 0) == [(4.0,), (11.0,)]
    assert at(q, data, 12, 1) == [(4.0,), (11.0,), (12.0,)]


def test_a_distance_range_can_slide_by_time() -> None:
    """[004 D3.2] [d(e) − 10 m, d(e)] at e = 0, 10, 20 s, where d is 0, 12 and 20 m."""
    q = CAR[moving("10 metres", "10 s")].select("x")
    data = drive((0.0, 0), (6.0, 4), (12.0, 8), (20.0, 15))
    assert at(q, data, 9) == [(0.0,)]
    assert at(q, data, 10) == [(6.0,), (12.0,)]
    assert at(q, data, 19) == [(6.0,), (12.0,)]
    assert at(q, data, 20) == [(12.0,), (20.0,)]


def test_each_batch_at_an_evaluation_instant_has_its_own_distance() -> None:
    """[004 D3.2] At (10, 0) d is 8 m, at (10, 1) it is 15 m."""
    q = CAR[moving("10 metres", "10 s")].select("x")
    data: Data = {"S": given((0, 0, (0.0, 0.0)), (10, 0, (8.0, 0.0)), (10, 1, (15.0, 0.0)))}
    assert at(q, data, 10, 0) == [(0.0,), (8.0,)]
    assert at(q, data, 10, 1) == [(8.0,), (15.0,)]


def test_each_part_has_its_own_distance_at_an_instant() -> None:
    """[004 D3.2] At 10 s a has gone 20 m and b 3 m: [10, 20] and [-7, 3]."""
    q = CARS[moving("10 metres", "10 s").by("id")].select("id, x")
    data: Data = {"S": single(("a", 0.0, 0.0, 1), ("b", 0.0, 0.0, 2), ("a", 20.0, 0.0, 5), ("b", 3.0, 0.0, 6))}
    assert at(q, data, 10) == [("b", 0.0), ("a", 20.0), ("b", 3.0)]


def test_a_time_range_can_slide_by_the_distance_of_each_part() -> None:
    """[004 D3.2] a reaches 10 m at 9 s, so its window is [5 s, 9 s]; b's is still that of 2 s."""
    q = CARS[range_("4 s", slide="10 metres").by("id")].select("id, x")
    data: Data = {"S": single(("a", 0.0, 0.0, 1), ("b", 0.0, 0.0, 2), ("a", 6.0, 0.0, 5), ("a", 12.0, 0.0, 9))}
    assert at(q, data, 9) == [("b", 0.0), ("a", 6.0), ("a", 12.0)]


def test_rows_can_slide_by_distance() -> None:
    """[004 D3.2] The last two tuples, taken every 10 m."""
    q = CAR[rows(2, slide="10 metres")].select("x")
    data = drive((0.0, 1), (4.0, 2), (8.0, 3), (12.0, 4), (15.0, 5))
    assert at(q, data, 3) == [(0.0,)]
    assert at(q, data, 4) == [(8.0,), (12.0,)]
    assert at(q, data, 5) == [(8.0,), (12.0,)]


def test_rows_that_slide_by_distance_end_with_the_batch() -> None:
    """[004 D3.2] 10 m are reached by the first of two tuples of a batch; the last two rows are these two."""
    q = CAR[rows(2, slide="10 metres")].select("x")
    assert at(q, drive((0.0, 1), (8.0, 2), (10.0, 3), (12.0, 3)), 3) == [(10.0,), (12.0,)]


def test_a_tuple_without_a_location_does_not_move() -> None:
    """[004 D3.1] The leg is between the locations around it, 10 m, so window 1 is [0 m, 10 m]."""
    q = CAR[moving("10 metres", "10 metres")].select("x")
    assert at(q, drive((0.0, 1), (None, 2), (10.0, 3)), 3) == [(0.0,), (None,), (10.0,)]


def test_a_path_skips_what_has_no_location() -> None:
    """[004 D3.1] 0 m to 10 m, whatever came between without saying where."""
    q = CAR[unbounded()].aggregate("path_length() AS metres")
    assert at(q, drive((0.0, 1), (None, 2), (10.0, 3)), 3) == [(10.0,)]


def test_an_average_speed_needs_two_tuples() -> None:
    """[004 Q1] Below two it is NULL; 100 m in 10 s are 36 km/h."""
    q = CAR[unbounded()].aggregate("average_speed() AS speed")
    assert at(q, drive((0.0, 10), (100.0, 20)), 10) == [(None,)]
    assert at(q, drive((0.0, 10), (100.0, 20)), 20) == [(36.0,)]


def test_an_average_speed_needs_two_locations() -> None:
    """[004 Q1] A tuple that does not say where it is does not count."""
    assert at(CAR[unbounded()].aggregate("average_speed() AS speed"), drive((0.0, 1), (None, 2)), 2) == [(None,)]


def test_there_is_no_average_speed_within_an_instant() -> None:
    """[004 Q1] No time has passed, so nothing can be divided by it."""
    assert at(CAR[unbounded()].aggregate("average_speed() AS speed"), drive((0.0, 1), (5.0, 1)), 1) == [(None,)]


def test_the_path_over_nothing_is_null() -> None:
    """[004 Q1] A global aggregate over nothing: one row, NULL but for counts (docs/decisions.md)."""
    q = CAR[unbounded()].where("x > 1000").aggregate("path_length() AS metres")
    assert at(q, drive((0.0, 1), (5.0, 2)), 2) == [(None,)]


def test_the_average_speed_over_nothing_is_null() -> None:
    """[004 Q1] A global aggregate over nothing: one row, NULL but for counts (docs/decisions.md)."""
    q = CAR[unbounded()].where("x > 1000").aggregate("average_speed() AS speed")
    assert at(q, drive((0.0, 1), (5.0, 2)), 2) == [(None,)]


def test_aggregates_of_the_way_are_by_group() -> None:
    """[004 Q1] Each object's legs are its own."""
    q = CARS[unbounded()].aggregate("path_length() AS metres", by="id")
    data: Data = {"S": single(("b", 0.0, 0.0, 0), ("a", 100.0, 0.0, 1), ("b", 7.0, 0.0, 2), ("a", 130.0, 40.0, 3))}
    assert at(q, data, 3) == [("a", 50.0), ("b", 7.0)]
