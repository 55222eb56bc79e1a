"""Plan tables on Spark, node by node and in both executions: rows, order, constants, and what is computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from pyspark.sql import DataFrame, SparkSession

from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import col, lit, long
from astralq.plan.table import ONE_ROW, Index, Materialize, Numbers, Scan, Sort, Table, Values
from astralq.spark.execute import Execution


@dataclass(frozen=True)
class Given:
    frames: Mapping[str, DataFrame]
    session: SparkSession

    def rows(self, name: str) -> DataFrame:
        return self.frames[name]


S = Scan("s", ("c0", "t"))
ROWS = [("a", 1), ("{b}", 2), ("a", 3)]


@pytest.fixture(params=[True, False], ids=["small", "distributed"])
def execution(spark: SparkSession, request: pytest.FixtureRequest) -> Execution:
    given = Given({"s": spark.createDataFrame(ROWS, "c0 string, t bigint").repartition(2)}, spark)
    return Execution(given, spark, one_partition=request.param)


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        (S.where(col("c0") == "{b}").select("t"), [(2,)]),
        (Sort(S, ("t",)).select("c0"), [("a",), ("{b}",), ("a",)]),
        (Sort(S.group_by("c0").agg(F.sum("t").alias("total")), ("c0",)), [("a", 4), ("{b}", 2)]),
        (Sort(Index(S, ("t",), "n"), ("n",)).select("t", "n"), [(1, 0), (2, 1), (3, 2)]),
        (S.beside(S.agg(F.max("t").alias("last"))).where(col("t") == col("last")).select("c0"), [("a",)]),
        (Numbers(2, 4).select((col("id") * 10).alias("x")), [(20,), (30,)]),
        (ONE_ROW.select(lit("{x}").alias("y"), long(None).alias("z")), [("{x}", None)]),
        (Values((), (("e", "bigint"),)), []),
        (Values(((1, None), (2, 5)), (("e", "bigint"), ("lo", "int"))), [(1, None), (2, 5)]),
        (S.select("c0").union(S.select("c0")).distinct().agg(F.count("c0").alias("n")), [(2,)]),
    ],
    ids=["where", "sort", "group", "index", "beside", "numbers", "constants", "no rows", "values", "union"],
)
def test_a_table_is_answered(execution: Execution, table: Table, rows: list[tuple[object, ...]]) -> None:
    assert [tuple(r) for r in execution.frame(table).collect()] == rows


def test_what_is_read_twice_is_written_once(execution: Execution) -> None:
    twice = Materialize(S.where(col("t") > 1))
    both = twice.union(twice).agg(F.count("t").alias("n"))
    assert execution.frame(both).collect()[0].n == 4
    assert len(execution.materialized) == 1


def test_several_tables_are_measured_together(execution: Execution) -> None:
    tables = [S.agg(F.max("t").alias("last")), S.where(col("t") > 9).agg(F.count("t").alias("n")), S.select("t")]
    last, none, rows = execution.measure(tables)
    assert (last, none) == ([{"last": 3}], [{"n": 0}])
    assert sorted(r["t"] for r in rows) == [1, 2, 3]


def test_what_is_materialized_is_computed_before_anybody_reads_it(execution: Execution) -> None:
    """Jobs that read it side by side could block each other, if one of them computed it."""
    tracker = execution.session.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup(None))
    read = execution.frame(Materialize(S.where(col("t") > 1)).select("c0"))
    assert set(tracker.getJobIdsForGroup(None)) - before
    assert read.count() == 2


def test_what_is_presorted_are_the_same_rows(execution: Execution) -> None:
    rows = execution.frame(S.presorted(-col("t")).select("t"))
    assert sorted(r.t for r in rows.collect()) == [1, 2, 3]
