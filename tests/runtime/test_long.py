"""A long run keeps what it needs and no more: short here, two million rows and 2,000 epochs with --scale."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.runtime.long import HOP, KEYS, WEEK, growth, live_through

FACTOR = 1.3


def test_state_and_files_do_not_grow_with_the_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With tables trimmed as soon as they have twice the rows that they need."""
    monkeypatch.setattr("astralq.runtime.checkpoint.tables.SLACK", 0)
    queries = {name: WEEK[name] for name in ("partitioned", "landmark")} | HOP
    found = live_through(spark, tmp_path, queries, rows=1800, epochs=9, days=0.4)
    early, late = found[2:5], found[-3:]
    for name in queries:
        assert max(a.rows[name] for a in late) <= FACTOR * max(a.rows[name] for a in early), name
    assert late[-1].files <= early[-1].files * FACTOR


@pytest.mark.usefixtures("alone")
def test_a_week_of_two_million_rows_ends_as_it_began(normal: SparkSession, tmp_path: Path) -> None:
    found = growth(live_through(normal, tmp_path, WEEK, rows=2_000_000, epochs=70, days=7))
    assert all(r <= FACTOR for r in found.rows.values()), found


@pytest.mark.usefixtures("alone")
def test_two_thousand_epochs_end_as_they_began(normal: SparkSession, tmp_path: Path) -> None:
    found = live_through(normal, tmp_path, HOP, rows=2_000_000, epochs=2_000, days=0.35)
    grown = growth(found)
    assert max(grown.files, grown.memory) <= FACTOR, grown
    # An hour of panes, the one that is being filled, and the one that the last epoch may have ended.
    assert max(a.rows["hop"] for a in found) <= KEYS * (60 + 1 + 1)
