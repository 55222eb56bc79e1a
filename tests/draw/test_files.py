"""`astralq draw` and `Picture.save`: well-formed files, the same bytes each time, and errors that say what to do."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from astralq import instant, rows, stream
from astralq.cli.app import app
from astralq.draw import picture
from astralq.errors import AstralError

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.aql"))
ITEMS = str(ROOT / "examples" / "13_last_30_items.aql")

S = stream("S", "v INT, ts TIMESTAMP", timestamp="ts")
DATA = {"S": [(v, instant(v * 1_000_000)) for v in (1, 2, 3)]}


def astralq(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["draw", *arguments], input=stdin, prog_name="astralq")


def refused(*arguments: str, stdin: str | None = None) -> str:
    result = astralq(*arguments, stdin=stdin)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    return result.stderr


def drawn(out: Path, *arguments: str) -> bytes:
    result = astralq(*arguments, "--out", str(out))
    assert (result.exit_code, result.output) == (0, ""), result.output
    return out.read_bytes()


def words(svg: bytes | str) -> list[str]:
    """The texts of a picture: their letters are outlines, and matplotlib notes them in comments."""
    text = svg if isinstance(svg, str) else svg.decode()
    return [w.strip() for w in re.findall(r"<!-- (.*?) -->", text, re.DOTALL)]


# Files


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_every_example_becomes_a_well_formed_svg(path: Path, tmp_path: Path) -> None:
    found = ElementTree.fromstring(drawn(tmp_path / "p.svg", str(path)))
    assert found.tag == "{http://www.w3.org/2000/svg}svg"


def test_a_png_has_its_signature_and_a_size_that_can_be_read(tmp_path: Path) -> None:
    found = drawn(tmp_path / "p.PNG", ITEMS)
    assert found.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = (int.from_bytes(found[k : k + 4]) for k in (16, 20))
    assert (width, height > 300) == (1296, True)


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_two_runs_give_the_same_bytes(suffix: str, tmp_path: Path) -> None:
    files = [tmp_path / f"{k}{suffix}" for k in (1, 2)]
    for file in files:
        code = "from astralq.cli import main; main()"
        subprocess.run([sys.executable, "-c", code, "draw", ITEMS, "--out", str(file)], check=True)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_the_picture_has_the_query_the_values_and_the_legend_of_what_is_there(tmp_path: Path) -> None:
    found = words(drawn(tmp_path / "p.svg", ITEMS))
    assert found[0].startswith("RSTREAM(SELECT count(*) AS n, min(number) AS oldest")
    assert {"items", "12 tuples", "24 tuples", "30 tuples", "30, 7, 36", "tuple held at the end (12:03:00)"} <= set(
        found
    )
    assert "a row of the relation holds" not in found


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "pictures").glob("*.svg")), ids=lambda p: p.stem)
def test_the_pictures_of_the_pages_are_those_of_the_examples(path: Path, tmp_path: Path) -> None:
    """Their words: outlines may differ from one matplotlib to the next. Draw them again with `astralq draw`."""
    assert words(path.read_text()) == words(drawn(tmp_path / "p.svg", str(ROOT / "examples" / f"{path.stem}.aql")))


def test_until_ends_the_picture(tmp_path: Path) -> None:
    found = words(drawn(tmp_path / "p.svg", ITEMS, "--until", "2026-03-01T12:02:00Z"))
    assert "24 tuples" in found
    assert "30 tuples" not in found


def test_what_is_left_out_is_said_on_the_picture() -> None:
    many = {"S": [(v, instant(v * 1_000_000)) for v in range(300)]}
    assert any(
        w.startswith("Left out: what was before 180: 180 of 300 tuples of S") for w in words(picture(S, many).svg)
    )


def test_a_dialect_can_be_chosen(tmp_path: Path) -> None:
    bids = str(ROOT / "examples" / "24_cql_bids.aql")
    assert drawn(tmp_path / "a.svg", bids) == drawn(tmp_path / "b.svg", bids, "--dialect", "cql")


def test_a_query_from_standard_input_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples")
    result = astralq("-", "--out", str(tmp_path / "p.svg"), stdin=Path(ITEMS).read_text())
    assert result.exit_code == 0, result.output
    assert (tmp_path / "p.svg").exists()


def test_the_settings_of_matplotlib_are_the_users_again_afterwards() -> None:
    import matplotlib

    with matplotlib.rc_context({"font.size": 31, "svg.hashsalt": None}):
        changed = picture(S[rows(2)], DATA).svg
        assert matplotlib.rcParams["font.size"] == 31
    assert changed == picture(S[rows(2)], DATA).svg


def test_pyplot_is_never_imported() -> None:
    code = (
        "import sys; from astralq import stream; from astralq.draw import picture; "
        "assert 'matplotlib' not in sys.modules; "
        "picture(stream('S', 'v INT'), {'S': []}).svg; assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_picture_is_saved_by_its_suffix(tmp_path: Path) -> None:
    shown = picture(S[rows(2)], DATA)
    shown.save(tmp_path / "p.svg")
    shown.save(str(tmp_path / "p.png"))
    assert (tmp_path / "p.svg").read_text() == shown._repr_svg_()
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_a_dollar_in_a_value_is_a_dollar() -> None:
    price = stream("S", "v STRING, ts TIMESTAMP", timestamp="ts")
    shown = picture(price[rows(1)], {"S": [("$1 $2", instant(0)), ("$", instant(1_000_000))]})
    assert "$1 $2" in words(shown.svg)


def test_letters_of_other_scripts_do_not_stop_a_picture() -> None:
    price = stream("S", "v STRING, ts TIMESTAMP", timestamp="ts")
    assert picture(price[rows(1)], {"S": [("温度 <&>\n", instant(0))]}).svg


# Errors


def test_an_unknown_suffix_is_an_error_with_the_nearest() -> None:
    assert refused(ITEMS, "--out", "p.sgv") == (
        "astralq: p.sgv ends with '.sgv', which is no format of a picture\n  hint: did you mean '.svg'?\n"
    )
    assert refused(ITEMS, "--out", "p.pdf") == (
        "astralq: p.pdf ends with '.pdf', which is no format of a picture\n"
        "  hint: name a file that ends with .svg or .png\n"
    )
    assert refused(ITEMS, "--out", "p") == (
        "astralq: p has no suffix, which is no format of a picture\n  hint: name a file that ends with .svg or .png\n"
    )


def test_a_file_without_a_query_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "q.aql"
    file.write_text("CREATE STREAM s (v INT, ts TIMESTAMP) FROM csv 's.csv' TIMESTAMP BY ts;")
    assert refused(str(file), "--out", "p.svg") == (
        f"astralq: {file} has no query\n  hint: declare sources, then write a query\n"
    )


def test_data_that_are_not_there_are_an_error_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "q.aql"
    file.write_text("CREATE STREAM s (v INT, ts TIMESTAMP) FROM csv 's.csv' TIMESTAMP BY ts; SELECT v FROM s;")
    assert refused(str(file), "--out", "p.svg").startswith(f"{file}: there is no file 's.csv' for the stream s; tried ")


def test_a_picture_never_replaces_what_it_is_drawn_from(tmp_path: Path) -> None:
    (tmp_path / "s.svg").write_text("1,1\n")
    file = tmp_path / "q.aql"
    file.write_text("CREATE STREAM s (v INT, ts INT) FROM csv 's.svg' TIMESTAMP BY ts UNIT SECONDS; SELECT v FROM s;")
    assert refused(str(file), "--out", str(tmp_path / "s.svg")) == (
        f"astralq: {tmp_path / 's.svg'} is read by this run, so the answer cannot be written to it\n"
        "  hint: name another file\n"
    )
    assert (tmp_path / "s.svg").read_text() == "1,1\n"


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    out = tmp_path / "nowhere" / "p.svg"
    assert (
        refused(ITEMS, "--out", str(out)) == f"astralq: the folder {out.parent} does not exist\n  hint: make it first\n"
    )
    with pytest.raises(AstralError, match="cannot be written: No such file or directory"):
        picture(S[rows(2)], DATA).save(out)


def test_a_sensed_stream_without_an_end_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text("def measure(site, t):\n    return (site,)\n")
    file = tmp_path / "q.aql"
    file.write_text(
        "CREATE STREAM road (site INT, time TIMESTAMP, temp INT) SENSED EVERY 1 MINUTE AT SITES (1, 2) "
        "FROM python 'endless:measure'; SELECT temp FROM road;"
    )
    assert refused(str(file), "--out", "p.svg") == (
        f"{file}: the sensed stream road has no beginning or no end of its own\n"
        "  hint: give the start t0 and an end: START AT … and --until\n"
    )


def test_a_picture_without_a_file_to_write_to_is_an_error() -> None:
    assert "Missing option '--out'" in refused(ITEMS)
