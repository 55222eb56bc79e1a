"""Functions of Spark's catalogue: bound without Spark, refused by the model in words; aggregates in order."""

from __future__ import annotations

import pytest

from astralq import stream, unbounded
from astralq.errors import AstralError
from astralq.expr.evaluate import evaluator
from astralq.expr.nodes import SparkCall
from astralq.expr.parse import expression
from astralq.expr.safety import can_fail
from astralq.model import Stream, run
from astralq.schema import Schema
from astralq.timeline import BatchId, Instant

SCHEMA = Schema.parse("s STRING, i INT, a ARRAY<INT>, m MAP<STRING, INT>, t TIMESTAMP, d DATE, b BINARY")

TYPES = {
    "get_json_object(s, '$.a')": "STRING",
    "from_json(s, 'a INT, b ARRAY<STRING>').b": "ARRAY<STRING>",
    "date_format(t, 'yyyy')": "STRING",
    "split(s, ',')": "ARRAY<STRING>",
    "hash(s, i, a)": "INT",
    "sequence(1, i)": "ARRAY<INT>",
    "length(b)": "INT",
    "transform_keys(m, (k, v) -> length(k))": "MAP<INT, INT>",
    "regexp_replace(s, 'a', 'b')": "STRING",
    "array_repeat(a, 2)": "ARRAY<ARRAY<INT>>",
}


@pytest.mark.parametrize("text", TYPES)
def test_a_function_of_sparks_has_its_type_prints_back_and_can_fail(text: str) -> None:
    e = expression(text, SCHEMA)
    assert str(e.type) == TYPES[text]
    assert expression(str(e), SCHEMA) == e
    assert can_fail(e)


REFUSED = {
    "foo(s)": "unknown function 'foo'",
    "parse_json(s)": "the function 'parse_json' is refused: it gives VARIANT, a type that the language has not",
    "rand()": "the function 'rand' is refused: it gives another value each time, and an answer has to be the same from"
    " files and from the live feed",
    "explode(a)": "explode cannot stand in an expression",
    "initcap(a)": "in initcap: a is ARRAY<INT>, not STRING",
    "soundex(a)": "soundex does not take (ARRAY<INT>)",
    "transform(a, i)": "transform takes a function",
    "filter(a, x -> x + 1)": "in filter: x + 1 is INT, not BOOLEAN",
    "aggregate(a, 0, (t, x) -> 'a')": "in aggregate: 'a' is STRING, and 0 is INT",
    "from_json(s, i)": "in from_json: it takes a text and a constant schema",
    "EXTRACT(CENTURY FROM t)": "CENTURY is no part of TIMESTAMP",
    "kll_sketch_agg_bigint(i)": "the aggregate 'kll_sketch_agg_bigint' is refused: it keeps random samples, so that two"
    " runs may give different answers",
    "corr(s, a)": "corr does not take (STRING, ARRAY<INT>)",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_call_is_refused_in_words(text: str) -> None:
    with pytest.raises(AstralError) as refused:
        expression(text, SCHEMA)
    assert refused.value.message == REFUSED[text]


def test_the_model_says_what_it_does_not_compute() -> None:
    e = expression("soundex(s)", SCHEMA)
    assert isinstance(e, SparkCall)
    with pytest.raises(AstralError) as refused:
        evaluator(e, SCHEMA)
    assert refused.value.message == "the model does not compute soundex"
    assert refused.value.hint == "run it on Spark: leave out --engine model"


def test_aggregates_of_lists_follow_the_order_of_tuples() -> None:
    s = stream("S", "k INT, v INT")
    query = s[unbounded()].aggregate("collect_list(v) AS l", "max_by(k, v) AS m", "count_if(v > 1) AS c").rstream()
    rows = [(BatchId(Instant(1), 0), (1, 3)), (BatchId(Instant(2), 0), (2, None)), (BatchId(Instant(3), 0), (3, 3))]
    found = run(query, {"S": Stream.of(rows)})
    assert found.rows[-1][2:] == ((3, 3), 3, 2)
