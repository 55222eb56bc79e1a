"""One plan for plans that differ in constants only: what is common, what is looked up, and what is not alike."""

from __future__ import annotations

import pytest

from astralq.plan import functions as F  # noqa: N812
from astralq.plan.columns import Window, col, lit, long
from astralq.plan.group_plan import QUERY, NotAlikeError, group_plan, signature
from astralq.plan.several import Root, several
from astralq.plan.table import ONE_ROW, Aggregate, Index, Join, Materialize, Scan, Select, Sort, State, Table, Where

S = Scan("s", ("c0", "t"))


def below(table: Table, kind: type[Table]) -> list[Table]:
    return [t for t in table.walk() if isinstance(t, kind)]


def test_plans_that_differ_in_constants_have_one_signature() -> None:
    assert signature(S.where(col("t") > 5)) == signature(S.where(col("t") > 7))
    assert signature(S.where(col("c0") == "a")) == signature(S.where(col("c0") == "b"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (col("t") > 5, col("t") >= 5),
        (col("t") > 5, col("t") > 5.0),
        (col("t") > 5, col("t") > long(5)),
        (col("t") > 5, col("t") > 2**40),
        (col("c0").cast("decimal(5,2)") > 1, col("c0").cast("decimal(6,2)") > 1),
        (lit(True), lit(False)),
    ],
)
def test_other_operators_and_types_are_another_signature(one: object, other: object) -> None:
    assert signature(S.where(one)) != signature(S.where(other))  # type: ignore[arg-type]


def test_a_constant_is_looked_up_by_the_number_of_the_query() -> None:
    made = group_plan([S.where(col("t") > n) for n in (5, 9, 4)])
    (condition,) = below(made, Where)
    assert isinstance(condition, Where)
    assert condition.condition == f"(t > (element_at(array(5, 9, 4), {QUERY} + 1)))"


def test_constants_in_equal_steps_are_computed() -> None:
    made = group_plan([S.where(col("t") > long(n)) for n in (-10, 0, 10)])
    (condition,) = below(made, Where)
    assert isinstance(condition, Where)
    assert f"(-10L + 10L * {QUERY})" in condition.condition


def test_what_is_equal_is_computed_once_before_rows_are_repeated() -> None:
    common = Materialize(S.group_by("c0").agg(F.count("t").alias("n")))
    made = group_plan([common.where(col("n") > n) for n in (1, 2)])
    repeated = [t for t in below(made, Select) if isinstance(t, Select) and "explode" in dict(t.items)[QUERY]]
    assert [t.children for t in repeated] == [(common,)]


def test_groups_windows_joins_and_orders_stay_within_a_query() -> None:
    def one(n: int) -> Table:
        rows = S.where(col("t") > n)
        ranked = rows.with_column("r", F.row_number().over(Window.partition_by("c0").order_by("t")))
        counted = rows.group_by("c0").agg(F.count("t").alias("n")).renamed({"c0": "k"})
        return Sort(Index(ranked.join(counted, col("c0") == col("k")), ("t",), "i"), ("t",))

    made = group_plan([one(1), one(2)])
    texts = [text for t in below(made, Select) if isinstance(t, Select) for _, text in t.items if " OVER (" in text]
    assert all(f"PARTITION BY {QUERY}" in text for text in texts)
    assert len(texts) == 2  # the rank, and the numbers that an index gives
    (groups,) = below(made, Aggregate)
    assert isinstance(groups, Aggregate)
    assert groups.keys == ("c0", QUERY)
    (join,) = below(made, Join)
    assert isinstance(join, Join)
    assert f"({QUERY} = {QUERY}_right)" in join.on
    (sort,) = below(made, Sort)
    assert isinstance(sort, Sort)
    assert sort.by == (QUERY, "t")


def test_texts_are_left_alone() -> None:
    text = "x OVER (PARTITION BY y"
    made = group_plan([S.where((col("c0") == text) & (col("t") > n)) for n in (1, 2)])
    (condition,) = below(made, Where)
    assert isinstance(condition, Where)
    assert f"'{text}'" in condition.condition


def test_a_count_over_nothing_is_there_for_each_query() -> None:
    made = group_plan([S.where(col("t") > n).agg(F.count("t").alias("n")) for n in (1, 2)])
    assert isinstance(made, Select)
    assert dict(made.items)["n"] == "coalesce(n, 0L)"


@pytest.mark.parametrize(
    "tables",
    [
        [State("a", ("t",)), State("b", ("t",))],
        [S.select("t"), S.select("c0")],
        [S.where(col("t") > 1), S.distinct()],
        [S.select(F.sum("t").over(Window.partition_by("c0").order_by("t").rows(-n, 0)).alias("x")) for n in (1, 2)],
    ],
)
def test_plans_that_are_not_alike_are_not_grouped(tables: list[Table]) -> None:
    with pytest.raises(NotAlikeError):
        group_plan(tables)


def test_of_several_answers_those_that_are_alike_are_one_root() -> None:
    answers = [S.where(col("t") > 1), ONE_ROW, S.where(col("t") > 2)]
    first, alone, second = several(answers, [100, 1, 100])
    assert (first.query, second.query) == (0, 1)
    assert first.table is second.table
    assert alone == Root(ONE_ROW)


def test_a_table_that_two_roots_read_is_computed_once() -> None:
    groups = S.group_by("c0").agg(F.max("t").alias("m"))
    roots = several([groups.where(col("m") > 1), groups.select("m")], [100, 100])
    assert all(len(below(r.table, Materialize)) == 1 for r in roots)
    plain = several([S.where(col("t") > 1), S.select("t")], [100, 100])
    assert not any(below(r.table, Materialize) for r in plain)


def test_so_many_rows_are_not_repeated_for_so_many_queries() -> None:
    roots = several([S.where(col("t") > n) for n in range(4)], [10_000_000] * 4)
    assert len({r.table.digest for r in roots}) == 2
