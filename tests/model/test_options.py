"""The options of readers in the model: what a file says by them, row by row, and which files are meant."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from astralq.algebra.sources import Origin, RelationSource
from astralq.datatypes import day_of
from astralq.errors import DataError
from astralq.io.files import read_sources
from astralq.schema import Schema
from astralq.timeline import instant

T = instant("2026-03-01T12:30:00Z")
LEADING = "ignoreLeadingWhiteSpace"


def relation(attributes: str, format_: str, path: str, **options: str) -> RelationSource:
    return RelationSource("r", Schema.parse(attributes), origin=Origin(format_, path, tuple(options.items())))


CSV: dict[str, tuple[str, str, dict[str, str], list[tuple[Any, ...]]]] = {
    "timestampFormat": (
        "ts TIMESTAMP, v INT",
        "01/03/2026 12:30,1\n",
        {"timestampFormat": "dd/MM/yyyy HH:mm"},
        [(T, 1)],
    ),
    "dateFormat": ("d DATE", "01.03.2026\n", {"dateFormat": "dd.MM.yyyy"}, [(date(2026, 3, 1),)]),
    "leading spaces": (
        "v INT, s STRING",
        '1,  a b \n2,  "c"\n',
        {"ignoreLeadingWhiteSpace": "true"},
        [(1, "a b "), (2, "c")],
    ),
    "trailing spaces": ("s STRING", "  a \n", {"ignoreTrailingWhiteSpace": "true"}, [("  a",)]),
    "nothing but spaces": ("v INT, s STRING", "1,  \n", {"ignoreTrailingWhiteSpace": "true"}, [(1, None)]),
    "emptyValue": ("v INT, s STRING", '1,""\n2,\n', {"emptyValue": "-"}, [(1, "-"), (2, None)]),
    "lineSep": ("v INT, s STRING", "1,a;2,b;", {"lineSep": ";"}, [(1, "a"), (2, "b")]),
    "charset": ("s STRING", "a\n", {"charset": "latin1"}, [("a",)]),
    "PERMISSIVE": ("v INT, s STRING", "1\n2,b,c\n", {"mode": "PERMISSIVE"}, [(1, None), (2, "b")]),
    "DROPMALFORMED": ("v INT, s STRING", "1\n2,b\n3,b,c\n", {"mode": "dropmalformed"}, [(2, "b")]),
    "lacking": ("v INT, s STRING", "V\n1\n", {"header": "true", "missingColumns": "null"}, [(1, None)]),
}


@pytest.mark.parametrize("name", CSV)
def test_an_option_of_csv(name: str, tmp_path: Path) -> None:
    attributes, text, options, expected = CSV[name]
    (tmp_path / "r.csv").write_text(text)
    days = [tuple(day_of(v) if isinstance(v, date) else v for v in row) for row in expected]
    assert read_sources(relation(attributes, "csv", "r.csv", **options), tmp_path) == {"r": days}


def test_options_of_json(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text('[{"v": 1, "ts": "20260301 12:30"},\n {"v": 2}]')
    options = {"multiLine": "true", "timestampFormat": "yyyyMMdd HH:mm", "missingColumns": "null"}
    found = read_sources(relation("v INT, ts TIMESTAMP, w INT", "json", "r.json", **options), tmp_path)
    assert found == {"r": [(1, T, None), (2, None, None)]}


@pytest.mark.parametrize(
    ("options", "files"),
    [
        ({}, "ab"),
        ({"pathGlobFilter": "b*"}, "b"),
        ({"recursiveFileLookup": "true"}, "abcd"),
        ({"recursiveFileLookup": "true", "pathGlobFilter": "*.csv"}, "abc"),
        ({"modifiedBefore": "2020-01-02T00:00:00"}, "a"),
        ({"modifiedAfter": "2020-01-02T00:00:00"}, "bd"),
    ],
)
def test_which_files_of_a_folder_are_read(options: dict[str, str], files: str, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    (folder / "deep").mkdir(parents=True)
    for name in ("a.csv", "b.csv", "deep/c.csv", "d.txt", "_e.csv"):
        (folder / name).write_text(f"{Path(name).stem}\n")
    os.utime(folder / "a.csv", (1_577_836_800, 1_577_836_800))
    found = read_sources(relation("s STRING", "csv", "r", **options), tmp_path)
    assert "".join(sorted(row[0] for row in found["r"])) == files


def test_all_files_that_lack_a_column_are_told(tmp_path: Path) -> None:
    for name, header in (("a", "k,v"), ("b", "k"), ("c", "k")):
        (tmp_path / f"{name}.csv").write_text(f"{header}\n1{',2' * (name == 'a')}\n")
    with pytest.raises(DataError) as refused:
        read_sources(relation("k INT, v INT", "csv", "*.csv", header="true"), tmp_path)
    assert str(refused.value) == (
        "2 of 3 files have no column 'v': b.csv, c.csv; the columns of b.csv are k\n"
        "  hint: add OPTIONS (missingColumns = 'null') to read NULL there"
    )
    lenient = relation("k INT, v INT", "csv", "*.csv", header="true", missingColumns="null")
    assert read_sources(lenient, tmp_path) == {"r": [(1, 2), (1, None), (1, None)]}


def test_a_time_that_is_written_otherwise_is_told_with_the_pattern(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("2026-03-01\n")
    with pytest.raises(DataError) as refused:
        read_sources(relation("ts TIMESTAMP", "csv", "r.csv", timestampFormat="dd/MM/yyyy"), tmp_path)
    assert str(refused.value) == (
        "r.csv, row 1 (line 1): '2026-03-01' in 'ts' is not a TIMESTAMP\n  hint: timestampFormat is 'dd/MM/yyyy'"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"mode": "strict"},
            "the csv option 'mode' is 'STRICT'\n  hint: give one of FAILFAST, PERMISSIVE, DROPMALFORMED",
        ),
        ({"missingColumns": "none"}, "the option 'missingColumns' is 'none'\n  hint: give 'null', or leave it out"),
        (
            {"ignoreLeadingWhiteSpace": "yes"},
            "the option 'ignoreLeadingWhiteSpace' is 'yes'\n  hint: give 'true' or 'false'",
        ),
    ],
)
def test_an_option_with_a_wrong_value(options: dict[str, str], message: str, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("1\n")
    with pytest.raises(DataError) as refused:
        read_sources(relation("k INT", "csv", "r.csv", **options), tmp_path)
    assert str(refused.value) == message
