"""Expressions are read from SQL and print back as what they were; constants, names and lists are read exactly."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astralq.errors import AstralError
from astralq.expr.evaluate import evaluator
from astralq.expr.nodes import Column, Expr, Literal
from astralq.expr.parse import expression, named_expression, split_list
from astralq.schema import BIGINT, DOUBLE, INT, STRING, Attribute, Schema, decimal
from tests.agree.test_expressions import SCHEMA, generate

EMPTY = Schema(())


@given(st.integers(0, 10**9), st.sampled_from(["number", "truth", "text", "moment", "span"]))
def test_an_expression_prints_as_text_that_reads_back_as_itself(seed: int, kind: str) -> None:
    text = generate(random.Random(seed), kind, 3)
    try:
        e = expression(text, SCHEMA)
    except AstralError:
        return
    assert expression(str(e), SCHEMA) == e


names = st.one_of(
    st.text("abc_1 `'\"é", min_size=1, max_size=4).filter(lambda n: n.strip() == n),
    st.sampled_from(
        ["select", "from", "null", "true", "case", "not", "interval", "timestamp", "value", "time", "if", "end"]
    ),
)


@given(names)
def test_an_attribute_of_any_name_can_be_written(name: str) -> None:
    schema = Schema((Attribute(name, INT),))
    e = Column(INT, name)
    assert expression(str(e), schema) == e


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", Literal(INT, 1)),
        ("-1", Literal(INT, -1)),
        ("2147483648", Literal(BIGINT, 2**31)),
        ("3L", Literal(BIGINT, 3)),
        ("-9223372036854775808L", Literal(BIGINT, -(2**63))),
        ("1.50", Literal(decimal(3, 2), Decimal("1.50"))),
        ("0.1", Literal(decimal(1, 1), Decimal("0.1"))),
        ("2BD", Literal(decimal(1), Decimal(2))),
        ("1e3", Literal(DOUBLE, 1000.0)),
        ("1.5D", Literal(DOUBLE, 1.5)),
        ("'it\\'s'", Literal(STRING, "it's")),
        ("'it''s'", Literal(STRING, "it's")),
    ],
)
def test_constants_have_sparks_types(text: str, value: Expr) -> None:
    assert expression(text, EMPTY) == value


def test_a_name_is_given_with_as_or_is_the_text() -> None:
    schema = Schema.parse("a INT")
    assert named_expression("a + 1 AS b", schema)[0] == "b"
    assert named_expression("a", schema)[0] == "a"
    assert named_expression(" a + 1 ", schema)[0] == "a + 1"


def test_a_list_is_split_at_its_own_commas_only() -> None:
    text = "a, max(b, f(c, (d))) AS m, 'x, (y', `p,q`, CAST(v AS DECIMAL(38, 0))"
    assert split_list(text) == ["a", "max(b, f(c, (d))) AS m", "'x, (y'", "`p,q`", "CAST(v AS DECIMAL(38, 0))"]


def test_only_what_is_taken_is_computed() -> None:
    schema = Schema.parse("a INT, b INT")
    for text in ("b <> 0 AND a / b > 1", "CASE WHEN b = 0 THEN 0 ELSE a / b END > 1", "if(b = 0, FALSE, a / b > 1)"):
        assert evaluator(expression(text, schema), schema)((1, 0)) is False
    assert evaluator(expression("coalesce(a, a / b)", schema), schema)((1, 0)) == 1


@given(st.text(max_size=30))
def test_any_text_is_an_expression_or_one_of_our_errors(text: str) -> None:
    try:
        e = expression(text, SCHEMA)
    except AstralError:
        return
    assert isinstance(e, Expr)


@given(st.integers(0, 10**9), st.integers(0, 40), st.sampled_from(list("()',.`*%-<>= 0aASnull")))
def test_a_damaged_expression_is_read_or_refused(seed: int, place: int, damage: str) -> None:
    text = generate(random.Random(seed), "truth", 3)
    try:
        expression(text[:place] + damage + text[place + 1 :], SCHEMA)
    except AstralError:
        return


@pytest.mark.parametrize("name", ["reflect", "java_method", "try_reflect", "input_file_name", "current_user"])
def test_a_function_that_reaches_outside_is_refused_by_name(name: str) -> None:
    with pytest.raises(AstralError, match=f"the function '{name}' is refused: it reaches outside the query"):
        expression(f"{name}('java.lang.System', 'getenv')", EMPTY)


@pytest.mark.parametrize("name", ["rand", "uuid", "now", "current_timestamp"])
def test_a_function_that_is_not_a_function_is_refused_by_name(name: str) -> None:
    with pytest.raises(AstralError, match=f"the function '{name}' is refused: it gives another value each time"):
        expression(f"{name}()", EMPTY)
