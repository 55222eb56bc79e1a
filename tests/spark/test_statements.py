"""A part of a plan as one SQL statement: the same rows as node by node, and nothing left behind."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from pyspark.sql import SparkSession

from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, Window, col, lit, long
from astralq.plan.table import Materialize, Scan, Sort, Table
from astralq.spark import Engine
from astralq.spark.execute import Execution
from astralq.spark.statements import LONGEST, Statement, statements
from tests.spark.test_execute import Given, S, execution  # noqa: F401  (a fixture)

OTHER = Scan("s", ("c0", "t")).select(col("c0").alias("k"), (col("t") * 10).alias("w"))
LARGE = S.where(col("t") > 1).where(col("t") < 9).select("c0", (col("t") + 1).alias("u"))


def said(table: Table) -> str:
    return Statement(statements(table, known=lambda _: False), lambda _: "s", one_partition=False).text(table)


def own_views(spark: SparkSession) -> set[str]:
    return {v.viewName for v in spark.sql("SHOW VIEWS").collect() if v.viewName.startswith("astralq_")}


def ordered(table: Table, *by: str) -> Table:
    return Sort(table, by)


STATEMENTS: dict[str, tuple[Table, list[Any]]] = {
    "conditions": (ordered(LARGE.where(col("u") > 3), "u"), [("a", 4)]),
    "groups": (ordered(LARGE.group_by("c0").agg(F.max("u").alias("u")), "c0"), [("a", 4), ("{b}", 3)]),
    "one row": (LARGE.select("u").where(col("u") > 0).agg(F.sum("u").alias("total")), [(7,)]),
    "keys alone": (ordered(LARGE.group_by("c0").agg(), "c0"), [("a",), ("{b}",)]),
    "distinct": (ordered(LARGE.select("c0").distinct(), "c0"), [("a",), ("{b}",)]),
    "union": (ordered(LARGE.union(S.select("c0", col("t").alias("u"))), "u", "c0").select("u"), [1, 2, 3, 3, 4]),
    "presorted": (ordered(LARGE.presorted(-col("u")).where(col("u") > 3).select("u"), "u"), [(4,)]),
    "join": (
        ordered(LARGE.join(OTHER, (col("c0") == col("k")) & (col("w") < 20)).select("u", "w"), "u"),
        [(4, 10)],
    ),
    "left join": (
        ordered(LARGE.join(OTHER, (col("c0") == col("k")) & (col("w") < 20), "left").select("u", "w"), "u"),
        [(3, None), (4, 10)],
    ),
    "small side": (
        ordered(LARGE.join(OTHER, col("u") * 10 == col("w"), broadcast=True).select("u"), "u"),
        [(3,)],
    ),
    "pairs": (ordered(LARGE.pairs(OTHER, col("u") * 10 < col("w")).select("u", "w"), "u"), []),
    "one row beside": (
        ordered(LARGE.beside(S.agg(F.max("t").alias("last"))).select((col("u") + col("last")).alias("x")), "x"),
        [(6,), (7,)],
    ),
    "a truth": (
        ordered(LARGE.select("u", (col("u") > 3).alias("late")).where(col("late")).select("u"), "u"),
        [(4,)],
    ),
    "elements": (
        ordered(LARGE.select("u", F.explode(F.array(col("u"), lit(0))).alias("x")).where(col("x") > 3), "u"),
        [(4, 4)],
    ),
    "texts": (
        ordered(LARGE.select(lit("it's {x}\n").alias("a`b"), col("u")).where(col("u") > 3), "u"),
        [("it's {x}\n", 4)],
    ),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_is_answered_as_its_nodes_are(execution: Execution, name: str) -> None:  # noqa: F811
    table, rows = STATEMENTS[name]
    inside = statements(table, known=lambda _: False)
    assert sum(inside.values()) >= 3, "the statement has several nodes"
    found = [tuple(r) for r in execution.frame(table).collect()]
    assert found == [r if isinstance(r, tuple) else (r,) for r in rows]


def test_what_is_read_twice_is_a_leaf_of_both() -> None:
    twice = S.where(col("t") > 1)
    inside = statements(
        twice.select("t").union(twice.select((col("t") + 1).alias("t"))).distinct(), known=lambda _: False
    )
    assert twice.digest not in inside
    assert len(inside) == 3  # two selections and their union


def test_what_is_materialized_is_no_part_of_a_statement() -> None:
    kept = Materialize(S.where(col("t") > 1))
    inside = statements(kept.select("t").where(col("t") > 2), known=lambda _: False)
    assert list(inside.values()) == [1]


def test_a_long_chain_becomes_several_statements(spark: SparkSession) -> None:
    table: Table = S
    for _ in range(3 * LONGEST):
        table = table.select("c0", (col("t") + 1).alias("t"))
    inside = statements(table, known=lambda _: False)
    assert max(inside.values()) < LONGEST
    given = Given({"s": spark.createDataFrame([("a", 1)], "c0 string, t bigint")}, spark)
    assert Execution(given, spark).frame(table).collect()[0].t == 1 + 3 * LONGEST


def test_conditions_stand_beside_what_is_selected_below_them() -> None:
    table = S.where(col("t") > 1).where(col("t") < 9).select("c0")
    assert said(table) == "SELECT c0\nFROM s AS _rows\nWHERE ((t > 1)) AND ((t < 9))"


def test_a_selection_of_which_nothing_is_read_is_left_out() -> None:
    table = S.select("c0", "t", col("t").alias("st")).where(col("t") < 9).select("c0").select("c0", lit(1).alias("x"))
    assert said(table) == "SELECT c0,\n1 AS `x`\nFROM s AS _rows\nWHERE ((t < 9))"


def test_a_selection_that_makes_rows_stays() -> None:
    table = (
        S.select("t", F.call("explode_outer", F.array(lit(1), lit(2))).alias("x"))
        .select("t")
        .select((col("t") + 1).alias("u"))
    )
    assert "explode" in said(table)


def test_what_is_cheap_stands_where_one_item_reads_it_and_in_conditions() -> None:
    table = S.select("c0", (col("t") + 1).alias("t")).where(col("t") < 9).select("c0", (col("t") * 2).alias("u"))
    assert said(table) == "SELECT c0,\n((t + 1) * 2) AS `u`\nFROM s AS _rows\nWHERE (((t + 1) < 9))"


@pytest.mark.parametrize(
    ("made", "read"),
    [
        (col("t") + 1, [col("u"), col("u") * 2]),
        (F.expr("upper(c0)"), [col("u")]),
        (F.expr("monotonically_increasing_id()"), [col("u")]),
        (F.raise_error(lit("no")), [col("u")]),
        (F.sum("t").over(Window.partition_by("c0")), [col("u")]),
        (col("t") + 1, [F.row_number().over(Window.partition_by("c0").order_by("u"))]),
    ],
    ids=["read twice", "not cheap", "not deterministic", "an error", "over rows", "what rows are ordered by"],
)
def test_a_selection_stays_that_makes_something_else(made: Column, read: list[Column]) -> None:
    table = S.select("c0", made.alias("u")).select(*(c.alias(f"x{k}") for k, c in enumerate(read)))
    assert f"{made.text} AS `u`" in said(table)


def test_a_source_is_one_view_until_its_engine_is_gone(spark: SparkSession) -> None:
    before = own_views(spark)
    rows = spark.sql("SELECT id AS v, timestamp_seconds(id) AS ts FROM range(3)")
    text = "SELECT count(*) AS n, v FROM s [TUMBLE 2 SECONDS] WHERE v >= 0 GROUP BY v"
    for _ in range(2):
        engine = Engine(spark, few_rows=0)
        s = engine.stream_from(rows, timestamp="ts")
        for _ in range(2):
            engine.run(text, s=s)
        made = own_views(spark) - before
        assert len(made) == 1
        before -= made
        del engine
        gc.collect()


def test_columns_that_are_only_renamed_are_read_under_their_own_names() -> None:
    table = (
        S.select(col("t").alias("a"), col("c0").alias("t")).where(col("a") < 9).select((col("a") + 1).alias("x"), "t")
    )
    assert said(table) == "SELECT (t + 1) AS `x`,\nc0 AS `t`\nFROM s AS _rows\nWHERE ((t < 9))"


def test_a_constant_stands_where_it_is_read() -> None:
    table = S.select("c0", long(1).alias("there")).group_by("c0").agg(F.sum("there").alias("n"))
    assert said(table) == "SELECT c0,\nsum(1L) AS `n`\nFROM s AS _rows\nGROUP BY c0"


@pytest.mark.parametrize("constant", ["1L", "(-1)", "(- (1))", "null"])
def test_a_constant_is_no_key(constant: str) -> None:
    """GROUP BY 1 would mean the first column, and GROUP BY -1 one that is not there."""
    table = S.select(F.expr(constant).alias("k"), "t").group_by("k").agg(F.sum("t").alias("n"))
    assert said(table).endswith("\nGROUP BY k")
    assert f"{constant} AS `k`" in said(table)


def test_a_constant_below_a_key_is_no_key() -> None:
    table = S.select(lit(1).alias("c"), "t").select((-col("c")).alias("k"), "t").group_by("k").agg()
    assert "GROUP BY (-1)" not in said(table).replace(" ", "")


def test_texts_fields_and_functions_keep_their_names() -> None:
    made = F.expr("concat('t', t, x.t, t(t))").alias("y")
    assert said(S.select(col("c0").alias("t")).select(made)).startswith("SELECT concat('t', c0, x.t, t(c0)) AS `y`")


def test_parameters_of_functions_are_not_mistaken_for_columns() -> None:
    made = F.expr("transform(array(t), t -> t + 1)").alias("y")
    assert "c0 AS `t`" in said(S.select(col("c0").alias("t")).select(made))


def test_no_view_is_left_behind(spark: SparkSession, execution: Execution) -> None:  # noqa: F811
    before = own_views(spark)
    execution.frame(STATEMENTS["join"][0])
    assert own_views(spark) == before


def test_a_cached_dataframe_stays_cached(spark: SparkSession) -> None:
    rows = spark.sql("SELECT id AS v, timestamp_seconds(id) AS ts FROM range(3)").cache()
    try:
        engine = Engine(spark)
        s = engine.stream_from(rows, timestamp="ts")
        assert engine.run("SELECT count(*) AS n FROM s [TUMBLE 2 SECONDS]", s=s).count() > 0
        assert rows.storageLevel.useMemory
    finally:
        rows.unpersist()
