"""Types: what is read as which, casts, comparisons, arithmetic and the text of values, without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from astralq import stream
from astralq.algebra.serialize import dumps, loads
from astralq.errors import AstralError
from astralq.expr.evaluate import evaluator
from astralq.expr.order import map_value, order_key
from astralq.expr.parse import expression
from astralq.printing.values import as_json, text
from astralq.schema import Schema, Value, parse_type

SCHEMA = Schema.parse(
    "a ARRAY<INT>, s STRUCT<x: INT, y: STRING>, m MAP<STRING, INT>, d DATE, t TIMESTAMP, f FLOAT, n SMALLINT, b BINARY,"
    " z STRING, i INT, w ARRAY<STRUCT<x: INT>>"
)
ROW: tuple[Value, ...] = (
    (1, 2),
    (7, "q"),
    map_value([("k", 5), ("a", 1)]),
    19_783,  # 2024-03-01
    1_709_251_200_000_000,
    1.5,
    30_000,
    b"ab",
    "hello",
    4,
    ((3,), None),
)

VALUES: dict[str, tuple[str, Any]] = {
    "a[0]": ("INT", 1),
    "s.x": ("INT", 7),
    "m['k']": ("INT", 5),
    "m['none']": ("INT", None),
    "w.x": ("ARRAY<INT>", (3, None)),
    "w[0].x": ("INT", 3),
    "d + 1": ("DATE", 19_784),
    "d - INTERVAL 1 DAY": ("DATE", 19_782),
    "d + INTERVAL 1 HOUR": ("TIMESTAMP", 1_709_254_800_000_000),
    "DATE '2024-01-31' + INTERVAL 1 MONTH": ("DATE", 19_782),
    "d - DATE '2024-02-29'": ("INTERVAL DAY TO SECOND", 86_400_000_000),
    "t + INTERVAL '1-1' YEAR TO MONTH": ("TIMESTAMP", 1_743_465_600_000_000),
    "t > d": ("BOOLEAN", False),
    "f + f": ("FLOAT", 3.0),
    "f * 2": ("DOUBLE", 3.0),
    "n + 1S": ("SMALLINT", 30_001),
    "n + 1": ("INT", 30_001),
    "1.1F": ("FLOAT", 1.100000023841858),
    "CAST(1.1F AS STRING)": ("STRING", "1.1"),
    "CAST(m AS STRING)": ("STRING", "{a -> 1, k -> 5}"),
    "CAST(s AS STRING)": ("STRING", "{7, q}"),
    "CAST(a AS ARRAY<STRING>)": ("ARRAY<STRING>", ("1", "2")),
    "CAST(b AS STRING)": ("STRING", "ab"),
    "X'6162' = b": ("BOOLEAN", True),
    "CAST(INTERVAL 90 SECONDS AS STRING)": ("STRING", "INTERVAL '0 00:01:30' DAY TO SECOND"),
    "INTERVAL '1 02:03:04.5' DAY TO SECOND": ("INTERVAL DAY TO SECOND", 93_784_500_000),
    "z LIKE 'h!%' ESCAPE '!'": ("BOOLEAN", False),
    "substring(z FROM 2 FOR 3)": ("STRING", "ell"),
    "TRY_CAST(z AS DATE)": ("DATE", None),
    "year(d)": ("INT", 2024),
}


@pytest.mark.parametrize("text", VALUES)
def test_an_expression_has_its_type_and_value_and_is_read_back_as_it_prints(text: str) -> None:
    e = expression(text, SCHEMA)
    assert (str(e.type), evaluator(e, SCHEMA)(ROW)) == VALUES[text]
    assert expression(str(e), SCHEMA) == e


REFUSED = {
    "m = m": "in =: m is MAP<STRING, INT>, and a MAP cannot be compared\n  hint: compare map_entries of it",
    "s.z": "s has no field 'z': its fields are x, y",
    "a['x']": "in []: the index 'x' is STRING, not a whole number\n  hint: the first element is a[0]",
    "i[0]": "in []: i is INT, which has no parts\n  hint: brackets stand behind an ARRAY, a MAP or a STRUCT",
    "CAST(d AS INT)": "d is DATE and cannot be cast to INT",
    "max(m)": "in max: the argument is MAP<STRING, INT>, and a MAP has no order\n  hint: use map_entries",
    "DATE '2024-13-01'": "'2024-13-01' is not a date\n  hint: write for example DATE '2024-05-01'",
    "INTERVAL '1 2' DAY TO SECOND": "'1 2' is no interval DAY TO SECOND\n"
    "  hint: write for example INTERVAL '1 02:03:04' DAY TO SECOND, or INTERVAL '1-2' YEAR TO MONTH",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_has_no_meaning_is_refused_in_words(text: str) -> None:
    with pytest.raises(AstralError) as refused:
        expression(text, SCHEMA)
    found = refused.value
    assert (found.message if found.hint is None else f"{found.message}\n  hint: {found.hint}") == REFUSED[text]


FAILING = ["a[2]", "CAST(n AS TINYINT)", "n + n + 30000S", "DATE '9999-12-31' + 1", "CAST(z AS DATE)"]


@pytest.mark.parametrize("text", FAILING)
def test_what_cannot_be_computed_fails(text: str) -> None:
    with pytest.raises(AstralError):
        evaluator(expression(text, SCHEMA), SCHEMA)(ROW)


def test_values_with_parts_are_ordered_part_by_part_with_null_first() -> None:
    arrays = [(1, 2), (), (1,), (1, None), None, (0, 9)]
    assert sorted(arrays, key=order_key) == [None, (), (0, 9), (1,), (1, None), (1, 2)]
    assert order_key(map_value([("b", 1), ("a", 2)])) == order_key(map_value([("a", 2), ("b", 1)]))


PRINTED = {
    ("DATE", 0): ("1970-01-01", '"1970-01-01"'),
    ("FLOAT", 0.10000000149011612): ("0.1", "0.1"),
    ("BINARY", b"ab"): ("YWI=", '"YWI="'),
    ("INTERVAL", 1_500_000): ("INTERVAL '0 00:00:01.5' DAY TO SECOND",) * 2,
    ("INTERVAL YEAR TO MONTH", -14): ("INTERVAL '-1-2' YEAR TO MONTH",) * 2,
    ("ARRAY<STRUCT<t: TIMESTAMP>>", ((0,), None)): ('[{"t": "1970-01-01T00:00:00Z"}, null]',) * 2,
    ("MAP<INT, BOOLEAN>", map_value([(2, True), (1, None)])): ('{"1": null, "2": true}',) * 2,
}


@pytest.mark.parametrize("case", PRINTED, ids=lambda c: c[0])
def test_a_value_is_printed_as_text_and_as_json(case: tuple[str, Value]) -> None:
    type_, value = parse_type(case[0]), case[1]
    plain, json = PRINTED[case]
    json = f'"{json}"' if "INTERVAL" in case[0] else json
    assert (text(value, type_, "iso"), as_json(value, type_, "iso")) == (plain, json)


def test_a_plan_with_constants_of_every_type_is_kept() -> None:
    s = stream("S", "a ARRAY<INT>, b BINARY, d DATE, f FLOAT")
    query = s.where("a[0] > 1 AND b = X'00FF' AND d < DATE '2024-01-01' AND f > 1.5F").operator
    assert loads(dumps(query)) == query
    assert loads(dumps(query)).digest == query.digest
