"""Plan tables: their columns, their digests, and the SQL of their expressions."""

from __future__ import annotations

import math

import pytest

from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Column, Window, col, lit, long
from astralq.plan.table import ONE_ROW, PYTHON, Materialize, Scan, Table, expanded_size, is_at_hand, is_soon_computed

S = Scan("s", ("c0", "t"))


def test_tables_that_are_computed_alike_are_equal() -> None:
    assert S.where(col("t") > 5) == Scan("s", ("c0", "t")).where(col("t") > 5)
    assert S.where(col("t") > 5) != S.where(col("t") > 6)
    assert len({S.select("c0"), S.select("c0"), S.select("t")}) == 2


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        (S.with_column("u", col("t") + 1), ("c0", "t", "u")),
        (S.with_column("t", lit(0)), ("c0", "t")),
        (S.drop("t"), ("c0",)),
        (S.renamed({"t": "at"}), ("c0", "at")),
        (S.group_by("c0").agg(F.max("t").alias("last")), ("c0", "last")),
        (S.join(ONE_ROW.select(long(1).alias("k")), col("t") == col("k")), ("c0", "t", "k")),
        (S.select("t").union(S, missing=True), ("t", "c0")),
        (S.beside(S.agg(F.count("t").alias("n"))), ("c0", "t", "n")),
    ],
)
def test_a_table_knows_its_columns(table: Table, columns: tuple[str, ...]) -> None:
    assert table.columns == columns


def test_two_columns_of_one_name_cannot_be_made() -> None:
    with pytest.raises(AssertionError):
        S.select("t", (col("c0") + 1).alias("t"))
    with pytest.raises(AssertionError):
        S.join(S, lit(True))


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (col("a") + 1, "(a + 1)"),
        (lit(1) - col("a"), "(1 - a)"),
        (col("a") == "x'y\\", "(a = 'x\\'y\\\\')"),
        (lit(-5), "(-5)"),
        (long(-5), "(-5L)"),
        (lit(0.1), "0.1D"),
        (lit(-0.5), "(-0.5D)"),
        (lit(math.inf), "CAST('Infinity' AS DOUBLE)"),
        (col("s")["x"], "(s).x"),
        (F.when(col("a") > 0, 1).otherwise(-1), "CASE WHEN (a > 0) THEN 1 ELSE (-1) END"),
        (F.when(col("a") > 0, 1).when(col("a") < 0, 2), "CASE WHEN (a > 0) THEN 1 WHEN (a < 0) THEN 2 END"),
        (F.struct("t", long(0).alias("i")), "named_struct('t', t, 'i', 0L)"),
        (
            F.sum("v").over(Window.partition_by("k").order_by("t", F.desc("n")).rows(-2, 0)),
            "sum(v) OVER (PARTITION BY k ORDER BY t, n DESC NULLS LAST ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
        ),
        (col("a") // 3, "(a div 3)"),
        (col("a").same_as(col("b")), "(a <=> b)"),
    ],
)
def test_a_column_is_its_sql(column: Column, text: str) -> None:
    assert column.text == text


def test_plain_expressions_over_what_is_computed_once_are_at_hand() -> None:
    once = Materialize(S)
    assert is_at_hand(once.where(col("t") > 0).with_column("u", col("t") + 1))
    assert not is_at_hand(once.with_column("n", F.row_number().over(Window.partition_by("c0").order_by("t"))))
    assert not is_at_hand(S)


def test_short_expressions_over_a_source_are_as_soon_computed_as_read() -> None:
    assert is_soon_computed(S.where(col("t") > 0).with_column("u", col("t") + 1))
    assert is_soon_computed(Materialize(S.group_by("c0").agg(F.max("t").alias("last"))).select("last"))
    assert not is_soon_computed(S.group_by("c0").agg(F.max("t").alias("last")))
    assert not is_soon_computed(S.with_column("n", F.row_number().over(Window.partition_by("c0").order_by("t"))))
    assert not is_soon_computed(S.where(F.call(f"{PYTHON}inside_0", "c0")))


def test_long_expressions_are_computed_once() -> None:
    """Spark writes selections into each other: a sum of doubles far apart took minutes to be planned."""
    sums = lit(0)
    for k in range(2_000):
        sums = sums + k
    assert not is_soon_computed(S.with_column("u", sums))


def test_what_is_read_twice_counts_twice_unless_it_is_materialized() -> None:
    child = S.where(col("t") > 0)
    assert expanded_size(child.union(child)) == 1 + 2 * 2
    once = Materialize(child)
    assert expanded_size(once.union(once)) == 1 + 2
