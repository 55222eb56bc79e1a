"""Change logs: what acts together at one timestamp, what equals what, and a '-' that finds nothing.

Each on the model by hand, and on Spark in batch and in epochs.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from astralq.algebra.sources import RelationSource
from astralq.model import Data, set_aside
from astralq.schema import Schema
from astralq.spark import Engine
from astralq.spark.batch import Batch
from tests.agree.compare import frames, on_model, on_spark
from tests.agree.epochs import in_epochs, times_of
from tests.support import answer, at, sec

Rows = list[tuple[Any, ...]]

DECLARED = Schema.parse("op STRING, ts TIMESTAMP, id INT, v STRING, n INT")
LOG = RelationSource("L", DECLARED, change="op", at="ts")
KEYED = RelationSource("L", DECLARED, change="op", at="ts", key=("id",))
PLACED = RelationSource("L", DECLARED, change="op", at="ts", position_by=("n",))
PLACED_KEYED = RelationSource("L", DECLARED, change="op", at="ts", key=("id",), position_by=("n",))
ALL = {"by value": LOG, "by key": KEYED, "in order": PLACED, "by key, in order": PLACED_KEYED}


def log(*changes: tuple[str, int, int, str] | tuple[str, int, int, str, int]) -> Data:
    """A log of (op, seconds, id, v[, n])."""
    return {"L": [(c[0], sec(c[1]), c[2], c[3], c[4] if len(c) > 4 else 0) for c in changes]}


def unmatched(source: RelationSource, data: Data) -> int:
    return sum(one.rows for one in set_aside(source, data))


# By hand


def test_a_deletion_cancels_an_equal_insertion_of_its_own_timestamp() -> None:
    data = log(("+", 1, 1, "a"), ("-", 1, 1, "a"), ("+", 2, 2, "b"))
    assert answer(LOG, data) == [("+", 2, 0, 2, "b", 0)]
    assert unmatched(LOG, data) == 0


def test_what_cancels_leaves_the_older_row_as_it_is() -> None:
    data = log(("+", 1, 1, "a"), ("+", 2, 1, "a"), ("-", 2, 1, "a"))
    assert answer(LOG, data) == [("+", 1, 0, 1, "a", 0)]


def test_of_several_equal_changes_only_pairs_cancel() -> None:
    data = log(("+", 1, 1, "a"), ("+", 1, 1, "a"), ("-", 1, 1, "a"), ("+", 2, 1, "a"), ("-", 3, 1, "a"))
    assert [len(at(LOG, data, t)) for t in (1, 2, 3)] == [1, 2, 1]


def test_with_a_key_equal_changes_cancel_before_the_greatest_insertion_replaces() -> None:
    data = log(("+", 1, 1, "a"), ("+", 2, 1, "z"), ("-", 2, 1, "z"), ("+", 2, 1, "b"), ("+", 2, 1, "c"))
    assert at(KEYED, data, 2) == [(1, "c", 0)]


def test_with_a_key_a_deletion_takes_the_row_out_whatever_its_values() -> None:
    data = log(("+", 1, 1, "a"), ("-", 2, 1, "other"))
    assert at(KEYED, data, 2) == []
    assert unmatched(KEYED, data) == 0


def test_the_attributes_of_position_by_do_not_count_for_equality() -> None:
    data = log(("+", 1, 1, "a", 7), ("-", 2, 1, "a", 3))
    assert at(PLACED, data, 2) == []
    assert at(LOG, data, 2) == [(1, "a", 7)]


def test_with_position_by_changes_of_one_timestamp_act_in_its_order() -> None:
    assert at(PLACED, log(("+", 1, 1, "a", 1), ("-", 1, 1, "a", 2)), 1) == []
    late = log(("-", 1, 1, "a", 1), ("+", 1, 1, "a", 2))
    assert at(PLACED, late, 1) == [(1, "a", 2)]
    assert unmatched(PLACED, late) == 1


@pytest.mark.parametrize("source", [LOG, KEYED])
def test_a_deletion_that_finds_nothing_changes_nothing_and_is_counted(source: RelationSource) -> None:
    data = log(("-", 1, 1, "a"), ("+", 2, 1, "a"), ("-", 3, 1, "a"), ("-", 3, 1, "a"), ("-", 4, 1, "a"))
    assert answer(source, data) == [("+", 2, 0, 1, "a", 0), ("-", 3, 0, 1, "a", 0)]
    assert unmatched(source, data) == 3


# On both engines


def generated(seed: int) -> Data:
    rng = random.Random(seed)
    rows = [
        (rng.choice("+-"), sec(rng.randint(0, 4)), rng.randint(0, 1), rng.choice("ab"), rng.randint(0, 2))
        for _ in range(rng.randint(1, 14))
    ]
    return {"L": rows}


def aside_on_spark(engine: Engine, source: RelationSource, data: Data) -> int:
    plan = Batch(source, frames(engine.spark, source, data, 2)).plan()
    return sum(one.rows for one in plan.set_aside)


@pytest.mark.generated(share=0.2)
@pytest.mark.parametrize("source", ALL.values(), ids=ALL.keys())
def test_spark_replays_a_generated_log_as_the_model_does(engine: Engine, source: RelationSource, seed: int) -> None:
    data = generated(seed)
    assert on_spark(engine, source, data, partitions=2) == on_model(source, data), data
    assert aside_on_spark(engine, source, data) == unmatched(source, data), data


@pytest.mark.generated(share=0.08)
@pytest.mark.parametrize("source", ALL.values(), ids=ALL.keys())
def test_epochs_replay_a_generated_log_as_a_batch_run_does(engine: Engine, source: RelationSource, seed: int) -> None:
    data = generated(seed + 100)
    set_aside_: dict[str, Rows] = {}
    answered = in_epochs(engine, source, data, _cuts(source, data), set_aside=set_aside_)
    assert answered == on_model(source, data), data
    assert len(set_aside_.get("L", [])) == unmatched(source, data), data


def _cuts(source: RelationSource, data: Data) -> Sequence[int]:
    times = sorted(set(times_of(source, data)["L"]))
    return [*times[1::2], times[-1]] if times[1::2][-1:] != times[-1:] else times[1::2]
