"""Every type passes from files through both engines to the answer, and is ordered, compared and computed with alike."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from astralq.cli.app import app

COLUMNS = (
    "ts TIMESTAMP, d DATE, f FLOAT, n SMALLINT, y TINYINT, b BINARY, a ARRAY<INT>, s STRUCT<x: INT, y: STRING>, "
    "m MAP<STRING, DOUBLE>, w ARRAY<STRUCT<t: TIMESTAMP>>, k INT"
)
ROWS = (
    """
{"ts":"2024-01-01T00:00:00Z","k":1,"d":"2024-05-01","f":1.1,"n":3,"y":5,"b":"YWI=","a":[1,2,null],
"s":{"x":7,"y":"q"},"m":{"k":1.5,"j":2},"w":[{"t":"2024-01-01T00:00:00Z"}]}
{"ts":"2024-01-01T00:00:01Z","k":2,"d":"2024-05-31","f":2.5,"n":-3,"y":-5,"b":"","a":[],
"s":{"x":null,"y":"r"},"m":{},"w":null}
{"ts":"2024-01-01T00:00:01Z","k":1,"d":null,"f":null,"n":null,"y":null,"b":null,"a":null,
"s":null,"m":null,"w":[]}
{"ts":"2024-01-01T00:00:01Z","k":1,"d":"2023-01-01","f":0.3,"n":30000,"y":1,"b":"/w==","a":[1,2],
"s":{"y":"z"},"m":{"j":3},"w":[null,{"t":null}]}
""".replace("},\n", "},")
    .replace("],\n", "],")
    .replace("null,\n", "null,")
)
QUERIES = """
SELECT * FROM s;
SELECT k, s.s.x + 1 AS x, m['k'] AS mk, CAST(m AS STRING) AS cm, CAST(s.s AS STRING) AS cs, d + INTERVAL 1 MONTH AS nm,
  d + INTERVAL 1 DAY AS nd, d - DATE '2024-01-01' AS dd, d + 1 AS d1, f * 2 AS f2, f + f AS ff, n + y AS ny, w.t AS wt,
  ts - TIMESTAMP '2024-01-01' AS since, CAST(ts - TIMESTAMP '2024-01-01' AS STRING) AS text, INTERVAL 14 MONTHS AS mo,
  ts + INTERVAL '1-2' YEAR TO MONTH AS tm, CAST(f AS STRING) AS fs, d > '2024-01-01' AS later, X'6162' = b AS ab FROM s;
SELECT k, count(*) AS c, sum(f) AS sf, avg(n) AS an, min(d) AS md, max(a) AS ma, first(m) AS fm, max(s) AS ms,
  sum(y) AS sy, max(b) AS mb FROM s [RANGE 1 SECOND] GROUP BY k;
SELECT DISTINCT m, a FROM s [RANGE 1 MINUTE];
SELECT d, s, count(*) AS c FROM s [RANGE 1 MINUTE] GROUP BY d, s;
SELECT k, collect_list(n) AS l, max_by(d, f) AS md, min_by(m, f) AS mm, bool_and(f > 1) AS ba, count_if(f > 1) AS ci,
  bit_or(y) AS bo, array_agg(DISTINCT k) AS dk, collect_list(f) FILTER (WHERE n > 0) AS lf
  FROM s [RANGE 1 SECOND] GROUP BY k;
SELECT collect_list(n) AS l, count_if(f > 1) AS ci, max_by(k, ts) AS mk FROM s [RANGE 1 SECOND];
SELECT k, p, x, y AS own FROM s, LATERAL posexplode_outer(a) AS t(p, x);
SELECT k, key, value FROM s LATERAL VIEW explode(m) t AS key, value;
SELECT k, x FROM (SELECT k, x FROM s, explode(s.a) AS x) [ROWS 2];
SELECT k, p, x, _t FROM s [ROWS 2], LATERAL posexplode_outer(a) AS t(p, x);
SELECT key, sum(value) AS v FROM s [RANGE 1 SECOND], LATERAL explode(m) GROUP BY key;
"""


def answer(folder: Path, source: str, engine: str, *options: str) -> str:
    (folder / "q.aql").write_text(f"CREATE STREAM s ({COLUMNS}) FROM {source} TIMESTAMP BY ts;\n{QUERIES}")
    found = CliRunner().invoke(app, ["run", str(folder / "q.aql"), "--engine", engine, "--format", "jsonl", *options])
    assert found.exit_code == 0, found.output
    return found.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.jsonl").write_text(ROWS.lstrip())
    return tmp_path


def test_both_engines_read_compare_and_print_every_type_alike(folder: Path, spark: SparkSession) -> None:
    """From json and, written by the model, from parquet: the same answers."""
    assert spark is not None
    expected = answer(folder, "json 's.jsonl'", "model")
    assert '"since": "INTERVAL \'0 00:00:01\' DAY TO SECOND"' in expected
    assert answer(folder, "json 's.jsonl'", "spark") == expected
    declared = f"CREATE STREAM s ({COLUMNS}) FROM json 's.jsonl' TIMESTAMP BY ts;"
    (folder / "all.aql").write_text(f"{declared}\nSELECT * FROM s;")
    written = ["run", str(folder / "all.aql"), "--engine", "model", "--out", str(folder / "s.parquet")]
    assert CliRunner().invoke(app, written).exit_code == 0
    assert answer(folder, "parquet 's.parquet'", "model") == expected
    assert answer(folder, "parquet 's.parquet'", "spark") == expected
