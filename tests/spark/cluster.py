"""Runs queries on executors of their own, with more partitions than rows, and kills one of them in mid-query.

Run by `test_scale.py` in a process of its own, because a process has one Spark context. Prints what is wrong:
python -m tests.spark.cluster TRIALS KILLS
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial

from pyspark.sql import SparkSession

from astralq.spark import Engine
from astralq.spark.session import session
from tests.agree.compare import on_model, on_spark, same
from tests.processes import running, wait_until
from tests.queries import nth

Answer = list[tuple[int, ...]]

ROWS = 80_000
QUERIES = (
    "ISTREAM(SELECT k, avg(v) AS m, max(v) AS h FROM s [RANGE 60 SECONDS] GROUP BY k)",
    "RSTREAM(SELECT k, v FROM s [ROWS 5 SLIDE 1 HOUR]) EVERY 1 HOUR",
    "ISTREAM(SELECT max(v) AS h FROM s [ROWS 100])",
)


def executors() -> list[int]:
    """The processes of the executors."""
    return running("CoarseGrainedExecutorBackend")


def agreement(engine: Engine, trials: int) -> list[str]:
    """Generated queries, each table in 16 partitions."""
    wrong = []
    for case in map(nth, range(trials)):
        expected = on_model(case.query, case.data)
        found = on_spark(engine, case.query, case.data, partitions=16)
        if not same(expected, found):
            wrong.append(f"{case}\nmodel {expected}\nspark {found}")
    return wrong


def survival(engine: Engine, spark: SparkSession, kills: int) -> list[str]:
    """The same answers with and without the death of an executor, at different moments of a run."""
    rows = spark.sql(
        "SELECT CAST(id % 50 AS INT) AS k, CAST(hash(id) % 1000 AS DOUBLE) / 10 AS v, "
        f"timestamp_millis(id * 700 + pmod(hash(id), 600)) AS ts FROM range(0, {ROWS}, 1, 8)"
    )
    s = engine.stream_from(rows, timestamp="ts", name="s")

    def answered(query: str) -> Answer:
        answer = engine.run(query, s=s)
        return [tuple(r) for r in answer.selectExpr("count(*)", "sum(pmod(xxhash64(*), 1000000007))").collect()]

    wrong: list[str] = []
    found: list[Answer] = []
    for n in range(kills):
        query = QUERIES[n % len(QUERIES)]
        expected = answered(query)
        victim = executors()[n % 2]
        if not _killed_during(partial(answered, query), victim, (n + 1) / (kills + 1), found):
            wrong.append(f"{query}: over before anything was killed, five times")
        elif found[-1] != expected:
            wrong.append(f"{query}: {expected} became {found[-1]}")
        wait_until(partial(_two_besides, victim))
    return wrong


def _two_besides(victim: int) -> bool:
    return len([e for e in executors() if e != victim]) >= 2


def _killed_during(run: Callable[[], Answer], victim: int, part: float, found: list[Answer]) -> bool:
    """Kills a process after a part of the time that a run takes; again where the run was over before."""
    for _ in range(5):
        begun = time.monotonic()
        run()
        killer = threading.Timer((time.monotonic() - begun) * part, os.kill, (victim, signal.SIGKILL))
        killer.start()
        found.append(run())
        landed = not killer.is_alive()
        killer.cancel()
        killer.join()
        if landed:
            return True
    return False


def main(trials: int, kills: int) -> int:
    spark = session("local-cluster[2,1,1024]", {"spark.sql.shuffle.partitions": "6", "spark.task.maxFailures": "8"})
    engine = Engine(spark)
    wrong = agreement(engine, trials) + survival(engine, spark, kills)
    print("\n\n".join(wrong) or "all well")
    spark.stop()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
