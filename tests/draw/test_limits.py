"""Too much for a picture: what is refused, what is left out, and how that is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from astralq import range_, rows, sensed, stream, tumble
from astralq.draw.scene import BarLane, CountLane, DotLane, SpanLane
from astralq.errors import AstralError
from tests.draw.support import scene
from tests.support import sec

S = stream("S", "k INT, ts TIMESTAMP", timestamp="ts")


def every_second(count: int) -> dict[str, Any]:
    return {"S": [(k % 20, sec(k)) for k in range(count)]}


def refused(draw: Callable[[], object]) -> str:
    with pytest.raises(AstralError) as e:
        draw()
    return str(e.value)


def test_a_picture_of_too_many_tuples_ends_earlier_and_says_so() -> None:
    shown = scene(S[rows(1)].istream(), data=every_second(5001))
    assert shown.end == sec(4999)
    assert shown.notes[0] == "what is after 4999: 1 of 5,001 tuples of S"


def test_too_many_tuples_at_once_are_an_error() -> None:
    assert refused(lambda: scene(S[rows(1)], data={"S": [(k % 20, sec(1)) for k in range(5001)]})) == (
        "the stream S has 5,001 tuples, all of them at once, more than the 5,000 that a picture is computed from\n"
        "  hint: draw fewer of them: FROM (SELECT * FROM … WHERE …)"
    )


def test_a_picture_shows_where_the_answers_are() -> None:
    """A count that does not change any more has no answers at the end."""
    data = {"S": [(k % 20, sec(10 * k + 5)) for k in range(3000)]}
    shown = scene(S[tumble("1 min")].aggregate("count(*) AS n").istream(), data=data)
    answers = shown.panels[0].lanes[-1]
    assert isinstance(answers, DotLane)
    assert [(d.t, d.label) for d in answers.dots] == [(sec(5), "0"), (sec(60), "6")]
    assert shown.notes == ("what is after 360, up to 29995: it has no answers",)


def test_tuples_that_cannot_be_told_apart_are_counted() -> None:
    shown = scene(S[tumble("10 min")].aggregate("count(*) AS n").istream(), data=every_second(3000))
    source, _, answers = shown.panels[0].lanes
    assert isinstance(source, CountLane)
    assert (sum(n for _, n in source.counts), int(source.every), len(source.counts)) == (3000, sec(30), 100)
    assert isinstance(answers, DotLane)
    assert [d.label for d in answers.dots] == ["0", "600"]


def test_the_end_of_a_picture_makes_many_tuples_few() -> None:
    shown = scene(S[rows(1)], data=every_second(6000), until=3)
    source = shown.panels[0].lanes[0]
    assert isinstance(source, DotLane)
    assert len(source.dots) == 4


def test_the_start_of_a_query_makes_many_tuples_few() -> None:
    shown = scene(S[rows(1)], data=every_second(6000), t0=5990)
    source = shown.panels[0].lanes[0]
    assert isinstance(source, DotLane)
    assert len(source.dots) == 10


def test_a_picture_of_too_many_evaluations_ends_earlier() -> None:
    data = {"S": [(1, sec(0)), (2, sec(30_000))]}
    shown = scene(S[range_("1 s", slide="1 s")], data=data)
    assert shown.end == sec(20_000)
    assert shown.notes[0] == "what is after 20000: 10,000 of 30,000 evaluations of [RANGE 1 SECOND SLIDE 1 SECOND]"


def test_a_stream_that_is_sensed_too_often_ends_earlier() -> None:
    road = sensed("road", "site INT, time TIMESTAMP, temp INT", every="1 s", sites=[1, 2])
    data = {"road": lambda site, t: (site,)}
    shown = scene(road[rows(1)], data=data, t0=0, until=3000)
    assert (shown.end, shown.notes[0]) == (sec(2499), "what is after 2499: 1,002 of 6,002 tuples of road")


def test_only_the_last_stretch_of_many_tuples_is_drawn_and_the_picture_says_so() -> None:
    shown = scene(S, data=every_second(300))
    answer = shown.panels[0].lanes[-1]
    assert isinstance(answer, DotLane)
    assert len(answer.dots) == 120
    assert (shown.start, shown.end) == (sec(180), sec(299))
    assert shown.notes == ("what was before 180: 180 of 300 tuples of S and 180 of 300 tuples of the answer",)


def test_windows_that_would_pile_up_are_left_out_but_for_the_last() -> None:
    shown = scene(S[rows(30)].aggregate("count(*) AS n"), data=every_second(36))
    lane = shown.panels[0].lanes[1]
    assert isinstance(lane, BarLane)
    assert len(lane.bars) == 10
    assert lane.bars[-1].until is None
    assert shown.notes == ("26 of 36 windows of [ROWS 30], all but the last",)


def test_many_parts_are_left_out_but_for_the_first() -> None:
    shown = scene(S[rows(1).by("k")].aggregate("count(*) AS n"), data=every_second(20))
    assert sum(isinstance(n, BarLane) for n in shown.panels[0].lanes) == 8
    assert shown.notes == ("12 of 20 parts of [PARTITION BY k ROWS 1], all but the first",)


def test_many_rows_are_left_out_but_for_those_that_came_last() -> None:
    data = {"S": [(k, sec(1)) for k in range(100)]}
    shown = scene(S[rows(100)], data=data)
    answer = shown.panels[0].lanes[-1]
    assert isinstance(answer, SpanLane)
    assert [s.line for s in answer.spans] == list(range(24))
    assert shown.notes == ("76 of 100 rows of the answer, all but those that came last",)


def test_no_query_is_an_error() -> None:
    assert refused(lambda: scene(data={})) == "there is no query to draw\n  hint: give at least one"


def test_a_small_picture_leaves_nothing_out() -> None:
    assert scene(S[rows(3)], data=every_second(5)).notes == ()
