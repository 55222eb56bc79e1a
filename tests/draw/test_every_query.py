"""What holds of every picture: it shows the model's states and answers, and can be drawn whatever the query is."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from astralq import Instant, WindowSpec
from astralq.draw import picture
from astralq.draw.scene import DotLane, Held, SpanLane
from astralq.model import Change, Relation, Stream, prepare, run
from tests.generators import S, streams, windows
from tests.queries import Case, cases


@given(streams(), windows, st.integers(0, 6).map(Instant))
def test_the_filled_dots_are_the_state_of_the_window_at_the_end(s: Stream, w: WindowSpec, t0: Instant) -> None:
    found = prepare(S[w], {"S": s}, t0=t0)
    result = found.result()
    assert isinstance(result, Relation)
    lane = picture(S[w], {"S": s}, start_at=t0).scene.panels[0].lanes[0]
    assert isinstance(lane, DotLane)
    state = sorted(str(r.stamp[2]) for r in result.at(found.ctx.end) if r.stamp is not None)
    assert sorted(str(d.n) for d in lane.dots if d.held is Held.NOW) == state


@given(cases())
def test_the_answer_of_a_picture_is_the_answer_of_the_model(case: Case) -> None:
    scene = picture(case.query, case.data).scene
    answer = run(case.query, case.data)
    lane = scene.panels[0].lanes[-1]
    if isinstance(lane, DotLane):
        assert [(d.t, d.i) for d in lane.dots] == [(s.t, s.i) for s in answer]
    elif isinstance(lane, SpanLane) and not scene.notes:
        gained = [c.t for c in answer if isinstance(c, Change) and c.op == "+"]
        lost = [c.t for c in answer if isinstance(c, Change) and c.op == "-"]
        assert sorted(s.start for s in lane.spans) == sorted(gained)
        assert sorted(s.end for s in lane.spans if s.end is not None) == sorted(lost)


@given(cases())
@settings(max_examples=25)
def test_every_query_can_be_drawn(case: Case) -> None:
    assert ElementTree.fromstring(picture(case.query, case.data).svg) is not None
