"""Times both sides of a case in one Spark session, alternating, and compares their answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from astralq.spark import session as sessions
from astralq.timeline import format_instant
from benchmarks.case import Case

ROUNDS = 3
"""At least so many, and more as long as they are short: noise is some ten milliseconds, whatever a round takes."""
MOST_ROUNDS = 20
ENOUGH = 12.0
"""Seconds for all rounds of both sides, where these are short."""
WARM = 12.0
"""Seconds that both sides are run before anything counts, if a round is shorter: Java compiles what plans a query only
after some hundred calls."""
PATIENCE = 60.0
"""Seconds; what takes longer is not run again."""

Answer = tuple[int, int]
"""The number of rows, and a checksum of them in any order."""


@dataclass
class Side:
    """One way to an answer, the best time that it took, and the answer."""

    frame: Callable[[], Any]
    compute: Callable[[Any], Answer | None]
    """Computes all of what `frame` gives; None where its answer is not looked at in this round."""
    seconds: float | None = None
    answer: Answer | None = None

    def run(self, *, warming_up: bool = False) -> None:
        """Plans, runs and reads the answer completely; planning counts, as an engine may run parts of it there.

        The time of a round to warm up is kept only if it is so long that there is no other.
        """
        if self.seconds is not None and self.seconds > PATIENCE:
            return
        begin = time.perf_counter()
        answer = self.compute(self.frame())
        taken = time.perf_counter() - begin
        if answer is not None:
            if self.answer not in (None, answer):
                raise AssertionError(f"two runs of one query differ: {self.answer} and {answer}")
            self.answer = answer
        if warming_up and taken <= PATIENCE:
            return
        self.seconds = taken if self.seconds is None else min(self.seconds, taken)

    @property
    def best(self) -> float:
        assert self.seconds is not None
        return self.seconds


@dataclass(frozen=True)
class Result:
    """What a case took: ours, the peer, and Spark just reading the data once."""

    case: Case
    rows: int
    ours: Side = field(repr=False)
    peer: Side = field(repr=False)
    floor: Side = field(repr=False)

    @property
    def equal(self) -> bool:
        return self.ours.answer == self.peer.answer

    @property
    def ratio(self) -> float:
        """Below 1 where ours is the faster one."""
        return self.ours.best / self.peer.best

    def as_json(self) -> dict[str, Any]:
        return {
            "workload": self.case.workload,
            "case": self.case.variant,
            "rows": self.rows,
            "ours_s": round(self.ours.best, 3),
            "peer_s": round(self.peer.best, 3),
            "ratio": round(self.ratio, 3),
            "target": self.case.target,
            "floor_s": round(self.floor.best, 3),
        }


def checked(answer: DataFrame) -> Answer:
    """Computes all of an answer: how many rows, and the sum of their hashes, which no order changes."""
    hashes = F.pmod(F.xxhash64(*answer.columns), F.lit(2**31))
    row = answer.agg(F.count("*"), F.coalesce(F.sum(hashes), F.lit(0))).first()
    return int(row[0]), int(row[1])


def session() -> SparkSession:
    """A session of its own, on all cores of this machine."""
    settings = {
        "spark.driver.memory": "4g",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.shuffle.partitions": "8",
    }
    return sessions.session("local[*]", settings)


def engine_of(spark: SparkSession) -> Any:
    """Our engine; imported here, so that a wrong name on the command line is told at once."""
    from astralq.spark import Engine

    return Engine(spark)


def measure(spark: SparkSession, case: Case, rows: int, engine: Callable[[SparkSession], Any] = engine_of) -> Result:
    """Runs a case: some seconds to warm up Java, the floor first, which brings the files into memory; then ours and
    the peer in turn."""
    rows = max(1, rows // case.one_of)
    data = {name: dataset.read(spark, rows) for name, dataset in case.streams.items()}
    running = engine(spark)
    streams = {
        name: running.stream_from(data[name], timestamp="ts", name=name, **dataset.options)
        for name, dataset in case.streams.items()
    }

    def ours(query: str) -> DataFrame:
        return case.normal(running.run(query, until=format_instant(case.until), **streams))

    def theirs() -> Any:
        if isinstance(case.peer, str):
            return ours(case.peer)
        found = case.peer(data, rows)
        if not isinstance(found, DataFrame):
            return found
        found = case.normal(found)
        return found.orderBy("t", *case.sorted_by) if case.sorted_by else found

    def computed(answer: Any) -> Answer | None:
        """Where order is wanted, or another engine has computed it already, it is compared in a round of its own."""
        if not isinstance(answer, DataFrame):
            return None
        if case.sorted_by:
            answer.write.format("noop").mode("overwrite").save()
            return None
        return checked(answer)

    def all_rows() -> list[DataFrame]:
        return list(data.values())

    floor = Side(all_rows, lambda frames: max(checked(df) for df in frames))
    result = Result(case, rows, Side(lambda: ours(case.query), computed), Side(theirs, computed), floor)
    both = (result.ours, result.peer)
    for side in both:
        side.answer = checked(_frame(spark, case, side.frame()))

    def run(side: Side, *, warming_up: bool = False) -> None:
        # What one run keeps in memory must not help the next.
        spark.catalog.clearCache()
        side.run(warming_up=warming_up)

    begin = time.perf_counter()
    run(result.floor, warming_up=True)
    while True:
        for side in both:
            run(side, warming_up=True)
        if time.perf_counter() - begin > WARM:
            break
    for _ in range(ROUNDS):
        run(result.floor)
    begin = time.perf_counter()
    for k in range(MOST_ROUNDS):
        if k >= ROUNDS and time.perf_counter() - begin > ENOUGH:
            break
        for side in both:
            run(side)
    return result


def _frame(spark: SparkSession, case: Case, answer: Any) -> DataFrame:
    return answer if isinstance(answer, DataFrame) else case.normal(spark.createDataFrame(answer))
