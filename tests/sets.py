"""Random sets of queries over common streams, that differ in start, size, slide, filter and keys; and data for them."""

from __future__ import annotations

from dataclasses import dataclass

from astralq.algebra.base import HasOperator, Operator, operator_of
from astralq.algebra.fluent import StreamQuery
from astralq.algebra.windows import WindowSpec, general, hop, landmark, range_, rows, tumble
from astralq.laws.optimize import optimize
from astralq.laws.samples import LAST, Random, S, W, us
from astralq.model.sources import Data
from astralq.model.values import Stream
from astralq.sharing.common import Rooted, Sizes
from astralq.timeline import EPOCH, Instant


@dataclass(frozen=True)
class QuerySet:
    """Queries with their starts, data, and an end."""

    queries: tuple[tuple[Operator, Instant | None], ...]
    data: Data
    until: Instant

    def __str__(self) -> str:
        texts = [f"from {t0}:\n{query}" for query, t0 in self.queries]
        return "\n".join([*texts, f"with {self.data}", f"until {self.until}"])

    @property
    def rooted(self) -> list[Rooted]:
        """The queries after laws, as they are shared."""
        return [Rooted(f"q{k}", optimize(q).after, t0) for k, (q, t0) in enumerate(self.queries)]

    @property
    def sizes(self) -> Sizes:
        """What is known of the sources: how many rows they have, and how many before each start."""
        starts = {EPOCH if t0 is None else t0 for _, t0 in self.queries}
        times = {name: self._times(name) for name in ("S", "W")}
        before = {(name, t0): sum(t < t0 for t in times[name]) for name in times for t0 in starts}
        return Sizes({name: len(t) for name, t in times.items()}, before, LAST)

    def _times(self, name: str) -> list[int]:
        given = self.data[name]
        return [s.t for s in given.tuples] if isinstance(given, Stream) else [r[-1] for r in given]  # type: ignore[union-attr]


def query_set(seed: int) -> QuerySet:
    """The same set for the same seed."""
    random = Random(seed)
    stream = random.one([S, W])
    grouped = stream is W and random.chance(0.7)
    count = random.number(2, 6)
    slide = random.number(1, 3)
    usual = _window(random, slide)
    queries = []
    for _ in range(count):
        t0 = random.one([None, None, *(Instant(n) for n in range(6))])
        window = usual if random.chance(0.6) else _window(random, slide)
        query = _grouped(random, stream, slide) if grouped and random.chance(0.9) else _held(random, stream, window)
        queries.append((operator_of(query), t0))
    return QuerySet(tuple(queries), random.data(), Instant(LAST + 6))


def _grouped(random: Random, stream: StreamQuery, slide: int) -> HasOperator:
    """An aggregation over a window by time."""
    y = us(random.one([slide, slide, slide * 2, random.number(1, 4)]))
    x = us(random.number(1, 6))
    spec = random.one([range_(x, slide=y), tumble(y), hop(x, y), landmark(Instant(random.number(0, 3)), y)])
    filtered = stream.where(random.one(["b > 0", "a >= 1"])) if random.chance(0.2) else stream
    aggregates = random.one([["sum(b) AS s", "count(*) AS n"], ["max(b) AS m"], ["avg(b) AS v"], ["count(b) AS n"]])
    by = random.one(["a", "a", "a, b", None])
    made = filtered[spec].aggregate(*aggregates, by=() if by is None else by)
    if by is not None and random.chance(0.3):
        made = made.where("a > 0")
    return random.one([made, made.istream(), made.rstream()])


def _window(random: Random, slide: int) -> WindowSpec:
    n = random.number(1, 3)
    by_rows = [rows(n), rows(n), rows(n, slide=slide), rows(n, slide=us(slide)), general((1, 0), (1, 1), 1)]
    by_time = [range_(us(n), slide=us(slide)), range_(us(n)), tumble(us(slide))]
    spec = random.one([*by_rows, *by_time])
    return spec.by("a") if random.chance(0.5) else spec


def _held(random: Random, stream: StreamQuery, spec: WindowSpec) -> HasOperator:
    """What a window holds, mostly one by rows, or some of its tuples."""
    held = stream[spec]
    if random.chance(0.6):
        held = held.where(random.one(["b > 0", "b = 1", "a <> 1"]))
    if random.chance(0.3):
        held = held.select("a")
    elif random.chance(0.2):
        held = held.select("b", "_n AS p")
    return random.one([held, held.istream(), held.dstream(), held.aggregate("count(*) AS n", by=held.schema.names[0])])
