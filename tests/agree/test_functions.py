"""Functions against Spark: what the model computes has Spark's values, what the catalogue says has Spark's types."""

from __future__ import annotations

import math
from typing import Any

import pyspark
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from astralq.datatypes import to_float32
from astralq.errors import AstralError
from astralq.expr.evaluate import evaluator
from astralq.expr.nodes import Column, Expr, Literal, SparkCall
from astralq.expr.order import map_value
from astralq.expr.parse import expression
from astralq.expr.spark_functions import catalogue, result_type
from astralq.io.parquet import plain_value
from astralq.plan.operators.expressions import Names, rewritten
from astralq.plan.sql_types import plain, spark_type
from astralq.schema import INT, STRING, Attribute, Schema, Value
from astralq.spark.sources.reading import from_rows

SCHEMA = Schema.parse(
    "s STRING, u STRING, i INT, j INT, l BIGINT, x DOUBLE, y DOUBLE, f FLOAT, h SMALLINT, o TINYINT, p BOOLEAN,"
    " d DATE, e DATE, t TIMESTAMP, b BINARY, c DECIMAL(8, 3), a ARRAY<INT>, q ARRAY<INT>, z ARRAY<STRING>,"
    " n ARRAY<ARRAY<INT>>, m MAP<STRING, INT>, r STRUCT<x: INT, y: STRING>, v INTERVAL DAY TO SECOND"
)
M = map_value([("k", 1), ("b", None)])
ROWS: list[tuple[Value, ...]] = [
    ("Spark SQL", "a", 3, 2, 9_000_000_000, 2.5, -0.5, 1.5, 7, 5, True, 19_783, 19_752, 1_709_296_205_123_456, b"ab",
     None, (1, 2, None, 2), (2, 5), ("x", None, "y"), ((1,), (2, 3)), M, (1, "q"), 93_784_500_000),
    ("", "", -4, 0, -1, -7.25, 0.0, -0.25, -300, -5, False, -1, 0, -1, b"", None, (), (1,), (), ((),), map_value([]),
     (None, None), -1),
    ("äöü ß,x,y", ",", 31, 12, 0, math.inf, math.nan, to_float32(0.1), 0, 0, None, 18_321, 19_783, 951_782_400_000_000,
     b"\xff\x00", None, (3, 1, 2), (3,), ("b", "a"), (None, (4,)), map_value([("z", 26)]), (5, "zz"), 0),
    (*(None,) * len(SCHEMA),),
]  # fmt: skip

_TEXTS = """
left(s, 3) ; right(s, 3) ; right(s, i) ; left(s, i) ; repeat(u, j) ; lpad(s, 12, u) ; rpad(s, 4, 'xy') ;
lpad(s, 12) ; btrim(s, 'Sx') ; ltrim('S', s) ; rtrim('LQy', s) ; trim(LEADING 'S' FROM s) ; trim(BOTH FROM s) ;
trim(s) ; reverse(s) ; split_part(s, ',', 2) ; split_part(s, ' ', -1) ; split(s, ',') ; split(s, '[a-z]*') ;
split(s, '', 2) ; split(s, ' |,', 2) ; regexp_extract(s, '([a-z]+),?([a-z]*)', 2) ; regexp_extract(s, '[a-z]', 0) ;
regexp_extract(s, '(x)?') ; date_format(t, 'yyyy-MM-dd HH:mm:ss.SSS') ; date_format(d, 'E, d MMM yy ''of'' DDD') ;
date_format(t, 'EEEE hh:mm a k K MMMM') ; substring_index(s, ',', 2) ;
substring_index(s, ',', -1) ; substring_index(s, u, i) ; instr(s, 'a') ; instr(s, u) ; locate('a', s, 2) ;
position('x' IN s) ; locate(u, s) ; translate(s, 'aSx', '12') ; initcap(s) ; overlay(s PLACING '__' FROM 2) ;
overlay(s, 'Z', 3, 2) ; levenshtein(s, u) ; levenshtein('kitten', 'sitting') ; find_in_set('x', s) ;
find_in_set(u, s) ; space(j) ; ascii(s) ; concat_ws(',', s, u) ; concat_ws('-', z, s) ; concat_ws(u, z) ;
octet_length(s) ; bit_length(b) ; octet_length(b) ; md5(s) ; md5(b) ; sha1(s) ; sha2(s, 256) ; sha2(b, 512) ;
sha2(s, 0) ; crc32(s) ; base64(b) ; luhn_check('79927398713') ; luhn_check(s) ; array_join(z, '+') ;
array_join(z, '+', '?') ; try_add(l, 9223372036854775807L) ; try_divide(i, j) ; try_multiply(l, l) ;
try_subtract(i, j) ; try_mod(i, j) ; mod(i, 3) ; shiftleft(i, j) ; shiftright(i, 1) ;
shiftrightunsigned(i, 1) ; shiftrightunsigned(l, 3) ; shiftleft(l, 60) ; bit_count(i) ; bit_count(p) ;
bit_count(l) ; factorial(j) ; factorial(i) ; rint(x) ; rint(y) ; rint(2.5D) ; nullifzero(j) ; positive(x) ;
nanvl(y, x) ; nanvl(x, y) ; width_bucket(x, -10, 10, 5) ; width_bucket(y, 1, -1, 4) ; hex(i) ; hex(s) ;
hex(b) ; hex(l) ; bin(i) ; bin(l) ; date_add(d, i) ; date_sub(d, 40) ; datediff(d, e) ; date_diff(e, d) ;
add_months(d, i) ; add_months(d, -13) ; last_day(d) ; next_day(d, 'Mon') ; next_day(e, 'sunday') ;
next_day(d, 'TU') ; make_date(2024, j, 1) ; make_date(2023, 2, i) ; unix_date(d) ; date_from_unix_date(i) ;
trunc(d, 'MM') ; trunc(d, 'week') ; trunc(d, 'quarter') ; trunc(d, 'YEAR') ; trunc(d, 'nothing') ; to_date(t) ;
to_date(d) ; to_date('2024-02-29') ; weekofyear(d) ; weekofyear(e) ; dayname(d) ; monthname(d) ;
make_dt_interval(1, 2, 3) ; make_dt_interval(i, j) ; months_between(t, TIMESTAMP '2024-01-31 10:00:00') ;
months_between(d, e) ; EXTRACT(YEAR FROM d) ; EXTRACT(SECOND FROM t) ; EXTRACT(DOW FROM d) ;
EXTRACT(WEEK FROM t) ; date_part('HOUR', t) ; EXTRACT(DAYOFWEEK_ISO FROM d) ; EXTRACT(DOY FROM t) ;
EXTRACT(QUARTER FROM d) ; hour(d) ; year(d) ; size(a) ; size(m) ; cardinality(z) ; array_size(a) ;
array_contains(a, 2) ; array_contains(a, 9) ; array_contains(a, 2.0D) ; array_position(a, 2) ;
array_position(a, 7) ; array_distinct(a) ; array_min(a) ; array_max(a) ; array_max(z) ; array_compact(a) ;
array_append(a, 9) ; array_prepend(a, i) ; array_append(a, 2.5D) ; array_remove(a, 2) ; array_union(a, q) ;
array_intersect(a, q) ; array_except(a, q) ; arrays_overlap(a, q) ; slice(a, 2, 2) ; slice(a, -2, 2) ;
slice(a, j, 1) ; sort_array(a) ; sort_array(a, false) ; get(a, 1) ; get(a, i) ; element_at(a, 1) ;
element_at(a, -1) ; element_at(m, 'k') ; map_keys(m) ; map_values(m) ; map_entries(m) ;
map_contains_key(m, 'k') ; flatten(n) ; reverse(a) ; concat(a, q) ; array(i, j) ; array(1, 2.5) ;
map('a', i, 'b', j) ; named_struct('x', i, 'y', s) ; struct(i, s AS t) ; nvl2(s, i, j) ; equal_null(i, NULL) ;
a[0] ; m['k'] ; r.x ; n[0][0] ; CAST(a AS STRING) ; CAST(m AS STRING) ; CAST(r AS STRING) ;
d + INTERVAL 1 MONTH ; d - INTERVAL 2 DAYS ; d + INTERVAL 1 HOUR ; d - e ; t - d ; d + 3 ;
t + INTERVAL '1-1' YEAR TO MONTH ; f + f ; f * i ; f / f ; f + x ; CAST(f AS STRING) ;
CAST(f AS DECIMAL(8, 3)) ; h + o ; h * o ; h + i ; -o ; o div h ; CAST(x AS FLOAT) ; CAST(i AS TINYINT) ;
CAST(d AS TIMESTAMP) ; CAST(t AS DATE) ; CAST(s AS BINARY) ; d > t ; d = e ; b < X'FF' ; f > 0.1 ; f = 0.1F ;
round(f, 1) ; abs(o) ; greatest(d, e) ; least(f, x) ; coalesce(d, e) ; a = q ; a < q ; r = r ; v * 2 ; v / 3 ;
CAST(v AS STRING) ; v > INTERVAL '1 00:00:00' DAY TO SECOND ; t + v ; if(p, a, q) ; nullif(d, e) ;
transform(a, x -> x + i) ; transform(a, (x, k) -> k) ; filter(a, x -> x > 1) ; exists(a, x -> x > 2) ;
forall(a, x -> x > 0) ; aggregate(a, 0, (acc, x) -> acc + coalesce(x, 0), acc -> acc * 2) ; array_sort(a) ;
zip_with(a, q, (x, y) -> coalesce(x, 0) * y) ; map_filter(m, (k, v) -> v > 0) ;
transform_values(m, (k, v) -> length(k)) ; transform(n, r -> size(r)) ; bigint(i) ; i << 2 ; l >> 3 ; string(d)
"""
COMPUTED = [text.strip() for text in _TEXTS.split(";")]
"""At least one expression for each function that the model computes, over values at the edges."""

NEARLY = ["cbrt(x)", "expm1(y)", "log1p(x)", "log2(x)", "hypot(x, y)", "sinh(y)", "cosh(y)", "tanh(x)", "e()"]
"""Functions whose last digit may differ, as C's library differs from Java's."""


def text_of(e: Expr) -> str:
    return str(rewritten(e, Names(SCHEMA, [f"`{n}`" for n in SCHEMA.names], entries=False)))


def ours(e: Expr) -> dict[int, Value]:
    """The model's value for each row on which it does not fail."""
    f, found = evaluator(e, SCHEMA), {}
    for k, row in enumerate(ROWS):
        try:
            found[k] = f(row)
        except AstralError:
            continue
    return found


def same(a: Value, b: Value, *, nearly: bool) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or (nearly and a == pytest.approx(b, rel=1e-14))
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(same(x, y, nearly=nearly) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and a == b


NEWER = ("split(s, '', 2)",)
"""What Spark answers otherwise before 4.1."""


def test_what_the_model_computes_has_sparks_types_and_values(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    numbered = Schema((*SCHEMA.attributes, Attribute("row_", INT)))
    frame = from_rows(spark, [(*r, k) for k, r in enumerate(ROWS)], numbered).coalesce(1)
    left_out = NEWER if pyspark.__version__ < "4.1" else ()
    cases = [(text, expression(text, SCHEMA)) for text in (*COMPUTED, *NEARLY) if text not in left_out]
    assert not [text for text, e in cases if any(isinstance(p, SparkCall) for p in e.walk())]
    values = [ours(e) for _, e in cases]
    columns, wrong = [], []
    for c, ((_, e), fine) in enumerate(zip(cases, values, strict=True)):
        rows = ", ".join(map(str, fine)) or "-1"
        columns.append(F.expr(f"CASE WHEN row_ IN ({rows}) THEN {plain(f'({text_of(e)})', e.type)} END").alias(f"c{c}"))
    for theirs in frame.select("row_", *columns).collect():
        for (text, e), fine, value in zip(cases, values, theirs[1:], strict=True):
            if theirs.row_ in fine:
                expected = plain_value(value, e.type) if e.type.is_nested or e.type.name == "BINARY" else value
                if not same(fine[theirs.row_], expected, nearly=text in NEARLY):
                    wrong.append(f"{text} on row {theirs.row_}: {fine[theirs.row_]!r}, in Spark {expected!r}")
    types = frame.select(*(F.expr(text_of(e)).alias(f"c{c}") for c, (_, e) in enumerate(cases))).dtypes
    both = zip(cases, types, strict=True)
    wrong += [f"{t} is {e.type}, in Spark {x}" for (t, e), (_, x) in both if spark_type(e.type) != x]
    assert wrong == [], "\n".join(wrong)


CLASSES = {a.type.name.lower(): a for a in reversed(SCHEMA.attributes) if not a.type.is_nested}
CLASSES |= {"array<int>": SCHEMA["a"], "array<string>": SCHEMA["z"], "array<array<int>>": SCHEMA["n"]}
CLASSES |= {"map<string,int>": SCHEMA["m"], "struct<x:int,y:string>": SCHEMA["r"]}
CONSTANTS: dict[str, Literal] = {"=int": Literal(INT, 1), "=string": Literal(STRING, "1")}


def applications() -> list[tuple[str, str, str]]:
    """Calls of Spark's functions, one for each rule of the catalogue, with the types that they are said to give."""
    found = []
    for name, function in catalogue().items():
        for rule in function.rules:
            args = [_example(members) for members in rule.args]
            if any(a is None for a in args):
                continue
            known: list[Any] = args
            type_ = result_type(name, known)
            assert type_ is not None, name
            found.append((name, f"{name}({', '.join(map(str, known))})", spark_type(type_)))
    return found


def _example(members: frozenset[str]) -> Expr | None:
    for name, a in CLASSES.items():
        if name in members:
            return Column(a.type, a.name)
    return next((c for name, c in CONSTANTS.items() if name in members), None)


def test_the_catalogue_gives_the_types_that_spark_gives(spark: SparkSession) -> None:
    """Asked of Spark's analyzer without running anything."""
    columns = ", ".join(f"CAST(NULL AS {spark_type(a.type)}) AS `{a.name}`" for a in SCHEMA)
    spark.sql(f"SELECT {columns}").createOrReplaceTempView("typed_nulls")
    state = spark._jsparkSession.sessionState()
    wrong, count = [], 0
    for name, text, type_ in applications():
        try:
            plan = state.analyzer().execute(state.sqlParser().parsePlan(f"SELECT {text} AS c FROM typed_nulls"))
        except (PySparkException, Py4JJavaError):
            continue  # it wants another constant
        found = plan.expressions().apply(0)
        if not found.resolved():
            continue
        count += 1
        if found.dataType().catalogString() != type_:
            wrong.append(f"{text} is {type_}, in Spark {found.dataType().catalogString()} ({name})")
    assert wrong == [], "\n".join(wrong)
    assert count > 500
