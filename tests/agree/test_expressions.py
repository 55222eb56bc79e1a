"""Expressions mean what Spark's ANSI mode means: generated ones are evaluated by the model and by Spark."""

from __future__ import annotations

import math
import random
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pyspark
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (Spark's own convention)

from astralq.errors import AstralError
from astralq.expr.evaluate import evaluator
from astralq.expr.nodes import Expr
from astralq.expr.parse import expression
from astralq.schema import Schema, Value

SCHEMA = Schema.parse(
    "i INT, j INT, l BIGINT, x DOUBLE, y DOUBLE, d DECIMAL(10, 2), e DECIMAL(5, 3), s STRING, r STRING, "
    "p BOOLEAN, q BOOLEAN, t TIMESTAMP, u TIMESTAMP"
)
_T = 1_700_000_000_123_456
ROWS: list[tuple[Any, ...]] = [
    (1, 2, 3, 0.1, 2.5, Decimal("1.25"), Decimal("0.125"), "abc", "b", True, False, _T, 0),
    (-7, 3, 2**40, -3.75, 0.3, Decimal("-99.99"), Decimal("-12.500"), "", "%b_", False, None, 0, _T),
    (2**31 - 1, -(2**31), -5, 1e10, -1e-9, Decimal("12345678.90"), Decimal("99.999"), " A b ", "A", None, True, _T, _T),
    (0, 0, 0, 0.0, -0.0, Decimal("0.00"), Decimal("0.000"), "0", "0", True, True, -1, 86_400_000_000),
    (None, 5, None, None, 1.0, None, Decimal("1.000"), None, "x", None, False, None, _T),
    (4, None, 9, math.nan, math.inf, Decimal("2.50"), None, "naïve", None, False, False, 951_782_400_000_000, None),
    (10, 4, 6, 2.0, 4.0, Decimal("0.05"), Decimal("2.005"), "abcabc", "ca", True, None, 1_709_251_199_999_999, 1),
]

COLUMNS = {
    "number": ["i", "j", "l", "x", "y", "d", "e"],
    "integer": ["i", "j", "l"],
    "double": ["x", "y"],
    "text": ["s", "r"],
    "truth": ["p", "q"],
    "moment": ["t", "u"],
}
CONSTANTS = {
    "number": ["0", "1", "2", "-3", "7", "1.5", "0.10", "2.5D", "1e-3", "3L"],
    "integer": ["0", "1", "2", "-3", "7", "100"],
    "double": ["0.5D", "2.0D", "-1.5D", "1e3"],
    "text": ["'b'", "'abc'", "''", "'%b%'", "'a_c'"],
    "truth": ["TRUE", "FALSE", "NULL"],
    "moment": ["TIMESTAMP '2023-11-14T22:13:20Z'", "TIMESTAMP '1970-01-01 00:00:00'"],
    "span": ["INTERVAL 5 MINUTES", "INTERVAL 1 DAY", "INTERVAL 250 MILLISECONDS"],
}
SHAPES: dict[str, list[str]] = {
    "number": [
        *("{number} + {number}", "{number} - {number}", "{number} * {number}", "{number} / {number}"),
        *(
            "{integer} % {integer}",
            "{double} % {double}",
            "{integer} div {integer}",
            "-{number}",
            "pmod({integer}, {integer})",
        ),
        *(
            "abs({number})",
            "ceil({number})",
            "floor({number})",
            "round({number})",
            "round({double}, 1)",
            "sqrt({double})",
        ),
        *("round(d, 1)", "greatest({number}, {number})", "least({number}, {number}, {number})"),
        *("coalesce({number}, {number})", "nullif({number}, {number})", "if({truth}, {number}, {number})"),
        *("CASE WHEN {truth} THEN {number} ELSE {number} END", "CASE {integer} WHEN 1 THEN {number} END"),
        *("length({text})", "year({moment})", "month({moment})", "day({moment})", "hour({moment})", "minute({moment})"),
        *("second({moment})", "dayofweek({moment})", "dayofyear({moment})", "quarter({moment})", "weekday({moment})"),
        *("unix_seconds({moment})", "unix_millis({moment})", "unix_micros({moment})", "sign({double})"),
        *(
            "CAST({number} AS DOUBLE)",
            "CAST({number} AS BIGINT)",
            "CAST({number} AS INT)",
            "CAST({number} AS DECIMAL(12, 3))",
        ),
        *("TRY_CAST({text} AS INT)", "CAST({truth} AS INT)", "CAST({moment} AS BIGINT)"),
    ],
    "text": [
        *("{text} || {text}", "upper({text})", "lower({text})", "trim({text})", "ltrim({text})", "rtrim({text})"),
        *(
            "substring({text}, 2)",
            "substring({text}, {integer}, 2)",
            "replace({text}, 'b', 'zz')",
            "concat({text}, {text})",
        ),
        *("CAST({integer} AS STRING)", "CAST({truth} AS STRING)", "CAST(d AS STRING)", "CAST({moment} AS STRING)"),
        *("coalesce({text}, {text})", "if({truth}, {text}, {text})", "greatest({text}, {text})"),
    ],
    "truth": [
        *("{number} = {number}", "{number} <> {number}", "{number} < {number}", "{number} >= {number}"),
        *("{text} = {text}", "{text} < {text}", "{moment} <= {moment}", "{number} <=> {number}", "{truth} <=> {truth}"),
        *("{truth} AND {truth}", "{truth} OR {truth}", "NOT {truth}", "{number} IS NULL", "{text} IS NOT NULL"),
        *("{integer} IN ({integer}, {integer})", "{number} BETWEEN {number} AND {number}", "{text} LIKE '%b%'"),
        *("startswith({text}, {text})", "endswith({text}, 'c')", "contains({text}, {text})", "isnan({double})"),
        *("{text} NOT LIKE 'a_c%'", "{integer} NOT IN (1, 2)", "{moment} > '2023-11-14'"),
    ],
    "moment": [
        *("{moment} + {span}", "{moment} - {span}", "date_trunc('HOUR', {moment})", "date_trunc('week', {moment})"),
        *("date_trunc('month', {moment})", "date_trunc('quarter', {moment})", "coalesce({moment}, {moment})"),
        *("timestamp_seconds({integer})", "greatest({moment}, {moment})"),
    ],
    "span": ["{moment} - {moment}", "{span} + {span}", "{span} * {integer}", "-{span}"],
}
SHAPES["integer"] = ["{integer} + {integer}", "{integer} * {integer}", "abs({integer})", "length({text})"]
SHAPES["double"] = ["{double} + {double}", "{double} * {double}", "{double} / {double}", "-{double}"]


def generate(rng: random.Random, kind: str, depth: int) -> str:
    """The text of a random expression."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(COLUMNS.get(kind, CONSTANTS[kind]) if rng.random() < 0.75 else CONSTANTS[kind])
    shape = rng.choice(SHAPES[kind])
    while "{" in shape:
        start, end = shape.index("{"), shape.index("}")
        inner = generate(rng, shape[start + 1 : end], depth - 1)
        shape = f"{shape[:start]}({inner}){shape[end + 1 :]}"
    return shape


def spark_frame(spark: SparkSession, rows: list[tuple[Any, ...]]) -> DataFrame:
    types = ", ".join(f"{a.name} {'BIGINT' if a.type.name == 'TIMESTAMP' else a.type}" for a in SCHEMA)
    numbered = [(*values, row) for row, values in enumerate(rows)]
    frame = spark.createDataFrame(numbered, f"{types}, row INT").coalesce(1)
    return frame.withColumns({n: F.timestamp_micros(n) for n in ("t", "u")})


def spark_type(e: Expr) -> str:
    name = {"INTERVAL": "interval", "NULL": "void"}.get(e.type.name, str(e.type).lower())
    return name.replace(", ", ",")


def spark_column(e: Expr, rows: list[int] | None = None, text: str | None = None) -> Any:
    """The expression in Spark, as printed or as written, computed on the numbered rows only."""
    computed = F.expr(str(e) if text is None else text)
    column = computed if rows is None else F.when(F.col("row").isin(rows), computed)
    return F.unix_micros(column) if e.type.name == "TIMESTAMP" else column


def same(ours: Value, theirs: Any) -> bool:
    if isinstance(theirs, timedelta):
        theirs = theirs // timedelta(microseconds=1)
    if isinstance(ours, float) and isinstance(theirs, float):
        return ours == theirs or (ours != ours and theirs != theirs)
    return type(ours) is type(theirs) and bool(ours == theirs)


def evaluated(text: str) -> tuple[Expr, list[Value | AstralError]] | None:
    """The expression and what the model gives for each row; None if it is refused when it is read."""
    try:
        e = expression(text, SCHEMA)
    except AstralError:
        return None
    f = evaluator(e, SCHEMA)
    values: list[Value | AstralError] = []
    for row in ROWS:
        try:
            values.append(f(row))
        except AstralError as error:
            values.append(error)
    return e, values


def drawn(count: int) -> list[tuple[Expr, list[Value | AstralError]]]:
    rng = random.Random(20_111)
    kinds = ["number", "truth", "text", "moment", "span"]
    found: list[tuple[Expr, list[Value | AstralError]]] = []
    while len(found) < count:
        result = evaluated(generate(rng, rng.choice(kinds), rng.randint(1, 3)))
        if result is not None:
            found.append(result)
    return found


def test_generated_expressions_have_sparks_types_and_values(spark: SparkSession) -> None:
    """Types, NULLs, divisions, overflows and roundings agree, on rows on which nothing fails."""
    # Interpreted: compiling hundreds of columns takes far longer than computing seven rows.
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    cases = drawn(600)
    fine = [[row for row, v in enumerate(values) if not isinstance(v, AstralError)] for _, values in cases]
    frame = spark_frame(spark, ROWS).cache()
    wrong = []
    for k in range(0, len(cases), 250):
        part = list(zip(cases[k : k + 250], fine[k : k + 250], strict=True))
        columns = [spark_column(e, rows).alias(f"c{c}") for c, ((e, _), rows) in enumerate(part)]
        for result in frame.select("row", *columns).collect():
            for ((e, values), rows), theirs in zip(part, result[1:], strict=True):
                ours = values[result.row]
                if result.row in rows and not same(ours, theirs):
                    wrong.append(f"{e} on {ROWS[result.row]}: {ours!r}, in Spark {theirs!r}")
        types = frame.select(*(F.expr(str(e)).alias(f"c{c}") for c, ((e, _), _) in enumerate(part))).dtypes
        for ((e, _), _), (_, theirs) in zip(part, types, strict=True):
            if not theirs.startswith(spark_type(e)):
                wrong.append(f"{e} is {e.type}, in Spark {theirs}")
    assert wrong == [], "\n".join(wrong)
    assert sum(map(len, fine)) > 3000


def test_what_the_model_refuses_to_compute_spark_refuses_too(spark: SparkSession) -> None:
    """Divisions by zero, overflows and casts that fail raise in both."""
    failing = [
        (e, row)
        for e, values in drawn(600)
        for row, v in enumerate(values)
        # Our timeline ends with the year 9999, Spark's goes on.
        if isinstance(v, AstralError) and "TIMESTAMP" not in v.message
    ]
    assert len(failing) > 50
    for e, row in random.Random(1).sample(failing, 25):
        with pytest.raises((PySparkException, Py4JJavaError)):
            print(e, spark_frame(spark, [ROWS[row]]).select(spark_column(e)).collect())


NEWER = ("'a''b'",)
"""What Spark 4.0 reads in another way: there these are two texts side by side. Plans escape quotes."""

PARTICULAR = [
    *(
        "CAST('12.5' AS DOUBLE)",
        "CAST('5.' AS DECIMAL(5, 2))",
        "CAST('1d' AS DOUBLE)",
        "CAST('inf' AS DOUBLE)",
        "-(2BD)",
    ),
    *("d div e", "e div 2", "7.9 div 0.5", "d % e", "pmod(d, e)", "CAST(e AS INT)", "round(d, -1)", "round(l, -1)"),
    *("CAST('2020' AS TIMESTAMP)", "CAST('2020-1-1' AS TIMESTAMP)", "CAST('2020-01-01 1:2:3' AS TIMESTAMP)"),
    *("CAST('2020-01-01 10:00:00.1234567' AS TIMESTAMP)", "CAST('2020-01-01 10:00:00 Europe/Paris' AS TIMESTAMP)"),
    *(
        "CAST('2020-01-01T10:00:00+05:30' AS TIMESTAMP)",
        "TRY_CAST('abc' AS TIMESTAMP)",
        "TRY_CAST('20200101' AS TIMESTAMP)",
    ),
    *("CAST(t AS DOUBLE)", "CAST(t AS DECIMAL(20, 6))", "CAST(x AS DECIMAL(15, 4))", "CAST('t' AS BOOLEAN)"),
    *(
        "timestamp_seconds(1.5)",
        "timestamp_seconds(2.5D)",
        "INTERVAL 5 MINUTES * 1.5",
        "INTERVAL 5 MINUTES / 2",
        "t - '2020-01-01'",
    ),
    *("'5' + 1", "coalesce(i, '5')", "CASE WHEN p THEN 1 ELSE '2' END", "i = '7'", "d > '1.5'", "i IS DISTINCT FROM j"),
    *(
        "'a''b'",
        "'a\\'b'",
        "s LIKE '%\\\\_%'",
        "s ILIKE 'A%'",
        "s RLIKE '^a.c'",
        "substring(s, -2)",
        "substring(s, 0, 2)",
    ),
    *(
        "i & j",
        "i | j",
        "i ^ j",
        "~i",
        "log(2, 8)",
        "replace(s, 'b')",
        "concat(i)",
        "upper(i)",
        "length(i)",
        "concat(s, i, p)",
    ),
    *(
        "ceil(x)",
        "floor(y)",
        "sign(x)",
        "d BETWEEN i AND NULL",
        "i IN (1, NULL)",
        "NULL + 1",
        "NULL = NULL",
        "i <=> NULL",
    ),
    *(
        "-9223372036854775808L",
        "CAST(-1.5 AS INT)",
        "CAST(1.5 AS BIGINT)",
        "CAST(2.5e0 AS BIGINT)",
        "x = y",
        "greatest(x, y)",
        "least(x, i, d)",
    ),
    *("dayofweek(TIMESTAMP '2024-02-29 12:00:00')", "date_trunc('WEEK', TIMESTAMP '1969-12-31 12:00:00')", "i + 0.5"),
    *(
        "CAST(CAST('2024-02-29' AS TIMESTAMP) AS STRING)",
        "CAST(1e7 AS STRING)",
        "CAST(0.001D AS STRING)",
        "CAST(d AS STRING)",
    ),
]


def test_particular_expressions_agree(spark: SparkSession) -> None:
    """Those that once differed, or that a generator hardly finds."""
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    cases = []
    for text in PARTICULAR:
        if text in NEWER and pyspark.__version__ < "4.1":
            continue
        result = evaluated(text)
        assert result is not None, text
        cases.append((text, *result))
    frame = spark_frame(spark, ROWS)
    fine = [[row for row, v in enumerate(values) if not isinstance(v, AstralError)] for _, _, values in cases]
    columns = [
        spark_column(e, rows, text).alias(f"c{c}")
        for c, ((text, e, _), rows) in enumerate(zip(cases, fine, strict=True))
    ]
    wrong = []
    for result_row in frame.select("row", *columns).collect():
        for (text, _, values), rows, theirs in zip(cases, fine, result_row[1:], strict=True):
            ours = values[result_row.row]
            if result_row.row in rows and not same(ours, theirs):
                wrong.append(f"{text} on {ROWS[result_row.row]}: {ours!r}, in Spark {theirs!r}")
    types = frame.select(*(F.expr(text).alias(f"c{c}") for c, (text, _, _) in enumerate(cases))).dtypes
    for (text, e, _), (_, theirs) in zip(cases, types, strict=True):
        if not theirs.startswith(spark_type(e)):
            wrong.append(f"{text} is {e.type}, in Spark {theirs}")
    assert wrong == [], "\n".join(wrong)


TRANSCENDENTAL = [
    *("exp(x)", "ln(y)", "log10(y)", "sin(x)", "cos(x)", "tan(x)", "asin(y / 10)", "acos(x / 1e11)", "atan(x)"),
    *("atan2(x, y)", "power(x, y)", "pow(y, 3)", "radians(x)", "degrees(y)", "pi()"),
]


@pytest.mark.parametrize("text", TRANSCENDENTAL)
def test_transcendental_functions_agree_to_the_last_digits(spark: SparkSession, text: str) -> None:
    """Java's and C's libraries may differ in the last bit, so these are compared to 14 digits."""
    result = evaluated(text)
    assert result is not None
    e, values = result
    theirs = [r[0] for r in spark_frame(spark, ROWS).select(spark_column(e)).collect()]
    for a, b in zip(values, theirs, strict=True):
        assert a is b is None or a == pytest.approx(b, rel=1e-14, nan_ok=True)


PATTERNS = {
    "yyyyMMdd": ("19991231", "20260230", "2026-01-01", "999", "020260101", "2026010"),
    "yyMMdd": ("991231", "700101", "19991231", "000229"),
    "dd/MM/yyyy HH:mm": ("07/03/2026 12:30", "7/3/2026 12:30", "07/03/2026 24:00", "07/03/26 12:30"),
    "d/M/yyyy": ("7/3/2026", "07/03/2026", "31/4/2026"),
    "d MMM yyyy h:mm a": ("7 Mar 2026 1:05 pm", "7 mar 2026 12:00 AM", "7 March 2026 1:05 pm", "7 Mar 2026 13:05 pm"),
    "MMMM d, yyyy": ("March 7, 2026", "Mar 7, 2026"),
    "yyyy-MM-dd'T'HH:mm:ssXXX": ("2016-11-26T11:52:42-06:00", "2016-11-26T11:52:42Z", "2016-11-26T11:52:42"),
    "yyyy-MM-dd HH:mm:ss.SSS": ("2026-03-01 00:00:00.5", "2026-03-01 00:00:00.123", "2026-03-01 00:00:00.1234"),
    "yyyy-MM-dd[ HH:mm]": ("2026-03-01", "2026-03-01 07:08", "2026-03-01 "),
    "yyyy MM dd HH mm": ("2022 06 05 13 00", "2022 6 5 13 0"),
    "yyyy-DDD": ("2026-060", "2026-366", "2024-366"),
    "yyyy-MM-dd HH:mm Z": ("2026-03-01 00:00 +0530", "2026-03-01 00:00 Z"),
    "yyyy-MM-dd HH:mm VV": ("2026-07-01 12:00 Europe/Paris", "2026-07-01 12:00 Nowhere/Land"),
    "HH:mm": ("07:08",),
    "y-M-d": ("26-1-1", "2026-1-1"),
}
"""Patterns of times, and texts that are written so or almost so."""


def test_times_by_a_pattern_are_read_as_spark_reads_them(spark: SparkSession) -> None:
    schema = Schema.parse("s STRING")
    columns, expected = [], []
    for pattern, texts in PATTERNS.items():
        literal = pattern.replace("'", "\\'")
        read = evaluator(expression(f"try_to_timestamp(s, '{literal}')", schema), schema)
        for text in texts:
            columns.append(F.expr(f"unix_micros(try_to_timestamp('{text}', '{literal}'))"))
            expected.append((pattern, text, read((text,))))
    found = spark.range(1).select(*(c.alias(f"c{k}") for k, c in enumerate(columns))).collect()[0]
    assert [(p, t, v) for (p, t, _), v in zip(expected, found, strict=True)] == expected
