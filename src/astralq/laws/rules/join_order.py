"""Joins of three and more relations are put in the order that makes the smallest tables, by estimated sizes.

    JOIN ON b.j = c.j                    JOIN ON a.k = b.k
    ├─ JOIN ON a.k = b.k                 ├─ a (1,000,000 rows)
    │  ├─ a (1,000,000 rows)      →      └─ JOIN ON b.j = c.j
    │  └─ b (1,000,000 rows)                ├─ b (1,000,000 rows)
    └─ c (10 rows)                          └─ c (10 rows)

Only parentheses move: a join is not symmetric, its order is that of its left side first (001 P2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import prod

from astralq.algebra.base import Operator
from astralq.algebra.relational import Join, JoinKind, Product
from astralq.expr.conditions import conjunction, conjuncts
from astralq.expr.nodes import TRUE, Call, Column, Expr
from astralq.expr.safety import can_fail
from astralq.laws.estimate import key_values, selectivity
from astralq.laws.rule import Holds, Refused, Site
from astralq.laws.samples import C, K, L, Random
from astralq.laws.shapes import CANNOT_FAIL, names
from astralq.timeline import Instant

LAW = "(R ⋈ Q) ⋈ P ≡ R ⋈ (Q ⋈ P); the same for ×"
PAPERS = "001 P8"
HOLDS = Holds.EXACTLY
CONDITIONS = {CANNOT_FAIL: "no condition can fail: each is computed for other pairs"}

WORTH = 0.8
"""Up to which part of its cost another order is worth a change: estimates are rough."""


def rewrite(op: Operator, site: Site) -> Operator | None:
    if not _is_inner(op):
        return None
    chain = _Chain.of(op, site)
    if len(chain.leaves) < 3:
        return None
    best, order = chain.best(0, len(chain.leaves))
    forced = CANNOT_FAIL in site.forced  # any other order then shows that the condition is needed
    if not forced and best > WORTH * chain.cost(op):
        return None
    failing = next((c for c in chain.conditions if can_fail(c)), None)
    if not site.require(CANNOT_FAIL, failing is None, f"{failing} can fail, and would for other pairs", op.label):
        return None
    new = chain.built(order if best <= WORTH * chain.cost(op) else _mirrored(op))
    return None if new == op else new


def _is_inner(op: Operator) -> bool:
    return isinstance(op, Product) or (isinstance(op, Join) and op.how is JoinKind.INNER)


Order = int | tuple["Order", "Order"]
"""Which leaves are joined first: a leaf, or a pair of orders."""


@dataclass(frozen=True)
class _Chain:
    """Relations that are joined, in their order, and all conditions between them."""

    leaves: tuple[Operator, ...]
    conditions: tuple[Expr, ...]
    rows: tuple[float, ...]

    @staticmethod
    def of(op: Operator, site: Site) -> _Chain:
        leaves: list[Operator] = []
        conditions: list[Expr] = []

        def visit(o: Operator) -> None:
            if not _is_inner(o):
                leaves.append(o)
                return
            for c in o.children:
                visit(c)
            if isinstance(o, Join):
                conditions.extend(conjuncts(o.condition))

        visit(op)
        return _Chain(tuple(leaves), tuple(conditions), tuple(max(1.0, site.estimated_rows(o)) for o in leaves))

    def place(self, column: str) -> int:
        return next(k for k, o in enumerate(self.leaves) if column in names(o.schema))

    def span(self, c: Expr) -> tuple[int, int]:
        """The first leaf that a condition reads, and the one after the last; of a constant, all."""
        places = [self.place(n) for n in c.columns] or [0, len(self.leaves) - 1]
        return min(places), max(places) + 1

    def size(self, first: int, last: int) -> float:
        """About how many rows the leaves of [first, last) have together."""
        found = prod(self.rows[first:last])
        for c in self.conditions:
            a, b = self.span(c)
            if first <= a and b <= last:
                found *= self._selectivity(c)
        return found

    def _selectivity(self, c: Expr) -> float:
        if isinstance(c, Call) and c.function in ("=", "<=>") and all(isinstance(x, Column) for x in c.args):
            a, b = self.span(c)
            return 1 / key_values(self.rows[a], self.rows[b - 1])
        return selectivity(c)

    def cost(self, op: Operator) -> float:
        """The rows of all joins as they stand."""
        count = 0

        def visit(o: Operator) -> tuple[float, int, int]:
            nonlocal count
            if not _is_inner(o):
                count += 1
                return 0.0, count - 1, count
            (a, first, _), (b, _, last) = (visit(c) for c in o.children)
            return a + b + self.size(first, last), first, last

        return visit(op)[0]

    def best(self, first: int, last: int) -> tuple[float, Order]:
        """The order of [first, last) with the fewest rows, and how many they are."""

        @cache
        def found(a: int, b: int) -> tuple[float, Order]:
            if b - a == 1:
                return 0.0, a
            halves = [(found(a, k), found(k, b)) for k in range(a + 1, b)]
            cost, order = min(((x[0] + y[0], (x[1], y[1])) for x, y in halves), key=lambda pair: pair[0])
            return cost + self.size(a, b), order

        return found(first, last)

    def built(self, order: Order) -> Operator:
        """The joins in an order, each with the conditions that it is the first to have all columns of."""

        def build(o: Order) -> tuple[Operator, int, int]:
            if isinstance(o, int):
                return self.leaves[o], o, o + 1
            (left, first, middle), (right, _, last) = build(o[0]), build(o[1])
            own = [
                c
                for c in self.conditions
                for a, b in [self.span(c)]
                if first <= a and b <= last and not _within(a, b, first, middle) and not _within(a, b, middle, last)
            ]
            condition = conjunction(own)
            return Product(left, right) if condition == TRUE else Join(left, right, condition), first, last

        return build(order)[0]


def _within(a: int, b: int, first: int, last: int) -> bool:
    """Whether the leaves [a, b) are those of the join of [first, last); one leaf is no join."""
    return last - first > 1 and first <= a and b <= last


def _mirrored(op: Operator) -> Order:
    """Some other order: from the right, or from the left where it is from the right already."""
    count = iter(range(100))

    def visit(o: Operator) -> Order:
        return (visit(o.children[0]), visit(o.children[1])) if _is_inner(o) else next(count)

    order = visit(op)
    match order:
        case ((a, b), c):
            return (a, (b, c))
        case (a, (b, c)):
            return ((a, b), c)
    raise AssertionError(order)


_D = K.rename({"a": "c", "b": "d"})
_E = L.rename({"a": "e", "b": "f"})
REFUSED = (
    Refused(
        "a division that no pair needs",
        CANNOT_FAIL,
        C.join(_D, on="a = c AND b > 5").join(_E, on="c = e AND 1 / f > d"),
        {"C": [(1, 0)], "K": [(1, 1, "+", Instant(1))], "L": [(1, 0, "+", Instant(1))]},
        "the first join is empty, so that nobody divides by 0; joined first, the other two divide",
        rows={"C": 1_000_000, "K": 1_000_000, "L": 10},
    ),
)


def drawn(random: Random) -> Operator:
    r, q = random.relation(), random.aside()
    p = random.relation().rename({"a": "e", "b": "f"})
    first = random.one(["a = c", "a < c", "b = d AND a > 0"])
    second = random.one(["c = e", "c = e AND d = 1", "d < f AND e = 1", "a = e", "c = e AND 1 / f > d"])
    if random.chance(0.5):
        return r.join(q, on=first).join(p, on=second).operator
    joined = r.product(q) if random.chance(0.3) else r.join(q, on=first)
    return joined.join(p.where("e = 1 AND f = 1"), on="c = e").operator
