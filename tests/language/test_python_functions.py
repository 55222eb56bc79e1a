"""CREATE FUNCTION: Python callables in queries, what they are given, what they may give back, and what goes wrong."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy
import pytest
from typer.testing import CliRunner

from astralq import function, range_, stream
from astralq.algebra.digest import digest_of
from astralq.algebra.serialize import FunctionInPlanError, dumps, loads
from astralq.callables import PythonFunction, from_python
from astralq.cli.app import app
from astralq.datatypes import MapValue
from astralq.errors import DataError, EvaluationError, ExpressionError, PlanError
from astralq.expr.nodes import Aggregate, PythonCall
from astralq.expr.parse import expression
from astralq.expr.safety import can_fail, depends_on_order, mergeable, movable
from astralq.io.files import read_sources
from astralq.language import read_script
from astralq.language.printer import print_script
from astralq.laws.optimize import optimize
from astralq.model import StreamTuple, run
from astralq.schema import BOOLEAN, DOUBLE, INT, INTERVAL, STRING, TIMESTAMP, Schema, Type, decimal, parse_type
from astralq.timeline import format_instant
from tests.callables import FOLDED, HALF, UNSURE
from tests.language.support import K, bound, error
from tests.support import answer, sec

DECLARED = """
CREATE STREAM k (id INT, v INT) FROM csv 'k.csv' TIMESTAMP ON ARRIVAL;
CREATE FUNCTION half (INT) RETURNS INT AS python 'tests.callables:half' DETERMINISTIC;
CREATE FUNCTION unsure (INT) RETURNS INT AS python 'tests.callables:half';
CREATE AGGREGATE FUNCTION folded (INT) RETURNS INT AS python 'tests.callables:folded';
CREATE FUNCTION shown (INT, DOUBLE, TIMESTAMP, DECIMAL(5, 2)) RETURNS STRING AS python 'tests.callables:shown';
CREATE FUNCTION nothing () RETURNS STRING AS python 'tests.callables:shown';
CREATE FUNCTION later (TIMESTAMP) RETURNS TIMESTAMP AS python 'tests.callables:later';
CREATE FUNCTION wrong (INT) RETURNS INT AS python 'tests.callables:wrong';
"""
DATA = {"k": [(sec(0), (1, 6)), (sec(10), (2, None)), (sec(20), (1, 9))]}


def answered(query: str, data: Any = None) -> list[tuple[Any, ...]]:
    return answer(bound(query, declared=DECLARED), DATA if data is None else data)


def test_a_function_binds_to_what_python_builds() -> None:
    assert bound("SELECT half(v) AS h FROM k", declared=DECLARED) == K.select("half(v) AS h", half=HALF).operator
    assert bound("SELECT * FROM k WHERE Half(v) > 1", declared=DECLARED) == K.where("half(v) > 1", half=HALF).operator
    aggregated = bound("SELECT id, folded(v) AS f FROM k [UNBOUNDED] GROUP BY id", declared=DECLARED)
    assert [a.python for _, a in aggregated.aggregates] == [FOLDED]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT half(v) AS h, unsure(id + 1) AS u FROM k WHERE half(v) > 1",
        "SELECT half(id) AS h, folded(v) AS f FROM k [ROWS 3] GROUP BY half(id) HAVING half(folded(v)) > 0",
        "SELECT folded(CASE WHEN v > 1 THEN v END) AS c, folded(v) FILTER (WHERE v > 1) AS f FROM k [ROWS 3]",
        "SELECT first(CASE WHEN v > 1 THEN v END) AS c, first(v) FILTER (WHERE v > 1) AS f FROM k [ROWS 3]",
        "SELECT * FROM k [ROWS 3] x JOIN k [ROWS 2] y ON half(x.v) = half(y.v)",
        "SELECT * FROM k JOIN (SELECT id AS i, v AS w FROM k) y ON half(v) = half(w) WITHIN 5 SECONDS",
        "SELECT shown(id, v, later(_t), 1) AS s FROM k",
    ],
)
def test_a_query_with_functions_reads_back_as_itself(query: str) -> None:
    op = bound(query, declared=DECLARED)
    assert read_script(print_script(op)).queries[0].operator == op
    assert loads(dumps(op)) == op
    assert digest_of(loads(dumps(op))) == op.digest


def test_a_callable_gets_python_values_and_sees_null() -> None:
    assert answered(
        "SELECT shown(id, v, TIMESTAMP '2026-03-01 12:00:00', CAST(0.5 AS DECIMAL(5, 2))) AS s FROM k WHERE id = 2"
    ) == [(10, 0, "2, None, datetime.datetime(2026, 3, 1, 12, 0, tzinfo=datetime.timezone.utc), Decimal('0.50')")]
    assert answered("SELECT nothing() AS s FROM k WHERE id = 2") == [(10, 0, "")]
    # An INT is brought to the declared DOUBLE.
    assert answered("SELECT shown(NULL, v, NULL, NULL) AS s FROM k WHERE v = 6") == [(0, 0, "None, 6.0, None, None")]


def test_an_aggregate_gets_lists_in_order_and_is_null_of_nothing() -> None:
    assert answered("SELECT folded(v) AS f FROM k [RANGE 10 SECONDS]") == [
        *[("+", 0, 0, 6)],
        *[("-", 10, 0, 6), ("+", 10, 0, 19)],
        *[("-", "10.000001", 0, 19), ("+", "10.000001", 0, 1)],
        *[("-", 20, 0, 1), ("+", 20, 0, 12)],
    ]
    filtered = "SELECT folded(v) FILTER (WHERE v > 6 OR id = 2) AS f FROM k [UNBOUNDED]"
    assert [row[-1] for row in answered(filtered) if row[0] == "+"] == [None, 1, 12]
    assert answered("SELECT folded(v) AS f FROM k [RANGE 1 SECOND]")[2] == ("+", "1.000001", 0, None)


def test_only_the_branch_that_is_taken_is_computed() -> None:
    data = {"k": [(0, (1, 13))]}
    assert answered("SELECT CASE WHEN v <> 13 THEN half(v) ELSE 0 END AS h FROM k", data) == [(0, 0, 0)]
    with pytest.raises(EvaluationError, match="half") as raised:
        answered("SELECT half(v) AS h FROM k", data)
    assert str(raised.value) == "half(13) failed: ValueError: unlucky (callables.py, line 16)"


def test_a_value_of_another_type_is_an_error() -> None:
    with pytest.raises(EvaluationError) as raised:
        answered("SELECT wrong(id) AS w FROM k")
    assert str(raised.value) == "wrong(1) gave 'not a number', which is not an INT"


@pytest.mark.parametrize(
    ("given", "type_", "expected"),
    [
        (2, DOUBLE, 2.0),
        (Decimal("1.005"), decimal(5, 2), Decimal("1.01")),
        (7, decimal(5, 2), Decimal("7.00")),
        (None, INT, None),
        (True, BOOLEAN, True),
        ("x", STRING, "x"),
    ],
)
def test_values_are_taken_where_nothing_is_lost(given: Any, type_: Type, expected: Any) -> None:
    assert from_python(given, type_) == expected
    assert type(from_python(given, type_)) is type(expected)


@pytest.mark.parametrize(
    ("given", "type_"),
    [(2.0, INT), (True, INT), (True, DOUBLE), (2**31, INT), (1, BOOLEAN), (1, STRING), (1, TIMESTAMP), (1, INTERVAL)],
)
def test_values_that_would_lose_something_are_refused(given: Any, type_: Type) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        from_python(given, type_)


def test_numbers_of_numpy_are_taken_as_python_s() -> None:
    assert from_python(numpy.float64(1.5), DOUBLE) == 1.5
    assert from_python(numpy.int32(3), INT) == 3


ERRORS = {
    "too few arguments": (
        "SELECT half() AS h FROM k;",
        "half takes 1 argument, not 0",
    ),
    "an argument of another type": (
        "SELECT later(v) AS h FROM k;",
        "in later: v is INT, not TIMESTAMP",
    ),
    "DISTINCT": (
        "SELECT folded(DISTINCT v) AS f FROM k [ROWS 2];",
        "folded is a Python function, and takes no DISTINCT",
    ),
    "an aggregate of an aggregate": (
        "SELECT folded(max(v)) AS f FROM k [ROWS 2];",
        "folded of an aggregate",
    ),
    "a misspelt name": (
        "SELECT halv(v) AS f FROM k;",
        "did you mean 'half'?",
    ),
    "a name of the language": (
        "CREATE FUNCTION Sum (INT) RETURNS INT AS python 'm:f';",
        "there is a function 'Sum' in the language",
    ),
    "a name that is declared already": (
        "CREATE FUNCTION half (INT) RETURNS INT AS python 'm:f';",
        "'half' is declared twice",
    ),
    "a type that there is not": (
        "CREATE FUNCTION f (INTT) RETURNS INT AS python 'm:f';",
        "unknown type 'INTT'",
    ),
    "a parameter with a name": (
        "CREATE FUNCTION f (x INT) RETURNS INT AS python 'm:f';",
        "unknown type 'x INT'",
    ),
    "no result": (
        "CREATE FUNCTION f (INT) AS python 'm:f';",
        "expected RETURNS",
    ),
    "a function as Flink declares it": (
        "CREATE FUNCTION f AS 'com.example.F';",
        "hint: write CREATE FUNCTION f (DOUBLE, DOUBLE) RETURNS DOUBLE AS python 'module:callable'",
    ),
    "another language": (
        "CREATE FUNCTION f (INT) RETURNS INT AS java 'm:f';",
        "a function is computed by python, not by java",
    ),
    "an aggregate without a parameter": (
        "CREATE AGGREGATE FUNCTION f () RETURNS INT AS python 'm:f';",
        "the aggregate f has no parameter",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_says_what_is_wrong(name: str) -> None:
    text, expected = ERRORS[name]
    found = error(DECLARED + text)
    assert expected in found
    assert "^" in found  # it has its place


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("nowhere:f", "there is no module 'nowhere'"),
        ("tests.callables:halv", "the module 'tests.callables' has no 'halv'\n  hint: did you mean 'HALF'?"),
        ("tests.callables:HERE", "python 'tests.callables:HERE' is 'tests.callables', not a callable"),
        ("tests.callables", "python 'tests.callables' names no callable"),
        ("tests.callables:half", "python 'tests.callables:half' cannot be called with the 2 arguments that f declares"),
    ],
)
def test_a_callable_that_cannot_be_used_is_told_before_anything_is_computed(path: str, expected: str) -> None:
    text = f"{DECLARED}CREATE FUNCTION f (INT, INT) RETURNS INT AS python '{path}'; SELECT f(id, v) AS w FROM k;"
    op = read_script(text).queries[0].operator
    with pytest.raises(DataError) as raised:
        answer(op, {"k": []})
    assert str(raised.value).startswith(expected)


def test_a_module_beside_the_query_is_found(tmp_path: Path) -> None:
    (tmp_path / "beside_the_query.py").write_text("def f(a):\n    return a + 1\n")
    text = "CREATE FUNCTION f (INT) RETURNS INT AS python 'beside_the_query:f'; SELECT f(id) AS w FROM k;"
    given = {"k": K.operator}
    assert read_script(text, given=given, folder=tmp_path).functions[0][0].prepared()([1]) == 2
    with pytest.raises(DataError, match="no module 'beside_the_other'"):
        read_script(text.replace("the_query", "the_other"), given=given).functions[0][0].prepared()


def test_laws_leave_functions_where_they_stand() -> None:
    schema = Schema.parse("v INT")
    for one in (HALF, UNSURE):
        call = expression("f(v) > 1", schema, {"f": one})
        assert can_fail(call)
        assert not movable(call)
    aggregate = expression("f(v)", schema, {"f": FOLDED})
    assert isinstance(aggregate, Aggregate)
    assert can_fail(aggregate)
    assert depends_on_order(aggregate)
    assert not mergeable(aggregate)
    held = stream("S", "a INT")[range_("1 min")]
    declared = held.where("half(a) > 1", half=HALF).istream().operator
    assert [s.rule.name for s in optimize(declared).steps] == ["stream_of_window"]
    undeclared = optimize(held.where("unsure(a) > 1", unsure=UNSURE).istream().operator)
    assert undeclared.steps == ()
    assert undeclared.refusals[0].why == "unsure is a Python function that is not declared DETERMINISTIC"


def test_a_constant_call_is_not_computed_by_laws() -> None:
    query = stream("S", "a INT").where("half(13) > 1", half=HALF).operator
    assert optimize(query).after == query


def test_digests_are_by_name() -> None:
    one = function("f", lambda a: a, "INT")
    other = function("f", lambda a: a + 1, "INT")
    assert digest_of(one) == digest_of(other)
    assert one != other
    assert digest_of(one) != digest_of(function("g", lambda a: a, "INT"))
    with pytest.raises(FunctionInPlanError):
        dumps(stream("S", "a INT").select("f(a) AS b", f=one).operator)
    with pytest.raises(PlanError, match="the function f was given in Python"):
        print_script(stream("S", "a INT").select("f(a) AS b", f=one).operator)


def test_the_folder_of_a_plan_is_where_its_query_is_now() -> None:
    op = stream("S", "a INT").select("half(a) AS b", half=HALF).operator
    (name, call), *_ = loads(dumps(op), "/elsewhere").items  # type: ignore[attr-defined]
    assert name == "b"
    assert isinstance(call, PythonCall)
    assert call.function.folder == "/elsewhere"


def test_a_given_callable_says_how_many_arguments_it_takes() -> None:
    two = function("two", lambda a, b: a + b, "INT")
    with pytest.raises(ExpressionError, match="the callable of two cannot be called with 1 arguments"):
        stream("S", "a INT").select("two(a) AS c", two=two)


@pytest.mark.parametrize("type_", ["INT", "BIGINT", "DOUBLE", "STRING", "BOOLEAN", "TIMESTAMP", "DECIMAL(10, 2)"])
def test_a_function_may_have_any_type(type_: str) -> None:
    made = PythonFunction("f", parse_type(type_), (parse_type(type_),), given=lambda a: a)
    s = stream("S", f"a {type_}")
    assert s.select("f(a) AS b", f=made).schema["b"].type == parse_type(type_)


def test_check_says_what_is_called_and_where_a_callable_is_missing(tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_text("1,2,2026-03-01T12:00:00Z\n")
    (tmp_path / "checked_functions.py").write_text("def f(a):\n    return a\n")
    text = """CREATE STREAM k (id INT, v INT, ts TIMESTAMP) FROM csv 'k.csv' TIMESTAMP BY ts;
CREATE FUNCTION f (INT) RETURNS INT AS python 'checked_functions:f' DETERMINISTIC;
CREATE FUNCTION g (INT) RETURNS INT AS python 'checked_functions:h';
SELECT f(id) AS w FROM k;
"""
    file = tmp_path / "q.aql"
    file.write_text(text)
    said = CliRunner().invoke(app, ["check", str(file)])
    assert "calls    f: python 'checked_functions:f', deterministic\n" in said.stdout
    assert f"{file}: line 3, column 47: the module 'checked_functions' has no 'h'" in said.stderr
    file.write_text(text.replace("_functions:h", "_functions:f"))
    assert CliRunner().invoke(app, ["check", str(file)]).exit_code == 0


def test_a_source_may_compute_attributes_by_functions(tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_text("4,2026-03-01T12:00:00Z\n7,2026-03-01T12:00:10Z\n")
    text = """CREATE FUNCTION half (INT) RETURNS INT AS python 'tests.callables:half' DETERMINISTIC;
CREATE FUNCTION later (TIMESTAMP) RETURNS TIMESTAMP AS python 'tests.callables:later' DETERMINISTIC;
CREATE STREAM k (v INT, ts TIMESTAMP, h INT AS (half(v))) FROM csv 'k.csv' TIMESTAMP BY later(ts);
SELECT h FROM k;
"""
    op = read_script(text, folder=tmp_path).queries[0].operator
    assert read_script(print_script(op)).queries[0].operator == op
    answered = run(op, read_sources(op, tmp_path))
    assert [(format_instant(r.t), *r.values) for r in answered if isinstance(r, StreamTuple)] == [
        ("2027-03-01T12:00:00Z", 2),
        ("2027-03-01T12:00:10Z", 3),
    ]


def test_values_with_parts_are_lists_and_dicts() -> None:
    types = "d DATE, a ARRAY<INT>, m MAP<STRING, INT>, s STRUCT<x: INT, y: ARRAY<DATE>>, b BINARY"
    shown = function("shown", lambda *v: repr(v), "STRING")
    s = stream("S", types).select("shown(d, a, m, s, b) AS t", shown=shown)
    row = (1, (1, None), MapValue((("k", 2),)), (3, (0,)), b"x")
    (found,) = run(s, {"S": [(0, row)]})
    assert isinstance(found, StreamTuple)
    assert found.values == (
        "(datetime.date(1970, 1, 2), [1, None], {'k': 2}, {'x': 3, 'y': [datetime.date(1970, 1, 1)]}, b'x')",
    )


@pytest.mark.parametrize(
    ("given", "type_", "expected"),
    [
        ([1, None], "ARRAY<INT>", (1, None)),
        ({"x": 1, "y": [2]}, "STRUCT<x: INT, y: ARRAY<DOUBLE>>", (1, (2.0,))),
        (date(1970, 1, 3), "DATE", 2),
        (0.1, "FLOAT", 0.10000000149011612),
    ],
)
def test_lists_and_dicts_are_values_with_parts(given: Any, type_: str, expected: Any) -> None:
    assert from_python(given, parse_type(type_)) == expected
    if isinstance(given, dict):
        with pytest.raises(ValueError):  # noqa: PT011
            from_python({"x": 1}, parse_type(type_))


def test_types_that_cannot_travel_are_refused() -> None:
    with pytest.raises(PlanError, match=r"the function f cannot give MAP<STRING, INT>"):
        function("f", dict, "MAP<STRING, INT>")
    with pytest.raises(PlanError, match=r"the aggregate f cannot take MAP<STRING, INT>"):
        function("f", lambda xs: 1, "INT", parameters=["MAP<STRING, INT>"], aggregate=True)
    with pytest.raises(PlanError, match=r"the function f cannot take INTERVAL YEAR TO MONTH"):
        function("f", lambda x: 1, "INT", parameters=["INTERVAL YEAR TO MONTH"])
