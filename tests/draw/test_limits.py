"""Too much for a picture: what is refused, what is left out, and how that is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from astralq import range_, rows, sensed, stream
from astralq.draw.scene import BarLane, DotLane, SpanLane
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


def test_too_many_tuples_are_an_error_with_their_number() -> None:
    assert refused(lambda: scene(S[rows(1)], data=every_second(5001))) == (
        "the stream S has 5,001 tuples, more than the 5,000 that a picture is computed from\n"
        "  hint: draw a part of them: --until T ends it earlier, START AT begins it later"
    )


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


def test_too_many_evaluations_are_an_error_with_their_number() -> None:
    data = {"S": [(1, sec(0)), (2, sec(30_000))]}
    assert refused(lambda: scene(S[range_("1 s", slide="1 s")], data=data)) == (
        "[RANGE 1 SECOND SLIDE 1 SECOND] is evaluated 30,000 times from its first tuple to its last, "
        "more than the 20,000 that a picture is computed from\n"
        "  hint: draw a part of them: --until T ends it earlier, START AT begins it later"
    )


def test_a_stream_that_is_sensed_too_often_is_an_error() -> None:
    road = sensed("road", "site INT, time TIMESTAMP, temp INT", every="1 s", sites=[1, 2])
    data = {"road": lambda site, t: (site,)}
    assert refused(lambda: scene(road[rows(1)], data=data, t0=0, until=3000)).startswith(
        "the stream road is sensed 6,002 times, more than the 5,000 that a picture is computed from\n"
    )


def test_only_the_last_stretch_of_many_tuples_is_drawn_and_the_picture_says_so() -> None:
    shown = scene(S.where("k > 100"), data=every_second(300))
    source = shown.panels[0].lanes[0]
    assert isinstance(source, DotLane)
    assert len(source.dots) == 120
    assert (shown.start, shown.end) == (sec(180), sec(299))
    assert shown.notes == ("what was before 180: 180 of 300 tuples of S",)


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
