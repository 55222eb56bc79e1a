"""How many Spark jobs an epoch makes: most epochs are small, and a job costs 30 to 100 ms, whatever it does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from tests.runtime.live import Live

HOP = """
    CREATE STREAM s (k INT, v DOUBLE, ts INT) FROM csv 's' TIMESTAMP BY ts UNIT SECONDS;
    RSTREAM(SELECT k, count(*) AS n, avg(v) AS m FROM s [HOP 1 HOUR EVERY 1 MINUTE] GROUP BY k) EVERY 1 MINUTE;
"""

LAST = """
    CREATE STREAM s (k INT, v DOUBLE, ts INT) FROM csv 's' TIMESTAMP BY ts UNIT SECONDS;
    ISTREAM(SELECT avg(v) AS m, sum(v) AS s FROM s [ROWS 300 SLIDE 70] HAVING count(*) > 0);
"""


def jobs_of_epochs(live: Live, files: Sequence[list[str]]) -> list[int]:
    """How many jobs the epoch of each file makes."""
    tracker = live.spark.sparkContext.statusTracker()
    counts = []
    for lines in files:
        live.feed("s", lines)
        with live.opened() as run:
            live.take(run)
            before = set(tracker.getJobIdsForGroup(None))
            assert run.step()
            counts.append(len(set(tracker.getJobIdsForGroup(None)) - before))
    live.close()
    return counts


def test_an_epoch_of_a_thousand_rows_makes_at_most_four_jobs(normal: SparkSession, tmp_path: Path) -> None:
    """[HOP 1 HOUR EVERY 1 MINUTE] by 20 keys: the panes, and the answer."""
    live = Live(normal, tmp_path, HOP)
    files = [[f"{k % 20},{k / 4},{k}" for k in range(first, first + 1_000)] for first in (0, 1_000, 2_000)]
    assert max(jobs_of_epochs(live, files)) <= 4
    assert live.answer() == live.historic()


def test_an_epoch_of_the_last_rows_makes_at_most_four_jobs_whatever_its_values(
    normal: SparkSession, tmp_path: Path
) -> None:
    """What is kept, and the answer; the first epoch measures, too. Three tuples have one timestamp, so that evaluations
    are in the middle of batches."""
    live = Live(normal, tmp_path, LAST)
    scales = {0: 1.0, 1_000: 0.001, 2_000: 1e9, 3_000: 0.7}
    files = [[f"{k % 20},{k * scale},{k // 3}" for k in range(first, first + 1_000)] for first, scale in scales.items()]
    assert max(jobs_of_epochs(live, files)) <= 4
    assert live.answer() == live.historic()
