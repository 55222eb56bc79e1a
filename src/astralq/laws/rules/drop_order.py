"""An ORDER BY that nobody looks at is left out.

AGGREGATE max(v) AS m BY k           AGGREGATE max(v) AS m BY k
└─ ORDER BY v DESC            →      └─ r
   └─ r

Not below LIMIT, first and last, nor where it is the answer that is ordered. Its keys are a part of φ: the row of a
group whose key changes is another tuple, which ISTREAM emits, also if the key is not shown.
"""

from __future__ import annotations

from astralq.algebra.base import Operator
from astralq.algebra.ordering import OrderBy
from astralq.algebra.windows import range_
from astralq.expr.safety import can_fail
from astralq.laws.rule import UNORDERED, Holds, Refused, Site
from astralq.laws.samples import C, L, Random
from astralq.laws.shapes import CANNOT_FAIL
from astralq.timeline import Instant

LAW = "τ_x R ≡ R, but for its order"
PAPERS = "decisions: ORDER BY x"
HOLDS = Holds.UP_TO_ORDER
SAME_TUPLES = "the same tuples"
CONDITIONS = {
    SAME_TUPLES: "φ determines the values below, or nobody above asks whether a tuple is the same in two states",
    CANNOT_FAIL: "no key can fail",
}


def rewrite(op: Operator, site: Site) -> Operator | None:
    if not isinstance(op, OrderBy):
        return None
    seen = site.observed.order or site.observed.positions
    if not site.require(UNORDERED, not seen, "somebody above looks at the order", op.label):
        return None
    same = not site.observed.identity or site.properties(op.child).phi_determines_values
    if not site.require(SAME_TUPLES, same, "a tuple whose key changes is another one", op.label):
        return None
    failing = next((k.expr for k in op.keys if can_fail(k.expr)), None)
    if not site.require(CANNOT_FAIL, failing is None, f"{failing} can fail, and would be dropped", op.label):
        return None
    return op.child


REFUSED = (
    Refused(
        "an answer in order",
        UNORDERED,
        C.order_by("b").select("a"),
        {"C": [(1, 2), (2, 1)]},
        "a relation is shown in its order",
    ),
    Refused(
        "the first of each state",
        UNORDERED,
        C.order_by("b").limit(1).aggregate("max(a) AS m"),
        {"C": [(1, 2), (2, 1)]},
        "LIMIT goes by the order",
    ),
    Refused(
        "a key that is not shown",
        SAME_TUPLES,
        L.aggregate("max(b) AS m", by="a")
        .order_by("m")
        .select("a")
        .istream()[range_("9 us")]
        .aggregate("count(*) AS n"),
        {"L": [(1, 1, "+", Instant(1)), (1, 2, "+", Instant(2))]},
        "the row of 1 is emitted again when its maximum changes",
    ),
    Refused(
        "a key that fails",
        CANNOT_FAIL,
        C.order_by("1 / b").aggregate("count(*) AS n"),
        {"C": [(1, 0)]},
        "the division by 0 is an error, also where nobody looks at the order",
    ),
)


def drawn(random: Random) -> Operator:
    r = random.relation(2)
    key = random.one(["a", "b DESC", "a % 2", "coalesce(a, b), b"] if random.chance(0.9) else ["1 / b"])
    ordered = r.order_by(key)
    choices = [
        ordered,
        ordered.aggregate("count(*) AS n", "max(a) AS m", by="b"),
        ordered.aggregate("last(a) AS l"),
        ordered.distinct(),
        ordered.limit(1),
        ordered.where(random.condition(r.operator)).select("b").aggregate("count(b) AS n"),
        ordered.select("a").rstream("2 us"),
        ordered.select("a").istream(),
        ordered.select("a").istream()[range_("9 us")].aggregate("count(*) AS n"),
        random.relation().join(ordered.rename({"a": "c", "b": "d"}), on="a = c", how="semi"),
    ]
    return random.one(choices).operator
