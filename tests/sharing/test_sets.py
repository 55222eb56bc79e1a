"""Queries that share windows give the answers that they give alone: on the model, order and errors included."""

from __future__ import annotations

from collections import Counter

import pytest

from astralq.algebra.panes import CommonPanes
from astralq.algebra.relational import GroupBy
from astralq.algebra.sources import StreamSource
from astralq.errors import AstralError
from astralq.model import run
from astralq.model.sources import Data
from astralq.model.values import Values
from astralq.sharing import aggregations
from astralq.sharing.common import Rooted
from astralq.sharing.queries import share
from astralq.timeline import Instant
from tests.sets import query_set


def answer(query: Rooted, data: Data, until: Instant) -> list[Values] | str:
    try:
        return run(query.query, data, t0=query.t0, until=until).rows
    except AstralError:
        return "an error"


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("seed", range(150))
def test_shared_windows_give_the_answers_of_each_query_alone(seed: int, live: bool) -> None:
    given = query_set(seed)
    shared = share(given.rooted, given.sizes, live=live)
    for before, after in zip(given.rooted, shared.queries, strict=True):
        alone, together = (answer(q, given.data, given.until) for q in (before, after))
        assert alone == together, f"{given}\n{before.name} became\n{after.query}\n{alone}\n{together}"


def moved(data: Data, panes: CommonPanes) -> Data:
    """The data with every tuple at the end of its pane."""
    source = next(op for op in panes.stream.walk() if isinstance(op, StreamSource))
    rows = [(*r[:-1], Instant(panes.grid.last(r[-1]))) for r in data[source.name]]  # type: ignore[union-attr]
    return {**data, source.name: rows}


@pytest.mark.parametrize("seed", range(150))
def test_tuples_of_one_pane_behave_alike_in_all_windows(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Common panes: a tuple may stand at the end of its pane for all aggregations that are answered from it."""
    monkeypatch.setattr(aggregations, "panes_pay", lambda *_: True)
    given = query_set(seed)
    shared = share(given.rooted, given.sizes)
    for rooted in shared.queries:
        for op in rooted.query.walk():
            if not isinstance(op, GroupBy) or op.panes is None:
                continue
            common = op.panes
            alone, together = (
                run(op, {"W": data["W"]}, t0=rooted.start, until=given.until).rows
                for data in (given.data, moved(given.data, common))
            )
            assert alone == together, f"{op}\nfrom {rooted.start} with {given.data['W']}\n{common}"


def test_many_sets_share_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sets are such that windows and panes are shared, by each of the ways that there are."""
    monkeypatch.setattr(aggregations, "panes_pay", lambda *_: True)
    ways: Counter[str] = Counter()
    for seed in range(150):
        given = query_set(seed)
        ways.update(n.how.split(" of ")[0] for n in share(given.rooted, given.sizes).notes if n.shared)
    assert all(ways[way] >= 20 for way in ("the same window", "transposition (001 P9)", "common panes")), ways
