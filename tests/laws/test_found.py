"""Queries that a law once changed, smallest form: found by reading the rules, not by the harness."""

from __future__ import annotations

import pytest

from astralq import RelationQuery, at_instants, last_batch, range_, relation, rows, stream, unbounded
from astralq.algebra.base import HasOperator
from astralq.algebra.domain import at_last_batch
from astralq.algebra.schedules import Measure
from astralq.algebra.ticks import Tick
from astralq.laws.optimize import optimize
from astralq.laws.samples import C, K, P, S, U, V, at, tuples
from astralq.laws.trials import answer
from astralq.model import Data
from astralq.timeline import Duration, Instant

NINE = range_("9 us")
P2 = stream("P2", "a2 INT, b2 INT, x2 INT, y2 INT", location=("x2", "y2"), planar=True)
D, E = (relation(n, "x DOUBLE, k INT") for n in "DE")
F = stream("F", "x DOUBLE, k INT")
G = stream("G", "a INT, ts TIMESTAMP, u TIMESTAMP", timestamp="ts")
S3, U3 = (stream(n, "a INT, ts TIMESTAMP") for n in ("S3", "U3"))
PRINTED = "CAST(x AS STRING) = '0.0'"
FAILING = RelationQuery(at_last_batch(V.select("a AS c").operator, S.select("1 / b AS q").operator))
LATE = at_instants([Instant(3)], lambda t: 0, lambda t: 1, measure=Measure.POSITION, text=("0", "1"))
MOVED = tuples((1, 1, Instant(9)), (3, 1, Instant(0)))


def looked_up(every: str | None = None, *, by_value: bool = False, how: str = "inner") -> HasOperator:
    right = RelationQuery(at_last_batch(V.select("a AS c", "b AS d").operator, S.operator))
    joined = S[last_batch()].where("a = 1").join(right, on="a = c", how=how)
    return joined.istream(every, by_value=by_value)


LOOKED_UP: Data = {"S": tuples((1, 1, 1), (2, 2, 2), (3, 1, 1)), "V": [(1, 7, Instant(0), None)]}

CASES: dict[str, tuple[HasOperator, Data]] = {
    "the location of the right side of a product": (
        P[NINE].product(P2[NINE]).select("x2", "y2", "a2"),
        {"P": tuples((1, 1, 1, 1, 1)), "P2": tuples((1, 2, 2, 2, 2))},
    ),
    "a location whose attribute is there twice": (
        P.select("x AS p", "x AS q", "y").select("q", "y"),
        {"P": tuples((1, 1, 1, 1, 1))},
    ),
    "rows of a key below EXCEPT ALL": (
        K.except_values(C, all=True).istream().select("a"),
        {"K": [(1, 1, "+", Instant(1)), (1, 2, "+", Instant(2))], "C": []},
    ),
    "a relation that fails when it is looked up": (
        S.lookup(V.select("a AS c", "1 / b AS d"), on="a = c").where("a = 1"),
        {"S": LOOKED_UP["S"], "V": [(1, 7, Instant(0), None), (5, 0, Instant(2), Instant(3))]},
    ),
    "a band join that fails for pairs that are not near": (
        S.band(U.rename({"a": "c", "b": "d"}), "1 us", on="1 / (b - d) > -5"),
        {"S": tuples((1, 1, 1)), "U": tuples((9, 1, 1))},
    ),
    "negative zero in a union": (D.union_values(E).where(PRINTED), {"D": [(0.0, 1)], "E": [(-0.0, 1)]}),
    "negative zero in a grouping key": (
        D.aggregate("count(*) AS n", by="x").where(PRINTED),
        {"D": [(0.0, 1), (-0.0, 2)]},
    ),
    "negative zero in a partition": (F[rows(1).by("x")].where(PRINTED), {"F": tuples((1, 0.0, 1), (2, -0.0, 1))}),
    "negative zero in insertions by value": (
        F[last_batch()].istream(by_value=True).where(PRINTED),
        {"F": tuples((1, -0.0, 1), (2, 0.0, 1))},
    ),
    "negative zero in a projection of different values": (
        D.distinct().istream().select("CAST(x AS STRING) AS s"),
        {"D": [(-0.0, 1), (0.0, 1)]},
    ),
    "a difference of intervals that is too long": (
        G[range_("1 us", slide="4 us")].where("(u - ts) - INTERVAL 106751991 DAYS < INTERVAL 0 SECONDS"),
        {"G": [(1, Instant(1), Instant(-60_000_000_000_000_000)), (1, Instant(4), Instant(4))]},
    ),
    "an attribute of the right side with the name of a stamp": (
        S[NINE].product(U[NINE].select("a AS c", "_t")).where(f"_t >= {at(2)}"),
        {"S": tuples((1, 1, 1)), "U": tuples((2, 5, 5))},
    ),
    "an attribute of a union's right side with the name of a stamp": (
        S3[NINE].union(U3.select("a", "ts AS _t")[NINE]).where(f"_t >= {at(2)}"),
        {"S3": MOVED, "U3": MOVED},
    ),
    "φ below EXCEPT ALL below an intersection by φ": (
        S[range_("4 us")].where("a = 1").except_values(C, all=True).intersection(S[unbounded()]),
        {"S": tuples((1, 0, 0), (2, 1, 1)), "C": []},
    ),
    "a view that emits before the query begins": (
        S[range_("5 us")].dstream().started_at(Instant(-10))[unbounded()].istream(),
        {"S": tuples((-5, 1, 1), (3, 2, 2))},
    ),
    "a lookup that is streamed every period": (looked_up("4 us"), LOOKED_UP),
    "a lookup that is streamed by value": (looked_up(by_value=True), LOOKED_UP),
    "a right lookup": (looked_up(how="right"), LOOKED_UP),
    "a full lookup": (looked_up(how="full"), LOOKED_UP),
    "a part whose window is wrong": (
        S[LATE.by("a")].where("a = 1"),
        {"S": tuples((1, 1, 1), (2, 1, 2), (2, 2, 2), (9, 1, 1))},
    ),
    "a projection that fails in a stream whose batches count": (
        S[last_batch()].join(FAILING, on="a = c").istream(),
        {"S": tuples((1, 1, 0)), "V": []},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_answer_stays(name: str) -> None:
    query, data = CASES[name]
    assert answer(optimize(query.operator).after, data) == answer(query.operator, data)


def test_a_tick_ends_with_the_run() -> None:
    """Tuples after the end do not belong to the tick in which the run ends, with laws or without."""
    query = Tick(S[unbounded()].istream().operator, Duration(4))
    data: Data = {"S": tuples((1, 1, 1), (6, 2, 2))}
    expected = [(0, 0, 1, 1)]
    assert answer(query, data, Instant(5)) == expected
    assert answer(optimize(query).after, data, Instant(5)) == expected


def test_a_bound_that_is_no_instant_is_left_out() -> None:
    window = at_instants([Instant(3)], lambda t: -(10**19), lambda t: t, text=("x", "t"))
    after = optimize(S[window].operator).after
    assert str(after)
    assert answer(after, {"S": tuples((1, 1, 1))}) == answer(S[window].operator, {"S": tuples((1, 1, 1))})
