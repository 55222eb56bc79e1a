"""How many Spark jobs an epoch makes: most epochs are small, and a job costs 30 to 100 ms, whatever it does."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tests.runtime.live import Live

HOP = """
    CREATE STREAM s (k INT, v DOUBLE, ts INT) FROM csv 's' TIMESTAMP BY ts UNIT SECONDS;
    RSTREAM(SELECT k, count(*) AS n, avg(v) AS m FROM s [HOP 1 HOUR EVERY 1 MINUTE] GROUP BY k) EVERY 1 MINUTE;
"""


def rows(first: int, count: int) -> list[str]:
    return [f"{k % 20},{k / 4},{k}" for k in range(first, first + count)]


def test_an_epoch_of_a_thousand_rows_makes_at_most_four_jobs(normal: SparkSession, tmp_path: Path) -> None:
    """[HOP 1 HOUR EVERY 1 MINUTE] by 20 keys: the panes, and the answer."""
    live = Live(normal, tmp_path, HOP)
    tracker = normal.sparkContext.statusTracker()
    for first in (0, 1_000, 2_000):
        live.feed("s", rows(first, 1_000))
        with live.opened() as run:
            live.take(run)
            before = set(tracker.getJobIdsForGroup(None))
            assert run.step()
            made = set(tracker.getJobIdsForGroup(None)) - before
        assert len(made) <= 4, (first, len(made))
    live.close()
    assert live.answer() == live.historic()


LAST = """
    CREATE STREAM s (k INT, v DOUBLE, ts INT) FROM csv 's' TIMESTAMP BY ts UNIT SECONDS;
    ISTREAM(SELECT avg(v) AS m, sum(v) AS s FROM s [ROWS 300 SLIDE 70] HAVING count(*) > 0);
"""


def test_an_epoch_of_the_last_rows_makes_at_most_four_jobs_whatever_its_values(
    normal: SparkSession, tmp_path: Path
) -> None:
    """What is kept, and the answer; the first epoch measures, too. Three tuples have one timestamp, so that evaluations
    are in the middle of batches."""
    live = Live(normal, tmp_path, LAST)
    tracker = normal.sparkContext.statusTracker()
    for first, scale in ((0, 1.0), (1_000, 0.001), (2_000, 1e9), (3_000, 0.7)):
        live.feed("s", [f"{k % 20},{k * scale},{k // 3}" for k in range(first, first + 1_000)])
        with live.opened() as run:
            live.take(run)
            before = set(tracker.getJobIdsForGroup(None))
            assert run.step()
            made = set(tracker.getJobIdsForGroup(None)) - before
        assert len(made) <= 4, (first, len(made))
    live.close()
    assert live.answer() == live.historic()
