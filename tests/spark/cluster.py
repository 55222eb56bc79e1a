"""Runs queries on executors of their own, with more partitions than rows, and kills one of them in mid-query.

Run by `test_scale.py` in a process of its own, because a process has one Spark context. Prints what is wrong.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

from pyspark.sql import SparkSession

from astralq.spark import Engine
from astralq.spark.session import session
from tests.agree.compare import on_model, on_spark, same
from tests.agree.test_queries import drawn

TRIALS = 2
QUERIES = (
    "ISTREAM(SELECT k, avg(v) AS m, max(v) AS h FROM s [RANGE 60 SECONDS] GROUP BY k)",
    "RSTREAM(SELECT k, v FROM s [ROWS 5 SLIDE 1 HOUR]) EVERY 1 HOUR",
)


def executors() -> list[int]:
    """The processes of the executors."""
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return [int(line.split()[0]) for line in listed.splitlines() if "CoarseGrainedExecutorBackend" in line]


def agreement(engine: Engine) -> list[str]:
    """Generated queries, each table in 16 partitions."""
    wrong = []
    for case in drawn(200)[:: 200 // TRIALS][:TRIALS]:
        expected = on_model(case.query, case.data)
        found = on_spark(engine, case.query, case.data, partitions=16)
        if not same(expected, found):
            wrong.append(f"{case}\nmodel {expected}\nspark {found}")
    return wrong


def survival(engine: Engine, spark: SparkSession) -> list[str]:
    """The same answers with and without the death of an executor."""
    rows = spark.sql(
        "SELECT CAST(id % 50 AS INT) AS k, CAST(hash(id) % 1000 AS DOUBLE) / 10 AS v, "
        "timestamp_millis(id * 700 + pmod(hash(id), 600)) AS ts FROM range(0, 200000, 1, 8)"
    )
    s = engine.stream_from(rows, timestamp="ts", name="s")
    wrong = []
    for query in QUERIES:
        answers = []
        for kill in (False, True):
            before = executors()
            killer = threading.Timer(2.5, lambda before=before: os.kill(before[0], signal.SIGKILL))
            if kill:
                killer.start()
            answer = engine.run(query, s=s)
            sums = answer.selectExpr("count(*)", "sum(pmod(xxhash64(*), 1000000007))").collect()
            if kill:
                killer.join()
                deadline = time.time() + 20
                while set(executors()) == set(before) and time.time() < deadline:
                    time.sleep(0.2)
                if set(executors()) == set(before):
                    wrong.append("no executor was killed")
            answers.append([tuple(r) for r in sums])
        if answers[0] != answers[1]:
            wrong.append(f"{query}: {answers[0]} became {answers[1]}")
    return wrong


def main() -> int:
    spark = session("local-cluster[2,1,1024]", {"spark.sql.shuffle.partitions": "6", "spark.task.maxFailures": "8"})
    engine = Engine(spark)
    wrong = agreement(engine) + survival(engine, spark)
    print("\n\n".join(wrong) or "all well")
    spark.stop()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
