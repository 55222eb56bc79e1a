"""Random streams, relations, conditions and windows: small, with simultaneous batches, gaps, NULLs and duplicates.

Times are single microseconds, so that every instant between two tuples can be looked at.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from astralq import (
    RelationQuery,
    WindowSpec,
    at_instants,
    for_loop,
    general,
    hop,
    landmark,
    last_batch,
    last_row,
    now,
    range_,
    relation,
    rows,
    session,
    stream,
    tumble,
    two_rates,
    unbounded,
)
from astralq.algebra.functions import Affine, Step, UpTo
from astralq.algebra.schedules import AtInstants, Measure
from astralq.algebra.scopes import Back, Scope
from astralq.model import Data, Stream
from astralq.timeline import BatchId, Instant, format_instant

HORIZON = 12
"""Tuples come at 0 … HORIZON microseconds."""

small = st.one_of(st.none(), st.integers(0, 3))


@st.composite
def streams(draw: st.DrawFn, columns: int = 2, most: int = 8, batches: int = 3) -> Stream:
    """A stream of small integers: several tuples per batch, up to `batches` batches per instant; it may be empty."""
    stamps = draw(st.lists(st.tuples(st.integers(0, HORIZON), st.integers(0, batches - 1)), max_size=most))
    values = [tuple(draw(small) for _ in range(columns)) for _ in stamps]
    return Stream.of((BatchId(Instant(t), i), v) for (t, i), v in zip(sorted(stamps), values, strict=True))


def us(n: int) -> str:
    return f"{n} us"


durations = st.integers(1, 5).map(us)
offsets = st.sampled_from([0, 0, 1, 2, -1]).map(us)

linear_time = st.builds(
    lambda a, b, width, rate: general((us(min(a, rate)), us(b)), (us(rate), us(b + width)), us(rate)),
    st.integers(0, 4),
    st.integers(0, 3),
    st.integers(0, 4),
    st.integers(1, 4),
)
linear_rows = st.builds(
    lambda a, b, width, rate: general((min(a, rate), b), (rate, b + width), rate),
    st.integers(0, 3),
    st.integers(0, 2),
    st.integers(0, 3),
    st.integers(1, 3),
)

calendar_windows: st.SearchStrategy[WindowSpec] = st.builds(
    # In 1970 01:00 in Paris is midnight in UTC.
    lambda size, every, o: hop(size, every, us(3_600_000_000 + o), "Europe/Paris"),
    st.one_of(st.sampled_from(["1 day", "1 month", "2 weeks"]), durations),
    st.sampled_from(["1 day", "1 month"]),
    st.integers(0, HORIZON),
)
"""Windows by local days and months, of which one or another ends while tuples come."""

temporal_windows: st.SearchStrategy[WindowSpec] = st.one_of(
    st.builds(range_, durations, durations),
    st.builds(lambda x: range_(us(x)), st.integers(0, 5)),
    st.just(now()),
    st.builds(hop, durations, durations, offsets),
    st.builds(tumble, durations, offsets),
    st.builds(lambda t, y: landmark(Instant(t), y), st.integers(0, 6), durations),
    linear_time,
    calendar_windows,
    st.builds(lambda w, d: w.delayed(us(d)), st.builds(range_, durations, durations), st.integers(0, 4)),
)
"""Windows whose schedule and scope are both on time (the "full temporal" ones of 001 P5)."""

bounded_windows: st.SearchStrategy[WindowSpec] = st.builds(
    lambda w, d: w.delayed(us(d)),
    st.one_of(
        st.builds(range_, durations, durations),
        st.builds(hop, durations, durations, offsets),
        st.builds(tumble, durations, offsets),
        st.builds(lambda t, y: landmark(Instant(t), y), st.integers(0, 6), durations),
        linear_time,
        calendar_windows,
    ),
    st.sampled_from([0, 0, 1, 3]),
)
"""Windows by time with a window_start and a window_end."""

positional_windows: st.SearchStrategy[WindowSpec] = st.one_of(
    st.just(last_batch()),
    st.just(last_row()),
    st.builds(unbounded, st.integers(1, 3)),
    st.builds(lambda n, m: rows(n, slide=m), st.integers(1, 4), st.integers(1, 3)),
    linear_rows,
    st.builds(lambda n, d: rows(n).delayed(d), st.integers(1, 3), st.integers(0, 3)),
)

cross_domain_windows: st.SearchStrategy[WindowSpec] = st.one_of(
    st.builds(lambda n, y: rows(n, slide=y), st.integers(1, 4), durations),
    st.builds(lambda x, m: range_(x, slide=m), durations, st.integers(1, 3)),
    st.builds(unbounded, durations),
)

# Aperiodic windows: a few instants, and bounds that are functions of them


def back(amount: int) -> Affine:
    """t ↦ t − amount."""
    return Affine(1, -amount)


def back_text(amount: int) -> str:
    return f"t - {amount} MICROSECONDS" if amount else "t"


def at(instants: Sequence[int], begins: int, ends: int) -> WindowSpec:
    """[t − begins, t − ends], evaluated at the given instants."""
    text = (back_text(begins), back_text(ends))
    return at_instants([Instant(t) for t in instants], back(begins), back(ends), text=text)


def rows_at(instants: Sequence[int], count: int) -> WindowSpec:
    """The last rows, at the given instants."""
    return WindowSpec(AtInstants(tuple(map(Instant, instants))), Scope(Measure.POSITION, Back(count - 1), Back(0)))


def loop(init: int, length: int, step: int, inclusive: bool, begins: int, ends: int) -> WindowSpec:
    """FOR (t = init; t < init + length; t = t + step) FROM t − begins TO t − ends."""
    first, limit = (f"TIMESTAMP '{format_instant(Instant(t))}'" for t in (init, init + length))
    header = f"(t = {first}; t {'<=' if inclusive else '<'} {limit}; t = t + {step} MICROSECONDS)"
    return for_loop(
        Instant(init),
        UpTo(init + length, inclusive),
        Step(step),
        back(begins),
        back(ends),
        text=(header, back_text(begins), back_text(ends)),
    )


def by_time_of_day(width: str | int, slide: int, start: int, length: int, otherwise: int) -> WindowSpec:
    """One rate in the first microseconds of the day, from `start` on, and another one in the rest of it."""
    first, last = (f"00:00:00.{t:06d}" for t in (start, start + length))
    return two_rates(width, us(slide), (first, last), us(otherwise))


@dataclass(frozen=True)
class SessionStart:
    """t ↦ where the last session began that had ended at t: a function that is data."""

    ends: tuple[int, ...]
    starts: tuple[int, ...]

    def __call__(self, t: Instant) -> int:
        return min(t, self.starts[max(0, bisect_right(self.ends, t) - 1)])


def sessions(times: Iterable[int], gap: int) -> WindowSpec:
    """The sessions of these times, each evaluated when nothing has come for a gap."""
    starts: list[int] = []
    ends: list[int] = []
    for t in sorted(set(times)) or [0]:
        if not ends or t > ends[-1]:
            starts.append(t)
            ends.append(t + gap)
        ends[-1] = t + gap
    begins = SessionStart(tuple(ends), tuple(starts))
    return at_instants([Instant(t) for t in ends], begins, back(gap), text=(f"session {starts}", back_text(gap)))


few_instants = st.lists(st.integers(0, HORIZON + 2), min_size=1, max_size=4, unique=True).map(sorted)
_some = st.integers(1, 4)
_bounds = st.tuples(st.integers(0, 4), st.integers(0, 3)).map(lambda b: (b[0] + b[1], b[1]))

aperiodic_windows: st.SearchStrategy[WindowSpec] = st.one_of(
    st.builds(lambda instants, b: at(instants, *b), few_instants, _bounds),
    st.builds(rows_at, few_instants, _some),
    st.builds(
        lambda init, length, step, inclusive, b: loop(init, length, step, inclusive, *b),
        st.integers(0, 6),
        st.integers(1, 9),
        st.integers(2, 4),
        st.booleans(),
        _bounds,
    ),
    st.builds(by_time_of_day, st.one_of(durations, _some), _some, st.integers(0, 6), _some, _some),
    st.builds(sessions, few_instants, _some),
)
"""Windows at instants that are no grid: lists, loops, two rates by the time of day, sessions (000 D12 and §6.1.4)."""

session_windows: st.SearchStrategy[WindowSpec] = st.builds(
    lambda g, parted: session(us(g)).by("a") if parted else session(us(g)), _some, st.booleans()
)
"""Sessions of a stream, or of each a."""

delayed_windows: st.SearchStrategy[WindowSpec] = st.one_of(
    st.builds(
        lambda w, d: w.delayed(us(d)),
        st.one_of(aperiodic_windows, session_windows, st.builds(hop, durations, durations, offsets), linear_time),
        st.integers(1, 3),
    ),
    st.builds(lambda n, y, d: rows(n, slide=y).delayed(us(d)), _some, durations, st.integers(1, 3)),
    st.builds(lambda x, m, d: range_(x, slide=m).delayed(d), durations, st.integers(1, 3), st.integers(1, 3)),
)
"""Windows of all other kinds that are evaluated later than they end."""

_families = [  # the larger ones twice, whatever number of forms they have
    *(temporal_windows, temporal_windows, positional_windows, positional_windows, aperiodic_windows, aperiodic_windows),
    *(cross_domain_windows, delayed_windows, session_windows),
]
windows: st.SearchStrategy[WindowSpec] = st.builds(
    lambda w, parted: w.by("a") if parted else w,
    st.sampled_from(_families).flatmap(lambda family: family),
    st.sampled_from([False, False, False, True]),
)
"""All windows over time and position, partitioned ones too."""

conditions = st.sampled_from(["a = 1", "a > 0", "b IS NULL", "a < b", "b IN (0, 2)", "a = b OR b > 1"])
"""Conditions over the attributes a and b."""

S = stream("S", "a INT, b INT")
"""The stream that queries over one stream use; its data are drawn from `streams()`."""


@dataclass(frozen=True)
class Given:
    """A query with data for its sources; it prints as something to paste."""

    query: RelationQuery
    data: Data

    def __repr__(self) -> str:
        shown = {
            k: [(s.t, s.i, s.values) for s in v.tuples] if isinstance(v, Stream) else v for k, v in self.data.items()
        }
        return f"\n{self.query}\nwith {shown}"


@st.composite
def versioned(draw: st.DrawFn, name: str = "R", columns: str = "a INT, b INT") -> Given:
    """A base relation of versioned rows, some of them open-ended, some from before the epoch."""
    count = columns.count(",") + 1
    versions = []
    for _ in range(draw(st.integers(0, 5))):
        start = draw(st.integers(-3, HORIZON))
        end = draw(st.one_of(st.none(), st.integers(start + 1, HORIZON + 3)))
        versions.append((*(draw(small) for _ in range(count)), start, end))
    r = relation(name, f"{columns}, valid TIMESTAMP, until TIMESTAMP", valid_from="valid", valid_to="until")
    return Given(r.select(*(c.split()[0] for c in columns.split(", "))), {name: versions})


@st.composite
def change_logs(draw: st.DrawFn, name: str = "R", columns: str = "a INT, b INT", *, key: bool = False) -> Given:
    """A base relation given by a log of changes, keyed by its first attribute or not keyed."""
    count = columns.count(",") + 1
    first = columns.split()[0]
    log: list[tuple[Any, ...]] = []
    for _ in range(draw(st.integers(0, 6))):
        change, t = draw(st.sampled_from("++-")), draw(st.integers(0, HORIZON))
        log.append((*(draw(small) for _ in range(count)), change, t))
    r = relation(name, f"{columns}, op STRING, ts TIMESTAMP", change="op", at="ts", key=first if key else ())
    return Given(r, {name: log})


@st.composite
def windowed(draw: st.DrawFn, specs: st.SearchStrategy[WindowSpec] = windows) -> Given:
    """A window over the stream S."""
    return Given(S[draw(specs)], {"S": draw(streams())})


@st.composite
def aggregated(draw: st.DrawFn) -> Given:
    """An aggregate over a window: its tuples keep their φ, the key, while their values change."""
    base = draw(windowed())
    return Given(base.query.aggregate("max(b) AS b", by="a"), base.data)


steady_relations: st.SearchStrategy[Given] = st.one_of(windowed(), versioned(), change_logs())
"""Relations in which φ determines the attributes: a tuple never changes its values."""

relations: st.SearchStrategy[Given] = st.one_of(steady_relations, aggregated(), change_logs(key=True))
"""All relations, with attributes a INT and b INT."""
