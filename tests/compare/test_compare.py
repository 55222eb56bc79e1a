"""`astralq compare`: one query under the conventions of several systems, with the first difference and its cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from astralq.algebra.base import Operator
from astralq.compare.comparison import Answered, Asked, compare
from astralq.compare.systems import ESPER, FLINK, SPARK, System, cql, systems
from astralq.language.script import read_script
from astralq.model import Data
from astralq.timeline import duration
from tests.cli.support import printed
from tests.support import single

DECLARED = "CREATE STREAM S (id INT, v STRING) FROM csv 's.csv' TIMESTAMP ON ARRIVAL;\n"
FIGURE_2: Data = {"S": single((1, "v1", 3), (2, "v2", 9), (1, "v3", 10), (3, "v4", 12))}


def read(text: str, system: System) -> Operator:
    assert system.dialect is not None
    tick = "" if system.tick is None else f"SET TICK {system.tick} MICROSECONDS;\n"
    return read_script(tick + DECLARED + text, system.dialect).queries[0].operator


def compared(text: str, *only: System, data: Data = FIGURE_2) -> dict[str, Answered]:
    asked = read_script(DECLARED + text).queries[0].operator
    dialects = {s: read(text, s) for s in only if s.dialect is not None}
    return {f.system.name: f for f in compare(Asked(asked, dialects, data), only)}


def test_rstream_of_everything_depends_on_the_chronon() -> None:
    """[001 §7.2] 001 example 12: 18 rows at a chronon of 1 s, 9 at one of 3 s."""
    second, three = cql(duration("1 s")), cql(duration("3 s"))
    found = compared("RSTREAM(SELECT id, v FROM S [UNBOUNDED]);", second, three)
    assert [len(f.rows) for f in found.values()] == [10, 18, 9]
    assert [c.about for c in found[second.name].because] == ["output"]


def stamps(found: Answered) -> list[tuple[int, str]]:
    """The second and the first value of each row."""
    return [(int(r[0][17:19]), r[2]) for r in found.rows]


def test_half_open_windows_leave_out_what_comes_at_their_end_and_empty_ones_are_not_output() -> None:
    """[001 §7.2] At 12 Astral's window holds the tuple of 12, and Spark's does not; at 3 and 9 it is empty."""
    text = "RSTREAM(SELECT count(*) AS n FROM S [RANGE 3 SECONDS SLIDE 3 SECONDS]) ON EVALUATION;"
    found = compared(text, SPARK)
    assert stamps(found["astral"]) == [(3, "1"), (6, "1"), (9, "1"), (12, "3")]
    assert stamps(found[SPARK.name]) == [(6, "1"), (12, "2")]
    assert [c.about for c in found[SPARK.name].because] == ["bounds", "output"]


def test_windows_are_aligned_on_the_epoch_or_on_the_first_tuple() -> None:
    """[001 §7.2] Every 4 seconds: at 4, 8, 12 in Spark and Flink; at 7 and 11 in Esper, as the first came at 3."""
    text = "RSTREAM(SELECT count(*) AS n FROM S [RANGE 4 SECONDS SLIDE 4 SECONDS]) ON EVALUATION;"
    found = compared(text, SPARK, FLINK, ESPER)
    assert stamps(found["astral"]) == [(4, "1"), (8, "0"), (12, "3")]
    assert stamps(found[SPARK.name]) == stamps(found[FLINK.name]) == [(4, "1"), (12, "2")]
    assert stamps(found[ESPER.name]) == [(7, "0"), (11, "2")]  # (3, 7] and (7, 11]
    assert [c.about for c in found[ESPER.name].because] == ["alignment", "bounds"]


def test_where_no_choice_matters_there_is_no_difference() -> None:
    """[001 §7.2] The last row changes with every tuple, whoever looks at it."""
    found = compared("ISTREAM(SELECT id FROM S [LAST ROW]);", SPARK, FLINK, ESPER)
    assert [f.differs_at for f in found.values()] == [None] * 4


def test_every_system_says_where_its_conventions_come_from() -> None:
    assert all(len(s.source) > 20 for s in systems([duration("1 s")]))


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "s.csv").write_text("id,v,ts\n1,v1,3\n2,v2,9\n1,v3,10\n3,v4,12\n")
    declared = "CREATE STREAM S (id INT, v STRING, ts BIGINT) FROM csv 's.csv' OPTIONS (header = 'true')"
    text = f"{declared} TIMESTAMP BY ts UNIT SECONDS;\nRSTREAM(SELECT id, v FROM S [UNBOUNDED]);\n"
    (tmp_path / "q.aql").write_text(f"{text}SELECT S.id FROM S JOIN S AS t ON S.id = t.id WITHIN 1 SECOND;")
    return str(tmp_path / "q.aql")


def test_the_command_prints_a_table_the_first_differences_and_their_causes(file: str, tmp_path: Path) -> None:
    found = printed("compare", file, "--chronon", "1 s", "--chronon", "3 s", "--out", str(tmp_path / "p.svg"))
    lines = found.splitlines()
    assert lines[:4] == [
        "-- query 1",
        "system                   rows  first difference from astral",
        "astral                   10",
        "cql, ticks of 1 SECOND   18    row 2, by output",
    ]
    assert "  because of output: RSTREAM emits the whole state every 3 SECONDS" in lines
    assert sum("cannot be asked: a band join takes a stream" in line for line in lines) == 2
    assert (tmp_path / "p.svg").read_text().startswith("<?xml")
