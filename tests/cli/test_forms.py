"""The papers' own forms in text: both engines and a continuous run give the same answer, and all commands know them."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.cli.support import astralq, printed

ROWS = "id,v,lon,lat,ts\n1,1,0,0,1\n2,2,0.05,0,2\n1,5,0.1,0,9\n2,7,0.2,0,12\n1,7,0.3,0,12\n"
DECLARED = """
CREATE STREAM s (id INT, v INT, lon DOUBLE, lat DOUBLE, ts BIGINT) FROM csv 's.csv' OPTIONS (header = 'true')
  TIMESTAMP BY ts UNIT SECONDS LOCATION BY (lon, lat);
CREATE REGION box AS 'POLYGON ((-1 -1, 0.1 -1, 0.1 1, -1 1, -1 -1))';
"""
Q3 = "SELECT RStream(me, AvgSpd(R)) FROM R = s [RANGE BY ’10 km’ RATTR SPACE SLIDE BY ’5 km’ SATTR SPACE]"
T = "TIMESTAMP '1970-01-01T00:00:{:02}Z'".format
FORMS = [
    "RSTREAM(SELECT count(*) AS n FROM s [RANGE 5 SECONDS SLIDE 3 SECONDS]) ON EVALUATION",
    "RSTREAM(SELECT id, count(*) AS n FROM s [PARTITION BY id ROWS 1] GROUP BY id) ON EVALUATION",
    f"SELECT v FROM s [AT {T(3)}, {T(10)} RANGE 5 SECONDS]",
    f"SELECT v FROM s [AT {T(3)}, {T(10)} FROM t - 8 SECONDS TO t - 1 SECOND]",
    f"SELECT v FROM s [FOR (t = {T(1)}; t < {T(59)}; t = t * 2) WindowIs(s, t / 2, t)]",
    "SELECT v FROM s [ROWS 3] WHERE id = 1 UNION ALL IN ORDER SELECT v FROM s [ROWS 2] WHERE id = 2",
    "SELECT v FROM s [ROWS 2] EXCEPT BY IDENTITY SELECT v FROM s [ROWS 1]",
    "SELECT v FROM s [ROWS 2] INTERSECT SELECT v FROM s [ROWS 3] BY IDENTITY",
    "SELECT id, v FROM s [ROWS 4] DIVIDE BY SELECT id FROM s [ROWS 2]",
    f"SELECT v FROM (SELECT v FROM s [ROWS 2]) DURING {T(2)} TO {T(10)}, {T(12)}",
    "SELECT v FROM (SELECT v FROM s [ROWS 2]) AT LAST BATCH OF s",
    "SELECT a.v, _phi FROM s [ROWS 2] a, s [ROWS 1] b",
    "SELECT v FROM s [RANGE BY box RATTR SPACE SLIDE BY '5 seconds' SATTR TIME]",
    "SELECT RStream(AvgSpd(R)) FROM R=s [RANGE ‘10 seconds’ SLIDE ‘5 seconds’] WHERE R.id=1",
    Q3,
    f"SELECT * FROM ({Q3}) [RANGE BY '5 km' RATTR SPACE SLIDE BY '5 km' SATTR SPACE]",
]


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "s.csv").write_text(ROWS)
    (tmp_path / "q.aql").write_text(DECLARED + "".join(f"{form};\n" for form in FORMS))
    return str(tmp_path / "q.aql")


def answers(text: str) -> dict[int, list[str]]:
    """The rows of each query, in their order."""
    found: dict[int, list[str]] = defaultdict(list)
    for line in text.splitlines():
        row = json.loads(line)
        found[row.pop("_q")].append(json.dumps(row))
    return found


@pytest.mark.spark
def test_each_form_gives_the_models_answer_on_spark_and_in_a_continuous_run(
    file: str, tmp_path: Path, spark: SparkSession
) -> None:
    assert spark is not None  # the command uses the running session
    model = answers(printed("run", file, "--engine", "model", "--format", "jsonl"))
    assert sorted(model) == list(range(1, len(FORMS) + 1))
    assert answers(printed("run", file, "--format", "jsonl")) == model
    checkpoint = ("--checkpoint", str(tmp_path / "c"), "--once", "--allow-unbounded-state")
    result = astralq("start", file, *checkpoint, "--format", "jsonl")
    assert result.exit_code == 0, result.output
    assert answers(result.stdout) == model


def test_check_explain_and_draw_know_each_form(file: str, tmp_path: Path) -> None:
    assert printed("check", file).count("run      takes it") == len(FORMS)
    assert printed("explain", file).count("-- query ") == len(FORMS)
    printed("draw", file, "--out", str(tmp_path / "p.svg"))
    assert (tmp_path / "p.svg").stat().st_size > 10_000


@pytest.mark.spark
def test_heartbeats_of_a_callable_let_time_pass(tmp_path: Path, spark: SparkSession) -> None:
    """[000 §6.2]"""
    assert spark is not None
    (tmp_path / "beating.py").write_text("def rows():\n    return [(1, 1, False), (2, 2, None), (None, 100, True)]\n")
    declared = "CREATE STREAM s (v INT, ts INT, alive BOOLEAN) FROM python 'beating:rows' TIMESTAMP BY ts UNIT SECONDS"
    (tmp_path / "q.aql").write_text(f"{declared} HEARTBEAT BY alive;\nSELECT v FROM s [RANGE 5 SECONDS];")
    asked = (str(tmp_path / "q.aql"), "--format", "csv", "--time", "seconds")
    expected = "op,t,i,v\n+,1,0,1\n+,2,0,2\n-,6.000001,0,1\n-,7.000001,0,2\n"
    assert printed("run", *asked, "--engine", "model") == expected
    assert printed("run", *asked) == expected
    assert astralq("start", *asked, "--checkpoint", str(tmp_path / "c"), "--once").stdout == expected


PRINTED = """-- dialect: sneeql
-- until: 1970-01-01T00:02:00Z
road: sensed (site:integer, time:integer, temp:integer, vibration:integer)
traffic: pushed (site:integer, time:integer, weight:integer, vehicle:integer)
tempClass: stored (temp:integer, category:string)
BIND traffic TO csv 'traffic.csv';
BIND tempClass TO csv 'classes.csv';
START AT TIMESTAMP '1970-01-01T00:00:00Z';
SELECT road.tick, road.site, road.vibration FROM road WHERE road.temp < 50 AND road.vibration > 20;
RSTREAM(SELECT MIN(temp) AS coldest, MAX(vibration) AS strongest
  FROM road [FROM NOW-10 TO NOW SLIDE 1 MIN], traffic [FROM NOW-10 TO NOW SLIDE 1 ROW]
  WHERE road.site=traffic.site AND road.tick=traffic.tick);
ISTREAM(SELECT road.site, tempClass.category FROM road [FROM NOW-1 TO NOW SLIDE 1 MIN], tempClass [SCAN 10 MIN]
  WHERE tempClass.temp = road.temp);
"""
SENSOR = "def measure(site, t):\n    return (10 * site, 20 + site + t // 60_000_000)\n"


@pytest.mark.spark
def test_the_declarations_of_003_are_run_as_they_are_printed(tmp_path: Path, spark: SparkSession) -> None:
    """[003 §3] Its three extents, and its three queries over them, on both engines."""
    assert spark is not None
    (tmp_path / "q.aql").write_text(PRINTED)
    (tmp_path / "road_of_003.py").write_text(SENSOR)
    (tmp_path / "traffic.csv").write_text("1,60,900,1\n2,120,800,1\n")
    (tmp_path / "classes.csv").write_text("10,cold\n20,mild\n")
    bind = ("--bind", "road TO python 'road_of_003:measure' EVERY 1 MINUTE AT SITES (1, 2)", "--format", "jsonl")
    model = answers(printed("run", str(tmp_path / "q.aql"), *bind, "--engine", "model"))
    assert answers(printed("run", str(tmp_path / "q.aql"), *bind)) == model
    assert [json.loads(row)["vibration"] for row in model[1]] == [21, 22, 22, 23, 23, 24]
    assert [json.loads(row) for row in model[2]][-1] == {
        "t": "1970-01-01T00:02:00Z",
        "i": 0,
        "coldest": 10,
        "strongest": 24,
    }
    assert [json.loads(row)["category"] for row in model[3]][:2] == ["cold", "mild"]
