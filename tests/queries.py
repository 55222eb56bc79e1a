"""Random well-typed queries: every operator of the algebra, nested, over four streams and five relations.

Every relation and stream that is drawn has the attributes a INT and b INT, so that any of them can stand under any
operator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from astralq import (
    RelationQuery,
    StreamQuery,
    WindowSpec,
    WindowsQuery,
    moving,
    range_,
    relation,
    rows,
    stream,
    values,
)
from astralq.algebra.evaluations import evaluations
from astralq.algebra.phi import is_in_positions, ordered_or_chosen, phi_form
from astralq.model import Data, Stream
from astralq.timeline import Instant, format_instant
from tests.callables import FOLDED, HALF, UNSURE
from tests.generators import (
    HORIZON,
    aperiodic_windows,
    bounded_windows,
    change_logs,
    conditions,
    durations,
    session_windows,
    sessions,
    small,
    streams,
    us,
    versioned,
    windows,
)

S = stream("S", "a INT, b INT")
T = stream("T", "a INT, b INT")
P = stream("P", "a INT, b INT, x INT, y INT", location=("x", "y"), planar=True)
C = relation("C", "a INT, b INT")
_B = {"b": "CASE WHEN a < 3 THEN 2 - a END"}
M = stream("M", "a INT", computed=_B)  # b is computed when a row is read
N = relation("N", "a INT, op STRING, ts TIMESTAMP", change="op", at="ts", computed=_B)


@dataclass(frozen=True)
class Case:
    """A query and data for all sources; it prints as something to paste."""

    query: RelationQuery | StreamQuery
    data: Data

    def __repr__(self) -> str:
        shown = {
            k: [(s.t, s.i, s.values) for s in v.tuples] if isinstance(v, Stream) else v for k, v in self.data.items()
        }
        return f"\n{self.query}\nwith {shown}"


Tuples = TypeVar("Tuples", StreamQuery, RelationQuery)
"""A stream or a relation."""

BASE: list[RelationQuery] = [
    relation("V", "a INT, b INT, valid TIMESTAMP, until TIMESTAMP", valid_from="valid", valid_to="until").select(
        "a, b"
    ),
    relation("L", "a INT, b INT, op STRING, ts TIMESTAMP", change="op", at="ts"),
    relation("K", "a INT, b INT, op STRING, ts TIMESTAMP", change="op", at="ts", key="a"),
    N,
    C,
]

TWO = values("a INT, b INT", (1, 2), (0, None))

metres = st.integers(1, 4).map(lambda m: f"{m} m")
_moving: st.SearchStrategy[WindowSpec] = st.one_of(
    st.builds(moving, metres, st.one_of(metres, durations)),
    st.builds(lambda d, slide: range_(d, slide=slide), durations, metres),
    st.builds(lambda n, slide: rows(n, slide=slide), st.integers(1, 3), metres),
)
moving_windows: st.SearchStrategy[WindowSpec] = st.one_of(_moving, _moving.map(lambda w: w.by("a")))
"""Windows whose scope or rate is a distance."""

instants = st.integers(0, HORIZON).map(Instant)


@st.composite
def data(draw: st.DrawFn) -> Data:
    """Data for all sources."""
    rows = st.tuples(st.integers(0, 2), st.one_of(st.none(), st.integers(0, 2)))
    return {
        "S": draw(streams()),
        "T": draw(streams(most=5)),
        "P": draw(streams(columns=4)),
        "V": draw(versioned("V")).data["V"],
        "L": draw(change_logs("L")).data["L"],
        "K": draw(change_logs("K", key=True)).data["K"],
        "C": draw(st.lists(rows, max_size=3)),
        "M": draw(st.lists(st.tuples(instants, st.tuples(small)), max_size=5)),
        "N": draw(change_logs("N", "a INT")).data["N"],
    }


_of_the_case: st.SearchStrategy[Data] = st.shared(data(), key="the data of a case")
"""The same data wherever they are drawn in a case: windows can look at them."""


@st.composite
def own_sessions(draw: st.DrawFn) -> WindowSpec:
    """The sessions of one of the case's own streams."""
    tuples = draw(_of_the_case)[draw(st.sampled_from(["S", "T"]))]
    assert isinstance(tuples, Stream)
    return sessions([s.t for s in tuples.tuples], draw(st.integers(1, 4)))


at_some_instants: st.SearchStrategy[WindowSpec] = st.one_of(aperiodic_windows, own_sessions(), session_windows)
"""Windows whose evaluations are no grid; few by chance, and so a shape of their own."""


def exploded(query: Tuples) -> list[Tuples]:
    """A tuple for each element of an array, some of which have none."""
    return [
        query.explode("array(b, a)", "x").select("a", "x AS b"),
        query.explode("filter(array(a, b), x -> x > 0)", "p", "x", outer=True).select("x AS a", "p AS b"),
    ]


def _aside(r: RelationQuery) -> RelationQuery:
    """The relation with other names, to stand on the right of a join."""
    return r.rename({"a": "a2", "b": "b2"})


@st.composite
def stream_queries(draw: st.DrawFn, depth: int) -> StreamQuery:
    if depth == 0:
        return draw(st.sampled_from([S, T, M]))
    shape = draw(st.sampled_from(["source", "unary", "spread", "join", "band", "streamer", "streamer", "windows"]))
    if shape == "source":
        return draw(st.sampled_from([S, T, M]))
    if shape == "streamer":
        return draw(streamed(depth))
    if shape == "windows":
        return draw(streamed_windows(depth))
    inner = draw(stream_queries(depth - 1))
    match shape:
        case "unary":
            return draw(
                st.sampled_from(
                    [
                        inner.where(draw(conditions)),
                        inner.select("b AS a", "a AS b"),
                        inner.where("_i = 0"),
                        inner.select("a", "half(b) AS b", half=HALF),
                        *exploded(inner),
                    ]
                )
            )
        case "spread":
            attributes = draw(st.sampled_from([(), ("a",), ("b", "a")]))
            return inner.spread_all(*attributes) if draw(st.booleans()) else inner.spread(*attributes)
        case "join":
            right = _aside(draw(relation_queries(depth - 1)))
            how = draw(st.sampled_from(["inner", "left", "semi", "anti"]))
            join = inner.join if draw(st.booleans()) else inner.lookup
            joined = join(right, on="a = a2", how=how)
            return joined if how in ("semi", "anti") else joined.select("a", "b2 AS b")
    other = draw(stream_queries(0)).select("a AS a2", "b AS b2")
    banded = draw(
        st.sampled_from(
            [
                inner.band(other, us(draw(st.integers(0, 4))), on="a = a2"),
                inner.band(
                    other, us(draw(st.integers(0, 4))), on="a = a2", how=draw(st.sampled_from(["left", "full"]))
                ),
                inner.band(other, on="a = a2"),
                inner.band(other, rows=draw(st.integers(0, 2)), on="a = a2"),
            ]
        )
    )
    return banded.select("a", "b2 AS b")


@st.composite
def streamed(draw: st.DrawFn, depth: int) -> StreamQuery:
    """A streamer over a relation."""
    r = draw(relation_queries(depth - 1))
    every = draw(st.one_of(st.none(), durations))
    by_value = draw(st.booleans())
    if evaluations(r.operator) is not None and draw(st.integers(0, 5)) == 0:
        return r.rstream(on_evaluation=True)
    return draw(
        st.sampled_from(
            [
                r.istream(every, by_value=by_value),
                r.dstream(every, by_value=by_value),
                r.rstream(every),
                r.rstream(on_insert=True),
            ]
        )
    )


@st.composite
def window_queries(draw: st.DrawFn, depth: int) -> WindowsQuery:
    """A stream of windows (SNEEql): over time, over rows, scanned from a relation, and what is made of them."""
    slide, size, back = (draw(st.integers(low, 4)) for low in (1, 0, 0))
    kind = draw(st.sampled_from(["time", "rows", "scan"]))
    if kind == "scan":
        found = draw(relation_queries(depth - 1)).scan(us(slide))
    else:
        source = draw(stream_queries(depth - 1))
        ends = (size + back, back, slide)
        found = source.windows(*(map(us, ends) if kind == "time" else ends))
    shape = draw(st.sampled_from(["plain", "where", "select", "distinct", "aggregate", "groups", "product"]))
    match shape:
        case "where":
            return found.where(draw(conditions))
        case "select":
            return found.select("b AS a", "a AS b")
        case "distinct":
            return found.distinct()
        case "aggregate":
            return found.aggregate("CAST(count(*) AS INT) AS a", "last(b) AS b")
        case "groups":
            return found.aggregate("max(b) AS b", by="a")
        case "product" if depth > 1:
            other = draw(window_queries(1)).select("a AS a2", "b AS b2")
            return found.product(other).select("a", "b2 AS b")
    return found


@st.composite
def streamed_windows(draw: st.DrawFn, depth: int) -> StreamQuery:
    found = draw(window_queries(depth))
    return draw(st.sampled_from([found.rstream(), found.istream(), found.dstream()]))


sort_keys = st.sampled_from(["a", "b DESC", "b NULLS LAST", "b DESC NULLS FIRST, a", "a % 2 DESC", "coalesce(b, a)"])


@st.composite
def ordered_or_limited(draw: st.DrawFn, r: RelationQuery) -> RelationQuery:
    """Another order, some tuples of each state, or their places."""
    count, skip = draw(st.integers(0, 3)), draw(st.sampled_from([0, 0, 0, 1]))
    per, by = draw(st.sampled_from([(), "a", "b", "a % 2"])), draw(st.one_of(st.just(()), sort_keys))
    ordered = r.order_by(draw(sort_keys))
    return draw(
        st.sampled_from(
            [
                ordered,
                ordered.limit(count, per=per),
                r.limit(count, per=per, by=by, skip=skip),
                r.limit(None, skip=1, per=per),
                r.limit(None, per=per, by=by, rank="n").where("n <= 2").select("a", "n AS b"),
            ]
        )
    )


def _micros(time: str) -> str:
    """A time as its microseconds since the epoch, which are few here."""
    moments = ((t, f"TIMESTAMP '{format_instant(Instant(t))}'") for t in range(-2, HORIZON + 2))
    return f"CASE {' '.join(f'WHEN {time} = {moment} THEN {t}' for t, moment in moments)} END"


@st.composite
def with_window_bounds(draw: st.DrawFn, depth: int) -> RelationQuery:
    """A window by time, or an aggregate of it, with the bounds of the window that is shown, as a and b."""
    spec = draw(st.one_of(bounded_windows, session_windows))
    held = draw(stream_queries(depth - 1))[spec]
    if draw(st.booleans()):
        held = held.where(draw(conditions))
    found = [held, held.aggregate("max(b) AS b", by="a")]
    if not spec.partition:  # else sessions would not be known
        found.append(held.aggregate("min(a) AS a", "CAST(count(*) AS INT) AS b"))
    shown = draw(st.sampled_from(found))
    start, end = map(_micros, ("window_start", "window_end"))
    items = draw(st.sampled_from([("a", f"{end} AS b"), (f"{start} AS a", "b"), (f"{start} AS a", f"{end} AS b")]))
    return shown.window_bounds().select(*items)


SHAPES = [
    *("window", "window", "instants", "moving", "unary", "aggregate", "past", "order", "join", "by φ", "by value"),
    "bounds",
]


@st.composite
def relation_queries(draw: st.DrawFn, depth: int) -> RelationQuery:
    if depth == 0:
        return draw(st.sampled_from([*BASE, TWO, S[range_("3 us")], T[range_("2 us", slide="2 us")]]))
    shape = draw(st.sampled_from(SHAPES))
    if shape in ("window", "instants"):
        return draw(stream_queries(depth - 1))[draw(windows if shape == "window" else at_some_instants)]
    if shape == "bounds":
        return draw(with_window_bounds(depth))
    if shape == "moving":
        return draw(st.sampled_from([P, P.where(draw(conditions))]))[draw(moving_windows)].select("a", "b")
    r = draw(relation_queries(depth - 1))
    match shape:
        case "unary":
            return draw(
                st.sampled_from(
                    [
                        r.where(draw(conditions)),
                        r.select("b AS a", "a AS b"),
                        r.select("a", "a AS b"),
                        r.distinct(),
                        r.where("unsure(b) = 0 OR a = 1", unsure=UNSURE),
                        r.select("a", "struct(b, array(a)) AS s").distinct().select("a", "s['b'] AS b"),
                        r.select("map('k', a) AS m", "b").where("m['k'] IS NOT NULL").select("m['k'] AS a", "b"),
                        *exploded(r),
                    ]
                )
            )
        case "aggregate":
            return draw(
                st.sampled_from(
                    [
                        r.aggregate("max(b) AS b", by="a"),
                        r.aggregate("min(a) AS a", "last(b) AS b"),
                        r.aggregate("CAST(count(b) AS INT) AS b", by="a"),
                        r.aggregate("CAST(sum(b) AS INT) AS b", by="a"),
                        r.aggregate("folded(b) AS b", by="a", folded=FOLDED),
                        r.aggregate("CAST(count(*) AS INT) AS a", "CAST(round(avg(b)) AS INT) AS b"),
                        r.aggregate("CAST(sum(b) FILTER (WHERE b > 0) AS INT) AS b", by="a"),
                        r.aggregate("min(a) AS a", "last(b) FILTER (WHERE a > 0) AS b"),
                        r.aggregate("get(collect_list(b), 1) AS b", by="a"),
                        r.aggregate("max_by(a, b) AS a", "CAST(count_if(b > 0) AS INT) AS b"),
                    ]
                )
            )
        case "past":
            t = draw(instants)
            return draw(
                st.sampled_from(
                    [
                        r.at(t),
                        r.at_start(),
                        r.delayed(draw(durations)),
                        r.scanned(draw(durations)),
                        r.during(t, Instant(t + 3)),
                    ]
                )
            )
        case "order":
            return draw(ordered_or_limited(r))
    other = draw(relation_queries(draw(st.integers(0, depth - 1))))
    if shape == "join" and draw(st.integers(0, 4)) == 0:
        near = draw(st.sampled_from(["a >= a2", "a = a2 AND b < b2", "b <= b2 AND a = a2", "a2 < a"]))
        return r.asof(_aside(other), on=near, how=draw(st.sampled_from(["inner", "left"]))).select("a", "b2 AS b")
    if shape == "join":
        how = draw(st.sampled_from(["inner", "left", "right", "full", "semi", "anti", "single"]))
        if how == "single":  # what a subquery in an expression is
            beside = other.aggregate("max(b) AS b2", by="a").rename({"a": "a2"})
            single = r.join(beside, on="a = a2", how=how)
            return draw(
                st.sampled_from([single.select("a", "b2 AS b"), single.where("b2 IS NULL OR b > 0").select("a", "b")])
            )
        joined = r.join(_aside(other), on=draw(st.sampled_from(["a = a2", "a < a2", "a = a2 AND b <> b2"])), how=how)
        return joined if how in ("semi", "anti") else joined.select("a", "b2 AS b")
    if shape == "by φ":
        if any(ordered_or_chosen(side.operator) for side in (r, other)):
            return r.union(other)
        found = [r.union(other), r.intersection(other), r.difference(other)]
        if phi_form(r.operator) == phi_form(other.operator):
            found.append(r.union(other, in_order=True))
        if is_in_positions(phi_form(r.operator)):
            found.append(r.rename({"φ": "p"}).select("a", "length(CAST(p AS STRING)) AS b"))
        return draw(st.sampled_from(found))
    every = draw(st.booleans())
    return draw(
        st.sampled_from(
            [
                r.product(_aside(other)).select("a", "b2 AS b"),
                r.union_values(other),
                r.intersect_values(other, all=every),
                r.except_values(other, all=every),
                r.divide(other.select("b")).select("a", "a AS b"),
            ]
        )
    )


@st.composite
def cases(draw: st.DrawFn, depth: int = 3) -> Case:
    """A query of up to the given depth, with its data."""
    d = draw(st.sampled_from([k for k in range(1, depth + 1) for _ in range(depth + 2 - k)]))  # small ones more often
    query = draw(st.one_of(relation_queries(d), stream_queries(d)))
    return Case(query, draw(_of_the_case))


# Cases by number

DEPTH = 4
_one_by_one = settings(
    # The first example that Hypothesis draws is the simplest one; later ones resemble each other. So: one per seed.
    max_examples=2,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
)


def with_seed(number: int, test: Callable[[Case], None], *more: Phase) -> None:
    """Runs a test on the simplest case and on the one of a seed, and does what other phases do."""

    @seed(number)
    @settings(_one_by_one, phases=[Phase.generate, *more])
    @given(cases(DEPTH))
    def tried(case: Case) -> None:
        test(case)

    tried()


@cache
def nth(number: int) -> Case:
    """The case of a seed, the same one each time."""
    found: list[Case] = []
    with_seed(number, found.append)
    return found[-1]
