"""The query files in examples/: each gives the answers that follow from its data, worked out by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from astralq.io.files import read_sources
from astralq.language import Script, read_script
from astralq.model import Change, StreamTuple, run
from astralq.timeline import Instant, format_instant, instant

FOLDER = Path(__file__).parents[2] / "examples"
FILES = sorted(FOLDER.glob("*.aql"))


def read(file: Path) -> tuple[Script, Instant | None]:
    """The script in its dialect, and the end that it wants to be run with."""
    text = file.read_text()
    dialect = re.match(r"-- dialect: (\w+)\n", text)
    until = re.search(r"^-- until: (\S+)$", text, re.MULTILINE)
    return read_script(text, dialect[1] if dialect else "astral"), instant(until[1]) if until else None


def clock(t: Any) -> str:
    return format_instant(Instant(t))[11:-1]


def answers(file: Path) -> list[list[tuple[Any, ...]]]:
    """The answer of each query: changes of a relation as (op, time, *values), tuples of a stream as (time, i, …)."""
    script, until = read(file)
    found = []
    for query in script.queries:
        rows: list[tuple[Any, ...]] = []
        times = [a.type.name == "TIMESTAMP" for a in query.operator.schema]
        for r in run(query.operator, read_sources(query.operator, FOLDER), t0=query.t0, until=until):
            assert isinstance(r, Change | StreamTuple)
            values = [clock(v) if is_time else v for v, is_time in zip(r.values, times, strict=True)]
            rows.append((r.op, clock(r.t), *values) if isinstance(r, Change) else (clock(r.t), r.i, *values))
        found.append(rows)
    return found


EXPECTED: dict[str, list[list[tuple[Any, ...]]]] = {
    "01_buoys_present": [
        [
            ("+", "00:00:00", 5),
            ("+", "00:00:00", 1),
            ("+", "00:20:00", 2),
            ("-", "00:35:00", 1),
            ("+", "00:50:00", 3),
            ("-", "00:55:00", 2),
        ]
    ],
    # 41 had 25.5 and 42 had 24.0
    "02_buoys_historic": [[("+", "00:30:00", 24.75)]],
    # over 20, 22, 24; then 24, 26, 19
    "03_buoys_mean": [[("00:00:00", 0, None, 0), ("00:30:00", 0, 22.0, 3), ("01:00:00", 0, 23.0, 3)]],
    "04_buoys_designated_at_start": [[("00:25:00", 0, 41, 25.5), ("00:40:00", 0, 41, 23.0), ("00:55:00", 0, 41, 27.0)]],
    "05_buoys_designated_live": [
        [
            ("00:10:00", 0, 41, 26.0),
            ("00:25:00", 0, 41, 25.5),
            ("00:45:00", 0, 42, 26.0),
            ("00:55:00", 0, 41, 27.0),
        ]
    ],
    # as the paper prints them
    "06_warehouse": [
        [
            ("12:01:00", 0, 1, 11, "12:00:32"),
            ("12:01:00", 0, 1, 14, "12:00:48"),
            ("12:01:00", 0, 4, 12, "12:00:21"),
            ("12:01:00", 0, 4, 13, "12:00:54"),
        ],
        [
            ("12:01:00", 0, 4, 12, "12:00:21"),
            ("12:01:00", 0, 1, 11, "12:00:32"),
            ("12:01:00", 0, 1, 14, "12:00:48"),
            ("12:01:00", 0, 4, 13, "12:00:54"),
        ],
    ],
    "07_road_vibrations": [
        [
            ("12:00:00", 0, "12:00:00", 3, 30),
            ("12:01:00", 0, "12:01:00", 3, 25),
            ("12:02:00", 0, "12:02:00", 1, 30),
            ("12:02:00", 0, "12:02:00", 2, 25),
        ]
    ],
    # two vehicles at 12:01 are two windows; the one at 12:01:30 meets no measurement
    "08_road_traffic": [
        [("12:01:00", 0, 50, 25), ("12:01:00", 1, 30, 25), ("12:01:30", 0, 30, 25), ("12:02:00", 0, 30, 25)]
    ],
    "09_road_classes": [
        [
            ("12:00:00", 0, 1, "mild"),
            ("12:00:00", 0, 2, "hot"),
            ("12:05:00", 0, 1, "cold"),
            ("12:05:00", 0, 2, "mild"),
            ("12:10:00", 0, 2, "warm"),
            ("12:10:00", 0, 1, "hot"),
            ("12:10:00", 0, 2, "cold"),
        ]
    ],
    "10_fishing_ships": [
        [
            ("00:00:00", 0, 121.0, 26.0, "00:00:00"),
            ("00:30:00", 0, 121.0, 26.0, "00:00:00"),
            ("00:30:00", 0, 126.0, 30.0, "00:30:00"),
            ("00:50:00", 0, 121.0, 26.0, "00:00:00"),
            ("00:50:00", 0, 126.0, 30.0, "00:30:00"),
            ("00:50:00", 0, 120.0, 33.0, "00:50:00"),
        ]
    ],
    # it stands, then does 40 km in the hour to 09:00 and 60 km in the hour to 09:10
    "11_car_last_hour": [[("08:00:00", 0, 0.0), ("09:00:00", 0, 40.0), ("09:10:00", 0, 60.0)]],
    # 10 km in 10 min, 20 in 15, 30 in 25, 40 in 30, 50 in 60; then the 50 km from 08:10 to 09:25
    "12_car_last_50_km": [
        [
            ("08:00:00", 0, None),
            ("08:10:00", 0, 60.0),
            ("08:15:00", 0, 80.0),
            ("08:25:00", 0, 72.0),
            ("08:30:00", 0, 80.0),
            ("09:00:00", 0, 50.0),
            ("09:25:00", 0, 40.0),
        ]
    ],
    # an item every 5 seconds from 12:00:05 on; before 12:01 there is no item at an evaluation
    "13_last_30_items": [
        [
            ("12:00:05", 0, 0, None, None),
            ("12:01:00", 0, 12, 1, 12),
            ("12:02:00", 0, 24, 1, 24),
            ("12:03:00", 0, 30, 7, 36),
        ]
    ],
    # at 07:40 and 08:00 the sum is the same as before
    "14_network_two_rates": [
        [
            ("06:10:00", 0, None),
            ("06:30:00", 0, 100),
            ("07:00:00", 0, 300),
            ("07:10:00", 0, 600),
            ("07:20:00", 0, 500),
            ("07:30:00", 0, 900),
            ("07:50:00", 0, 700),
            ("08:30:00", 0, 500),
        ]
    ],
    "15_band_join": [[("12:00:04", 0, "A", "ann"), ("12:00:30", 0, "A", "cid")]],
    "16_lookup_join": [
        [("09:30:00", 0, "milk", 2), ("09:30:00", 0, "tea", 10), ("10:00:00", 0, "tea", 3)],
        [("09:30:00", 0, "milk", 2), ("09:30:00", 0, "tea", 10), ("09:45:00", 0, "tea", 15), ("10:00:00", 0, "tea", 3)],
    ],
    "17_change_log": [
        [
            ("+", "09:00:00", "milk", 1),
            ("+", "09:00:00", "tea", 2),
            ("-", "09:45:00", "tea", 2),
            ("+", "09:45:00", "tea", 3),
            ("-", "11:00:00", "milk", 1),
        ]
    ],
    "18_versions": [[("+", "00:00:00", 1), ("+", "00:10:00", 2), ("-", "00:40:00", 2)]],
    "19_spread": [
        [("12:00:00", 0, "A", 1), ("12:00:00", 0, "A", 2), ("12:00:00", 1, "B", 3), ("12:01:00", 0, "B", 5)],
        [("12:00:00", 0, "A", 2), ("12:00:00", 1, "B", 3), ("12:01:00", 0, "B", 5)],
    ],
    # the visit at 12:10 counts in the later ten minutes
    "20_tumble_and_hop": [
        [("12:10:00", 0, 2), ("12:20:00", 0, 3), ("12:30:00", 0, 1)],
        [("12:10:00", 0, 2), ("12:20:00", 0, 5), ("12:30:00", 0, 4)],
    ],
    "21_views_and_ctes": [
        [("12:10:00", 0, "a", 2), ("12:12:00", 0, "a", 3), ("12:19:00", 0, "a", 2), ("12:19:00", 0, "b", 2)],
        [("+", "12:10:00", "a"), ("-", "12:25:00", "a"), ("+", "12:25:00", "b")],
    ],
    "22_set_operations": [
        [("+", "00:00:00", 7020), ("-", "00:05:00", 7020), ("+", "00:20:00", 7020)],
        [("+", "00:00:00", 7016), ("+", "00:05:00", 7020), ("-", "00:20:00", 7020)],
    ],
    "23_exists": [
        [("+", "00:00:00", 5), ("+", "00:05:00", 6), ("-", "00:20:00", 6)],
        [("+", "00:00:00", 6), ("-", "00:05:00", 6), ("+", "00:20:00", 6)],
    ],
    # the last two seconds are the last two ticks; nothing is bid in ticks 4 and 5, so that 5 has no row
    "24_cql_bids": [
        [("12:00:00", 0, 10), ("12:00:00", 0, 12), ("12:00:02", 0, 12), ("12:00:03", 0, 9), ("12:00:06", 0, 5)],
        [
            ("12:00:00", 0, 2, 12),
            ("12:00:01", 0, 2, 12),
            ("12:00:02", 0, 1, 12),
            ("12:00:03", 0, 2, 12),
            ("12:00:04", 0, 1, 9),
            ("12:00:06", 0, 1, 5),
        ],
    ],
}


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_an_example_gives_the_answers_of_its_data(file: Path) -> None:
    assert answers(file) == EXPECTED[file.stem]


def test_every_example_has_its_answers_here() -> None:
    assert [f.stem for f in FILES] == list(EXPECTED)


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_an_example_begins_with_its_question_in_words(file: Path) -> None:
    comments = [line for line in file.read_text().splitlines()[:4] if line.startswith("-- ")]
    assert any("?" in c for c in comments), comments
