"""Where marks are put, so that nothing covers anything else."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from astralq import Region, rows, stream, tumble
from astralq.draw import picture
from astralq.draw.atlas import LARGEST, SMALLEST, direction, dot_size
from astralq.draw.render import figure
from astralq.draw.style import styled, text_width, wrapped
from tests.support import sec

S = stream("S", "v INT, ts TIMESTAMP", timestamp="ts")
P = stream("P", "id STRING, x DOUBLE, y DOUBLE, ts TIMESTAMP", timestamp="ts", location=("x", "y"), planar=True)


def values(*times: int) -> dict[str, Any]:
    return {"S": [(t * 1_000_000, sec(t)) for t in times]}


def drawn(query: Any, data: Any) -> Figure:
    with styled():
        made = figure(picture(query, data).scene)
        made.draw_without_rendering()
    return made


def _texts(made: Figure) -> list[Text]:
    """All texts that are seen; matplotlib also has ticks beyond the ends of an axis, which it does not draw."""
    beyond: set[Text] = set()
    for axis in (axis for axes in made.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        beyond |= {t.label1 for t in axis.get_major_ticks() if not low <= t.get_loc() <= high}
    own = {t for axes in made.axes if not axes.axison for axis in (axes.xaxis, axes.yaxis) for t in axis.findobj(Text)}
    found = [t for t in made.findobj(Text) if isinstance(t, Text) and t not in beyond | own]
    return [t for t in found if t.get_visible() and t.get_text().strip()]


def overlapping(made: Figure) -> list[tuple[str, str]]:
    """The pairs of texts that cover each other, and the texts that leave the paper."""
    with styled():
        boxes = [(t.get_text(), t.get_window_extent()) for t in _texts(made)]
    assert len(boxes) >= 8
    found = []
    for k, (a, one) in enumerate(boxes):
        if one.x0 < 0 or one.y0 < 0 or one.x1 > made.bbox.x1 or one.y1 > made.bbox.y1:
            found.append((a, "the edge"))
        for b, other in boxes[k + 1 :]:
            wide = min(one.x1, other.x1) - max(one.x0, other.x0)
            high = min(one.y1, other.y1) - max(one.y0, other.y0)
            if wide > 1 and high > 3:
                found.append((a, b))
    return found


@pytest.mark.parametrize(
    "times",
    [(1, 2, 3), (1,), tuple(range(60)), (0, 1, 2, 3, 500), (5, 5, 5, 5, 6, 7)],
    ids=["few", "one", "many", "uneven", "simultaneous"],
)
@pytest.mark.parametrize(
    "query",
    [S[rows(3)], S[tumble("2 s")].aggregate("sum(v) AS total").rstream(), S[rows(1).by("v")].select("v"), S],
    ids=["rows", "answers", "parts", "bare"],
)
def test_no_text_covers_another(query: Any, times: tuple[int, ...]) -> None:
    assert overlapping(drawn(query, values(*times))) == []


@pytest.mark.parametrize("times", [(0, 0, 0, 9), (0, 9, 9, 9), (0, 0, 5, 5, 5, 9)], ids=["first", "last", "all"])
def test_stacked_tuples_have_their_values_beside_them(times: tuple[int, ...]) -> None:
    labelled = stream("S", "v INT, w STRING, ts TIMESTAMP", timestamp="ts")
    made = drawn(labelled[rows(2)], {"S": [(n, "some words", sec(t)) for n, t in enumerate(times)]})
    shown = {t.get_text() for t in _texts(made)}
    assert {f"{n}, some words" for n in range(len(times))} <= shown
    assert overlapping(made) == []


def test_stacks_without_room_beside_them_have_no_values() -> None:
    data = {"S": [(n, sec(n // 2)) for n in range(120)]}
    assert not {"17", "18"} & {t.get_text() for t in _texts(drawn(S[rows(2)], data))}


def test_names_on_a_map_do_not_cover_each_other() -> None:
    data = {"P": [(f"ship {k}", 10.0, 10.0 + k / 1000, sec(k)) for k in range(6)]}
    assert overlapping(drawn(P[rows(1).by("id")], data)) == []


def test_the_name_of_a_region_is_inside_it() -> None:
    triangle = Region("triangle", "POLYGON ((0 0, 100 0, 0 100, 0 0))")
    made = drawn(P[triangle], {"P": [("a", 90.0, 1.0, sec(1))]})
    (name,) = [t for t in made.findobj(Text) if isinstance(t, Text) and t.get_text() == "triangle"]
    assert triangle.covers(*map(float, name.get_position()))


def test_a_long_text_is_broken_between_words_and_a_long_word_inside() -> None:
    with styled():
        assert wrapped("one two three", text_width("one two ")) == ["one two", "three"]
        assert "".join(wrapped("a" * 50, 1.0)) == "a" * 50
        assert all(text_width(line) <= 1.0 for line in wrapped("a" * 50, 1.0))


def test_the_axis_ends_where_the_answers_do() -> None:
    data = {"S": [(n, sec(n)) for n in range(400)]}
    texts = {t.get_text() for t in _texts(drawn(S.where("v < 3"), data))}
    assert not any(t.startswith("nothing") for t in texts)
    assert {"0, 0", "1, 1", "2, 2"} <= texts


def test_dots_of_a_dense_track_are_small_enough_to_show_the_way() -> None:
    few, many = ([(0.0, n / count) for n in range(count)] for count in (3, 300))
    assert dot_size(few) == LARGEST
    assert dot_size(many) == SMALLEST
    assert SMALLEST < dot_size([(0.0, n / 18) for n in range(19)]) < LARGEST


def test_marks_of_evaluations_stand_across_the_way() -> None:
    way = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 2.0)]
    assert [round(direction(way, p)) for p in ((0.4, 0.0), (1.0, 0.7), (0.5, 1.5))] == [0, 90, 135]


def test_a_way_without_any_step_has_a_direction() -> None:
    assert direction([(1.0, 1.0), (1.0, 1.0)], (1.0, 1.0)) == 0.0
