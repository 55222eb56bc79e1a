"""Maps: tracks object by object, regions, and the stretch that a window of distance holds at its last evaluation."""

from __future__ import annotations

from typing import Any

import pytest

from astralq import Region, moving, range_, rows, stream
from astralq.draw.atlas import sheet
from astralq.draw.scene import Map
from tests.draw.support import panel
from tests.support import sec

CAR = stream("car", "id STRING, x DOUBLE, y DOUBLE, ts TIMESTAMP", timestamp="ts", location=("x", "y"), planar=True)
SHIP = stream("ship", "id STRING, lon DOUBLE, lat DOUBLE, ts TIMESTAMP", timestamp="ts", location=("lon", "lat"))


def drive(*metres: float, id: str = "a") -> list[tuple[Any, ...]]:
    return [(id, float(m), 0.0, sec(k)) for k, m in enumerate(metres)]


def mapped(query: Any, data: Any) -> Map:
    (found,) = panel(query, data).maps
    return found


def test_the_stretch_begins_and_ends_between_tuples() -> None:
    """At 65 m travelled the last evaluation is at 60 m, and its scope is [10, 60]."""
    track = mapped(CAR[moving("50 m", "20 m")], {"car": drive(0, 25, 45, 65)}).tracks[0]
    assert track.stretch == ((10.0, 0.0), (25.0, 0.0), (45.0, 0.0), (60.0, 0.0))
    assert [p.held.name for p in track.places] == ["BEFORE", "NOW", "NOW", "NEVER"]


def test_evaluations_are_where_the_distances_were_reached() -> None:
    track = mapped(CAR[moving("50 m", "20 m")], {"car": drive(0, 25, 45)}).tracks[0]
    assert track.evaluations == ((0.0, 0.0), (20.0, 0.0), (40.0, 0.0))


def test_a_stretch_by_distance_at_a_rate_of_time_ends_where_the_object_was() -> None:
    track = mapped(CAR[moving("20 m", "2 s")], {"car": drive(0, 15, 30, 45)}).tracks[0]
    assert track.stretch == ((10.0, 0.0), (15.0, 0.0), (30.0, 0.0))
    assert track.evaluations == ()


def test_parts_have_tracks_of_their_own() -> None:
    data = {"car": [*drive(0, 10, id="a"), *drive(5, 9, id="b")]}
    tracks = mapped(CAR[moving("50 m", "5 m").by("id")], data).tracks
    assert [(t.name, [p.x for p in t.places]) for t in tracks] == [("id = a", [0.0, 10.0]), ("id = b", [5.0, 9.0])]


def test_a_condition_chooses_whose_track_is_drawn() -> None:
    data = {"car": [*drive(0, 10, id="a"), *drive(5, 9, id="b")]}
    found = mapped(CAR[range_("1 min")].where("id = 'a'").aggregate("path_length() AS d"), data)
    assert [p.x for p in found.tracks[0].places] == [0.0, 10.0]
    assert [p.x for p in found.others] == [5.0, 9.0]


def test_groups_have_tracks_of_their_own() -> None:
    data = {"car": [*drive(0, 10, id="a"), *drive(5, 9, id="b")]}
    found = mapped(CAR[rows(9)].aggregate("path_length() AS d", by="id"), data)
    assert [t.name for t in found.tracks] == ["id = a", "id = b"]


def test_a_region_holds_what_is_inside_it() -> None:
    """004 §3.2.1: the boundary counts as inside."""
    square = Region("square", "POLYGON ((0 0, 10 0, 10 10, 0 10, 0 0))")
    shown = panel(CAR[square], {"car": drive(5, 10, 15)})
    assert shown.lanes[1].name == "[RANGE BY square RATTR SPACE]"
    (found,) = shown.maps
    assert found.regions == (square,)
    assert [p.held.name for p in found.tracks[0].places] == ["NOW", "NOW", "NEVER"]


def test_a_tuple_without_a_location_is_not_on_the_map() -> None:
    data = {"car": [("a", 1.0, 1.0, sec(1)), ("a", None, 2.0, sec(2))]}
    assert len(mapped(CAR[rows(2)], data).tracks[0].places) == 1


def test_a_stream_without_a_location_has_no_map() -> None:
    plain = stream("plain", "v INT, ts TIMESTAMP", timestamp="ts")
    assert panel(plain[rows(2)], {"plain": [(1, sec(1))]}).maps == ()


def test_a_track_across_the_date_line_does_not_go_round_the_globe() -> None:
    data = {"ship": [("a", 179.0, 10.0, sec(1)), ("a", -179.0, 10.0, sec(2))]}
    found = sheet(mapped(SHIP[moving("500 km", "100 km")], data))
    assert [p.x for p in found.map.tracks[0].places] == [179.0, 181.0]
    assert [x for x, _ in found.map.tracks[0].evaluations] == pytest.approx([179.0, 179.913, 180.826], abs=0.001)
    assert found.limits[1] - found.limits[0] < 5


@pytest.mark.parametrize(("latitude", "unit"), [(0.0, 1.0), (60.0, 0.5)])
def test_a_degree_of_longitude_is_as_long_as_it_is_at_its_latitude(latitude: float, unit: float) -> None:
    data = {"ship": [("a", 10.0, latitude - 1, sec(1)), ("a", 14.0, latitude + 1, sec(2))]}
    found = sheet(mapped(SHIP[rows(2)], data))
    x1, x2, y1, y2 = found.limits
    assert (x2 - x1) * unit / found.width == pytest.approx((y2 - y1) / found.height)


def test_a_map_on_a_plane_has_one_scale() -> None:
    found = sheet(mapped(CAR[rows(9)], {"car": drive(0, 60_000)}))
    x1, x2, y1, y2 = found.limits
    assert (x2 - x1) / found.width == pytest.approx((y2 - y1) / found.height)
