"""Random queries cut into two processes at a stream give what one process gives (001 §8)."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from astralq.algebra.base import Kind, Operator
from astralq.algebra.sources import StreamSource
from astralq.io.progress import unpacked, with_progress
from astralq.laws.optimize import replaced
from astralq.model import Stream, prepare
from astralq.timeline import Instant
from tests.generators import HORIZON
from tests.laws.equivalence import assert_equivalent
from tests.queries import Case, cases

START, END = Instant(0), Instant(HORIZON + 6)


def streams_of(query: Operator) -> list[tuple[int, Operator]]:
    """The streams below the top of a query, with their places as `walk` counts them."""
    below = list(enumerate(query.walk()))[1:]
    return [(k, op) for k, op in below if op.kind is Kind.STREAM and not isinstance(op, StreamSource)]


def emitted(op: Operator, data: Any) -> list[tuple[Any, ...]]:
    """What a process that computes a stream writes: its tuples, and where time began and ended."""
    run = prepare(op, data, START, END)
    stream = run.result()
    assert isinstance(stream, Stream)
    rows = ((s.t, s.i, *s.values) for s in stream.tuples)
    return list(with_progress(rows, len(op.schema), (run.ctx.start.t, run.ctx.start.i), run.ctx.end.t))


@given(cases(depth=4), st.integers(0, 10))
def test_a_query_that_is_cut_at_a_stream_gives_the_same_answer(case: Case, choice: int) -> None:
    """[001 §8]"""
    query = case.query.operator
    places = streams_of(query)
    assume(places)
    place, op = places[choice % len(places)]
    source = StreamSource("cut", op.schema, progress=True)
    cut = replaced(query, place, source)
    data = {**case.data, "cut": unpacked(source, emitted(op, case.data))}
    ends: Any = {"t0": (START, START), "until": END}
    assert_equivalent(case.query, _Query(cut), data, **ends)


class _Query:
    def __init__(self, operator: Operator) -> None:
        self.operator = operator
