"""How the commands behave: errors, their status, misspelt words, help, pipes and interrupts."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from astralq import Schema, StreamQuery, range_, rows
from astralq.algebra.base import Operator
from astralq.algebra.relational import Select
from astralq.algebra.sources import Origin, StreamSource
from astralq.algebra.windows import Window
from astralq.errors import AstralError, Span
from astralq.language import ScriptError
from astralq.laws.rule import Site
from astralq.laws.rules import RULES
from tests.cli.support import READINGS, Desk, astralq, printed, readings, refused
from tests.processes import PATIENCE, wait_until
from tests.support import sec

COMMAND = Path(sys.executable).parent / "astralq"


# Errors


def test_all_errors_of_a_script_are_told_with_the_files_name(desk: Desk) -> None:
    text = "SELECT valu FROM s"
    errors = [AstralError("unknown attribute 'valu'", span=Span(1, 8, 4, text)), AstralError("no", hint="yes")]
    file = desk.wrong("q.aql", ScriptError(errors))
    expected = f"line 1, column 8: unknown attribute 'valu'\n1 | {text}\n  |        ^^^^\n\n{file}: no\n  hint: yes\n"
    assert refused("run", file) == f"{file}: {expected}"
    assert refused("explain", file) == f"{file}: {expected}"


def test_the_errors_of_all_files_are_told_and_nothing_runs(desk: Desk) -> None:
    good = desk.file("good.aql", readings())
    one, two = (desk.wrong(n, ScriptError([AstralError(f"{n} is wrong")])) for n in ("1.aql", "2.aql"))
    assert refused("run", good, one, two) == f"{one}: 1.aql is wrong\n\n{two}: 2.aql is wrong\n"


def test_an_error_in_the_data_leaves_no_output(desk: Desk) -> None:
    (desk.folder / "bad.csv").write_text("sensor,value,ts\n1,abc,1970-01-01\n")
    file = desk.file("q.aql", readings("bad.csv"))
    said = f"{file}: query 1, line 1: bad.csv, row 1 (line 2): 'abc' in 'value' is not a DOUBLE\n"
    assert refused("run", file) == said


def test_a_query_file_that_is_not_there_is_an_error_with_the_nearest(desk: Desk) -> None:
    desk.file("query.aql", readings())
    assert refused("run", "qery.aql") == "qery.aql: there is no such file\n  hint: did you mean 'query.aql'?\n"
    assert refused("explain", "nowhere/q.aql") == "nowhere/q.aql: there is no such file\n"


def test_a_folder_or_a_file_that_is_no_text_is_an_error(desk: Desk) -> None:
    (desk.folder / "q.bin").write_bytes(b"\xff\xfe")
    assert refused("run", "q.bin") == "q.bin: this is not UTF-8 text: invalid start byte at byte 0\n"
    assert refused("run", str(desk.folder)).startswith(f"{desk.folder}: this is a folder\n")


def test_the_state_of_a_stream_of_windows_is_an_error(desk: Desk) -> None:
    file = desk.file("q.aql", readings().windows(1, 0, 1))
    assert "a stream of windows has no state of its own" in refused("run", file, "--at", "1970-01-01")


# Words


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("rnu q.aql", "No such command 'rnu'. Did you mean 'run'?"),
        ("run q.aql --formt csv", "No such option '--formt'. Did you mean '--format'?"),
        ("run q.aql --format tabel", "Invalid value for '--format': 'tabel' is no format; did you mean 'table'?"),
        ("run q.aql --format xyz", "'xyz' is no format; use table, csv, jsonl, parquet"),
        ("run q.aql --dialect sneql", "'sneql' is no dialect; did you mean 'sneeql'?"),
        ("explain q.aql --dialect cq", "'cq' is no dialect; did you mean 'cql'?"),
        ("run q.aql --engine sparc", "'sparc' is no engine; did you mean 'spark'?"),
        ("run q.aql --time second", "'second' is no form of time; did you mean 'seconds'?"),
        ("run q.aql --master local", "--master is for Spark, and the engine is the model"),
        ("run q.aql --conf a=b", "--conf is for Spark, and the engine is the model"),
        ("run q.aql --conf ab", "'ab' is not of the form k=v"),
        ("run q.aql --at noon", "cannot read 'noon' as a time"),
        ("run q.aql --at 1970-01-01 --until 1970-01-01", "give either --at or --until, not both"),
        ("run q.aql --format parquet", "parquet is written to a file; add --out PATH"),
        ("run", "Missing argument 'FILE'"),
    ],
)
def test_what_is_wrong_on_the_command_line_is_told(desk: Desk, arguments: str, message: str) -> None:
    desk.file("q.aql", readings())
    assert message in refused(*arguments.split())


def test_the_dialect_is_passed_on_in_any_case(desk: Desk) -> None:
    printed("run", desk.file("q.aql", readings()))
    printed("run", "q.aql", "--dialect", "CQL")
    printed("explain", "q.aql", "--dialect", "sneeql")
    assert desk.dialects == ["astral", "cql", "sneeql"]


def test_a_dash_is_standard_input_and_its_paths_are_in_the_current_folder(desk: Desk) -> None:
    desk.file("q.aql", readings().select("sensor").where("sensor = 2"))
    result = astralq("run", "-", "--format", "csv", "--time", "seconds", stdin="q.aql")
    assert (result.exit_code, result.stdout) == (0, "t,i,sensor\n5,0,2\n")


# explain


def test_explain_shows_kind_start_and_plan(desk: Desk) -> None:
    file = desk.file("q.aql", readings()[rows(1)].select("sensor"), t0=sec(5))
    assert printed("explain", file) == (
        "kind  relation\n"
        "t0    1970-01-01T00:00:05Z\n"
        "\n"
        "PROJECT sensor       relation (sensor INT)\n"
        "└─ WINDOW [ROWS 1]   relation (sensor INT, value DOUBLE, ts TIMESTAMP)\n"
        "   └─ STREAM s       stream (sensor INT, value DOUBLE, ts TIMESTAMP)\n"
        "\n"
        "laws\n"
        "  1. project_through_window at PROJECT sensor\n"
        "     Π_A(S[α, β, r]) ≡ (Π_A S)[α, β, r]; the same for ρ (001 P4; 000 P1)\n"
        "     as the projection keeps what the window is partitioned by\n"
        "     as no expression can fail: below the window it is computed on tuples that no state holds\n"
        "\n"
        "operators after laws, with estimated rows\n"
        "  WINDOW [ROWS 1]     ~1,000,000\n"
        "  └─ PROJECT sensor   ~1,000,000\n"
        "     └─ STREAM s      ~1,000,000\n"
        "\n"
        "  ~2,000,000 rows to handle, ~2,000,000 without laws; sizes of sources are not known\n"
        "\n"
        "plan\n"
        "  many partitions: how many rows there are is not known without reading them\n"
        "  WINDOW [ROWS 1]\n"
        "    by rows, looked up by position: position p + n is found by an equi-join\n"
        "    positions by sorting ranges of time side by side: order or identity of its tuples is observed\n"
        "  2 tables are computed once\n"
        "  how many tuples come in which part of the time is counted first, for positions\n"
        "\n"
        "kept by a continuous run\n"
        "  WINDOW [ROWS 1]: the tuples that it holds, or will hold\n"
    )


def test_explain_needs_no_files(desk: Desk) -> None:
    """Sizes come from the footers of parquet files where these are there."""
    source = StreamSource("s", Schema.parse("k INT, ts TIMESTAMP"), "ts", origin=Origin("parquet", "nowhere"))
    file = desk.file("q.aql", StreamQuery(source)[rows(2)].select("k"))
    assert "sizes of sources are not known" in printed("explain", file)


def test_explain_gives_programs_the_same_as_json(desk: Desk) -> None:
    (found,) = json.loads(printed("explain", desk.file("q.aql", readings()[rows(1)], t0=sec(5)), "--json"))
    assert (found["query"], found["kind"], found["t0"]) == (1, "relation", "1970-01-01T00:00:05Z")
    assert [found["operators"]["operator"], found["operators"]["children"][0]["operator"]] == [
        "WINDOW [ROWS 1]",
        "STREAM s",
    ]
    assert {"operator": "WINDOW [ROWS 1]", "strategy": "by rows, looked up by position"}.items() <= found["plan"][
        "choices"
    ][0].items()
    assert found["state"] == [
        {"operator": "WINDOW [ROWS 1]", "keeps": "the tuples that it holds, or will hold", "bounded": True}
    ]


def test_explain_has_headings_for_several_queries_and_says_where_t0_comes_from(desk: Desk) -> None:
    out = printed("explain", desk.file("q.aql", readings(), readings()))
    assert out.startswith("-- query 1\nkind  stream\nt0    1970-01-01T00:00:00Z, as there is no START AT\n\nSTREAM s")
    assert "\n\n-- query 2\nkind  stream\n" in out


# Processes

PROGRAM = """
import time
from pathlib import Path
import astralq.cli.scripts as scripts
from astralq.cli import main
from astralq.language import Script, Statement
from tests.cli.support import readings

def read_script(text, dialect, bind=(), folder=None):
    Path("started").touch()
    time.sleep(3600 if text == "slow" else 0)
    return Script((Statement(1, readings(text).operator, None, text),))

scripts.read_script = read_script
main()
"""


def process(folder: Path, *arguments: str, engine: str = "model") -> subprocess.Popen[str]:
    """The command in a process of its own; a query file's text is the path of the readings."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "ASTRALQ_ENGINE": engine},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_command_is_installed() -> None:
    result = subprocess.run([COMMAND, "run", "nowhere.aql"], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", "nowhere.aql: there is no such file\n")


def test_a_query_in_text_is_answered(tmp_path: Path) -> None:
    (tmp_path / "readings.csv").write_text(READINGS)
    (tmp_path / "q.aql").write_text(
        "CREATE STREAM s (sensor INT, value DOUBLE, ts TIMESTAMP)\n"
        "  FROM csv 'readings.csv' OPTIONS (header = 'true') TIMESTAMP BY ts;\n"
        "SELECT sensor, value FROM s [ROWS 1];\n"
    )
    arguments = [str(COMMAND), "run", str(tmp_path / "q.aql"), "--format", "csv", "--time", "seconds"]
    result = subprocess.run(arguments, capture_output=True, text=True, check=False)
    expected = "op,t,i,sensor,value\n+,5,0,2,\n-,7.5,0,2,\n+,7.5,0,1,21.25\n"
    assert (result.returncode, result.stdout, result.stderr) == (0, expected, "")


@pytest.mark.parametrize("engine", ["model", pytest.param("spark", marks=pytest.mark.spark)])
def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path, engine: str) -> None:
    (tmp_path / "many.csv").write_text("sensor,value,ts\n" + "1,2.5,1970-01-01T00:00:05Z\n" * 5_000)
    (tmp_path / "q.aql").write_text("many.csv")
    p = process(tmp_path, "run", "q.aql", "--format", "csv", engine=engine)
    assert p.stdout is not None
    assert p.stderr is not None
    assert p.stdout.readline() == "t,i,sensor,value,ts\n"
    p.stdout.close()
    assert p.stderr.read() == ""
    p.wait()
    p.stderr.close()


def test_an_interrupt_ends_with_status_130_and_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "q.aql").write_text("slow")
    p = process(tmp_path, "run", "q.aql", "--out", "a.csv")
    wait_until(lambda: (tmp_path / "started").exists() or p.poll() is not None, 0.05)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=PATIENCE)
    assert (p.returncode, out, err) == (130, "", "")
    assert sorted(f.name for f in tmp_path.iterdir()) == ["q.aql", "started"]


# Laws


def test_a_law_can_be_left_out_by_its_name(desk: Desk) -> None:
    file = desk.file("q.aql", readings()[range_("1 h")].where("sensor = 1"))
    assert "1. select_through_window" in printed("explain", file)
    assert "laws\n  none was used" in printed("explain", file, "--without", "select_through_window")
    assert "laws\n  none was used" in printed("explain", file, "--no-laws")


def test_an_unknown_law_is_told_with_the_one_that_is_meant(desk: Desk) -> None:
    file = desk.file("q.aql", readings()[range_("1 h")])
    result = astralq("run", file, "--without", "select_through_windows")
    assert result.exit_code == 2
    assert "there is no law 'select_through_windows'" in result.stderr
    assert "select_through_window" in result.stderr


def test_the_laws_are_tried_and_counted() -> None:
    lines = printed("laws", "merge_selections", "--trials", "60").splitlines()
    assert lines[0] == "merge_selections · 001 §4.1, D30 · holds exactly"
    assert lines[1] == "  σ_d(σ_c R) ≡ σ_{c ∧ d} R"
    assert lines[2].startswith("  fired in ")
    assert lines[2].endswith(", 0 with another answer")
    assert lines[-1] == "1 law, 1 sound with every condition needed"


def test_a_law_that_changes_an_answer_fails_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule without its conditions: any selection goes below any window."""
    rule = next(r for r in RULES if r.name == "select_through_window")

    def reckless(op: Operator, site: Site) -> Operator | None:
        match op:
            case Select(Window(stream, spec), condition):
                return Window(Select(stream, condition), spec)
        return None

    monkeypatch.setattr("astralq.cli.laws.RULES", (replace(rule, rewrite=reckless),))
    result = astralq("laws", "--trials", "60")
    assert result.exit_code == 1
    assert "the law select_through_window: it is unsound" in result.stderr
