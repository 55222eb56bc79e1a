"""Elements as tuples: order and identity are the model's, in batch and in epochs, also of tuples that are equal."""

from __future__ import annotations

import pytest

from astralq import RelationQuery, StreamQuery, range_, rows, session, stream, tumble, unbounded
from astralq.model import Data, Stream
from astralq.spark import Engine
from astralq.timeline import BatchId, Instant
from tests.agree.compare import on_model, on_spark, same
from tests.agree.epochs import in_epochs
from tests.queries import S

E = stream("E", "k INT, l ARRAY<INT>, ts TIMESTAMP", timestamp="ts")
ROWS = [(1, (7, 8), 1), (1, (7, 8), 1), (1, (8, None, 7), 2), (2, (), 2), (3, None, 2), (2, (9,), 6), (1, (7, 8), 8)]
PAIRS = [(1, 2, 1), (1, 2, 1), (2, None, 2), (0, 1, 2), (1, 0, 5), (3, 1, 8)]
OF_PAIRS = Stream.of((BatchId(Instant(t), 0), (a, b)) for a, b, t in PAIRS)
DATA: Data = {"E": [(k, held, Instant(t)) for k, held, t in ROWS], "S": OF_PAIRS}
STAMPED: Data = {"E": Stream.of((BatchId(Instant(t), 0), (k, held, t)) for k, held, t in ROWS), "S": OF_PAIRS}

OF_STREAM: dict[str, StreamQuery | RelationQuery] = {
    "a stream": E.explode("l", "x").select("k", "x", "_n AS n"),
    "above its window": E.explode("l", "p", "x", outer=True)[rows(3)].select("k", "p", "x"),
}
OF_RELATION: dict[str, StreamQuery | RelationQuery] = {
    "changes": E[range_("2 us")].explode("l", "x").select("k", "x"),
    "what is emitted": E[range_("2 us")].explode("l", "x", outer=True).select("x").istream(),
    "whole states": E[rows(3)].explode("l", "p", "x", outer=True).select("k", "p", "x").rstream(),
    "groups": E[range_("3 us")].explode("l", "x").aggregate("count(*) AS n", "last(k) AS k", by="x"),
    "sums": E[range_("3 us")].explode("l", "x").aggregate("count(*) AS n", "sum(k) AS k", by="x"),
    "panes": E[tumble("4 us")].explode("l", "x").aggregate("count(*) AS n", by="x"),
    "for ever": E[unbounded()].explode("l", "x").aggregate("count(*) AS n", "max(k) AS k", by="x"),
    "bounds": E[tumble("4 us")].explode("l", "x").aggregate("count(*) AS n", by="x").window_bounds(),
    "sessions": E[session("2 us")].explode("l", "x").window_bounds().select("x", "window_start"),
    "the path": E[range_("3 us")].explode("l", "x").rename({"φ": "p"}).select("x", "p"),
    "twice": E[range_("3 us")].explode("l", "x").explode("array(x, k)", "y").select("k", "y"),
    "of an aggregate": E[range_("3 us")].aggregate("collect_list(k) AS ks", by="k").explode("ks", "x").select("k", "x"),
    "by φ": E[range_("5 us")].explode("l", "x").difference(E[range_("1 us")].explode("l", "x")).select("k", "x"),
    "joined by ⊥": E[range_("3 us")]
    .explode("l", "x", outer=True)
    .select("k", "x")
    .intersection(E[range_("3 us")].join(E[range_("1 us")].select("k AS x"), on="k < x", how="left").select("k", "x")),
    "limited": E[range_("3 us")].explode("l", "x").limit(2, per="k").select("k", "x"),
    "in the past": E[range_("3 us")].explode("l", "x").delayed("1 us").select("k", "x"),
    "in batches": S[range_("3 us")].explode("array(b, a)", "x").select("a", "x", "_n AS n").dstream(),
    "where it could fail": S[range_("3 us")].where("a <> 0").explode("array(6 div a)", "x").select("x"),
}


@pytest.mark.parametrize("name", [*OF_STREAM, *OF_RELATION])
def test_both_engines_order_and_identify_elements_alike(engine: Engine, name: str) -> None:
    query = (OF_STREAM | OF_RELATION)[name]
    expected = on_model(query, DATA)
    assert expected
    assert same(on_spark(engine, query, DATA), expected)


@pytest.mark.parametrize("name", [*OF_STREAM, *OF_RELATION])
def test_epochs_give_the_same_elements(engine: Engine, name: str) -> None:
    query = (OF_STREAM | OF_RELATION)[name]
    assert same(in_epochs(engine, query, STAMPED, [1, 2, 4, 8]), on_model(query, STAMPED))
