"""Functions in computed attributes: where one fails the row is told apart, and elsewhere its value is Spark's."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from astralq import stream
from astralq.algebra.sources import StreamSource
from astralq.datatypes import DATE, Type
from astralq.errors import EvaluationError
from astralq.expr.evaluate import evaluator
from astralq.expr.nodes import SparkCall
from astralq.expr.order import map_value
from astralq.spark.sources.computed import completed_with_problems

STORED = "a INT, b BIGINT, s STRING, x BINARY, l ARRAY<INT>, m MAP<STRING, INT>"
FAILS = object()
Cases = list[tuple[dict[str, Any], object]]

LIST = {"l": [7, None, 9]}
KEY = "0123456789abcdef"
CASES: dict[str, Cases] = {
    "l[a]": [
        ({**LIST, "a": 0}, 7),
        ({**LIST, "a": 1}, None),
        ({**LIST, "a": 3}, FAILS),
        ({**LIST, "a": -1}, FAILS),
        ({**LIST, "a": None}, None),
        ({"a": 0}, None),
    ],
    "element_at(l, a)": [
        ({**LIST, "a": 1}, 7),
        ({**LIST, "a": 2}, None),
        ({**LIST, "a": -1}, 9),
        ({**LIST, "a": 0}, FAILS),
        ({**LIST, "a": 4}, FAILS),
        ({**LIST, "a": -4}, FAILS),
        ({"a": 4}, None),
    ],
    "element_at(m, s)": [({"m": {"k": 1}, "s": "k"}, 1), ({"m": {"k": 1}, "s": "z"}, None)],
    "m[s]": [({"m": {"k": 1}, "s": "z"}, None)],
    "make_date(2024, a, 29)": [({"a": 2}, date(2024, 2, 29)), ({"a": 13}, FAILS), ({"a": None}, None)],
    "make_timestamp(2024, a, 29, 1, 2, 3.5)": [
        ({"a": 2}, datetime(2024, 2, 29, 1, 2, 3, 500_000)),
        ({"a": 0}, FAILS),
        ({"a": None}, None),
    ],
    "to_date(s)": [({"s": "2024-02-29"}, date(2024, 2, 29)), ({"s": "2023-02-29"}, FAILS), ({"s": None}, None)],
    "to_date(s, 'dd.MM.yyyy')": [
        ({"s": "29.02.2024"}, date(2024, 2, 29)),
        ({"s": "2024-02-29"}, FAILS),
        ({"s": None}, None),
    ],
    "to_binary(s, 'hex')": [({"s": "6162"}, b"ab"), ({"s": "zz"}, FAILS), ({"s": None}, None)],
    "url_decode(s)": [({"s": "a%20b"}, "a b"), ({"s": "%zz"}, FAILS), ({"s": None}, None)],
    "validate_utf8(s)": [({"s": "añ"}, "añ"), ({"s": None}, None)],
    f"CAST(aes_decrypt(x, '{KEY}') AS STRING)": [({"x": b"no such text"}, FAILS), ({"x": None}, None)],
    "pmod(a, b)": [({"a": -7, "b": 3}, 2), ({"a": 1, "b": 0}, FAILS), ({"a": None, "b": 0}, None)],
    "-a": [({"a": 5}, -5), ({"a": -(2**31)}, FAILS), ({"a": None}, None)],
    "abs(b)": [({"b": -5}, 5), ({"b": 5}, 5), ({"b": -(2**63)}, FAILS), ({"b": None}, None)],
    "transform(l, y -> y + 1)": [({**LIST}, [8, None, 10]), ({}, None)],
    "CASE WHEN a < size(l) THEN l[a] END": [
        ({**LIST, "a": 2}, 9),
        ({**LIST, "a": 3}, None),
        ({**LIST, "a": -1}, FAILS),
    ],
}


@pytest.mark.parametrize("expression", CASES)
def test_a_row_on_which_a_function_fails_is_told_apart(spark: SparkSession, expression: str) -> None:
    cases = CASES[expression]
    source = stream("s", STORED, computed={"c": expression}).operator
    assert isinstance(source, StreamSource)
    rows = [(*(given.get(a.name) for a in source.stored), k) for k, (given, _) in enumerate(cases)]
    columns = ", ".join(f"c{k} {a.type}" for k, a in enumerate(source.stored))
    frame = spark.createDataFrame(rows, f"{columns}, number INT").selectExpr(
        "*", "CAST(NULL AS STRING) AS _problem", "'' AS _row"
    )
    found = sorted(completed_with_problems(source, frame).collect(), key=lambda r: r.number)
    for (given, expected), row in zip(cases, found, strict=True):
        assert (row._problem is not None) == (expected is FAILS), given
        shown = row[len(source.stored)]
        assert expected is FAILS or (bytes(shown) if isinstance(shown, bytearray) else shown) == expected, given
        assert row._problem is None or row._problem.startswith(f"c AS ({source.computed[0][1]}) fails"), given


@pytest.mark.parametrize("expression", CASES)
def test_the_model_fails_on_the_same_rows(expression: str) -> None:
    source = stream("s", STORED, computed={"c": expression}).operator
    assert isinstance(source, StreamSource)
    ((_, expr),) = source.computed
    if any(isinstance(e, SparkCall) for e in expr.walk()):
        return  # which the model does not compute
    compute = evaluator(expr, source.stored)
    for given, expected in CASES[expression]:
        values = tuple(_held(given.get(a.name)) for a in source.stored)
        try:
            shown = _shown(compute(values), expr.type)
        except EvaluationError:
            shown = FAILS
        assert shown == expected, given


def _held(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    return map_value(value.items()) if isinstance(value, dict) else value


def _shown(value: Any, type_: Type) -> Any:
    """A value of the model's as Spark gives it."""
    if type_ == DATE and value is not None:
        return date(1970, 1, 1) + timedelta(days=value)
    return list(value) if isinstance(value, tuple) else value
