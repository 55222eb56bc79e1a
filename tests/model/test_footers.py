"""What the ends of parquet files say of a timestamp column, and where they say nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from astralq.io.parquet import Footers, footers
from astralq.io.reading import File


def written(folder: Path, times: list[int | None], type_: Any, **options: Any) -> File:
    path = folder / f"{len(list(folder.iterdir()))}.parquet"
    pq.write_table(pa.table({"k": range(len(times)), "ts": pa.array(times, type_)}), path, **options)
    return File(path, path.name)


def test_rows_and_ends_of_several_files_and_row_groups(tmp_path: Path) -> None:
    micros = pa.timestamp("us", tz="UTC")
    files = [written(tmp_path, [30, 10, 20], micros, row_group_size=2), written(tmp_path, [5], micros)]
    assert footers(files, "TS") == Footers(4, 5, 30)


def test_milliseconds_are_counted_as_microseconds(tmp_path: Path) -> None:
    assert footers([written(tmp_path, [2, 7], pa.timestamp("ms"))], "ts") == Footers(2, 2_000, 7_000)


@pytest.mark.parametrize(
    ("times", "type_", "options"),
    [
        ([1, None], pa.timestamp("us"), {}),
        ([], pa.timestamp("us"), {}),
        ([1], pa.int64(), {}),
        ([1], pa.timestamp("us"), {"write_statistics": False}),
        ([1], pa.timestamp("ns"), {"version": "2.6"}),
        ([1], pa.timestamp("us"), {"use_deprecated_int96_timestamps": True}),
    ],
    ids=["a NULL", "no rows", "a number", "no statistics", "nanoseconds", "INT96"],
)
def test_files_that_do_not_say(tmp_path: Path, times: list[int | None], type_: Any, options: dict[str, Any]) -> None:
    assert footers([written(tmp_path, times, type_, **options)], "ts") is None


def test_what_is_no_parquet_file_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_text("no")
    assert footers([File(tmp_path / "x.parquet", "x.parquet")], "ts") is None
    assert footers([], "ts") is None
