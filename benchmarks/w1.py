"""W1: filter and projection, against the same in plain Spark; whoever reads the answer wants no order, or wants it."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from benchmarks.case import Case
from benchmarks.data import END, identified


def peer(data: Mapping[str, DataFrame], _: int) -> DataFrame:
    return data["s"].selectExpr("ts AS t", "k", "id", "v * 2 AS w", "v").where("v > 50").drop("v")


def case(variant: str, sorted_by: tuple[str, ...]) -> Case:
    return Case(
        workload="W1",
        variant=variant,
        dataset=identified("W1", keys=100),
        query="SELECT k, id, v * 2 AS w FROM s WHERE v > 50",
        until=END,
        peer=peer,
        columns={"k": "INT", "id": "BIGINT", "w": "DOUBLE"},
        target=1.1,
        sorted_by=sorted_by,
    )


CASES = (case("any", ()), case("sorted", ("k", "id", "w")))
