"""Properties are promises: what is promised of an operator holds in every run of the model, on generated data."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from astralq import range_, relation, rows, stream, tumble, unbounded
from astralq.algebra.base import Kind, Operator
from astralq.algebra.properties import Given, Grid, Properties, properties
from astralq.algebra.sources import StreamSource
from astralq.errors import AstralError
from astralq.laws.lower import lower
from astralq.model import Data, Stream, StreamTuple, prepare
from astralq.model.values import Relation, Row
from astralq.timeline import BatchId
from tests.queries import Case, nth


def one_batch(query: Operator, data: Data) -> list[str]:
    """The sources whose tuples are at i = 0 only, in these data."""
    streams = {op.name for op in query.walk() if isinstance(op, StreamSource)}
    return [n for n in streams if all(s.i == 0 for s in _tuples(data[n]))]


def _tuples(given: object) -> list[StreamTuple]:
    return list(given.tuples) if isinstance(given, Stream) else []


def broken(op: Operator, case: Case) -> Iterator[str]:
    """Which promises about an operator its answer over these data breaks."""
    known = properties(op, Given.of(None, one_batch(case.query.operator, case.data)))
    run = prepare(op, case.data)
    result = run.result()
    if isinstance(result, Stream):
        seen = [s for s in result.tuples if run.ctx.start <= s.batch <= run.ctx.end]
        if known.one_batch_per_instant and any(s.i != 0 for s in seen):
            yield "one batch per instant"
    elif isinstance(result, Relation):
        points = sorted({run.ctx.start, *result.changes(run.ctx.start, run.ctx.end)})
        yield from _broken_by(known, op, [(b, list(result.at(b))) for b in points])


def _broken_by(known: Properties, op: Operator, states: list[tuple[BatchId, list[Row]]]) -> Iterator[str]:
    values: dict[object, object] = {}
    entered: dict[object, int] = {}
    before: list[Row] | None = None
    for b, now in states:
        same = before is not None and [(r.phi, r.values) for r in before] == [(r.phi, r.values) for r in now]
        if before is not None and not same:
            if known.one_batch_per_instant and b.i != 0:
                yield f"one batch per instant, at {b}"
            if known.grid is not None and (b.t - known.grid.origin) % known.grid.every:
                yield f"{known.grid}, at {b}"
            new, old = ({(r.phi, r.values) for r in rows_} for rows_ in (now, before))
            entered |= dict.fromkeys(new - old, b.t)
            if known.lifetime is not None and any(
                b.t - entered[r] != known.lifetime for r in old - new if r in entered
            ):
                yield f"holds for {known.lifetime}, at {b}"
            if known.append_only and old - new:
                yield f"append-only, at {b}"
        if known.phi_determines_values:
            for r in now:
                if values.setdefault(r.phi, r.values) != r.values:
                    yield f"φ determines the values, at {b}"
        for key in known.keys:
            places = [op.schema.index(n) for n in key]
            found = [tuple(r.values[k] for k in places) for r in now]
            if len(set(found)) != len(found):
                yield f"the key {sorted(key)}, at {b}"
        before = now


@pytest.mark.generated(share=2)
def test_what_is_promised_of_an_operator_holds_on_generated_data(seed: int) -> None:
    case = nth(seed)
    for op in lower(case.query.operator).walk():
        if op.kind is Kind.WINDOWS:
            continue
        try:
            assert list(broken(op, case)) == [], f"{op}\n{case}"
        except AstralError:
            continue  # a part that fails alone


def test_the_properties_are_promised_often_enough_to_be_tried() -> None:
    queries = [lower(nth(seed).query.operator) for seed in range(160)]
    found = [properties(op) for query in queries for op in query.walk() if op.kind is Kind.RELATION]
    for name in ("append_only", "phi_determines_values", "grid", "keys"):
        assert sum(bool(getattr(p, name)) for p in found) >= 20, name


# By hand

S = stream("S", "id INT, v INT, ts TIMESTAMP", timestamp="ts")
BATCHED = stream("B", "id INT, v INT, ts TIMESTAMP, i INT", timestamp="ts", batch_by="i")
K = relation("K", "id INT, w INT, op STRING, ts TIMESTAMP", change="op", at="ts", key="id")
MINUTE = 60_000_000


def of(query: object) -> Properties:
    return properties(query.operator)  # type: ignore[attr-defined]


def test_nothing_leaves_a_window_of_everything_nor_what_is_selected_of_it() -> None:
    assert of(S[unbounded()].where("v > 1")).append_only
    assert not of(S[rows(3)]).append_only
    assert not of(S[unbounded()].aggregate("count(*) AS n")).append_only


def test_a_window_that_moves_in_steps_changes_on_their_grid() -> None:
    assert of(S[tumble("1 min")]).grid == Grid(0, MINUTE)
    assert of(S[range_("1 h", "1 min").delayed("10 s")].aggregate("max(v) AS m")).grid == Grid(10_000_000, MINUTE)
    assert of(S[range_("1 h")]).grid is None


def test_a_tuple_stays_in_a_window_by_time_for_its_range_and_an_instant() -> None:
    assert of(S[range_("1 min")].where("v > 1")).lifetime == MINUTE + 1
    assert of(BATCHED[range_("1 min")]).lifetime is None


def test_batches_come_from_where_they_are_declared() -> None:
    assert of(S.where("v > 1")).one_batch_per_instant
    assert not of(BATCHED[rows(1)]).one_batch_per_instant
    assert not of(S.spread("id")).one_batch_per_instant
    assert of(BATCHED[rows(1)].istream(every="1 s")).one_batch_per_instant is False, "it begins with a batch of B"


def test_an_aggregates_rows_have_its_key_and_change_their_values() -> None:
    grouped = of(S[rows(9)].aggregate("max(v) AS m", by="id"))
    assert grouped.keys == {frozenset({"id"})}
    assert not grouped.phi_determines_values
    assert of(S[rows(9)].aggregate("max(v) AS m")).keys == {frozenset()}


def test_a_keyed_change_log_keeps_its_key_through_renaming_and_projection() -> None:
    assert of(K.rename({"id": "who"})).keys == {frozenset({"who"})}
    assert of(K.select("id AS x, w")).keys == {frozenset({"x"})}
    assert of(K.select("w")).keys == frozenset()
    assert not of(K).phi_determines_values


def test_an_expression_that_can_fail_is_told() -> None:
    assert of(S.where("v / id > 1")).can_fail
    assert not of(S.where("v > 1")).can_fail


def test_what_is_chosen_may_go_again_and_one_of_each_group_has_a_key() -> None:
    everything = S[unbounded()]
    assert not of(everything.limit(3)).append_only
    assert of(everything.limit(1, per="id")).keys == {frozenset({"id"})}
    assert of(everything.limit(3, per="id", rank="n")).keys == {frozenset({"id", "n"})}
    assert of(everything.order_by("v")).append_only
    assert of(everything.limit(3, by="v")).phi_determines_values
    assert not of(everything.limit(3, rank="n")).phi_determines_values


def test_what_is_chosen_from_a_window_that_tumbles_stays_as_long_as_it() -> None:
    assert of(S[tumble("1 min")].limit(3)).lifetime == MINUTE
    assert of(S[range_("1 min")].limit(3)).lifetime is None
    assert of(BATCHED[range_("1 min", slide="1 min")].limit(3)).lifetime is None
