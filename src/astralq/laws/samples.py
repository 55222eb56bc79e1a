"""Random streams, relations, windows and conditions, small ones: what laws are tried on.

Times are single microseconds, so that every instant between two tuples can be looked at. Streams have several batches
at an instant, gaps, NULLs and duplicates. All streams and relations have the attributes a INT and b INT.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from astralq.algebra.base import Kind, Operator, operator_of
from astralq.algebra.extents import relation, stream
from astralq.algebra.fluent import RelationQuery, StreamQuery
from astralq.algebra.phi import ordered_or_chosen
from astralq.algebra.relational import Select, SetKind, SetOperation
from astralq.algebra.windows import (
    WindowSpec,
    general,
    hop,
    landmark,
    last_batch,
    last_row,
    moving,
    now,
    range_,
    rows,
    session,
    tumble,
    two_rates,
    unbounded,
)
from astralq.expr.conditions import conjunction
from astralq.expr.nodes import Expr
from astralq.expr.parse import expression
from astralq.model.sources import Data
from astralq.model.values import Stream
from astralq.timeline import BatchId, Instant, format_instant

LAST = 12
"""Tuples come at 0 … LAST microseconds."""

T = TypeVar("T")

S = stream("S", "a INT, b INT")
U = stream("U", "a INT, b INT")
W = stream("W", "a INT, b INT, ts TIMESTAMP", timestamp="ts")
P = stream("P", "a INT, b INT, x INT, y INT", location=("x", "y"), planar=True)
C = relation("C", "a INT, b INT")
V = relation("V", "a INT, b INT, since TIMESTAMP, till TIMESTAMP", valid_from="since", valid_to="till")
L = relation("L", "a INT, b INT, op STRING, ts TIMESTAMP", change="op", at="ts")
K = relation("K", "a INT, b INT, op STRING, ts TIMESTAMP", change="op", at="ts", key="a")

RELATIONS: Sequence[RelationQuery] = (C, V.select("a, b"), L, K, S[range_("3 us")], U[range_("2 us", slide="2 us")])


def us(n: int) -> str:
    return f"{n} us"


def at(t: int) -> str:
    """The instant of so many microseconds in a query's text."""
    return f"TIMESTAMP '{format_instant(Instant(t))}'"


def tuples(*stamped: tuple[Any, ...]) -> Stream:
    """A stream of tuples (t, value, …), with t in microseconds and one batch at each."""
    return Stream.of((BatchId(Instant(t), 0), tuple(values)) for t, *values in stamped)


class Random:
    """Draws queries, and data for their sources; the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def one(self, of: Sequence[T]) -> T:
        return self._random.choice(of)

    def number(self, low: int, high: int) -> int:
        """A number of the closed interval [low, high]."""
        return self._random.randint(low, high)

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    # Data

    def data(self) -> Data:
        """Data for all sources."""
        return {
            "S": self._tuples(2, 8),
            "U": self._tuples(2, 5),
            "P": self._tuples(4, 8),
            "W": [(*self._values(2), Instant(self.number(0, LAST))) for _ in range(self.number(0, 8))],
            "C": [self._values(2) for _ in range(self.number(0, 3))],
            "V": [self._valid() for _ in range(self.number(0, 4))],
            "L": self._log(5),
            "K": self._log(6),
        }

    def sizes(self) -> dict[str, int]:
        """How many rows sources are taken to have: laws that choose by cost then choose in both directions."""
        return {name: self.one([10, 1_000, 1_000_000]) for name in "SUWPCVLK"}

    def ends(self) -> tuple[Instant | None, Instant | None]:
        """A start and an end of a run, mostly none."""
        t0 = Instant(self.number(-1, 6)) if self.chance(0.2) else None
        return t0, Instant(self.number(2, LAST + 4)) if self.chance(0.3) else None

    def _value(self) -> int | None:
        return None if self.chance(0.15) else self.number(0, 3)

    def _values(self, count: int) -> tuple[int | None, ...]:
        return tuple(self._value() for _ in range(count))

    def _tuples(self, columns: int, most: int) -> Stream:
        last = self.one([2, LAST, LAST])  # often several batches at an instant
        stamps = sorted((self.number(0, last), self.number(0, 2)) for _ in range(self.number(0, most)))
        return Stream.of((BatchId(Instant(t), i), self._values(columns)) for t, i in stamps)

    def _valid(self) -> tuple[Any, ...]:
        since = self.number(0, LAST)
        till = None if self.chance(0.3) else Instant(since + self.number(1, 6))
        return (*self._values(2), Instant(since), till)

    def _log(self, most: int) -> list[tuple[Any, ...]]:
        changes = sorted(self.number(0, LAST) for _ in range(self.number(0, most)))
        return [(self.number(0, 2), self._value(), self.one("++-"), Instant(t)) for t in changes]

    # Windows

    def window(self) -> WindowSpec:
        """Any kind of window but those that measure distance."""
        spec = self.one([self.temporal_window, self.positional_window, self.mixed_window])()
        return self.partitioned(spec)

    def partitioned(self, spec: WindowSpec) -> WindowSpec:
        return spec.by(self.one(["a", "b"])) if self.chance(0.25) else spec

    def temporal_window(self) -> WindowSpec:
        """A window whose evaluations and bounds are both times."""
        x, y = us(self.number(1, 5)), us(self.number(1, 4))
        spec = self.one(
            [
                range_(x, slide=y),
                range_(x),
                now(),
                hop(x, y),
                tumble(x),
                landmark(Instant(self.number(0, 6)), y),
                general((y, "0 us"), (y, x), y),
                two_rates(x, y, ("00:00:00.000003", "00:00:00.000006"), us(self.number(1, 4))),
            ]
        )
        return spec.delayed(us(self.number(1, 3))) if self.chance(0.2) and spec != now() else spec

    def positional_window(self) -> WindowSpec:
        n, m = self.number(1, 4), self.number(1, 3)
        ahead = general((1, 0), (1, self.number(1, 2)), 1)
        return self.one([last_batch(), last_row(), unbounded(), rows(n), rows(n, slide=m), ahead])

    def mixed_window(self) -> WindowSpec:
        n, d = self.number(1, 3), us(self.number(1, 4))
        return self.one([rows(n, slide=d), range_(d, slide=n), session(d)])

    def moving_window(self) -> WindowSpec:
        width, slide = (f"{self.number(1, 4)} m" for _ in range(2))
        return self.one([moving(width, slide), moving(width, us(2)), range_("3 us", slide=slide)])

    # Queries

    def stream(self, depth: int = 1) -> StreamQuery:
        s = self.one([S, U, W.select("a", "b")])
        if depth == 0 or self.chance(0.4):
            return s
        inner = self.stream(depth - 1)
        choices: list[Callable[[], StreamQuery]] = [
            lambda: inner.where(self.condition(inner.operator)),
            lambda: inner.select("b AS a", "a AS b"),
            lambda: inner.spread("a"),
            lambda: inner.started_at(Instant(self.number(-2, 4))),
            lambda: self.relation(depth - 1).istream(),
            lambda: self.relation(depth - 1).rstream("2 us"),
        ]
        return self.one(choices)()

    def relation(self, depth: int = 1) -> RelationQuery:
        if depth == 0 or self.chance(0.25):
            return self.one(RELATIONS)
        r = self.relation(depth - 1)
        choices: list[Callable[[], RelationQuery]] = [
            lambda: self.stream(depth - 1)[self.window()],
            lambda: self.stream(0)[self.window()],
            lambda: r.where(self.condition(r.operator)),
            lambda: r.select("b AS a", "a AS b"),
            lambda: r.aggregate("max(b) AS b", by="a"),
            lambda: r.delayed(us(self.number(1, 3))),
            lambda: r.distinct(),
        ]
        return self.one(choices)()

    def aside(self, depth: int = 1) -> RelationQuery:
        """A relation with the names c and d, to stand on the right of a join."""
        return self.relation(depth).rename({"a": "c", "b": "d"})

    def condition(self, op: Operator, columns: Sequence[str] | None = None, *, fails: float = 0.05) -> Expr:
        """A condition over some attributes of an operator, now and then on a stamp, or one that can fail."""
        if self.chance(0.2):
            return conjunction(self.condition(op, columns, fails=fails) for _ in range(2))
        names = list(op.schema.names) if columns is None else list(columns)
        numbers = [n for n in names if op.schema[n].type.is_numeric] or names
        x, y = self.one(numbers), self.one(numbers)
        texts = [f"{x} = {self.number(0, 2)}", f"{x} > {self.number(0, 2)}", f"{x} <= {y}", f"{x} IS NULL"]
        texts += [f"{x} <> 1 OR {y} = 0", f"{x} IN (0, 2)", f"{x} >= 1 AND {y} < 3"]
        text = self.one(texts)
        if self.chance(fails):
            text = f"1 / {x} > 0"
        elif op.stamped and columns is None and self.chance(0.15):
            text = self.one(["_i = 0", "_n > 1", f"_t >= {at(self.number(0, LAST))}"])
        return expression(text, op.readable)

    # What stands above a law

    def above(self, op: Operator) -> Operator:
        """The query itself, or another one over it that looks at its order, at φ, or at a part of it."""
        if op.kind is Kind.WINDOWS:
            return op
        if op.kind is Kind.STREAM:
            s = StreamQuery(op)
            choices: list[Callable[[], Any]] = [
                *[lambda: s] * 3,
                lambda: s[rows(2)],
                lambda: s[range_("3 us", slide="2 us")].istream(),
                lambda: s.where("_n < 2"),
                lambda: s.spread_all(op.schema.names[0]),
            ]
        else:
            r = RelationQuery(op)
            first = op.schema.names[0]
            choices = [
                *[lambda: r] * 3,
                lambda: r.istream(),
                lambda: r.rstream(),
                lambda: r.dstream("2 us"),
                lambda: r.aggregate(f"count({first}) AS n", f"last({first}) AS l"),
                lambda: r.aggregate(f"max({first}) AS m"),
            ]
            if ordered_or_chosen(op) is None:
                how = self.one([SetKind.INTERSECT, SetKind.EXCEPT])
                choices.append(lambda: SetOperation(op, self._same_schema(op), how))
            if op.stamped:
                choices += [lambda: r.where("_n < 2"), lambda: r.select(f"{first}", "_n AS p").istream()]
        found = self.one(choices)()
        return operator_of(found)

    def _same_schema(self, op: Operator) -> Operator:
        """The operator with a selection more: its rows have the same φ."""
        return Select(op, self.condition(op, fails=0))
