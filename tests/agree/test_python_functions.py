"""Python functions on Spark: every place that an expression can stand in, all types, and the model's errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from astralq.cli.app import app
from astralq.errors import EvaluationError
from astralq.language import read_script
from astralq.spark import Engine
from astralq.spark.error_translation import translated_errors
from tests.agree.compare import on_model, on_spark, same
from tests.agree.conftest import MANY
from tests.agree.test_types import COLUMNS, ROWS
from tests.language.test_python_functions import DECLARED
from tests.support import sec

DATA: dict[str, Any] = {"k": [(sec(n), (n % 3, None if n == 4 else n)) for n in range(16) if n != 13]}
FAILING: dict[str, Any] = {"k": [*DATA["k"], (sec(20), (1, 13))]}
QUERIES = [
    "SELECT half(v) AS h, shown(id, v, later(_t), 1) AS s, nothing() AS n FROM k WHERE unsure(v) > 1 OR v IS NULL",
    "SELECT half(id) AS h, folded(v) AS f, count(*) AS n FROM k [ROWS 5] GROUP BY half(id) HAVING half(folded(v)) > 10",
    "SELECT id, folded(v) FILTER (WHERE v % 2 = 0 OR v IS NULL) AS f FROM k [ROWS 4] GROUP BY id",
    "SELECT id, half(v) AS h FROM k [ROWS 5] QUALIFY ROW_NUMBER() OVER (PARTITION BY half(id) ORDER BY half(v)) <= 2",
    "SELECT folded(half(v)) AS f FROM k [RANGE 3 SECONDS SLIDE 2 SECONDS]",
    "SELECT x.v, y.v AS w FROM k [ROWS 4] x JOIN k [ROWS 3] y ON unsure(x.v) = half(y.v) AND unsure(x.v - y.v) > -3",
    "SELECT x.v, y.v AS w FROM k [ROWS 3] x LEFT JOIN k [ROWS 2] y ON unsure(x.v) = y.id",
    "SELECT v, w FROM k LOOKUP JOIN (SELECT id AS i, v AS w FROM k [ROWS 4]) r ON half(v) = unsure(w)",
    "RSTREAM(SELECT DISTINCT unsure(v) AS h FROM k [TUMBLE 5 SECONDS])",
]
LARGE = QUERIES[1:7:2]
"""Those that are planned for many rows, too."""
GUARDED = "SELECT CASE WHEN v <> 13 THEN half(v) ELSE -1 END AS h, v <> 13 AND half(v) = 2 AS two FROM k"
FAILS = {
    "SELECT unsure(v) AS h FROM k": "unsure(13) failed: ValueError: unlucky (callables.py, line 16)",
    "SELECT wrong(v) AS h FROM k": "wrong(0) gave 'not a number', which is not an INT",
}


@pytest.mark.parametrize(("query", "few_rows"), [*((q, MANY) for q in (*QUERIES, GUARDED)), *((q, 0) for q in LARGE)])
def test_functions_give_the_model_s_answers(spark: SparkSession, query: str, few_rows: int) -> None:
    engine = Engine(spark, few_rows=few_rows)
    op = read_script(DECLARED + query).queries[0].operator
    data = FAILING if query == GUARDED else DATA
    expected = on_model(op, data)
    found = on_spark(engine, op, data)
    assert same(expected, found), f"model {expected}\nspark {found}"
    assert expected


@pytest.mark.parametrize("query", FAILS)
def test_what_a_callable_raises_is_told_as_the_model_tells_it(spark: SparkSession, query: str) -> None:
    op = read_script(DECLARED + query).queries[0].operator
    with pytest.raises(EvaluationError) as raised:
        on_model(op, FAILING)
    assert raised.value.message == FAILS[query]
    with pytest.raises(EvaluationError) as raised, translated_errors():
        on_spark(Engine(spark), op, FAILING)
    assert raised.value.message == FAILS[query]


TYPES = {
    "d": "DATE",
    "f": "FLOAT",
    "n": "SMALLINT",
    "b": "BINARY",
    "a": "ARRAY<INT>",
    "s": "STRUCT<x: INT, y: STRING>",
    "w": "ARRAY<STRUCT<t: TIMESTAMP>>",
}


@pytest.mark.usefixtures("classic")
def test_values_of_every_type_travel_to_python_and_back(tmp_path: Path, spark: SparkSession) -> None:
    """Also where a source computes attributes; a MAP travels one way."""
    assert spark is not None
    (tmp_path / "s.jsonl").write_text(ROWS.lstrip())
    declared = [
        f"CREATE FUNCTION same_{c} ({t}) RETURNS {t} AS python 'tests.callables:same';" for c, t in TYPES.items()
    ]
    columns = f"{COLUMNS}, h INT AS (half(k)), z STRING AS (shown(n, h, ts))"
    text = f"""{" ".join(declared)}
        CREATE FUNCTION half (INT) RETURNS INT AS python 'tests.callables:half';
        CREATE FUNCTION shown (INT, INT, TIMESTAMP) RETURNS STRING AS python 'tests.callables:shown';
        CREATE FUNCTION mapped (MAP<STRING, DOUBLE>, {TYPES["s"]}) RETURNS STRING AS python 'tests.callables:shown';
        CREATE STREAM s ({columns}) FROM json 's.jsonl' TIMESTAMP BY ts;
        SELECT h, z, mapped(m, s.s) AS x, {", ".join(f"same_{c}(s.{c}) AS {c}" for c in TYPES)} FROM s;"""
    (tmp_path / "q.aql").write_text(text)
    said = [
        CliRunner().invoke(app, ["run", str(tmp_path / "q.aql"), "--engine", engine, "--format", "jsonl"])
        for engine in ("model", "spark")
    ]
    assert said[0].exit_code == 0, said[0].output
    assert said[0].stdout == said[1].stdout
